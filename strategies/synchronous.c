#include "strategies/synchronous.h"

gs_plan gs_sync_begin(gs_world *world, gs_sync_step *step)
{
    if (gs_sync_is_busy(step)) {
        return (gs_plan){.go = false};
    }
    step->pending = gs_bucket_count(world);
    step->backward = true;
    return gs_plan_at(world, GS_PARAM);
}

void gs_sync_finish(gs_world *world, const gs_sync_step *step)
{
    if (gs_sync_is_busy(step)) {
        return;
    }
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    gs_sync_go_on(world, step);
}

void gs_sync_go_on(gs_world *world, const gs_sync_step *step)
{
    if (step->quiescing) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}

void gs_sync_quiesce(gs_world *world, gs_sync_step *step)
{
    step->quiescing = true;
    if (!gs_sync_is_busy(step)) {
        gs_drained(world);
    }
}

void gs_sync_divide(gs_world *world, gs_slice gradient)
{
    gs_vec(world, GS_VOP_scale, gradient, gradient, 1.0 / gs_world_job(world)->ranks);
}

void gs_sync_tell(gs_world *world, uint16_t tag, const int64_t meta[4])
{
    uint32_t own = gs_self(world).index;
    for (uint32_t rank = 0; rank < gs_world_job(world)->ranks; rank++) {
        if (rank != own) {
            gs_note(world, (gs_peer){GS_WORKER, (uint16_t)rank}, tag, meta);
        }
    }
}

int64_t gs_sync_ring_bytes(const void *config, const gs_job *job, const gs_coding *coding)
{
    (void)config;
    (void)coding;
    int64_t bytes = job->elements * job->element_bytes;
    return 2 * bytes - (2 * bytes + job->ranks - 1) / job->ranks;
}
