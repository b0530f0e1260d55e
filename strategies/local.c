/* Local updates: ranks learn on their own, and every period the mean of how far they went moves the
 * anchor that they share.
 *
 *     each step     x = optimizer(x, gradient at x)
 *     each period   delta = mean over ranks of x - z; z = outer(z, delta); x = merged with z
 *
 * What is sent is the difference to the anchor, in which a codec loses least. A step in which ranks
 * wait for the mean ends when they have it. */
#include "strategies/local.h"

#include "base/assert.h"
#include "strategies/local_adapt.h"
#include "strategies/local_outer.h"
#include "strategies/local_round.h"
#include "strategies/whole_model.h"

#include <string.h>

typedef struct state {
    uint32_t kind; /* gs_local_kind */
    bool waits;    /* a local step is made, and the step has not ended */
    bool quiescing;
    bool finishing; /* the last mean of the run is under way */
    int64_t steps;  /* made */
    gs_local_round round;
    gs_local_agreement agreement;
} state;

static gs_local_rule rule_of(const gs_world *world, const state *self)
{
    return gs_local_rule_of((gs_local_kind)self->kind, gs_world_config(world),
                            gs_world_job(world)->ranks);
}

gs_status gs_local_layout(gs_local_kind kind, const char *name, const gs_local_config *config,
                          const gs_job *job, gs_layout *out, gs_error *err)
{
    GS_TRY(gs_local_check(kind, name, config, job, err));
    gs_local_rule rule = gs_local_rule_of(kind, config, job->ranks);
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = gs_local_vectors(&rule)},
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = 1},
        .communicator_count = 1,
        .communicators = {{.coded = true}},
        .point_to_point = rule.interval > 0,
        .bytes_vary = rule.interval > 0,
        .learns_apart = true,
        .buckets = {INT64_MAX, INT64_MAX}, /* gradients do not travel */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* The end of a run: what is on its way is used. Then the model is the centre of an elastic average,
 * and else the mean of all ranks, without an outer step: the rest of a period is none. */
static void finish(gs_world *world, state *self)
{
    gs_local_rule rule = rule_of(world, self);
    if (self->round.under_way && !self->round.arrived) {
        return;
    }
    if (self->round.under_way) {
        gs_local_round_end(world, &self->round, &rule);
    }
    if (rule.centre) {
        gs_whole_vec(world, GS_VOP_copy, GS_PARAM, GS_LOCAL_ANCHOR, 0.0);
    } else if (self->round.since > 0 || !gs_local_ends_equal(&rule)) {
        self->finishing = true;
        gs_local_round_begin_last(world, &self->round);
        return;
    }
    gs_drained(world);
}

/* After a local step, as far as it goes without waiting: use what is due, send what is due. */
static void advance(gs_world *world, state *self)
{
    gs_local_rule rule = rule_of(world, self);
    gs_local_round *round = &self->round;
    for (;;) {
        int64_t period = gs_local_period_at(&rule, self->steps - 1, self->agreement.period);
        if (round->under_way && round->since >= rule.delay) {
            if (!round->arrived || self->agreement.asking) {
                return;
            }
            gs_local_round_end(world, round, &rule);
        } else if (round->since >= period) {
            gs_local_round_begin(world, round, &rule);
            if (rule.interval > 0) {
                gs_local_ask(world, &self->agreement, &rule, self->steps);
            }
        } else {
            break;
        }
    }
    self->waits = false;
    gs_end_step(world);
    if (self->quiescing) {
        finish(world, self);
    } else {
        gs_release(world);
    }
}

/* ---------------------------------------------------------------- hooks */

void gs_local_init(gs_local_kind kind, gs_world *world, void *memory)
{
    state *self = memory;
    const gs_local_config *chosen = gs_world_config(world);
    *self = (state){.kind = (uint32_t)kind};
    self->agreement = (gs_local_agreement){.period = chosen->period, .looked = -1};
    gs_whole_vec(world, GS_VOP_copy, GS_LOCAL_ANCHOR, GS_PARAM, 0.0);
}

gs_plan gs_local_step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->waits) {
        return (gs_plan){.go = false};
    }
    return gs_plan_at(world, GS_PARAM);
}

void gs_local_backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, false);
    gs_local_hear_loss(&self->agreement, event->loss);
    self->steps++;
    self->round.since++;
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

void gs_local_op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->round.arrived = true;
    if (self->finishing) {
        gs_local_round_end_last(world);
        gs_drained(world);
    } else {
        go_on(world, self);
    }
}

void gs_local_message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    gs_local_rule rule = rule_of(world, self);
    gs_local_note(world, &self->agreement, &rule, event);
    go_on(world, self);
}

void gs_local_quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    go_on(world, self);
}

/* ---------------------------------------------------------------- from run to run */

typedef struct exported {
    int64_t steps;
    gs_local_agreement agreement;
} exported;

size_t gs_local_export(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    exported kept = {self->steps, gs_local_agreed(&self->agreement)};
    GS_ASSERT(out_bytes >= sizeof kept);
    memcpy(out, &kept, sizeof kept);
    return sizeof kept;
}

void gs_local_import(gs_local_kind kind, gs_world *world, void *memory, const void *in,
                     size_t in_bytes)
{
    state *self = memory;
    exported kept;
    GS_ASSERT(in_bytes == sizeof kept);
    memcpy(&kept, in, sizeof kept);
    gs_local_init(kind, world, self);
    self->steps = kept.steps;
    self->agreement = kept.agreement;
}

void gs_local_view(const void *memory, uint32_t *out_vector, double *out_weight)
{
    const state *self = memory;
    *out_vector = self->kind == GS_LOCAL_EASGD ? GS_LOCAL_ANCHOR : GS_PARAM;
    *out_weight = 1.0;
}
