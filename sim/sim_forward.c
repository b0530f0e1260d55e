/* Forward passes that begin before all weights are here: where they wait, and what for.
 *
 * A profile says how long the forward pass takes, not which layer takes what of it. It is shared
 * out over the buckets from the last one, which holds the first layers, to the first, in proportion
 * to their times of backward; each share waits until its bucket has been opened. */
#include "sim/sim_parts.h"

#include "base/assert.h"

#include <string.h>

/* Profile time at which the share of each bucket begins. Where the profile has no time of backward
 * that is the start: the whole pass waits for all. */
static void place_gates(const gs_sim *sim, const gs_sim_worker *worker)
{
    gs_time_ns forward_ns = 0, since_ns = 0, total_ns = 0, behind_ns = 0;
    gs_time_ns *gates_ns = worker->gates_ns;
    memset(gates_ns, 0, sim->buckets->bucket_count * sizeof *gates_ns);
    for (uint32_t i = 0; i < worker->program->segment_count; i++) {
        const gs_segment *segment = &worker->program->segments[i];
        if (segment->kind == GS_SEGMENT_FORWARD) {
            forward_ns = gs_time_after(forward_ns, segment->duration_ns);
        } else if (segment->kind == GS_SEGMENT_BACKWARD) {
            since_ns = gs_time_after(since_ns, segment->duration_ns);
        } else if (segment->kind == GS_SEGMENT_GRADIENT) {
            gates_ns[sim->buckets->bucket_of_unit[segment->index]] += since_ns;
            total_ns = gs_time_after(total_ns, since_ns);
            since_ns = 0;
        }
    }
    for (uint32_t bucket = sim->buckets->bucket_count; bucket-- > 0;) {
        gs_time_ns own_ns = gates_ns[bucket];
        double share = total_ns > 0 ? (double)behind_ns / (double)total_ns : 0.0;
        gates_ns[bucket] = gs_time_of((double)forward_ns * share + 0.5);
        behind_ns += own_ns;
    }
}

gs_status gs_sim_forward_init(gs_sim *sim, gs_error *err)
{
    for (uint32_t rank = 0; sim->layout.gated && rank < sim->job.ranks; rank++) {
        sim->workers[rank].gates_ns = GS_TAKE(&sim->arena, gs_time_ns, sim->buckets->bucket_count);
        if (sim->workers[rank].gates_ns == NULL) {
            return gs_fail(err, GS_ENOMEM, "no memory for the gates of %u ranks", sim->job.ranks);
        }
    }
    return GS_OK;
}

void gs_sim_forward_begin(gs_sim *sim, uint32_t index)
{
    gs_sim_worker *worker = &sim->workers[index];
    worker->segment_ns = worker->forward_ns = 0;
    worker->closed_buckets = 0;
    if (worker->plan.closed_buckets > 0) {
        worker->closed_buckets = sim->buckets->bucket_count;
        place_gates(sim, worker);
        if (worker->plan.closed_buckets < worker->closed_buckets) {
            gs_sim_world_open(sim, index, worker->plan.closed_buckets);
        }
    }
}

void gs_sim_forward_opened(gs_sim *sim, uint32_t index, uint32_t first_bucket, int64_t passes)
{
    gs_sim_worker *worker = &sim->workers[index];
    if (passes != worker->passes) {
        return; /* of a gradient that was cancelled */
    }
    if (first_bucket >= worker->closed_buckets) {
        return; /* what was opened after it came first in the same instant */
    }
    worker->closed_buckets = first_bucket;
    if (first_bucket == 0) {
        gs_sim_work_begin(sim, index, &worker->plan);
    }
    if (worker->phase == GS_WORKER_GATED) {
        gs_sim_worker_go_on(sim, index);
    }
}

gs_time_ns gs_sim_forward_part(const gs_sim_worker *worker, const gs_segment *segment)
{
    gs_time_ns left_ns = segment->duration_ns - worker->segment_ns;
    if (worker->closed_buckets == 0 || segment->kind != GS_SEGMENT_FORWARD) {
        return left_ns;
    }
    gs_time_ns open_ns = worker->gates_ns[worker->closed_buckets - 1] - worker->forward_ns;
    GS_ASSERT(open_ns >= 0);
    return open_ns < left_ns ? open_ns : left_ns;
}

bool gs_sim_forward_waits(const gs_sim_worker *worker, const gs_segment *segment)
{
    if (worker->closed_buckets == 0) {
        return false;
    }
    if (segment->kind == GS_SEGMENT_FORWARD) {
        return segment->duration_ns > 0 && gs_sim_forward_part(worker, segment) == 0;
    }
    return segment->kind != GS_SEGMENT_INPUT && segment->kind != GS_SEGMENT_BLOCKING;
}

bool gs_sim_forward_end_part(gs_sim_worker *worker, const gs_segment *segment, gs_time_ns part_ns)
{
    worker->segment_ns += part_ns;
    if (segment->kind == GS_SEGMENT_FORWARD) {
        worker->forward_ns += part_ns;
    }
    bool ends = worker->segment_ns == segment->duration_ns;
    if (ends) {
        worker->segment_ns = 0;
    }
    return ends;
}
