/* A gradient on its way to the servers: piece by piece as they become ready, server by server. */
#ifndef GS_STRATEGIES_PS_PUSH_H
#define GS_STRATEGIES_PS_PUSH_H

#include "strategies/world.h"

typedef struct gs_ps_push {
    uint32_t sending; /* pieces, and ends of pushes */
    uint32_t server;  /* the next piece to push: of this one's shard, */
    uint32_t piece;
    bool ends; /* an end is sent behind the last piece of each shard */
} gs_ps_push;

/* From the first element on; what is on its way still goes. */
void gs_ps_push_begin(gs_ps_push *push, bool ends);
/* Pushes what lies before `ready`, an element of GRAD. */
void gs_ps_push_up_to(gs_world *world, gs_ps_push *push, int64_t ready);
/* No more of it comes: tells those servers that have not got their whole share. */
void gs_ps_push_cut(gs_world *world, gs_ps_push *push);

#endif
