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

#include <string.h>

enum { STEADY = INT32_MAX }; /* a step after all warm-ups of codecs */

typedef struct state {
    uint32_t kind;  /* gs_local_kind */
    bool waits;     /* a local step is made, and the step has not ended */
    bool under_way; /* a mean was asked for and is not used yet */
    bool arrived;   /* it is here */
    bool quiescing;
    bool finishing; /* the last mean of the run is under way */
    int64_t steps;  /* made */
    int64_t since;  /* the last sending, in steps */
    int64_t round;  /* sendings */
    gs_local_agreement agreement;
} state;

static gs_local_rule rule_of(const gs_world *world, const state *self)
{
    return gs_local_rule_of((gs_local_kind)self->kind, gs_world_config(world),
                            gs_world_job(world)->ranks);
}

static gs_slice whole(const gs_world *world, uint32_t vector)
{
    return (gs_slice){vector, 0, gs_world_job(world)->elements};
}

/* ---------------------------------------------------------------- layout */

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
        .buckets = {INT64_MAX, INT64_MAX}, /* gradients do not travel */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* Of all ranks together, in their rounds of a whole run or period: the first fragments are larger.
 */
static double bytes_of_rounds(const gs_local_rule *rule, const gs_job *job, const gs_coding *coding,
                              int64_t rounds)
{
    int64_t least = job->elements / rule->fragments;
    int64_t larger = job->elements % rule->fragments;
    int64_t rest = rounds % rule->fragments;
    int64_t with_more = rounds / rule->fragments * larger + (rest < larger ? rest : larger);
    int64_t more = gs_coding_group_bytes(coding, job->ranks, least + 1, job->element_bytes, STEADY);
    int64_t less = gs_coding_group_bytes(coding, job->ranks, least, job->element_bytes, STEADY);
    return (double)with_more * (double)more + (double)(rounds - with_more) * (double)less;
}

int64_t gs_local_wire_bytes(gs_local_kind kind, const gs_local_config *config, const gs_job *job,
                            const gs_coding *coding)
{
    gs_local_rule rule = gs_local_rule_of(kind, config, job->ranks);
    bool differ = false;
    int64_t steps = rule.period * rule.fragments;
    int64_t rounds = rule.fragments;
    if (job->budget_steps > 0) {
        steps = job->budget_steps;
        rounds = gs_local_rounds(&rule, steps, &differ);
    }
    double bytes = bytes_of_rounds(&rule, job, coding, rounds);
    if (differ) {
        rule.fragments = 1;
        bytes += bytes_of_rounds(&rule, job, coding, 1);
    }
    return (int64_t)(bytes / job->ranks / (double)steps);
}

/* ---------------------------------------------------------------- the algorithm */

static void send_delta(gs_world *world, state *self, const gs_local_rule *rule)
{
    gs_slice delta = gs_local_leave(world, rule, self->round);
    (void)gs_all_reduce(world, 0, delta, (uint64_t)self->round);
    self->round++;
    self->since = 0;
    self->under_way = true;
    self->arrived = false;
    if (rule->interval > 0) {
        gs_local_ask(world, &self->agreement, rule, self->steps);
    }
}

/* What was sent last has come back as the mean. */
static void use_mean(gs_world *world, state *self, const gs_local_rule *rule)
{
    gs_local_arrive(world, rule, self->round - 1);
    self->under_way = false;
}

/* The end of a run: what is on its way is used. Then the model is the centre of an elastic average,
 * and else the mean of all ranks, without an outer step: the rest of a period is none. */
static void finish(gs_world *world, state *self)
{
    gs_local_rule rule = rule_of(world, self);
    if (self->under_way && !self->arrived) {
        return;
    }
    if (self->under_way) {
        use_mean(world, self, &rule);
    }
    if (rule.centre) {
        gs_vec(world, GS_VOP_copy, whole(world, GS_PARAM), whole(world, GS_LOCAL_ANCHOR), 0.0);
    } else if (self->since > 0 || !gs_local_ends_equal(&rule)) {
        self->finishing = true;
        rule = (gs_local_rule){.fragments = 1, .weight = 1.0 / gs_world_job(world)->ranks};
        send_delta(world, self, &rule);
        return;
    }
    gs_drained(world);
}

static void finished(gs_world *world)
{
    gs_vec(world, GS_VOP_add, whole(world, GS_LOCAL_ANCHOR), whole(world, GS_LOCAL_DELTA), 0.0);
    gs_vec(world, GS_VOP_copy, whole(world, GS_PARAM), whole(world, GS_LOCAL_ANCHOR), 0.0);
    gs_drained(world);
}

/* After a local step, as far as it goes without waiting: use what is due, send what is due. */
static void advance(gs_world *world, state *self)
{
    gs_local_rule rule = rule_of(world, self);
    for (;;) {
        int64_t period = gs_local_period_at(&rule, self->steps - 1, self->agreement.period);
        if (self->under_way && self->since >= rule.delay) {
            if (!self->arrived || self->agreement.asking) {
                return;
            }
            use_mean(world, self, &rule);
        } else if (self->since >= period) {
            send_delta(world, self, &rule);
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
    gs_vec(world, GS_VOP_copy, whole(world, GS_LOCAL_ANCHOR), whole(world, GS_PARAM), 0.0);
}

gs_plan gs_local_step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->waits) {
        return (gs_plan){.go = false};
    }
    return (gs_plan){
        .go = true, .at = GS_PARAM, .micro_steps = (uint32_t)gs_world_job(world)->accumulation};
}

void gs_local_bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    (void)world;
    (void)memory;
    (void)event;
}

void gs_local_backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, false);
    gs_local_hear_loss(&self->agreement, event->loss);
    self->steps++;
    self->since++;
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
    self->arrived = true;
    if (self->finishing) {
        finished(world);
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
    int64_t period, first_loss, looked; /* of gs_local_agreement */
} exported;

size_t gs_local_export(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    exported kept = {self->steps, self->agreement.period, self->agreement.first_loss,
                     self->agreement.looked};
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
    self->agreement.period = kept.period;
    self->agreement.first_loss = kept.first_loss;
    self->agreement.looked = kept.looked;
}

void gs_local_view(const void *memory, uint32_t *out_vector, double *out_weight)
{
    const state *self = memory;
    *out_vector = self->kind == GS_LOCAL_EASGD ? GS_LOCAL_ANCHOR : GS_PARAM;
    *out_weight = 1.0;
}
