/* All-reduces of a live run by our own ring against those of the MPI itself, in one run of
 * processes that mpirun starts: mpirun -n 4 bench_live_allreduce [PROGRAM [CHUNK_BYTES]]
 *
 * PROGRAM is one of strategies/collectives, ring if none is said. One line of JSON for each size:
 * medians over steps of the time that the op of rank 0 was under way after its last member had
 * come, and their ratio; and the same of the eighth that was fastest, which other work on the
 * machine disturbs less. Chunks are as in live.chunk. */
#include "live/crew.h"
#include "live/live.h"
#include "strategies/collective.h"
#include "tests/small_job.h"
#include "tools/launcher.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 8, TURNS = 5, SAMPLES_MAX = STEPS * TURNS };

typedef struct times {
    gs_time_ns ns[SAMPLES_MAX];
    uint32_t count;
} times;

static int compare(const void *left, const void *right)
{
    gs_time_ns a = *(const gs_time_ns *)left, b = *(const gs_time_ns *)right;
    return (a > b) - (a < b);
}

/* Of 1/part of them all are faster. */
static double quantile_ms(times *of, uint32_t part)
{
    qsort(of->ns, of->count, sizeof *of->ns, compare);
    return of->count == 0 ? 0.0 : (double)of->ns[of->count / part] / (double)GS_NS_PER_MS;
}

/* The first step warms up. */
static void take_times(const gs_record *rows, times *out)
{
    for (int64_t i = 0; i < gs_record_step_count(rows); i++) {
        gs_step_row row = gs_record_step_at(rows, i);
        if (row.rank == 0 && row.step > 0 && out->count < SAMPLES_MAX) {
            out->ns[out->count++] = row.comm_ns;
        }
    }
}

static gs_status run(const gs_live_config *like, bool native, times *out, gs_error *err)
{
    gs_live_config config = *like;
    gs_live_result result = {.status = GS_ENOMEM};
    config.native = native;
    config.rows = gs_record_create(config.job->ranks, true);
    gs_live *live = config.rows == NULL ? NULL : gs_live_create(&config, err);
    if (live != NULL) {
        gs_live_run(live);
        gs_live_result_get(live, &result);
        *err = result.error;
        take_times(config.rows, out);
    }
    gs_live_destroy(live);
    gs_record_destroy(config.rows);
    return result.status;
}

/* A perceptron of about so many floats, whose gradient is reduced whole. */
static gs_status measure(gs_crew *crew, const gs_collective *program, int64_t floats,
                         size_t chunk_bytes, gs_error *err)
{
    small_job made;
    gs_job job;
    gs_task *task;
    char hidden[32];
    small_job_config shape = small_job_default();
    shape.ranks = gs_crew_size(crew);
    shape.learns = true;
    shape.units = 1;
    shape.steps = STEPS;
    small_job_init(&made, &shape, "bucket=1000MB,first_bucket=1000MB,overlap=false");
    small_job_choose(&made, program);
    gs_task_config *model = &made.scenario.workload.task;
    (void)snprintf(hidden, sizeof hidden, "%lld", (long long)(floats / 75)); /* 64 + 1 + 10 */
    GS_TRY(
        gs_config_set_text(model->model->config_table, model->model_config, "hidden", hidden, err));
    GS_TRY(gs_scenario_job(&made.scenario, &made.arena, &job, err));
    gs_task_setup setup = {
        .data_dir = made.scenario.data_dir, .ranks = job.ranks, .seed = job.seed};
    GS_TRY(gs_task_create(model, &setup, &made.arena, &task, err));
    int64_t elements = (int64_t)gs_task_parameter_count(task);
    job.elements = elements;
    job.unit_elements = &elements;
    gs_live_config config = gs_live_config_default();
    config.strategy = &made.choice;
    config.job = &job;
    config.task = task;
    config.batch_per_rank = made.scenario.workload.batch_per_rank;
    config.budget_steps = STEPS;
    config.transport = "mpi";
    config.crew = crew;
    config.scenario = &made.scenario;
    config.deadline_ns = 60 * GS_NS_PER_S;
    times own = {.count = 0}, native = {.count = 0};
    for (int turn = 0; turn < TURNS; turn++) {
        GS_TRY(run(&config, false, &own, err));
        GS_TRY(run(&config, true, &native, err));
    }
    if (gs_crew_self(crew) == 0) {
        double own_ms = quantile_ms(&own, 2), native_ms = quantile_ms(&native, 2);
        (void)printf("{\"bench\": \"live_allreduce\", \"program\": \"%s\", \"ranks\": %u, "
                     "\"bytes\": %lld, \"chunk\": %zu, \"own_ms\": %.3f, \"native_ms\": %.3f, "
                     "\"ratio\": %.2f, \"fast_ratio\": %.2f}\n",
                     program->name, job.ranks, (long long)elements * 4, chunk_bytes, own_ms,
                     native_ms, own_ms / native_ms, quantile_ms(&own, 8) / quantile_ms(&native, 8));
        (void)fflush(stdout);
    }
    small_job_fini(&made);
    return GS_OK;
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = {1 << 18, 1 << 20, 1 << 22}; /* floats: 1, 4 and 16 MiB */
    gs_error err = {.text = ""};
    gs_launch launch;
    gs_crew *crew = NULL;
    const gs_collective *program = gs_collective_find(argc > 1 ? argv[1] : "ring");
    if (gs_launch_find(&launch, &err) != GS_OK || launch.ranks < 2 || program == NULL) {
        (void)fprintf(stderr,
                      "start several processes, of a program that is there: mpirun -n 4 %s "
                      "ring\n",
                      argv[0]);
        return 2;
    }
    const gs_live_settings settings = gs_live_settings_default();
    gs_crew_config config = {.carried = {.chunk_bytes = argc > 2 ? strtoull(argv[2], NULL, 10)
                                                                 : (size_t)settings.chunk_bytes,
                                         .poll_ns = settings.poll_ns,
                                         .deadline_ns = 60 * GS_NS_PER_S,
                                         .processes = launch.ranks,
                                         .process = launch.rank,
                                         .local_process = launch.local_rank}};
    gs_status status = gs_carrier_find("mpi", &config.carrier, &err);
    status = status == GS_OK ? gs_crew_open(&config, &crew, &err) : status;
    for (size_t i = 0; status == GS_OK && i < sizeof sizes / sizeof *sizes; i++) {
        status = measure(crew, program, sizes[i], config.carried.chunk_bytes, &err);
    }
    if (status != GS_OK) {
        (void)fprintf(stderr, "process %u: %s\n", launch.rank, err.text);
    }
    gs_crew_close(crew);
    return status == GS_OK ? 0 : 1;
}
