/* Races: who leaves, who must not, and how often the best one does by chance. */
#include "tests/support.h"

#include "base/rng.h"
#include "traces/stats/race.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>

enum { ARMS_MAX = 24, SEEDS_MAX = 30 };

static double values[ARMS_MAX][SEEDS_MAX];
static gs_race_arm arms[ARMS_MAX];

/* Log-normal values with a part that all arms of a seed share; arm i is slower by `slower`[i]. */
static void draw(uint32_t trial, uint32_t arm_count, double slower, uint32_t from)
{
    for (uint32_t i = 0; i < arm_count; i++) {
        for (uint32_t k = 0; k < SEEDS_MAX; k++) {
            gs_rng_key key = {.seed = 47, .purpose = GS_RNG_TEST, .entity = i + 1};
            gs_rng_key shared = {.seed = 47, .purpose = GS_RNG_TEST, .entity = 0};
            double own = gsl_cdf_ugaussian_Pinv(gs_rng_uniform(key, trial, k));
            double common = gsl_cdf_ugaussian_Pinv(gs_rng_uniform(shared, trial, k));
            values[i][k] = exp(0.05 * own + 0.3 * common + (i >= from ? slower : 0.0));
        }
        arms[i] = (gs_race_arm){.values = values[i]};
    }
}

static gs_race run(uint32_t arm_count, uint32_t looks, double alpha)
{
    gs_race_config config = {.arms = arm_count, .looks = looks, .alpha = alpha};
    gs_race race = gs_race_begin(&config, arms);
    for (uint32_t look = 1; look <= looks; look++) {
        gs_race_look(&race, look * SEEDS_MAX / looks);
    }
    return race;
}

/* All arms are alike, so each is the best one: arm 0 leaves by chance in at most alpha of the
 * races, here 2,000 of 8 arms in 5 looks; and sometimes it does leave, so that the bound is no
 * empty one. */
Test(race, leaves_the_best_arm_in_no_more_than_alpha_of_the_races)
{
    enum { RACES = 2000 };
    double alpha = 0.2;
    uint32_t lost = 0;
    for (uint32_t trial = 0; trial < RACES; trial++) {
        draw(trial, 8, 0.0, 8);
        run(8, 5, alpha);
        lost += arms[0].out ? 1 : 0;
    }
    double allowed = alpha + 4.0 * sqrt(alpha * (1.0 - alpha) / RACES);
    printf("the best of 8 equal arms left %u of %d races, alpha %g\n", lost, RACES, alpha);
    cr_assert_leq(lost, allowed * RACES);
    cr_assert_gt(lost, 0);
}

/* Nearly sure losers: 20 % slower with a spread of log ratios of 0.05 sqrt(2) = 0.0707. After 6
 * seeds the statistic is about 0.2 / 0.0707 * sqrt(6) = 6.9 against the 0.999565 quantile of
 * Student with 5 degrees of freedom, 7.1; after 12 it is 9.8 against 4.5. */
Test(race, sends_clear_losers_home_early)
{
    uint32_t out = 0;
    uint32_t early = 0;
    for (uint32_t trial = 0; trial < 200; trial++) {
        draw(5000 + trial, ARMS_MAX, log(1.2), 1);
        gs_race race = run(ARMS_MAX, 5, 0.05);
        cr_assert_eq(race.leader, 0);
        out += ARMS_MAX - race.in;
        for (uint32_t i = 1; i < ARMS_MAX; i++) {
            early += arms[i].out && arms[i].out_at_look <= 2 ? 1 : 0;
        }
    }
    cr_assert_eq(out, 200 * (ARMS_MAX - 1), "%u", out);
    cr_assert_gt(early, 0.97 * 200 * (ARMS_MAX - 1), "%u", early);
}

/* log(b / a) = 0.1, 0.2, 0.3, 0.2: mean 0.2, spread sqrt(0.02 / 3) = 0.081650, t = 4.898979 with 3
 * degrees of freedom, one-sided p 0.00813833. The level is 0.05 / (2 * 2) = 0.0125: b leaves; c,
 * whose ratios have the mean 0.05 and the spread 0.070711, t = 1.414214, p 0.1260757, stays. */
Test(race, tests_against_the_leader_as_calculated_by_hand)
{
    double a[] = {2.0, 3.0, 2.5, 1.7};
    double b[4];
    double c[4];
    const double log_b[] = {0.1, 0.2, 0.3, 0.2};
    const double log_c[] = {0.0, 0.0, 0.05, 0.15};
    for (int i = 0; i < 4; i++) {
        b[i] = a[i] * exp(log_b[i]);
        c[i] = a[i] * exp(log_c[i]);
    }
    gs_race_arm three[] = {{.values = c}, {.values = b}, {.values = a}};
    gs_race_config config = {.arms = 3, .looks = 2, .alpha = 0.05};
    gs_race race = gs_race_begin(&config, three);
    cr_assert_float_eq(gs_race_level(&config), 0.0125, 1e-15);
    cr_assert_eq(gs_race_look(&race, 4), 1);
    cr_assert(three[1].out && three[1].out_at_look == 1 && three[1].lost_to == 2);
    cr_assert_float_eq(three[1].p, 0.00813833, 1e-7);
    cr_assert(!three[0].out && race.leader == 2 && race.in == 2);
    cr_assert_float_eq(three[0].p, gsl_cdf_tdist_Q(0.05 / sqrt(0.015 / 3.0) * 2.0, 3.0), 1e-9);
}

/* What does not arrive counts as twice the largest: log 2 against log(9 / 10), in four seeds. */
Test(race, an_arm_that_never_arrives_leaves)
{
    double fast[] = {9.0, 9.1, 9.2, 9.0};
    double never[] = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    double slow[] = {10.0, 9.0, 9.1, 9.4};
    gs_race_arm three[] = {{.values = never}, {.values = slow}, {.values = fast}};
    gs_race_config config = {.arms = 3, .looks = 1, .alpha = 0.05};
    gs_race race = gs_race_begin(&config, three);
    gs_race_look(&race, 4);
    cr_assert(three[0].out && !three[1].out && !three[2].out);
    cr_assert_eq(race.leader, 2);
}

Test(race, where_nobody_arrives_nobody_leaves_and_the_simplest_leads)
{
    double never[] = {HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
    gs_race_arm two[] = {{.values = never}, {.values = never}};
    gs_race_config config = {.arms = 2, .looks = 1, .alpha = 0.05};
    gs_race race = gs_race_begin(&config, two);
    cr_assert_eq(gs_race_look(&race, 4), 0);
    cr_assert(race.leader == 0 && race.in == 2);
}

/* Times on a grid of one evaluation in ten differ by one cell in each of four seeds: certain
 * without a least spread (all log ratios alike), within chance with that of the grid: log(11 / 10)
 * over 0.1 / sqrt(6), times 2, is 4.67, p 0.0093, level 0.05 / 10. */
Test(race, equal_differences_on_a_grid_are_not_certain)
{
    double ten[] = {10.0, 10.0, 10.0, 10.0};
    double eleven[] = {11.0, 11.0, 11.0, 11.0};
    for (int with = 0; with < 2; with++) {
        gs_race_arm two[] = {{.values = ten}, {.values = eleven}};
        gs_race_config config = {
            .arms = 2, .looks = 10, .alpha = 0.05, .min_spread = with ? 0.1 / sqrt(6.0) : 0.0};
        gs_race race = gs_race_begin(&config, two);
        gs_race_look(&race, 4);
        cr_assert_eq(two[1].out, !with);
    }
}

Test(race, two_seeds_eliminate_nobody_and_one_arm_races_alone)
{
    double one[] = {1.0, 1.0};
    double two[] = {5.0, 5.0};
    gs_race_arm both[] = {{.values = one}, {.values = two}};
    gs_race_config config = {.arms = 2, .looks = 1, .alpha = 0.05};
    gs_race race = gs_race_begin(&config, both);
    cr_assert_eq(gs_race_look(&race, 2), 0);
    config.arms = 1;
    race = gs_race_begin(&config, both);
    cr_assert(gs_race_look(&race, 2) == 0 && race.in == 1 && race.leader == 0);
}
