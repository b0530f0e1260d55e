/* Synchronous gossip: every step, or every few, a round in which W mixes models, each rank with its
 * own neighbours only (strategies/gossip_round.h); before the local step, or after it.
 *
 *     each step     x = optimizer(x, gradient at the model)
 *     each round    x = what came and what stayed, by the rule
 */
#include "strategies/gossip.h"

#include "base/assert.h"
#include "strategies/gossip_round.h"
#include "strategies/whole_model.h"

#include <string.h>

typedef struct state {
    uint32_t kind; /* gs_gossip_kind */
    bool waits;    /* the gradient is there, and the step has not ended */
    bool quiescing;
    int64_t steps; /* ended */
    gs_gossip_round round;
} state;

static gs_gossip_rule rule_of(const gs_world *world, const state *self)
{
    return gs_gossip_rule_of((gs_gossip_kind)self->kind, gs_world_config(world));
}

gs_status gs_gossip_layout(gs_gossip_kind kind, const char *name, const gs_gossip_config *config,
                           const gs_job *job, gs_layout *out, gs_error *err)
{
    gs_gossip_rule rule = gs_gossip_rule_of(kind, config);
    GS_TRY(gs_gossip_check(&rule, name, job, err));
    uint32_t degree = gs_mixing_of(rule.graph, job->ranks).degree;
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = gs_gossip_inbox(&rule) - GS_OWN + degree},
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = 2 * degree + 1},
        .point_to_point = true,
        .sends_coded = !rule.push_sum, /* a share that is lost on the way is weight without model */
        .no_residual = true,
        .learns_apart = true,
        .buckets = {INT64_MAX, INT64_MAX}, /* gradients do not travel */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* A run stops after the same step everywhere, so what is under way is one round of each. */
static void finish(gs_world *world, state *self)
{
    gs_gossip_rule rule = rule_of(world, self);
    if (self->round.under_way && self->round.open > 0) {
        return;
    }
    if (self->round.under_way) {
        gs_gossip_round_end(world, &self->round, &rule);
        gs_gossip_round_model(world, &self->round, &rule);
    }
    gs_drained(world);
}

/* With the gradient of a step, as far as it goes without waiting: end the round that is due, before
 * the next one begins. */
static void advance(gs_world *world, state *self)
{
    gs_gossip_rule rule = rule_of(world, self);
    gs_gossip_round *round = &self->round;
    if (round->under_way && self->steps - round->sent_at >= rule.delay) {
        if (round->open > 0) {
            return;
        }
        gs_gossip_round_end(world, round, &rule);
    }
    if (round->sent_at < self->steps && self->steps % gs_gossip_period(&rule) == 0) {
        gs_gossip_round_begin(world, round, &rule, self->steps);
        if (rule.delay == 0) {
            advance(world, self);
            return;
        }
    }
    gs_gossip_round_model(world, round, &rule);
    self->waits = false;
    self->steps++;
    if (rule.overlap) {
        gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    } else {
        gs_end_step(world);
    }
    if (self->quiescing) {
        finish(world, self);
    } else {
        gs_release(world);
    }
}

/* ---------------------------------------------------------------- hooks */

void gs_gossip_init(gs_gossip_kind kind, gs_world *world, void *memory)
{
    state *self = memory;
    *self = (state){.kind = (uint32_t)kind};
    gs_gossip_rule rule = rule_of(world, self);
    gs_gossip_round_init(world, &self->round, &rule);
}

gs_plan gs_gossip_step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    gs_gossip_rule rule = rule_of(world, self);
    (void)event;
    if (self->waits) {
        return (gs_plan){.go = false};
    }
    if (rule.overlap) {
        gs_gossip_round_begin(world, &self->round, &rule, self->steps);
    }
    return gs_plan_at(world, rule.push_sum ? GS_GOSSIP_MODEL : GS_PARAM);
}

void gs_gossip_backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (!rule_of(world, self).overlap) {
        gs_apply(world, GS_PARAM, GS_GRAD, 1.0, false);
    }
    self->waits = true;
    advance(world, self);
}

static void go_on(gs_world *world, state *self)
{
    if (self->waits) {
        advance(world, self);
    } else if (self->quiescing) {
        finish(world, self);
    }
}

void gs_gossip_op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->round.open--;
    go_on(world, self);
}

void gs_gossip_message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    gs_gossip_round_hear(&self->round, event);
    go_on(world, self);
}

void gs_gossip_quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    go_on(world, self);
}

/* ---------------------------------------------------------------- from run to run */

size_t gs_gossip_export(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    gs_gossip_account kept = {self->steps, self->round.weight};
    GS_ASSERT(out_bytes >= sizeof kept);
    memcpy(out, &kept, sizeof kept);
    return sizeof kept;
}

void gs_gossip_import(gs_gossip_kind kind, gs_world *world, void *memory, const void *in,
                      size_t in_bytes)
{
    state *self = memory;
    gs_gossip_account kept;
    GS_ASSERT(in_bytes == sizeof kept);
    memcpy(&kept, in, sizeof kept);
    gs_gossip_init(kind, world, self);
    self->steps = kept.steps;
    self->round.sent_at = kept.steps - 1;
    self->round.weight = kept.weight;
    gs_gossip_rule rule = rule_of(world, self);
    gs_gossip_round_model(world, &self->round, &rule);
}

void gs_gossip_view(const void *memory, uint32_t *out_vector, double *out_weight)
{
    const state *self = memory;
    bool push_sum = self->kind == GS_GOSSIP_SGP || self->kind == GS_GOSSIP_OSGP;
    *out_vector = push_sum ? GS_GOSSIP_MODEL : GS_PARAM;
    *out_weight = self->round.weight;
}
