#include "strategies/local_round.h"

#include "strategies/local_outer.h"
#include "strategies/whole_model.h"

void gs_local_round_begin(gs_world *world, gs_local_round *round, const gs_local_rule *rule)
{
    gs_slice delta = gs_local_leave(world, rule, round->count);
    (void)gs_all_reduce(world, 0, delta, (uint64_t)round->count);
    round->count++;
    round->since = 0;
    round->under_way = true;
    round->arrived = false;
}

void gs_local_round_end(gs_world *world, gs_local_round *round, const gs_local_rule *rule)
{
    gs_local_arrive(world, rule, round->count - 1);
    round->under_way = false;
}

void gs_local_round_begin_last(gs_world *world, gs_local_round *round)
{
    gs_local_rule mean = {.fragments = 1, .weight = 1.0 / gs_world_job(world)->ranks};
    gs_local_round_begin(world, round, &mean);
}

void gs_local_round_end_last(gs_world *world)
{
    gs_whole_vec(world, GS_VOP_add, GS_LOCAL_ANCHOR, GS_GRAD, 0.0); /* a mean that is waited for */
    gs_whole_vec(world, GS_VOP_copy, GS_PARAM, GS_LOCAL_ANCHOR, 0.0);
}
