#include <criterion/criterion.h>

#include "base/rng.h"
#include "models/halves.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounding as it is defined, in doubles, which hold every product here exactly: digits counts those
 * after the leading one, exponents go from least to most. */
static double rounded(double value, int digits, int least, int most)
{
    if (isnan(value) || isinf(value) || !(fabs(value) > 0.0)) {
        return value;
    }
    int exponent;
    (void)frexp(value, &exponent); /* value is m 2^exponent, m in [1/2, 1) */
    exponent = exponent - 1 > least ? exponent - 1 : least;
    double unit = ldexp(1.0, exponent - digits);
    double result = nearbyint(value / unit) * unit; /* to even, the mode of every C program */
    return fabs(result) >= ldexp(2.0, most) ? copysign((double)INFINITY, value) : result;
}

static double reference(gs_number number, float value)
{
    return number == GS_FP16 ? rounded((double)value, 10, -14, 15)
                             : rounded((double)value, 7, -126, 127);
}

static float once(gs_number number, float value)
{
    return number == GS_FP16 ? gs_float_of_fp16(gs_fp16_of_float(value))
                             : gs_float_of_bf16(gs_bf16_of_float(value));
}

/* By the functions for one number and by the one for many, in every place of a vector. */
static void expect_rounded(gs_number number, float value)
{
    float wanted = (float)reference(number, value);
    float single = once(number, value);
    float many[19];
    for (size_t i = 0; i < 19; i++) {
        many[i] = value;
    }
    gs_half_round(number, many, 19);
    for (size_t i = 0; i < 19; i++) {
        cr_assert_eq(bits_of(many[i]), bits_of(single), "%a at %zu: %a, not %a", (double)value, i,
                     (double)many[i], (double)single);
    }
    if (isnan(value)) {
        cr_assert(isnan(single));
        cr_assert_eq(signbit(single) != 0, signbit(value) != 0);
    } else {
        cr_assert_eq(bits_of(single), bits_of(wanted), "%a: %a, not %a", (double)value,
                     (double)single, (double)wanted);
    }
}

Test(halves, every_fp16_comes_back_from_a_float)
{
    for (uint32_t half = 0; half < 65536; half++) {
        float value = gs_float_of_fp16((uint16_t)half);
        uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
        if (exponent == 0x1f && fraction != 0) {
            cr_assert(isnan(value));
            /* NaN keeps its bits and becomes quiet. */
            cr_assert_eq(gs_fp16_of_float(value), half | 0x200, "%x", half);
        } else {
            double size = exponent == 0x1f ? (double)INFINITY
                          : exponent == 0  ? ldexp(fraction, -24)
                                           : ldexp(1024 + fraction, (int)exponent - 25);
            cr_assert_eq((double)value, (half & 0x8000) != 0 ? -size : size, "%x", half);
            cr_assert_eq(gs_fp16_of_float(value), half);
        }
        expect_rounded(GS_FP16, value);
    }
}

Test(halves, every_bf16_comes_back_from_a_float)
{
    for (uint32_t half = 0; half < 65536; half++) {
        float value = gs_float_of_bf16((uint16_t)half);
        cr_assert_eq(bits_of(value), half << 16);
        cr_assert_eq(gs_bf16_of_float(value), isnan(value) ? half | 0x40 : half);
        expect_rounded(GS_BF16, value);
    }
}

/* Around every number of either kind: one float below and above the point half way to the next,
 * and that point itself, which goes to the even one. */
Test(halves, points_between_two_halves_go_to_the_nearest)
{
    for (uint32_t half = 0; half < 0x7c00; half++) {
        /* 65504 is followed by infinity as if that were 65536. */
        double next = half == 0x7bff ? 65536.0 : (double)gs_float_of_fp16((uint16_t)(half + 1));
        float middle = (float)(((double)gs_float_of_fp16((uint16_t)half) + next) / 2.0);
        for (int step = -1; step <= 1; step++) {
            float value = float_of(bits_of(middle) + (uint32_t)step);
            uint16_t wanted = (uint16_t)(step < 0 ? half : step > 0 ? half + 1 : half + half % 2);
            cr_assert_eq(gs_fp16_of_float(value), wanted, "%a", (double)value);
            cr_assert_eq(gs_fp16_of_float(-value), wanted | 0x8000);
            expect_rounded(GS_FP16, value);
        }
    }
    for (uint32_t half = 0; half < 0x7f80; half++) {
        for (uint32_t low = 0x7fff; low <= 0x8001; low++) {
            float value = float_of(half << 16 | low);
            uint16_t wanted = (uint16_t)(low < 0x8000   ? half
                                         : low > 0x8000 ? half + 1
                                                        : half + half % 2);
            cr_assert_eq(gs_bf16_of_float(value), wanted, "%a", (double)value);
            expect_rounded(GS_BF16, value);
        }
    }
}

Test(halves, what_is_too_large_is_infinite_and_what_is_too_small_is_zero)
{
    cr_expect_eq(once(GS_FP16, 65504.0F), 65504.0F); /* the largest: 2^16 - 2^5 */
    cr_expect_eq(once(GS_FP16, 65519.996F), 65504.0F);
    cr_expect(isinf(once(GS_FP16, 65520.0F)));
    cr_expect(once(GS_FP16, -1e30F) < 0.0F && isinf(once(GS_FP16, -1e30F)));
    cr_expect_eq(once(GS_FP16, 0x1p-24F), 0x1p-24F); /* the smallest */
    cr_expect_eq(bits_of(once(GS_FP16, 0x1p-25F)), 0);
    cr_expect_eq(once(GS_FP16, 0x1.000002p-25F), 0x1p-24F);
    cr_expect_eq(bits_of(once(GS_FP16, -1e-30F)), 0x80000000);
    cr_expect_eq(once(GS_BF16, 3e38F), 0x1.c4p127F); /* 225.7 of 2^120: 226 */
    cr_expect(isinf(once(GS_BF16, 3.4e38F)));
    cr_expect_eq(once(GS_BF16, 1.0F + 0x1p-8F), 1.0F);
    cr_expect_eq(once(GS_BF16, 1.0F + 0x1.8p-7F), 1.0F + 0x1p-6F);
}

Test(halves, random_floats_are_rounded_as_defined)
{
    gs_rng_key key = {.seed = 11, .purpose = GS_RNG_DELAY};
    for (uint64_t i = 0; i < 50000; i++) {
        double bits = gs_rng_uniform(key, 0, (uint32_t)i) * 0x1p32;
        /* Any bits, and once more with an exponent that a half has. */
        uint32_t any = (uint32_t)bits;
        float small = (float)ldexp((bits - 0x1p31) / 0x1p31, (int)(i % 48) - 30);
        const float values[2] = {float_of(any), small};
        for (int k = 0; k < 2; k++) {
            for (gs_number number = GS_FP16; number <= GS_BF16; number++) {
                float wanted = (float)reference(number, values[k]);
                float got = values[k];
                gs_half_round(number, &got, 1);
                cr_assert(isnan(wanted) ? isnan(got) : bits_of(got) == bits_of(wanted),
                          "%a: %a, not %a", (double)values[k], (double)got, (double)wanted);
            }
        }
    }
}

Test(halves, vectors_have_the_bits_of_single_numbers)
{
    enum { COUNT = 4099 };
    static float many[COUNT], before[COUNT];
    gs_rng_key key = {.seed = 5, .purpose = GS_RNG_DELAY};
    for (gs_number number = GS_FP16; number <= GS_BF16; number++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            before[i] = many[i] = float_of((uint32_t)(gs_rng_uniform(key, number, i) * 0x1p32));
        }
        gs_half_round(number, many, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            cr_assert_eq(bits_of(many[i]), bits_of(once(number, before[i])));
        }
    }
}

Test(halves, full_precision_is_left_alone)
{
    float values[2] = {0.1F, 1e30F};
    gs_half_round(GS_FP32, values, 2);
    gs_half_round(GS_FP64, values, 2);
    cr_expect(values[0] == 0.1F && values[1] == 1e30F);
}
