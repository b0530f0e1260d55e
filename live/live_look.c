/* The model of a live run, now and then: copies, which are evaluated when the run has ended. */
#include "live/live_final.h"

#include "traces/model_mean.h"

#include <math.h>
#include <stdlib.h>

/* Keeps a copy: evaluating takes time that is not the run's. */
static void keep_look(gs_live_entity *entity, int64_t steps)
{
    gs_live_shared *shared = entity->shared;
    uint32_t vector;
    double weight;
    size_t count;
    gs_driver_model_view(entity->driver, &vector, &weight);
    const float *model = gs_entity_memory_vector(&entity->memory, vector, &count);
    bool is_again =
        entity->look_count > 0 && entity->marks[entity->look_count - 1].row.step == steps;
    entity->look_count -= is_again ? 1 : 0; /* a mark at the end: what came last is the model */
    if (entity->look_count == entity->look_capacity) {
        uint32_t capacity = entity->look_capacity == 0 ? 32 : 2 * entity->look_capacity;
        float *looks = realloc(entity->looks, capacity * count * sizeof *looks);
        entity->looks = looks != NULL ? looks : entity->looks;
        gs_live_mark *marks = realloc(entity->marks, capacity * sizeof *marks);
        entity->marks = marks != NULL ? marks : entity->marks;
        if (looks == NULL || marks == NULL) {
            gs_live_fail_memory(shared, "models to be evaluated");
            return;
        }
        entity->look_capacity = capacity;
    }
    int64_t passes = shared->layout.cut == GS_CUT_OWN
                         ? (int64_t)atomic_load(&shared->all_passes)
                         : entity->passes_begun * shared->config.job->ranks;
    entity->marks[entity->look_count] =
        (gs_live_mark){.row = {.step = steps,
                               .time_ns = entity->now,
                               .samples = passes * shared->config.batch_per_rank},
                       .weight = weight};
    float *copy = entity->looks + entity->look_count * count;
    for (size_t i = 0; i < count; i++) {
        copy[i] = model[i];
    }
    entity->look_count++;
}

/* Do the marks of this run lie at the ends of each rank's own steps, and are means looked at? */
static bool looks_at_means(const gs_live_shared *shared)
{
    return shared->layout.learns_apart && shared->layout.cut == GS_CUT_COMMON;
}

static bool is_looked_at(const gs_live_entity *entity)
{
    const gs_live_config *config = &entity->shared->config;
    bool is_one =
        entity->number == 0 || (entity->self.role == GS_WORKER && looks_at_means(entity->shared));
    return is_one && config->scenario != NULL && config->task != NULL && config->rows != NULL;
}

void gs_live_look_by_mean(gs_live_entity *entity, bool is_end)
{
    gs_live_shared *shared = entity->shared;
    if (!is_looked_at(entity) || shared->layout.cut != GS_CUT_OWN) {
        return;
    }
    int64_t per_step = shared->config.job->ranks * shared->config.job->accumulation;
    int64_t steps = (int64_t)atomic_load(&shared->all_passes) / per_step;
    if (steps >= entity->next_look || is_end) {
        int64_t every = gs_scenario_evaluation_steps(shared->config.scenario);
        keep_look(entity, steps);
        entity->next_look = (steps / every + 1) * every;
    }
}

void gs_live_look_step_ended(gs_live_entity *entity)
{
    gs_live_shared *shared = entity->shared;
    if (!is_looked_at(entity) || shared->layout.cut == GS_CUT_OWN) {
        return;
    }
    int64_t steps = gs_driver_step(entity->driver) + 1;
    bool is_last = entity->passes_begun >= shared->budget_passes && !entity->in_backward;
    bool is_mark = steps % gs_scenario_evaluation_steps(shared->config.scenario) == 0;
    if (looks_at_means(shared) ? is_mark && !is_last : is_mark || is_last) {
        keep_look(entity, steps);
    }
}

void gs_live_look_drained(gs_live_entity *entity)
{
    if (entity->number == 0 && is_looked_at(entity) && looks_at_means(entity->shared)) {
        keep_look(entity, gs_driver_step(entity->driver));
    }
    gs_live_look_by_mean(entity, true);
}

/* ---------------------------------------------------------------- what was looked at */

static gs_status add_row(const gs_live_entity *first, gs_curve_row row, const float *model,
                         gs_record *rows, gs_error *err)
{
    GS_TRY(gs_task_evaluate(first->workspace, model, &row.loss, &row.accuracy, err));
    if (gs_task_network(first->shared->config.task)->data.kind == GS_ANSWER_REAL) {
        row.accuracy = (double)NAN; /* of numbers none is right */
    }
    return gs_record_curve(rows, &row) == GS_OK
               ? GS_OK
               : gs_fail(err, GS_ENOMEM, "no memory for the curve of the run");
}

/* The mean of what all ranks had at a mark, when the last of them came to it. */
static gs_status add_mean(const gs_live_entity *first, const gs_live_final *finals, uint32_t mark,
                          gs_model_means *means, gs_record *rows, gs_error *err)
{
    gs_curve_row row = finals[0].marks[mark].row;
    const float *mean = NULL;
    for (uint32_t rank = 0; rank < means->ranks; rank++) {
        const gs_live_final *final = &finals[rank];
        if (mark >= final->look_count || final->marks[mark].row.step != row.step) {
            return GS_OK; /* a run that was cut off: some have not come */
        }
        gs_time_ns at_ns = final->marks[mark].row.time_ns;
        row.time_ns = row.time_ns > at_ns ? row.time_ns : at_ns;
        if (gs_model_means_add(means, row.step, final->looks + mark * means->elements,
                               final->marks[mark].weight, &mean) != GS_OK) {
            return gs_fail(err, GS_ENOMEM, "no memory for the mean of the models");
        }
    }
    return mean == NULL ? GS_OK : add_row(first, row, mean, rows, err);
}

/* At the end: the mean of all, where ranks learn apart. */
static gs_status add_end(const gs_live_entity *first, const gs_live_final *finals, uint32_t ranks,
                         gs_record *rows, gs_error *err)
{
    gs_model_means means = {.ranks = ranks, .elements = finals[0].model_count};
    gs_curve_row row = finals[0].marks[finals[0].look_count - 1].row;
    const float *mean = NULL;
    gs_status status = GS_OK;
    for (uint32_t rank = 0; status == GS_OK && rank < ranks && finals[rank].model != NULL; rank++) {
        status = gs_model_means_add(&means, row.step, finals[rank].model, finals[rank].model_weight,
                                    &mean);
    }
    if (status != GS_OK) {
        (void)gs_fail(err, status, "no memory for the mean of the models");
    } else if (mean != NULL) {
        status = add_row(first, row, mean, rows, err);
    }
    gs_model_means_fini(&means);
    return status;
}

/* Who is told to end is killed soon after: what is evaluated by then is the curve. */
static const gs_time_ns interrupted_ns = 200 * GS_NS_PER_MS;

gs_status gs_live_look_rows(const gs_live_entity *first, const gs_live_final *finals,
                            gs_record *rows, gs_error *err)
{
    const gs_live_shared *shared = first->shared;
    uint32_t ranks = shared->config.job->ranks;
    size_t elements = finals[0].model_count;
    gs_model_means means = {.ranks = ranks, .elements = elements};
    gs_status status = GS_OK;
    bool apart = shared->layout.learns_apart;
    gs_time_ns until_ns =
        shared->status == GS_EINTERRUPTED ? gs_live_clock() + interrupted_ns : GS_TIME_NEVER;
    for (uint32_t i = 0;
         status == GS_OK && i < first->look_count && (i == 0 || gs_live_clock() < until_ns); i++) {
        if (apart && i + 1 == first->look_count && shared->status == GS_OK) {
            status = add_end(first, finals, ranks, rows, err);
        } else if (looks_at_means(shared)) {
            status = add_mean(first, finals, i, &means, rows, err);
        } else {
            status = add_row(first, first->marks[i].row, first->looks + i * elements, rows, err);
        }
    }
    gs_model_means_fini(&means);
    return status;
}
