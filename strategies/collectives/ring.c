/* Ring all-reduce: reduce-scatter round the ring, then all-gather round it again. */
#include "strategies/collective.h"

/* Part c of n: the first `elements mod n` parts hold one element more than the others. */
static void set_part(const gs_shape *shape, uint32_t part, gs_vertex *out)
{
    int64_t each = shape->elements / shape->members;
    int64_t larger = shape->elements - each * shape->members;
    out->offset = part * each + (part < larger ? part : larger);
    out->length = each + (part < larger ? 1 : 0);
}

/* Step s = index / 2 of 2 (n - 1): send part self - s to the right, then receive part self - s - 1
 * from the left; it is added in the first n - 1 steps and put in the others. */
static bool vertex(const gs_shape *shape, uint64_t index, gs_vertex *out)
{
    uint32_t n = shape->members;
    uint64_t step = index / 2;
    if (step >= 2 * (uint64_t)(n - 1)) {
        return false;
    }
    uint32_t turn = (uint32_t)(step >= n ? step - n : step);
    uint32_t part = shape->self >= turn ? shape->self - turn : shape->self + n - turn;
    if (index % 2 == 0) {
        out->kind = GS_VERTEX_SEND;
        out->peer = shape->self + 1 == n ? 0 : shape->self + 1;
    } else {
        out->kind = step < n - 1 ? GS_VERTEX_ADD : GS_VERTEX_PUT;
        out->peer = shape->self == 0 ? n - 1 : shape->self - 1;
        part = part == 0 ? n - 1 : part - 1;
    }
    set_part(shape, part, out);
    return true;
}

static uint32_t sources(const gs_shape *shape, uint32_t *out)
{
    if (shape->members < 2) {
        return 0;
    }
    out[0] = shape->self == 0 ? shape->members - 1 : shape->self - 1;
    return 1;
}

static uint32_t targets(const gs_shape *shape, uint32_t *out)
{
    if (shape->members < 2) {
        return 0;
    }
    out[0] = shape->self + 1 == shape->members ? 0 : shape->self + 1;
    return 1;
}

/* 2 (n - 1) messages one after the other, each an n-th of the bytes. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    double n = shape->members;
    return 2.0 * (n - 1.0) * (latency_s + bytes / n / bytes_per_s);
}

const gs_collective gs_collective_ring = {
    .name = "ring",
    .summary = "reduce-scatter and all-gather round a ring: 2(n-1)/n of the bytes per rank, 2(n-1) "
               "messages",
    .source = "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, JPDC 69 (2009)",
    .vertex = vertex,
    .sources = sources,
    .targets = targets,
    .closed_s = closed_s,
};
