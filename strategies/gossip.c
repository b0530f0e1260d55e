/* Synchronous gossip: W mixes models, each step on its own neighbours only.
 *
 *     plain         x = sum over neighbours of W x        before the local step, or after it
 *     push_sum      x, w = sums of shares of x and w      gradients at x / w
 *     differences   x^ += C(x - x^); x += gamma (W x^ - x^)
 *
 * What comes is added in the order of neighbours, not of arrival: time changes no weight. */
#include "strategies/gossip.h"

#include "base/assert.h"
#include "strategies/coding.h"

#include <string.h>

typedef struct state {
    uint32_t kind;  /* gs_gossip_kind */
    bool waits;     /* the gradient is there, and the step has not ended */
    bool under_way; /* a round */
    bool quiescing;
    uint32_t open;   /* its requests */
    int64_t steps;   /* ended */
    int64_t sent_at; /* step of the last round; -1: none yet */
    double weight;   /* push-sum's w, a number of the protocol and of no vector, */
    double coming;   /* and what came of it in the round under way */
    gs_mixing mixing;
} state;

static gs_slice whole(const gs_world *world, uint32_t vector)
{
    return (gs_slice){vector, 0, gs_world_job(world)->elements};
}

static void vec(gs_world *world, gs_vop vop, uint32_t dst, uint32_t a, double k)
{
    gs_vec(world, vop, whole(world, dst), whole(world, a), k);
}

gs_gossip_rule gs_gossip_rule_of(gs_gossip_kind kind, const gs_gossip_config *config)
{
    return (gs_gossip_rule){
        .graph = (gs_graph)config->graph,
        .overlap = kind == GS_GOSSIP_D_PSGD && config->overlap,
        .push_sum = kind == GS_GOSSIP_SGP || kind == GS_GOSSIP_OSGP,
        .differences = kind == GS_GOSSIP_CHOCO,
        .delay = kind == GS_GOSSIP_OSGP ? config->delay : 0,
        .gamma = config->gamma,
    };
}

static gs_gossip_rule rule_of(const gs_world *world, const state *self)
{
    return gs_gossip_rule_of((gs_gossip_kind)self->kind, gs_world_config(world));
}

/* Steps between rounds. */
static int64_t period_of(const gs_gossip_rule *rule)
{
    return rule->delay > 0 ? rule->delay : 1;
}

/* The vector for what comes of the first neighbour. */
static uint32_t inbox_first(const gs_gossip_rule *rule)
{
    if (rule->differences) {
        return GS_GOSSIP_HEARD + 1;
    }
    if (rule->push_sum) {
        return rule->delay > 0 ? GS_GOSSIP_OUTBOX + 1 : GS_GOSSIP_MODEL + 1;
    }
    return GS_OWN;
}

/* ---------------------------------------------------------------- layout */

gs_status gs_gossip_layout(gs_gossip_kind kind, const char *name, const gs_gossip_config *config,
                           const gs_job *job, gs_layout *out, gs_error *err)
{
    gs_gossip_rule rule = gs_gossip_rule_of(kind, config);
    GS_TRY(gs_mixing_check(name, rule.graph, job->ranks, err));
    if (job->budget_steps > 0 && rule.delay > job->budget_steps) {
        return gs_fail(err, GS_EINVAL,
                       "%s.delay: %lld steps are more than the run has, %lld: nothing would be "
                       "used in time; use delay=1",
                       name, (long long)rule.delay, (long long)job->budget_steps);
    }
    uint32_t degree = gs_mixing_of(rule.graph, job->ranks).degree;
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = inbox_first(&rule) - GS_OWN + degree},
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = 2 * degree + 1},
        .point_to_point = true,
        .sends_coded = !rule.push_sum, /* a share that is lost on the way is weight without model */
        .no_residual = true,
        .buckets = {INT64_MAX, INT64_MAX}, /* gradients do not travel */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

int64_t gs_gossip_wire_bytes(gs_gossip_kind kind, const gs_gossip_config *config, const gs_job *job,
                             const gs_coding *coding)
{
    gs_gossip_rule rule = gs_gossip_rule_of(kind, config);
    int64_t degree = gs_mixing_of(rule.graph, job->ranks).degree;
    int64_t bytes = degree * gs_coding_send_bytes(coding, job->elements, job->element_bytes);
    int64_t period = period_of(&rule);
    if (job->budget_steps == 0) {
        return bytes / period;
    }
    int64_t rounds = (job->budget_steps + period - 1) / period;
    return (int64_t)((double)bytes * (double)rounds / (double)job->budget_steps);
}

/* ---------------------------------------------------------------- one round */

/* Makes what this rank sends, and returns where it is. */
static uint32_t make_news(gs_world *world, state *self, const gs_gossip_rule *rule)
{
    if (rule->differences) {
        vec(world, GS_VOP_copy, GS_GOSSIP_NEWS, GS_PARAM, 0.0);
        vec(world, GS_VOP_sub, GS_GOSSIP_NEWS, GS_GOSSIP_KNOWN, 0.0);
        gs_code(world, whole(world, GS_GOSSIP_HEARD), whole(world, GS_GOSSIP_NEWS));
        return GS_GOSSIP_NEWS;
    }
    if (!rule->push_sum) {
        return GS_PARAM;
    }
    vec(world, GS_VOP_scale, GS_PARAM, GS_PARAM, gs_mixing_weight(&self->mixing));
    self->weight *= gs_mixing_weight(&self->mixing);
    if (rule->delay == 0) {
        return GS_PARAM;
    }
    vec(world, GS_VOP_copy, GS_GOSSIP_OUTBOX, GS_PARAM, 0.0);
    return GS_GOSSIP_OUTBOX;
}

static void begin_round(gs_world *world, state *self, const gs_gossip_rule *rule)
{
    const gs_mixing *mixing = &self->mixing;
    uint32_t rank = gs_self(world).index;
    int64_t round = self->steps / period_of(rule);
    int flags = rule->differences ? GS_SEND_CODED | GS_SEND_SAME
                : rule->push_sum  ? GS_SEND_LENT
                                  : GS_SEND_CODED;
    int64_t meta[4] = {0};
    self->under_way = true;
    self->sent_at = self->steps;
    self->open = 2 * mixing->degree;
    self->coming = 0.0;
    if (mixing->degree == 0) {
        return;
    }
    gs_slice news = whole(world, make_news(world, self, rule));
    memcpy(meta, &self->weight, sizeof self->weight);
    for (uint32_t i = 0; i < mixing->degree; i++) {
        gs_peer from = {GS_WORKER, (uint16_t)gs_mixing_from(mixing, rank, round, i)};
        gs_recv(world, from, 0, whole(world, inbox_first(rule) + i), i);
    }
    for (uint32_t i = 0; i < mixing->degree; i++) {
        gs_peer to = {GS_WORKER, (uint16_t)gs_mixing_to(mixing, rank, round, i)};
        gs_send(world, to, 0, news, meta, flags);
    }
}

/* dst += k (sum of what came). */
static void add_inboxes(gs_world *world, const state *self, const gs_gossip_rule *rule,
                        uint32_t dst, double k)
{
    for (uint32_t i = 0; i < self->mixing.degree; i++) {
        vec(world, GS_VOP_axpy, dst, inbox_first(rule) + i, k);
    }
}

static void set_model(gs_world *world, const state *self)
{
    vec(world, GS_VOP_copy, GS_GOSSIP_MODEL, GS_PARAM, 0.0);
    vec(world, GS_VOP_scale, GS_GOSSIP_MODEL, GS_GOSSIP_MODEL, 1.0 / self->weight);
}

/* All of the round has come and gone. */
static void end_round(gs_world *world, state *self, const gs_gossip_rule *rule)
{
    double weight = gs_mixing_weight(&self->mixing);
    self->under_way = false;
    if (self->mixing.degree == 0) {
        return;
    }
    if (rule->push_sum) {
        add_inboxes(world, self, rule, GS_PARAM, 1.0);
        self->weight += self->coming;
    } else if (rule->differences) {
        vec(world, GS_VOP_add, GS_GOSSIP_KNOWN, GS_GOSSIP_HEARD, 0.0);
        vec(world, GS_VOP_axpy, GS_GOSSIP_SUM, GS_GOSSIP_HEARD, weight);
        add_inboxes(world, self, rule, GS_GOSSIP_SUM, weight);
        vec(world, GS_VOP_axpy, GS_PARAM, GS_GOSSIP_SUM, rule->gamma);
        vec(world, GS_VOP_axpy, GS_PARAM, GS_GOSSIP_KNOWN, -rule->gamma);
    } else {
        vec(world, GS_VOP_scale, GS_PARAM, GS_PARAM, weight);
        add_inboxes(world, self, rule, GS_PARAM, weight);
    }
}

/* A run stops after the same step everywhere, so what is under way is one round of each. */
static void finish(gs_world *world, state *self)
{
    gs_gossip_rule rule = rule_of(world, self);
    if (self->under_way && self->open > 0) {
        return;
    }
    if (self->under_way) {
        end_round(world, self, &rule);
        if (rule.push_sum) {
            set_model(world, self);
        }
    }
    gs_drained(world);
}

/* With the gradient of a step, as far as it goes without waiting: end the round that is due, before
 * the next one begins. */
static void advance(gs_world *world, state *self)
{
    gs_gossip_rule rule = rule_of(world, self);
    if (self->under_way && self->steps - self->sent_at >= rule.delay) {
        if (self->open > 0) {
            return;
        }
        end_round(world, self, &rule);
    }
    if (self->sent_at < self->steps && self->steps % period_of(&rule) == 0) {
        begin_round(world, self, &rule);
        if (rule.delay == 0) {
            advance(world, self);
            return;
        }
    }
    if (rule.push_sum) {
        set_model(world, self);
    }
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
    *self = (state){.kind = (uint32_t)kind, .sent_at = -1, .weight = 1.0};
    gs_gossip_rule rule = rule_of(world, self);
    self->mixing = gs_mixing_of(rule.graph, gs_world_job(world)->ranks);
    if (rule.push_sum) {
        set_model(world, self);
    }
    if (rule.differences) { /* nobody knows anything: x^ is 0 */
        vec(world, GS_VOP_copy, GS_GOSSIP_KNOWN, GS_PARAM, 0.0);
        vec(world, GS_VOP_sub, GS_GOSSIP_KNOWN, GS_PARAM, 0.0);
        vec(world, GS_VOP_copy, GS_GOSSIP_SUM, GS_GOSSIP_KNOWN, 0.0);
    }
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
        begin_round(world, self, &rule);
    }
    return (gs_plan){.go = true,
                     .at = rule.push_sum ? GS_GOSSIP_MODEL : GS_PARAM,
                     .micro_steps = (uint32_t)gs_world_job(world)->accumulation};
}

void gs_gossip_bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    (void)world;
    (void)memory;
    (void)event;
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
    self->open--;
    go_on(world, self);
}

void gs_gossip_message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    double share;
    memcpy(&share, event->meta, sizeof share);
    self->coming += share; /* all ranks have the same weight: the order does not matter */
    self->open--;
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
    gs_gossip_account kept = {self->steps, self->weight};
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
    self->sent_at = kept.steps - 1;
    self->weight = kept.weight;
    if (rule_of(world, self).push_sum) {
        set_model(world, self);
    }
}

void gs_gossip_view(const void *memory, uint32_t *out_vector, double *out_weight)
{
    const state *self = memory;
    bool push_sum = self->kind == GS_GOSSIP_SGP || self->kind == GS_GOSSIP_OSGP;
    *out_vector = push_sum ? GS_GOSSIP_MODEL : GS_PARAM;
    *out_weight = self->weight;
}
