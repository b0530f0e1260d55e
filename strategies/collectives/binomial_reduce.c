/* Reduce up a binomial tree: who has the sum of what hangs under it sends that on. */
#include "strategies/collectives/binomial_tree.h"

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    uint32_t place = gs_binomial_place(shape);
    uint32_t bit = gs_binomial_bit(shape, place);
    uint64_t child = index < 32 ? UINT64_C(1) << index : UINT64_MAX;
    (void)lane;
    *out = (gs_vertex){.kind = GS_VERTEX_ADD, .length = shape->elements};
    if (child < bit && place + child < shape->members) {
        out->peer = gs_binomial_member(shape, place + (uint32_t)child);
        return true;
    }
    uint64_t before = child / 2; /* the last child, or none */
    out->kind = GS_VERTEX_SEND;
    out->peer = gs_binomial_member(shape, place - (place & bit));
    return place > 0 && (index == 0 || (before < bit && place + before < shape->members));
}

/* The root is as many messages away as a place has bits, which is floor(log2 n) at most. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    uint32_t links = 0;
    while (shape->members >> (links + 1) != 0) {
        links++;
    }
    return links * (latency_s + bytes / bytes_per_s);
}

const gs_collective gs_collective_binomial_reduce = {
    .name = "binomial_reduce",
    .summary = "reduce up a binomial tree: ceil(log2 n) rounds of the whole",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.6",
    .kind = GS_REDUCE,
    .vertex = vertex,
    .sources = gs_binomial_ahead,
    .targets = gs_binomial_behind,
    .closed_s = closed_s,
};
