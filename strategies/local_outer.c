#include "strategies/local_outer.h"

enum { SECOND = GS_LOCAL_ANCHOR + 1 };

typedef struct fragment {
    gs_slice x, z, delta, second;
} fragment;

static bool has_momentum(const gs_local_rule *rule)
{
    return rule->momentum > 0.0 || rule->merge == GS_LOCAL_LATE;
}

static bool has_second(const gs_local_rule *rule)
{
    return has_momentum(rule) || rule->merge == GS_LOCAL_CORRECT;
}

static uint32_t delta_vector(const gs_local_rule *rule)
{
    if (rule->delay == 0) {
        return GS_GRAD;
    }
    return has_second(rule) ? SECOND + 1 : SECOND;
}

uint32_t gs_local_vectors(const gs_local_rule *rule)
{
    return 1U + (has_second(rule) ? 1U : 0U) + (rule->delay > 0 ? 1U : 0U);
}

static fragment fragment_of(const gs_world *world, const gs_local_rule *rule, int64_t round)
{
    const gs_job *job = gs_world_job(world);
    return (fragment){
        .x = gs_local_fragment(rule, job, round, GS_PARAM),
        .z = gs_local_fragment(rule, job, round, GS_LOCAL_ANCHOR),
        .delta = gs_local_fragment(rule, job, round, delta_vector(rule)),
        .second = gs_local_fragment(rule, job, round, SECOND),
    };
}

/* z = outer(z, delta): PyTorch's sgd with -delta as gradient, m = momentum m + delta. SlowMo
 * divides delta by the inner rate and multiplies the step by it, which is the same while that rate
 * stands, and else makes steps smaller when it falls; here momentum is of differences of the model
 * and no rate is in it. BMUF's momentum is of steps: rate times this one. */
static void outer_step(gs_world *world, const gs_local_rule *rule, const fragment *of)
{
    if (!has_momentum(rule)) {
        gs_vec(world, GS_VOP_axpy, of->z, of->delta, rule->rate);
        return;
    }
    gs_vec(world, GS_VOP_scale, of->second, of->second, rule->momentum);
    gs_vec(world, GS_VOP_add, of->second, of->delta, 0.0);
    if (rule->nesterov) {
        gs_vec(world, GS_VOP_axpy, of->z, of->delta, rule->rate);
        gs_vec(world, GS_VOP_axpy, of->z, of->second, rule->rate * rule->momentum);
    } else {
        gs_vec(world, GS_VOP_axpy, of->z, of->second, rule->rate);
    }
}

gs_slice gs_local_leave(gs_world *world, const gs_local_rule *rule, int64_t round)
{
    fragment of = fragment_of(world, rule, round);
    gs_vec(world, GS_VOP_copy, of.delta, of.x, 0.0);
    gs_vec(world, GS_VOP_sub, of.delta, of.z, 0.0);
    switch (rule->merge) {
    case GS_LOCAL_REPLACE:
        break;
    case GS_LOCAL_CORRECT:
        gs_vec(world, GS_VOP_copy, of.second, of.x, 0.0);
        break;
    case GS_LOCAL_ELASTIC:
        gs_vec(world, GS_VOP_axpy, of.x, of.delta, -rule->pull);
        break;
    case GS_LOCAL_LATE:
        gs_vec(world, GS_VOP_axpy, of.z, of.second, rule->rate);
        gs_vec(world, GS_VOP_copy, of.x, of.z, 0.0);
        break;
    }
    gs_vec(world, GS_VOP_scale, of.delta, of.delta, rule->weight);
    return of.delta;
}

void gs_local_arrive(gs_world *world, const gs_local_rule *rule, int64_t round)
{
    fragment of = fragment_of(world, rule, round);
    switch (rule->merge) {
    case GS_LOCAL_REPLACE:
        outer_step(world, rule, &of);
        if (rule->keep > 0.0) {
            gs_vec(world, GS_VOP_lerp, of.x, of.z, 1.0 - rule->keep);
        } else { /* to the bit the same on all ranks */
            gs_vec(world, GS_VOP_copy, of.x, of.z, 0.0);
        }
        break;
    case GS_LOCAL_CORRECT:
        gs_vec(world, GS_VOP_add, of.z, of.delta, 0.0);
        gs_vec(world, GS_VOP_sub, of.second, of.z, 0.0); /* how far x was from the mean then */
        gs_vec(world, GS_VOP_sub, of.x, of.second, 0.0);
        break;
    case GS_LOCAL_ELASTIC:
        outer_step(world, rule, &of);
        break;
    case GS_LOCAL_LATE:
        gs_vec(world, GS_VOP_scale, of.second, of.second, rule->momentum);
        gs_vec(world, GS_VOP_add, of.second, of.delta, 0.0);
        break;
    }
}
