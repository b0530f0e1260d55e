/* Watches what the ranks of a job learn from: the gradient each takes in a step, and at which
 * weights. Says how true the updates are to the exact gradient (gradient fidelity, defined in
 * docs/formats.md), how far the ranks are apart and how noisy their gradients
 * (traces/gradient_noise.h), and what the gradients look like (traces/gradient_look.h).
 *
 * It asks a strategy for nothing: where all ranks take their gradients at the same weights, these
 * are the exact one; else they are computed once more at the mean of the weights. It changes
 * nothing of the run, and takes none of its time. Not thread safe. */
#ifndef GS_TRACES_GRADIENT_WATCH_H
#define GS_TRACES_GRADIENT_WATCH_H

#include "base/arena.h"
#include "models/halves.h"
#include "models/task.h"
#include "strategies/strategy.h"
#include "traces/record.h"
#include "traces/series.h"

typedef struct gs_gradient_watch gs_gradient_watch;

typedef struct gs_gradient_watch_config {
    const gs_task *task;
    gs_task_workspace *workspace; /* for the batches of all plans */
    const gs_optimizer_config *optimizer;
    gs_number number; /* what the gradients that come are rounded to */
    uint32_t ranks;
    int64_t batch_per_rank;
    int64_t fidelity_every; /* >= 1: one step of so many is judged, each time another of them, so
                               that a strategy's own period does not hide in it */
    bool steps_apart;       /* ranks step on their own: fidelity is of nothing and not told */
    int64_t look_every;     /* steps; 0: never */
    gs_series *series;
} gs_gradient_watch_config;

/* Pointers are borrowed. Errors: GS_ENOMEM. Owner of *out: the arena. */
GS_MUST_USE gs_status gs_gradient_watch_create(const gs_gradient_watch_config *config,
                                               gs_arena *arena, gs_gradient_watch **out);

/* A rank has taken its gradient of a step; the steps of one rank rise. */
typedef struct gs_gradient_taken {
    uint32_t rank;
    int64_t step;
    int64_t first_sample; /* samples that the rank took before */
    int64_t first_pass;   /* of the rank, as gs_entity_memory_gradient counts them */
    const gs_plan *plan;
    double weight;         /* with which the rank's model counts in a mean */
    const float *at;       /* [parameter count]: the weights */
    const float *gradient; /* [parameter count]: mean over the samples */
    gs_time_ns at_ns;
} gs_gradient_taken;

/* Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_gradient_watch_take(gs_gradient_watch *watch,
                                             const gs_gradient_taken *taken);

/* Sets what was seen of the gradients of the run so far. */
void gs_gradient_watch_facts(const gs_gradient_watch *watch, gs_run_facts *facts);

#endif
