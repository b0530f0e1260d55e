#include "models/layers/curves.h"

#include <math.h>
#include <string.h>

/* Loops of one fixed length are vectorised by every compiler, and so are whole arrays of floats
 * read as bits, where single ones are not. */
enum { BLOCK = 16 };

/* x = n ln 2 + rest with |rest| <= ln 2 / 2; power = 2^n. For |x| <= 87; a NaN stays one in rest.
 * Adding 1.5 2^23 rounds to whole numbers and leaves n in the low bits. ln 2 is taken off in two
 * parts, the first so short that n times it is exact.
 * Source: Cody and Waite, Software Manual for the Elementary Functions, 1980, chapter 6. */
static void split(const float x[BLOCK], float power[BLOCK], float rest[BLOCK])
{
    float shifted[BLOCK];
    uint32_t bits[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        shifted[i] = x[i] * 1.442695041F + 12582912.0F;
    }
    memcpy(bits, shifted, sizeof bits);
    for (int i = 0; i < BLOCK; i++) {
        float n = shifted[i] - 12582912.0F;
        rest[i] = (x[i] - n * 0.693359375F) - n * -2.12194440e-4F;
        bits[i] = (bits[i] - 0x4B400000U + 127U) << 23;
    }
    memcpy(power, bits, sizeof bits);
}

/* e^r - 1 for |r| <= ln 2 / 2, by the Taylor series: what is cut off is below r^8 / 8!, 2e-8 of the
 * value. */
static float expm1_near_0(float r)
{
    float sum = 1.0F / 5040.0F;
    sum = sum * r + 1.0F / 720.0F;
    sum = sum * r + 1.0F / 120.0F;
    sum = sum * r + 1.0F / 24.0F;
    sum = sum * r + 1.0F / 6.0F;
    sum = sum * r + 0.5F;
    return r + r * (r * sum);
}

static void exp_block(const float x[BLOCK], float out[BLOCK])
{
    float clamped[BLOCK];
    float power[BLOCK];
    float rest[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        clamped[i] = x[i] < -87.0F ? -87.0F : x[i];
    }
    split(clamped, power, rest);
    for (int i = 0; i < BLOCK; i++) {
        out[i] = power[i] + power[i] * expm1_near_0(rest[i]);
    }
}

/* (e^2|x| - 1) / (e^2|x| + 1) with x's sign; from |x| = 9 on the nearest float to it is 1. */
static void tanh_block(const float x[BLOCK], float out[BLOCK])
{
    float twice[BLOCK];
    float power[BLOCK];
    float rest[BLOCK];
    for (int i = 0; i < BLOCK; i++) {
        float size = 2.0F * fabsf(x[i]);
        twice[i] = size > 18.0F ? 18.0F : size;
    }
    split(twice, power, rest);
    for (int i = 0; i < BLOCK; i++) {
        float expm1 = power[i] * expm1_near_0(rest[i]) + (power[i] - 1.0F);
        out[i] = copysignf(expm1 / (expm1 + 2.0F), x[i]);
    }
}

/* The last values are worked on in a block of their own, filled up with zeros. */
static void in_blocks(void (*work)(const float x[BLOCK], float out[BLOCK]), const float *x,
                      float *out, int64_t count)
{
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        work(x + i, out + i);
    }
    if (i < count) {
        float last[BLOCK] = {0};
        size_t bytes = (size_t)(count - i) * sizeof(float);
        memcpy(last, x + i, bytes);
        work(last, last);
        memcpy(out + i, last, bytes);
    }
}

void gs_curve_exp(const float *x, float *out, int64_t count)
{
    in_blocks(exp_block, x, out, count);
}

void gs_curve_tanh(const float *x, float *out, int64_t count)
{
    in_blocks(tanh_block, x, out, count);
}
