/* A whole simulation: 1,000 steps on 64 ranks with noise, message by message; and what it allocates
 * once it runs. */
#include "tests/small_job.h"

#include <stdio.h>
#include <time.h>

int main(void)
{
    small_job_config config = small_job_default();
    config.ranks = 64;
    config.units = 5;
    config.unit_elements = 5111406; /* 102 MB in 5 units */
    config.nic_bps = INT64_C(100000000000);
    config.forward_ns = 30 * GS_NS_PER_MS;
    config.backward_ns = 12 * GS_NS_PER_MS;
    config.steps = 1000;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.network_mode = GS_NETWORK_MESSAGE;
    job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.05};
    gs_record *record = gs_record_create(config.ranks, false);
    clock_t before = clock();
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 1, .record = record});
    double cpu_s = (double)(clock() - before) / CLOCKS_PER_SEC;
    printf(
        "{\"bench\": \"sim\", \"ranks\": 64, \"steps\": %lld, \"status\": \"%s\", \"cpu_s\": %.3f, "
        "\"events\": %llu, \"events_per_s\": %.3e, \"simulated_s\": %.1f, \"simulated_per_cpu\": "
        "%.1f, \"arena_mb\": %.2f}\n",
        (long long)result.steps, gs_status_text(result.status), cpu_s,
        (unsigned long long)result.facts.events, (double)result.facts.events / cpu_s,
        (double)result.facts.end_ns / 1e9, (double)result.facts.end_ns / 1e9 / cpu_s,
        (double)result.memory_bytes / 1e6);
    gs_record_destroy(record);
    small_job_fini(&job);
    return result.status == GS_OK ? 0 : 1;
}
