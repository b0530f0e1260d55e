/* A timeline of 10 steps on 64 ranks, simulated and written as a trace that opens in Perfetto. */
#include "tests/small_job.h"
#include "traces/export_chrome.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void)
{
    small_job_config config = small_job_default();
    config.ranks = 64;
    config.ranks_per_node = 8;
    config.units = 161;
    config.unit_elements = 158746; /* 102 MB, as ResNet-50 */
    config.nic_bps = INT64_C(100000000000);
    config.forward_ns = 30 * GS_NS_PER_MS;
    config.backward_ns = 400 * GS_NS_PER_US;
    config.steps = 10;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.05};
    double before = seconds();
    gs_timeline *timeline = gs_timeline_create(0, 9);
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 1, .timeline = timeline});
    double simulated = seconds();
    char *text = NULL;
    size_t bytes = 0;
    gs_error err;
    FILE *out = open_memstream(&text, &bytes);
    gs_chrome_facts facts = {.scenario = "bench", .strategy = "allreduce", .seed = 1};
    gs_status status = gs_export_chrome(timeline, &facts, out, &err);
    fclose(out);
    double written = seconds();
    printf("{\"bench\": \"timeline\", \"ranks\": 64, \"steps\": 10, \"status\": \"%s\", "
           "\"simulate_s\": %.3f, \"write_s\": %.3f, \"spans\": %lld, \"ops\": %lld, "
           "\"messages\": %lld, \"bytes\": %zu}\n",
           gs_status_text(result.status), simulated - before, written - simulated,
           (long long)timeline->span_count, (long long)timeline->op_count,
           (long long)timeline->message_count, bytes);
    free(text);
    gs_timeline_destroy(timeline);
    small_job_fini(&job);
    return status == GS_OK && result.status == GS_OK ? 0 : 1;
}
