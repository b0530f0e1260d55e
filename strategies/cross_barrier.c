/* Synchronous SGD without the barrier between two steps, as ByteScheduler: small tensors are merged
 * and large ones cut, the parts are all-reduced by priority, first layers first, and the next
 * forward pass begins as soon as the first layers have their new weights. The order must be the
 * same everywhere: rank 0 decides among what is ready on all ranks, and tells. The numbers are
 * those of allreduce. */
#include "strategies/bucket.h"
#include "strategies/cross_barrier_rule.h"
#include "strategies/partition.h"
#include "strategies/priority.h"
#include "strategies/stateless.h"
#include "strategies/synchronous.h"
#include "strategies/world.h"

/* The last buckets are the first layers. */
typedef struct state {
    uint32_t count;  /* of buckets, the same in all steps */
    int64_t each;    /* elements of a part */
    uint32_t closed; /* buckets of the last gradient that were not applied: [0, closed) */
    bool gated;      /* a forward pass waits for what is closed */
    bool backward;   /* between the begin of a step and the end of its gradient */
    bool quiescing;
    gs_priority priority; /* rank 0: what goes next, */
    int64_t under_way;    /* and elements of what went, until their sum is there */
    gs_priority_bucket buckets[];
} state;

enum { COMMUNICATOR = 0 };
enum { TAG_READY, TAG_GO }; /* meta: the bucket; and which part of it */

static const gs_peer rank_0 = {GS_WORKER, 0};

static gs_status layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    gs_bucket_rule rule = gs_cross_barrier_buckets(config);
    uint32_t parts;
    GS_TRY(gs_cross_barrier_check(config, job, &parts, err));
    uint32_t buckets = gs_bucket_count_max(job, &rule);
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(state) + buckets * sizeof(gs_priority_bucket)},
        .outstanding_max = {[GS_WORKER] = parts},
        .communicator_count = 1,
        .point_to_point = true,
        .ordered = true,
        .gated = true,
        .applies_slices = buckets > 1,
        .buckets = rule,
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

static void init(gs_world *world, void *memory)
{
    state *self = memory;
    self->count = gs_bucket_count(world);
    self->each = gs_cross_barrier_part(gs_world_config(world), gs_world_job(world));
    for (uint32_t index = 0; index < self->count; index++) {
        int64_t elements = gs_bucket_slice(world, index).length;
        self->buckets[index].parts = (uint32_t)gs_partition_count(elements, self->each);
    }
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->gated = self->closed > 0;
    self->backward = true;
    gs_plan plan = gs_plan_at(world, GS_PARAM);
    plan.closed_buckets = self->closed;
    return plan;
}

static gs_slice part_of(const gs_world *world, const state *self, uint32_t index, uint32_t part)
{
    return gs_partition_part(gs_bucket_slice(world, index), self->each, part);
}

/* Returns its elements. */
static int64_t reduce(gs_world *world, const state *self, uint32_t index, uint32_t part)
{
    gs_slice slice = part_of(world, self, index, part);
    (void)gs_all_reduce(world, COMMUNICATOR, slice, (uint64_t)index << 32 | part);
    return slice.length;
}

/* Rank 0: the most urgent parts go, as long as there is credit. */
static void let_go(gs_world *world, state *self)
{
    const gs_cross_barrier_config *chosen = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    uint32_t index, part;
    while (self->under_way * job->element_bytes < chosen->credit_bytes &&
           gs_priority_take(&self->priority, self->buckets, self->count, &index, &part)) {
        gs_sync_tell(world, TAG_GO, (int64_t[4]){index, part});
        self->under_way += reduce(world, self, index, part);
    }
}

/* Rank 0: a bucket is ready on one more rank. */
static void hear(gs_world *world, state *self, uint32_t index)
{
    gs_priority_hear(&self->priority, self->buckets, self->count, gs_world_job(world)->ranks,
                     index);
    let_go(world, self);
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    gs_sync_divide(world, event->slice);
    if (gs_self(world).index == rank_0.index) {
        hear(world, memory, event->bucket);
    } else {
        gs_note(world, rank_0, TAG_READY, (int64_t[4]){event->bucket});
    }
}

/* In the order in which the forward pass reads them. */
static void apply_what_is_here(gs_world *world, state *self)
{
    while (self->closed > 0) {
        uint32_t index = self->closed - 1;
        gs_priority_bucket *last = &self->buckets[index];
        if (last->back < last->parts) {
            return;
        }
        gs_slice weights = gs_bucket_slice(world, index);
        weights.vector = GS_PARAM;
        last->back = 0;
        self->closed = index;
        gs_apply_slice(world, weights, GS_GRAD, 1.0, index == 0);
        if (self->gated) {
            gs_open_forward(world, index);
        }
        if (index == 0 && self->quiescing) {
            gs_drained(world);
        }
    }
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->backward = self->gated = false;
    self->closed = self->count;
    apply_what_is_here(world, self);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    uint32_t index = (uint32_t)(event->cookie >> 32);
    self->buckets[index].back++;
    if (gs_self(world).index == rank_0.index) {
        self->under_way -= part_of(world, self, index, (uint32_t)event->cookie).length;
        let_go(world, self);
    }
    apply_what_is_here(world, self);
}

static void message(gs_world *world, void *memory, const gs_event *event)
{
    uint32_t index = (uint32_t)event->meta[0];
    if (event->tag == TAG_READY) {
        hear(world, memory, index);
    } else {
        (void)reduce(world, memory, index, (uint32_t)event->meta[1]);
    }
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (!self->backward && self->closed == 0) {
        gs_drained(world);
    }
}

/* Between steps there is nothing to keep: the weights are all of it. */
static void import_state(gs_world *world, void *memory, const void *in, size_t in_bytes)
{
    (void)in;
    (void)in_bytes;
    init(world, memory);
}

const gs_strategy gs_strategy_cross_barrier = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "cross_barrier",
    .summary = "synchronous SGD by priority, first layers first; the next forward pass begins when "
               "they are there",
    .source = "Peng et al., ByteScheduler, SOSP 2019; defaults: bytescheduler/common/bytecore.py "
              "(1000000 and 4000000 parameters)",
    .config = &gs_cross_barrier_fields,
    .layout = layout,
    .wire_bytes = gs_sync_ring_bytes,
    .init = init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .message = message,
    .quiesce = quiesce,
    .export_state = gs_stateless_export,
    .import_state = import_state,
};
