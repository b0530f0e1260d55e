#include <criterion/criterion.h>

#include "base/rng.h"
#include "tests/support.h"

#include <math.h>
#include <signal.h>

/* Known answers of Philox4x32-10 (Random123's kat_vectors); of each block the first two words. The
 * counter is {index, entity, step low, step high | purpose << 24}, the key is {seed low, seed
 * high}. */
Test(rng, draws_are_philox4x32_of_ten_rounds)
{
    gs_rng_key zero = {0};
    cr_expect_eq(gs_rng_bits(zero, 0, 0), UINT64_C(0xe169c58d6627e8d5));

    gs_rng_key ones = {UINT64_MAX, (gs_rng_purpose)0xff, UINT32_MAX};
    cr_expect_eq(gs_rng_bits(ones, UINT64_MAX >> 8, UINT32_MAX), UINT64_C(0x41c83b0e408f276d));

    /* The digits of pi: counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0. */
    gs_rng_key pi = {UINT64_C(0x299f31d0a4093822), (gs_rng_purpose)0x03, 0x85a308d3};
    cr_expect_eq(gs_rng_bits(pi, UINT64_C(0x70734413198a2e), 0x243f6a88),
                 UINT64_C(0x94fdccebd16cfe09));
}

/* Counts that fill no group of lanes, one, and some; what is behind stays as it was. */
Test(rng, many_draws_at_once_are_those_made_one_by_one)
{
    enum { MOST = 67 };
    const uint32_t counts[] = {0, 1, 15, 16, 17, 48, MOST};
    uint32_t entities[MOST];
    uint64_t steps[MOST];
    for (uint32_t i = 0; i < MOST; i++) {
        gs_rng_key key = {9, GS_RNG_TEST, i};
        entities[i] = (uint32_t)gs_rng_bits(key, 0, 0);
        steps[i] = gs_rng_bits(key, 1, 0) >> (9 + i % 40);
    }
    const uint64_t seed = UINT64_C(0xfedcba9876543210);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        double many[MOST + 1];
        many[counts[c]] = -1.0;
        gs_rng_many draws = {seed, GS_RNG_LATENCY, entities, steps, .later = 1000 * c};
        gs_rng_uniforms(&draws, counts[c], many);
        for (uint32_t i = 0; i < counts[c]; i++) {
            gs_rng_key key = {seed, GS_RNG_LATENCY, entities[i]};
            double one = gs_rng_uniform(key, steps[i] + 1000 * c, 0);
            cr_assert(many[i] <= one && many[i] >= one, "%u of %u", i, counts[c]);
        }
        cr_assert_float_eq(many[counts[c]], -1.0, 0.0);
    }
}

Test(rng, a_step_beyond_56_bits_is_a_programmer_error, .signal = SIGABRT)
{
    gs_rng_bits((gs_rng_key){0}, UINT64_C(1) << 56, 0);
}

Test(rng, each_part_of_the_key_changes_the_draw)
{
    gs_rng_key key = {7, GS_RNG_DATA, 3};
    gs_rng_key variants[] = {key, key, key, key};
    variants[0].seed ^= 1;
    variants[1].seed ^= UINT64_C(1) << 63;
    variants[2].purpose = GS_RNG_INIT;
    variants[3].entity ^= 1;
    uint64_t bits = gs_rng_bits(key, 11, 13);
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        cr_expect_neq(gs_rng_bits(variants[i], 11, 13), bits, "variant %zu", i);
    }
    cr_expect_neq(gs_rng_bits(key, 12, 13), bits);
    cr_expect_neq(gs_rng_bits(key, 11 + (UINT64_C(1) << 32), 13), bits);
    cr_expect_neq(gs_rng_bits(key, 11, 14), bits);
    cr_expect_eq(gs_rng_bits(key, 11, 13), bits, "and nothing else does");
}

enum { DRAWS = 200000 };

/* Of n uniform draws the mean is 1/2 with standard error sqrt(1/12 / n), the variance is 1/12 with
 * standard error sqrt((1/80 - 1/144) / n): the fourth central moment is 1/80. */
static void expect_uniform(gs_rng_key key)
{
    double sum = 0.0;
    double squares = 0.0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        double x = gs_rng_uniform(key, i / 1000, i % 1000) - 0.5;
        TEST_REQUIRE(x > -0.5 && x < 0.5, "%g", x);
        sum += x;
        squares += x * x;
    }
    double mean = sum / DRAWS;
    double variance = squares / DRAWS - mean * mean;
    cr_expect(fabs(mean) < 4.0 * sqrt(1.0 / 12.0 / DRAWS), "mean off by %g", mean);
    cr_expect(fabs(variance - 1.0 / 12.0) < 4.0 * sqrt((1.0 / 80.0 - 1.0 / 144.0) / DRAWS),
              "variance %g", variance);
}

Test(rng, uniform_draws_have_the_mean_and_variance_of_the_interval)
{
    expect_uniform((gs_rng_key){1, GS_RNG_TEST, 0});
    expect_uniform((gs_rng_key){UINT64_C(0xdeadbeefcafe), GS_RNG_STRAGGLER, 4095});
}

/* The correlation of n independent pairs has standard error 1 / sqrt(n). */
static double correlation(gs_rng_key a, gs_rng_key b, uint32_t shift)
{
    double products = 0.0;
    for (uint32_t i = 0; i < DRAWS; i++) {
        products += (gs_rng_uniform(a, i, 0) - 0.5) * (gs_rng_uniform(b, i + shift, 0) - 0.5);
    }
    return products / DRAWS * 12.0;
}

Test(rng, purposes_entities_and_steps_are_independent)
{
    gs_rng_key key = {5, GS_RNG_LATENCY, 0};
    gs_rng_key purpose = {5, GS_RNG_BANDWIDTH, 0};
    gs_rng_key entity = {5, GS_RNG_LATENCY, 1};
    gs_rng_key seed = {6, GS_RNG_LATENCY, 0};
    double bound = 4.0 / sqrt((double)DRAWS);
    cr_expect(fabs(correlation(key, purpose, 0)) < bound);
    cr_expect(fabs(correlation(key, entity, 0)) < bound);
    cr_expect(fabs(correlation(key, seed, 0)) < bound);
    cr_expect(fabs(correlation(key, key, 1)) < bound);
}

Test(rng, uniform_draws_use_53_bits)
{
    /* Half of all draws have the lowest of 53 bits set: with 52 or 32 bits none would. */
    int odd = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        double scaled = gs_rng_uniform((gs_rng_key){1, GS_RNG_TEST, 0}, 0, i) * 0x1p53;
        odd += fmod(scaled, 2.0) > 0.5;
    }
    cr_expect(odd > 400 && odd < 600, "%d of 1000", odd); /* 500, standard error 16 */
}
