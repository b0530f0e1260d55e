/* Medians, what is left out of them, and how sure they are. */
#include "base/rng.h"
#include "traces/robust.h"

#include <criterion/criterion.h>
#include <math.h>

Test(robust, the_middle_of_odd_and_even_counts)
{
    double odd[] = {9.0, 7.0, 8.0};
    double even[] = {10.0, 7.0, 8.0, 9.0};
    double one[] = {3.0};
    cr_expect_float_eq(gs_middle_of(odd, 3).median, 8.0, 0.0);
    cr_expect_float_eq(gs_middle_of(even, 4).median, 8.5, 0.0);
    cr_expect_float_eq(gs_middle_of(one, 1).median, 3.0, 0.0);
    cr_expect_eq(gs_middle_of(one, 1).kept, 1);
}

Test(robust, the_spread_of_a_normal_law_is_its_deviation)
{
    enum { COUNT = 4001 };
    double values[COUNT];
    gs_rng_key key = {1, GS_RNG_TEST, 5};
    for (uint32_t i = 0; i < COUNT; i++) {
        double radius = sqrt(-2.0 * log(gs_rng_uniform(key, i, 0)));
        values[i] = 100.0 + 3.0 * radius * cos(6.283185307179586 * gs_rng_uniform(key, i, 1));
    }
    /* The MAD of n values has a relative standard error of about 1.17 / sqrt(n), here 1.8 %. */
    cr_expect_float_eq(gs_middle_of(values, COUNT).spread, 3.0, 4.0 * 0.018 * 3.0);
}

Test(robust, values_far_on_both_sides_do_not_count)
{
    /* Distances to the median 10 are 1 2 0 1 2 90 9: their median is 2, the spread 2.97. */
    double values[] = {11.0, 12.0, 10.0, 9.0, 8.0, 100.0, -9.0};
    gs_middle middle = gs_middle_of(values, 7);
    cr_expect_float_eq(middle.spread, 2.0 * 1.4826, 1e-12);
    cr_expect_eq(middle.first, 1); /* 19 away is more than 6 x 2.97 = 17.8 */
    cr_expect_eq(middle.kept, 5);
    cr_expect_float_eq(middle.median, 10.0, 0.0);
}

Test(robust, equal_values_do_not_throw_out_their_neighbours)
{
    double values[] = {1000.0, 1000.0, 1000.0, 1000.5, 1002.0};
    gs_middle middle = gs_middle_of(values, 5);
    cr_expect_float_eq(middle.spread, 0.0, 0.0);
    cr_expect_eq(middle.kept, 4); /* 0.05 % away counts, 0.2 % does not */
}

Test(robust, the_interval_of_a_median_holds_it_in_95_of_100)
{
    enum { COUNT = 15 };
    int held = 0;
    for (uint32_t trial = 0; trial < 100; trial++) {
        double values[COUNT], scratch[COUNT];
        gs_rng_key key = {2, GS_RNG_TEST, trial};
        for (uint32_t i = 0; i < COUNT; i++) {
            values[i] = -log(gs_rng_uniform(key, i, 0)); /* exponential: median ln 2 */
        }
        gs_estimate estimate = gs_median_estimate(values, COUNT, scratch);
        held += estimate.low <= 0.6931471805599453 && estimate.high >= 0.6931471805599453;
        cr_expect_leq(estimate.low, estimate.value);
        cr_expect_geq(estimate.high, estimate.value);
    }
    cr_expect_geq(held, 95, "in %d", held);
    cr_expect_leq(held, 100);
}

Test(robust, few_values_are_their_own_interval)
{
    double values[] = {5.0, 6.0, 4.0};
    double scratch[3];
    gs_estimate estimate = gs_median_estimate(values, 3, scratch);
    cr_expect_float_eq(estimate.value, 5.0, 0.0);
    cr_expect_float_eq(estimate.low, 4.0, 0.0);
    cr_expect_float_eq(estimate.high, 6.0, 0.0);
}
