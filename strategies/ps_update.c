#include "strategies/ps_update.h"

#include "strategies/ps_shard.h"
#include "strategies/world.h"

/* Own vectors: the sum under way, where an update has several gradients; then what each worker was
 * given last, where delays are compensated. */
static uint32_t sum_vector(const gs_ps_rule *rule)
{
    return rule->gather > 1 ? GS_OWN : GS_GRAD;
}

static uint32_t given_vector(const gs_ps_rule *rule, uint32_t worker)
{
    return rule->gather > 1 ? GS_OWN + 1 + worker : GS_OWN + worker;
}

uint32_t gs_ps_update_vectors(const gs_ps_config *config, const gs_ps_rule *rule, uint32_t ranks)
{
    uint32_t given = config->lambda > 0.0 ? ranks : 0;
    return rule->gather > 1 ? given + 1 : given;
}

void gs_ps_update_remember(gs_world *world, const gs_ps_rule *rule, uint32_t worker)
{
    const gs_ps_config *config = gs_world_config(world);
    if (config->lambda > 0.0) {
        gs_vec(world, GS_VOP_copy, gs_ps_own_shard(world, given_vector(rule, worker)),
               gs_ps_own_shard(world, GS_PARAM), 0.0);
    }
}

/* g + lambda g g (x - x'), where x' are the weights that g is of; x' is not needed after this. */
static void compensate(gs_world *world, const gs_ps_rule *rule, uint32_t worker, double lambda)
{
    gs_slice gradient = gs_ps_own_shard(world, GS_GRAD);
    gs_slice moved = gs_ps_own_shard(world, given_vector(rule, worker));
    gs_vec(world, GS_VOP_sub, moved, gs_ps_own_shard(world, GS_PARAM), 0.0); /* x' - x */
    gs_vec(world, GS_VOP_mul, moved, gradient, 0.0);
    gs_vec(world, GS_VOP_mul, moved, gradient, 0.0);
    gs_vec(world, GS_VOP_axpy, gradient, moved, -lambda);
}

void gs_ps_update_make(gs_world *world, const gs_ps_rule *rule, double scale)
{
    const gs_ps_config *config = gs_world_config(world);
    double rate = config->rate;
    if (config->rate <= GS_PS_RATE_MATCHED) {
        rate = (double)rule->gather / gs_world_job(world)->ranks;
    }
    gs_apply_slice(world, gs_ps_own_shard(world, GS_PARAM), sum_vector(rule), rate * scale, true);
}

void gs_ps_update_take(gs_world *world, const gs_ps_rule *rule, uint32_t worker,
                       const gs_ps_verdict *verdict, bool is_first)
{
    const gs_ps_config *config = gs_world_config(world);
    if (config->lambda > 0.0) {
        compensate(world, rule, worker, config->lambda);
    }
    double scale =
        rule->slow_when_stale && verdict->staleness > 1 ? 1.0 / (double)verdict->staleness : 1.0;
    if (rule->gather == 1) {
        gs_ps_update_make(world, rule, scale);
        return;
    }
    gs_slice sum = gs_ps_own_shard(world, sum_vector(rule));
    gs_slice gradient = gs_ps_own_shard(world, GS_GRAD);
    double share = scale / rule->gather;
    if (is_first) {
        gs_vec(world, GS_VOP_copy, sum, gradient, 0.0);
        gs_vec(world, GS_VOP_scale, sum, sum, share);
    } else {
        gs_vec(world, GS_VOP_axpy, sum, gradient, share);
    }
    if (verdict->updates) {
        gs_ps_update_make(world, rule, 1.0);
    }
}
