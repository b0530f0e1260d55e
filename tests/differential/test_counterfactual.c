/* A recorded run with a slow rank, and what would have been without it or with another strategy:
 * predicted from the recording, and held against live runs that were so. */
#include <criterion/criterion.h>

#include "live/live.h"
#include "sim/sim.h"
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/support.h"
#include "tools/explain_variant.h"
#include "traces/importers/importer.h"

#include <math.h>
#include <string.h>

/* Passes of 8 ms, long against what a busy machine adds to a sleep; rank 1 takes 24 ms. asp then
 * ends when 3 ranks have made 3 * STEPS passes: 2 / 8 + 1 / 24 passes a millisecond. */
enum { RANKS = 3, STEPS = 40, SLOW_RANK = 1, FACTOR = 3, TRIES = 3 };

static const double tolerance_ratio = 0.1;

static small_job made;

static void setup(void)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.servers = 1;
    config.nic_bps = 100 * INT64_C(1000000000);
    config.unit_elements = 2063;
    config.forward_ns = 4 * GS_NS_PER_MS;
    config.backward_ns = 1 * GS_NS_PER_MS;
    config.steps = STEPS;
    small_job_init(&made, &config, NULL);
}

static void teardown(void)
{
    small_job_fini(&made);
}

TestSuite(counterfactual, .init = setup, .fini = teardown, .timeout = 120);

static void set_straggler(bool is_there)
{
    made.scenario.noise.straggler =
        (gs_straggler){.kind = is_there ? GS_STRAGGLER_PERSISTENT : GS_STRAGGLER_NONE,
                       .rank = SLOW_RANK,
                       .factor = FACTOR};
}

/* How long a live run took, by its last record; and the recording where a file is named. */
static double live_ms(const char *strategy, bool is_slow, const char *file)
{
    gs_error err = {.text = ""};
    gs_job job;
    small_job_use(&made, gs_strategy_find(strategy), NULL);
    set_straggler(is_slow);
    cr_assert_eq(gs_scenario_job(&made.scenario, &made.arena, &job, &err), GS_OK);
    gs_live_config config = gs_live_config_default();
    config.strategy = &made.choice;
    config.job = &job;
    config.batch_per_rank = made.scenario.workload.batch_per_rank;
    config.budget_steps = STEPS;
    config.delay_ns = 1;
    config.deadline_ns = 20 * GS_NS_PER_S;
    config.record = true;
    config.compute = GS_COMPUTE_SLEEP;
    config.scenario = &made.scenario;
    gs_live *live = gs_live_create(&config, &err);
    cr_assert(live != NULL, "%s", err.text);
    gs_live_run(live);
    gs_live_result result;
    gs_live_result_get(live, &result);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    const gs_recording *recording = gs_live_recording(live);
    if (file != NULL) {
        cr_assert_eq(gs_recording_write(recording, file, &err), GS_OK, "%s", err.text);
    }
    double ms = (double)recording->records[recording->count - 1].at_ns / 1e6;
    gs_live_destroy(live);
    return ms;
}

static const gs_profile *profile_of(const char *file)
{
    gs_error err = {.text = ""};
    gs_imported imported;
    cr_assert_eq(gs_import(&file, 1, NULL, &made.arena, &imported, &err), GS_OK, "%s", err.text);
    cr_assert(imported.profile->is_of_run);
    return imported.profile;
}

static double simulated_ms(const gs_scenario *scenario)
{
    gs_sim_config config = {.scenario = scenario, .strategy = &made.choice, .seed = 1};
    gs_sim_result result = small_job_run(&config);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    return (double)result.facts.end_ns / 1e6;
}

/* From the recording alone: the straggler is no more in the scenario. */
static double predicted_ms(const char *file, const char *strategy, const char *without)
{
    gs_scenario scenario = made.scenario;
    scenario.workload.profile = profile_of(file);
    scenario.noise.straggler.kind = GS_STRAGGLER_NONE;
    small_job_use(&made, gs_strategy_find(strategy), NULL);
    unsigned removed = 0;
    for (uint32_t i = 0; without != NULL && i < gs_cause_count(); i++) {
        removed |= strcmp(gs_cause_at(i)->key, without) == 0 ? 1U << i : 0;
    }
    cr_assert(without == NULL || removed != 0);
    return simulated_ms(gs_variant_without(&scenario, removed, &made.arena));
}

/* A machine with other work on it may hold up one of the runs. */
static void expect_predicted(const char *strategy, const char *without, double expected_ms)
{
    char file[TEST_PATH_BYTES];
    double error = 1.0, predicted = 0.0, lived = 0.0;
    for (int try = 0; try < TRIES && error > tolerance_ratio; try++) {
        test_temp_path(file);
        double recorded = live_ms("allreduce", true, file);
        predicted = predicted_ms(file, strategy, without);
        lived = live_ms(strategy, without == NULL, NULL);
        error = fabs(predicted - lived) / lived;
        cr_expect_gt(recorded, 1.5 * lived, "the slow rank made no difference");
    }
    cr_expect_leq(error, tolerance_ratio, "%s: %.1f ms predicted, %.1f ms lived, %.1f expected",
                  strategy, predicted, lived, expected_ms);
}

/* 40 steps of 8 ms, where the recorded run took 40 of 24 ms. */
Test(counterfactual, a_run_without_its_slow_rank_is_predicted_from_the_recording)
{
    expect_predicted("allreduce", "unequal_ranks", 320.0);
}

/* 120 passes at 2 / 8 + 1 / 24 a millisecond are 411 ms. */
Test(counterfactual, a_run_by_another_strategy_is_predicted_from_the_recording)
{
    expect_predicted("asp", NULL, 411.0);
}

/* The recorded run itself: nothing is changed, so it shows what the prediction leaves out. */
Test(counterfactual, the_recorded_run_is_predicted_from_its_recording)
{
    char file[TEST_PATH_BYTES];
    double error = 1.0, recorded = 0.0, predicted = 0.0;
    for (int try = 0; try < TRIES && error > tolerance_ratio; try++) {
        test_temp_path(file);
        recorded = live_ms("allreduce", true, file);
        predicted = predicted_ms(file, "allreduce", NULL);
        error = fabs(predicted - recorded) / recorded;
    }
    cr_expect_leq(error, tolerance_ratio, "%.1f ms predicted, %.1f ms recorded", predicted,
                  recorded);
}
