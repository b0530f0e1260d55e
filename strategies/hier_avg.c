/* Local updates averaged at two levels: inside nodes often, between them rarely and, where asked
 * for, some steps late.
 *
 *     every `inside` steps    x = z + mean over the node of x - z
 *     every `between` steps   z = z + mean over nodes of that; x = z
 *
 * z is the anchor that all share; what the averages do to it: strategies/hier_avg_round.h. */
#include "base/assert.h"
#include "strategies/hier_avg_round.h"
#include "strategies/hier_avg_rule.h"
#include "strategies/whole_model.h"
#include "strategies/world.h"

#include <string.h>

typedef struct state {
    int64_t steps; /* local steps made */
    bool waits;    /* a local step is made, and the step has not ended */
    bool quiescing;
    bool last; /* the average at the end of the run is under way */
    gs_hier_avg_round round;
} state;

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const gs_hier_avg_config *chosen = settings;
    GS_TRY(gs_hier_avg_check(chosen, job, err));
    gs_group inside = {job->node_ranks, 1};
    gs_group across = {job->ranks / job->node_ranks, job->node_ranks};
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = chosen->delay > 0 ? 3 : 1},
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = 1},
        .communicator_count = GS_HIER_AVG_STAGES,
        .communicators = {[GS_HIER_AVG_INSIDE] = {.group = inside},
                          [GS_HIER_AVG_ACROSS] = {.group = across, .coded = true},
                          [GS_HIER_AVG_GATHER] = {.group = inside, .kinds = 1U << GS_ALL_GATHER}},
        .learns_apart = true,
        .buckets = {INT64_MAX, INT64_MAX}, /* gradients do not travel */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* The end of a run: what is on its way is used, then all average once more. */
static void finish(gs_world *world, state *self)
{
    if (self->round.under_way && !self->round.arrived) {
        return;
    }
    if (self->round.under_way) {
        gs_hier_avg_end_between(world, &self->round, self->steps);
    }
    if (!self->last && gs_hier_avg_differ(gs_world_config(world), self->steps)) {
        self->last = true;
        gs_hier_avg_begin_inside(world, &self->round, self->steps);
        return;
    }
    gs_drained(world);
}

/* After a local step, as far as it goes without waiting. */
static void advance(gs_world *world, state *self)
{
    const gs_hier_avg_config *chosen = gs_world_config(world);
    if (self->round.under_way && self->steps - self->round.sent >= chosen->delay) {
        if (!self->round.arrived) {
            return;
        }
        gs_hier_avg_end_between(world, &self->round, self->steps);
    }
    if (self->steps - self->round.inside >= chosen->inside) {
        gs_hier_avg_begin_inside(world, &self->round, self->steps);
        return;
    }
    self->waits = false;
    gs_end_step(world);
    if (self->quiescing) {
        finish(world, self);
    } else {
        gs_release(world);
    }
}

/* ---------------------------------------------------------------- hooks */

static void init(gs_world *world, void *memory)
{
    state *self = memory;
    *self = (state){.steps = 0};
    gs_whole_vec(world, GS_VOP_copy, GS_HIER_AVG_ANCHOR, GS_PARAM, 0.0);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    const state *self = memory;
    (void)event;
    if (self->waits) {
        return (gs_plan){.go = false};
    }
    return gs_plan_at(world, GS_PARAM);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, false);
    self->steps++;
    self->waits = true;
    advance(world, self);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    const gs_hier_avg_config *chosen = gs_world_config(world);
    state *self = memory;
    switch (event->cookie % GS_HIER_AVG_STAGES) {
    case GS_HIER_AVG_INSIDE:
        gs_hier_avg_end_inside(world);
        if (self->last || self->steps % chosen->between == 0) {
            gs_hier_avg_begin_between(world, &self->round, self->steps, chosen->delay > 0);
        }
        break;
    case GS_HIER_AVG_ACROSS:
        gs_hier_avg_gather(world, &self->round);
        return;
    default:
        self->round.arrived = true;
        break;
    }
    if (self->waits) {
        advance(world, self);
    } else if (self->quiescing) {
        finish(world, self);
    }
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (!self->waits) {
        finish(world, self);
    }
}

static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    GS_ASSERT(out_bytes >= sizeof self->steps);
    memcpy(out, &self->steps, sizeof self->steps);
    return sizeof self->steps;
}

/* Periods go on where they were; the anchor begins anew at the weights as they are. */
static void import_state(gs_world *world, void *memory, const void *in, size_t in_bytes)
{
    const gs_hier_avg_config *chosen = gs_world_config(world);
    state *self = memory;
    GS_ASSERT(in_bytes == sizeof self->steps);
    init(world, self);
    memcpy(&self->steps, in, sizeof self->steps);
    self->round.inside = self->steps - self->steps % chosen->inside;
}

const gs_strategy gs_strategy_hier_avg = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "hier_avg",
    .summary = "local steps, then the mean of all models: often inside nodes, rarely between them",
    .source = "Lin et al., Don't Use Large Mini-Batches, Use Local SGD, ICLR 2020 (arXiv "
              "1808.07217), hierarchical local SGD",
    .config = &gs_hier_avg_fields,
    .layout = layout,
    .wire_bytes = gs_hier_avg_wire_bytes,
    .init = init,
    .step_begin = step_begin,
    .bucket_ready = gs_whole_bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .quiesce = quiesce,
    .export_state = export_state,
    .import_state = import_state,
};
