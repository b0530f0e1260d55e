/* What real gradients cost in a simulated run: their share of its time, alone and with the updates
 * that every replica makes, what stands between them and the bare matrix products, what a second
 * thread saves, and the seconds of a small job. JSON lines; fails where a ratio is far from what
 * was measured (docs/measured/models.md).
 *
 * Rounds of what is compared take turns in one process, and each counts by its median: on a shared
 * machine neighbours come and go. Shares are of processor time, what threads save is wall time. */
#include "models/blas.h"
#include "models/kernels.h"
#include "models/task.h"
#include "models/team.h"
#include "tests/small_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 8, ROUNDS = 5 };

typedef struct load {
    const char *data;   /* 64 or 32 inputs, 10 classes */
    const char *hidden; /* widths of the mlp */
    int64_t inputs, batch, steps;
    /* Far from what was measured: the share of gradients and updates, and what two threads save
     * where two loops that share nothing do. */
    double share_least, speedup_least;
} load;

static const load loads[] = {
    {"digits", "320/256", 64, 32, 60, 0.6, 1.4},  {"digits", "320/256", 64, 64, 40, 0.6, 1.4},
    {"digits", "320/256", 64, 128, 30, 0.6, 1.4}, {"digits", "320/256", 64, 256, 20, 0.6, 1.4},
    {"teacher", "64", 32, 16, 1500, 0.3, 0.5},
};

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

typedef struct bench {
    const load *of;
    gs_arena arena;
    gs_dataset dataset;
    gs_task_config config;
    gs_task *task;
    gs_task_workspace *workspace;
    size_t count;         /* parameters */
    float *replicas;      /* [RANKS][parameters, gradient, state]: as far apart as in a run */
    size_t replica_count; /* floats of one */
    float *values;        /* for the bare products */
} bench;

static void make(bench *made, const load *of)
{
    gs_error err;
    *made = (bench){.of = of, .config = gs_task_config_default()};
    gs_arena_init(&made->arena);
    gs_task_config *config = &made->config;
    must(gs_config_set_text(config->model->config_table, config->model_config, "hidden", of->hidden,
                            &err),
         &err);
    config->data.source = gs_data_source_find(of->data);
    gs_config_defaults(config->data.source->config_table, config->data.source_config);
    must(gs_data_load(&config->data, GS_TEST_SOURCE_DIR, &made->arena, &made->dataset, &err), &err);
    gs_task_setup setup = {
        .data_dir = GS_TEST_SOURCE_DIR, .dataset = &made->dataset, .ranks = RANKS, .seed = 1};
    must(gs_task_create(config, &setup, &made->arena, &made->task, &err), &err);
    must(gs_task_workspace_create(made->task, of->batch, &made->arena, &made->workspace, &err),
         &err);
    made->count = gs_task_parameter_count(made->task);
    made->replica_count = 2 * made->count + gs_task_state_floats(made->task);
    made->replicas = GS_TAKE(&made->arena, float, RANKS * made->replica_count);
    made->values = GS_TAKE(&made->arena, float, (size_t)(2 * 512 * of->batch));
    if (made->replicas == NULL || made->values == NULL) {
        must(gs_fail(&err, GS_ENOMEM, "out of memory"), &err);
    }
    for (size_t rank = 0; rank < RANKS; rank++) {
        gs_task_init(made->task, made->replicas + rank * made->replica_count);
    }
}

/* ---------------------------------------------------------------- the simulated run */

typedef struct spent {
    double wall_s, cpu_s;
} spent;

/* A ring all-reduce; nobody evaluates. threads: as many, however small the gradients are. */
static spent simulate(const bench *by, uint32_t threads)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.units = 2;
    config.forward_ns = GS_NS_PER_MS;
    config.backward_ns = GS_NS_PER_MS;
    config.steps = by->of->steps;
    config.learns = true;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.workload.batch_per_rank = by->of->batch;
    job.scenario.workload.task = by->config;
    job.scenario.workload.dataset = &by->dataset;
    double wall_s = seconds(CLOCK_MONOTONIC), cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID);
    gs_sim_result result = small_job_run(&(gs_sim_config){.scenario = &job.scenario,
                                                          .strategy = &job.choice,
                                                          .seed = 1,
                                                          .threads = threads,
                                                          .threads_always = true});
    spent took = {seconds(CLOCK_MONOTONIC) - wall_s, seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_s};
    must(result.status, &result.error);
    small_job_fini(&job);
    return took;
}

/* ---------------------------------------------------------------- its gradients, and less */

static void update(const bench *by, float *parameters, float *gradient)
{
    gs_kernel_scale(gradient, NULL, NULL, by->count, 1.0F / RANKS);
    gs_optimizer_update all = {.parameters = parameters,
                               .gradient = gradient,
                               .state = gradient + by->count,
                               .count = by->count,
                               .rate_scale = 1.0};
    (void)gs_task_apply(by->task, &all);
}

/* What the ranks of such a run compute, and with `updates` also what they do to their weights. */
static double learn(const bench *by, bool updates)
{
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int64_t i = 0; i < by->of->steps * RANKS; i++) {
        float *parameters = by->replicas + (size_t)(i % RANKS) * by->replica_count;
        gs_task_request request = {.first_sample = i * by->of->batch,
                                   .sample_count = by->of->batch};
        double loss;
        gs_error err;
        must(gs_task_gradient(by->workspace, &request, parameters, parameters + by->count, &loss,
                              &err),
             &err);
        if (updates) {
            update(by, parameters, parameters + by->count);
        }
    }
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
}

/* The three products of each dense layer, of the first one two: its inputs want no derivative. */
static double products(const bench *by)
{
    const load *of = by->of;
    int64_t widths[GS_INT_LIST_MAX + 2] = {of->inputs};
    uint32_t layers = 0;
    for (const char *at = of->hidden; at != NULL; at = strchr(at, '/')) {
        at += *at == '/' ? 1 : 0;
        widths[++layers] = strtol(at, NULL, 10);
    }
    widths[++layers] = 10;
    double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int64_t i = 0; i < of->steps * RANKS; i++) {
        float *weights = by->replicas + (size_t)(i % RANKS) * by->replica_count;
        for (uint32_t l = 0; l < layers; l++) {
            gs_matrix w = {weights, widths[l + 1], widths[l], true};
            gs_matrix x = {by->values, of->batch, widths[l], false};
            gs_matrix d = {by->values, of->batch, widths[l + 1], true};
            float *out = by->values + of->batch * 512;
            gs_blas_multiply(&x, &w, false, out);
            gs_blas_multiply(&d, &x, false, weights + by->count);
            if (l > 0) {
                d.transposed = w.transposed = false;
                gs_blas_multiply(&d, &w, false, out);
            }
            weights += (widths[l] + 1) * widths[l + 1];
        }
    }
    return seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
}

/* ---------------------------------------------------------------- what two threads can save here
 */

enum { SPINS = 30000000 };

static void spin(gs_team_job *job, uint32_t member)
{
    (void)job;
    (void)member;
    for (volatile int i = 0; i < SPINS; i++) {
    }
}

/* Two loops that share nothing, one after the other against at once: 2 on two free cores. */
static double control(void)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_team *team;
    gs_error err;
    must(gs_team_create(2, &arena, &team, &err), &err);
    gs_team_job jobs[2] = {{.run = spin}, {.run = spin}};
    double start = seconds(CLOCK_MONOTONIC);
    spin(&jobs[0], 0);
    spin(&jobs[1], 0);
    double between = seconds(CLOCK_MONOTONIC);
    gs_team_submit(team, &jobs[0]);
    gs_team_submit(team, &jobs[1]);
    gs_team_join(team, &jobs[0]);
    gs_team_join(team, &jobs[1]);
    double end = seconds(CLOCK_MONOTONIC);
    gs_team_destroy(team);
    gs_arena_fini(&arena);
    return (between - start) / (end - between);
}

/* ---------------------------------------------------------------- one load */

static bool run(const load *of)
{
    bench by;
    make(&by, of);
    double one[ROUNDS], cpu[ROUNDS], two[ROUNDS], two_cpu[ROUNDS], alone[ROUNDS], all[ROUNDS],
        bare[ROUNDS], free[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        bare[round] = products(&by);
        for (size_t rank = 0; rank < RANKS; rank++) {
            gs_task_init(by.task, by.replicas + rank * by.replica_count);
        }
        spent single = simulate(&by, 1);
        free[round] = control();
        spent both = simulate(&by, 2);
        one[round] = single.wall_s;
        cpu[round] = single.cpu_s;
        two[round] = both.wall_s;
        two_cpu[round] = both.cpu_s;
        alone[round] = learn(&by, false);
        all[round] = learn(&by, true);
    }
    double one_s = median(one), cpu_s = median(cpu), two_s = median(two), alone_s = median(alone);
    double share = median(all) / cpu_s, over_bare = alone_s / median(bare);
    double speedup = one_s / two_s, possible = median(free);
    printf("{\"bench\": \"gradients\", \"data\": \"%s\", \"hidden\": \"%s\", \"parameters\": %zu, "
           "\"ranks\": %d, \"steps\": %lld, \"batch\": %lld, \"one_thread_s\": %.4f, "
           "\"one_thread_cpu_s\": %.4f, \"two_threads_s\": %.4f, \"two_threads_cpu_s\": %.4f, "
           "\"speedup_ratio\": %.2f, \"two_loops_ratio\": %.2f, "
           "\"gradients_s\": %.4f, \"gradients_share_ratio\": %.3f, "
           "\"gradients_and_updates_share_ratio\": %.3f, \"over_bare_products_ratio\": %.3f, "
           "\"blas\": \"%s\"}\n",
           of->data, of->hidden, by.count, RANKS, (long long)of->steps, (long long)of->batch, one_s,
           cpu_s, two_s, median(two_cpu), speedup, possible, alone_s, alone_s / cpu_s, share,
           over_bare, gs_blas_kernel());
    gs_arena_fini(&by.arena);
    bool scales = possible < 1.9 || speedup >= of->speedup_least;
    bool holds = share >= of->share_least && over_bare <= 3.0 && scales;
    if (!holds) {
        fprintf(stderr,
                "bench_gradients: of %s with batch %lld, gradients and updates are %.3f of the run "
                "(%.2f at least), or gradients %.2f times the bare products (3 at most), or two "
                "threads %.2f times as fast as one (%.2f at least on free cores)\n",
                of->hidden, (long long)of->batch, share, of->share_least, over_bare, speedup,
                of->speedup_least);
    }
    return holds;
}

int main(void)
{
    bool holds = true;
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        holds = run(&loads[i]) && holds;
    }
    return holds ? EXIT_SUCCESS : EXIT_FAILURE;
}
