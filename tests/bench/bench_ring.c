/* Message ring of 100 MB over 8 to 4,096 ranks, in lockstep and with skewed starts: events,
 * seconds, memory. */
#include "tests/small_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static void ring(uint32_t ranks, gs_time_ns skew_ns)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.nic_bps = INT64_C(100000000000);
    config.nic_latency_ns = 5 * GS_NS_PER_US;
    config.units = 1;
    config.unit_elements = 25000000;
    config.skew_ns = skew_ns;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.network_mode = GS_NETWORK_MESSAGE;
    clock_t before = clock();
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1});
    double cpu_s = (double)(clock() - before) / CLOCKS_PER_SEC;
    double messages = 2.0 * (ranks - 1.0) * ranks;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf(
        "{\"bench\": \"ring\", \"ranks\": %u, \"bytes\": 100000000, \"start\": \"%s\", "
        "\"status\": \"%s\", \"simulated_ms\": %.4f, \"cpu_s\": %.4f, \"messages\": %.0f, "
        "\"messages_per_s\": %.3e, \"events\": %llu, \"arena_mb\": %.2f, \"peak_rss_mb\": %.1f}\n",
        ranks, skew_ns > 0 ? "skewed" : "lockstep", gs_status_text(result.status),
        (double)result.facts.end_ns / 1e6, cpu_s, messages, messages / cpu_s,
        (unsigned long long)result.facts.events, (double)result.memory_bytes / 1e6,
        (double)usage.ru_maxrss / 1024.0);
    if (result.status != GS_OK) {
        printf("%s\n", result.error.text);
        exit(1);
    }
    fflush(stdout);
    small_job_fini(&job);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {8, 64, 512, 4096};
    uint32_t largest = argc > 1 ? (uint32_t)atoi(argv[1]) : 4096;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest; i++) {
        ring(sizes[i], 0);
        ring(sizes[i], 10 * GS_NS_PER_MS);
    }
    return 0;
}
