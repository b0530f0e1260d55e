/* Predictions against measurements: medians, their intervals, errors by yardstick, verdicts. */
#include "traces/judge.h"

#include "base/rng.h"
#include "traces/record.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static gs_estimate one(double value)
{
    return gs_estimate_of(&value, 1);
}

Test(judge, every_judged_name_is_a_metric_or_the_decisions)
{
    for (uint32_t i = 0; i < gs_judged_count(); i++) {
        const gs_judged *judged = gs_judged_at(i);
        bool is_metric = gs_metric_find(judged->name) < gs_metric_count();
        cr_assert(is_metric || strcmp(judged->name, "decisions") == 0, "%s", judged->name);
        cr_assert_eq(gs_judged_find(judged->name), i);
    }
    cr_assert_eq(gs_judged_find("step_p50"), gs_judged_find("step_p50_ns"));
    cr_assert_eq(gs_judged_find("events"), gs_judged_count());
}

/* Binomial with p = 1/2: of n = 5 values all lie on one side of the median with 2/32 = 6.25 %; of
 * n = 6 with 2/64 = 3.1 %; of n = 7 with 1.6 %, at most one beyond with 16/128 = 12.5 %; of n = 9
 * at most one beyond with 20/512 = 3.9 %. */
Test(judge, the_interval_of_a_median_is_that_of_the_order_statistics)
{
    double values[9] = {7.25, 1.5, 3.0, 9.125, 4.0, 2.75, 8.0, 6.5, 5.0};
    gs_estimate five = gs_estimate_of(values, 5); /* 1.5 3.0 4.0 7.25 9.125 */
    cr_assert_eq(five.value, 4.0);
    cr_assert(isnan(five.low));
    cr_assert(isnan(five.high));
    gs_estimate six = gs_estimate_of(values, 6); /* with 2.75 */
    cr_assert_eq(six.value, 3.5);
    cr_assert_eq(six.low, 1.5);
    cr_assert_eq(six.high, 9.125);
    gs_estimate seven = gs_estimate_of(values, 7); /* with 8.0 */
    cr_assert_eq(seven.value, 4.0);
    cr_assert_eq(seven.low, 1.5);
    cr_assert_eq(seven.high, 9.125);
    gs_estimate nine = gs_estimate_of(values, 9); /* 1.5 2.75 3 4 5 6.5 7.25 8 9.125 */
    cr_assert_eq(nine.count, 9);
    cr_assert_eq(nine.value, 5.0);
    cr_assert_eq(nine.low, 2.75);
    cr_assert_eq(nine.high, 8.0);
    cr_assert(isnan(gs_estimate_of(values, 0).value));
}

/* Of 15 values k is 4: P(Bin(15, 1/2) <= 3) = 576 / 32768 = 1.76 %, so that the interval covers
 * 96.5 %. 2000 draws of the exponential law, whose median is ln 2: four standard errors of the
 * share are 4 sqrt(0.965 x 0.035 / 2000) = 1.65 %. */
Test(judge, the_interval_holds_the_true_median_as_often_as_it_says)
{
    enum { DRAWS = 2000, VALUES = 15 };
    int held = 0;
    for (uint64_t draw = 0; draw < DRAWS; draw++) {
        double values[VALUES];
        for (uint32_t i = 0; i < VALUES; i++) {
            values[i] = -log(gs_rng_uniform((gs_rng_key){4711, GS_RNG_TEST, 0}, draw, i));
        }
        gs_estimate estimate = gs_estimate_of(values, VALUES);
        held += estimate.low <= log(2.0) && log(2.0) <= estimate.high;
    }
    cr_assert_float_eq((double)held / DRAWS, 1.0 - 2.0 * 576.0 / 32768.0, 0.0165);
}

/* 238.5 against 250: 238.5 / 250 - 1 = -4.6 %; against a step of 1000: -1.15 %; difference -11.5.
 */
Test(judge, an_error_is_of_what_was_measured_of_the_step_or_a_difference)
{
    gs_estimate predicted = one(238.5);
    gs_estimate measured = one(250.0);
    gs_judgement judgement = gs_judge(GS_YARDSTICK_MEASURED, &predicted, &measured, 1000.0, 0.05);
    cr_assert_float_eq(judgement.error, -0.046, 1e-15);
    cr_assert(judgement.inside);
    cr_assert_not(gs_judge(GS_YARDSTICK_MEASURED, &predicted, &measured, 1000.0, 0.0459).inside);
    judgement = gs_judge(GS_YARDSTICK_STEP, &predicted, &measured, 1000.0, 0.0115);
    cr_assert_float_eq(judgement.error, -0.0115, 1e-15);
    cr_assert(judgement.inside);
    judgement = gs_judge(GS_YARDSTICK_DIFFERENCE, &predicted, &measured, 1000.0, 11.4);
    cr_assert_float_eq(judgement.error, -11.5, 1e-12);
    cr_assert_not(judgement.inside);
}

Test(judge, nothing_against_nothing_is_no_error_and_something_against_nothing_is_a_large_one)
{
    gs_estimate nothing = one(0.0);
    gs_estimate something = one(0.25);
    cr_assert_eq(gs_judge(GS_YARDSTICK_MEASURED, &nothing, &nothing, 1.0, 0.0).error, 0.0);
    cr_assert(gs_judge(GS_YARDSTICK_MEASURED, &nothing, &nothing, 1.0, 0.0).inside);
    cr_assert(isinf(gs_judge(GS_YARDSTICK_MEASURED, &something, &nothing, 1.0, 0.5).error));
    cr_assert_not(gs_judge(GS_YARDSTICK_MEASURED, &something, &nothing, 1.0, 0.5).inside);
}

/* Of 3 values with one not reached the median is reached; of 2 it is not. */
Test(judge, a_target_that_neither_reaches_is_foretold_and_one_that_only_one_reaches_is_not)
{
    double mostly[] = {(double)INFINITY, 3.0, 5.0};
    double half[] = {(double)INFINITY, 3.0};
    gs_estimate reached = gs_estimate_of(mostly, 3);
    gs_estimate missed = gs_estimate_of(half, 2);
    cr_assert_eq(reached.value, 5.0);
    cr_assert(isinf(missed.value));
    cr_assert(gs_judge(GS_YARDSTICK_MEASURED, &missed, &missed, 1.0, 0.1).inside);
    cr_assert_not(gs_judge(GS_YARDSTICK_MEASURED, &missed, &reached, 1.0, 0.1).inside);
    cr_assert_not(gs_judge(GS_YARDSTICK_MEASURED, &reached, &missed, 1.0, 0.1).inside);
}

/* Predicted 100, tolerance 5 %: inside from 95.24 to 105.26 measured. The interval of 99 ... 107
 * reaches across, that of 97 ... 105 does not. */
Test(judge, a_verdict_is_unsure_where_the_measured_interval_reaches_across_the_limit)
{
    double wide[] = {99.0, 100.5, 101.0, 101.5, 102.0, 107.0};
    double narrow[] = {97.0, 100.5, 101.0, 101.5, 102.0, 105.0};
    gs_estimate predicted = one(100.0);
    gs_estimate measured = gs_estimate_of(wide, 6);
    gs_judgement judgement = gs_judge(GS_YARDSTICK_MEASURED, &predicted, &measured, 1.0, 0.05);
    cr_assert(judgement.inside);
    cr_assert(judgement.unsure);
    measured = gs_estimate_of(narrow, 6);
    judgement = gs_judge(GS_YARDSTICK_MEASURED, &predicted, &measured, 1.0, 0.05);
    cr_assert(judgement.inside);
    cr_assert_not(judgement.unsure);
    measured = gs_estimate_of(narrow, 5);
    cr_assert_not(gs_judge(GS_YARDSTICK_MEASURED, &predicted, &measured, 1.0, 0.001).unsure);
}
