/* Load-balanced synchronous SGD: as allreduce, but the samples of a step are shared out so that all
 * ranks compute equally long. Each rank times its own passes and tells all others, by a note a step
 * and peer; all fit the same times by the same arithmetic, so all know the same shares. Gradients
 * are weighted by samples: their sum is the mean over the step's samples, as without sharing. */
#include "base/assert.h"
#include "strategies/balance.h"
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/synchronous.h"
#include "strategies/world.h"

#include <string.h>

enum { COMMUNICATOR = 0, TAG_TIME = 0 };

typedef struct config {
    int64_t bucket_bytes, first_bucket_bytes;
    int64_t least, most;
    double keep;
} config;

typedef struct state {
    gs_sync_step step; /* pending: its buckets, and the times of all ranks as one more */
    int64_t began_ns;
    double weight; /* of this rank's gradient in the mean */
    gs_balance balance;
    gs_share shares[]; /* [ranks] */
} state;

/* clang-format off */
static const gs_field fields[] = {
    GS_SYNC_BUCKET_FIELDS(config),
    {"least", GS_FIELD_INT, GS_FIELD_AT(config, least), "1", 0, 1, NULL,
     "samples of the slowest rank at least; 0: it may take part without any, and stays so"},
    {"most", GS_FIELD_INT, GS_FIELD_AT(config, most), "4", 1, 1024, NULL,
     "times the batch that a rank takes at most: what its memory holds"},
    {"keep", GS_FIELD_RATIO, GS_FIELD_AT(config, keep), "0.9", 0, 1, NULL,
     "weight of a time against that of the step after it"},
};
/* clang-format on */

static const gs_field_table table = {.name = "lb_bsp",
                                     .struct_bytes = sizeof(config),
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof *fields};

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    if (job->batch < 1) {
        return gs_fail(err, GS_EINVAL,
                       "lb_bsp shares out batches, and this job has none; "
                       "allreduce needs none");
    }
    gs_bucket_rule rule = GS_SYNC_BUCKETS(chosen);
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(state) + job->ranks * sizeof(gs_share)},
        .outstanding_max = {[GS_WORKER] = gs_bucket_count_max(job, &rule)},
        .communicator_count = 1,
        .communicators[COMMUNICATOR] = {.coded = true},
        .point_to_point = true,
        .ordered = true,
        .buckets = rule,
        .samples_max = chosen->most * job->batch,
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* That of the gradients; notes carry no data. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const config *chosen = settings;
    gs_bucket_rule rule = GS_SYNC_BUCKETS(chosen);
    return gs_coding_bucket_bytes(coding, job, &rule, 1);
}

static void init(gs_world *world, void *memory)
{
    state *self = memory;
    const gs_job *job = gs_world_job(world);
    gs_balance_init(&self->balance, self->shares, job->ranks, gs_self(world).index, job->batch);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    const gs_job *job = gs_world_job(world);
    gs_plan plan = gs_sync_begin(world, &self->step);
    if (!plan.go) {
        return plan;
    }
    self->step.pending++;
    self->began_ns = event->at_ns;
    plan.samples = self->shares[self->balance.own].samples;
    plan.dummy = plan.samples == 0;
    plan.samples_before = plan.dummy ? 0 : self->balance.before;
    self->weight = (double)plan.samples / ((double)job->batch * job->ranks);
    return plan;
}

/* Scaled before the sum, which then is the mean over all samples. */
static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    const state *self = memory;
    gs_vec(world, GS_VOP_scale, event->slice, event->slice, self->weight);
    (void)gs_all_reduce(world, COMMUNICATOR, event->slice, event->bucket);
}

/* Ends the step once it is reduced and all have told how long they took, this rank as well: then
 * its own gradient is complete. */
static void finish_step(gs_world *world, state *self)
{
    const config *chosen = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    if (gs_sync_is_busy(&self->step)) {
        return;
    }
    gs_balance_next(&self->balance, self->shares, chosen->keep,
                    &(gs_share_bounds){.total = job->batch * job->ranks,
                                       .least = chosen->least,
                                       .most = chosen->most * job->batch});
    gs_sync_finish(world, &self->step);
}

static void hear(gs_world *world, state *self, int64_t step, uint32_t rank, int64_t took_ns)
{
    if (gs_balance_hear(&self->balance, self->shares, step, rank, took_ns)) {
        self->step.pending--;
        finish_step(world, self);
    }
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    int64_t step = self->balance.step;
    int64_t took_ns = event->at_ns - self->began_ns;
    gs_sync_tell(world, TAG_TIME, (int64_t[4]){step, took_ns});
    self->step.backward = false;
    hear(world, self, step, self->balance.own, took_ns);
}

static void message(gs_world *world, void *memory, const gs_event *event)
{
    hear(world, memory, event->meta[0], event->from.index, event->meta[1]);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->step.pending--;
    finish_step(world, self);
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    gs_sync_quiesce(world, &self->step);
}

/* The times that the shares are from, and where the steps are. */
static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    state head = *self;
    size_t shares_bytes = self->balance.ranks * sizeof *self->shares;
    GS_ASSERT(sizeof head + shares_bytes <= out_bytes);
    head.step.quiescing = false;
    memcpy(out, &head, sizeof head);
    memcpy((char *)out + sizeof head, self->shares, shares_bytes);
    return sizeof head + shares_bytes;
}

static void import_state(gs_world *world, void *memory, const void *in, size_t in_bytes)
{
    (void)world;
    memcpy(memory, in, in_bytes);
}

const gs_strategy gs_strategy_lb_bsp = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "lb_bsp",
    .summary = "synchronous SGD whose ranks take samples by their speed, so that none waits",
    .source = "Chen et al., Semi-Dynamic Load Balancing, SoCC 2020",
    .config = &table,
    .layout = layout,
    .wire_bytes = wire_bytes,
    .init = init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .message = message,
    .quiesce = quiesce,
    .export_state = export_state,
    .import_state = import_state,
};
