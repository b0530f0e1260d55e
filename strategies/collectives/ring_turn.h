/* What the algorithms that go round rings have in common.
 *
 * Ring r is channel r and lane r, and carries share r of every part. Rings go through the nodes in
 * order; within a node each begins at another member, so that they leave the node by different
 * ones. Where an order is given all rings go by that. */
#ifndef GS_STRATEGIES_COLLECTIVES_RING_TURN_H
#define GS_STRATEGIES_COLLECTIVES_RING_TURN_H

#include "strategies/collective.h"

/* Place of a member on ring `ring`, and the member at a place: from 0 to members - 1. */
static inline uint32_t gs_ring_place(const gs_shape *shape, uint32_t ring, uint32_t member)
{
    if (shape->order != NULL) {
        return shape->order[shape->members + member];
    }
    if (ring == 0 || shape->inner == 1) {
        return member;
    }
    uint32_t first = (uint32_t)((uint64_t)ring * shape->inner / shape->rings % shape->inner);
    uint32_t local = member % shape->inner;
    return member - local + (local >= first ? local - first : local + shape->inner - first);
}

static inline uint32_t gs_ring_member(const gs_shape *shape, uint32_t ring, uint32_t place)
{
    if (shape->order != NULL) {
        return shape->order[place];
    }
    if (ring == 0 || shape->inner == 1) {
        return place;
    }
    uint32_t first = (uint32_t)((uint64_t)ring * shape->inner / shape->rings % shape->inner);
    uint32_t local = place % shape->inner + first;
    return place - place % shape->inner + (local >= shape->inner ? local - shape->inner : local);
}

static inline uint32_t gs_ring_right(const gs_shape *shape, uint32_t ring, uint32_t place)
{
    return gs_ring_member(shape, ring, place + 1 == shape->members ? 0 : place + 1);
}

static inline uint32_t gs_ring_left(const gs_shape *shape, uint32_t ring, uint32_t place)
{
    return gs_ring_member(shape, ring, place == 0 ? shape->members - 1 : place - 1);
}

/* Share `ring` of part `part`. */
static inline void gs_ring_share(const gs_shape *shape, uint32_t ring, uint32_t part,
                                 int64_t *out_offset, int64_t *out_length)
{
    gs_part_of(shape->elements, shape->members, part, out_offset, out_length);
    if (shape->rings > 1) {
        int64_t offset;
        gs_part_of(*out_length, shape->rings, ring, &offset, out_length);
        *out_offset += offset;
    }
}

/* Vertex `index` of `steps` turns round ring `ring`: in turn s send the part of the member at place
 * self + ahead - s to the right, then receive that of place self + ahead - s - 1 from the left; it
 * is added in the first `adds` turns and put in the others. ahead: 0, or members - 1. false: the
 * lane has ended before. */
static inline bool gs_ring_turn(const gs_shape *shape, uint32_t ring, uint64_t index,
                                uint64_t steps, uint64_t adds, uint32_t ahead, gs_vertex *out)
{
    uint32_t n = shape->members;
    uint64_t step = index / 2;
    if (step >= steps) {
        return false;
    }
    uint32_t place = gs_ring_place(shape, ring, shape->self);
    uint32_t first = place + ahead >= n ? place + ahead - n : place + ahead;
    uint32_t turn = (uint32_t)(step >= n ? step - n : step);
    uint32_t part = first >= turn ? first - turn : first + n - turn;
    if (index % 2 == 0) {
        out->kind = GS_VERTEX_SEND;
        out->peer = gs_ring_right(shape, ring, place);
    } else {
        out->kind = step < adds ? GS_VERTEX_ADD : GS_VERTEX_PUT;
        out->peer = gs_ring_left(shape, ring, place);
        part = part == 0 ? n - 1 : part - 1;
    }
    out->channel = ring;
    out->copied = false;
    gs_ring_share(shape, ring, gs_ring_member(shape, ring, part), &out->offset, &out->length);
    return true;
}

/* Is it one ring that goes by number, from each member to the next? */
static inline bool gs_ring_is_plain(const gs_shape *shape)
{
    return shape->rings == 1 && shape->order == NULL;
}

static inline uint32_t gs_ring_count(const gs_shape *shape)
{
    return shape->rings;
}

static inline uint32_t gs_ring_sources(const gs_shape *shape, gs_edge *out)
{
    uint32_t count = shape->members > 1 ? shape->rings : 0;
    for (uint32_t ring = 0; ring < count; ring++) {
        uint32_t place = gs_ring_place(shape, ring, shape->self);
        out[ring] = (gs_edge){gs_ring_left(shape, ring, place), ring};
    }
    return count;
}

static inline uint32_t gs_ring_targets(const gs_shape *shape, gs_edge *out)
{
    uint32_t count = shape->members > 1 ? shape->rings : 0;
    for (uint32_t ring = 0; ring < count; ring++) {
        uint32_t place = gs_ring_place(shape, ring, shape->self);
        out[ring] = (gs_edge){gs_ring_right(shape, ring, place), ring};
    }
    return count;
}

/* n - 1 messages one after the other, each an n-th of the bytes of its ring, which has a share of
 * all of them; */
static inline double gs_ring_round_s(const gs_shape *shape, double bytes, double latency_s,
                                     double bytes_per_s)
{
    double n = shape->members;
    return (n - 1.0) * (latency_s + bytes / n / shape->rings / bytes_per_s);
}

/* or of the rate. */
static inline double gs_ring_shared_s(const gs_shape *shape, double bytes, double latency_s,
                                      double bytes_per_s)
{
    double n = shape->members;
    return (n - 1.0) * (latency_s + bytes / n / bytes_per_s);
}

#endif
