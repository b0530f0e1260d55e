/* Reduce-scatter in pairs: in turn s everyone sends to the member s places further that one's part,
 * and adds its own part from the one s places back. */
#include "strategies/collective.h"

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

const gs_collective gs_collective_pairwise_reduce_scatter = {
    .name = "pairwise_reduce_scatter",
    .summary = "reduce-scatter in pairs: (n-1)/n of the bytes per rank, n-1 messages to n-1 ranks, "
               "whose terms each owner adds in the order of distance",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.3",
    .kind = GS_REDUCE_SCATTER,
    .vertex = vertex,
    .sources = others_of,
    .targets = others_of,
    .closed_s = closed_s,
};
