/* Local updates in whole runs: what their rules come to on real gradients. */
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOATS_MAX = 100000 };

static small_job job;
static float first[FLOATS_MAX], second[FLOATS_MAX];

static small_job_config learning(uint32_t ranks, int64_t steps)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.learns = true;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.steps = steps;
    return config;
}

/* Weights of a rank after a run. */
static size_t train(const char *name, const char *parameters, uint32_t rank, float *out)
{
    gs_error err;
    small_job_use(&job, gs_strategy_find(name), parameters);
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){
            .scenario = &job.scenario, .strategy = &job.choice, .seed = 3, .swap_state = true},
        &err);
    cr_assert_not_null(sim, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s: %s", name, result.error.text);
    size_t count;
    const float *weights = gs_sim_weights(sim, rank, &count);
    cr_assert_leq(count, (size_t)FLOATS_MAX);
    memcpy(out, weights, count * sizeof *out);
    gs_sim_destroy(sim);
    return count;
}

static double apart(size_t count)
{
    double worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        worst = fmax(worst, fabs((double)first[i] - (double)second[i]));
    }
    return worst;
}

/* ---------------------------------------------------------------- what is plain SGD */

/* Averaging x - rate g_i over ranks gives x - rate mean g: with a period of one, plain averaging is
 * synchronous SGD, and heavy ball, which is linear too, changes nothing in that. So it is for
 * easgd with alpha 1 / ranks only once its centre has caught up, which is a period late; for co2,
 * cocod and dasgd with a delay never; for adam never, for its steps are not linear in gradients;
 * and for outer optimizers with momentum, or a rate other than 1, never. */
Test(sim_local, with_a_period_of_one_plain_averaging_is_synchronous_sgd)
{
    static const char *const plain[][2] = {
        {"local_sgd", "period=1"},
        {"post_local", "period=1,start=7"},
        {"slowmo", "period=1,beta=0"},
        {"bmuf", "period=1,momentum=0"},
        {"diloco", "period=1,momentum=0,rate=1"},
        {"streaming_diloco", "period=1,fragments=1,delay=0,alpha=0,momentum=0,rate=1"},
        {"dasgd", "period=1,delay=0"},
        {"adacomm", "period=1"},
        {"hier_avg", "inside=1,between=1"},
    };
    for (int momentum = 0; momentum < 2; momentum++) {
        small_job_config config = learning(4, 30);
        config.ranks_per_node = 2;
        small_job_init(&job, &config, NULL);
        job.scenario.workload.task.optimizer.momentum = momentum * 0.9;
        size_t count = train("allreduce", NULL, 0, first);
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
            train(plain[i][0], plain[i][1], 3, second);
            cr_expect_lt(apart(count), 1e-6, "%s %s momentum %d: %g", plain[i][0], plain[i][1],
                         momentum, apart(count));
        }
        train("local_sgd", "period=2", 3, second);
        cr_expect_gt(apart(count), 1e-4);
        train("diloco", "period=1", 3, second);
        cr_expect_gt(apart(count), 1e-4);
        train("easgd", "period=1", 3, second);
        cr_expect_gt(apart(count), 1e-4);
        train("co2", "period=1", 3, second);
        cr_expect_gt(apart(count), 1e-4);
        small_job_fini(&job);
    }
}

/* Ends in the middle of a period, and with an average on its way. */
Test(sim_local, all_ranks_end_with_the_same_model)
{
    static const char *const runs[][2] = {
        {"local_sgd", "period=4"},
        {"post_local", "period=4,start=3"},
        {"adacomm", "period=4,interval=5"},
        {"slowmo", "period=4"},
        {"bmuf", "period=4"},
        {"diloco", "period=4"},
        {"streaming_diloco", "period=6,fragments=3,delay=1"},
        {"easgd", "period=4"},
        {"overlap_local_sgd", "period=4"},
        {"cocod", "period=4"},
        {"dasgd", "period=4,delay=3"},
        {"co2", "period=4"},
        {"hier_avg", "inside=2,between=4"},
        {"hier_avg", "inside=4,between=8,delay=1"},
        {"hier_avg", "inside=4,between=20,delay=3"},
    };
    small_job_config config = learning(6, 22);
    config.ranks_per_node = 2;
    small_job_init(&job, &config, NULL);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        size_t count = train(runs[i][0], runs[i][1], 0, first);
        train(runs[i][0], runs[i][1], 5, second);
        cr_expect_eq(memcmp(first, second, count * sizeof *first), 0, "%s", runs[i][0]);
    }
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- time */

/* When means come changes no bit of them: they are used at the step that the rule says. */
Test(sim_local, timing_changes_no_bit)
{
    static const char *const runs[][2] = {
        {"local_sgd", "period=3"},
        {"adacomm", "period=4,interval=4"},
        {"easgd", "period=3"},
        {"dasgd", "period=3,delay=1"},
        {"co2", "period=3"},
        {"streaming_diloco", "period=6,fragments=3,delay=1"},
        {"hier_avg", "inside=3,between=6,delay=2"},
    };
    small_job_config config = learning(4, 14);
    config.ranks_per_node = 2;
    small_job_init(&job, &config, NULL);
    job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5};
    int other_times = 0;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        small_job_use(&job, gs_strategy_find(runs[i][0]), runs[i][1]);
        gs_sim_config still = {.scenario = &job.scenario, .strategy = &job.choice, .seed = 3};
        gs_sim_config late = still;
        late.shuffle_ties = true;
        late.late_ns = 900 * GS_NS_PER_US;
        gs_sim_result first_run = small_job_run(&still);
        gs_sim_result second_run = small_job_run(&late);
        cr_assert_eq(first_run.status, GS_OK, "%s", first_run.error.text);
        cr_assert_eq(second_run.status, GS_OK, "%s", second_run.error.text);
        cr_expect_eq(first_run.weights_hash, second_run.weights_hash, "%s", runs[i][0]);
        other_times += first_run.facts.end_ns != second_run.facts.end_ns ? 1 : 0;
    }
    cr_expect_gt(other_times, 3);
    small_job_fini(&job);
}

static gs_time_ns end_of(const char *name, const char *parameters)
{
    small_job_use(&job, gs_strategy_find(name), parameters);
    gs_sim_result result =
        small_job_run(&(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice});
    cr_assert_eq(result.status, GS_OK, "%s: %s", name, result.error.text);
    return result.facts.end_ns;
}

/* A step computes 300 + 4 x 200 = 1100 us. A ring of 4 ranks sends 6 parts of 256 KiB at 1.25 GB/s
 * after 10 us each: 1318.3 us. 12 steps in periods of 4 are 13.2 ms; who waits pays for 3 averages,
 * who is a period late for what ends the run: the last sum, and the mean of all, which easgd, whose
 * model is the centre, does not take. Of 2 fragments sent every 2 steps, used 1 later, each exposes
 * nothing of its 659.1 + 30 us; then comes the mean of all. */
Test(sim_local, late_averages_cost_no_time_but_at_the_end)
{
    const double ring = 1318.3e3;
    const double compute = 13200e3;
    small_job_config config = learning(4, 12);
    config.learns = false;
    small_job_init(&job, &config, NULL);
    cr_expect_float_eq((double)end_of("local_sgd", "period=4"), compute + 3 * ring, 10e3);
    cr_expect_float_eq((double)end_of("diloco", "period=4"), compute + 3 * ring, 10e3);
    cr_expect_float_eq((double)end_of("easgd", "period=4"), compute + ring, 10e3);
    cr_expect_float_eq((double)end_of("cocod", "period=4"), compute + 2 * ring, 10e3);
    cr_expect_float_eq((double)end_of("co2", "period=4"), compute + 2 * ring, 10e3);
    cr_expect_float_eq((double)end_of("dasgd", "period=4,delay=2"), compute + 2 * ring, 10e3);
    cr_expect_float_eq((double)end_of("dasgd", "period=4,delay=1"),
                       compute + 2 * (ring - 1100e3) + 2 * ring, 10e3);
    cr_expect_float_eq((double)end_of("streaming_diloco", "period=4,fragments=2,delay=1"),
                       compute + (ring + 60e3) / 2 + ring, 10e3);
    small_job_fini(&job);
}

/* Of 1 MiB at 1000 B/ns a vector operation takes 2097 ns where it moves each element twice, 3146 ns
 * where three times; a ring of two sends 2 x (10 us + 419,430.4 ns). Each step computes 1 ms and
 * runs its optimizer for 0.5 ms, and every second one is averaged: copy, sub and scale before it,
 * axpy and copy after it, all within its row. Before the first step the anchor is copied. */
Test(sim_local, a_row_ends_when_all_work_of_its_step_has)
{
    enum { TWICE_NS = 2097, THRICE_NS = 3146, STEP_NS = 1500 * GS_NS_PER_US, STEPS = 4 };
    const gs_time_ns average_ns = TWICE_NS + THRICE_NS + TWICE_NS + THRICE_NS + TWICE_NS;
    const gs_time_ns ring_ns = 858861;
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.forward_ns = GS_NS_PER_MS;
    config.optimizer_ns = GS_NS_PER_MS / 2;
    config.steps = STEPS;
    small_job_init(&job, &config, NULL);
    gs_node_group slow = job.scenario.cluster.groups[0];
    slow.vector_bandwidth_bps = INT64_C(8000000000000);
    job.scenario.cluster.groups = &slow;
    small_job_use(&job, gs_strategy_find("local_sgd"), "period=2");
    gs_record *record = gs_record_create(2, true);
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .record = record});
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_assert_eq(gs_record_step_count(record), 2 * STEPS);
    gs_time_ns ends_ns[2] = {0, 0};
    for (int64_t i = 0; i < gs_record_step_count(record); i++) {
        gs_step_row row = gs_record_step_at(record, i);
        bool averages = row.step % 2 == 1;
        gs_time_ns overhead_ns = averages ? average_ns : row.step == 0 ? TWICE_NS : 0;
        cr_expect_eq(row.start_ns, ends_ns[row.rank], "step %d", (int)row.step);
        cr_expect_eq(row.compute_ns, STEP_NS, "step %d", (int)row.step);
        cr_expect_eq(row.overhead_ns, overhead_ns, "step %d: %d", (int)row.step,
                     (int)row.overhead_ns);
        cr_expect_float_eq((double)row.exposed_comm_ns, averages ? (double)ring_ns : 0.0, 2,
                           "step %d: %d", (int)row.step, (int)row.exposed_comm_ns);
        cr_expect_eq(row.bytes_sent, averages ? 1 << 20 : 0, "step %d", (int)row.step);
        ends_ns[row.rank] = row.start_ns + row.duration_ns;
    }
    cr_expect_eq(ends_ns[0], result.facts.end_ns);
    gs_record_destroy(record);
    small_job_fini(&job);
}

/* Each rank asks for the same fragment of the same round, whatever the shape of the run: the
 * simulator compares what they ask for, and ends the run where they differ. */
Test(sim_local, a_thousand_streams_of_fragments_are_the_same_on_all_ranks)
{
    srand(11);
    for (int i = 0; i < 1000; i++) {
        small_job_config config = small_job_default();
        int fragments = 1 + rand() % 6;
        int between = 1 + rand() % 5;
        int period = fragments * between;
        char parameters[96];
        snprintf(parameters, sizeof parameters, "period=%d,fragments=%d,delay=%d", period,
                 fragments, rand() % between);
        config.ranks = 1 + (uint32_t)rand() % 5;
        config.units = 1;
        config.unit_elements = fragments + rand() % 3000;
        config.forward_ns = GS_NS_PER_US * (1 + rand() % 100);
        config.skew_ns = GS_NS_PER_US * (rand() % 300);
        config.steps = period + rand() % 12;
        small_job_init(&job, &config, NULL);
        job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5};
        small_job_use(&job, gs_strategy_find("streaming_diloco"), parameters);
        gs_sim_result result = small_job_run(&(gs_sim_config){.scenario = &job.scenario,
                                                              .strategy = &job.choice,
                                                              .seed = (uint64_t)i,
                                                              .shuffle_ties = true,
                                                              .late_ns = rand() % 200000});
        cr_assert_eq(result.status, GS_OK, "%s: %s", parameters, result.error.text);
        cr_assert_eq(result.steps, config.steps);
        small_job_fini(&job);
    }
}

/* ---------------------------------------------------------------- what is sent */

static int64_t bytes_of(const char *name, const char *parameters)
{
    gs_record *record = gs_record_create(job.scenario.ranks, false);
    small_job_use(&job, gs_strategy_find(name), parameters);
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 3, .record = record});
    cr_assert_eq(result.status, GS_OK, "%s: %s", name, result.error.text);
    gs_record_destroy(record);
    return result.facts.nic_bytes_sent;
}

/* Ranks with other classes have other losses and still agree. The loss falls, and the period with
 * it; where there are no losses it stays. */
Test(sim_local, adacomm_averages_more_often_as_the_loss_falls)
{
    small_job_config config = learning(5, 96);
    small_job_init(&job, &config, NULL);
    job.scenario.workload.task.data.shards.kind = GS_SHARDS_LABEL;
    int64_t fixed = bytes_of("local_sgd", "period=16");
    int64_t every = bytes_of("local_sgd", "period=1");
    int64_t adapted = bytes_of("adacomm", "period=16,interval=16");
    cr_expect(adapted > fixed && adapted < every, "%lld of %lld and %lld", (long long)adapted,
              (long long)fixed, (long long)every);
    job.scenario.workload.real_gradients = false;
    cr_expect_eq(bytes_of("adacomm", "period=16,interval=16"), fixed);
    small_job_fini(&job);
}

/* What is coded is the way from the anchor, which all share: they end with equal models, of which
 * the rest of a fragment or period is coded too. */
Test(sim_local, coded_averages_leave_all_ranks_equal)
{
    static const char *const runs[][3] = {
        {"local_sgd", "period=3", "topk:ratio=0.05"},
        {"diloco", "period=3", "int8"},
        {"streaming_diloco", "period=6,fragments=3,delay=1", "qsgd"},
        {"easgd", "period=3", "ef_sign:path=two_phase"},
        {"cocod", "period=3", "powersgd:start_step=0"},
        {"hier_avg", "inside=1,between=3", "int4"},
    };
    small_job_config config = learning(4, 10);
    config.ranks_per_node = 2;
    small_job_init(&job, &config, NULL);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        small_job_use(&job, gs_strategy_find(runs[i][0]), runs[i][1]);
        gs_sim_result dense = small_job_run(
            &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3});
        small_job_code(&job, runs[i][2]);
        gs_error err;
        gs_sim *sim = gs_sim_create(
            &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3}, &err);
        cr_assert_not_null(sim, "%s", err.text);
        while (gs_sim_run(sim, UINT64_MAX)) {
        }
        gs_sim_result result;
        gs_sim_result_get(sim, &result);
        cr_assert_eq(result.status, GS_OK, "%s: %s", runs[i][0], result.error.text);
        size_t count;
        const float *of_first = gs_sim_weights(sim, 0, &count);
        for (uint32_t rank = 1; rank < 4; rank++) {
            cr_expect_eq(
                memcmp(of_first, gs_sim_weights(sim, rank, &count), count * sizeof *of_first), 0,
                "%s %s: rank %u", runs[i][0], runs[i][2], rank);
        }
        cr_expect_lt(result.facts.nic_bytes_sent, dense.facts.nic_bytes_sent, "%s", runs[i][0]);
        gs_sim_destroy(sim);
    }
    small_job_fini(&job);
}
