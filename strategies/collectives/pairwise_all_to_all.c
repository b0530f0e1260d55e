/* All-to-all in pairs: in turn s everyone sends to the member s places further and receives from
 * the one s places back. */
#include "strategies/collectives/pairwise.h"

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    (void)lane;
    uint32_t n = shape->members;
    uint64_t turn = index / 2 + 1;
    if (turn >= n) {
        return false;
    }
    out->kind = index % 2 == 0 ? GS_VERTEX_SEND : GS_VERTEX_PUT;
    out->peer = (uint32_t)((shape->self + (index % 2 == 0 ? turn : n - turn)) % n);
    out->channel = 0;
    out->copied = false;
    gs_part_of(shape->elements, n, out->peer, &out->offset, &out->length);
    return true;
}

const gs_collective gs_collective_pairwise_all_to_all = {
    .name = "pairwise_all_to_all",
    .summary = "all-to-all in pairs: (n-1)/n of the bytes per rank, n-1 messages to n-1 ranks",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.4",
    .kind = GS_ALL_TO_ALL,
    .vertex = vertex,
    .sources = gs_pairwise_others,
    .targets = gs_pairwise_others,
    .closed_s = gs_pairwise_closed_s,
};
