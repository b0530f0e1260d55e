/* Probe: every bucket is summed twice, the second time when the first is done, each on a
 * communicator of its own (on one they would race). */
#include "tests/strategies/probes.h"

typedef struct state {
    uint32_t pending; /* buckets whose second sum has not come */
    bool backward, quiescing;
} state;

static gs_status layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config, (void)err;
    *out = (gs_layout){.state_bytes = {sizeof(state)},
                       .outstanding_max = {2 * job->unit_count},
                       .communicator_count = 2}; /* buckets: one a unit; cut: common */
    return GS_OK;
}
static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    bool go = self->pending == 0;
    self->pending = go ? gs_bucket_count(world) : self->pending;
    self->backward = go;
    return (gs_plan){.go = go, .at = GS_PARAM, .micro_steps = 1};
}

/* Label: 2 bucket + stage. The second sum adds n equal means, each divided by n. */
static void reduce(gs_world *world, uint32_t stage, uint32_t bucket)
{
    gs_slice slice = gs_bucket_slice(world, bucket);
    gs_vec(world, GS_VOP_scale, slice, slice, 1.0 / gs_world_job(world)->ranks);
    (void)gs_all_reduce(world, stage, slice, 2 * (uint64_t)bucket + stage);
}
static void finish_step(gs_world *world, state *self)
{
    if (self->backward || self->pending > 0) {
        return;
    }
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    if (self->quiescing) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}
static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    (void)memory;
    reduce(world, 0, event->bucket);
}
static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    ((state *)memory)->backward = false;
    finish_step(world, memory);
}
static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (event->cookie % 2 == 0) {
        reduce(world, 1, (uint32_t)(event->cookie / 2));
        return;
    }
    self->pending--;
    finish_step(world, self);
}
static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (!self->backward && self->pending == 0) {
        gs_drained(world);
    }
}

const gs_strategy probe_two_stage = {.struct_bytes = sizeof(gs_strategy),
                                     .name = "probe_two_stage",
                                     .layout = layout,
                                     .init = probe_no_init,
                                     .step_begin = step_begin,
                                     .bucket_ready = bucket_ready,
                                     .backward_done = backward_done,
                                     .op_done = op_done,
                                     .quiesce = quiesce};
