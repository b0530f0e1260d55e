/* Synchronous SGD as Horovod does it: tensors become ready one by one, every cycle each rank tells
 * rank 0 of its new ones, rank 0 answers what is ready everywhere, and everyone reduces that in
 * fused pieces. The copies into the fusion buffer and out of it are left out: GRAD lies in order.
 */
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/fusion.h"
#include "strategies/stateless.h"
#include "strategies/synchronous.h"
#include "strategies/world.h"

typedef struct config {
    int64_t fusion_bytes;
    gs_time_ns cycle_ns;
} config;

typedef struct state {
    gs_sync_step step;  /* of tensors, one a bucket */
    uint32_t ready;     /* tensors whose gradient is here, in the order they come, */
    uint32_t told;      /* of which rank 0 was told, */
    uint32_t granted;   /* and that it said are ready everywhere */
    bool timing;        /* the end of a cycle is waited for */
    uint32_t told_by[]; /* [tensors]; rank 0: ranks that told of each */
} state;

enum { COMMUNICATOR = 0 };
enum { TAG_READY, TAG_GRANTED }; /* meta: tensors [0, 1); tensors [0, 0) */

#define END_OF_CYCLE UINT64_MAX

static const gs_peer rank_0 = {GS_WORKER, 0};

/* clang-format off */
static const gs_field fields[] = {
    {"fusion", GS_FIELD_BYTES, GS_FIELD_AT(config, fusion_bytes), "128MiB", 0, 0x1p40, NULL,
     "tensors that fit into this travel as one; 0B: each alone"},
    {"cycle", GS_FIELD_DURATION, GS_FIELD_AT(config, cycle_ns), "1ms", 1000, 1e9, NULL,
     "time between two rounds in which ranks say what is ready"},
};
/* clang-format on */

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
    return gs_coding_bucket_bytes(coding, job, &rule, 1);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    gs_plan plan = gs_sync_begin(world, &self->step);
    if (plan.go) {
        self->ready = self->told = self->granted = 0;
    }
    return plan;
}

/* Every cycle each rank tells what is new: cycles end at multiples of their length, on all ranks;
 * one in which nothing is new is not even waited for. */
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

/* What is ready everywhere is reduced in fused pieces. */
static void reduce_up_to(gs_world *world, state *self, uint32_t granted)
{
    const config *chosen = gs_world_config(world);
    int64_t fusion = chosen->fusion_bytes / gs_world_job(world)->element_bytes;
    while (self->granted < granted) {
        uint32_t first = self->granted;
        self->granted = gs_fusion_end(world, first, granted, fusion);
        (void)gs_all_reduce(world, COMMUNICATOR, gs_fusion_slice(world, first, self->granted),
                            gs_fusion_label(first, self->granted));
    }
}

/* Rank 0 learns that one more rank has tensors [first, end). */
static void count(gs_world *world, state *self, uint32_t first, uint32_t end)
{
    uint32_t ranks = gs_world_job(world)->ranks;
    for (uint32_t tensor = first; tensor < end; tensor++) {
        self->told_by[tensor]++;
    }
    uint32_t granted = self->granted;
    while (granted < gs_bucket_count(world) && self->told_by[granted] == ranks) {
        self->told_by[granted++] = 0; /* what is told of it from now on is of the next step */
    }
    if (granted == self->granted) {
        return;
    }
    gs_sync_tell(world, TAG_GRANTED, (int64_t[4]){granted});
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

static void reduced(gs_world *world, state *self, uint64_t label)
{
    uint32_t first = gs_fusion_label_first(label);
    uint32_t end = gs_fusion_label_end(label);
    gs_sync_divide(world, gs_fusion_slice(world, first, end));
    self->step.pending -= end - first;
    gs_sync_finish(world, &self->step);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->step.backward = false;
    gs_sync_finish(world, &self->step);
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
    gs_sync_quiesce(world, &self->step);
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
