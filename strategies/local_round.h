/* A round of local updates: how far ranks went since the last one leaves, and comes back as the
 * mean over all ranks. */
#ifndef GS_STRATEGIES_LOCAL_ROUND_H
#define GS_STRATEGIES_LOCAL_ROUND_H

#include "strategies/local_rule.h"
#include "strategies/world.h"

typedef struct gs_local_round {
    bool under_way; /* a mean was asked for and is not used yet */
    bool arrived;   /* it is here */
    int64_t since;  /* the last sending, in steps */
    int64_t count;  /* sendings */
} gs_local_round;

void gs_local_round_begin(gs_world *world, gs_local_round *round, const gs_local_rule *rule);
/* What was sent last has come back as the mean, which is used. */
void gs_local_round_end(gs_world *world, gs_local_round *round, const gs_local_rule *rule);

/* The last one of a run: the mean of all models, without an outer step. */
void gs_local_round_begin_last(gs_world *world, gs_local_round *round);
void gs_local_round_end_last(gs_world *world);

#endif
