/* Sign flips, rank sums, Holm and power, against counts made by hand. */
#include "tests/support.h"

#include "base/rng.h"
#include "traces/stats/history.h"
#include "traces/stats/holm.h"
#include "traces/stats/permutation.h"
#include "traces/stats/power.h"
#include "traces/stats/rank_sum.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* {1, 2, 3}: only all signs equal come as far as 6, 2 of 8. {3, 1, -1} has the sum 3: 5, 3, 3 and
 * their negatives come that far, 6 of 8. */
Test(permutation, counts_patterns_of_signs)
{
    cr_assert_float_eq(gs_sign_flip((const double[]){1.0, 2.0, 3.0}, 3), 0.25, 1e-15);
    cr_assert_float_eq(gs_sign_flip((const double[]){3.0, 1.0, -1.0}, 3), 0.75, 1e-15);
    cr_assert_float_eq(gs_sign_flip((const double[]){0.3}, 1), 1.0, 1e-15);
    cr_assert_eq(gs_sign_flip((const double[]){0.0, 0.0}, 2), 1.0);
    cr_assert_eq(gs_sign_flip(NULL, 0), 1.0);
}

/* 0.1 + 0.2 - 0.3 is not 0 in binary: sums of the same numbers in other orders must count as equal.
 * {0.1, 0.2, 0.3, 0.4}: the sum 1; of 16 only two come that far. {0.1, 0.2, 0.3, -0.4}: 0.2;
 * |+-1 +-2 +-3 +-4| >= 2 but for 1+4-2-3 = 0 and its negative: 14 of 16. */
Test(permutation, rounding_makes_no_difference)
{
    cr_assert_float_eq(gs_sign_flip((const double[]){0.1, 0.2, 0.3, 0.4}, 4), 0.125, 1e-15);
    cr_assert_float_eq(gs_sign_flip((const double[]){0.1, 0.2, 0.3, -0.4}, 4), 0.875, 1e-15);
}

/* Ones of either sign: the sum is that of a binomial. 24 with 18 up: P(|S| >= 12) = 2 P(B(24, 1/2)
 * >= 18) = 0.0226558; drawn patterns come within four standard errors of 100,000. */
Test(permutation, above_twenty_it_draws)
{
    double ones[24];
    for (int i = 0; i < 24; i++) {
        ones[i] = i < 18 ? 1.0 : -1.0;
    }
    double expected = 2.0 * gsl_cdf_binomial_Q(17, 0.5, 24);
    double error = sqrt(expected * (1.0 - expected) / GS_SIGN_FLIP_ROUNDS);
    cr_assert_float_eq(expected, 0.0226558, 1e-7);
    cr_assert_float_eq(gs_sign_flip(ones, 24), expected, 4.0 * error);
    cr_assert_float_eq(gs_sign_flip(ones, 18), ldexp(2.0, -18), 1e-15);
}

/* ECOSYSTEM: n = 5 cannot go below 0.0625, n = 10 not below 0.00195, which carries 25 rows at 0.05:
 * 26 need 0.00192, so 11. */
Test(permutation, says_how_many_seeds_a_level_needs)
{
    cr_assert_eq(gs_sign_flip_least(5), 0.0625);
    cr_assert_eq(gs_sign_flip_least(10), 0.001953125);
    cr_assert_eq(gs_sign_flip_needs(0.05), 6);
    cr_assert_eq(gs_sign_flip_needs(0.05 / 25.0), 10);
    cr_assert_eq(gs_sign_flip_needs(0.05 / 26.0), 11);
    cr_assert_eq(gs_sign_flip_needs(1e-9), GS_SIGN_FLIP_EXACT_MAX + 1);
}

static gs_rank_sum rank_sum(const double *first, uint32_t first_count, const double *second,
                            uint32_t second_count)
{
    gs_rank_sum sum = {0};
    cr_assert_eq(gs_rank_sum_test(first, first_count, second, second_count, &sum), GS_OK);
    return sum;
}

/* Three below three others: one arrangement of C(6, 3) = 20 on either side. With 2.5 among {1, 2,
 * 3} and 4: U = 2 of 3 * 2; arrangements of U <= 2 (from the other end): U of 2 among 5 are 0:1 1:1
 * 2:2, so 4 of 10, twice. */
Test(rank_sum, counts_arrangements)
{
    gs_rank_sum apart =
        rank_sum((const double[]){1.0, 2.0, 3.0}, 3, (const double[]){4.0, 5.0, 6.0}, 3);
    cr_assert(apart.exact && apart.u == 0.0);
    cr_assert_float_eq(apart.p, 0.1, 1e-12);
    gs_rank_sum mixed = rank_sum((const double[]){1.0, 2.5, 4.0}, 3, (const double[]){2.0, 3.0}, 2);
    cr_assert(mixed.exact && mixed.u == 3.0);
    cr_assert_float_eq(mixed.p, 1.0, 1e-12); /* U = 3 is the middle of 0..6 */
    gs_rank_sum near = rank_sum((const double[]){1.0, 2.5, 2.7}, 3, (const double[]){2.0, 3.0}, 2);
    cr_assert(near.exact && near.u == 2.0);
    cr_assert_float_eq(near.p, 0.8, 1e-12);
}

/* Ties 1 1 and 2 2: 6 + 6. U = 1/2; variance 9 / 12 (7 - 12 / 30) = 4.95; z = (4 - 1/2) /
 * sqrt(4.95) = 1.573132; p = 0.1156880. Two values that are not reached are a tie too. */
Test(rank_sum, corrects_for_ties)
{
    const double first[] = {1.0, 1.0, 2.0};
    gs_rank_sum finite = rank_sum(first, 3, (const double[]){2.0, 3.0, 4.0}, 3);
    cr_assert(!finite.exact && finite.u == 0.5);
    cr_assert_float_eq(finite.p, 2.0 * gsl_cdf_ugaussian_Q(3.5 / sqrt(4.95)), 1e-14);
    cr_assert_float_eq(finite.p, 0.1156880, 1e-6);
    const double never[] = {HUGE_VAL, HUGE_VAL};
    gs_rank_sum alike = rank_sum(never, 2, never, 2);
    cr_assert(alike.u == 2.0 && alike.p == 1.0);
}

Test(rank_sum, says_how_many_values_a_level_needs)
{
    cr_assert_float_eq(gs_rank_sum_least(4, 4), 2.0 / 70.0, 1e-12);
    cr_assert_eq(gs_rank_sum_needs(0.05), 4);
    cr_assert_eq(gs_rank_sum_needs(0.01), 5); /* 2 / 252 = 0.0079 */
}

/* Sorted 0.005 0.01 0.03 0.04 times 4 3 2 1: 0.02 0.03 0.06 0.04, and no less than before. */
Test(holm, multiplies_from_the_least_up)
{
    double adjusted[4];
    gs_holm((const double[]){0.01, 0.04, 0.03, 0.005}, 4, adjusted);
    cr_assert_float_eq(adjusted[0], 0.03, 1e-15);
    cr_assert_float_eq(adjusted[1], 0.06, 1e-15);
    cr_assert_float_eq(adjusted[2], 0.06, 1e-15);
    cr_assert_float_eq(adjusted[3], 0.02, 1e-15);
    gs_holm((const double[]){0.6, 0.6}, 2, adjusted);
    cr_assert(adjusted[0] == 1.0 && adjusted[1] == 1.0);
}

/* R: power.t.test(n = 10, delta = 1, sd = 1, type = "one.sample") says 0.8030962; of no shift at
 * all, alpha / 2 is found on the right side; of 2 pairs one degree of freedom is left. */
Test(power, is_that_of_the_noncentral_t_distribution)
{
    cr_assert_float_eq(gs_paired_power(10, 1.0, 1.0, 0.05), 0.8030962, 1e-6);
    cr_assert_float_eq(gs_paired_power(10, 0.0, 1.0, 0.05), 0.025, 1e-6);
    cr_assert_float_eq(gs_paired_power(2, 0.0, 1.0, 0.05), 0.025, 1e-5);
    cr_assert_float_eq(gs_detectable_shift(10, 1.0, 0.05, 0.8030962), 1.0, 1e-5);
    cr_assert_eq(gs_detectable_shift(10, 0.0, 0.05, 0.8), 0.0);
    cr_assert(isnan(gs_detectable_shift(1, 1.0, 0.05, 0.8)));
}

/* The sign-flip test, which judges, finds as often as the power of Student's test says: 2,000
 * trials of 10 pairs, at a shift that the formula finds in 80 of 100, within four standard errors
 * of 0.8 (0.036). */
Test(power, of_sign_flips_is_close_to_it_at_ten_pairs)
{
    enum { TRIALS = 2000, PAIRS = 10 };
    double shift = gs_detectable_shift(PAIRS, 0.05, 0.05, 0.8);
    uint32_t found = 0;
    for (uint32_t trial = 0; trial < TRIALS; trial++) {
        double differences[PAIRS];
        double sum = 0.0;
        for (uint32_t i = 0; i < PAIRS; i++) {
            gs_rng_key key = {.seed = 9, .purpose = GS_RNG_TEST, .entity = 9};
            double normal = gsl_cdf_ugaussian_Pinv(gs_rng_uniform(key, trial, i));
            differences[i] = shift + 0.05 * normal;
            sum += differences[i];
        }
        found += gs_sign_flip(differences, PAIRS) <= 0.05 && sum > 0.0 ? 1 : 0;
    }
    cr_assert_float_eq((double)found / TRIALS, 0.8, 0.036, "%u", found);
}

/* Median 100, absolute deviations 0 1 1 2 30: the middle one is 1, times 3 over 100. One value far
 * off does not move it. */
Test(history, the_limit_is_three_median_deviations)
{
    const double values[] = {101.0, 100.0, 99.0, 130.0, 102.0};
    const double around[] = {100.0, 101.0, 99.0, 102.0, 70.0};
    cr_assert_float_eq(gs_history_limit(around, 5), 0.03, 1e-12);
    cr_assert_float_eq(gs_history_limit(values, 5), 3.0 / 101.0, 1e-12);
    cr_assert(isnan(gs_history_limit(values, 4)));
}
