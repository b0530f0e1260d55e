/* All-gather by Bruck: in round k everyone sends all parts that it has, as far as they are wanted,
 * to the one 2^k places back, so that what everyone has doubles. */
#include "strategies/collectives/binomial_tree.h"

/* A round of two or four vertices: parts may be in two pieces, of what is sent and what comes. */
static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    uint32_t n = shape->members;
    (void)lane;
    for (uint32_t had = 1; had < n; had *= 2) {
        uint32_t count = had < n - had ? had : n - had;
        uint32_t ahead = (uint32_t)(((uint64_t)shape->self + had) % n);
        *out = (gs_vertex){.kind = GS_VERTEX_SEND,
                           .peer = (uint32_t)(((uint64_t)shape->self + n - had) % n)};
        uint64_t pieces = gs_wrapped_parts(shape, shape->self, count, index, out);
        if (index < pieces) {
            return true;
        }
        index -= pieces;
        out->kind = GS_VERTEX_PUT;
        out->peer = ahead;
        pieces = gs_wrapped_parts(shape, ahead, count, index, out);
        if (index < pieces) {
            return true;
        }
        index -= pieces;
    }
    return false;
}

/* A latency a round, and all parts but one. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    double n = shape->members;
    return gs_binomial_rounds(shape->members) * latency_s + (n - 1.0) / n * bytes / bytes_per_s;
}

const gs_collective gs_collective_bruck_all_gather = {
    .name = "bruck_all_gather",
    .summary = "all-gather in ceil(log2 n) rounds of what everyone has: (n-1)/n of the bytes per "
               "rank, for small parts",
    .source = "Bruck, Ho, Kipnis, Upfal and Weathersby, Efficient algorithms for all-to-all "
              "communications in multiport message-passing systems, IEEE TPDS 8 (1997)",
    .kind = GS_ALL_GATHER,
    .vertex = vertex,
    .sources = gs_binomial_ahead,
    .targets = gs_binomial_behind,
    .closed_s = closed_s,
};
