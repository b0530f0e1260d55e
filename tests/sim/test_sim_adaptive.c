/* The strategy `adaptive` in whole runs: what it comes to where one fixed way is best. */
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <criterion/criterion.h>

static small_job_config learning(gs_time_ns compute_ns)
{
    small_job_config config = small_job_default();
    config.ranks = 8;
    config.learns = true;
    config.forward_ns = compute_ns;
    config.backward_ns = compute_ns;
    config.steps = 100;
    config.nic_bps = 1000000000;
    return config;
}

static gs_sim_result train(const small_job_config *config, const char *name, const char *parameters)
{
    small_job job;
    small_job_init(&job, config, NULL);
    small_job_use(&job, gs_strategy_find(name), parameters);
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 3, .swap_state = true});
    cr_assert_eq(result.status, GS_OK, "%s: %s", name, result.error.text);
    small_job_fini(&job);
    return result;
}

/* 1 MiB takes 2 * 7/8 * 8.4 ms = 14.7 ms, which 4 passes of 30 ms, the forward one and those of the
 * units, hide but for the last unit's 3.7 ms: 3 % of a step, under the margin. */
Test(sim_adaptive, where_averages_hide_it_is_allreduce_to_the_bit)
{
    small_job_config config = learning(30 * GS_NS_PER_MS);
    gs_sim_result plain = train(&config, "allreduce", NULL);
    gs_sim_result adaptive = train(&config, "adaptive", NULL);
    cr_assert_eq(adaptive.weights_hash, plain.weights_hash);
    /* Agreements are all that it does more: three of them, every eighth step. */
    cr_assert_lt((double)adaptive.facts.end_ns, 1.01 * (double)plain.facts.end_ns);
}

/* An average takes 14.7 ms and a step 1.1: eight times as long as all-reduce is what the best
 * period saves. */
Test(sim_adaptive, where_averages_are_dear_it_is_as_fast_as_local_sgd_with_the_best_of_periods)
{
    small_job_config config = learning(200 * GS_NS_PER_US);
    static const char *const periods[] = {"period=4", "period=16", "period=64"};
    gs_time_ns best_ns = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        gs_time_ns end_ns = train(&config, "local_sgd", periods[i]).facts.end_ns;
        best_ns = end_ns < best_ns ? end_ns : best_ns;
    }
    gs_time_ns plain_ns = train(&config, "allreduce", NULL).facts.end_ns;
    gs_time_ns adaptive_ns = train(&config, "adaptive", NULL).facts.end_ns;
    cr_assert_lt((double)adaptive_ns, 0.2 * (double)plain_ns);
    /* A step of warm-up and the one that decides on it are two averages more, 2 * 14.9 ms with 14
     * latencies; and 14 decisions, each of 3 rounds of notes, 30 us, with two dots. */
    cr_assert_lt(adaptive_ns, best_ns + 31 * GS_NS_PER_MS);
}

Test(sim_adaptive, ties_and_late_completions_leave_ranks_agreed)
{
    small_job job;
    small_job_config config = learning(200 * GS_NS_PER_US);
    config.ranks_per_node = 4;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        small_job_init(&job, &config, NULL);
        small_job_use(&job, gs_strategy_find("adaptive"), NULL);
        gs_sim_result result = small_job_run(&(gs_sim_config){.scenario = &job.scenario,
                                                              .strategy = &job.choice,
                                                              .seed = seed,
                                                              .shuffle_ties = true,
                                                              .late_ns = 50 * GS_NS_PER_US,
                                                              .swap_state = true});
        cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
        small_job_fini(&job);
    }
}
