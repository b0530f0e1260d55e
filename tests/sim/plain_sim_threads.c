/* Gradients on threads under ThreadSanitizer: each kind of strategy, so that nothing it may do
 * while a gradient is computed touches what the gradient reads or writes. Prints what failed. */
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/strategies/probes.h"

#include <stdio.h>

enum { RANKS = 6, STEPS = 8, KINDS = 8, THREADS = 4 };

typedef struct kind {
    const gs_strategy *strategy; /* NULL: all-reduce, of a model large enough to share a sum out */
    const char *text;
} kind;

static int failures;

static gs_sim_result run(const kind *of, uint32_t threads)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.learns = true;
    config.servers = 1;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.skew_ns = GS_NS_PER_MS;
    config.steps = STEPS;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.3};
    gs_task_config *task = &job.scenario.workload.task;
    gs_error err;
    if (of->strategy != NULL) {
        small_job_use(&job, of->strategy, of->text);
    } else if (gs_config_set_text(task->model->config_table, task->model_config, "hidden", "320",
                                  &err) != GS_OK) {
        failures++;
    }
    gs_record *record = gs_record_create(RANKS, false);
    gs_sim_result result = small_job_run(&(gs_sim_config){.scenario = &job.scenario,
                                                          .strategy = &job.choice,
                                                          .seed = 3,
                                                          .record = record,
                                                          .threads = threads,
                                                          .threads_always = true});
    gs_record_destroy(record);
    small_job_fini(&job);
    return result;
}

int main(void)
{
    const kind kinds[KINDS] = {{NULL, NULL},
                               {gs_strategy_find("lb_bsp"), NULL},
                               {gs_strategy_find("overlap_local_sgd"), "period=2"},
                               {&probe_asp, NULL},
                               {&probe_pair, NULL},
                               {&probe_push_sum, NULL},
                               {&probe_two_stage, NULL},
                               {&probe_signals, NULL}};
    for (int i = 0; i < KINDS; i++) {
        gs_sim_result one = run(&kinds[i], 1);
        gs_sim_result more = run(&kinds[i], THREADS);
        if (more.status != GS_OK || more.result_hash != one.result_hash) {
            failures++;
            (void)printf("strategy %d: %s\n", i, more.error.text);
        }
    }
    return failures > 0;
}
