/* The model of a live run, now and then: copies, which are evaluated when the run has ended. */
#include "live/live_entity.h"

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
    bool is_again = entity->look_count > 0 && entity->marks[entity->look_count - 1].step == steps;
    entity->look_count -= is_again ? 1 : 0; /* a mark at the end: what came last is the model */
    if (entity->look_count == entity->look_capacity) {
        uint32_t capacity = entity->look_capacity == 0 ? 32 : 2 * entity->look_capacity;
        float *looks = realloc(entity->looks, capacity * count * sizeof *looks);
        entity->looks = looks != NULL ? looks : entity->looks;
        gs_curve_row *marks = realloc(entity->marks, capacity * sizeof *marks);
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
    entity->marks[entity->look_count] = (gs_curve_row){
        .step = steps, .time_ns = entity->now, .samples = passes * shared->config.batch_per_rank};
    float *copy = entity->looks + entity->look_count * count;
    for (size_t i = 0; i < count; i++) {
        copy[i] = model[i];
    }
    entity->look_count++;
}

static bool is_looked_at(const gs_live_entity *entity)
{
    const gs_live_config *config = &entity->shared->config;
    return entity->number == 0 && config->scenario != NULL && config->task != NULL &&
           config->rows != NULL;
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
    if (steps % gs_scenario_evaluation_steps(shared->config.scenario) == 0 || is_last) {
        keep_look(entity, steps);
    }
}

gs_status gs_live_look_rows(const gs_live_entity *entity, gs_record *rows, gs_error *err)
{
    const gs_task *task = entity->shared->config.task;
    size_t count;
    (void)gs_entity_memory_vector(&entity->memory, GS_PARAM, &count);
    for (uint32_t i = 0; i < entity->look_count; i++) {
        gs_curve_row row = entity->marks[i];
        GS_TRY(gs_task_evaluate(entity->workspace, entity->looks + i * count, &row.loss,
                                &row.accuracy, err));
        if (gs_task_network(task)->data.kind == GS_ANSWER_REAL) {
            row.accuracy = (double)NAN; /* of numbers none is right */
        }
        if (gs_record_curve(rows, &row) != GS_OK) {
            return gs_fail(err, GS_ENOMEM, "no memory for the curve of the run");
        }
    }
    return GS_OK;
}
