/* Statistics as R has them (tests/oracle/stats.R, base R alone). Skipped, aloud, where Rscript is
 * not installed. */
#include "tests/support.h"

#include "base/rng.h"
#include "traces/stats/bootstrap.h"
#include "traces/stats/holm.h"
#include "traces/stats/permutation.h"
#include "traces/stats/power.h"
#include "traces/stats/race.h"
#include "traces/stats/rank_sum.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { VALUES_MAX = 64 };

static char question_path[TEST_PATH_BYTES];

static FILE *begin(void)
{
    if (system("Rscript -e 0 >/dev/null 2>&1") != 0) {
        fprintf(stderr, "skipped: no Rscript (package r-base-core)\n");
        cr_skip_test("no R");
    }
    test_temp_path(question_path);
    FILE *out = fopen(question_path, "w");
    cr_assert_not_null(out);
    return out;
}

static void say(FILE *out, const char *name, const double *values, uint32_t count)
{
    fputs(name, out);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, isfinite(values[i]) ? " %.17g" : " Inf", values[i]);
    }
    fputc('\n', out);
}

/* What R answers to what was said: wanted numbers, all of them. */
static void ask(FILE *out, const char *what, double *answers, uint32_t wanted)
{
    char command[2 * TEST_PATH_BYTES + 100];
    fclose(out);
    snprintf(command, sizeof command, "Rscript --vanilla '%s/tests/oracle/stats.R' %s '%s'",
             GS_TEST_SOURCE_DIR, what, question_path);
    FILE *in = popen(command, "r");
    cr_assert_not_null(in);
    uint32_t count = 0;
    double answer = 0.0;
    while (fscanf(in, "%lf", &answer) == 1) {
        TEST_REQUIRE(count < wanted, "%s: more than %u answers", what, wanted);
        answers[count++] = answer;
    }
    cr_assert_eq(pclose(in), 0);
    cr_assert_eq(count, wanted, "%s: %u answers, wanted %u", what, count, wanted);
}

static double uniform(uint32_t set, uint32_t index)
{
    gs_rng_key key = {.seed = 71, .purpose = GS_RNG_TEST, .entity = set};
    return gs_rng_uniform(key, 0, index);
}

/* Normal, exponential and twice exponential values, 6 to 30 of them: ends within 3 % of the width
 * (resampling noise of an end at 4,999 rounds is about 1 % of it). */
Test(stats, bca_of_the_mean)
{
    enum { SETS = 6 };
    static double values[SETS][VALUES_MAX];
    const uint32_t counts[SETS] = {6, 10, 10, 15, 20, 30};
    double answers[2 * SETS];
    FILE *out = begin();
    for (uint32_t set = 0; set < SETS; set++) {
        for (uint32_t i = 0; i < counts[set]; i++) {
            double u = uniform(set, i);
            values[set][i] = set % 2 == 0 ? gsl_cdf_ugaussian_Pinv(u) : -log(u);
        }
        say(out, "x", values[set], counts[set]);
    }
    ask(out, "bca_mean", answers, 2 * SETS);
    for (uint32_t set = 0; set < SETS; set++) {
        gs_samples samples = {.values = {values[set]}, .counts = {counts[set]}};
        gs_interval ours;
        cr_assert_eq(gs_bca(&samples, gs_statistic_mean, 0.05, &ours), GS_OK);
        double width = answers[2 * set + 1] - answers[2 * set];
        cr_assert_float_eq(ours.low, answers[2 * set], 0.03 * width);
        cr_assert_float_eq(ours.high, answers[2 * set + 1], 0.03 * width);
    }
}

/* Means of resamples are continuous, medians are not: an end may be the next value. Mean distance
 * of neighbours here is 1 / 20 of the range, and ends differ by less than one. */
Test(stats, bca_of_the_shift_of_medians)
{
    double values[2][21];
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t i = 0; i < 21; i++) {
            values[s][i] = uniform(20 + s, i) + s;
        }
    }
    FILE *out = begin();
    say(out, "base", values[0], 21);
    say(out, "candidate", values[1], 15);
    double answers[2];
    ask(out, "bca_medians", answers, 2);
    gs_samples samples = {.values = {values[0], values[1]}, .counts = {21, 15}};
    gs_interval ours;
    cr_assert_eq(gs_bca(&samples, gs_statistic_median_shift, 0.05, &ours), GS_OK);
    cr_assert_float_eq(ours.low, answers[0], 0.03 * (answers[1] - answers[0]));
    cr_assert_float_eq(ours.high, answers[1], 0.03 * (answers[1] - answers[0]));
}

Test(stats, sign_flips_are_all_counted)
{
    enum { SETS = 12 };
    static double values[SETS][16];
    double answers[SETS];
    FILE *out = begin();
    for (uint32_t set = 0; set < SETS; set++) {
        for (uint32_t i = 0; i < 5 + set; i++) {
            /* every other set in tenths, so that sums tie */
            double value = uniform(40 + set, i) - 0.3;
            values[set][i] = set % 2 == 0 ? value : round(10.0 * value) / 10.0;
        }
        say(out, "x", values[set], 5 + set);
    }
    ask(out, "signs", answers, SETS);
    for (uint32_t set = 0; set < SETS; set++) {
        cr_assert_float_eq(gs_sign_flip(values[set], 5 + set), answers[set], 1e-12);
    }
}

/* Sizes 1 to 49 without ties (exact), with ties and above 49 (normal law). */
Test(stats, rank_sums)
{
    enum { SETS = 8 };
    static double values[SETS][2][VALUES_MAX];
    const uint32_t counts[SETS][2] = {{1, 3},   {4, 4},   {10, 7}, {49, 49},
                                      {25, 49}, {10, 10}, {5, 30}, {60, 55}};
    double answers[2 * SETS];
    FILE *out = begin();
    for (uint32_t set = 0; set < SETS; set++) {
        for (uint32_t s = 0; s < 2; s++) {
            for (uint32_t i = 0; i < counts[set][s]; i++) {
                double value = uniform(100 + 2 * set + s, i) + 0.1 * s;
                bool tied = set == 5 || set == 6;
                values[set][s][i] = tied ? round(10.0 * value) : value;
            }
            say(out, "x", values[set][s], counts[set][s]);
        }
    }
    ask(out, "wilcox", answers, 2 * SETS);
    for (uint32_t set = 0; set < SETS; set++) {
        gs_rank_sum ours;
        cr_assert_eq(
            gs_rank_sum_test(values[set][0], counts[set][0], values[set][1], counts[set][1], &ours),
            GS_OK);
        cr_assert_eq(ours.exact, set < 5);
        cr_assert_float_eq(ours.u, answers[2 * set], 1e-9);
        TEST_REQUIRE(fabs(ours.p - answers[2 * set + 1]) <= 1e-8 * answers[2 * set + 1],
                     "set %u: p %.12g, R %.12g", set, ours.p, answers[2 * set + 1]);
    }
}

Test(stats, holm_adjusts_as_p_adjust)
{
    double p[40];
    double ours[40];
    double answers[40];
    for (uint32_t i = 0; i < 40; i++) {
        p[i] = pow(uniform(200, i), 4.0);
        p[i] = i % 7 == 0 ? round(100.0 * p[i]) / 100.0 : p[i];
    }
    FILE *out = begin();
    say(out, "p", p, 40);
    ask(out, "holm", answers, 40);
    gs_holm(p, 40, ours);
    for (uint32_t i = 0; i < 40; i++) {
        cr_assert_float_eq(ours[i], answers[i], 1e-12);
    }
}

Test(stats, power_as_power_t_test)
{
    const double plans[][4] = {{2, 1.0, 1.0, 0.05},     {3, 2.0, 0.7, 0.05},
                               {5, 0.5, 0.5, 0.01},     {10, 0.03, 0.04, 0.05},
                               {10, 0.06, 0.04, 0.002}, {30, 0.1, 0.4, 0.05},
                               {100, 0.1, 0.4, 0.05},   {400, 0.05, 0.4, 0.001}};
    enum { PLANS = sizeof plans / sizeof plans[0] };
    double answers[PLANS];
    FILE *out = begin();
    for (uint32_t i = 0; i < PLANS; i++) {
        say(out, "x", plans[i], 4);
    }
    ask(out, "power", answers, PLANS);
    for (uint32_t i = 0; i < PLANS; i++) {
        double ours = gs_paired_power((uint32_t)plans[i][0], plans[i][1], plans[i][2], plans[i][3]);
        TEST_REQUIRE(fabs(ours - answers[i]) <= 1e-6, "plan %u: %.9f, R %.9f", i, ours, answers[i]);
    }
}

/* 12 arms of 30 seeds, some slower, one censored now and then: each leaves at the look at which
 * R's t.test sends it home. */
Test(stats, races_end_alike)
{
    enum { ARMS = 12, SEEDS = 30, LOOKS = 5 };
    static double values[ARMS][SEEDS];
    gs_race_arm arms[ARMS];
    FILE *out = begin();
    for (uint32_t arm = 0; arm < ARMS; arm++) {
        for (uint32_t k = 0; k < SEEDS; k++) {
            double own = gsl_cdf_ugaussian_Pinv(uniform(300 + arm, k));
            double shared = gsl_cdf_ugaussian_Pinv(uniform(299, k));
            values[arm][k] = exp(0.1 * own + 0.3 * shared + 0.012 * arm);
            values[arm][k] = arm == 7 && k % 4 == 3 ? HUGE_VAL : values[arm][k];
        }
        arms[arm] = (gs_race_arm){.values = values[arm]};
        say(out, "arm", values[arm], SEEDS);
    }
    say(out, "plan", (const double[]){LOOKS, 0.05}, 2);
    double answers[ARMS];
    ask(out, "race", answers, ARMS);
    gs_race race =
        gs_race_begin(&(gs_race_config){.arms = ARMS, .looks = LOOKS, .alpha = 0.05}, arms);
    for (uint32_t look = 1; look <= LOOKS; look++) {
        gs_race_look(&race, look * SEEDS / LOOKS);
    }
    uint32_t left = 0;
    for (uint32_t arm = 0; arm < ARMS; arm++) {
        cr_assert_eq((double)arms[arm].out_at_look, answers[arm], "arm %u: %u, R %g", arm,
                     arms[arm].out_at_look, answers[arm]);
        left += arms[arm].out ? 1 : 0;
    }
    cr_assert(left > 0 && left < ARMS - 1);
}
