#include <criterion/criterion.h>

#include "tools/sim_stats.h"

#include <math.h>

Test(sim_stats, a_spread_leaves_out_what_is_not_finite)
{
    const double values[] = {2.0, (double)NAN, 4.0, 9.0, (double)INFINITY};
    gs_spread spread = gs_spread_of(values, 5);
    cr_assert_eq(spread.count, 3);
    /* Mean 15/3; squares 9 + 1 + 16 = 26, over 2 is 13. t(0.975, 2) = 4.302653: half width
     * 4.302653 sqrt(13/3) = 8.956686. */
    cr_assert_float_eq(spread.mean, 5.0, 1e-12);
    cr_assert_float_eq(spread.sd, sqrt(13.0), 1e-12);
    cr_assert_float_eq(spread.low, 5.0 - 8.956686, 1e-5);
    cr_assert_float_eq(spread.high, 5.0 + 8.956686, 1e-5);
}

Test(sim_stats, one_value_has_no_spread_and_none_no_mean)
{
    const double values[] = {7.0, (double)NAN};
    gs_spread one = gs_spread_of(values, 1);
    gs_spread none = gs_spread_of(values + 1, 1);
    cr_assert_eq(one.count, 1);
    cr_assert(isnan(one.sd));
    cr_assert(isnan(one.low));
    cr_assert_eq(none.count, 0);
    cr_assert(isnan(none.mean));
}

Test(sim_stats, a_ratio_is_the_geometric_mean_of_pairs)
{
    const double base[] = {200.0, 800.0, 100.0, 5.0};
    const double other[] = {100.0, 100.0, (double)NAN, 0.0};
    gs_ratio ratio = gs_ratio_of(base, other, 4);
    /* Ratios 2 and 8: sqrt(16) = 4. Logs ln 2 and ln 8 have mean ln 4 and sd ln 2 sqrt(2), the half
     * width is t(0.975, 1) ln 2 = 12.706205 x 0.693147 = 8.807268. */
    cr_assert_eq(ratio.pairs, 2);
    cr_assert_float_eq(ratio.value, 4.0, 1e-12);
    cr_assert_float_eq(log(ratio.low), log(4.0) - 8.807268, 1e-5);
    cr_assert_float_eq(log(ratio.high), log(4.0) + 8.807268, 1e-5);
    cr_assert(gs_ratio_is_tie(&ratio));
}

Test(sim_stats, equal_times_tie_exactly_and_a_sure_difference_does_not)
{
    const double base[] = {3.0, 5.0, 7.0};
    const double twice[] = {6.0, 10.0, 14.0};
    gs_ratio same = gs_ratio_of(base, base, 3);
    gs_ratio half = gs_ratio_of(base, twice, 3);
    cr_assert(gs_ratio_is_tie(&same));
    cr_assert_float_eq(same.low, 1.0, 0.0);
    cr_assert_float_eq(same.high, 1.0, 0.0);
    cr_assert_float_eq(half.value, 0.5, 1e-12);
    cr_assert_not(gs_ratio_is_tie(&half));
}

Test(sim_stats, with_one_pair_equal_times_tie_and_those_within_5e_4)
{
    const double base[] = {3.0};
    const double other[] = {3.0012}; /* 4e-4 */
    const double far[] = {3.0018};   /* 6e-4 */
    gs_ratio same = gs_ratio_of(base, base, 1);
    gs_ratio near = gs_ratio_of(base, other, 1);
    cr_assert(gs_ratio_is_tie(&same));
    gs_ratio apart = gs_ratio_of(base, far, 1);
    cr_assert(gs_ratio_is_tie(&near));
    cr_assert_not(gs_ratio_is_tie(&apart));
    cr_assert(isnan(near.low));
}

Test(sim_stats, a_sure_difference_below_5e_4_is_a_tie)
{
    const double base[] = {3.0, 5.0, 7.0};
    const double other[] = {3.00015, 5.00025, 7.00035}; /* 5e-5 each: low and high are below 1 */
    gs_ratio ratio = gs_ratio_of(base, other, 3);
    cr_assert_lt(ratio.high, 1.0);
    cr_assert(gs_ratio_is_tie(&ratio));
}

Test(sim_stats, a_censored_median_is_unknown_once_it_falls_on_the_censored)
{
    double scratch[4];
    const double three[] = {(double)NAN, 5.0, 1.0};
    const double four[] = {(double)NAN, 5.0, 1.0, (double)NAN};
    const double even[] = {8.0, (double)NAN, 1.0, 2.0};
    cr_assert_float_eq(gs_median_censored(three, 3, scratch), 5.0, 0.0);
    /* Between 5 and what is larger than all: not known. */
    cr_assert(isnan(gs_median_censored(four, 4, scratch)));
    cr_assert_float_eq(gs_median_censored(even, 4, scratch), 5.0, 1e-12);
    cr_assert(isnan(gs_median_censored(four, 0, scratch)));
}
