/* The binomial tree of reduce, gather and scatter, in places counted from the root: place p hangs
 * under p without its lowest bit. A place with lowest bit b stands for the b places from it on, as
 * far as there are any. */
#ifndef GS_STRATEGIES_COLLECTIVES_BINOMIAL_TREE_H
#define GS_STRATEGIES_COLLECTIVES_BINOMIAL_TREE_H

#include "strategies/collectives/wrapped_parts.h"

static inline uint32_t gs_binomial_place(const gs_shape *shape)
{
    return shape->self >= shape->root ? shape->self - shape->root
                                      : shape->self + shape->members - shape->root;
}

static inline uint32_t gs_binomial_member(const gs_shape *shape, uint32_t place)
{
    return (uint32_t)(((uint64_t)place + shape->root) % shape->members);
}

/* Lowest bit of a place; of the root the first power of two that is no place. */
static inline uint32_t gs_binomial_bit(const gs_shape *shape, uint32_t place)
{
    uint32_t bit = 1;
    while (bit < shape->members && (place & bit) == 0) {
        bit *= 2;
    }
    return bit;
}

/* ceil(log2 n): links from the root to the farthest place, and rounds. */
static inline uint32_t gs_binomial_rounds(uint32_t members)
{
    uint32_t rounds = 0;
    while (members > (uint64_t)1 << rounds) {
        rounds++;
    }
    return rounds;
}

/* Children are members so much ahead as a power of two, the parent as much behind, for any root. */
static inline uint32_t gs_binomial_ahead(const gs_shape *shape, gs_edge *out)
{
    uint32_t count = 0;
    for (uint32_t distance = 1; distance < shape->members; distance *= 2) {
        out[count++] =
            (gs_edge){(uint32_t)(((uint64_t)shape->self + distance) % shape->members), 0};
    }
    return count;
}

static inline uint32_t gs_binomial_behind(const gs_shape *shape, gs_edge *out)
{
    uint32_t count = 0;
    for (uint32_t distance = 1; distance < shape->members; distance *= 2) {
        uint64_t peer = (uint64_t)shape->self + shape->members - distance;
        out[count++] = (gs_edge){(uint32_t)(peer % shape->members), 0};
    }
    return count;
}

/* Seconds until the root has got what hangs under it, or all have got theirs from it: along the
 * slowest way. Of m places 2^k, the largest power of two below m, stand under the root's smaller
 * children, who take k a + (2^k - 1) b together with their own, one in the other; the other m - 2^k
 * come to the largest child, who then sends them as one. b: seconds of a part. */
static inline double gs_binomial_way_s(uint32_t members, double part_s, double latency_s)
{
    double before = 0.0;
    double most = 0.0;
    while (members > 1) {
        uint32_t rounds = gs_binomial_rounds(members) - 1;
        uint32_t smaller = UINT32_C(1) << rounds;
        double way = before + rounds * latency_s + (smaller - 1.0) * part_s;
        most = way > most ? way : most;
        members -= smaller;
        before += latency_s + members * part_s;
    }
    return before > most ? before : most;
}

#endif
