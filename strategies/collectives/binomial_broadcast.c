/* Broadcast down a binomial tree: in round k every member that has the data sends it to the one
 * that is 2^k places further, counted from the root. */
#include "strategies/collective.h"

/* Rounds until `members` have it: ceil(log2). */
static uint32_t rounds_of(uint32_t members)
{
    uint32_t rounds = 0;
    while (members > (uint64_t)1 << rounds) {
        rounds++;
    }
    return rounds;
}

/* The round in which a place gets the data: that of its highest bit; place 0 has it. */
static uint32_t round_of(uint32_t place)
{
    uint32_t round = 0;
    while (place >> (round + 1) != 0) {
        round++;
    }
    return round;
}

/* Everyone but the root first receives, then sends in each later round that has somebody. */
static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    (void)lane;
    uint32_t n = shape->members;
    uint32_t place =
        shape->self >= shape->root ? shape->self - shape->root : shape->self + n - shape->root;
    out->offset = 0;
    out->length = shape->elements;
    out->channel = 0;
    uint64_t round = index;
    uint64_t peer;
    if (place > 0 && index == 0) {
        out->kind = GS_VERTEX_PUT;
        peer = place - ((uint64_t)1 << round_of(place));
    } else {
        out->kind = GS_VERTEX_SEND;
        round = place > 0 ? index + round_of(place) : index;
        peer = place + ((uint64_t)1 << round);
        if (round >= rounds_of(n) || peer >= n) {
            return false;
        }
    }
    out->peer = (uint32_t)((peer + shape->root) % n);
    return true;
}

/* Any root: those that are a power of two away. */
static uint32_t powers(const gs_shape *shape, bool ahead, gs_edge *out)
{
    uint32_t count = 0;
    for (uint32_t distance = 1; distance < shape->members; distance *= 2) {
        uint32_t step = ahead ? distance : shape->members - distance;
        uint32_t peer = (uint32_t)(((uint64_t)shape->self + step) % shape->members);
        out[count++] = (gs_edge){peer, 0};
    }
    return count;
}

static uint32_t sources(const gs_shape *shape, gs_edge *out)
{
    return powers(shape, false, out);
}

static uint32_t targets(const gs_shape *shape, gs_edge *out)
{
    return powers(shape, true, out);
}

/* The root sends the whole in each round, one after the other. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return rounds_of(shape->members) * (latency_s + bytes / bytes_per_s);
}

const gs_collective gs_collective_binomial_broadcast = {
    .name = "binomial_broadcast",
    .summary = "broadcast down a binomial tree: ceil(log2 n) rounds of the whole",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.2",
    .kind = GS_BROADCAST,
    .vertex = vertex,
    .sources = sources,
    .targets = targets,
    .closed_s = closed_s,
};
