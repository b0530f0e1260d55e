#include "strategies/hier_avg_round.h"

#include "strategies/hier_avg_rule.h"
#include "strategies/whole_model.h"

static uint32_t delta_vector(const gs_world *world)
{
    const gs_hier_avg_config *config = gs_world_config(world);
    return config->delay > 0 ? GS_HIER_AVG_DELTA : GS_GRAD;
}

static uint64_t label(int64_t steps, uint32_t stage)
{
    return (uint64_t)steps * GS_HIER_AVG_STAGES + stage;
}

void gs_hier_avg_begin_inside(gs_world *world, gs_hier_avg_round *round, int64_t steps)
{
    uint32_t vector = delta_vector(world);
    gs_slice delta = gs_whole(world, vector);
    gs_whole_vec(world, GS_VOP_copy, vector, GS_PARAM, 0.0);
    gs_whole_vec(world, GS_VOP_sub, vector, GS_HIER_AVG_ANCHOR, 0.0);
    gs_vec(world, GS_VOP_scale, delta, delta, 1.0 / gs_members(world, GS_HIER_AVG_INSIDE));
    round->inside = steps;
    (void)gs_all_reduce(world, GS_HIER_AVG_INSIDE, delta, label(steps, GS_HIER_AVG_INSIDE));
}

void gs_hier_avg_end_inside(gs_world *world)
{
    gs_whole_vec(world, GS_VOP_copy, GS_PARAM, GS_HIER_AVG_ANCHOR, 0.0);
    gs_whole_vec(world, GS_VOP_add, GS_PARAM, delta_vector(world), 0.0);
}

void gs_hier_avg_begin_between(gs_world *world, gs_hier_avg_round *round, int64_t steps,
                               bool keep_sent)
{
    gs_slice part = gs_part(world, GS_HIER_AVG_INSIDE, gs_whole(world, delta_vector(world)),
                            gs_member(world, GS_HIER_AVG_INSIDE));
    if (keep_sent) {
        gs_whole_vec(world, GS_VOP_copy, GS_HIER_AVG_SENT, GS_PARAM, 0.0);
    }
    gs_vec(world, GS_VOP_scale, part, part, 1.0 / gs_members(world, GS_HIER_AVG_ACROSS));
    round->sent = steps;
    round->under_way = true;
    round->arrived = false;
    (void)gs_all_reduce(world, GS_HIER_AVG_ACROSS, part, label(steps, GS_HIER_AVG_ACROSS));
}

void gs_hier_avg_gather(gs_world *world, const gs_hier_avg_round *round)
{
    (void)gs_all_gather(world, GS_HIER_AVG_GATHER, gs_whole(world, delta_vector(world)),
                        label(round->sent, GS_HIER_AVG_GATHER));
}

void gs_hier_avg_end_between(gs_world *world, gs_hier_avg_round *round, int64_t steps)
{
    gs_whole_vec(world, GS_VOP_add, GS_HIER_AVG_ANCHOR, delta_vector(world), 0.0);
    if (round->sent == steps) {
        gs_whole_vec(world, GS_VOP_copy, GS_PARAM, GS_HIER_AVG_ANCHOR, 0.0);
    } else {
        gs_whole_vec(world, GS_VOP_sub, GS_HIER_AVG_SENT, GS_HIER_AVG_ANCHOR, 0.0);
        gs_whole_vec(world, GS_VOP_sub, GS_PARAM, GS_HIER_AVG_SENT, 0.0);
    }
    round->under_way = false;
}
