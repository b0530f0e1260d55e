#include <criterion/criterion.h>

#include "tests/traces/scenario_fixture.h"
#include "tools/recommend/standings.h"

#include <math.h>

enum { SEEDS = 8, ARMS = 3 };

static gs_cli cli;
static gs_recommend all;
static gs_arm arms[ARMS];
static gs_outcome outcomes[SEEDS]; /* that there are some is all that is looked at */
static gs_standings standings;

static void setup(void)
{
    static const char *const labels[ARMS] = {"allreduce", "allreduce+fp16", "local_sgd:period=4"};
    scenario_setup();
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    all = (gs_recommend){.cli = &cli,
                         .scenario = &scenario,
                         .learns = true,
                         .arms = arms,
                         .arm_count = ARMS,
                         .confirm_seeds = SEEDS};
    for (uint32_t i = 0; i < ARMS; i++) {
        arms[i] = (gs_arm){.label = labels[i],
                           .scenario = &scenario,
                           .price = 1.0,
                           .sample_ns = 100.0,
                           .outcomes = outcomes};
    }
}

TestSuite(recommend_standings, .init = setup, .fini = scenario_teardown);

/* Every other seed `spread` above and below `mean`, by logarithms. */
static void give(uint32_t arm, double mean, double spread)
{
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        arms[arm].confirm[seed] = mean * exp(seed % 2 == 0 ? spread : -spread);
    }
}

static void make(uint32_t count)
{
    const gs_arm *const who[ARMS] = {&arms[0], &arms[1], &arms[2]};
    gs_standings_make(&all, who, count, &standings);
}

/* Ratios without spread: all-reduce at twice the time wins where it gets as fast as 1.01 times the
 * other, that is by a factor above log(1.01 / 2). */
Test(recommend_standings, a_choice_flips_where_the_simpler_one_ties)
{
    give(0, 200.0, 0.0);
    give(1, 1000.0, 0.0);
    give(2, 100.0, 0.0);
    make(ARMS);
    const double today[ARMS] = {0.0, 0.0, 0.0};
    const double before[ARMS] = {log(1.02 / 2.0), 0.0, 0.0};
    const double behind[ARMS] = {log(1.005 / 2.0), 0.0, 0.0};
    cr_expect_eq(gs_standings_judge(&standings, today).winner, 2u);
    cr_expect_eq(gs_standings_judge(&standings, before).winner, 2u);
    gs_standing there = gs_standings_judge(&standings, behind);
    cr_expect_eq(there.leader, 2u, "it is still ahead");
    cr_expect_eq(there.winner, 0u);
    cr_expect(there.ties[0] && !there.ties[1] && !there.ties[2]);
}

/* Logarithms of ratios are log(2) +- 0.2, half of each: their mean of 8 has a standard error of
 * 0.2 / sqrt(8) = 0.071, so that the interval of 95 % ends near log(2) -+ 0.14. All-reduce that
 * is 1.05 times slower ties, at 1.3 times it does not. */
Test(recommend_standings, a_tie_is_one_of_the_interval_too)
{
    give(0, 200.0, 0.2);
    give(2, 100.0, 0.0);
    arms[1].label = "allreduce"; /* not looked at */
    const gs_arm *const who[2] = {&arms[0], &arms[2]};
    gs_standings_make(&all, who, 2, &standings);
    cr_expect_float_eq(standings.pairings[0][1].mean, log(2.0), 1e-12);
    cr_expect_float_eq(standings.pairings[0][1].low, log(2.0) - 0.14, 0.02);
    const double near[2] = {log(1.05 / 2.0), 0.0};
    const double far[2] = {log(1.3 / 2.0), 0.0};
    cr_expect_eq(gs_standings_judge(&standings, near).winner, 0u);
    cr_expect_eq(gs_standings_judge(&standings, far).winner, 1u);
}

/* Two periods of one strategy are as simple: 0.5 % apart they tie, and the better one wins. */
Test(recommend_standings, of_those_as_simple_the_leader_wins)
{
    const double today[2] = {0.0, 0.0};
    const gs_arm *const who[2] = {&arms[1], &arms[2]};
    arms[1].label = "local_sgd:period=16";
    give(1, 100.5, 0.0);
    give(2, 100.0, 0.0);
    gs_standings_make(&all, who, 2, &standings);
    gs_standing there = gs_standings_judge(&standings, today);
    cr_expect(there.ties[0]);
    cr_expect_eq(there.winner, 1u);
}

/* An arm that misses one seed is no tie of one that misses none, whatever its time. A miss counts
 * as twice the budget of 12800 samples of 100 ns. */
Test(recommend_standings, what_misses_the_target_does_not_tie)
{
    give(0, 100.0, 0.0);
    give(2, 100.0, 0.0);
    arms[0].confirm[3] = (double)INFINITY;
    const gs_arm *const who[2] = {&arms[0], &arms[2]};
    gs_standings_make(&all, who, 2, &standings);
    const double today[2] = {0.0, 0.0};
    gs_standing there = gs_standings_judge(&standings, today);
    cr_expect_eq(there.winner, 1u);
    cr_expect_not(there.ties[0]);
    cr_expect_eq(standings.pairings[0][1].pairs, SEEDS - 1u);
    cr_expect_float_eq(standings.pairings[0][1].score, log(2.0 * 12800.0 * 100.0 / 100.0) / SEEDS,
                       1e-9);
}

/* Two arms have the seeds in common that both have: the race's where one was not confirmed. One
 * that left in screening has the samples of the exact arm at its own speed, here half of it. */
Test(recommend_standings, seeds_are_those_that_both_have)
{
    give(0, 200.0, 0.1);
    give(1, 100.0, 0.0);
    arms[1].outcomes = NULL;
    arms[2].outcomes = NULL;
    arms[2].sample_ns = 200.0;
    arms[0].race_seeds = 6;
    arms[1].race_seeds = 4;
    for (uint32_t seed = 0; seed < 6; seed++) {
        arms[0].race[seed] = 300.0;
        arms[1].race[seed] = seed < 4 ? 100.0 : 1.0;
    }
    make(ARMS);
    cr_expect_eq(standings.pairings[0][1].set, GS_SEEDS_RACED);
    cr_expect_eq(standings.pairings[0][1].seeds, 4u);
    cr_expect_float_eq(standings.pairings[0][1].mean, log(3.0), 1e-12);
    cr_expect_eq(standings.pairings[2][0].set, GS_SEEDS_CONFIRMED);
    cr_expect_float_eq(standings.pairings[2][0].mean, log(2.0), 1e-12);
    cr_expect_float_eq(standings.pairings[2][0].high, log(2.0), 1e-9);
}

/* Over 200 draws the mean moves as a mean of 8 values of +-0.2 does: standard error 0.071, of which
 * 200 draws know the standard deviation to 5 %, twice. */
Test(recommend_standings, draws_of_seeds_move_the_mean_and_its_interval)
{
    enum { DRAWS = 200 };
    static gs_standings moved;
    double squares = 0.0;
    give(0, 200.0, 0.2);
    give(1, 200.0, 0.2);
    give(2, 100.0, 0.0);
    make(ARMS);
    for (uint32_t round = 0; round < DRAWS; round++) {
        gs_standings_resample(&standings, round, &moved);
        double by = moved.pairings[0][2].mean - standings.pairings[0][2].mean;
        squares += by * by / DRAWS;
        cr_expect_float_eq(moved.pairings[0][2].low - standings.pairings[0][2].low, by, 1e-12);
        cr_expect_float_eq(moved.pairings[0][1].mean, 0.0, 1e-12, "the same seeds for all arms");
    }
    cr_expect_float_eq(sqrt(squares), 0.2 / sqrt((double)SEEDS), 0.1 * 0.2 / sqrt((double)SEEDS));
}
