/* Synchronous SGD whose all-reduce has two levels: reduce-scatter inside each node, all-reduce of
 * the parts between nodes, all-gather inside. Links between nodes carry 1 / ranks per node of what
 * a flat ring sends over them. */
#include "strategies/bucket.h"
#include "strategies/coding.h"
#include "strategies/stateless.h"
#include "strategies/synchronous.h"
#include "strategies/world.h"

typedef struct config {
    int64_t bucket_bytes;
    int64_t first_bucket_bytes;
} config;

/* A communicator for each stage: the second of a bucket must not race with the first of the next.
 */
enum { SCATTER, ACROSS, GATHER, STAGES };

static const gs_field fields[] = {GS_SYNC_BUCKET_FIELDS(config)};

static const gs_field_table table = {
    .name = "hierarchical",
    .struct_bytes = sizeof(config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    if (job->node_ranks == 0) {
        return gs_fail(err, GS_EINVAL,
                       "hierarchical needs nodes with equal numbers of ranks, one after the other; "
                       "use allreduce");
    }
    gs_group inside = {job->node_ranks, 1};
    gs_group across = {job->ranks / job->node_ranks, job->node_ranks};
    gs_bucket_rule rule = {chosen->first_bucket_bytes, chosen->bucket_bytes};
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(gs_sync_step)},
        .outstanding_max = {[GS_WORKER] = gs_bucket_count_max(job, &rule)},
        .communicator_count = STAGES,
        .communicators = {[SCATTER] = {.group = inside, .kinds = 1U << GS_REDUCE_SCATTER},
                          [ACROSS] = {.group = across, .coded = true},
                          [GATHER] = {.group = inside, .kinds = 1U << GS_ALL_GATHER}},
        .buckets = rule,
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* Inside its node a rank passes on what a ring of the node does; between nodes, 1 / ranks per node
 * of what a flat ring of nodes would. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const config *chosen = settings;
    gs_bucket_rule rule = {chosen->first_bucket_bytes, chosen->bucket_bytes};
    int64_t bytes = job->elements * job->element_bytes;
    return 2 * (bytes - bytes / job->node_ranks) +
           gs_coding_bucket_bytes(coding, job, &rule, job->node_ranks);
}

static gs_plan step_begin(gs_world *world, void *step, const gs_event *event)
{
    (void)event;
    return gs_sync_begin(world, step);
}

static void bucket_ready(gs_world *world, void *step, const gs_event *event)
{
    (void)step;
    gs_sync_divide(world, event->slice);
    (void)gs_reduce_scatter(world, SCATTER, event->slice, STAGES * event->bucket + SCATTER);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    gs_sync_step *step = memory;
    (void)event;
    step->backward = false;
    gs_sync_finish(world, step);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    gs_sync_step *step = memory;
    uint32_t bucket = (uint32_t)(event->cookie / STAGES);
    gs_slice slice = gs_bucket_slice(world, bucket);
    switch (event->cookie % STAGES) {
    case SCATTER:
        (void)gs_all_reduce(world, ACROSS,
                            gs_part(world, SCATTER, slice, gs_member(world, SCATTER)),
                            STAGES * bucket + ACROSS);
        break;
    case ACROSS:
        (void)gs_all_gather(world, GATHER, slice, STAGES * bucket + GATHER);
        break;
    default:
        step->pending--;
        gs_sync_finish(world, step);
    }
}

static void quiesce(gs_world *world, void *step, const gs_event *event)
{
    (void)event;
    gs_sync_quiesce(world, step);
}

const gs_strategy gs_strategy_hierarchical = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "hierarchical",
    .summary = "synchronous SGD: two-level all-reduce, reduce-scatter and all-gather inside nodes, "
               "all-reduce between them",
    .source = "Jia et al., Highly Scalable Deep Learning Training System with Mixed-Precision, "
              "2018 (arXiv 1807.11205), section 4.2",
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
