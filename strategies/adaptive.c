/* Averages when it pays, as the controller of libgradsync_hook says (docs/controller.md):
 *
 *     dense    x = optimizer(x, mean gradient), bucket by bucket, as allreduce
 *     local    x = optimizer(x, own gradient); now and then x = z + mean of x - z over all ranks or
 *              those of a node; z is the last model that all had
 *
 * Dense comes first and does not come back: momentum of ranks that learned apart differs. In a step
 * with a decision ranks agree on their signals first: three agreements of three values. */
#include "base/assert.h"
#include "strategies/adaptive_rule.h"
#include "strategies/bucket.h"
#include "strategies/controller/hook_state.h"
#include "strategies/whole_model.h"

#include <math.h>
#include <string.h>

enum { GRADIENTS, MODELS, NODE };
enum {
    ANCHOR = GS_OWN,
    DELTA = GS_GRAD
}; /* a gradient has been used when models differ by DELTA */
enum { SUMS_FIRST, SUMS_SECOND, MAXIMA, AGREEMENTS };

/* Labels of what is under way: all-reduces of buckets have their number. */
enum { OWN_GRADIENT = 1 << 30, MEAN_GRADIENT, DRIFT, MEAN_DRIFT, AVERAGE, AGREED };

typedef struct state {
    bool busy;     /* a step has begun and not ended */
    bool backward; /* its gradient is being computed */
    bool decides;  /* ranks agree in it */
    bool quiescing, finishing;
    uint32_t reducing; /* buckets that are not reduced yet */
    uint32_t awaited;  /* other requests under way */
    int32_t scope;     /* of the average under way */
    gs_time_ns began_ns, computed_ns, waits_ns;
    gradsync_hook_signals signals; /* of this step */
    gradsync_hook_values values;   /* of all ranks, as far as they have come */
    gradsync_hook controller;
} state;

static bool is_dense(const state *self)
{
    return self->controller.agreed.rung == GRADSYNC_HOOK_DENSE;
}

static double seconds(gs_time_ns from_ns, gs_time_ns to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) * 1e-9 : 1e-9;
}

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const gs_adaptive_config *chosen = settings;
    gs_bucket_rule rule = {chosen->first_bucket_bytes, chosen->bucket_bytes};
    (void)err;
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = 1},
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = 2 * gs_bucket_count_max(job, &rule) + AGREEMENTS},
        .communicator_count = gs_adaptive_has_nodes(job) ? 3 : 2,
        .communicators = {[GRADIENTS] = {.coded = true},
                          [MODELS] = {.kinds = 1U << GS_ALL_REDUCE | GS_AGREES, .coded = true},
                          [NODE] = {.group = {job->node_ranks, 1}}},
        .ordered = true,
        .bytes_vary = true,
        .learns_apart = true,
        .buckets = rule,
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* ---------------------------------------------------------------- averages of models */

static void begin_average(gs_world *world, state *self, int32_t scope)
{
    uint32_t communicator = scope == GRADSYNC_HOOK_NODE ? NODE : MODELS;
    gs_slice delta = gs_whole(world, DELTA);
    self->scope = scope;
    self->awaited = 1;
    gs_whole_vec(world, GS_VOP_copy, DELTA, GS_PARAM, 0.0);
    gs_whole_vec(world, GS_VOP_sub, DELTA, ANCHOR, 0.0);
    gs_vec(world, GS_VOP_scale, delta, delta, 1.0 / gs_members(world, communicator));
    (void)gs_all_reduce(world, communicator, delta, AVERAGE);
}

static void use_average(gs_world *world)
{
    gs_whole_vec(world, GS_VOP_copy, GS_PARAM, ANCHOR, 0.0);
    gs_whole_vec(world, GS_VOP_add, GS_PARAM, DELTA, 0.0);
}

static void end_average(gs_world *world, state *self)
{
    use_average(world);
    if (self->scope == GRADSYNC_HOOK_ALL) {
        gs_whole_vec(world, GS_VOP_copy, ANCHOR, GS_PARAM, 0.0);
        self->awaited = 1;
        (void)gs_dot(world, gs_whole(world, DELTA), gs_whole(world, DELTA), MEAN_DRIFT);
    }
}

/* ---------------------------------------------------------------- a step */

static void end_step(gs_world *world, state *self)
{
    self->busy = false;
    gs_end_step(world);
    if (!self->quiescing) {
        gs_release(world);
        return;
    }
    if (is_dense(self) || self->controller.agreed.since == 0) {
        gs_drained(world);
        return;
    }
    self->finishing = true;
    begin_average(world, self, GRADSYNC_HOOK_ALL);
}

static void act(gs_world *world, state *self)
{
    gradsync_hook_decision decision;
    gradsync_hook_decide(&self->controller, &self->values, &decision);
    bool was_dense = decision.from_rung == GRADSYNC_HOOK_DENSE;
    if (was_dense && decision.rung != GRADSYNC_HOOK_DENSE) {
        gradsync_hook_withdraw(&self->controller, GRADSYNC_HOOK_DENSE);
        gs_whole_vec(world, GS_VOP_copy, ANCHOR, GS_PARAM, 0.0);
    }
    if (was_dense || decision.scope == GRADSYNC_HOOK_NONE) {
        end_step(world, self);
        return;
    }
    begin_average(world, self, decision.scope);
}

static void agree(gs_world *world, state *self)
{
    const double *sums = self->values.sums;
    self->awaited = AGREEMENTS;
    (void)gs_agree(world, MODELS, GS_AGREE_SUM, sums, AGREED + SUMS_FIRST);
    (void)gs_agree(world, MODELS, GS_AGREE_SUM, sums + GS_AGREE_VALUES, AGREED + SUMS_SECOND);
    (void)gs_agree(world, MODELS, GS_AGREE_MAX, self->values.maxima, AGREED + MAXIMA);
}

/* All signals of the step are here. */
static void tell(gs_world *world, state *self)
{
    bool decides = gradsync_hook_step(&self->controller, &self->signals, &self->values);
    GS_ASSERT(decides == self->decides);
    int32_t phase = self->signals.phase;
    self->signals = gradsync_hook_unknown();
    self->signals.phase = phase;
    if (decides) {
        agree(world, self);
    } else {
        end_step(world, self);
    }
}

/* The gradient, own or mean, is complete: it is used, and where ranks decide it is looked at. */
static void use(gs_world *world, state *self)
{
    gs_slice gradient = gs_whole(world, GS_GRAD);
    if (self->decides) {
        self->awaited++;
        (void)gs_dot(world, gradient, gradient, is_dense(self) ? MEAN_GRADIENT : OWN_GRADIENT);
    }
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, false);
    if (self->decides && !is_dense(self)) {
        self->awaited++;
        gs_whole_vec(world, GS_VOP_copy, DELTA, GS_PARAM, 0.0);
        gs_whole_vec(world, GS_VOP_sub, DELTA, ANCHOR, 0.0);
        (void)gs_dot(world, gs_whole(world, DELTA), gs_whole(world, DELTA), DRIFT);
    }
    if (self->awaited == 0) {
        tell(world, self);
    }
}

/* ---------------------------------------------------------------- hooks */

static void init(gs_world *world, void *memory)
{
    state *self = memory;
    gradsync_hook_config config =
        gs_adaptive_hook(gs_world_config(world), gs_world_job(world), gs_self(world).index);
    const char *why;
    *self = (state){.signals = gradsync_hook_unknown()};
    gradsync_hook *made =
        gradsync_hook_create(&self->controller, sizeof self->controller, &config, &why);
    GS_ASSERT(made != NULL);
    gs_whole_vec(world, GS_VOP_copy, ANCHOR, GS_PARAM, 0.0);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (self->busy) {
        return (gs_plan){.go = false};
    }
    self->busy = self->backward = true;
    self->decides = self->controller.agreed.steps + 1 >= self->controller.agreed.look_at;
    self->reducing = is_dense(self) ? gs_bucket_count(world) : 0;
    self->began_ns = event->at_ns;
    self->signals.phase = gs_adaptive_phase(event->phase);
    return gs_plan_at(world, GS_PARAM);
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (!is_dense(self)) {
        return;
    }
    if (self->decides) {
        self->awaited++;
        (void)gs_dot(world, event->slice, event->slice, OWN_GRADIENT);
    }
    gs_vec(world, GS_VOP_scale, event->slice, event->slice, 1.0 / gs_world_job(world)->ranks);
    (void)gs_all_reduce(world, GRADIENTS, event->slice, event->bucket);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    self->backward = false;
    self->computed_ns = event->at_ns;
    self->signals.loss = event->loss;
    self->signals.step_s = seconds(self->began_ns, event->at_ns);
    if (self->reducing == 0) {
        if (is_dense(self)) {
            self->signals.sync_s = seconds(event->at_ns, event->at_ns);
        }
        use(world, self);
    }
}

static void add(double *sum, double value)
{
    *sum = isnan(*sum) ? value : *sum + value;
}

/* What one of three agreements says. */
static void take(state *self, uint64_t which, const double *agreed)
{
    double *into =
        which == MAXIMA ? self->values.maxima : self->values.sums + which * GS_AGREE_VALUES;
    memcpy(into, agreed, GS_AGREE_VALUES * sizeof *into);
}

static void average_arrived(gs_world *world, state *self, gs_time_ns at_ns)
{
    if (self->finishing) {
        use_average(world);
        gs_drained(world);
        return;
    }
    self->signals.sync_s = seconds(self->waits_ns, at_ns);
    end_average(world, self);
    if (self->awaited == 0) {
        end_step(world, self);
    }
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (event->cookie < OWN_GRADIENT) {
        self->reducing--;
        if (self->reducing == 0 && !self->backward) {
            self->signals.sync_s = seconds(self->computed_ns, event->at_ns);
            use(world, self);
        }
        return;
    }
    self->awaited--;
    switch (event->cookie) {
    case OWN_GRADIENT:
        add(&self->signals.gradient_sq, event->scalar);
        break;
    case MEAN_GRADIENT:
        self->signals.mean_gradient_sq = event->scalar;
        break;
    case DRIFT:
        self->signals.drift_sq = event->scalar;
        break;
    case MEAN_DRIFT:
        self->signals.mean_drift_sq = event->scalar;
        end_step(world, self);
        return;
    case AVERAGE:
        average_arrived(world, self, event->at_ns);
        return;
    default:
        take(self, event->cookie - AGREED, event->agreed);
        if (self->awaited == 0) {
            self->waits_ns = event->at_ns;
            act(world, self);
        }
        return;
    }
    if (self->awaited == 0 && self->reducing == 0 && !self->backward) {
        tell(world, self);
    }
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (self->busy) {
        return;
    }
    if (is_dense(self) || self->controller.agreed.since == 0) {
        gs_drained(world);
    } else {
        self->finishing = true;
        begin_average(world, self, GRADSYNC_HOOK_ALL);
    }
}

static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    GS_ASSERT(out_bytes >= sizeof self->controller);
    memcpy(out, &self->controller, sizeof self->controller);
    return sizeof self->controller;
}

/* What was learned of costs and gradients goes on; the anchor begins anew at the weights. */
static void import_state(gs_world *world, void *memory, const void *in, size_t in_bytes)
{
    state *self = memory;
    init(world, self);
    GS_ASSERT(in_bytes == sizeof self->controller);
    memcpy(&self->controller, in, sizeof self->controller);
}

const gs_strategy gs_strategy_adaptive = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "adaptive",
    .summary = "averages when what ranks lose by learning apart comes to what an average costs; "
               "three agreements for each decision",
    .source = "docs/controller.md; after Wang and Joshi, AdaComm, SysML 2019 (arXiv 1810.08313), "
              "and Tyagi and Swany, SelSync, 2023 (arXiv 2307.07950)",
    .config = &gs_adaptive_fields,
    .layout = layout,
    .init = init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .quiesce = quiesce,
    .export_state = export_state,
    .import_state = import_state,
};
