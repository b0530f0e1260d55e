/* Samples shared out by speed: the time of a step, and that it learns what synchronous SGD learns.
 */
#include "live/live.h"
#include "sim/replay.h"
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/strategies/probes.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { SLOW = 3 };

static small_job job;
static gs_arena arena;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
    small_job_fini(&job);
}

TestSuite(sim_lb_bsp, .init = setup, .fini = teardown, .timeout = 120);

/* 20 ms a pass; the network takes microseconds. */
static void make(uint32_t ranks, double slowness, bool learns)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.nic_bps = INT64_C(8000000000000);
    config.nic_latency_ns = 1000;
    config.units = 2;
    config.forward_ns = 10 * GS_NS_PER_MS;
    config.backward_ns = 5 * GS_NS_PER_MS;
    config.steps = 12;
    config.learns = learns;
    small_job_init(&job, &config, NULL);
    job.scenario.noise.straggler =
        (gs_straggler){.kind = GS_STRAGGLER_PERSISTENT, .rank = SLOW, .factor = slowness};
}

static void choose(const char *name, const char *parameters)
{
    small_job_use(&job, gs_strategy_find(name), parameters);
}

static gs_sim *run(gs_sim_config config)
{
    config.scenario = &job.scenario;
    config.strategy = &job.choice;
    config.seed = 3;
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    return sim;
}

/* Mean duration of step 10 over the time of a pass at full speed. */
static double late_step(void)
{
    gs_record *record = gs_record_create(job.scenario.ranks, false);
    gs_sim_destroy(run((gs_sim_config){.record = record}));
    double step = gs_record_mean_ns(record, 10) / (20.0 * (double)GS_NS_PER_MS);
    gs_record_destroy(record);
    return step;
}

/* 8 ranks, one 1.25 times as slow: waiting for it costs 1.25. Shared out, the time is that of the
 * mean speed, 8 / (7 + 1 / 1.25) = 1.0256, up to one sample of 32: 33 / 32. */
Test(sim_lb_bsp, a_step_takes_the_time_of_the_mean_speed)
{
    make(8, 1.25, false);
    job.scenario.workload.batch_per_rank = 32;
    choose("allreduce", NULL);
    cr_expect_float_eq(late_step(), 1.25, 0.002);
    choose("lb_bsp", NULL);
    double shared = late_step();
    cr_expect_gt(shared, 8.0 / 7.8);
    cr_expect_lt(shared, 33.0 / 32.0 + 0.002);
}

/* With half of each pass fixed the equal time is (8 - 7 / 2 - 1 / 2 ...) the same 1.0256: fast
 * ranks take x, the slow one y of their batch, 1/2 + x/2 = 1.25 (1/2 + y/2) and 7 x + y = 8. One
 * sample of 32 is 1/64 now; found although the first guess, by one time each, takes nothing as
 * fixed. */
Test(sim_lb_bsp, what_a_pass_costs_without_samples_is_found_out)
{
    make(8, 1.25, false);
    job.scenario.workload.batch_per_rank = 32;
    job.scenario.workload.fixed_share = 0.5;
    choose("lb_bsp", NULL);
    double shared = late_step();
    cr_expect_gt(shared, 8.0 / 7.8 - 1e-9);
    cr_expect_lt(shared, 8.0 / 7.8 + 1.0 / 64.0 + 0.002);
}

Test(sim_lb_bsp, equal_ranks_keep_their_batch)
{
    make(4, 1.0, false);
    choose("lb_bsp", NULL);
    cr_expect_float_eq(late_step(), 1.0, 0.002);
}

/* ---------------------------------------------------------------- what is learned */

/* Plain SGD over all samples of each step at once. */
static const float *learn_alone(size_t *out_count)
{
    const gs_workload *workload = &job.scenario.workload;
    int64_t batch = workload->batch_per_rank * job.scenario.ranks;
    gs_task_setup of = {.data_dir = job.scenario.data_dir, .ranks = job.scenario.ranks, .seed = 3};
    gs_task *task;
    gs_task_workspace *workspace;
    gs_error err;
    cr_assert_eq(gs_task_create(&workload->task, &of, &arena, &task, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_task_workspace_create(task, batch, &arena, &workspace, &err), GS_OK);
    *out_count = gs_task_parameter_count(task);
    float *model = GS_TAKE(&arena, float, *out_count);
    float *gradient = GS_TAKE(&arena, float, *out_count);
    float *state = GS_TAKE(&arena, float, gs_task_state_floats(task));
    gs_task_init(task, model);
    for (int64_t step = 0; step < workload->budget_steps; step++) {
        double loss;
        gs_task_request all = {.first_sample = step * batch, .sample_count = batch};
        cr_assert_eq(gs_task_gradient(workspace, &all, model, gradient, &loss, &err), GS_OK);
        gs_optimizer_update update = {.parameters = model,
                                      .gradient = gradient,
                                      .state = state,
                                      .count = *out_count,
                                      .rate_scale = 1.0,
                                      .updates = step};
        cr_assert(gs_task_apply(task, &update));
    }
    return model;
}

static void expect_what_one_learns(const char *parameters)
{
    choose("lb_bsp", parameters);
    size_t count;
    const float *expected = learn_alone(&count);
    gs_record *record = gs_record_create(job.scenario.ranks, false);
    gs_sim *sim = run((gs_sim_config){.record = record, .threads = 2, .threads_always = true});
    for (uint32_t rank = 0; rank < job.scenario.ranks; rank++) {
        size_t found;
        const float *weights = gs_sim_weights(sim, rank, &found);
        cr_assert_eq(found, count);
        for (size_t i = 0; i < count; i++) {
            cr_assert(fabsf(weights[i] - expected[i]) < 1e-6F, "rank %u, element %zu: %g, not %g",
                      rank, i, (double)weights[i], (double)expected[i]);
        }
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_expect_gt(result.facts.fidelity_steps, 0);
    cr_expect_float_eq(result.facts.fidelity_cosine, 1.0, 1e-6);
    gs_sim_destroy(sim);
    gs_record_destroy(record);
}

/* A step's samples are the same whoever takes them, and count the same: only rounding differs. */
Test(sim_lb_bsp, the_mean_is_that_of_one_rank_with_all_samples)
{
    make(5, 1.7, true);
    expect_what_one_learns(NULL);
}

/* 100 times as slow: in the time of 10 samples of others it does none. */
Test(sim_lb_bsp, a_dummy_leaves_the_mean_untouched)
{
    make(5, 100.0, true);
    expect_what_one_learns("least=0");
    choose("lb_bsp", "least=0");
    job.scenario.workload.real_gradients = false;
    double shared = late_step();
    cr_expect_float_eq(shared, 10.0 / 8.0, 0.002); /* 40 samples on 4 ranks; the dummy waits */
}

/* ---------------------------------------------------------------- in any host */

Test(sim_lb_bsp, order_and_late_completions_change_no_bit)
{
    make(5, 1.7, true);
    choose("lb_bsp", NULL);
    uint64_t first = 0;
    for (uint64_t order = 0; order < 8; order++) {
        gs_sim *sim = run((gs_sim_config){.shuffle_ties = order > 0,
                                          .late_ns = (gs_time_ns)(order / 2) * GS_NS_PER_MS,
                                          .swap_state = order % 2 == 1});
        gs_sim_result result;
        gs_sim_result_get(sim, &result);
        first = order == 0 ? result.weights_hash : first;
        cr_expect_eq(result.weights_hash, first, "order %llu", (unsigned long long)order);
        gs_sim_destroy(sim);
    }
}

/* Real times are noise, so shares move from step to step, and ranks run a step ahead of others. */
Test(sim_lb_bsp, threads_run_it_and_a_replay_finds_the_same_weights)
{
    make(1, 1.0, false);
    probe_job made;
    probe_job_init(&made, 4);
    for (int mode = 0; mode < 2 * GS_DELAY_COUNT; mode++) {
        gs_live_config config = gs_live_config_default();
        config.strategy = probe_choose(&made, gs_strategy_find("lb_bsp"));
        config.job = &made.job;
        config.task = made.task;
        config.batch_per_rank = PROBE_BATCH;
        config.budget_steps = 10;
        config.delay = (gs_delay)(mode / 2);
        config.delay_ns = 50 * GS_NS_PER_US;
        config.rendezvous = mode % 2 == 1;
        config.swap_state = true;
        config.record = true;
        gs_error err;
        gs_live *live = gs_live_create(&config, &err);
        cr_assert(live != NULL, "%s", err.text);
        gs_live_run(live);
        gs_live_result result;
        gs_live_result_get(live, &result);
        cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
        gs_replay_result again;
        gs_replay_config replay = {.recording = gs_live_recording(live),
                                   .strategy = config.strategy,
                                   .job = &made.job,
                                   .task = made.task};
        cr_expect_eq(gs_replay_run(&replay, &again, &err), GS_OK, "%s", err.text);
        gs_live_destroy(live);
    }
    probe_job_fini(&made);
}
