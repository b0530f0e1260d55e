/* Three processes over TCP, of which two train, so that a thread computes beside the one that moves
 * the network, under ThreadSanitizer, which Criterion cannot run under: strategies that wait and
 * that do not, training and spinning. Prints what failed. */
#include "live/crew.h"
#include "live/live.h"
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RANKS = 2,
    PROCESSES = RANKS + 1,
    STEPS = 4,
    PORT_FIRST = 12000,
    PORTS = 2000,
    PORTS_TRIED = 8
};

static int fail(const char *what, const char *text)
{
    (void)fprintf(stderr, "%s: %s\n", what, text);
    return 1;
}

static int run(gs_crew *crew, const char *strategy, gs_live_compute compute)
{
    small_job made;
    gs_job job;
    gs_task *task;
    gs_error err = {.text = ""};
    small_job_config shape = small_job_default();
    shape.ranks = RANKS;
    shape.steps = STEPS;
    shape.learns = true;
    shape.servers = 1;
    shape.forward_ns = shape.backward_ns = GS_NS_PER_MS;
    small_job_init(&made, &shape, NULL);
    const gs_strategy *used = gs_strategy_find(strategy);
    small_job_use(&made, used, small_job_short(used));
    gs_task_setup setup = {.data_dir = made.scenario.data_dir, .ranks = RANKS, .seed = 1};
    if (gs_scenario_job(&made.scenario, &made.arena, &job, &err) != GS_OK ||
        gs_task_create(&made.scenario.workload.task, &setup, &made.arena, &task, &err) != GS_OK) {
        return fail(strategy, err.text);
    }
    gs_live_config config = gs_live_config_default();
    config.strategy = &made.choice;
    config.job = &job;
    config.task = task;
    config.batch_per_rank = made.scenario.workload.batch_per_rank;
    config.budget_steps = STEPS;
    config.transport = "tcp";
    config.crew = crew;
    config.compute = compute;
    config.scenario = &made.scenario;
    config.record = true;
    config.deadline_ns = 60 * GS_NS_PER_S;
    gs_live *live = gs_live_create(&config, &err);
    int code = live == NULL ? fail(strategy, err.text) : 0;
    if (live != NULL) {
        gs_live_result result;
        gs_live_run(live);
        gs_live_result_get(live, &result);
        code = result.status == GS_OK ? 0 : fail(strategy, result.error.text);
    }
    gs_live_destroy(live);
    small_job_fini(&made);
    return code;
}

static int run_process(uint32_t process)
{
    static const char *const strategies[] = {"allreduce", "local_sgd", "ad_psgd", "backup"};
    char address[32];
    gs_crew *crew;
    gs_error err;
    /* The carrier takes the first free port of eight. */
    (void)snprintf(address, sizeof address, "127.0.0.1:%d",
                   PORT_FIRST + (int)(getppid() % PORTS) * PORTS_TRIED);
    gs_crew_config config = {.carried = {.chunk_bytes = 65000,
                                         .poll_ns = 50 * GS_NS_PER_US,
                                         .deadline_ns = 60 * GS_NS_PER_S,
                                         .processes = PROCESSES,
                                         .process = process,
                                         .local_process = process,
                                         .address = address}};
    if (gs_carrier_find("tcp", &config.carrier, &err) != GS_OK ||
        gs_crew_open(&config, &crew, &err) != GS_OK) {
        return fail("crew", err.text);
    }
    int code = 0;
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        code |= run(crew, strategies[i], GS_COMPUTE_TRAIN);
        code |= run(crew, strategies[i], GS_COMPUTE_SPIN);
    }
    gs_crew_close(crew);
    return code;
}

int main(void)
{
    int failures = 0;
    pid_t pids[PROCESSES];
    for (uint32_t i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            exit(run_process(i)); /* not _exit: sanitizers end with what they have found */
        }
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        int status = 0;
        bool ended = pids[i] > 0 && waitpid(pids[i], &status, 0) == pids[i];
        failures += !ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    return failures > 0;
}
