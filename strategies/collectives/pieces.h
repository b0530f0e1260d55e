/* What pipelined programs have in common: pieces that follow one another along a way. */
#ifndef GS_STRATEGIES_COLLECTIVES_PIECES_H
#define GS_STRATEGIES_COLLECTIVES_PIECES_H

#include "strategies/collective.h"

#include <math.h>

/* Cuts piece `number` out of a share; false: there are fewer. An empty share has one, empty. */
static inline bool gs_piece_of(const gs_shape *shape, uint64_t number, int64_t *offset,
                               int64_t *length)
{
    if (shape->piece == 0 || *length <= shape->piece) {
        return number == 0;
    }
    if (number > (uint64_t)((*length - 1) / shape->piece)) {
        return false;
    }
    int64_t before = (int64_t)number * shape->piece;
    *offset += before;
    *length = *length - before < shape->piece ? *length - before : shape->piece;
    return true;
}

/* Seconds until the last piece of one of `shares` has come over `links` links. With P pieces, t the
 * time of a full one on the wire, u that of the last one, which waits behind a full one on every
 * link but the last, and a the latency:
 *
 *     (P - 1) t + (links - 1) (t + a) + u + a,  P > 1, or links (u + a). */
static inline double gs_pieces_s(const gs_shape *shape, uint32_t shares, double links, double bytes,
                                 double latency_s, double bytes_per_s)
{
    double share = bytes / shares / bytes_per_s;
    double elements = (double)shape->elements / shares;
    if (links == 0.0) {
        return 0.0;
    }
    if (shape->piece == 0 || elements <= (double)shape->piece) {
        return links * (latency_s + share);
    }
    double piece = share * (double)shape->piece / elements;
    double before = ceil(elements / (double)shape->piece) - 1.0;
    return (before + links - 1.0) * piece + (share - before * piece) + links * latency_s;
}

#endif
