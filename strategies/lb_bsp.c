/* Load-balanced synchronous SGD: as allreduce, but the samples of a step are shared out so that all
 * ranks compute equally long. Each rank times its own passes and tells all others, by a note a step
 * and peer; all fit the same times by the same arithmetic, so all know the same shares. Gradients
 * are weighted by samples: their sum is the mean over the step's samples, as without sharing. */
#include "base/assert.h"
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/shares.h"
#include "strategies/world.h"

#include <string.h>

enum { COMMUNICATOR = 0, TAG_TIME = 0 };

typedef struct config {
    int64_t bucket_bytes, first_bucket_bytes;
    int64_t least, most;
    double keep;
} config;

typedef struct state {
    int64_t step;     /* under way, or the next one */
    int64_t began_ns; /* this rank's step */
    uint32_t pending; /* buckets of this step that are not reduced yet */
    uint32_t told[2]; /* ranks that told their times, by parity: others may be a step ahead */
    uint32_t ranks;
    bool busy; /* from a step's begin to its optimizer */
    bool quiescing;
    gs_share shares[]; /* [ranks] */
} state;

/* clang-format off */
static const gs_field fields[] = {
    {"bucket", GS_FIELD_BYTES, GS_FIELD_AT(config, bucket_bytes), "25MiB", 1, 0x1p40, NULL,
     "a bucket closes once it holds this much gradient"},
    {"first_bucket", GS_FIELD_BYTES, GS_FIELD_AT(config, first_bucket_bytes), "1MiB", 1, 0x1p40, NULL,
     "the same for the first bucket"},
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

static gs_bucket_rule buckets_of(const config *chosen)
{
    return (gs_bucket_rule){.first_bytes = chosen->first_bucket_bytes,
                            .cap_bytes = chosen->bucket_bytes};
}

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    if (job->batch < 1) {
        return gs_fail(err, GS_EINVAL,
                       "lb_bsp shares out batches, and this job has none; "
                       "allreduce needs none");
    }
    gs_bucket_rule rule = buckets_of(chosen);
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(state) + job->ranks * sizeof(gs_share)},
        .outstanding_max = {[GS_WORKER] = gs_bucket_count_max(job, &rule)},
        .communicator_count = 1,
        .communicators[COMMUNICATOR] = {.coded = true, .all_reduce = "ring"},
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
    gs_bucket_rule rule = buckets_of(settings);
    return gs_coding_bucket_bytes(coding, job, &rule);
}

static void init(gs_world *world, void *memory)
{
    state *self = memory;
    self->ranks = gs_world_job(world)->ranks;
    for (uint32_t rank = 0; rank < self->ranks; rank++) {
        self->shares[rank].samples = gs_world_job(world)->batch;
    }
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    const gs_job *job = gs_world_job(world);
    if (self->busy) {
        return (gs_plan){.go = false};
    }
    self->pending = gs_bucket_count(world);
    self->busy = true;
    self->began_ns = event->at_ns;
    gs_plan plan = {.go = true, .at = GS_PARAM, .micro_steps = (uint32_t)job->accumulation};
    plan.samples = self->shares[gs_self(world).index].samples;
    plan.dummy = plan.samples == 0;
    for (uint32_t rank = 0; rank < gs_self(world).index && !plan.dummy; rank++) {
        plan.samples_before += self->shares[rank].samples;
    }
    return plan;
}

/* Scaled before the sum, which then is the mean over all samples. */
static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    const state *self = memory;
    const gs_job *job = gs_world_job(world);
    double samples = (double)self->shares[gs_self(world).index].samples;
    gs_vec(world, GS_VOP_scale, event->slice, event->slice,
           samples / ((double)job->batch * job->ranks));
    (void)gs_all_reduce(world, COMMUNICATOR, event->slice, event->bucket);
}

/* Ends the step once it is reduced and all have told how long they took, this rank as well: then
 * its own gradient is complete. */
static void finish_step(gs_world *world, state *self)
{
    const config *chosen = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    uint32_t parity = (uint32_t)(self->step % 2);
    if (self->pending > 0 || self->told[parity] < self->ranks) {
        return;
    }
    self->busy = false;
    self->told[parity] = 0;
    self->step++;
    for (uint32_t rank = 0; rank < self->ranks; rank++) {
        gs_share *share = &self->shares[rank];
        gs_share_timed(share, share->took_ns[parity], chosen->keep);
    }
    gs_share_out(self->shares, self->ranks,
                 &(gs_share_bounds){.total = job->batch * job->ranks,
                                    .least = chosen->least,
                                    .most = chosen->most * job->batch});
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    if (self->quiescing) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}

static void take_time(state *self, int64_t step, uint32_t rank, int64_t took_ns)
{
    self->shares[rank].took_ns[step % 2] = took_ns;
    self->told[step % 2]++;
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    uint16_t own = gs_self(world).index;
    int64_t took_ns = event->at_ns - self->began_ns;
    for (uint16_t rank = 0; rank < self->ranks; rank++) {
        if (rank != own) {
            gs_note(world, (gs_peer){GS_WORKER, rank}, TAG_TIME, (int64_t[4]){self->step, took_ns});
        }
    }
    take_time(self, self->step, own, took_ns);
    finish_step(world, self);
}

static void message(gs_world *world, void *memory, const gs_event *event)
{
    take_time(memory, event->meta[0], event->from.index, event->meta[1]);
    finish_step(world, memory);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    ((state *)memory)->pending--;
    finish_step(world, memory);
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (!self->busy) {
        gs_drained(world);
    }
}

/* The times that the shares are from, and where the steps are. */
static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    state head = *self;
    size_t shares_bytes = self->ranks * sizeof *self->shares;
    GS_ASSERT(sizeof head + shares_bytes <= out_bytes);
    head.quiescing = false;
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
