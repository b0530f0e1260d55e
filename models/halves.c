#include "models/halves.h"

#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

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

/* The upper bits of a whole number, rounded to nearest, ties to even. */
static uint32_t shifted(uint32_t value, uint32_t shift)
{
    uint32_t half = UINT32_C(1) << (shift - 1);
    return (value + half - 1 + (value >> shift & 1)) >> shift;
}

/* ---------------------------------------------------------------- one number */

enum { EXPONENT_SHIFT = 112 /* biases: 127 of a float less 15 of a half */ };

uint16_t gs_fp16_of_float(float value)
{
    const uint32_t infinite = 0x7f800000, too_large = 0x477ff000; /* 65520: half way to 65536 */
    const uint32_t normal = 0x38800000;                           /* 2^-14 */
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t size = bits & 0x7fffffff;
    if (size > infinite) {
        return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff)); /* quiet, with its upper bits */
    }
    if (size >= too_large) {
        return (uint16_t)(sign | 0x7c00);
    }
    if (size >= normal) {
        return (uint16_t)(sign | shifted(size - ((uint32_t)EXPONENT_SHIFT << 23), 13));
    }
    uint32_t exponent = size >> 23;
    if (exponent < 102) { /* below 2^-25, half of the smallest: 0 */
        return (uint16_t)sign;
    }
    /* fraction 2^(exponent - 150) in units of 2^-24. */
    uint32_t fraction = (size & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | shifted(fraction, 126 - exponent));
}

float gs_float_of_fp16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;
    if (exponent == 0x1f) {
        uint32_t quiet = fraction != 0 ? 0x400000 : 0;
        return float_of(sign | 0x7f800000 | quiet | fraction << 13);
    }
    if (exponent == 0) { /* fraction 2^-24 is a normal float, and exact */
        float size = (float)fraction * 0x1p-24F;
        return float_of(sign | bits_of(size));
    }
    return float_of(sign | (exponent + EXPONENT_SHIFT) << 23 | fraction << 13);
}

uint16_t gs_bf16_of_float(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float gs_float_of_bf16(uint16_t half)
{
    return float_of((uint32_t)half << 16);
}

/* ---------------------------------------------------------------- many */

#if defined(__x86_64__)

/* Both read a register that every x86-64 processor has, so asking again costs little. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) != 0 &&
           (c & bit_F16C) != 0;
}

/* The whole eights of floats; returns how many floats that were. */
__attribute__((target("avx2,f16c"))) static size_t round_fp16_by_eight(float *floats, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(floats + i),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        _mm256_storeu_ps(floats + i, _mm256_cvtph_ps(halves));
    }
    return i;
}

__attribute__((target("avx2"))) static size_t round_bf16_by_eight(float *floats, size_t count)
{
    const __m256i one = _mm256_set1_epi32(1), below_half = _mm256_set1_epi32(0x7fff);
    const __m256i size_mask = _mm256_set1_epi32(0x7fffffff), upper = _mm256_set1_epi32(~0xffff);
    const __m256i infinite = _mm256_set1_epi32(0x7f800000), quiet = _mm256_set1_epi32(0x400000);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(floats + i));
        __m256i is_nan = _mm256_cmpgt_epi32(_mm256_and_si256(bits, size_mask), infinite);
        __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
        __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(below_half, odd));
        rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, quiet), is_nan);
        _mm256_storeu_ps(floats + i, _mm256_castsi256_ps(_mm256_and_si256(rounded, upper)));
    }
    return i;
}

static size_t round_by_eight(gs_number number, float *floats, size_t count)
{
    if (!has_f16c()) {
        return 0;
    }
    return number == GS_FP16 ? round_fp16_by_eight(floats, count)
                             : round_bf16_by_eight(floats, count);
}

#else

static size_t round_by_eight(gs_number number, float *floats, size_t count)
{
    (void)number;
    (void)floats;
    (void)count;
    return 0;
}

#endif

void gs_half_round(gs_number number, float *floats, size_t count)
{
    if (number != GS_FP16 && number != GS_BF16) {
        return;
    }
    for (size_t i = round_by_eight(number, floats, count); i < count; i++) {
        floats[i] = number == GS_FP16 ? gs_float_of_fp16(gs_fp16_of_float(floats[i]))
                                      : gs_float_of_bf16(gs_bf16_of_float(floats[i]));
    }
}
