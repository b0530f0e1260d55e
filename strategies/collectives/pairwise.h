/* What algorithms in pairs have alike: n - 1 turns, in each a message of an n-th to another member
 * and one from another. */
#ifndef GS_STRATEGIES_COLLECTIVES_PAIRWISE_H
#define GS_STRATEGIES_COLLECTIVES_PAIRWISE_H

#include "strategies/collective.h"

/* Everyone but itself: sources and targets. */
static inline uint32_t gs_pairwise_others(const gs_shape *shape, gs_edge *out)
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
static inline double gs_pairwise_closed_s(const gs_shape *shape, double bytes, double latency_s,
                                          double bytes_per_s)
{
    double n = shape->members;
    return (n - 1.0) * (latency_s + bytes / n / bytes_per_s);
}

#endif
