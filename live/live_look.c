/* The model of a live run, now and then: copies, which are evaluated when the run has ended. */
#include "live/live_final.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

gs_status gs_live_look_open(gs_live_entity *entity, gs_error *err)
{
    const gs_live_shared *shared = entity->shared;
    if (!is_looked_at(entity)) {
        return GS_OK;
    }
    bool is_sought = shared->config.crew != NULL && shared->process != 0;
    return gs_live_shelf_create(&entity->shelf, is_sought ? getpid() : 0,
                                gs_task_parameter_count(shared->config.task), err);
}

/* Keeps a copy: evaluating takes time that is not the run's. */
static void keep_look(gs_live_entity *entity, int64_t steps)
{
    gs_live_shared *shared = entity->shared;
    gs_live_shelf *shelf = &entity->shelf;
    uint32_t vector;
    double weight;
    size_t count;
    gs_error err;
    gs_driver_model_view(entity->driver, &vector, &weight);
    const float *model = gs_entity_memory_vector(&entity->memory, vector, &count);
    GS_ASSERT(count == shelf->elements);
    /* A mark at the end: what came last is the model. */
    bool is_again = shelf->count > 0 && entity->shelved_step == steps;
    int64_t passes = shared->layout.cut == GS_CUT_OWN
                         ? (int64_t)atomic_load(&shared->all_passes)
                         : entity->passes_begun * shared->config.job->ranks;
    gs_live_mark mark = {.row = {.step = steps,
                                 .time_ns = entity->now,
                                 .samples = passes * shared->config.batch_per_rank},
                         .weight = weight};
    entity->shelved_step = steps;
    if (gs_live_shelf_put(shelf, shelf->count - (is_again ? 1 : 0), &mark, model, &err) != GS_OK) {
        gs_live_fail(shared, &err);
    }
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

/* What a rank kept at a mark: false: it has not come there, or its process is gone. The model is
 * good until the next call. */
static bool read_mark(const gs_live_looks *looks, uint32_t rank, uint32_t mark, gs_live_mark *out,
                      const float **out_model)
{
    const gs_live_shelf *shelf = looks->finals[rank].shelf;
    const unsigned char *record = looks->record;
    gs_error err;
    if (shelf != NULL) {
        if (mark >= shelf->count || gs_live_shelf_get(shelf, mark, looks->record, &err) != GS_OK) {
            return false;
        }
    } else if (looks->asks &&
               looks->told[rank].count == gs_live_shelf_bytes(&looks->first->shelf)) {
        record = looks->told[rank].data;
    } else {
        return false;
    }
    memcpy(out, record, sizeof *out);
    *out_model = (const float *)(const void *)(record + sizeof *out);
    return true;
}

/* The mean of what all ranks had at a mark, when the last of them came to it. */
static gs_status add_mean(gs_live_looks *looks, uint32_t mark, gs_error *err)
{
    const float *mean = NULL, *model;
    gs_live_mark kept;
    gs_curve_row row = {.step = -1};
    for (uint32_t rank = 0; rank < looks->means.ranks; rank++) {
        if (!read_mark(looks, rank, mark, &kept, &model) ||
            (rank > 0 && kept.row.step != row.step)) {
            looks->count = mark; /* a run that was cut off: some have not come */
            return GS_OK;
        }
        gs_time_ns at_ns = kept.row.time_ns;
        at_ns = row.time_ns > at_ns ? row.time_ns : at_ns;
        row = rank == 0 ? kept.row : row;
        row.time_ns = at_ns;
        if (gs_model_means_add(&looks->means, row.step, model, kept.weight, &mean) != GS_OK) {
            return gs_fail(err, GS_ENOMEM, "no memory for the mean of the models");
        }
    }
    return mean == NULL ? GS_OK : add_row(looks->first, row, mean, looks->rows, err);
}

/* At the end: the mean of all, where ranks learn apart. */
static gs_status add_end(gs_live_looks *looks, uint32_t mark, gs_error *err)
{
    const gs_live_final *finals = looks->finals;
    const float *mean = NULL, *model;
    gs_live_mark last;
    if (!read_mark(looks, 0, mark, &last, &model)) {
        return GS_OK;
    }
    for (uint32_t rank = 0; rank < looks->means.ranks && finals[rank].model != NULL; rank++) {
        if (gs_model_means_add(&looks->means, last.row.step, finals[rank].model,
                               finals[rank].model_weight, &mean) != GS_OK) {
            return gs_fail(err, GS_ENOMEM, "no memory for the mean of the models");
        }
    }
    return mean == NULL ? GS_OK : add_row(looks->first, last.row, mean, looks->rows, err);
}

gs_status gs_live_looks_mark(gs_live_looks *looks, uint32_t mark, gs_error *err)
{
    const gs_live_shared *shared = looks->first->shared;
    gs_live_mark kept;
    const float *model;
    if (shared->layout.learns_apart && mark + 1 == looks->count && shared->status == GS_OK) {
        return add_end(looks, mark, err);
    }
    if (looks_at_means(shared)) {
        return add_mean(looks, mark, err);
    }
    return read_mark(looks, 0, mark, &kept, &model)
               ? add_row(looks->first, kept.row, model, looks->rows, err)
               : GS_OK;
}

gs_status gs_live_looks_begin(gs_live_looks *looks, const gs_live_entity *first,
                              const gs_live_final *finals, gs_record *rows, gs_error *err)
{
    const gs_live_shared *shared = first->shared;
    const gs_live_shelf *shelf = &first->shelf;
    *looks =
        (gs_live_looks){.first = first,
                        .finals = finals,
                        .rows = rows,
                        .count = shelf->count,
                        .means = {.ranks = shared->config.job->ranks, .elements = shelf->elements}};
    if (shelf->count == 0) {
        return GS_OK;
    }
    for (uint32_t i = 0; looks_at_means(shared) && i < looks->means.ranks; i++) {
        looks->asks = looks->asks || finals[i].shelf == NULL;
    }
    looks->record = malloc(gs_live_shelf_bytes(shelf));
    looks->told = calloc(shared->process_count, sizeof *looks->told);
    return looks->record != NULL && looks->told != NULL
               ? GS_OK
               : gs_fail(err, GS_ENOMEM, "no memory for a model to be evaluated");
}

static void forget_told(gs_crew_bytes *told, uint32_t processes)
{
    for (uint32_t i = 0; told != NULL && i < processes; i++) {
        free(told[i].data);
        told[i] = (gs_crew_bytes){.count = 0};
    }
}

void gs_live_looks_end(gs_live_looks *looks)
{
    forget_told(looks->told, looks->first->shared->process_count);
    free(looks->told);
    free(looks->record);
    gs_model_means_fini(&looks->means);
}

gs_status gs_live_looks_gather(const gs_live_shared *shared, const gs_live_entity *entity,
                               uint32_t mark, gs_crew_bytes *out, gs_error *err)
{
    void *record = NULL;
    size_t bytes = 0;
    forget_told(out, shared->process_count);
    if (entity != NULL && mark < entity->shelf.count) {
        bytes = gs_live_shelf_bytes(&entity->shelf);
        record = malloc(bytes);
        if (record == NULL || gs_live_shelf_get(&entity->shelf, mark, record, err) != GS_OK) {
            bytes = 0; /* the mark is left out */
        }
    }
    gs_status status = gs_crew_gather(shared->config.crew, record, bytes, out, err);
    free(record);
    return status;
}
