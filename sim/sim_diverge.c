/* The end of a run whose numbers are none any more: at which step, and the likely cause by what was
 * seen of it. */
#include "sim/sim_parts.h"

static double larger(double a, double b)
{
    return b > a ? b : a;
}

/* Of the gradients of all ranks that have been joined: what others compute is not known yet, and
 * may not be. */
static gs_divergence seen(const gs_sim *sim, uint32_t entity)
{
    const gs_workload *workload = &sim->scenario->workload;
    uint32_t worker = entity < sim->job.ranks ? entity : 0;
    gs_divergence out = {
        .number = workload->number,
        .coding = &sim->config.strategy->coding,
        .strategy = sim->config.strategy->strategy,
        .config = sim->config.strategy->config,
        .ranks = sim->job.ranks,
        .accumulation = sim->workers[worker].micro_steps,
        .loss_scale = workload->task.optimizer.loss_scale,
        .rate = workload->task.optimizer.rate,
        .momentum =
            workload->task.optimizer.kind == GS_SGD ? workload->task.optimizer.momentum : 0.0,
        .facts = {.applied_gradients = sim->staleness.count,
                  .staleness_mean = gs_staleness_mean(&sim->staleness)},
        .trail = sim->workers[worker].gradient->trail,
    };
    for (uint32_t rank = 0; rank < sim->job.ranks; rank++) {
        out.gradient_max = larger(out.gradient_max, sim->workers[rank].gradient->gradient_max);
        out.applied_max = larger(out.applied_max, sim->workers[rank].gradient->applied_max);
    }
    for (uint32_t i = sim->job.ranks; i < sim->entity_count; i++) {
        out.applied_max = larger(out.applied_max, sim->entities[i].memory.applied_max);
    }
    if (sim->watch != NULL) {
        gs_gradient_watch_facts(sim->watch, &out.facts);
    }
    return out;
}

void gs_sim_diverged(gs_sim *sim, uint32_t entity, int64_t step, const gs_error *what)
{
    char cause[GS_DIVERGENCE_TEXT_BYTES];
    gs_divergence divergence = seen(sim, entity);
    gs_error err;
    (void)gs_fail(&err, GS_EDIVERGED, "step %lld: %s; %s", (long long)step, what->text,
                  gs_divergence_cause(&divergence, cause));
    gs_sim_fail(sim, GS_EDIVERGED, &err);
}

void gs_sim_check_models(gs_sim *sim)
{
    for (uint32_t rank = 0; rank < sim->job.ranks && !sim->ended; rank++) {
        const gs_sim_entity *entity = &sim->entities[rank];
        uint32_t vector;
        double weight;
        gs_error err;
        gs_driver_model_view(entity->driver, &vector, &weight);
        if (gs_entity_memory_check(&entity->memory, vector, &err) != GS_OK) {
            gs_sim_diverged(sim, rank, gs_driver_step(entity->driver), &err);
        }
    }
}
