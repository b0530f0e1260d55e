/* Metrics of a run against values worked out by hand. */
#include "traces/record.h"

#include "tests/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { METRICS_MAX = 64 };

static double value_of(const double *values, const char *name)
{
    uint32_t index = gs_metric_find(name);
    cr_assert_lt(index, gs_metric_count(), "no metric %s", name);
    return values[index];
}

static void assert_near(double value, double wanted)
{
    cr_assert(fabs(value - wanted) <= 1e-12 * fabs(wanted), "%.17g is not %.17g", value, wanted);
}

static void add_duration(gs_record *record, int64_t step, int32_t rank, gs_time_ns duration_ns)
{
    gs_step_row row = {
        .step = step, .rank = rank, .duration_ns = duration_ns, .compute_ns = duration_ns};
    cr_assert_eq(gs_record_step(record, &row), GS_OK);
}

static void add_accuracy(gs_record *record, int64_t step, double loss, double accuracy)
{
    gs_curve_row row = {.step = step,
                        .time_ns = step * 1000,
                        .samples = step * 64,
                        .loss = loss,
                        .accuracy = accuracy};
    cr_assert_eq(gs_record_curve(record, &row), GS_OK);
}

static bool measure(const gs_record *record, const gs_run_facts *facts, double *values)
{
    bool censored = false;
    cr_assert_leq(gs_metric_count(), METRICS_MAX);
    cr_assert_eq(gs_record_metrics(record, facts, values, &censored), GS_OK);
    return censored;
}

Test(metrics, every_metric_has_a_unit_a_direction_and_a_line_of_help)
{
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        const gs_metric *metric = gs_metric_at(i);
        cr_assert_gt(strlen(metric->unit), 0);
        cr_assert_gt(strlen(metric->help), 10);
        cr_assert(strcmp(metric->better, "lower") == 0 || strcmp(metric->better, "higher") == 0 ||
                  strcmp(metric->better, "none") == 0);
        size_t length = strlen(metric->name);
        bool is_time = strcmp(metric->unit, "ns") == 0;
        cr_assert_eq(is_time, length > 3 && strcmp(metric->name + length - 3, "_ns") == 0);
        cr_assert_eq(gs_metric_find(metric->name), i, "%s stands twice", metric->name);
    }
}

Test(metrics, names_are_found_with_and_without_their_unit)
{
    cr_assert_str_eq(gs_metric_at(gs_metric_find("step_p50"))->name, "step_p50_ns");
    cr_assert_str_eq(gs_metric_at(gs_metric_find("time_to_target"))->name, "time_to_target_ns");
    cr_assert_str_eq(gs_metric_at(gs_metric_find("final_accuracy"))->name, "final_accuracy");
    cr_assert_eq(gs_metric_find("step"), gs_metric_count());
    cr_assert_eq(gs_metric_find("step_p50_n"), gs_metric_count());
    cr_assert_eq(gs_metric_find(""), gs_metric_count());
}

/* 10 20 40 80, n - 1 = 3: p50 at 1.5 -> 20 + 0.5 * 20 = 30; p95 at 2.85 -> 40 + 0.85 * 40 = 74;
 * p99 at 2.97 -> 40 + 0.97 * 40 = 78.8. R: quantile(c(10,20,40,80), c(.5,.95,.99)). */
Test(metrics, quantiles_interpolate_as_type_7_of_r)
{
    gs_record *record = gs_record_create(1, false);
    add_duration(record, 0, 0, 40);
    add_duration(record, 1, 0, 10);
    add_duration(record, 2, 0, 80);
    add_duration(record, 3, 0, 20);
    double values[METRICS_MAX];
    measure(record, &(gs_run_facts){.end_ns = 150}, values);
    assert_near(value_of(values, "step_mean_ns"), 37.5);
    assert_near(value_of(values, "step_p50_ns"), 30.0);
    assert_near(value_of(values, "step_p95_ns"), 74.0);
    assert_near(value_of(values, "step_p99_ns"), 78.8);
    gs_record_destroy(record);
}

Test(metrics, one_step_is_its_own_quantile)
{
    gs_record *record = gs_record_create(1, false);
    add_duration(record, 0, 0, 977);
    double values[METRICS_MAX];
    measure(record, &(gs_run_facts){.end_ns = 977}, values);
    cr_assert_eq(value_of(values, "step_p50_ns"), 977.0);
    cr_assert_eq(value_of(values, "step_p99_ns"), 977.0);
    gs_record_destroy(record);
}

/* Steps of two ranks: (100, 300) and (500, 700); means 200 and 600; median of two is 400. */
Test(metrics, a_step_counts_as_the_mean_over_its_ranks)
{
    for (int keep = 0; keep < 2; keep++) {
        gs_record *record = gs_record_create(2, keep == 1);
        add_duration(record, 0, 0, 100);
        add_duration(record, 0, 1, 300);
        add_duration(record, 1, 1, 700);
        add_duration(record, 1, 0, 500);
        double values[METRICS_MAX];
        measure(record, &(gs_run_facts){.end_ns = 900}, values);
        cr_assert_eq(value_of(values, "step_mean_ns"), 400.0);
        cr_assert_eq(value_of(values, "step_p50_ns"), 400.0);
        assert_near(value_of(values, "step_p95_ns"), 580.0); /* 200 + 0.95 * 400 */
        gs_record_destroy(record);
    }
}

/* Two rows: 61 + 23 + 11 + 5 + 1 = 101 and 3 + 9 + 27 + 81 + 243 = 363; comm 47 and 1000. */
Test(metrics, parts_are_means_per_rank_and_step_and_add_up_to_the_step)
{
    gs_record *record = gs_record_create(2, false);
    gs_step_row left = {.duration_ns = 101,
                        .compute_ns = 61,
                        .comm_ns = 47,
                        .exposed_comm_ns = 23,
                        .wait_ns = 11,
                        .input_ns = 5,
                        .overhead_ns = 1};
    gs_step_row right = {.rank = 1,
                         .duration_ns = 363,
                         .compute_ns = 3,
                         .comm_ns = 1000,
                         .exposed_comm_ns = 9,
                         .wait_ns = 27,
                         .input_ns = 81,
                         .overhead_ns = 243};
    cr_assert_eq(gs_record_step(record, &left), GS_OK);
    cr_assert_eq(gs_record_step(record, &right), GS_OK);
    double values[METRICS_MAX];
    measure(record, &(gs_run_facts){.end_ns = 363}, values);
    cr_assert_eq(value_of(values, "compute_ns"), 32.0);
    cr_assert_eq(value_of(values, "exposed_comm_ns"), 16.0);
    cr_assert_eq(value_of(values, "wait_ns"), 19.0);
    cr_assert_eq(value_of(values, "input_ns"), 43.0);
    cr_assert_eq(value_of(values, "overhead_ns"), 122.0);
    cr_assert_eq(value_of(values, "comm_ns"), 523.5);
    cr_assert_eq(value_of(values, "step_mean_ns"), 232.0);
    gs_record_destroy(record);
}

/* Rank 0 hides 47 - 23 = 24 of comm 47 behind 61 + 5 of its own work, which could hide all 47; rank
 * 1 hides 100 - 60 = 40, and its 30 + 10 could hide no more than these 40 of 100. 64 / 87. The step
 * is 101 + 103 = 204 over both, of which 23 + 60 exposed and 61 + 30 compute. */
Test(metrics, overlap_is_judged_by_what_each_step_could_hide)
{
    gs_record *record = gs_record_create(2, false);
    gs_step_row left = {.duration_ns = 101,
                        .compute_ns = 61,
                        .comm_ns = 47,
                        .exposed_comm_ns = 23,
                        .wait_ns = 12,
                        .input_ns = 5};
    gs_step_row right = {.rank = 1,
                         .duration_ns = 103,
                         .compute_ns = 30,
                         .comm_ns = 100,
                         .exposed_comm_ns = 60,
                         .input_ns = 10,
                         .overhead_ns = 3};
    cr_assert_eq(gs_record_step(record, &left), GS_OK);
    cr_assert_eq(gs_record_step(record, &right), GS_OK);
    cr_assert_eq(gs_record_hideable_ns(record), 87);
    double values[METRICS_MAX];
    measure(record, &(gs_run_facts){.end_ns = 103, .recovery_ns = 17}, values);
    assert_near(value_of(values, "overlap_efficiency_ratio"), 64.0 / 87.0);
    assert_near(value_of(values, "exposed_ratio"), 83.0 / 204.0);
    assert_near(value_of(values, "utilisation_ratio"), 91.0 / 204.0);
    cr_assert_eq(value_of(values, "recovery_cost_ns"), 17.0);
    gs_record_destroy(record);
}

Test(metrics, without_communication_there_is_no_overlap_to_judge)
{
    gs_record *record = gs_record_create(1, false);
    add_duration(record, 0, 0, 977);
    double values[METRICS_MAX];
    measure(record, &(gs_run_facts){.end_ns = 977}, values);
    cr_assert(isnan(value_of(values, "overlap_efficiency_ratio")));
    cr_assert_eq(value_of(values, "exposed_ratio"), 0.0);
    cr_assert_eq(value_of(values, "utilisation_ratio"), 1.0);
    cr_assert_eq(value_of(values, "recovery_cost_ns"), 0.0);
    gs_record_destroy(record);
}

/* Two ranks, two steps each, 128 samples a step, 4 s: 256 samples, 64 a second. NICs: 2,000 bytes
 * over 2 NICs and 2 steps are 500. */
Test(metrics, samples_and_bytes_come_from_the_facts_of_the_host)
{
    gs_record *record = gs_record_create(2, false);
    for (int64_t step = 0; step < 2; step++) {
        add_duration(record, step, 0, 5);
        add_duration(record, step, 1, 5);
    }
    gs_run_facts facts = {.nic_count = 2,
                          .samples_per_step = 128,
                          .end_ns = 4 * GS_NS_PER_S,
                          .nic_bytes_sent = 2000,
                          .events = 4242};
    double values[METRICS_MAX];
    cr_assert_not(measure(record, &facts, values));
    cr_assert_eq(value_of(values, "samples"), 256.0);
    cr_assert_eq(value_of(values, "samples_per_s"), 64.0);
    cr_assert_eq(value_of(values, "wire_bytes_per_step"), 500.0);
    cr_assert_eq(value_of(values, "run_ns"), 4e9);
    cr_assert_eq(value_of(values, "events"), 4242.0);
    gs_record_destroy(record);
}

Test(metrics, the_target_is_reached_by_the_first_evaluation_at_or_over_it)
{
    gs_record *record = gs_record_create(1, false);
    add_accuracy(record, 10, 2.0, 0.5);
    add_accuracy(record, 20, 1.0, 0.97);
    add_accuracy(record, 30, 0.5, 0.99);
    add_accuracy(record, 40, (double)NAN, (double)NAN);
    double values[METRICS_MAX];
    bool censored = measure(record, &(gs_run_facts){.end_ns = 50000, .target_value = 0.97}, values);
    cr_assert_not(censored);
    cr_assert_eq(value_of(values, "time_to_target_ns"), 20000.0);
    cr_assert_eq(value_of(values, "samples_to_target"), 1280.0);
    cr_assert_eq(value_of(values, "final_loss"), 0.5);
    cr_assert_eq(value_of(values, "final_accuracy"), 0.99);
    gs_record_destroy(record);
}

/* Losses 2, 1 and 0.5 are 2.885, 1.443 and 0.721 bits; of them less is better. */
Test(metrics, a_target_of_loss_or_bits_is_reached_by_falling_to_it)
{
    gs_record *record = gs_record_create(1, false);
    double values[METRICS_MAX];
    add_accuracy(record, 10, 2.0, 0.5);
    add_accuracy(record, 20, 1.0, (double)NAN);
    add_accuracy(record, 30, 0.5, (double)NAN);
    gs_run_facts facts = {.end_ns = 50000, .target_value = 1.0, .target_quality = GS_LOSS};
    cr_assert_not(measure(record, &facts, values));
    cr_assert_eq(value_of(values, "time_to_target_ns"), 20000.0);
    cr_assert(isnan(value_of(values, "final_bits_per_char")));
    facts.target_quality = GS_BITS_PER_CHAR;
    facts.is_text = true;
    cr_assert_not(measure(record, &facts, values));
    cr_assert_eq(value_of(values, "time_to_target_ns"), 30000.0);
    cr_assert_float_eq(value_of(values, "final_bits_per_char"), 0.5 / log(2.0), 1e-12);
    facts.target_value = 0.7;
    cr_assert(measure(record, &facts, values));
    gs_record_destroy(record);
}

Test(metrics, a_run_that_diverged_has_learned_nothing)
{
    gs_record *record = gs_record_create(1, false);
    double values[METRICS_MAX];
    add_accuracy(record, 10, 2.0, 0.5);
    gs_run_facts facts = {.end_ns = 50000, .target_value = 0.4, .has_models = true};
    facts.diverged = true;
    cr_assert_not(measure(record, &facts, values));
    cr_assert(isnan(value_of(values, "final_loss")));
    cr_assert(isnan(value_of(values, "final_accuracy")));
    cr_assert(isnan(value_of(values, "time_to_target_ns")));
    cr_assert(isnan(value_of(values, "consensus_distance")));
    gs_record_destroy(record);
}

Test(metrics, a_missed_target_is_censored_at_the_end_of_the_run)
{
    gs_record *record = gs_record_create(1, false);
    add_accuracy(record, 10, 2.0, 0.5);
    double values[METRICS_MAX];
    bool censored = measure(record, &(gs_run_facts){.end_ns = 50000, .target_value = 0.97}, values);
    cr_assert(censored);
    cr_assert_eq(value_of(values, "time_to_target_ns"), 50000.0);
    cr_assert(isnan(value_of(values, "samples_to_target")));
    gs_record_destroy(record);
}

Test(metrics, what_was_not_measured_is_nan_and_never_zero)
{
    gs_record *record = gs_record_create(1, false);
    double values[METRICS_MAX];
    cr_assert_not(measure(record, &(gs_run_facts){.target_value = 0.97}, values));
    const char *const names[] = {"step_mean_ns",      "step_p50_ns",         "step_p99_ns",
                                 "compute_ns",        "wire_bytes_per_step", "samples_per_s",
                                 "final_loss",        "final_accuracy",      "time_to_target_ns",
                                 "samples_to_target", "exposed_comm_ns"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert(isnan(value_of(values, names[i])), "%s", names[i]);
    }
    cr_assert_eq(value_of(values, "samples"), 0.0);
    gs_record_destroy(record);
}

Test(metrics, no_memory_for_the_quantiles_is_told)
{
    gs_record *record = gs_record_create(1, false);
    add_duration(record, 0, 0, 977);
    double values[METRICS_MAX];
    bool censored = false;
    test_fail_allocations(0);
    gs_status status = gs_record_metrics(record, &(gs_run_facts){.end_ns = 1}, values, &censored);
    test_fail_allocations(-1);
    cr_assert_eq(status, GS_ENOMEM);
    gs_record_destroy(record);
}
