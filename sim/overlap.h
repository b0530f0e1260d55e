/* When the transfers of two channels first meet on a link, from transfers in any order.
 *
 * Until then each of them had its links to itself, and times that were worked out so are right. A
 * list for each link, latest first: transfers come nearly in order, so that a new one finds its
 * place at the head. */
#ifndef GS_SIM_OVERLAP_H
#define GS_SIM_OVERLAP_H

#include "base/arena.h"
#include "sim/tick.h"

typedef struct gs_overlap_stay {
    gs_tick start, end;
    uint32_t channel;
    uint32_t earlier; /* of the same link; UINT32_MAX: none */
} gs_overlap_stay;

typedef struct gs_overlap {
    uint32_t *latest; /* [link_count] */
    uint32_t link_count;
    gs_overlap_stay *stays;
    uint32_t count, capacity;
    gs_tick first; /* two channels share a link from then on; GS_TICK_NEVER: not so far */
    gs_arena *arena;
    bool out_of_memory;
} gs_overlap;

/* false: no memory. */
bool gs_overlap_init(gs_overlap *overlap, uint32_t link_count, gs_arena *arena);
void gs_overlap_reset(gs_overlap *overlap);

/* A channel's transfers do not overlap with each other. One that ends as another one starts does
 * not meet it. Cost: O(transfers on the link that start later). */
void gs_overlap_add(gs_overlap *overlap, uint32_t link, uint32_t channel, gs_tick start,
                    gs_tick end);

#endif
