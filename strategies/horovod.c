/* Synchronous SGD as Horovod does it: tensors become ready one by one, every cycle each rank tells
 * rank 0 of its new ones, rank 0 answers what is ready everywhere, and everyone reduces that in
 * fused pieces. The copies into the fusion buffer and out of it are left out: GRAD lies in order.
 */
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/stateless.h"
#include "strategies/world.h"

#include <string.h>

typedef struct config {
    int64_t fusion_bytes;
    gs_time_ns cycle_ns;
} config;

typedef struct state {
    uint32_t ready;   /* tensors of this step whose gradient is here, in the order they come, */
    uint32_t told;    /* of which rank 0 was told, */
    uint32_t granted; /* that it said are ready everywhere, */
    uint32_t reduced; /* and whose sum is here */
    bool busy;        /* from the begin of a step to its update */
    bool backward;    /* the gradient is being computed */
    bool timing;      /* the end of a cycle is waited for */
    bool quiescing;
    uint32_t told_by[]; /* [tensors]; rank 0: ranks that told of each */
} state;

enum { COMMUNICATOR = 0 };
enum { TAG_READY, TAG_GRANTED }; /* meta: tensors [0, 1); tensors [0, 0) */

#define END_OF_CYCLE UINT64_MAX

static const gs_peer rank_0 = {GS_WORKER, 0};

static const gs_field fields[] = {
    {.name = "fusion",
     .kind = GS_FIELD_BYTES,
     GS_FIELD_AT(config, fusion_bytes),
     .default_text = "128MiB",
     .minimum = 0,
     .maximum = 0x1p40,
     .help = "tensors that fit into this travel as one; 0B: each alone"},
    {.name = "cycle",
     .kind = GS_FIELD_DURATION,
     GS_FIELD_AT(config, cycle_ns),
     .default_text = "1ms",
     .minimum = 1000,
     .maximum = 1e9,
     .help = "time between two rounds in which ranks say what is ready"},
};

static const gs_field_table table = {
    .name = "horovod",
    .struct_bytes = sizeof(config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)settings;
    (void)err;
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(state) + job->unit_count * sizeof(uint32_t)},
        .outstanding_max = {[GS_WORKER] = job->unit_count + 1},
        .communicator_count = 1,
        .communicators[COMMUNICATOR] = {.coded = true},
        .point_to_point = true,
        .ordered = true,
        .buckets = {.cap_bytes = 0}, /* one a tensor */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* As if all were ready at once; without a codec the pieces make no difference. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const config *chosen = settings;
    gs_bucket_rule rule = {chosen->fusion_bytes, chosen->fusion_bytes};
    return gs_coding_bucket_bytes(coding, job, &rule);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->busy) {
        return (gs_plan){.go = false};
    }
    self->ready = self->told = self->granted = self->reduced = 0;
    self->busy = self->backward = true;
    return (gs_plan){
        .go = true, .at = GS_PARAM, .micro_steps = (uint32_t)gs_world_job(world)->accumulation};
}

/* ---------------------------------------------------------------- reduction */

static gs_slice tensors(const gs_world *world, uint32_t first, uint32_t end)
{
    gs_slice slice = gs_bucket_slice(world, first);
    gs_slice last = gs_bucket_slice(world, end - 1);
    slice.length = last.offset + last.length - slice.offset;
    return slice;
}

/* Fuses as many as fit; one that is larger goes alone. */
static void reduce_up_to(gs_world *world, state *self, uint32_t granted)
{
    const config *chosen = gs_world_config(world);
    int64_t fusion = chosen->fusion_bytes / gs_world_job(world)->element_bytes;
    uint32_t first = self->granted;
    while (first < granted) {
        uint32_t end = first + 1;
        while (end < granted && tensors(world, first, end + 1).length <= fusion) {
            end++;
        }
        (void)gs_all_reduce(world, COMMUNICATOR, tensors(world, first, end),
                            (uint64_t)first << 32 | end);
        first = end;
    }
    self->granted = granted;
}

static void finish_step(gs_world *world, state *self)
{
    if (self->backward || self->reduced < gs_bucket_count(world)) {
        return;
    }
    self->busy = false;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    if (self->quiescing) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}

static void reduced(gs_world *world, state *self, uint64_t label)
{
    uint32_t first = (uint32_t)(label >> 32);
    uint32_t end = (uint32_t)label;
    gs_slice sum = tensors(world, first, end);
    gs_vec(world, GS_VOP_scale, sum, sum, 1.0 / gs_world_job(world)->ranks);
    self->reduced += end - first;
    finish_step(world, self);
}

/* ---------------------------------------------------------------- cycles */

/* Rank 0 learns that one more rank has tensors [first, end). All have told of the whole step when
 * the last is granted, so that what comes then is of the next one. */
static void count(gs_world *world, state *self, uint32_t first, uint32_t end)
{
    uint32_t ranks = gs_world_job(world)->ranks;
    uint32_t all = gs_bucket_count(world);
    for (uint32_t tensor = first; tensor < end; tensor++) {
        self->told_by[tensor]++;
    }
    uint32_t granted = self->granted;
    while (granted < all && self->told_by[granted] == ranks) {
        granted++;
    }
    if (granted == self->granted) {
        return;
    }
    if (granted == all) {
        memset(self->told_by, 0, all * sizeof *self->told_by);
    }
    for (uint32_t rank = 1; rank < ranks; rank++) {
        gs_note(world, (gs_peer){GS_WORKER, (uint16_t)rank}, TAG_GRANTED, (int64_t[4]){granted});
    }
    reduce_up_to(world, self, granted);
}

static void end_cycle(gs_world *world, state *self)
{
    uint32_t first = self->told;
    self->timing = false;
    self->told = self->ready;
    if (gs_self(world).index == rank_0.index) {
        count(world, self, first, self->told);
    } else {
        gs_note(world, rank_0, TAG_READY, (int64_t[4]){first, self->told});
    }
}

/* Cycles end at multiples of their length, on all ranks; one in which nothing is new is not even
 * waited for. */
static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    self->ready++;
    if (!self->timing) {
        self->timing = true;
        gs_time_ns passed_ns = event->at_ns % chosen->cycle_ns;
        (void)gs_timer(world, passed_ns == 0 ? 0 : chosen->cycle_ns - passed_ns, END_OF_CYCLE);
    }
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->backward = false;
    finish_step(world, self);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    if (event->cookie == END_OF_CYCLE) {
        end_cycle(world, memory);
    } else {
        reduced(world, memory, event->cookie);
    }
}

static void message(gs_world *world, void *memory, const gs_event *event)
{
    if (event->tag == TAG_READY) {
        count(world, memory, (uint32_t)event->meta[0], (uint32_t)event->meta[1]);
    } else {
        reduce_up_to(world, memory, (uint32_t)event->meta[0]);
    }
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

const gs_strategy gs_strategy_horovod = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "horovod",
    .summary = "synchronous SGD in cycles: what became ready everywhere is fused into one "
               "all-reduce",
    .source = "Horovod 0.21 and later: docs/tensor-fusion.rst, horovod/common/operations.cc, "
              "controller.cc",
    .config = &table,
    .layout = layout,
    .wire_bytes = wire_bytes,
    .init = gs_stateless_init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .message = message,
    .quiesce = quiesce,
    .export_state = gs_stateless_export,
    .import_state = gs_stateless_import,
};
