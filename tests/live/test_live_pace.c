/* Durations that a live run replays, against those that the simulator plays: to the ns. */
#include "live/live_pace.h"

#include "sim/sim.h"
#include "tests/small_job.h"

#include <criterion/criterion.h>

#include <string.h>

enum { RANKS = 3, STEPS = 12 };

static small_job made;

/* optimizer_ns: of the profile's update; it takes part in the rows where it is not 0. */
static void prepare_with(gs_time_ns optimizer_ns)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.steps = STEPS;
    config.forward_ns = 3 * GS_NS_PER_MS;
    config.backward_ns = 700 * GS_NS_PER_US;
    config.skew_ns = GS_NS_PER_MS;
    config.optimizer_ns = optimizer_ns;
    small_job_init(&made, &config, NULL);
    made.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.3};
}

static void prepare(void)
{
    prepare_with(0);
}

/* Each rank's steps, one after the other, begun when those of the simulation began. */
static void expect_same_steps(uint32_t micro_steps)
{
    gs_record *record = gs_record_create(RANKS, true);
    gs_sim_config config = {
        .scenario = &made.scenario, .strategy = &made.choice, .seed = 1, .record = record};
    gs_sim_result result = small_job_run(&config);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    gs_error err;
    gs_job job;
    gs_live_pace *paces[RANKS];
    cr_assert_eq(gs_scenario_job(&made.scenario, &made.arena, &job, &err), GS_OK);
    job.seed = 1;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        cr_assert_eq(
            gs_live_pace_create(&made.scenario, &job, rank, &made.arena, &paces[rank], &err), GS_OK,
            "%s", err.text);
    }
    cr_assert_eq(gs_record_step_count(record), RANKS * STEPS);
    gs_plan plan = {.go = true, .micro_steps = micro_steps};
    for (int64_t i = 0; i < RANKS * STEPS; i++) {
        gs_step_row row = gs_record_step_at(record, i);
        gs_paced_step step = gs_live_pace_step(paces[row.rank], row.step, &plan, row.start_ns);
        cr_expect_eq(step.compute_ns, row.compute_ns, "rank %d, step %lld: %lld, simulated %lld",
                     row.rank, (long long)row.step, (long long)step.compute_ns,
                     (long long)row.compute_ns);
        cr_expect_eq(step.input_ns, row.input_ns);
    }
    gs_record_destroy(record);
    small_job_fini(&made);
}

Test(live_pace, noise_draws_what_the_simulator_draws)
{
    prepare();
    expect_same_steps(1);
}

Test(live_pace, a_straggler_is_as_slow_as_in_the_simulator)
{
    static const int kinds[] = {GS_STRAGGLER_PERSISTENT, GS_STRAGGLER_DRIFT, GS_STRAGGLER_MARKOV,
                                GS_STRAGGLER_THROTTLE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        prepare();
        made.scenario.noise.straggler = (gs_straggler){.kind = kinds[i],
                                                       .rank = 1,
                                                       .factor = 1.5,
                                                       .drift_per_hour = 900.0,
                                                       .mean_up_ns = 20 * GS_NS_PER_MS,
                                                       .mean_down_ns = 20 * GS_NS_PER_MS,
                                                       .heat_ns = 20 * GS_NS_PER_MS,
                                                       .cool_ns = 10 * GS_NS_PER_MS,
                                                       .hot = 0.5,
                                                       .cool = 0.3};
        expect_same_steps(1);
    }
}

/* The second step begins before the first would have ended. */
Test(live_pace, a_gradient_that_was_cancelled_leaves_noise_where_it_was)
{
    static const int kinds[] = {GS_STRAGGLER_MARKOV, GS_STRAGGLER_THROTTLE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        prepare();
        made.scenario.noise.straggler = (gs_straggler){.kind = kinds[i],
                                                       .rank = -1,
                                                       .factor = 2.0,
                                                       .mean_up_ns = GS_NS_PER_MS,
                                                       .mean_down_ns = GS_NS_PER_MS,
                                                       .heat_ns = GS_NS_PER_MS,
                                                       .cool_ns = GS_NS_PER_MS,
                                                       .hot = 0.5,
                                                       .cool = 0.3};
        gs_error err;
        gs_job job;
        gs_live_pace *pace;
        gs_plan plan = {.go = true, .micro_steps = 1};
        cr_assert_eq(gs_scenario_job(&made.scenario, &made.arena, &job, &err), GS_OK);
        cr_assert_eq(gs_live_pace_create(&made.scenario, &job, 0, &made.arena, &pace, &err), GS_OK);
        gs_time_ns first_ns = gs_live_pace_step(pace, 0, &plan, 0).compute_ns;
        cr_expect_gt(first_ns, GS_NS_PER_MS);
        cr_expect_gt(gs_live_pace_step(pace, 1, &plan, GS_NS_PER_MS).compute_ns, 0);
        small_job_fini(&made);
    }
}

/* A loader that is slower than the ranks: 2 workers, 14 ms a batch. */
Test(live_pace, a_batch_is_waited_for_as_long_as_in_the_simulator)
{
    prepare();
    made.scenario.workload.input =
        (gs_input_stage){.time_ns = 14 * GS_NS_PER_MS, .workers = 2, .prefetch = 1};
    made.scenario.noise.input = (gs_noise_law){.law = GS_LAW_GAMMA, .cv = 0.4};
    expect_same_steps(1);
}

Test(live_pace, several_passes_of_a_step_take_what_they_take_in_the_simulator)
{
    prepare();
    made.scenario.workload.accumulation = 3;
    expect_same_steps(3);
}

/* When the update runs depends on the all-reduce before it; all of them run before the end. */
Test(live_pace, updates_take_what_they_take_in_the_simulator)
{
    prepare_with(400 * GS_NS_PER_US);
    gs_record *record = gs_record_create(RANKS, true);
    gs_sim_config config = {
        .scenario = &made.scenario, .strategy = &made.choice, .seed = 1, .record = record};
    cr_assert_eq(small_job_run(&config).status, GS_OK);
    gs_error err;
    gs_job job;
    gs_plan plan = {.go = true, .micro_steps = 1};
    cr_assert_eq(gs_scenario_job(&made.scenario, &made.arena, &job, &err), GS_OK);
    job.seed = 1;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        gs_live_pace *pace;
        gs_time_ns total_ns = 0;
        cr_assert_eq(gs_live_pace_create(&made.scenario, &job, rank, &made.arena, &pace, &err),
                     GS_OK);
        for (int64_t i = 0; i < STEPS; i++) {
            gs_paced_step step = gs_live_pace_step(pace, i, &plan, 0);
            total_ns += step.compute_ns + step.optimizer_ns;
        }
        cr_expect_eq(gs_record_rank_total(record, rank).compute_ns, total_ns);
    }
    gs_record_destroy(record);
    small_job_fini(&made);
}

/* Units of the last pass are told from the last to the first: 3 ms of forward, then 700 us each. */
Test(live_pace, units_become_ready_as_the_profile_says)
{
    prepare();
    made.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_NONE};
    gs_error err;
    gs_job job;
    gs_live_pace *pace;
    cr_assert_eq(gs_scenario_job(&made.scenario, &made.arena, &job, &err), GS_OK);
    cr_assert_eq(gs_live_pace_create(&made.scenario, &job, 0, &made.arena, &pace, &err), GS_OK);
    gs_plan plan = {.go = true, .micro_steps = 2};
    gs_paced_step step = gs_live_pace_step(pace, 0, &plan, 0);
    for (uint32_t i = 0; i < job.unit_count; i++) {
        cr_expect_eq(step.units[i].unit, job.unit_count - 1 - i);
        cr_expect_eq(step.units[i].after_ns, 5800000 + 3000000 + (i + 1) * 700000);
    }
    cr_expect_eq(step.compute_ns, 2 * 5800000);
    small_job_fini(&made);
}

Test(live_pace, a_profile_with_blocking_ops_is_refused)
{
    prepare();
    gs_profile_blocking blocking = {.name = "barrier"};
    made.profile.blocking = &blocking;
    made.profile.blocking_count = 1;
    gs_error err;
    gs_job job;
    gs_live_pace *pace;
    cr_assert_eq(gs_scenario_job(&made.scenario, &made.arena, &job, &err), GS_OK);
    cr_expect_eq(gs_live_pace_create(&made.scenario, &job, 0, &made.arena, &pace, &err),
                 GS_EUNSUPPORTED);
    cr_expect(strstr(err.text, "(barrier)") != NULL, "%s", err.text);
    small_job_fini(&made);
}
