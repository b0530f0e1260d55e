#include <criterion/criterion.h>

#include "models/dataset_random.h"

#include <math.h>
#include <string.h>

static const gs_rng_key key = {.seed = 23, .purpose = GS_RNG_TEST, .entity = 5};

/* Of n draws the mean is off by 1 / sqrt(n), the second moment by sqrt(2 / n), the fourth by
 * sqrt(96 / n); 5 of these are allowed. */
Test(dataset_random, normals_have_the_moments_of_the_normal_distribution)
{
    enum { COUNT = 100001 };
    static double x[COUNT];
    double moments[4] = {0};
    gs_data_normals(key, 7, x, COUNT);
    for (int i = 0; i < COUNT; i++) {
        moments[0] += x[i] / COUNT;
        moments[1] += x[i] * x[i] / COUNT;
        moments[2] += x[i] * x[i] * x[i] / COUNT;
        moments[3] += x[i] * x[i] * x[i] * x[i] / COUNT;
    }
    cr_expect_float_eq(moments[0], 0.0, 5 / sqrt(COUNT), "%g", moments[0]);
    cr_expect_float_eq(moments[1], 1.0, 5 * sqrt(2.0 / COUNT), "%g", moments[1]);
    cr_expect_float_eq(moments[2], 0.0, 5 * sqrt(15.0 / COUNT), "%g", moments[2]);
    cr_expect_float_eq(moments[3], 3.0, 5 * sqrt(96.0 / COUNT), "%g", moments[3]);
    double correlation = 0.0; /* of the two that one pair of draws gives */
    for (int i = 0; i + 1 < COUNT; i += 2) {
        correlation += x[i] * x[i + 1] / (COUNT / 2);
    }
    cr_expect_float_eq(correlation, 0.0, 5 / sqrt(COUNT / 2.0));
}

Test(dataset_random, fewer_normals_are_the_first_of_more)
{
    double few[3];
    double many[8];
    gs_data_normals(key, 1, few, 3);
    gs_data_normals(key, 1, many, 8);
    cr_expect(memcmp(few, many, sizeof few) == 0);
    gs_data_normals(key, 2, few, 3);
    cr_expect(few[0] != many[0]);
}

/* Gamma of shape a: mean a and variance a, mean of the logarithm psi(a). psi(0.05) = -20.4978,
 * psi(1) = -0.57722, psi(3.7) = 1.16715 (Abramowitz and Stegun, 6.3); its variance psi'(a) is
 * 401.5, 1.645, 0.3113. */
Test(dataset_random, gamma_draws_have_the_moments_of_their_shape)
{
    enum { COUNT = 40000 };
    const double shapes[3] = {0.05, 1.0, 3.7};
    const double log_means[3] = {-20.4978, -0.57722, 1.16715};
    const double log_variances[3] = {401.5, 1.645, 0.3113};
    for (int k = 0; k < 3; k++) {
        double mean = 0.0;
        double log_mean = 0.0;
        for (int i = 0; i < COUNT; i++) {
            double drawn = gs_data_log_gamma(key, (uint64_t)i, shapes[k]);
            mean += exp(drawn) / COUNT;
            log_mean += drawn / COUNT;
        }
        cr_expect_float_eq(mean, shapes[k], 5 * sqrt(shapes[k] / COUNT), "shape %g: %g", shapes[k],
                           mean);
        cr_expect_float_eq(log_mean, log_means[k], 5 * sqrt(log_variances[k] / COUNT),
                           "shape %g: %g", shapes[k], log_mean);
    }
}

/* Dirichlet (a, b, c) of sum s: means a/s, variances a (s - a) / (s^2 (s + 1)). */
Test(dataset_random, dirichlet_shares_have_the_means_and_variances_of_their_shapes)
{
    enum { COUNT = 20000 };
    const double shapes[3] = {0.2, 0.5, 1.3};
    double means[3] = {0};
    double squares[3] = {0};
    for (uint32_t i = 0; i < COUNT; i++) {
        double shares[3];
        gs_rng_key own = {.seed = 23, .purpose = GS_RNG_TEST, .entity = i};
        gs_data_dirichlet(own, shapes, shares, 3);
        cr_assert_float_eq(shares[0] + shares[1] + shares[2], 1.0, 1e-12);
        for (int k = 0; k < 3; k++) {
            means[k] += shares[k] / COUNT;
            squares[k] += shares[k] * shares[k] / COUNT;
        }
    }
    for (int k = 0; k < 3; k++) {
        double variance = shapes[k] * (2.0 - shapes[k]) / (4.0 * 3.0);
        cr_expect_float_eq(means[k], shapes[k] / 2.0, 5 * sqrt(variance / COUNT), "%d", k);
        cr_expect_float_eq(squares[k] - means[k] * means[k], variance, 0.05 * variance, "%d", k);
    }
}

/* Shapes so small that the draws themselves would all be 0 in a double. */
Test(dataset_random, tiny_shapes_give_one_class_and_no_division_by_zero)
{
    const double shapes[3] = {1e-6, 1e-6, 1e-6};
    int wins[3] = {0};
    for (uint32_t i = 0; i < 300; i++) {
        double shares[3];
        gs_rng_key own = {.seed = 4, .purpose = GS_RNG_TEST, .entity = i};
        gs_data_dirichlet(own, shapes, shares, 3);
        for (int k = 0; k < 3; k++) {
            cr_assert(shares[k] >= 0.0 && shares[k] <= 1.0);
            wins[k] += shares[k] > 0.999;
        }
    }
    cr_expect_eq(wins[0] + wins[1] + wins[2], 300);
    for (int k = 0; k < 3; k++) { /* 100 each, standard deviation 8.2 */
        cr_expect(wins[k] > 60 && wins[k] < 140, "%d", wins[k]);
    }
}
