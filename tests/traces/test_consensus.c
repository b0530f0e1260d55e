#include "traces/consensus.h"

#include <criterion/criterion.h>
#include <math.h>

/* (0, 0), (2, 0), (4, 3): mean (2, 1); squares 5, 1 and 8, mean 14 / 3. */
Test(consensus, is_the_root_mean_square_distance_from_the_mean)
{
    static const float a[] = {0.0F, 0.0F}, b[] = {2.0F, 0.0F}, c[] = {4.0F, 3.0F};
    const float *const models[] = {a, b, c};
    const double weights[] = {1.0, 1.0, 1.0};
    cr_expect_float_eq(gs_consensus_distance(models, weights, 3, 2), sqrt(14.0 / 3.0), 1e-12);
}

/* 0 counts three times, 8 once: mean 2, squares 4 and 36, mean (3 x 4 + 36) / 4 = 12. */
Test(consensus, counts_models_by_their_weights)
{
    static const float a[] = {0.0F}, b[] = {8.0F};
    const float *const models[] = {a, b};
    const double weights[] = {1.5, 0.5};
    cr_expect_float_eq(gs_consensus_distance(models, weights, 2, 1), sqrt(12.0), 1e-12);
}

Test(consensus, of_equal_models_is_nothing_at_all)
{
    static const float a[] = {0.1F, 1e30F, -3.7F};
    const float *const models[] = {a, a, a};
    const double weights[] = {0.3, 0.1, 0.7};
    cr_expect_eq(gs_consensus_distance(models, weights, 3, 3), 0.0);
}

Test(consensus, of_what_is_not_finite_is_no_number)
{
    const float a[] = {0.0F}, b[] = {(float)INFINITY};
    const float *const models[] = {a, b};
    const double weights[] = {1.0, 1.0};
    cr_expect(isnan(gs_consensus_distance(models, weights, 2, 1)));
}
