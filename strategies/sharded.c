/* Synchronous SGD whose optimizer is sharded, as ZeRO stage 1: each rank updates the part of every
 * bucket that is its own, and gathers the others'. As many bytes as an all-reduce; the optimizer's
 * state is 1 / ranks of what it would be. */
#include "strategies/bucket.h"
#include "strategies/stateless.h"
#include "strategies/synchronous.h"
#include "strategies/world.h"

typedef struct config {
    int64_t bucket_bytes;
    int64_t first_bucket_bytes;
} config;

typedef struct state {
    gs_sync_step step; /* a bucket is pending until its new weights are here */
    uint32_t reducing; /* buckets whose gradients are not summed yet */
} state;

enum { SCATTER, GATHER, COMMUNICATORS };

static const gs_field fields[] = {GS_SYNC_BUCKET_FIELDS(config)};

static const gs_field_table table = {
    .name = "sharded",
    .struct_bytes = sizeof(config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    (void)err;
    gs_bucket_rule rule = {chosen->first_bucket_bytes, chosen->bucket_bytes};
    uint32_t buckets = gs_bucket_count_max(job, &rule);
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = buckets},
        .communicator_count = COMMUNICATORS,
        .communicators = {[SCATTER] = {.kinds = 1U << GS_REDUCE_SCATTER},
                          [GATHER] = {.kinds = 1U << GS_ALL_GATHER}},
        .ordered = true,
        .applies_slices = job->ranks > 1 || buckets > 1, /* one rank updates bucket by bucket too */
        .optimizer_shards = job->ranks,
        .buckets = rule,
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    gs_plan plan = gs_sync_begin(world, &self->step);
    if (plan.go) {
        self->reducing = self->step.pending;
    }
    return plan;
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    (void)memory;
    gs_sync_divide(world, event->slice);
    (void)gs_reduce_scatter(world, SCATTER, event->slice, COMMUNICATORS * event->bucket + SCATTER);
}

/* The weights are read by the gradient until backward ends: then all own parts are updated, and
 * every bucket is gathered. */
static void update(gs_world *world, const state *self)
{
    if (self->step.backward || self->reducing > 0) {
        return;
    }
    for (uint32_t bucket = 0; bucket < gs_bucket_count(world); bucket++) {
        gs_slice weights = gs_bucket_slice(world, bucket);
        weights.vector = GS_PARAM;
        gs_apply_slice(world, gs_part(world, GATHER, weights, gs_member(world, GATHER)), GS_GRAD,
                       1.0, false);
        (void)gs_all_gather(world, GATHER, weights, COMMUNICATORS * bucket + GATHER);
    }
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->step.backward = false;
    update(world, self);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (event->cookie % COMMUNICATORS == SCATTER) {
        self->reducing--;
        update(world, self);
        return;
    }
    if (--self->step.pending > 0) {
        return;
    }
    gs_end_step(world);
    gs_sync_go_on(world, &self->step);
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    gs_sync_quiesce(world, &self->step);
}

const gs_strategy gs_strategy_sharded = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "sharded",
    .summary = "synchronous SGD with a sharded optimizer (ZeRO-1): reduce-scatter, update of the "
               "own part, "
               "all-gather of the weights",
    .source = "Rajbhandari et al., ZeRO, SC 2020 (arXiv 1910.02054), section 5.1; stage 1",
    .config = &table,
    .layout = layout,
    .wire_bytes = gs_sync_ring_bytes,
    .init = gs_stateless_init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .quiesce = quiesce,
    .export_state = gs_stateless_export,
    .import_state = gs_stateless_import,
};
