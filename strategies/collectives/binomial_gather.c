/* Gather up a binomial tree: who has the parts of all that hang under it sends them on as one. */
#include "strategies/collectives/binomial_tree.h"

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    uint32_t place = gs_binomial_place(shape);
    uint32_t bit = gs_binomial_bit(shape, place);
    uint32_t left = shape->members - place; /* places from this one on */
    (void)lane;
    *out = (gs_vertex){.kind = GS_VERTEX_PUT};
    for (uint32_t step = 1; step < bit && step < left; step *= 2) {
        uint32_t child = gs_binomial_member(shape, place + step);
        uint32_t count = step < left - step ? step : left - step;
        uint64_t pieces = gs_wrapped_parts(shape, child, count, index, out);
        out->peer = child;
        if (index < pieces) {
            return true;
        }
        index -= pieces;
    }
    out->kind = GS_VERTEX_SEND;
    out->peer = gs_binomial_member(shape, place - (place & bit));
    uint32_t count = bit < left ? bit : left;
    return place > 0 && index < gs_wrapped_parts(shape, shape->self, count, index, out);
}

static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return gs_binomial_way_s(shape->members, bytes / shape->members / bytes_per_s, latency_s);
}

const gs_collective gs_collective_binomial_gather = {
    .name = "binomial_gather",
    .summary = "gather up a binomial tree: ceil(log2 n) rounds, (n-1)/n of the bytes to the root",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.6",
    .kind = GS_GATHER,
    .vertex = vertex,
    .sources = gs_binomial_ahead,
    .targets = gs_binomial_behind,
    .closed_s = closed_s,
};
