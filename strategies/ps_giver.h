/* A server as a worker knows it: what it gave, what it has, and what it owes. */
#ifndef GS_STRATEGIES_PS_GIVER_H
#define GS_STRATEGIES_PS_GIVER_H

#include "strategies/world.h"

typedef enum gs_ps_answer {
    GS_PS_ANSWER_NONE,
    GS_PS_ANSWER_OF_PUSH,
    GS_PS_ANSWER_LAST
} gs_ps_answer;

typedef struct gs_ps_giver {
    int64_t version; /* of the weights that it gave last, */
    int64_t newest;  /* and of those that it said it has */
    uint8_t awaited; /* gs_ps_answer */
} gs_ps_giver;

/* Its weights are awaited, as that answer. server: which one it is. */
void gs_ps_giver_await(gs_world *world, gs_ps_giver *giver, uint32_t server, gs_ps_answer which);
/* They have come; returns what they were the answer to. */
gs_ps_answer gs_ps_giver_gave(gs_ps_giver *giver, const gs_event *event);
/* It told that what it gave is outdated, which may come before the weights that it is about, and
 * long after newer ones. */
void gs_ps_giver_told(gs_ps_giver *giver, const gs_event *event);

static inline bool gs_ps_giver_has_newer(const gs_ps_giver *giver)
{
    return giver->newest > giver->version;
}

#endif
