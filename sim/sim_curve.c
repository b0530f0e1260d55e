/* The model of a run now and then. Where ranks learn apart it is the mean of their models: at marks
 * of their steps, each rank's after its own, so that it depends on no clock; else, and at the end,
 * that of now. Other replicas are equal after each step, and worker 0's stands for all. */
#include "sim/sim_parts.h"

#include <math.h>
#include <stdlib.h>

void gs_sim_models(const gs_sim *sim, const float **models, double *weights, size_t *out_count)
{
    for (uint32_t rank = 0; rank < sim->job.ranks; rank++) {
        uint32_t vector;
        gs_driver_model_view(sim->entities[rank].driver, &vector, &weights[rank]);
        models[rank] = gs_entity_memory_vector(&sim->entities[rank].memory, vector, out_count);
    }
}

static void record(gs_sim *sim, gs_status status)
{
    if (status != GS_OK) {
        gs_error err;
        (void)gs_fail(&err, status, "no memory for the curve of the run");
        gs_sim_fail(sim, status, &err);
    }
}

/* passes: of all ranks, that made this model. */
static void evaluate(gs_sim *sim, int64_t steps, int64_t passes, const float *model)
{
    const gs_workload *workload = &sim->scenario->workload;
    gs_curve_row row = {.step = steps,
                        .time_ns = gs_sim_loop_now_ns(&sim->loop),
                        .samples = passes * workload->batch_per_rank,
                        .loss = (double)NAN,
                        .accuracy = (double)NAN};
    gs_error err;
    if (gs_task_evaluate(sim->workspaces[0], model, &row.loss, &row.accuracy, &err) != GS_OK) {
        gs_sim_diverged(sim, 0, steps - 1, &err);
        return;
    }
    if (gs_task_network(sim->task)->data.kind == GS_ANSWER_REAL) {
        row.accuracy = (double)NAN; /* of numbers none is right */
    }
    record(sim, gs_record_curve(sim->config.record, &row));
    if (sim->scenario->stops_at_target &&
        gs_target_is_reached(workload->quality, workload->target_value, &row)) {
        sim->ended = true; /* well, with what is under way left where it is */
    }
}

static const float *settled_model(gs_sim *sim, uint32_t rank, double *weight, size_t *count)
{
    uint32_t vector;
    gs_sim_sums_join(sim);
    gs_sim_work_settle(sim, rank);
    gs_driver_model_view(sim->entities[rank].driver, &vector, weight);
    return gs_entity_memory_vector(&sim->entities[rank].memory, vector, count);
}

/* The mean of what the ranks have now. */
static void evaluate_mean(gs_sim *sim, int64_t steps)
{
    uint32_t ranks = sim->job.ranks;
    const float **models = calloc(ranks, sizeof *models);
    double *weights = calloc(ranks, sizeof *weights);
    float *mean = calloc((size_t)sim->job.elements, sizeof *mean);
    size_t count;
    if (models != NULL && weights != NULL && mean != NULL) {
        gs_sim_sums_join(sim);
        gs_sim_work_settle_all(sim);
        gs_sim_models(sim, models, weights, &count);
        gs_model_mean(models, weights, ranks, count, mean);
        evaluate(sim, steps, sim->passes, mean);
    } else {
        record(sim, GS_ENOMEM);
    }
    free(models);
    free(weights);
    free(mean);
}

static void evaluate_now(gs_sim *sim, int64_t steps)
{
    double weight;
    size_t count;
    if (sim->layout.learns_apart) {
        evaluate_mean(sim, steps);
    } else {
        evaluate(sim, steps, sim->passes, settled_model(sim, 0, &weight, &count));
    }
}

static bool is_evaluated(const gs_sim *sim)
{
    return sim->learns && sim->config.record != NULL && !sim->ended;
}

/* Steps that so many passes would be of all ranks. */
static int64_t mean_steps(const gs_sim *sim, int64_t passes)
{
    return passes / (sim->job.ranks * sim->job.accumulation);
}

/* Where ranks make as many steps as they can, the budget is gradients, and so are the marks at
 * which the model is looked at: a slow worker 0 would look at it late and never at its end. */
void gs_sim_curve_passes(gs_sim *sim, int64_t passes_before)
{
    int64_t steps = mean_steps(sim, sim->passes);
    if (sim->layout.cut == GS_CUT_OWN && is_evaluated(sim) &&
        steps / sim->evaluate_every > mean_steps(sim, passes_before) / sim->evaluate_every &&
        steps * sim->job.accumulation < sim->budget_passes) {
        evaluate_now(sim, steps);
    }
}

void gs_sim_curve_all_drained(gs_sim *sim)
{
    bool own = sim->layout.cut == GS_CUT_OWN;
    if (is_evaluated(sim) && (own || sim->layout.learns_apart)) {
        evaluate_now(sim,
                     own ? mean_steps(sim, sim->passes) : gs_driver_step(sim->entities[0].driver));
    }
}

/* A rank that learns apart has come to a mark; the last one to do so has the mean looked at. */
static void come_to_mark(gs_sim *sim, uint32_t rank, int64_t steps)
{
    double weight;
    const float *mean;
    sim->model_means.ranks = sim->job.ranks;
    const float *model = settled_model(sim, rank, &weight, &sim->model_means.elements);
    gs_status status = gs_model_means_add(&sim->model_means, steps, model, weight, &mean);
    if (status != GS_OK) {
        record(sim, status);
    } else if (mean != NULL) {
        evaluate(sim, steps, sim->workers[rank].passes * sim->job.ranks, mean);
    }
}

void gs_sim_curve_step_ended(gs_sim *sim, uint32_t rank)
{
    bool apart = sim->layout.learns_apart;
    if ((rank != 0 && !apart) || sim->layout.cut == GS_CUT_OWN || !is_evaluated(sim)) {
        return;
    }
    const gs_sim_worker *worker = &sim->workers[rank];
    int64_t steps = gs_driver_step(sim->entities[rank].driver) + 1;
    bool is_last = worker->passes >= sim->budget_passes && worker->closed_buckets == 0;
    bool is_mark = steps % sim->evaluate_every == 0;
    if (apart && is_mark && !is_last) {
        come_to_mark(sim, rank, steps);
    } else if (!apart && (is_mark || is_last)) {
        evaluate_now(sim, steps);
    }
}
