/* Prints one line of hashes a scenario, for tools/check_determinism.sh: every noise law and every
 * straggler in timing-only runs, and a run that really learns. Equal code gives equal lines,
 * whatever compiler built it. */
#include "tests/small_job.h"

#include <inttypes.h>
#include <stdio.h>

static const double samples[] = {0.8, 0.9, 0.95, 1.05, 1.3};

/* An input stage is left out: its laws are the same, drawn by the same code. */
static const gs_noise_law laws[] = {
    {.law = GS_LAW_NONE},
    {.law = GS_LAW_LOGNORMAL, .cv = 0.237},
    {.law = GS_LAW_GAMMA, .cv = 0.413},
    {.law = GS_LAW_SHIFTED_EXPONENTIAL, .cv = 0.35, .shift = 0.65},
    {.law = GS_LAW_PARETO, .cv = 0.71},
    {.law = GS_LAW_WEIBULL, .cv = 0.53},
    {.law = GS_LAW_EMPIRICAL, .samples = samples, .sample_count = sizeof samples / sizeof *samples},
};

static const gs_straggler stragglers[] = {
    {.kind = GS_STRAGGLER_NONE},
    {.kind = GS_STRAGGLER_PERSISTENT, .rank = 2, .factor = 1.37},
    {.kind = GS_STRAGGLER_DRIFT, .rank = 1, .factor = 1.11, .drift_per_hour = 977.0},
    {.kind = GS_STRAGGLER_MARKOV,
     .rank = -1,
     .factor = 1.7,
     .mean_up_ns = 9 * GS_NS_PER_MS,
     .mean_down_ns = 4 * GS_NS_PER_MS},
    {.kind = GS_STRAGGLER_THROTTLE,
     .rank = 3,
     .factor = 1.6,
     .heat_ns = 11 * GS_NS_PER_MS,
     .cool_ns = 7 * GS_NS_PER_MS,
     .hot = 0.61,
     .cool = 0.47},
};

static int run(const char *name, size_t index, const small_job_config *config,
               const gs_noise *noise)
{
    small_job job;
    small_job_init(&job, config, "bucket=tensor");
    job.scenario.noise = *noise;
    gs_record *record = gs_record_create(config->ranks, true);
    gs_sim_result result = small_job_run(&(gs_sim_config){.scenario = &job.scenario,
                                                          .strategy = &job.choice,
                                                          .seed = UINT64_C(0x9e3779b97f4a7c15),
                                                          .record = record});
    gs_record_destroy(record);
    small_job_fini(&job);
    printf("%s %zu %016" PRIx64 " %016" PRIx64 " %" PRId64 "\n", name, index, result.result_hash,
           result.weights_hash, result.facts.end_ns);
    if (result.status != GS_OK) {
        fprintf(stderr, "%s %zu: %s\n", name, index, result.error.text);
        return 1;
    }
    return 0;
}

int main(void)
{
    small_job_config config = small_job_default();
    config.ranks = 6;
    config.ranks_per_node = 2;
    config.forward_ns = 731 * GS_NS_PER_US;
    config.backward_ns = 389 * GS_NS_PER_US;
    config.optimizer_ns = 97 * GS_NS_PER_US;
    config.steps = 12;
    int failed = 0;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        gs_noise noise = {.compute = laws[i], .latency = laws[i]};
        failed |= run("law", i, &config, &noise);
    }
    for (size_t i = 1; i < sizeof stragglers / sizeof *stragglers; i++) {
        gs_noise noise = {.compute = laws[1], .straggler = stragglers[i]};
        failed |= run("straggler", i, &config, &noise);
    }
    config.learns = true;
    failed |= run("learns", 0, &config, &(gs_noise){.compute = laws[1], .latency = laws[2]});
    return failed;
}
