/* Gradients on threads under ThreadSanitizer: each kind of strategy, so that nothing it may do
 * while a gradient is computed touches what the gradient reads or writes. Prints what failed. */
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/strategies/probes.h"

#include <stdio.h>

enum { RANKS = 6, STEPS = 8, KINDS = 6, THREADS = 4 };

static int failures;

static gs_sim_result run(const gs_strategy *strategy, uint32_t threads)
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
    if (strategy != NULL) {
        small_job_use(&job, strategy, NULL);
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
    const gs_strategy *const strategies[KINDS] = {NULL,
                                                  gs_strategy_find("lb_bsp"),
                                                  &probe_asp,
                                                  &probe_pair,
                                                  &probe_push_sum,
                                                  &probe_two_stage};
    for (int kind = 0; kind < KINDS; kind++) {
        gs_sim_result one = run(strategies[kind], 1);
        gs_sim_result more = run(strategies[kind], THREADS);
        if (more.status != GS_OK || more.result_hash != one.result_hash) {
            failures++;
            (void)printf("strategy %d: %s\n", kind, more.error.text);
        }
    }
    return failures > 0;
}
