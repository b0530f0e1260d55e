/* Collectives: one file each, as a program per member, made up as it runs.
 *
 * A member's program is a sequence of vertices: send a part of the slice to a peer, or receive one
 * from a peer and add it to, or put it over, what is there. Sends do not block. Both hosts, and
 * every way of timing, play the same program: a vertex is a pure function of (shape, index),
 * nothing is stored. A program must be safe without buffering: a part is written over only by data
 * that depends on the receipt of all sends of that part. Reductions happen in program order:
 * results are equal bit for bit in every host. */
#ifndef GS_STRATEGIES_COLLECTIVE_H
#define GS_STRATEGIES_COLLECTIVE_H

#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_shape {
    uint32_t members;
    uint32_t self;    /* 0 to members - 1 */
    int64_t elements; /* of the slice */
} gs_shape;

typedef enum gs_vertex_kind { GS_VERTEX_SEND, GS_VERTEX_ADD, GS_VERTEX_PUT } gs_vertex_kind;

typedef struct gs_vertex {
    gs_vertex_kind kind;
    uint32_t peer;
    int64_t offset; /* within the slice, in elements */
    int64_t length; /* may be 0: the message is sent all the same */
} gs_vertex;

typedef struct gs_collective {
    const char *name;
    const char *summary;
    const char *source;
    /* Writes vertex `index` of the member's program; false: the program has ended before. */
    bool (*vertex)(const gs_shape *shape, uint64_t index, gs_vertex *out);
    /* Distinct members that this one receives from, and sends to: writes up to members - 1 of them.
     */
    uint32_t (*sources)(const gs_shape *shape, uint32_t *out);
    uint32_t (*targets)(const gs_shape *shape, uint32_t *out);
    /* Seconds on equal private links: latency_s a message, bandwidth in bytes/s, no jitter. */
    double (*closed_s)(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s);
} gs_collective;

uint32_t gs_collective_count(void);
const gs_collective *gs_collective_at(uint32_t index);
const gs_collective *gs_collective_find(const char *name); /* NULL: no such name */

#endif
