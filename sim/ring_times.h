/* When turns round a ring end: two special forms of what sim/dataflow.h says of every program.
 *
 * In turn s member r sends part first + r - s (of as many parts as members) to r + 1, and receives
 * from r - 1. With x the time at which a member begins to send, c what its part takes on the wire
 * and a the latency,
 *
 *     x[s+1][r] = max(x[s][r] + c, x[s][r-1] + c' + a).
 *
 * Closed: on equal links without jitter the way of a late start is known. From member r - j it
 * passes j links; of its K messages each lets through another part but j, which wait for the
 * largest of them. So a member is late by the latest of all starts, each with its own way: two
 * sliding maxima, O(members + turns). Recurrence: any links, and a latency for each message;
 * O(members x turns). Both are exact to the tick. */
#ifndef GS_SIM_RING_TIMES_H
#define GS_SIM_RING_TIMES_H

#include "base/arena.h"
#include "sim/tick.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_ring {
    uint32_t members; /* >= 2 */
    uint64_t turns;   /* K, >= 1 */
    uint32_t first;   /* member r sends part (r + first) mod members first; below members */
    uint32_t large;   /* parts [0, large) take longer than the others */
} gs_ring;

/* What every link of a ring takes, where they are equal. */
typedef struct gs_ring_link {
    gs_tick large, small; /* on the wire, of a large part and of another one; never more */
    gs_tick latency;
} gs_ring_link;

/* Links of a ring; of member r to r + 1. */
typedef struct gs_ring_links {
    const gs_tick *large; /* [members] on the wire, of a large part */
    const gs_tick *small; /* [members] of another one; never more */
    const gs_tick *latency;
    /* out [members]: what the latency of message `turn` from each of them is multiplied by; NULL:
     * by 1. */
    void (*draw)(void *host, uint64_t turn, double *out);
    void *host;
    gs_tick *last_arrival; /* [members] with draw: no message arrives before it; kept up to date */
} gs_ring_links;

/* Scratch of both forms; grows with the largest ring. */
typedef struct gs_ring_room {
    gs_tick *ticks;
    uint32_t *queue;
    double *reals;
    uint64_t tick_capacity, queue_capacity, real_capacity;
    gs_arena *arena;
} gs_ring_room;

/* Whether the closed form can count as far as that: its sums are of up to so many parts. */
static inline bool gs_ring_fits(const gs_ring *ring, gs_ring_link link, gs_tick last_start)
{
    double parts = 2.0 * ring->members + (double)ring->turns;
    return parts * ((double)link.large + (double)link.latency) + (double)last_start < 0x1p62;
}

/* starts [members]: when each may begin to send. received, left [members]: out, when the last
 * message came, and when the last one of its own had left. false: no memory.
 * Asserts gs_ring_fits. */
bool gs_ring_closed(const gs_ring *ring, gs_ring_link link, const gs_tick *starts,
                    gs_ring_room *room, gs_tick *received, gs_tick *left);

/* The same for any links. */
bool gs_ring_recurrence(const gs_ring *ring, const gs_ring_links *links, const gs_tick *starts,
                        gs_ring_room *room, gs_tick *received, gs_tick *left);

#endif
