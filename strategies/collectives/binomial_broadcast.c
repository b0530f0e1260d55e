/* Broadcast down a binomial tree: in round k every member that has the data sends it to the one
 * that is 2^k places further, counted from the root. */
#include "strategies/collectives/binomial_tree.h"

/* The round in which a place gets the data: that of its highest bit; place 0 has it. */
static uint32_t round_of(uint32_t place)
{
    uint32_t round = 0;
    while (place >> (round + 1) != 0) {
        round++;
    }
    return round;
}

static uint32_t children_of(uint32_t members, uint32_t place)
{
    uint32_t count = 0;
    uint32_t step = place == 0 ? 1 : UINT32_C(2) << round_of(place);
    for (; step != 0 && step < members - place; step *= 2) {
        count++;
    }
    return count;
}

/* Everyone but the root first receives, then sends in each later round that has somebody. */
static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    (void)lane;
    uint32_t n = shape->members;
    uint32_t place = gs_binomial_place(shape);
    out->offset = 0;
    out->length = shape->elements;
    out->channel = 0;
    out->copied = false;
    uint64_t round = index;
    uint64_t peer;
    if (place > 0 && index == 0) {
        out->kind = GS_VERTEX_PUT;
        peer = place - ((uint64_t)1 << round_of(place));
    } else {
        out->kind = GS_VERTEX_SEND;
        round = place > 0 ? index + round_of(place) : index;
        peer = place + ((uint64_t)1 << round);
        if (round >= gs_binomial_rounds(n) || peer >= n) {
            return false;
        }
    }
    out->peer = (uint32_t)((peer + shape->root) % n);
    return true;
}

/* A place is as many messages away from the root as it has bits, which is floor(log2 n) at most. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return round_of(shape->members) * (latency_s + bytes / bytes_per_s);
}

/* As many as a place has below it go out at once: each gets its share of the link. */
static double shared_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    double most = 0.0;
    for (uint32_t place = 1; place < shape->members; place++) {
        double way = 0.0;
        for (uint32_t at = place; at != 0;) {
            at -= UINT32_C(1) << round_of(at);
            way += latency_s + children_of(shape->members, at) * bytes / bytes_per_s;
        }
        most = way > most ? way : most;
    }
    return most;
}

const gs_collective gs_collective_binomial_broadcast = {
    .name = "binomial_broadcast",
    .summary = "broadcast down a binomial tree: ceil(log2 n) rounds of the whole",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.2",
    .kind = GS_BROADCAST,
    .vertex = vertex,
    .sources = gs_binomial_behind,
    .targets = gs_binomial_ahead,
    .closed_s = closed_s,
    .shared_s = shared_s,
};
