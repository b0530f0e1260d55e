/* All-reduce in two or three levels of rings: reduce-scatter inside each node, then inside each
 * group of nodes among the members of one place, all-reduce of the parts between the groups, and
 * all-gather back in. A node's network card carries one part of the bytes for each of its members.
 *
 * Ring r is channel r and lane r, and does all of that with share r of the slice. */
#include "strategies/collective.h"

enum { LEVELS = 3 };

/* Rings of `size` members that are `stride` apart; of them this one is number `place`. */
typedef struct level {
    uint32_t size, stride, place;
} level;

static void set_levels(const gs_shape *shape, level *levels)
{
    uint32_t stride = 1;
    for (int i = 0; i < LEVELS; i++) {
        uint32_t size = i == 0   ? shape->inner
                        : i == 1 ? shape->middle
                                 : shape->members / (shape->inner * shape->middle);
        levels[i] = (level){size, stride, shape->self / stride % size};
        stride *= size;
    }
}

/* Turns of a stage: inwards to outwards, then back. */
static uint32_t turns_of(const level *levels, int stage)
{
    return stage == LEVELS - 1  ? 2 * (levels[stage].size - 1)
           : stage < LEVELS - 1 ? levels[stage].size - 1
                                : levels[2 * (LEVELS - 1) - stage].size - 1;
}

static uint32_t right_of(const level *ring, uint32_t self)
{
    return ring->place + 1 == ring->size ? self - ring->place * ring->stride : self + ring->stride;
}

static uint32_t left_of(const level *ring, uint32_t self)
{
    return ring->place == 0 ? self + (ring->size - 1) * ring->stride : self - ring->stride;
}

/* Cuts from the slice what a ring has: its share, then of each level below the part of its place.
 */
static void cut(const gs_shape *shape, uint32_t ring, const level *levels, int at, gs_vertex *out)
{
    gs_part_of(shape->elements, shape->rings, ring, &out->offset, &out->length);
    for (int below = 0; below < at; below++) {
        int64_t offset;
        gs_part_of(out->length, levels[below].size, levels[below].place, &offset, &out->length);
        out->offset += offset;
    }
}

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    level levels[LEVELS];
    set_levels(shape, levels);
    uint64_t turn = index / 2;
    int stage = 0;
    while (stage < 2 * LEVELS - 1 && turn >= turns_of(levels, stage)) {
        turn -= turns_of(levels, stage++);
    }
    if (stage == 2 * LEVELS - 1) {
        return false;
    }
    int at = stage < LEVELS ? stage : 2 * (LEVELS - 1) - stage;
    const level *ring = &levels[at];
    bool sends = index % 2 == 0;
    bool adds = stage < LEVELS && turn < ring->size - 1;
    /* A reduce-scatter ends with the part of the place: it begins with the one before it. */
    uint32_t first = stage < LEVELS - 1 ? ring->place + ring->size - 1 : ring->place;
    uint32_t part =
        (uint32_t)((first + 2 * (uint64_t)ring->size - turn - (sends ? 0 : 1)) % ring->size);
    *out = (gs_vertex){
        .kind = sends  ? GS_VERTEX_SEND
                : adds ? GS_VERTEX_ADD
                       : GS_VERTEX_PUT,
        .peer = sends ? right_of(ring, shape->self) : left_of(ring, shape->self),
        .channel = lane,
    };
    int64_t offset;
    cut(shape, lane, levels, at, out);
    gs_part_of(out->length, ring->size, part, &offset, &out->length);
    out->offset += offset;
    return true;
}

static uint32_t neighbours(const gs_shape *shape, bool right, gs_edge *out)
{
    level levels[LEVELS];
    uint32_t count = 0;
    set_levels(shape, levels);
    for (int i = 0; i < LEVELS; i++) {
        uint32_t peer =
            right ? right_of(&levels[i], shape->self) : left_of(&levels[i], shape->self);
        for (uint32_t ring = 0; levels[i].size > 1 && ring < shape->rings; ring++) {
            out[count++] = (gs_edge){peer, ring};
        }
    }
    return count;
}

static uint32_t sources(const gs_shape *shape, gs_edge *out)
{
    return neighbours(shape, false, out);
}

static uint32_t targets(const gs_shape *shape, gs_edge *out)
{
    return neighbours(shape, true, out);
}

/* Of one ring a level: those with more than one member. */
static uint32_t stages(const gs_shape *shape, gs_ring_stage out[GS_RING_STAGES_MAX])
{
    level levels[LEVELS];
    uint32_t targets_before[LEVELS] = {0};
    uint32_t count = 0;
    set_levels(shape, levels);
    for (int at = 1; at < LEVELS; at++) {
        targets_before[at] = targets_before[at - 1] + (levels[at - 1].size > 1 ? 1 : 0);
    }
    for (int stage = 0; shape->rings == 1 && stage < 2 * LEVELS - 1; stage++) {
        int at = stage < LEVELS ? stage : 2 * (LEVELS - 1) - stage;
        gs_vertex part;
        cut(shape, 0, levels, at, &part);
        if (levels[at].size > 1) {
            out[count++] = (gs_ring_stage){.size = levels[at].size,
                                           .stride = levels[at].stride,
                                           .place = levels[at].place,
                                           .target = targets_before[at],
                                           .turns = turns_of(levels, stage),
                                           .first = stage < LEVELS - 1 ? levels[at].size - 1 : 0,
                                           .elements = part.length};
        }
    }
    return count;
}

static uint32_t rings_of(const gs_shape *shape)
{
    return shape->rings;
}

/* Rings of i, m and o members: 2 (i-1) turns of an i-th of the bytes, 2 (m-1) of an im-th, 2 (o-1)
 * of an imo-th. */
static double shared_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    level levels[LEVELS];
    double seconds = 0.0;
    set_levels(shape, levels);
    for (int i = 0; i < LEVELS; i++) {
        bytes /= levels[i].size;
        seconds += 2.0 * (levels[i].size - 1.0) * (latency_s + bytes / bytes_per_s);
    }
    return seconds;
}

static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return shared_s(shape, bytes / shape->rings, latency_s, bytes_per_s);
}

const gs_collective gs_collective_hierarchical_ring = {
    .name = "hierarchical_ring",
    .summary = "all-reduce by rings in two or three levels: inside nodes, between them by place, "
               "and back; a node's card carries one n-th of the bytes for each of its n ranks",
    .source = "Cho et al., BlueConnect: Decomposing all-reduce for deep learning on heterogeneous "
              "network hierarchy, SysML 2019",
    .kind = GS_ALL_REDUCE,
    .lanes = rings_of,
    .channels = rings_of,
    .vertex = vertex,
    .sources = sources,
    .targets = targets,
    .closed_s = closed_s,
    .shared_s = shared_s,
    .stages = stages,
    .takes = GS_TAKES_RINGS | GS_TAKES_NODES | GS_TAKES_LEVELS,
};
