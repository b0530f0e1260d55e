/* Accordion: gradients are compressed where they change little, bucket by bucket, and travel dense
 * where they change much, for what is lost then is not made up later.
 *
 *     each step       gradient = mean gradient, by the codec where the bucket is calm
 *     each interval   d = relative change of the norm of the bucket's gradients, summed over it;
 *                     a bucket with d < threshold is calm until the next look
 *
 * The sum is of gradients after the all-reduce, which has the same bits on all ranks: each decides
 * on its own and all the same, without a message. Two norms make a change: the first two intervals
 * are dense; so is a run without a codec or without floats. What the codec did not get through of a
 * bucket stays in its residual until that bucket is coded again. */
#include "strategies/bucket.h"
#include "strategies/norm_trend.h"
#include "strategies/stateless.h"
#include "strategies/synchronous.h"
#include "strategies/whole_model.h"

#include <math.h>

enum { DENSE, CODED, COMMUNICATORS };
enum { SUM = GS_OWN }; /* of the gradients since the last look */

typedef struct config {
    int64_t bucket_bytes, first_bucket_bytes;
    double threshold;
    int64_t interval;
} config;

/* clang-format off */
static const gs_field fields[] = {
    GS_SYNC_BUCKET_FIELDS(config),
    {"threshold", GS_FIELD_REAL, GS_FIELD_AT(config, threshold), "0.5", 0, 1e9, NULL,
     "relative change of a bucket's gradient norm from which on it travels dense"},
    {"interval", GS_FIELD_INT, GS_FIELD_AT(config, interval), "100", 1, 1e9, NULL,
     "steps between two looks, an epoch or several"},
};
/* clang-format on */

static const gs_field_table table = {.name = "accordion",
                                     .struct_bytes = sizeof(config),
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof *fields};

typedef struct bucket_state {
    double square; /* of the norm at the last look */
    bool is_calm;
} bucket_state;

typedef struct state {
    gs_sync_step step;      /* pending: its buckets, or the sums of a look */
    int64_t since;          /* steps that the sum holds */
    int64_t looked;         /* times */
    bool looks;             /* now */
    bool is_first;          /* step of the run: buckets may be others after it */
    bucket_state buckets[]; /* [bucket_count_max] */
} state;

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    gs_bucket_rule rule = GS_SYNC_BUCKETS(chosen);
    uint32_t buckets = gs_bucket_count_max(job, &rule);
    (void)err;
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = 1},
        .state_bytes = {[GS_WORKER] = sizeof(state) + buckets * sizeof(bucket_state)},
        .outstanding_max = {[GS_WORKER] = buckets},
        .communicator_count = COMMUNICATORS,
        .communicators = {[CODED] = {.coded = true}},
        .ordered = true,
        .bytes_vary = true,
        .buckets = rule,
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

static void init(gs_world *world, void *memory)
{
    (void)world;
    ((state *)memory)->is_first = true;
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    return gs_sync_begin(world, &((state *)memory)->step);
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    const state *self = memory;
    uint32_t way = self->buckets[event->bucket].is_calm ? CODED : DENSE;
    gs_sync_divide(world, event->slice);
    (void)gs_all_reduce(world, way, event->slice, event->bucket);
}

static gs_slice sum_of(const gs_world *world, uint32_t bucket)
{
    gs_slice slice = gs_bucket_slice(world, bucket);
    slice.vector = SUM;
    return slice;
}

static void look(gs_world *world, state *self)
{
    self->looks = true;
    self->since = 0;
    self->step.pending = gs_bucket_count(world);
    for (uint32_t bucket = 0; bucket < gs_bucket_count(world); bucket++) {
        (void)gs_dot(world, sum_of(world, bucket), sum_of(world, bucket), bucket);
    }
    gs_whole_vec(world, GS_VOP_scale, SUM, SUM, 0.0);
}

static void finish_step(gs_world *world, state *self)
{
    const config *chosen = gs_world_config(world);
    if (gs_sync_is_busy(&self->step)) {
        return;
    }
    if (self->looks) {
        self->looks = false;
        self->looked++;
    } else if (self->is_first) {
        self->is_first = false;
    } else if (++self->since >= chosen->interval) {
        look(world, self);
        return;
    }
    gs_sync_finish(world, &self->step);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->step.backward = false;
    finish_step(world, self);
}

static void hear_norm(const config *chosen, state *self, bucket_state *bucket, double square)
{
    double change = gs_relative_change(sqrt(bucket->square), sqrt(square));
    bucket->is_calm = self->looked > 0 && change < chosen->threshold;
    bucket->square = square;
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    uint32_t bucket = (uint32_t)event->cookie;
    if (self->looks) {
        hear_norm(gs_world_config(world), self, &self->buckets[bucket], event->scalar);
    } else if (!self->is_first) {
        gs_vec(world, GS_VOP_add, sum_of(world, bucket), gs_bucket_slice(world, bucket), 0.0);
    }
    self->step.pending--;
    finish_step(world, self);
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    gs_sync_quiesce(world, &((state *)memory)->step);
}

static void import_state(gs_world *world, void *memory, const void *in, size_t in_bytes)
{
    (void)in, (void)in_bytes;
    init(world, memory);
}

/* From run to run norms are learned anew. */
const gs_strategy gs_strategy_accordion = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "accordion",
    .summary =
        "allreduce that compresses a bucket while its gradient norm changes little; a look at "
        "norms costs no message, a step one more pass over the gradient",
    .source = "Agarwal et al., Accordion, MLSys 2021 (arXiv 2010.16248)",
    .config = &table,
    .layout = layout,
    .wire_bytes = gs_sync_ring_bytes,
    .init = init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .quiesce = quiesce,
    .export_state = gs_stateless_export,
    .import_state = import_state,
};
