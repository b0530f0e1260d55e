/* The engine of synchronous gossip, for its presets: in every round ranks send to their neighbours
 * in a graph (strategies/mixing.h) and average with what comes. Published names differ in the rule
 * (gs_gossip_rule). */
#ifndef GS_STRATEGIES_GOSSIP_H
#define GS_STRATEGIES_GOSSIP_H

#include "strategies/gossip_rule.h"
#include "strategies/strategy.h"
#include "strategies/world.h"

/* What a worker exports. */
typedef struct gs_gossip_account {
    int64_t steps;
    double weight; /* push-sum's w, else 1 */
} gs_gossip_account;

gs_status gs_gossip_layout(gs_gossip_kind kind, const char *name, const gs_gossip_config *config,
                           const gs_job *job, gs_layout *out, gs_error *err);
void gs_gossip_init(gs_gossip_kind kind, gs_world *world, void *state);
void gs_gossip_import(gs_gossip_kind kind, gs_world *world, void *state, const void *in,
                      size_t in_bytes);

/* Hooks as they are in gs_strategy. */
gs_plan gs_gossip_step_begin(gs_world *world, void *state, const gs_event *event);
void gs_gossip_backward_done(gs_world *world, void *state, const gs_event *event);
void gs_gossip_op_done(gs_world *world, void *state, const gs_event *event);
void gs_gossip_message(gs_world *world, void *state, const gs_event *event);
void gs_gossip_quiesce(gs_world *world, void *state, const gs_event *event);
size_t gs_gossip_export(const void *state, void *out, size_t out_bytes);
void gs_gossip_view(const void *state, uint32_t *out_vector, double *out_weight);

#endif
