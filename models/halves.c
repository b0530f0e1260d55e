#include "models/halves.h"

#include "models/element.h"

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

uint16_t gs_fp16_of_float(float value)
{
    return gs_element_fp16_of(value);
}

float gs_float_of_fp16(uint16_t half)
{
    return gs_element_of_fp16(half);
}

uint16_t gs_bf16_of_float(float value)
{
    return gs_element_bf16_of(value);
}

float gs_float_of_bf16(uint16_t half)
{
    return gs_element_of_bf16(half);
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
