/* Reduce-scatter in pairs: in turn s everyone sends to the member s places further that one's part,
 * and adds its own part from the one s places back. */
#include "strategies/collectives/pairwise.h"

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    uint32_t n = shape->members;
    uint64_t turn = index / 2 + 1;
    bool sends = index % 2 == 0;
    (void)lane;
    if (turn >= n) {
        return false;
    }
    *out = (gs_vertex){.kind = sends ? GS_VERTEX_SEND : GS_VERTEX_ADD,
                       .peer = (uint32_t)((shape->self + (sends ? turn : n - turn)) % n)};
    gs_part_of(shape->elements, n, sends ? out->peer : shape->self, &out->offset, &out->length);
    return true;
}

const gs_collective gs_collective_pairwise_reduce_scatter = {
    .name = "pairwise_reduce_scatter",
    .summary = "reduce-scatter in pairs: (n-1)/n of the bytes per rank, n-1 messages to n-1 ranks, "
               "whose terms each owner adds in the order of distance",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.3",
    .kind = GS_REDUCE_SCATTER,
    .vertex = vertex,
    .sources = gs_pairwise_others,
    .targets = gs_pairwise_others,
    .closed_s = gs_pairwise_closed_s,
};
