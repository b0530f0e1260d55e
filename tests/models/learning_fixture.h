/* Trains a model on data as one rank would, for tests of what it learns. */
#ifndef GS_TESTS_LEARNING_FIXTURE_H
#define GS_TESTS_LEARNING_FIXTURE_H

#include <criterion/criterion.h>

#include "models/task.h"

#include <math.h>

typedef struct learner {
    gs_arena arena;
    gs_task *task;
    gs_task_workspace *workspace;
    float *x, *g, *state;
} learner;

typedef struct lesson {
    const char *model, *data;
    const char *model_keys[9], *data_keys[9], *optimizer_keys[13]; /* key, text, ..., NULL */
    int64_t batch;
    uint64_t seed;
} lesson;

static inline void set_keys(const gs_field_table *table, void *config, const char *const *keys)
{
    gs_error err;
    for (; *keys != NULL; keys += 2) {
        cr_assert_eq(gs_config_set_text(table, config, keys[0], keys[1], &err), GS_OK, "%s",
                     err.text);
    }
}

static inline void learner_init(learner *l, const lesson *what)
{
    gs_task_config config = gs_task_config_default();
    config.model = gs_model_find(what->model);
    gs_config_defaults(config.model->config_table, config.model_config);
    set_keys(config.model->config_table, config.model_config, what->model_keys);
    config.data.source = gs_data_source_find(what->data);
    gs_config_defaults(config.data.source->config_table, config.data.source_config);
    set_keys(config.data.source->config_table, config.data.source_config, what->data_keys);
    set_keys(&gs_optimizer_config_table, &config.optimizer, what->optimizer_keys);
    gs_arena_init(&l->arena);
    gs_error err;
    gs_task_setup setup = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = 1, .seed = what->seed};
    cr_assert_eq(gs_task_create(&config, &setup, &l->arena, &l->task, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_task_workspace_create(l->task, what->batch, &l->arena, &l->workspace, &err),
                 GS_OK);
    size_t count = gs_task_parameter_count(l->task);
    l->x = GS_TAKE(&l->arena, float, count);
    l->g = GS_TAKE(&l->arena, float, count);
    l->state = GS_TAKE(&l->arena, float, gs_task_state_floats(l->task) + 1);
    cr_assert(l->x != NULL && l->g != NULL && l->state != NULL);
    memset(l->state, 0, gs_task_state_floats(l->task) * sizeof(float));
    gs_task_init(l->task, l->x);
}

static inline void learner_train(learner *l, int64_t steps, int64_t batch)
{
    size_t count = gs_task_parameter_count(l->task);
    for (int64_t step = 0; step < steps; step++) {
        gs_task_request request = {.first_sample = step * batch, .sample_count = batch};
        double loss = 0;
        gs_error err;
        cr_assert_eq(gs_task_gradient(l->workspace, &request, l->x, l->g, &loss, &err), GS_OK, "%s",
                     err.text);
        gs_optimizer_update update = {.parameters = l->x,
                                      .gradient = l->g,
                                      .state = l->state,
                                      .parameter_count = count,
                                      .count = count,
                                      .network = gs_task_network(l->task),
                                      .rate_scale = 1.0,
                                      .updates = step,
                                      .samples = step * batch};
        (void)gs_task_apply(l->task, &update);
    }
}

/* Accuracy on the test set, and its mean loss. */
static inline double learner_accuracy(learner *l, double *out_loss)
{
    double accuracy = 0;
    gs_error err;
    cr_assert_eq(gs_task_evaluate(l->workspace, l->x, out_loss, &accuracy, &err), GS_OK);
    return accuracy;
}

/* Mean loss in nats of the test part of a text by counts of the training part: of each token after
 * the `order` ones before it, 0.1 added to every count. Characters that windows share are counted
 * once. */
static inline double count_loss(const gs_dataset *data, int order)
{
    enum { MOST = 1 << 24 };
    int64_t kinds = data->shape.answer_width;
    int64_t cells = kinds;
    for (int i = 0; i < order; i++) {
        cells *= kinds;
    }
    cr_assert_leq(cells, MOST);
    double *counts = calloc((size_t)cells, sizeof(double));
    double *totals = calloc((size_t)(cells / kinds), sizeof(double));
    cr_assert(counts != NULL && totals != NULL);
    int64_t train = data->train_count * data->input_stride;
    int64_t all = data->row_count * data->input_stride;
    double loss = 0;
    for (int64_t i = order; i <= all; i++) {
        int64_t before = 0;
        for (int64_t k = i - order; k < i; k++) {
            before = before * kinds + data->tokens[k];
        }
        double *count = &counts[before * kinds + data->tokens[i]];
        if (i <= train) {
            *count += 1;
            totals[before] += 1;
        } else {
            loss -= log((*count + 0.1) / (totals[before] + 0.1 * (double)kinds));
        }
    }
    free(counts);
    free(totals);
    return loss / (double)(all - train);
}

#endif
