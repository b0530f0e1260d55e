/* Synchronous SGD without the barrier between two steps, as ByteScheduler: small tensors are merged
 * and large ones cut, the parts are all-reduced by priority, first layers first, and the next
 * forward pass begins as soon as the first layers have their new weights. The order must be the
 * same everywhere: rank 0 decides among what is ready on all ranks, and tells. The numbers are
 * those of allreduce. */
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/world.h"

typedef struct config {
    int64_t bucket_bytes;
    int64_t credit_bytes;
} config;

/* Parts go in order. */
typedef struct bucket {
    uint32_t reduced; /* parts whose sum is here */
    uint32_t issued;  /* rank 0: parts that it let go, */
    uint32_t told_by; /* and ranks on which it is ready */
} bucket;

/* The last buckets are the first layers. */
typedef struct state {
    uint32_t closed;     /* buckets of the last gradient that were not applied: [0, closed) */
    uint32_t everywhere; /* rank 0: buckets ready on all ranks: [0, everywhere), */
    uint32_t parts_left; /* parts of this gradient that it has not let go, */
    int64_t under_way;   /* and elements of those it has, until their sum is there */
    bool gated;          /* a forward pass waits for what is closed */
    bool backward;       /* between the begin of a step and the end of its gradient */
    bool quiescing;
    bucket buckets[];
} state;

enum { COMMUNICATOR = 0, PARTS_MAX = 1 << 20 };
enum { TAG_READY, TAG_GO }; /* meta: the bucket; and which part of it */

static const gs_peer rank_0 = {GS_WORKER, 0};

static const gs_field fields[] = {
    {.name = "bucket",
     .kind = GS_FIELD_BYTES,
     GS_FIELD_AT(config, bucket_bytes),
     .default_text = "4MB",
     .minimum = 1,
     .maximum = 0x1p40,
     .help = "smaller tensors are merged up to this, larger ones cut: what is urgent waits for one "
             "part"},
    {.name = "credit",
     .kind = GS_FIELD_BYTES,
     GS_FIELD_AT(config, credit_bytes),
     .default_text = "16MB",
     .minimum = 1,
     .maximum = 0x1p40,
     .help = "the next part goes while less than this is under way: more hides latency, less keeps "
             "to priorities"},
};

static const gs_field_table table = {
    .name = "cross_barrier",
    .struct_bytes = sizeof(config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

static int64_t part_elements(const config *chosen, const gs_job *job)
{
    return chosen->bucket_bytes / job->element_bytes;
}

static int64_t parts_of(const config *chosen, const gs_job *job, int64_t elements)
{
    int64_t each = part_elements(chosen, job);
    return elements / each + (elements % each > 0 ? 1 : 0);
}

static gs_bucket_rule buckets_of(const config *chosen)
{
    return (gs_bucket_rule){chosen->bucket_bytes, chosen->bucket_bytes};
}

/* Of a whole gradient: gated buckets stay in reverse parameter order. */
static int64_t all_parts(const config *chosen, const gs_job *job)
{
    gs_bucket_rule rule = buckets_of(chosen);
    int64_t parts = 0, elements = 0;
    bool is_first = true;
    for (uint32_t unit = job->unit_count; unit-- > 0;) {
        elements += job->unit_elements[unit];
        if (gs_bucket_is_full(job, &rule, is_first, elements) || unit == 0) {
            parts += parts_of(chosen, job, elements);
            elements = 0;
            is_first = false;
        }
    }
    return parts;
}

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    if (chosen->bucket_bytes < job->element_bytes) {
        return gs_fail(err, GS_EINVAL,
                       "cross_barrier: bucket=%lldB holds no element of %d bytes; use "
                       "bucket=%dB or more",
                       (long long)chosen->bucket_bytes, job->element_bytes, job->element_bytes);
    }
    int64_t parts = all_parts(chosen, job);
    if (parts > PARTS_MAX) {
        /* Each bucket may have one part that is not full. */
        int64_t full = PARTS_MAX - (int64_t)job->unit_count;
        int64_t bytes = job->elements / full * job->element_bytes + job->element_bytes;
        return gs_fail(err, GS_EINVAL,
                       "cross_barrier: bucket=%lldB cuts the gradient into %lld parts, and %d "
                       "are the most; use bucket=%lldB or more",
                       (long long)chosen->bucket_bytes, (long long)parts, PARTS_MAX,
                       (long long)bytes);
    }
    gs_bucket_rule rule = buckets_of(chosen);
    uint32_t buckets = gs_bucket_count_max(job, &rule);
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(state) + buckets * sizeof(bucket)},
        .outstanding_max = {[GS_WORKER] = (uint32_t)parts},
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

/* However it is cut, a sum over a ring of n takes 2 (n - 1) sends of a whole gradient. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    (void)settings;
    (void)coding;
    int64_t bytes = job->elements * job->element_bytes;
    return 2 * bytes - (2 * bytes + job->ranks - 1) / job->ranks;
}

static void init(gs_world *world, void *memory)
{
    state *self = memory;
    self->parts_left = (uint32_t)all_parts(gs_world_config(world), gs_world_job(world));
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->gated = self->closed > 0;
    self->backward = true;
    return (gs_plan){.go = true,
                     .at = GS_PARAM,
                     .micro_steps = (uint32_t)gs_world_job(world)->accumulation,
                     .closed_buckets = self->closed};
}

/* ---------------------------------------------------------------- parts */

static uint32_t parts_of_bucket(const gs_world *world, uint32_t index)
{
    return (uint32_t)parts_of(gs_world_config(world), gs_world_job(world),
                              gs_bucket_slice(world, index).length);
}

static gs_slice part_of_bucket(const gs_world *world, uint32_t index, uint32_t part)
{
    gs_slice slice = gs_bucket_slice(world, index);
    int64_t each = part_elements(gs_world_config(world), gs_world_job(world));
    int64_t left = slice.length - part * each;
    return (gs_slice){GS_GRAD, slice.offset + part * each, left < each ? left : each};
}

static void reduce(gs_world *world, uint32_t index, uint32_t part)
{
    (void)gs_all_reduce(world, COMMUNICATOR, part_of_bucket(world, index, part),
                        (uint64_t)index << 32 | part);
}

/* ---------------------------------------------------------------- rank 0 */

/* The most urgent bucket with a part to go; `everywhere`: none. */
static uint32_t most_urgent(const gs_world *world, const state *self)
{
    uint32_t index = self->everywhere;
    while (index-- > 0) {
        if (self->buckets[index].issued < parts_of_bucket(world, index)) {
            return index;
        }
    }
    return self->everywhere;
}

/* Every rank has told of everything: what comes next is of the next gradient. */
static void forget_gradient(gs_world *world, state *self)
{
    self->everywhere = 0;
    for (uint32_t index = 0; index < gs_bucket_count(world); index++) {
        self->buckets[index].issued = self->buckets[index].told_by = 0;
    }
    self->parts_left = (uint32_t)all_parts(gs_world_config(world), gs_world_job(world));
}

static void let_go(gs_world *world, state *self)
{
    const config *chosen = gs_world_config(world);
    const gs_job *job = gs_world_job(world);
    while (self->under_way * job->element_bytes < chosen->credit_bytes) {
        uint32_t index = most_urgent(world, self);
        if (index == self->everywhere) {
            return;
        }
        uint32_t part = self->buckets[index].issued++;
        for (uint32_t rank = 1; rank < job->ranks; rank++) {
            gs_note(world, (gs_peer){GS_WORKER, (uint16_t)rank}, TAG_GO, (int64_t[4]){index, part});
        }
        self->under_way += part_of_bucket(world, index, part).length;
        reduce(world, index, part);
        if (--self->parts_left == 0) {
            forget_gradient(world, self);
        }
    }
}

/* Ranks tell of buckets in index order. */
static void count(gs_world *world, state *self, uint32_t index)
{
    self->buckets[index].told_by++;
    while (self->everywhere < gs_bucket_count(world) &&
           self->buckets[self->everywhere].told_by == gs_world_job(world)->ranks) {
        self->everywhere++;
    }
    let_go(world, self);
}

/* ---------------------------------------------------------------- all ranks */

static bool is_rank_0(const gs_world *world)
{
    return gs_self(world).index == rank_0.index;
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    gs_vec(world, GS_VOP_scale, event->slice, event->slice, 1.0 / gs_world_job(world)->ranks);
    if (is_rank_0(world)) {
        count(world, memory, event->bucket);
    } else {
        gs_note(world, rank_0, TAG_READY, (int64_t[4]){event->bucket});
    }
}

/* In the order in which the forward pass reads them. */
static void apply_what_is_here(gs_world *world, state *self)
{
    while (self->closed > 0) {
        uint32_t index = self->closed - 1;
        if (self->buckets[index].reduced < parts_of_bucket(world, index)) {
            return;
        }
        gs_slice weights = gs_bucket_slice(world, index);
        weights.vector = GS_PARAM;
        self->buckets[index].reduced = 0;
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
    self->closed = gs_bucket_count(world);
    apply_what_is_here(world, self);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    uint32_t index = (uint32_t)(event->cookie >> 32);
    self->buckets[index].reduced++;
    if (is_rank_0(world)) {
        self->under_way -= part_of_bucket(world, index, (uint32_t)event->cookie).length;
        let_go(world, self);
    }
    apply_what_is_here(world, self);
}

static void message(gs_world *world, void *memory, const gs_event *event)
{
    uint32_t index = (uint32_t)event->meta[0];
    if (event->tag == TAG_READY) {
        count(world, memory, index);
    } else {
        reduce(world, index, (uint32_t)event->meta[1]);
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
static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    (void)memory;
    (void)out;
    (void)out_bytes;
    return 0;
}

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
