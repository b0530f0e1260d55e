/* Local updates averaged at two levels: inside nodes often, between them rarely and, where asked
 * for, some steps late.
 *
 *     every `inside` steps    x = z + mean over the node of x - z
 *     every `between` steps   z = z + mean over nodes of that; x = z
 *
 * z is the anchor that all share. Between nodes each rank of a node sends its part of the
 * difference, so that links between them carry it once, whatever the ranks of a node. */
#include "base/assert.h"
#include "strategies/coding.h"
#include "strategies/collective.h"
#include "strategies/world.h"

#include <string.h>

typedef struct config {
    int64_t inside;
    int64_t between;
    int64_t delay;
} config;

typedef struct state {
    int64_t steps;  /* local steps made */
    int64_t inside; /* steps at the last average inside the node */
    int64_t sent;   /* steps when what is under way between nodes left */
    bool under_way; /* a mean between nodes is not used yet */
    bool arrived;   /* it is here */
    bool waits;     /* a local step is made, and the step has not ended */
    bool quiescing;
    bool last; /* the average at the end of the run is under way */
} state;

/* A communicator for each stage. */
enum { INSIDE, ACROSS, GATHER, STAGES };

enum { ANCHOR = GS_OWN, DELTA, SENT /* x when it left, only with a delay */ };

static const gs_field fields[] = {
    {.name = "inside",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(config, inside),
     .default_text = "4",
     .minimum = 1,
     .maximum = 1e9,
     .help = "local steps between averages inside a node"},
    {.name = "between",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(config, between),
     .default_text = "16",
     .minimum = 1,
     .maximum = 1e9,
     .help = "local steps between averages between nodes, a multiple of inside"},
    {.name = "delay",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(config, delay),
     .default_text = "0",
     .minimum = 0,
     .maximum = 1e9,
     .help = "steps from sending to using the mean between nodes, fewer than inside"},
};

static const gs_field_table table = {
    .name = "hier_avg",
    .struct_bytes = sizeof(config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

/* ---------------------------------------------------------------- layout */

static gs_status check(const config *chosen, const gs_job *job, gs_error *err)
{
    int64_t over = chosen->between % chosen->inside;
    if (job->node_ranks == 0) {
        return gs_fail(err, GS_EINVAL,
                       "hier_avg needs nodes with equal numbers of ranks, and these differ; use "
                       "local_sgd");
    }
    if (over != 0) {
        return gs_fail(err, GS_EINVAL,
                       "hier_avg.between: %lld steps are not a multiple of inside, %lld; use "
                       "between=%lld",
                       (long long)chosen->between, (long long)chosen->inside,
                       (long long)(chosen->between - over + chosen->inside));
    }
    if (chosen->delay > 0 && chosen->delay >= chosen->inside) {
        return gs_fail(err, GS_EINVAL,
                       "hier_avg.delay: %lld steps, but the next average inside nodes is after "
                       "%lld; use delay=%lld",
                       (long long)chosen->delay, (long long)chosen->inside,
                       (long long)(chosen->inside - 1));
    }
    if (job->budget_steps > 0 && chosen->between > job->budget_steps) {
        int64_t fits = job->budget_steps - job->budget_steps % chosen->inside;
        return gs_fail(err, GS_EINVAL,
                       "hier_avg.between: %lld steps, but the run has %lld, so that nodes would "
                       "never average; use between=%lld%s, or raise workload.budget.steps",
                       (long long)chosen->between, (long long)job->budget_steps,
                       (long long)(fits > 0 ? fits : job->budget_steps),
                       fits > 0 ? "" : " and a smaller inside");
    }
    return GS_OK;
}

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    GS_TRY(check(chosen, job, err));
    gs_group inside = {job->node_ranks, 1};
    gs_group across = {job->ranks / job->node_ranks, job->node_ranks};
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = chosen->delay > 0 ? 3 : 2},
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = 1},
        .communicator_count = STAGES,
        .communicators = {[INSIDE] = {.group = inside},
                          [ACROSS] = {.group = across, .coded = true},
                          [GATHER] = {.group = inside, .kinds = 1U << GS_ALL_GATHER}},
        .buckets = {INT64_MAX, INT64_MAX}, /* gradients do not travel */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* Do ranks differ after so many steps? */
static bool differ(const config *chosen, int64_t steps)
{
    return chosen->delay > 0 || steps % chosen->between != 0;
}

static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    enum { STEADY = INT32_MAX }; /* a step after all warm-ups of codecs */
    const config *chosen = settings;
    uint32_t inside = job->node_ranks;
    uint32_t nodes = job->ranks / inside;
    int64_t steps = job->budget_steps > 0 ? job->budget_steps : chosen->between;
    int64_t more = job->budget_steps > 0 && differ(chosen, steps) ? 1 : 0;
    double across = 0.0;
    for (uint32_t part = 0; part < inside; part++) {
        int64_t offset, length;
        gs_part_of(job->elements, inside, part, &offset, &length);
        across += (double)gs_coding_group_bytes(coding, nodes, length, job->element_bytes, STEADY);
    }
    double gather = (double)(job->elements * job->element_bytes) * (inside - 1) * nodes;
    double sent = (double)(steps / chosen->inside + more) * 2.0 * gather +
                  (double)(steps / chosen->between + more) * (across + gather);
    return (int64_t)(sent / job->ranks / (double)steps);
}

/* ---------------------------------------------------------------- the algorithm */

static gs_slice whole(const gs_world *world, uint32_t vector)
{
    return (gs_slice){vector, 0, gs_world_job(world)->elements};
}

static uint64_t label(int64_t steps, uint32_t stage)
{
    return (uint64_t)steps * STAGES + stage;
}

static void begin_inside(gs_world *world, state *self)
{
    gs_slice delta = whole(world, DELTA);
    gs_vec(world, GS_VOP_copy, delta, whole(world, GS_PARAM), 0.0);
    gs_vec(world, GS_VOP_sub, delta, whole(world, ANCHOR), 0.0);
    gs_vec(world, GS_VOP_scale, delta, delta, 1.0 / gs_members(world, INSIDE));
    self->inside = self->steps;
    (void)gs_all_reduce(world, INSIDE, delta, label(self->steps, INSIDE));
}

static void begin_between(gs_world *world, state *self)
{
    const config *chosen = gs_world_config(world);
    gs_slice part = gs_part(world, INSIDE, whole(world, DELTA), gs_member(world, INSIDE));
    if (chosen->delay > 0) {
        gs_vec(world, GS_VOP_copy, whole(world, SENT), whole(world, GS_PARAM), 0.0);
    }
    gs_vec(world, GS_VOP_scale, part, part, 1.0 / gs_members(world, ACROSS));
    self->sent = self->steps;
    self->under_way = true;
    self->arrived = false;
    (void)gs_all_reduce(world, ACROSS, part, label(self->sent, ACROSS));
}

/* Late, x keeps the steps that it made since it left. */
static void use_mean(gs_world *world, state *self)
{
    gs_slice x = whole(world, GS_PARAM);
    gs_slice z = whole(world, ANCHOR);
    gs_vec(world, GS_VOP_add, z, whole(world, DELTA), 0.0);
    if (self->sent == self->steps) {
        gs_vec(world, GS_VOP_copy, x, z, 0.0);
    } else {
        gs_vec(world, GS_VOP_sub, whole(world, SENT), z, 0.0);
        gs_vec(world, GS_VOP_sub, x, whole(world, SENT), 0.0);
    }
    self->under_way = false;
}

/* The end of a run: what is on its way is used, then all average once more. */
static void finish(gs_world *world, state *self)
{
    if (self->under_way && !self->arrived) {
        return;
    }
    if (self->under_way) {
        use_mean(world, self);
    }
    if (!self->last && differ(gs_world_config(world), self->steps)) {
        self->last = true;
        begin_inside(world, self);
        return;
    }
    gs_drained(world);
}

/* After a local step, as far as it goes without waiting. */
static void advance(gs_world *world, state *self)
{
    const config *chosen = gs_world_config(world);
    if (self->under_way && self->steps - self->sent >= chosen->delay) {
        if (!self->arrived) {
            return;
        }
        use_mean(world, self);
    }
    if (self->steps - self->inside >= chosen->inside) {
        begin_inside(world, self);
        return;
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

static void init(gs_world *world, void *memory)
{
    state *self = memory;
    *self = (state){.steps = 0};
    gs_vec(world, GS_VOP_copy, whole(world, ANCHOR), whole(world, GS_PARAM), 0.0);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    const state *self = memory;
    (void)event;
    if (self->waits) {
        return (gs_plan){.go = false};
    }
    return (gs_plan){
        .go = true, .at = GS_PARAM, .micro_steps = (uint32_t)gs_world_job(world)->accumulation};
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    (void)world;
    (void)memory;
    (void)event;
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, false);
    self->steps++;
    self->waits = true;
    advance(world, self);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    switch (event->cookie % STAGES) {
    case INSIDE:
        gs_vec(world, GS_VOP_copy, whole(world, GS_PARAM), whole(world, ANCHOR), 0.0);
        gs_vec(world, GS_VOP_add, whole(world, GS_PARAM), whole(world, DELTA), 0.0);
        if (self->last || self->steps % chosen->between == 0) {
            begin_between(world, self);
        }
        break;
    case ACROSS:
        (void)gs_all_gather(world, GATHER, whole(world, DELTA), label(self->sent, GATHER));
        return;
    default:
        self->arrived = true;
        break;
    }
    if (self->waits) {
        advance(world, self);
    } else if (self->quiescing) {
        finish(world, self);
    }
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (!self->waits) {
        finish(world, self);
    }
}

static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    GS_ASSERT(out_bytes >= sizeof self->steps);
    memcpy(out, &self->steps, sizeof self->steps);
    return sizeof self->steps;
}

/* Periods go on where they were; the anchor begins anew at the weights as they are. */
static void import_state(gs_world *world, void *memory, const void *in, size_t in_bytes)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    GS_ASSERT(in_bytes == sizeof self->steps);
    init(world, self);
    memcpy(&self->steps, in, sizeof self->steps);
    self->inside = self->steps - self->steps % chosen->inside;
}

const gs_strategy gs_strategy_hier_avg = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "hier_avg",
    .summary = "local steps, then the mean of all models: often inside nodes, rarely between them",
    .source = "Lin et al., Don't Use Large Mini-Batches, Use Local SGD, ICLR 2020 (arXiv "
              "1808.07217), hierarchical local SGD",
    .config = &table,
    .layout = layout,
    .wire_bytes = wire_bytes,
    .init = init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .quiesce = quiesce,
    .export_state = export_state,
    .import_state = import_state,
};
