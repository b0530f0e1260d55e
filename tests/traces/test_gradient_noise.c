/* The noise scale of gradients whose mean and covariance are planted. */
#include "base/rng.h"
#include "traces/gradient_noise.h"

#include <criterion/criterion.h>
#include <math.h>

/* |g|^2 of batches of 2 and 8: 10 = G2 + S / 2, 4 = G2 + S / 8: S = 16, G2 = 2, scale 8. */
Test(gradient_noise, is_what_two_batch_sizes_say)
{
    gs_gradient_noise noise = {0};
    cr_expect(isnan(gs_gradient_noise_scale(&noise)));
    gs_gradient_noise_add(&noise, 4, 8.0, 10.0, 4.0);
    cr_expect_float_eq(noise.noise, 16.0, 1e-12);
    cr_expect_float_eq(noise.signal, 2.0, 1e-12);
    cr_expect_float_eq(gs_gradient_noise_scale(&noise), 8.0, 1e-12);
    cr_expect_float_eq(gs_gradient_noise_recent(&noise), 8.0, 1e-12);
}

/* Scales 8 (S 16, G2 2) and 1 (S 2, G2 2) have the mean 4.5 and the ratio 18 / 4. With S 16 of G2 2
 * and S 16 of G2 8 it is 32 / 10, while the mean of 8 and 2 is 5. */
Test(gradient_noise, is_the_ratio_of_means)
{
    gs_gradient_noise noise = {0};
    gs_gradient_noise_add(&noise, 4, 8.0, 10.0, 4.0);
    gs_gradient_noise_add(&noise, 4, 8.0, 16.0, 10.0);
    cr_expect_float_eq(gs_gradient_noise_scale(&noise), 3.2, 1e-12);
    /* Of the recent ones the last counts 1 and the one before 0.9: (0.9 x 16 + 16) / (0.9 x 2 + 8).
     */
    cr_expect_float_eq(gs_gradient_noise_recent(&noise), 30.4 / 9.8, 1e-12);
}

Test(gradient_noise, that_drowns_the_gradient_is_not_told)
{
    gs_gradient_noise noise = {0};
    gs_gradient_noise_add(&noise, 4, 8.0, 10.0, 2.0); /* S = 64 / 3, G2 = 2 - 8 / 3 */
    cr_expect(isnan(gs_gradient_noise_scale(&noise)));
}

enum { RANKS = 8, SIZE = 20, LOOKS = 400 };

static double squared(const double *vector)
{
    double sum = 0.0;
    for (int i = 0; i < SIZE; i++) {
        sum += vector[i] * vector[i];
    }
    return sum;
}

/* Box and Muller. */
static double normal(uint32_t entity, uint64_t step)
{
    static const double two_pi = 6.283185307179586;
    gs_rng_key key = {11, GS_RNG_TEST, entity};
    return sqrt(-2.0 * log(gs_rng_uniform(key, step, 0))) *
           cos(two_pi * gs_rng_uniform(key, step, 1));
}

/* One step: each rank's gradient is G and noise of covariance diag(variance) / its samples. */
static void look(uint64_t step, gs_gradient_noise *noise)
{
    double mean[SIZE] = {0};
    double rank_square = 0.0;
    double samples = 0.0;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        double batch = rank % 2 == 0 ? 4.0 : 8.0; /* not all are equal */
        double gradient[SIZE];
        samples += batch;
        for (uint32_t i = 0; i < SIZE; i++) {
            double variance = i + 1.0;
            gradient[i] = 0.5 + sqrt(variance / batch) * normal(rank, step * SIZE + i);
            mean[i] += batch * gradient[i];
        }
        rank_square += batch * squared(gradient);
    }
    for (int i = 0; i < SIZE; i++) {
        mean[i] /= samples;
    }
    gs_gradient_noise_add(noise, RANKS, samples, rank_square / samples, squared(mean));
}

/* S = 1 + 2 + ... + 20 = 210, G2 = 20 x 0.25 = 5: scale 42. Standard errors of the means over the
 * looks, and of their ratio r by the spread of S - r G2 over the looks. */
Test(gradient_noise, of_planted_gradients_is_found)
{
    gs_gradient_noise sum = {0};
    double s[LOOKS], g2[LOOKS];
    for (int i = 0; i < LOOKS; i++) {
        gs_gradient_noise one = {0};
        look((uint64_t)i, &one);
        s[i] = one.noise;
        g2[i] = one.signal;
        look((uint64_t)i, &sum);
    }
    double spread_s = 0.0, spread_g2 = 0.0, spread_ratio = 0.0;
    for (int i = 0; i < LOOKS; i++) {
        spread_s += (s[i] - 210.0) * (s[i] - 210.0);
        spread_g2 += (g2[i] - 5.0) * (g2[i] - 5.0);
        spread_ratio += (s[i] - 42.0 * g2[i]) * (s[i] - 42.0 * g2[i]);
    }
    cr_expect_float_eq(sum.noise / LOOKS, 210.0, 4.0 * sqrt(spread_s) / LOOKS);
    cr_expect_float_eq(sum.signal / LOOKS, 5.0, 4.0 * sqrt(spread_g2) / LOOKS);
    cr_expect_float_eq(gs_gradient_noise_scale(&sum), 42.0, 4.0 * sqrt(spread_ratio) / LOOKS / 5.0);
    cr_expect_lt(4.0 * sqrt(spread_ratio) / LOOKS / 5.0, 10.0); /* the test is worth something */
}
