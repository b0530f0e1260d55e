/* All-to-all in pairs: in turn s everyone sends to the member s places further and receives from
 * the one s places back. */
#include "strategies/collective.h"

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

static uint32_t others_of(const gs_shape *shape, gs_edge *out)
{
    uint32_t count = 0;
    for (uint32_t peer = 0; peer < shape->members; peer++) {
        if (peer != shape->self) {
            out[count++] = (gs_edge){peer, 0};
        }
    }
    return count;
}

/* n - 1 messages one after the other, each an n-th of the bytes. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    double n = shape->members;
    return (n - 1.0) * (latency_s + bytes / n / bytes_per_s);
}

const gs_collective gs_collective_pairwise_all_to_all = {
    .name = "pairwise_all_to_all",
    .summary = "all-to-all in pairs: (n-1)/n of the bytes per rank, n-1 messages to n-1 ranks",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.4",
    .kind = GS_ALL_TO_ALL,
    .vertex = vertex,
    .sources = others_of,
    .targets = others_of,
    .closed_s = closed_s,
};
