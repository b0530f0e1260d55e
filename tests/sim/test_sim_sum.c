/* Sums that are formed at once have the bits of those whose parts travel: whatever the algorithm,
 * the precision and the number of ranks and threads, and the clock does not see which it was. */
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <criterion/criterion.h>
#include <stdio.h>

static small_job job;
static uint32_t ranks_per_node; /* 0: a switch */

static void make(const char *strategy_text, uint32_t ranks, gs_number number)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.ranks_per_node = ranks_per_node;
    config.learns = true;
    config.unit_elements = 997; /* neither ranks nor the model's parameters divide it */
    config.forward_ns = 30 * GS_NS_PER_US;
    config.backward_ns = 20 * GS_NS_PER_US;
    config.skew_ns = 100 * GS_NS_PER_US;
    config.steps = 8;
    small_job_init(&job, &config, strategy_text);
    job.scenario.workload.number = number;
    job.scenario.workload.element_bytes = number == GS_FP32 ? 4 : 2;
}

static gs_sim_result run(gs_sim_config config)
{
    config.scenario = &job.scenario;
    config.strategy = &job.choice;
    config.seed = 3;
    gs_sim_result result = small_job_run(&config);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    return result;
}

static void compare(const char *what)
{
    gs_sim_result parts = run((gs_sim_config){.parts_always = true});
    const gs_sim_config at_once[] = {
        {.threads = 1}, {.threads = 3, .threads_always = true}, {.share_always = true}};
    for (size_t i = 0; i < sizeof at_once / sizeof *at_once; i++) {
        gs_sim_result sum = run(at_once[i]);
        cr_expect_eq(sum.weights_hash, parts.weights_hash, "%s, case %zu", what, i);
        cr_expect_eq(sum.facts.end_ns, parts.facts.end_ns, "%s, case %zu", what, i);
        cr_expect_eq(sum.facts.nic_bytes_sent, parts.facts.nic_bytes_sent);
        cr_expect_eq(sum.facts.staleness_mean, parts.facts.staleness_mean);
        cr_expect_eq(sum.facts.applied_gradients, parts.facts.applied_gradients);
    }
}

Test(sim_sum, of_gradients_has_the_bits_of_parts_that_travel, .timeout = 120)
{
    static const gs_number numbers[] = {GS_FP32, GS_FP16, GS_BF16};
    static const uint32_t ranks[] = {2, 3, 8};
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        const gs_collective *algorithm = gs_collective_at(i);
        for (size_t n = 0; n < 9 && algorithm->kind == GS_ALL_REDUCE; n++) {
            char text[64];
            snprintf(text, sizeof text, "algorithm=%s,bucket=tensor", algorithm->name);
            make(text, ranks[n / 3], numbers[n % 3]);
            compare(text);
            small_job_fini(&job);
        }
    }
}

/* Of weights, and with half of the ranks: groups have a sum each. */
Test(sim_sum, of_groups_has_the_bits_of_parts_that_travel, .timeout = 120)
{
    static const char *const strategies[] = {"local_sgd", "hier_avg"};
    static const char *const texts[] = {"period=2", "inside=2,between=4"};
    ranks_per_node = 2;
    for (size_t i = 0; i < 2; i++) {
        make(NULL, 4, GS_BF16);
        small_job_use(&job, gs_strategy_find(strategies[i]), texts[i]);
        compare(strategies[i]);
        small_job_fini(&job);
    }
}

/* Parts that travel are copies: of 8 ranks up to as many floats as the model has. */
Test(sim_sum, takes_less_memory_than_parts_that_travel)
{
    make(NULL, 8, GS_FP32);
    size_t at_once = run((gs_sim_config){.threads = 1}).memory_bytes;
    size_t parts = run((gs_sim_config){.parts_always = true}).memory_bytes;
    cr_assert_lt(at_once, parts);
    small_job_fini(&job);
}

/* Large enough to be cut into shares, which threads take in any order. */
Test(sim_sum, of_a_large_model_is_the_same_on_any_number_of_threads, .timeout = 120)
{
    make(NULL, 8, GS_FP32);
    gs_error err;
    gs_task_config *task = &job.scenario.workload.task;
    cr_assert_eq(
        gs_config_set_text(task->model->config_table, task->model_config, "hidden", "256", &err),
        GS_OK);
    uint64_t parts = run((gs_sim_config){.parts_always = true}).weights_hash;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        gs_sim_config config = {.threads = threads, .threads_always = true};
        cr_expect_eq(run(config).weights_hash, parts, "%u threads", threads);
    }
    small_job_fini(&job);
}
