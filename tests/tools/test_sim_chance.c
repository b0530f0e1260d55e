/* Chances against values worked out by hand, and intervals against distributions that are known. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "tools/sim_chance.h"

#include <math.h>

enum { STEPS = 400, RUNS_MAX = 8, TRIALS = 400 };

static double drawn[RUNS_MAX][STEPS];

static double uniform(uint32_t trial, uint32_t run, uint32_t index)
{
    gs_rng_key key = {trial, GS_RNG_TEST, run};
    return gs_rng_uniform(key, index, 0);
}

/* Two runs of 5 and 3 steps, of which 2 and 2 are longer than 10 (10 itself is not): 4 of 8. The
 * shares 0.4 and 2/3 lie 0.1 and 1/6 off: spread 5 * 0.01 + 3 / 36 = 0.1333, over 1 and 0.25 is
 * 0.5333, below 1. Student's quantile with 1 degree of freedom is 12.7062, its square 161.447:
 * centre 0.5, half width t sqrt(0.25 / 8 + 161.447 / 256) / (1 + 161.447 / 8) = 0.4880. */
Test(sim_chance, a_share_counts_all_steps_of_all_runs)
{
    const double first[] = {11.0, 9.0, 10.0, 12.0, 3.0};
    const double second[] = {10.5, 30.0, 2.0};
    const gs_run_steps runs[] = {{first, 5}, {second, 3}, {NULL, 0}};
    gs_chance chance = gs_chance_over(runs, 3, 10.0);
    cr_assert_eq(chance.count, 8);
    cr_assert_eq(chance.hits, 4);
    cr_assert_eq(chance.value, 0.5);
    cr_assert_float_eq(chance.low, 0.5 - 0.4880, 2e-4, "%f", chance.low);
    cr_assert_float_eq(chance.high, 0.5 + 0.4880, 2e-4, "%f", chance.high);
}

/* With p = 0 Wilson's upper end is t^2 / (n + t^2): n = 500 and t(0.975, 4) = 2.776445 give
 * 7.708647 / 507.708647 = 0.015183. */
Test(sim_chance, never_seen_is_not_impossible)
{
    static const double short_steps[100];
    gs_run_steps runs[5];
    for (int i = 0; i < 5; i++) {
        runs[i] = (gs_run_steps){short_steps, 100};
    }
    gs_chance never = gs_chance_over(runs, 5, 1.0);
    cr_assert_eq(never.value, 0.0);
    cr_assert_float_eq(never.low, 0.0, 1e-12);
    cr_assert_float_eq(never.high, 0.015183, 1e-6);
    gs_chance always = gs_chance_over(runs, 5, -1.0);
    cr_assert_eq(always.value, 1.0);
    cr_assert_float_eq(always.low, 1.0 - 0.015183, 1e-6);
    cr_assert_float_eq(always.high, 1.0, 1e-12);
}

Test(sim_chance, nothing_to_count_is_not_known_and_one_step_tells_next_to_nothing)
{
    const double one[] = {5.0};
    const gs_run_steps runs[] = {{one, 1}};
    cr_assert(isnan(gs_chance_over(runs, 0, 1.0).value));
    gs_chance single = gs_chance_over(runs, 1, 1.0);
    cr_assert_eq(single.value, 1.0);
    cr_assert_eq(single.low, 0.0);
    cr_assert_eq(single.high, 1.0);
}

typedef struct coverage {
    int inside;
    double width; /* mean */
} coverage;

static coverage judge(uint32_t run_count, double truth, void make(uint32_t trial, uint32_t run))
{
    coverage all = {0, 0.0};
    gs_run_steps runs[RUNS_MAX];
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        for (uint32_t run = 0; run < run_count; run++) {
            make(trial, run);
            runs[run] = (gs_run_steps){drawn[run], STEPS};
        }
        gs_chance chance = gs_chance_over(runs, run_count, 1.0);
        all.inside += chance.low <= truth && truth <= chance.high;
        all.width += (chance.high - chance.low) / TRIALS;
    }
    return all;
}

/* Exponential with mean 0.5: P(step > 1) = exp(-2) = 0.1353. */
static void make_exponential(uint32_t trial, uint32_t run)
{
    for (uint32_t i = 0; i < STEPS; i++) {
        drawn[run][i] = -0.5 * log(uniform(trial, run, i));
    }
}

/* Slow phases: a step is as the one before with probability 0.9, else drawn anew: slow (2) with
 * probability 0.2. Its autocorrelation 0.9^k makes 400 steps worth 400 (1 - 0.9) / (1 + 0.9) = 21.
 */
static void make_phases(uint32_t trial, uint32_t run)
{
    for (uint32_t i = 0; i < STEPS; i++) {
        bool anew = i == 0 || uniform(trial, run, i) >= 0.9;
        drawn[run][i] =
            anew ? (uniform(trial, run, STEPS + i) < 0.2 ? 2.0 : 0.5) : drawn[run][i - 1];
    }
}

/* Each run has a share of slow steps of its own, uniform in 0..0.4: mean 0.2. */
static void make_unlike_runs(uint32_t trial, uint32_t run)
{
    double share = 0.4 * uniform(trial, run, 2 * STEPS);
    for (uint32_t i = 0; i < STEPS; i++) {
        drawn[run][i] = uniform(trial, run, i) < share ? 2.0 : 0.5;
    }
}

/* 400 trials of a true 95 % interval lie inside 380 times, less than 365 times with a chance of
 * 0.1 %. Wider is allowed, since inflation is never below 1; four times as wide as the plain
 * interval of 2000 independent steps, 2 * 1.96 sqrt(0.135 * 0.865 / 2000) = 0.030, is not. */
Test(sim_chance, the_interval_covers_the_truth_of_independent_steps)
{
    coverage of = judge(5, exp(-2.0), make_exponential);
    cr_assert_geq(of.inside, 365, "%d", of.inside);
    cr_assert_lt(of.width, 0.12);
}

/* The plain interval, 2 * 1.96 sqrt(0.2 * 0.8 / 2000) = 0.035, would cover no more than 35 %. */
Test(sim_chance, the_interval_covers_the_truth_of_slow_phases)
{
    coverage of = judge(5, 0.2, make_phases);
    cr_assert_geq(of.inside, 365, "%d", of.inside);
    cr_assert_gt(of.width, 0.1);
}

Test(sim_chance, the_interval_covers_the_truth_of_runs_that_differ)
{
    coverage of = judge(8, 0.2, make_unlike_runs);
    cr_assert_geq(of.inside, 365, "%d", of.inside);
}

/* One run has blocks of 20 steps only, shorter than the phases: less than 95 %, and far more than
 * the plain interval has. */
Test(sim_chance, one_run_is_judged_by_its_blocks)
{
    coverage independent = judge(1, exp(-2.0), make_exponential);
    coverage phases = judge(1, 0.2, make_phases);
    cr_assert_geq(independent.inside, 365, "%d", independent.inside);
    cr_assert_geq(phases.inside, 320, "%d", phases.inside);
}

/* R: binom.test(3, 4)$conf.int is 0.1941204 0.9936905. */
Test(sim_chance, who_is_faster_is_counted_over_pairs_of_seeds)
{
    const double base[] = {5.0, 7.0, 9.0, 4.0, (double)NAN};
    const double other[] = {4.0, 6.0, 8.0, 5.0, 1.0};
    gs_chance chance = gs_chance_faster(base, other, 5);
    cr_assert_eq(chance.count, 4);
    cr_assert_eq(chance.hits, 3);
    cr_assert_eq(chance.equal, 0);
    cr_assert_eq(chance.value, 0.75);
    cr_assert_float_eq(chance.low, 0.1941204, 1e-7);
    cr_assert_float_eq(chance.high, 0.9936905, 1e-7);
}

/* All of 5: the low end is (0.025)^(1/5) = 0.478176. Equal times say nothing either way. */
Test(sim_chance, sure_winners_and_equals_have_the_ends_they_must)
{
    const double base[] = {2.0, 2.0, 2.0, 2.0, 2.0};
    const double faster[] = {1.0, 1.0, 1.0, 1.0, 1.0};
    gs_chance sure = gs_chance_faster(base, faster, 5);
    cr_assert_eq(sure.value, 1.0);
    cr_assert_float_eq(sure.low, 0.478176, 1e-6);
    cr_assert_eq(sure.high, 1.0);
    gs_chance equal = gs_chance_faster(base, base, 5);
    cr_assert_eq(equal.equal, 5);
    cr_assert_eq(equal.value, 0.5);
    cr_assert_eq(equal.low, 0.0);
    cr_assert_eq(equal.high, 1.0);
}
