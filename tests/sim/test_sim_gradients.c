/* What a run says of its gradients: fidelity always, looks where they are asked for, and nothing of
 * the run changes by it. */
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/strategies/probes.h"
#include "tests/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static small_job job;
static gs_record *record;

static small_job_config learning(uint32_t ranks)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.learns = true;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.steps = 12;
    return config;
}

static gs_sim_result run(gs_sim_config config)
{
    config.scenario = &job.scenario;
    config.strategy = &job.choice;
    config.seed = 5;
    gs_sim_result result = small_job_run(&config);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    return result;
}

static void setup(void)
{
    record = gs_record_create(4, false);
    cr_assert_not_null(record);
}

static void teardown(void)
{
    gs_record_destroy(record);
    small_job_fini(&job);
}

TestSuite(sim_gradients, .init = setup, .fini = teardown);

Test(sim_gradients, a_synchronous_mean_is_the_exact_gradient_up_to_rounding)
{
    small_job_config config = learning(4);
    small_job_init(&job, &config, "accumulation=2");
    gs_sim_result result = run((gs_sim_config){.record = record});
    /* 12 passes are 6 steps, each judged by the next one. */
    cr_assert_eq(result.facts.fidelity_steps, 5);
    cr_assert_float_eq(result.facts.fidelity_cosine, 1.0, 1e-8);
    cr_assert_lt(result.facts.fidelity_error, 1e-3);
    double values[64];
    bool censored;
    cr_assert_eq(gs_record_metrics(record, &result.facts, values, &censored), GS_OK);
    cr_assert_eq(values[gs_metric_find("fidelity_cosine_ratio")], result.facts.fidelity_cosine);
    cr_assert_eq(values[gs_metric_find("fidelity_error_ratio")], result.facts.fidelity_error);
}

/* A server applies each rank's gradient in full as it comes: four times the exact mean, roughly,
 * from weights that have moved on. */
Test(sim_gradients, an_asynchronous_server_is_judged_without_its_help)
{
    small_job_config config = learning(4);
    config.servers = 1;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, &probe_asp, NULL);
    gs_sim_result result = run((gs_sim_config){.record = record});
    cr_assert_gt(result.facts.fidelity_steps, 0);
    cr_assert(isfinite(result.facts.fidelity_cosine));
    cr_assert_lt(result.facts.fidelity_cosine, 0.9999);
    cr_assert_gt(result.facts.fidelity_error, 0.1);
}

/* Between two averages the model that ranks share stands still: nothing of it is one step. What the
 * ranks' gradients have in common is seen all the same. Gossip mixes in every step. */
Test(sim_gradients, ranks_that_step_on_their_own_make_no_step_to_judge)
{
    static const char *const apart[] = {"local_sgd", "easgd", "slowmo", "hier_avg"};
    small_job_config config = learning(4);
    config.ranks_per_node = 2;
    small_job_init(&job, &config, NULL);
    double values[64];
    bool censored;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        gs_record *own = gs_record_create(4, false);
        const gs_strategy *strategy = gs_strategy_find(apart[i]);
        small_job_use(&job, strategy, small_job_short(strategy));
        gs_sim_result result = run((gs_sim_config){.record = own});
        cr_expect_eq(result.facts.fidelity_steps, 0, "%s", apart[i]);
        cr_expect_gt(result.facts.compared_steps, 0, "%s", apart[i]);
        cr_assert_eq(gs_record_metrics(own, &result.facts, values, &censored), GS_OK);
        cr_expect(isnan(values[gs_metric_find("fidelity_cosine_ratio")]), "%s", apart[i]);
        gs_record_destroy(own);
    }
    small_job_use(&job, gs_strategy_find("d_psgd"), NULL);
    gs_sim_result result = run((gs_sim_config){.record = record});
    cr_expect_gt(result.facts.fidelity_steps, 0);
}

Test(sim_gradients, without_learning_there_is_nothing_to_judge)
{
    small_job_config config = learning(4);
    config.learns = false;
    small_job_init(&job, &config, NULL);
    gs_sim_result result = run((gs_sim_config){.record = record, .look_every = 1});
    double values[64];
    bool censored;
    cr_assert_eq(result.facts.fidelity_steps, 0);
    cr_assert_eq(gs_record_metrics(record, &result.facts, values, &censored), GS_OK);
    cr_assert(isnan(values[gs_metric_find("fidelity_cosine_ratio")]));
    cr_assert(isnan(values[gs_metric_find("fidelity_error_ratio")]));
    cr_assert_eq(gs_record_series_read(record)->point_count, 0);
}

static int64_t count_of(const char *name)
{
    const gs_series *series = gs_record_series_read(record);
    int64_t count = 0;
    for (int64_t i = 0; i < series->point_count; i++) {
        count += strcmp(series->names[series->points[i].name].text, name) == 0;
    }
    return count;
}

Test(sim_gradients, looks_come_at_their_steps_and_change_nothing_of_the_run)
{
    small_job_config config = learning(4);
    small_job_init(&job, &config, NULL);
    gs_sim_result plain = run((gs_sim_config){.record = NULL});
    gs_sim_result looked_at = run((gs_sim_config){.record = record, .look_every = 5});
    cr_assert_eq(looked_at.result_hash, plain.result_hash);
    cr_assert_eq(looked_at.facts.events, plain.facts.events);
    cr_assert_eq(count_of("gradient_norm"), 3); /* steps 0, 5 and 10 */
    cr_assert_eq(count_of("gradient_change_ratio"), 2);
    cr_assert_eq(count_of("gradient_cosine_ratio"), 3);
    cr_assert_gt(gs_record_series_read(record)->bin_count, 0);
}

Test(sim_gradients, models_agree_at_the_end_where_all_apply_the_same_and_else_not)
{
    double values[64];
    bool censored;
    for (int gossip = 0; gossip < 2; gossip++) {
        small_job_config config = learning(4);
        small_job_init(&job, &config, NULL);
        if (gossip == 1) {
            small_job_use(&job, &probe_pair, NULL);
        }
        gs_sim_result result = run((gs_sim_config){.record = record});
        cr_assert_eq(gs_record_metrics(record, &result.facts, values, &censored), GS_OK);
        double distance = values[gs_metric_find("consensus_distance")];
        cr_expect(gossip == 1 ? distance > 1e-4 : distance <= 0.0, "%g", distance);
        cr_expect_gt(values[gs_metric_find("gradient_cosine_ratio")], 0.0);
        cr_expect_gt(values[gs_metric_find("noise_scale_samples")], 0.0);
        if (gossip == 0) {
            teardown();
            setup();
        }
    }
}

/* 1300 steps, a look at each: more than the 1000 that are kept, so one at every second. */
Test(sim_gradients, no_more_than_a_thousand_looks_are_kept)
{
    small_job_config config = learning(2);
    config.units = 1;
    config.unit_elements = 1;
    config.steps = 1300;
    small_job_init(&job, &config, NULL);
    gs_record_destroy(record);
    record = gs_record_create(2, false);
    run((gs_sim_config){.record = record, .look_every = 1});
    cr_assert_eq(count_of("gradient_norm"), 650);
}

/* The target is the loss that the whole run has at its third evaluation, which is the first below
 * the second one: the other run has three, the same ones, and ends there. */
Test(sim_gradients, a_run_that_stops_at_its_target_is_the_beginning_of_the_whole_one)
{
    small_job_config config = learning(4);
    small_job_init(&job, &config, NULL);
    gs_record *whole = gs_record_create(4, false);
    gs_sim_result all = run((gs_sim_config){.record = whole, .evaluate_every = 2});
    cr_assert_eq(gs_record_curve_count(whole), 6, "12 steps");
    gs_curve_row third = gs_record_curve_at(whole, 2);
    cr_assert_lt(third.loss, gs_record_curve_at(whole, 1).loss);
    cr_assert_lt(third.loss, gs_record_curve_at(whole, 0).loss);
    job.scenario.workload.quality = GS_LOSS;
    job.scenario.workload.target_value = third.loss;
    job.scenario.stops_at_target = true;
    gs_sim_result early = run((gs_sim_config){.record = record, .evaluate_every = 2});
    cr_assert_eq(gs_record_curve_count(record), 3);
    for (int64_t i = 0; i < 3; i++) {
        gs_curve_row a = gs_record_curve_at(whole, i);
        gs_curve_row b = gs_record_curve_at(record, i);
        cr_expect_eq(a.loss, b.loss);
        cr_expect_eq(a.time_ns, b.time_ns);
        cr_expect_eq(a.samples, b.samples);
    }
    cr_expect_eq(early.facts.end_ns, third.time_ns);
    cr_expect_lt(early.facts.events, all.facts.events);
    double values[64];
    bool censored;
    cr_assert_eq(gs_record_metrics(record, &early.facts, values, &censored), GS_OK);
    cr_expect_not(censored);
    cr_expect_eq(values[gs_metric_find("time_to_target_ns")], (double)third.time_ns);
    gs_record_destroy(whole);
}

/* Between averages the ranks' models are apart, and the one that is trained is their mean: after
 * six steps of a period of twelve it is what a run of six ends with, which averages there. */
Test(sim_gradients, of_ranks_that_learn_apart_the_mean_is_evaluated)
{
    small_job_config config = learning(4);
    small_job_init(&job, &config, NULL);
    job.scenario.workload.task.data.shards.kind = GS_SHARDS_LABEL;
    small_job_use(&job, gs_strategy_find("local_sgd"), "period=12");
    run((gs_sim_config){.record = record, .evaluate_every = 6});
    gs_record *half = gs_record_create(4, false);
    job.scenario.workload.budget_steps = 6;
    small_job_use(&job, gs_strategy_find("local_sgd"), "period=6");
    run((gs_sim_config){.record = half, .evaluate_every = 6});
    cr_assert_eq(gs_record_curve_count(record), 2);
    cr_assert_eq(gs_record_curve_count(half), 1);
    gs_curve_row middle = gs_record_curve_at(record, 0);
    gs_curve_row end = gs_record_curve_at(half, 0);
    cr_expect_eq(middle.step, 6);
    cr_expect_eq(middle.samples, end.samples);
    cr_expect_float_eq(middle.loss, end.loss, 1e-6 * end.loss, "%g %g", middle.loss, end.loss);
    gs_record_destroy(half);
}

/* Its marks are ends of the ranks' own steps: noise in their times moves them, and nothing else. */
Test(sim_gradients, what_ranks_that_learn_apart_have_learned_depends_on_no_clock)
{
    small_job_config config = learning(4);
    small_job_init(&job, &config, NULL);
    small_job_use(&job, gs_strategy_find("local_sgd"), "period=5");
    run((gs_sim_config){.record = record, .evaluate_every = 3});
    gs_record *noisy = gs_record_create(4, false);
    job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5};
    run((gs_sim_config){.record = noisy, .evaluate_every = 3});
    cr_assert_eq(gs_record_curve_count(record), 4);
    cr_assert_eq(gs_record_curve_count(noisy), 4);
    for (int64_t i = 0; i < 4; i++) {
        gs_curve_row a = gs_record_curve_at(record, i);
        gs_curve_row b = gs_record_curve_at(noisy, i);
        cr_expect_eq(a.step, 3 * (i + 1));
        cr_expect_eq(a.loss, b.loss);
        cr_expect_eq(a.samples, b.samples);
        cr_expect_neq(a.time_ns, b.time_ns);
    }
    gs_record_destroy(noisy);
}
