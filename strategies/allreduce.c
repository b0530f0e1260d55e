/* Synchronous SGD as PyTorch's DistributedDataParallel does it: the mean gradient of all workers,
 * bucket by bucket while the backward pass still runs, then one optimizer step that is the same on
 * every worker. */
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/stateless.h"
#include "strategies/synchronous.h"
#include "strategies/world.h"

typedef struct config {
    int64_t bucket_bytes; /* or -1: "tensor", one bucket a unit */
    int64_t first_bucket_bytes;
    int64_t accumulation;
    bool overlap;
    int algorithm;
    int average;
} config;

enum { COMMUNICATOR = 0, TENSOR = -1, AUTO = 0, BEFORE = 0 };

static const char *const bucket_words[] = {"tensor", NULL};
#define GS_COLLECTIVE(stem)
#define GS_COLLECTIVE_SUM(stem) #stem,
static const char *const algorithms[] = {"auto",
#include "strategies/collectives/collectives.def"
                                         NULL};
#undef GS_COLLECTIVE
static const char *const averages[] = {"before", "after", NULL};

static const gs_field fields[] = {
    {.name = "bucket",
     .kind = GS_FIELD_BYTES_OR_CHOICE,
     GS_FIELD_AT(config, bucket_bytes),
     .default_text = "25MiB",
     .minimum = 1,
     .maximum = 0x1p40,
     .choices = bucket_words,
     .help = "a bucket closes once it holds this much gradient; tensor: one bucket a tensor"},
    GS_SYNC_FIRST_BUCKET_FIELD(config),
    {.name = "accumulation",
     .kind = GS_FIELD_INT,
     GS_FIELD_AT(config, accumulation),
     .default_text = "0",
     .minimum = 0,
     .maximum = GS_MICRO_STEPS_MAX,
     .help = "passes per optimizer step, gradients travel with the last; 0: as the workload says"},
    {.name = "overlap",
     .kind = GS_FIELD_BOOL,
     GS_FIELD_AT(config, overlap),
     .default_text = "true",
     .help = "reduce buckets while the backward pass runs; false: after it"},
    {.name = "algorithm",
     .kind = GS_FIELD_CHOICE,
     GS_FIELD_AT(config, algorithm),
     .default_text = "auto",
     .choices = algorithms,
     .help = "how the sum travels; auto: as cluster.collectives says, or ring"},
    {.name = "average",
     .kind = GS_FIELD_CHOICE,
     GS_FIELD_AT(config, average),
     .default_text = "before",
     .choices = averages,
     .help =
         "divide by the ranks before the sum, or after: then a half-precision sum may overflow"},
};

static const gs_field_table table = {
    .name = "allreduce",
    .struct_bytes = sizeof(config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

static gs_bucket_rule buckets_of(const config *chosen)
{
    return (gs_bucket_rule){.first_bytes = chosen->first_bucket_bytes,
                            .cap_bytes = chosen->bucket_bytes == TENSOR ? 0 : chosen->bucket_bytes};
}

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    (void)err;
    gs_bucket_rule rule = buckets_of(chosen);
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(gs_sync_step)},
        .outstanding_max = {[GS_WORKER] = gs_bucket_count_max(job, &rule)},
        .communicator_count = 1,
        .communicators[COMMUNICATOR] = {.coded = true,
                                        .all_reduce = chosen->algorithm == AUTO
                                                          ? NULL
                                                          : algorithms[chosen->algorithm]},
        .ordered = true,
        .buckets = rule,
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* Whatever the algorithm, a sum of n parts takes 2 (n - 1) sends of a whole gradient. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    gs_bucket_rule rule = buckets_of(settings);
    return gs_coding_bucket_bytes(coding, job, &rule, 1);
}

static gs_plan step_begin(gs_world *world, void *step, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    gs_plan plan = gs_sync_begin(world, step);
    (void)event;
    if (plan.go && chosen->accumulation > 0) {
        plan.micro_steps = (uint32_t)chosen->accumulation;
    }
    return plan;
}

static void reduce(gs_world *world, uint32_t bucket)
{
    const config *chosen = gs_world_config(world);
    gs_slice slice = gs_bucket_slice(world, bucket);
    if (chosen->average == BEFORE) {
        gs_sync_divide(world, slice);
    }
    (void)gs_all_reduce(world, COMMUNICATOR, slice, bucket);
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    (void)memory;
    if (chosen->overlap) {
        reduce(world, event->bucket);
    }
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    gs_sync_step *step = memory;
    (void)event;
    step->backward = false;
    for (uint32_t bucket = 0; !chosen->overlap && bucket < gs_bucket_count(world); bucket++) {
        reduce(world, bucket);
    }
    gs_sync_finish(world, step);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    gs_sync_step *step = memory;
    if (chosen->average != BEFORE) {
        gs_sync_divide(world, gs_bucket_slice(world, (uint32_t)event->cookie));
    }
    step->pending--;
    gs_sync_finish(world, step);
}

static void quiesce(gs_world *world, void *step, const gs_event *event)
{
    (void)event;
    gs_sync_quiesce(world, step);
}

const gs_strategy gs_strategy_allreduce = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "allreduce",
    .summary = "synchronous SGD: mean gradient of all ranks by bucketed all-reduce, overlapped "
               "with backward",
    .source = "Li et al., PyTorch Distributed, VLDB 2020 (arXiv 2006.15704)",
    .config = &table,
    .layout = layout,
    .wire_bytes = wire_bytes,
    .init = gs_stateless_init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .quiesce = quiesce,
    .export_state = gs_stateless_export,
    .import_state = gs_stateless_import,
};
