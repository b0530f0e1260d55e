/* What real gradients cost in a simulated run: their share of its time, what stands between them
 * and the bare matrix products, what a second thread saves, and the seconds of a small job. JSON
 * lines.
 *
 * Rounds of what is compared take turns in one process, and each counts by its median: on a shared
 * machine neighbours come and go. Shares are of processor time, what threads save is wall time. */
#include "models/blas.h"
#include "models/task.h"
#include "tests/small_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 8, ROUNDS = 5 };

typedef struct load {
    const char *hidden; /* widths of the mlp on digits (64 inputs, 10 classes) */
    int64_t batch, steps;
} load;

static const load large = {"320/256", 32, 60};
static const load small = {"64", 16, 1500};

static double seconds(clockid_t of)
{
    struct timespec now;
    clock_gettime(of, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void must(gs_status status, const gs_error *err)
{
    if (status != GS_OK) {
        fprintf(stderr, "bench_gradients: %s\n", err->text);
        exit(EXIT_FAILURE);
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof *values, compare);
    return values[ROUNDS / 2];
}

/* ---------------------------------------------------------------- the simulated run */

static gs_task_config task_of(const load *of)
{
    gs_task_config config = gs_task_config_default();
    gs_error err;
    must(gs_config_set_text(config.model->config_table, config.model_config, "hidden", of->hidden,
                            &err),
         &err);
    return config;
}

typedef struct spent {
    double wall_s, cpu_s;
} spent;

/* A ring all-reduce message by message; nobody evaluates. */
static spent simulate(const load *of, uint32_t threads)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.units = 2;
    config.forward_ns = GS_NS_PER_MS;
    config.backward_ns = GS_NS_PER_MS;
    config.steps = of->steps;
    config.learns = true;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.workload.batch_per_rank = of->batch;
    job.scenario.workload.task = task_of(of);
    double wall_s = seconds(CLOCK_MONOTONIC), cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 1, .threads = threads});
    spent took = {seconds(CLOCK_MONOTONIC) - wall_s, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s};
    must(result.status, &result.error);
    small_job_fini(&job);
    return took;
}

/* ---------------------------------------------------------------- its gradients, and less */

typedef struct maths {
    gs_arena arena;
    gs_task *task;
    gs_task_workspace *workspace;
    float *parameters, *gradient;
} maths;

static maths make(const load *of)
{
    maths made = {.task = NULL};
    gs_task_config config = task_of(of);
    gs_task_setup setup = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = RANKS, .seed = 1};
    gs_error err;
    gs_arena_init(&made.arena);
    must(gs_task_create(&config, &setup, &made.arena, &made.task, &err), &err);
    must(gs_task_workspace_create(made.task, of->batch, &made.arena, &made.workspace, &err), &err);
    size_t count = gs_task_parameter_count(made.task);
    made.parameters = GS_TAKE(&made.arena, float, count);
    made.gradient = GS_TAKE(&made.arena, float, count);
    if (made.parameters == NULL || made.gradient == NULL) {
        must(gs_fail(&err, GS_ENOMEM, "out of memory"), &err);
    }
    gs_task_init(made.task, made.parameters);
    return made;
}

static double gradients(const load *of, maths *of_task)
{
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int64_t i = 0; i < of->steps * RANKS; i++) {
        gs_task_request request = {.first_sample = i * of->batch, .sample_count = of->batch};
        double loss;
        gs_error err;
        must(gs_task_gradient(of_task->workspace, &request, of_task->parameters, of_task->gradient,
                              &loss, &err),
             &err);
    }
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
}

/* The three products of each dense layer, of the first one two: its inputs want no derivative. */
static double products(const load *of, maths *of_task, float *values)
{
    int64_t widths[GS_INT_LIST_MAX + 2] = {64};
    uint32_t layers = 0;
    for (const char *at = of->hidden; at != NULL; at = strchr(at, '/')) {
        at += *at == '/' ? 1 : 0;
        widths[++layers] = strtol(at, NULL, 10);
    }
    widths[++layers] = 10;
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int64_t i = 0; i < of->steps * RANKS; i++) {
        const float *weights = of_task->parameters;
        float *gradient = of_task->gradient;
        for (uint32_t l = 0; l < layers; l++) {
            gs_matrix w = {weights, widths[l + 1], widths[l], true};
            gs_matrix x = {values, of->batch, widths[l], false};
            gs_matrix d = {values, of->batch, widths[l + 1], true};
            float *out = values + of->batch * 512;
            gs_blas_multiply(&x, &w, false, out);
            gs_blas_multiply(&d, &x, false, gradient);
            if (l > 0) {
                d.transposed = w.transposed = false;
                gs_blas_multiply(&d, &w, false, out);
            }
            weights += (widths[l] + 1) * widths[l + 1];
            gradient += (widths[l] + 1) * widths[l + 1];
        }
    }
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
}

int main(void)
{
    const load *const loads[] = {&large, &small};
    for (int i = 0; i < 2; i++) {
        const load *of = loads[i];
        maths made = make(of);
        float *values = GS_TAKE(&made.arena, float, (size_t)(2 * 512 * of->batch));
        double one[ROUNDS], cpu[ROUNDS], two[ROUNDS], alone[ROUNDS], bare[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            spent single = simulate(of, 1);
            one[round] = single.wall_s;
            cpu[round] = single.cpu_s;
            two[round] = simulate(of, 2).wall_s;
            alone[round] = gradients(of, &made);
            bare[round] = products(of, &made, values);
        }
        double one_s = median(one), cpu_s = median(cpu), two_s = median(two),
               alone_s = median(alone);
        printf("{\"bench\": \"gradients\", \"hidden\": \"%s\", \"parameters\": %zu, \"ranks\": %d, "
               "\"steps\": %lld, \"batch\": %lld, \"one_thread_s\": %.4f, \"one_thread_cpu_s\": "
               "%.4f, \"two_threads_s\": %.4f, "
               "\"speedup_ratio\": %.2f, \"gradients_s\": %.4f, \"gradients_share_ratio\": %.3f, "
               "\"over_bare_products_ratio\": %.3f, \"blas\": \"%s\"}\n",
               of->hidden, gs_task_parameter_count(made.task), RANKS, (long long)of->steps,
               (long long)of->batch, one_s, cpu_s, two_s, one_s / two_s, alone_s, alone_s / cpu_s,
               alone_s / median(bare), gs_blas_kernel());
        gs_arena_fini(&made.arena);
    }
    return EXIT_SUCCESS;
}
