/* Naive all-reduce: everyone sends to member 0, which adds in member order and sends the sum back.
 * The oracle of the other algorithms, and what a parameter server without shards costs. */
#include "strategies/collective.h"

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    (void)lane;
    uint64_t others = shape->members - 1;
    out->offset = 0;
    out->length = shape->elements;
    out->channel = 0;
    out->copied = false;
    if (shape->self != 0) {
        out->kind = index == 0 ? GS_VERTEX_SEND : GS_VERTEX_PUT;
        out->peer = 0;
        return index < 2;
    }
    out->kind = index < others ? GS_VERTEX_ADD : GS_VERTEX_SEND;
    out->peer = (uint32_t)(index < others ? index + 1 : index - others + 1);
    return index < 2 * others;
}

static uint32_t others_of(const gs_shape *shape, gs_edge *out)
{
    if (shape->self != 0) {
        out[0] = (gs_edge){0, 0};
        return 1;
    }
    for (uint32_t peer = 1; peer < shape->members; peer++) {
        out[peer - 1] = (gs_edge){peer, 0};
    }
    return shape->members - 1;
}

/* All send at once, then member 0 to all. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return shape->members > 1 ? 2.0 * (latency_s + bytes / bytes_per_s) : 0.0;
}

/* Member 0's link carries n - 1 whole messages in and n - 1 out, which share it. */
static double shared_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    double others = shape->members - 1.0;
    return others > 0.0 ? 2.0 * (latency_s + others * bytes / bytes_per_s) : 0.0;
}

const gs_collective gs_collective_naive = {
    .name = "naive",
    .summary = "all to member 0, which adds and sends back: (n-1) whole messages through one link",
    .source = "textbook; the oracle for every other algorithm",
    .kind = GS_ALL_REDUCE,
    .vertex = vertex,
    .sources = others_of,
    .targets = others_of,
    .closed_s = closed_s,
    .shared_s = shared_s,
    .order = GS_SUM_AT_ROOT,
};
