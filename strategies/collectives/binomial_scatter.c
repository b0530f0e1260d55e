/* Scatter down a binomial tree: everyone gets the parts of all that hang under it as one, and sends
 * them on, the most first. */
#include "strategies/collectives/binomial_tree.h"

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    uint32_t place = gs_binomial_place(shape);
    uint32_t bit = gs_binomial_bit(shape, place);
    uint32_t left = shape->members - place; /* places from this one on */
    (void)lane;
    if (place > 0) {
        *out = (gs_vertex){.kind = GS_VERTEX_PUT,
                           .peer = gs_binomial_member(shape, place - (place & bit))};
        uint32_t count = bit < left ? bit : left;
        uint64_t pieces = gs_wrapped_parts(shape, shape->self, count, index, out);
        if (index < pieces) {
            return true;
        }
        index -= pieces;
    }
    *out = (gs_vertex){.kind = GS_VERTEX_SEND};
    for (uint32_t step = bit / 2; step > 0; step /= 2) {
        if (step >= left) {
            continue;
        }
        out->peer = gs_binomial_member(shape, place + step);
        uint32_t count = step < left - step ? step : left - step;
        uint64_t pieces = gs_wrapped_parts(shape, out->peer, count, index, out);
        if (index < pieces) {
            return true;
        }
        index -= pieces;
    }
    return false;
}

static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return gs_binomial_way_s(shape->members, bytes / shape->members / bytes_per_s, latency_s);
}

const gs_collective gs_collective_binomial_scatter = {
    .name = "binomial_scatter",
    .summary = "scatter down a binomial tree: ceil(log2 n) rounds, (n-1)/n of the bytes from the "
               "root",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.2",
    .kind = GS_SCATTER,
    .vertex = vertex,
    .sources = gs_binomial_behind,
    .targets = gs_binomial_ahead,
    .closed_s = closed_s,
};
