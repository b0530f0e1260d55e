/* How the samples of a step are shared out between ranks, from the times that all of them tell of
 * each step. Who has heard the same times has the same shares. */
#ifndef GS_STRATEGIES_BALANCE_H
#define GS_STRATEGIES_BALANCE_H

#include "strategies/shares.h"

#include <stdbool.h>

typedef struct gs_balance {
    int64_t step; /* under way, or the next one */
    uint32_t ranks, own;
    uint32_t told[2]; /* ranks that told their times, by parity: others may be a step ahead */
    int64_t before;   /* samples of the ranks below this one */
} gs_balance;

/* Ranks begin with a batch each. shares [ranks]: the same in all calls; owner: caller. */
void gs_balance_init(gs_balance *balance, gs_share *shares, uint32_t ranks, uint32_t own,
                     int64_t batch);

/* A rank took so long in the step under way or the one behind it. true: now all times of the step
 * under way are here. */
bool gs_balance_hear(gs_balance *balance, gs_share *shares, int64_t step, uint32_t rank,
                     int64_t took_ns);

/* The step has ended, whose times are all here: shares of the next one; keep as gs_share_timed. */
void gs_balance_next(gs_balance *balance, gs_share *shares, double keep,
                     const gs_share_bounds *bounds);

#endif
