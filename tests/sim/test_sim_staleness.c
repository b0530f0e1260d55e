/* How stale gradients are in whole runs, where it can be worked out on paper. */
#include "tests/small_job.h"
#include "tests/strategies/probes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { RANKS = 4, STEPS = 10 };

static small_job job;
static gs_record *record;

static void setup(void)
{
    record = gs_record_create(RANKS, false);
    cr_assert_not_null(record);
}

static void teardown(void)
{
    gs_record_destroy(record);
    small_job_fini(&job);
}

TestSuite(sim_staleness, .init = setup, .fini = teardown);

/* With equal ranks: they take turns. */
static gs_sim_result run(const gs_strategy *strategy, bool learns)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.servers = 1;
    config.learns = learns;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.steps = STEPS;
    small_job_init(&job, &config, NULL);
    if (strategy != NULL) {
        small_job_use(&job, strategy, NULL);
    }
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 5, .record = record});
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    return result;
}

static int64_t count_in_bin(double low)
{
    const gs_series *series = gs_record_series_read(record);
    int64_t count = 0;
    for (int64_t i = 0; i < series->bin_count; i++) {
        const gs_series_bin *bin = &series->bins[i];
        bool here = strcmp(series->names[bin->name].text, "staleness") == 0 && bin->low >= low &&
                    bin->low <= low;
        count += here ? bin->count : 0;
    }
    return count;
}

/* All ranks begin at version 0, so that the first gradients are 0, 1, ... n - 1 updates late. After
 * its own update each takes the weights; until its next gradient comes the n - 1 others have come
 * once: n - 1 from then on. The mean of k gradients is (n - 1)(1 - n / (2 k)), which tends to
 * n - 1. */
static void expect_round_robin(bool learns)
{
    gs_sim_result result = run(&probe_asp, learns);
    double values[64];
    bool censored;
    cr_assert_eq(gs_record_metrics(record, &result.facts, values, &censored), GS_OK);
    int64_t counted = 0;
    for (int i = 0; i < RANKS; i++) {
        counted += count_in_bin((double)i);
        cr_expect(i == RANKS - 1 || count_in_bin((double)i) == 1);
    }
    cr_assert_geq(counted, RANKS * STEPS); /* what was under way when the budget ended counts */
    double pushed = (double)counted;
    cr_expect_float_eq(values[gs_metric_find("staleness_mean")],
                       (RANKS - 1) * (1.0 - RANKS / (2.0 * pushed)), 1e-12);
    cr_expect_eq(values[gs_metric_find("staleness_p95")], RANKS - 1);
    cr_expect_eq(values[gs_metric_find("staleness_max")], RANKS - 1);
}

Test(sim_staleness, of_an_asynchronous_server_tends_to_all_ranks_but_one)
{
    expect_round_robin(true);
}

Test(sim_staleness, is_known_without_floats)
{
    expect_round_robin(false);
}

/* Everybody applies the sum of gradients of one version to weights of that version. */
Test(sim_staleness, of_an_all_reduce_is_none)
{
    gs_sim_result result = run(NULL, true);
    cr_expect_eq(result.facts.staleness_mean, 0.0);
    cr_expect_eq(result.facts.staleness_max, 0.0);
    cr_expect_eq(count_in_bin(0.0), RANKS * STEPS);
}

/* Each rank applies its own gradients to its own weights in turn; that these are mixed with others
 * in between is no update. How far they are apart is the consensus distance. */
Test(sim_staleness, of_gossip_is_none)
{
    const gs_strategy *const strategies[] = {&probe_pair, &probe_push_sum};
    for (int i = 0; i < 2; i++) {
        gs_sim_result result = run(strategies[i], true);
        cr_expect_eq(result.facts.staleness_max, 0.0, "%s", strategies[i]->name);
        if (i == 0) {
            teardown();
            setup();
        }
    }
}
