/* Gradients that are cancelled in whole runs: the times that Dutta et al. work out for K-sync and
 * K-batch-sync, and that what was begun is accounted for wherever it was stopped. */
#include <criterion/criterion.h>

#include "sim/sim_parts.h" /* to look at counts and exported states */
#include "strategies/ps.h"
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static small_job job;
static small_job_config made;

static void setup(void)
{
    made = small_job_default();
}

TestSuite(sim_cancel, .init = setup, .timeout = 280);

static gs_sim *run_in(gs_sim_config config, gs_sim_result *out)
{
    config.scenario = &job.scenario;
    config.strategy = &job.choice;
    config.seed = 3;
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, out);
    cr_assert_eq(out->status, GS_OK, "%s: %s", job.choice.label, out->error.text);
    return sim;
}

static void make(const char *name, const char *text)
{
    small_job_init(&job, &made, NULL);
    small_job_use(&job, gs_strategy_find(name), text);
}

static gs_ps_account account(const gs_sim *sim, uint32_t server)
{
    gs_ps_account out;
    cr_assert_eq(gs_driver_export(sim->entities[sim->job.ranks + server].driver, &out, sizeof out),
                 sizeof out);
    return out;
}

/* ---------------------------------------------------------------- times */

enum { N = 4, K = 2, MANY = 200000, SOME = 20000, MEAN_US = 1000 }; /* gradients */

/* N ranks whose messages take no time that counts: 1 ns and 4 bytes of a millisecond. */
static void without_communication(int64_t gradients)
{
    made.ranks = N;
    made.servers = 1;
    made.units = 1;
    made.unit_elements = 1;
    made.nic_bps = INT64_C(1000000000000000);
    made.nic_latency_ns = 1;
    made.steps = gradients / N;
}

/* A run of so many gradients, whose passes are exponential above a sure share. */
static gs_sim *run_without_communication(const char *name, const char *text, double sure_share,
                                         int64_t gradients, gs_sim_result *out)
{
    without_communication(gradients);
    made.forward_ns = MEAN_US * GS_NS_PER_US;
    make(name, text);
    job.scenario.noise.compute =
        (gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL, .shift = sure_share};
    return run_in((gs_sim_config){0}, out);
}

typedef struct played {
    double mean; /* time between updates over that of a pass */
    double updates;
} played;

static played update_time(const char *name, const char *text, double sure_share, int64_t gradients)
{
    gs_sim_result result;
    gs_sim *sim = run_without_communication(name, text, sure_share, gradients, &result);
    played out = {.updates = (double)account(sim, 0).version};
    out.mean = (double)result.facts.end_ns / out.updates / (double)(MEAN_US * GS_NS_PER_US);
    gs_sim_destroy(sim);
    small_job_fini(&job);
    return out;
}

/* Four standard errors. */
static void expect_mean(played found, double wanted, double deviation, const char *what)
{
    double bound = 4.0 * deviation / sqrt(found.updates);
    cr_expect(fabs(found.mean - wanted) < bound, "%s: %.5f, not %.5f +- %.5f", what, found.mean,
              wanted, bound);
}

/* All begin together at each update, so that it takes the second of four: H_4 - H_2 = 1/3 + 1/4 of
 * the mean, with the variance 1/9 + 1/16 of exponential gaps. Half of it sure: 1/2 and half of
 * that. Who finishes what nobody takes begins later than the others: without cancelling it takes
 * longer, by far more than errors of either. */
Test(sim_cancel, k_sync_takes_the_time_of_the_kth_of_n)
{
    double deviation = sqrt(1.0 / 9.0 + 1.0 / 16.0);
    played run = update_time("k_sync", "k=2", 0.0, MANY);
    expect_mean(run, 7.0 / 12.0, deviation, "exponential");
    cr_expect_geq(run.updates, MANY / K - N, "nobody sends what nobody takes");
    expect_mean(update_time("k_sync", "k=2", 0.5, SOME), 0.5 + 7.0 / 24.0, deviation / 2.0,
                "shifted");
    cr_expect_gt(update_time("m_sync", "m=2", 0.5, SOME).mean, 0.85);
}

/* Without memory, all four work on the update all the time: K / N of the mean, with the variance of
 * K gaps, each as long as one of N ranks takes. */
Test(sim_cancel, k_batch_sync_takes_k_nths_of_the_mean)
{
    expect_mean(update_time("k_batch_sync", "k=2", 0.0, MANY), (double)K / N, sqrt((double)K) / N,
                "exponential");
    cr_expect_gt(update_time("rennala", "batches=2", 0.0, SOME).mean, 0.55);
}

/* Every update stops the N - K that it did not take, and nothing else is for nothing. At the end of
 * the run nobody begins again. */
Test(sim_cancel, what_is_stopped_counts_as_dropped_and_not_to_the_budget)
{
    gs_sim_result result;
    gs_sim *sim = run_without_communication("k_sync", "k=2", 0.0, SOME, &result);
    int64_t updates = account(sim, 0).version;
    int64_t batch = job.scenario.workload.batch_per_rank;
    cr_expect(llabs(result.facts.dropped_samples - updates * (N - K) * batch) <= N * batch,
              "%lld of %lld updates", (long long)result.facts.dropped_samples, (long long)updates);
    cr_expect_geq(sim->passes, SOME);
    cr_expect_lt(sim->passes, SOME + N);
    cr_expect_geq(result.steps, updates - 1, "a rank that is stopped has made a step");
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* No time but that of batches, which are made one after the other on each rank, exponential, the
 * next one from when the last was taken. Whoever has its batch first makes the update: a 4th of the
 * mean; the others go on waiting for theirs. A rank that threw away what it waited for would have
 * to wait longer and longer. */
Test(sim_cancel, a_batch_that_a_gradient_waited_for_is_the_next_ones)
{
    without_communication(SOME);
    made.forward_ns = 1;
    make("k_sync", "k=1");
    job.scenario.workload.input =
        (gs_input_stage){.time_ns = MEAN_US * GS_NS_PER_US, .workers = 1, .prefetch = 1};
    job.scenario.noise.input = (gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL};
    gs_sim_result result;
    gs_sim *sim = run_in((gs_sim_config){0}, &result);
    double found = (double)result.facts.end_ns / (double)account(sim, 0).version /
                   (double)(MEAN_US * GS_NS_PER_US);
    cr_expect(fabs(found - 0.25) < 4.0 * 0.25 / sqrt((double)SOME), "%.5f", found);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- a pass that is cut */

enum { UNITS = 4, UNIT_ELEMENTS = 1000, CUT_UPDATES = 12 };

/* Rank 1 takes half as long again as rank 0: 150 us, then 150 us a unit. Updates come when rank 0
 * has ended, at 500 us and a few of sending: rank 1 has sent two of four units. */
static void two_ranks(gs_record *record, gs_timeline *timeline, gs_sim **out, gs_sim_result *result)
{
    made.ranks = 2;
    made.servers = 1;
    made.units = UNITS;
    made.unit_elements = UNIT_ELEMENTS;
    made.forward_ns = 100 * GS_NS_PER_US;
    made.backward_ns = 100 * GS_NS_PER_US;
    made.steps = CUT_UPDATES / 2;
    make("k_sync", "k=1,bucket=4000B");
    job.scenario.noise.straggler =
        (gs_straggler){.kind = GS_STRAGGLER_PERSISTENT, .rank = 1, .factor = 1.5};
    *out = run_in((gs_sim_config){.record = record, .timeline = timeline}, result);
}

Test(sim_cancel, pieces_that_were_sent_arrive_and_are_thrown_away)
{
    gs_sim *sim;
    gs_sim_result result;
    two_ranks(NULL, NULL, &sim, &result);
    cr_expect_eq(sim->passes, CUT_UPDATES, "rank 0's");
    cr_expect_eq(account(sim, 0).taken, CUT_UPDATES);
    cr_expect_eq(account(sim, 0).dropped, 0, "no whole gradient was for nothing");
    cr_expect_eq(result.facts.dropped_samples, CUT_UPDATES * 8);
    int64_t gradient = UNITS * UNIT_ELEMENTS * 4;
    cr_expect_eq(sim->net.entity_bytes[0], CUT_UPDATES * gradient);
    cr_expect_eq(sim->net.entity_bytes[1], CUT_UPDATES * gradient / 2);
    cr_expect_eq(sim->workers[1].passes, CUT_UPDATES);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* It was computing all the time until it was stopped, and its spans say so to the ns. */
Test(sim_cancel, time_until_it_is_stopped_is_compute)
{
    gs_sim *sim;
    gs_sim_result result;
    gs_record *record = gs_record_create(2, true);
    gs_timeline *timeline = gs_timeline_create(1, 4);
    two_ranks(record, timeline, &sim, &result);
    int64_t found = 0;
    for (int64_t i = 0; i < timeline->step_count; i++) {
        const gs_step_row *row = &timeline->steps[i];
        int64_t sum = 0;
        for (int64_t j = 0; j < timeline->span_count; j++) {
            const gs_timeline_span *span = &timeline->spans[j];
            bool is_own = span->rank == (uint32_t)row->rank && span->step == row->step;
            sum += is_own && gs_timeline_kind_track(span->kind) == GS_TRACK_COMPUTE
                       ? span->to_ns - span->from_ns
                       : 0;
        }
        cr_expect_eq(sum, row->compute_ns, "rank %d, step %lld", row->rank, (long long)row->step);
        if (row->rank == 1) {
            cr_expect_gt(row->compute_ns, 500 * GS_NS_PER_US);
            cr_expect_lt(row->compute_ns, 600 * GS_NS_PER_US);
            found++;
        }
    }
    cr_expect_eq(found, 4);
    double values[64];
    bool censored;
    cr_assert_leq(gs_metric_count(), sizeof values / sizeof *values);
    cr_assert_eq(gs_record_metrics(record, &result.facts, values, &censored), GS_OK);
    cr_expect_eq(values[gs_metric_find("samples")], 8.0 * CUT_UPDATES, "rank 0's, in both's steps");
    gs_timeline_destroy(timeline);
    gs_record_destroy(record);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- what was begun */

/* Each element of each gradient that was begun was taken by its server, or is counted as dropped:
 * by the server, or by the worker that stopped before it was pushed. */
static void expect_all_accounted_for(gs_sim_config config, const char *text)
{
    gs_sim_result result;
    gs_sim *sim = run_in(config, &result);
    double begun = 0.0, taken = 0.0;
    for (uint32_t rank = 0; rank < sim->job.ranks; rank++) {
        begun += (double)sim->workers[rank].passes * (double)sim->job.elements;
    }
    cr_expect_gt(begun, (double)sim->passes * (double)sim->job.elements, "%s: none was stopped",
                 text);
    for (uint32_t server = 0; server < sim->layout.servers; server++) {
        int64_t share = sim->job.elements / sim->layout.servers;
        share += server < sim->job.elements % sim->layout.servers ? 1 : 0;
        taken += (double)account(sim, server).taken * (double)share;
    }
    double whole = (double)sim->passes * (double)sim->job.elements;
    double cancelled = (begun - whole) / (double)sim->job.elements;
    cr_expect_eq((double)result.facts.cancelled_samples, 8.0 * cancelled, "%s", text);
    cr_expect_eq(taken + sim->dropped_elements, begun, "%s: %.0f taken, %.0f dropped, %.0f begun",
                 text, taken, sim->dropped_elements, begun);
    gs_sim_destroy(sim);
}

Test(sim_cancel, every_gradient_that_was_begun_is_used_or_dropped)
{
    static const char *const names[][2] = {{"k_sync", "k=3,bucket=3000B,servers=1"},
                                           {"k_sync", "k=3,bucket=3000B,servers=3"},
                                           {"k_sync", "k=3,servers=3,overlap=false"},
                                           {"k_batch_sync", "k=5,bucket=3000B,servers=1"},
                                           {"k_batch_sync", "k=5,bucket=3000B,servers=3"}};
    made.ranks = 8;
    made.servers = 3;
    made.units = 7;
    made.unit_elements = 1031;
    made.forward_ns = 100 * GS_NS_PER_US;
    made.backward_ns = 40 * GS_NS_PER_US;
    made.steps = 60;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        make(names[i][0], names[i][1]);
        job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5};
        job.scenario.noise.latency = (gs_noise_law){.law = GS_LAW_GAMMA, .cv = 2.0};
        expect_all_accounted_for((gs_sim_config){0}, names[i][1]);
        for (int round = 1; round < 4; round++) {
            expect_all_accounted_for((gs_sim_config){.shuffle_ties = true,
                                                     .swap_state = true,
                                                     .late_ns = round * 30 * GS_NS_PER_US},
                                     names[i][1]);
        }
        small_job_fini(&job);
    }
}

/* A gradient that no thread had begun is never made, and one that was is thrown away: both are the
 * same run, also in what it says of rounding. */
Test(sim_cancel, threads_change_nothing)
{
    made.ranks = 6;
    made.servers = 2;
    made.learns = true;
    made.units = 3;
    made.unit_elements = 4099;
    made.forward_ns = 300 * GS_NS_PER_US;
    made.backward_ns = 100 * GS_NS_PER_US;
    made.steps = 30;
    make("k_batch_sync", "k=3");
    job.scenario.workload.number = GS_FP16;
    job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5};
    gs_sim_result one;
    gs_sim_destroy(run_in((gs_sim_config){.threads = 1}, &one));
    cr_expect_gt(one.facts.dropped_samples, 0);
    cr_expect_gt(one.facts.rounded_elements, 0);
    for (uint32_t threads = 2; threads <= 5; threads++) {
        gs_sim_result many;
        gs_sim_destroy(run_in((gs_sim_config){.threads = threads, .threads_always = true}, &many));
        cr_expect_eq(many.result_hash, one.result_hash, "%u threads", threads);
        cr_expect_eq(many.facts.rounded_elements, one.facts.rounded_elements);
        cr_expect_eq(many.facts.underflown_elements, one.facts.underflown_elements);
    }
    small_job_fini(&job);
}

/* Ops of the profile itself want every rank. */
Test(sim_cancel, profiles_with_blocking_ops_are_refused)
{
    made.servers = 1;
    make("k_sync", "");
    job.profile.blocking_count = 2;
    gs_error err;
    gs_sim_config config = {.scenario = &job.scenario, .strategy = &job.choice};
    cr_assert_null(gs_sim_create(&config, &err));
    cr_expect_eq(err.code, GS_EUNSUPPORTED);
    cr_expect_str_eq(err.text,
                     "workload.profile: its 2 blocking ops want every rank, and k_sync stops ranks "
                     "in the middle of a pass; use a profile without them, or another strategy");
    small_job_fini(&job);
}
