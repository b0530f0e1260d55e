/* Seconds of real gradients for a run of 8 ranks and 500 steps: what learning adds to a simulation.
 * One JSON line a model.
 *
 * The best of several rounds counts: on a shared machine only the fastest one says what code can
 * do. */
#include "models/blas.h"
#include "models/kernels.h"
#include "models/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 8, STEPS = 500, BATCH = 16, ROUNDS = 5, ENOUGH_SECONDS = 2 };

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(gs_status status, const gs_error *err)
{
    if (status != GS_OK) {
        fprintf(stderr, "bench_task: %s\n", err->text);
        exit(EXIT_FAILURE);
    }
}

typedef struct run {
    const gs_task *task;
    gs_task_workspace *workspace;
    float *parameters, *gradient, *state;
} run;

/* Synchronous SGD: every rank's gradient is added, their mean is applied. */
static void train(const run *r)
{
    size_t count = gs_task_parameter_count(r->task);
    gs_error err;
    gs_task_init(r->task, r->parameters);
    memset(r->state, 0, count * sizeof(float));
    for (int64_t step = 0; step < STEPS; step++) {
        for (int64_t rank = 0; rank < RANKS; rank++) {
            gs_task_request request = {.first_sample = (step * RANKS + rank) * BATCH,
                                       .sample_count = BATCH,
                                       .accumulate = rank > 0};
            double loss = 0;
            must(gs_task_gradient(r->workspace, &request, r->parameters, r->gradient, &loss, &err),
                 &err);
        }
        gs_kernel_scale(r->gradient, NULL, NULL, count, 1.0F / RANKS);
        gs_optimizer_update update = {.parameters = r->parameters,
                                      .gradient = r->gradient,
                                      .state = r->state,
                                      .count = count,
                                      .rate_scale = 1.0};
        gs_task_apply(r->task, &update);
    }
}

static void measure(const gs_task_config *config)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_error err;
    gs_task *task = NULL;
    run r = {.task = NULL};
    gs_task_setup setup = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = RANKS, .seed = 1};
    gs_status status = gs_task_create(config, &setup, &arena, &task, &err);
    if (status == GS_EINVAL) {
        gs_arena_fini(&arena); /* a model for other data: tests/bench/bench_layers.c has it */
        return;
    }
    must(status, &err);
    must(gs_task_workspace_create(task, BATCH, &arena, &r.workspace, &err), &err);
    size_t count = gs_task_parameter_count(task);
    r.task = task;
    r.parameters = GS_TAKE(&arena, float, count);
    r.gradient = GS_TAKE(&arena, float, count);
    r.state = GS_TAKE(&arena, float, count);
    if (r.parameters == NULL || r.gradient == NULL || r.state == NULL) {
        must(gs_fail(&err, GS_ENOMEM, "out of memory"), &err);
    }
    double best = 1e9;
    for (int round = 0; round < ROUNDS && best * round < ENOUGH_SECONDS; round++) {
        double start = seconds();
        train(&r);
        double spent = seconds() - start;
        best = spent < best ? spent : best;
    }
    double loss = 0;
    double accuracy = 0;
    must(gs_task_evaluate(r.workspace, r.parameters, &loss, &accuracy, &err), &err);
    printf("{\"bench\": \"task\", \"model\": \"%s\", \"parameters\": %zu, \"ranks\": %d, "
           "\"steps\": %d, \"batch\": %d, \"seconds\": %.4f, \"gradient_us\": %.2f, "
           "\"accuracy\": %.4f, \"blas\": \"%s\"}\n",
           config->model->name, count, RANKS, STEPS, BATCH, best,
           best * 1e6 / ((double)RANKS * STEPS), accuracy, gs_blas_kernel());
    gs_arena_fini(&arena);
}

int main(void)
{
    gs_task_config config = gs_task_config_default();
    for (size_t i = 0; gs_model_at(i) != NULL; i++) {
        config.model = gs_model_at(i);
        gs_config_defaults(config.model->config_table, config.model_config);
        measure(&config);
    }
    return EXIT_SUCCESS;
}
