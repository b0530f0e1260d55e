/* The engine of strategies that learn locally and average now and then, for its presets: hooks that
 * differ between published names in nothing but the rule (strategies/local_rule.h). */
#ifndef GS_STRATEGIES_LOCAL_H
#define GS_STRATEGIES_LOCAL_H

#include "strategies/local_bytes.h"
#include "strategies/local_rule.h"
#include "strategies/strategy.h"
#include "strategies/world.h"

gs_status gs_local_layout(gs_local_kind kind, const char *name, const gs_local_config *config,
                          const gs_job *job, gs_layout *out, gs_error *err);
void gs_local_init(gs_local_kind kind, gs_world *world, void *state);
/* What it exports: where it is in its schedule. Anchors begin anew at the weights as they are, and
 * outer momentum at 0: both belong to the period that has ended. */
void gs_local_import(gs_local_kind kind, gs_world *world, void *state, const void *in,
                     size_t in_bytes);

/* Hooks as they are in gs_strategy. */
gs_plan gs_local_step_begin(gs_world *world, void *state, const gs_event *event);
void gs_local_backward_done(gs_world *world, void *state, const gs_event *event);
void gs_local_op_done(gs_world *world, void *state, const gs_event *event);
void gs_local_message(gs_world *world, void *state, const gs_event *event);
void gs_local_quiesce(gs_world *world, void *state, const gs_event *event);
size_t gs_local_export(const void *state, void *out, size_t out_bytes);
void gs_local_view(const void *state, uint32_t *out_vector, double *out_weight);

#endif
