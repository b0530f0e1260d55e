/* What the algorithms that go round a ring have in common. */
#ifndef GS_STRATEGIES_COLLECTIVES_RING_TURN_H
#define GS_STRATEGIES_COLLECTIVES_RING_TURN_H

#include "strategies/collective.h"

/* Vertex `index` of `steps` turns round the ring: in turn s send part first - s to the right, then
 * receive part first - s - 1 from the left; it is added in the first `adds` turns and put in the
 * others. false: the program has ended before. */
static inline bool gs_ring_turn(const gs_shape *shape, uint64_t index, uint64_t steps,
                                uint64_t adds, uint32_t first, gs_vertex *out)
{
    uint32_t n = shape->members;
    uint64_t step = index / 2;
    if (step >= steps) {
        return false;
    }
    uint32_t turn = (uint32_t)(step >= n ? step - n : step);
    uint32_t part = first >= turn ? first - turn : first + n - turn;
    if (index % 2 == 0) {
        out->kind = GS_VERTEX_SEND;
        out->peer = shape->self + 1 == n ? 0 : shape->self + 1;
    } else {
        out->kind = step < adds ? GS_VERTEX_ADD : GS_VERTEX_PUT;
        out->peer = shape->self == 0 ? n - 1 : shape->self - 1;
        part = part == 0 ? n - 1 : part - 1;
    }
    out->channel = 0;
    gs_part_of(shape->elements, n, part, &out->offset, &out->length);
    return true;
}

static inline uint32_t gs_ring_sources(const gs_shape *shape, gs_edge *out)
{
    if (shape->members < 2) {
        return 0;
    }
    out[0] = (gs_edge){shape->self == 0 ? shape->members - 1 : shape->self - 1, 0};
    return 1;
}

static inline uint32_t gs_ring_targets(const gs_shape *shape, gs_edge *out)
{
    if (shape->members < 2) {
        return 0;
    }
    out[0] = (gs_edge){shape->self + 1 == shape->members ? 0 : shape->self + 1, 0};
    return 1;
}

/* n - 1 messages one after the other, each an n-th of the bytes. */
static inline double gs_ring_round_s(const gs_shape *shape, double bytes, double latency_s,
                                     double bytes_per_s)
{
    double n = shape->members;
    return (n - 1.0) * (latency_s + bytes / n / bytes_per_s);
}

#endif
