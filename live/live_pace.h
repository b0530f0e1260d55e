/* When what a rank computes is to be ready: the durations of the scenario's profile, with its
 * noise, for live runs that replay them instead of training.
 *
 * The twin of what sim/sim_worker.c plays, with the same draws; a forward pass that the strategy
 * opens bucket by bucket begins when all are open. Blocking ops of a profile are refused: they
 * stand for collectives of the job's own. */
#ifndef GS_LIVE_LIVE_PACE_H
#define GS_LIVE_LIVE_PACE_H

#include "strategies/bucket.h"
#include "traces/input_stage.h"
#include "traces/noise.h"

typedef struct gs_live_pace gs_live_pace;

typedef struct gs_paced_unit {
    uint32_t unit;
    gs_time_ns after_ns; /* the step's first kernel began; not falling */
} gs_paced_unit;

typedef struct gs_paced_step {
    gs_time_ns input_ns;        /* before the first kernel: the batch was waited for */
    const gs_paced_unit *units; /* [job's units], in the order in which they become ready; good
                                   until the next step */
    gs_time_ns compute_ns;      /* from the first kernel to the end of the backward pass */
    gs_time_ns optimizer_ns;    /* of the update that follows; 0: the profile has none */
} gs_paced_step;

/* For one rank of a run of that scenario. Errors: GS_EUNSUPPORTED (blocking ops), GS_EINVAL,
 * GS_ENOMEM. Owner: the arena; the scenario is borrowed. */
GS_MUST_USE gs_status gs_live_pace_create(const gs_scenario *scenario, const gs_job *job,
                                          uint32_t rank, gs_arena *arena, gs_live_pace **out,
                                          gs_error *err);
/* A step of the rank (0 is its first) begins at at_ns of the run by that plan. */
gs_paced_step gs_live_pace_step(gs_live_pace *pace, int64_t step, const gs_plan *plan,
                                gs_time_ns at_ns);

#endif
