/* What this machine takes to train the model of a scenario: passes timed layer by layer, as the
 * backward pass announces them, and the update of the optimizer.
 *
 * The forward pass is not announced layer by layer: its time is that of evaluating as many samples.
 * Nothing is sent; passes may run beside a network that is busy (live/measure_link.h). */
#ifndef GS_LIVE_MEASURE_MODEL_H
#define GS_LIVE_MEASURE_MODEL_H

#include "base/arena.h"
#include "base/status.h"
#include "traces/robust.h"
#include "traces/scenario/scenario.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct gs_measured_model gs_measured_model;

/* The model of a rank of the job, with its data. Errors: GS_EUNSUPPORTED (nothing trains really, or
 * the units of the profile are not the layers of what trains), those of gs_task_create, GS_ENOMEM.
 * Owner: the arena, which the model's later calls use too. */
GS_MUST_USE gs_status gs_measured_model_create(const gs_scenario *scenario, uint32_t rank,
                                               gs_arena *arena, gs_measured_model **out,
                                               gs_error *err);

typedef struct gs_model_times {
    uint32_t unit_count;
    double *backward_ns; /* [unit_count], medians: until the unit is ready, from when the one behind
                            it was; the last unit: from the start of the backward pass */
    double forward_ns;   /* median */
    double optimizer_ns; /* median of a whole update */
    gs_estimate pass_ns; /* forward and backward */
    double spread_ratio; /* of passes over their median: by their middle half, as a few that were
                            disturbed are no law of the job (gs_middle) */
    uint32_t passes, rejected;
} gs_model_times;

/* Errors: GS_EDIVERGED (the loss is not finite), GS_ENOMEM. */
GS_MUST_USE gs_status gs_measure_model(gs_measured_model *model, gs_model_times *out,
                                       gs_error *err);

/* Passes until *stop is not 0, at least `least` and at most `most`, each of which adds to
 * times_ns [most]; how many. For a thread of its own. */
GS_MUST_USE gs_status gs_measure_passes(gs_measured_model *model, uint32_t least, uint32_t most,
                                        atomic_int *stop, double *times_ns, uint32_t *out_count,
                                        gs_error *err);

#endif
