/* One Philox block per draw: the counter says which draw, the key is the seed; no state is kept. */
#include "base/rng.h"

#include <Random123/philox.h>

#include "base/assert.h"
#include "base/wide.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { PURPOSE_SHIFT = 24, ROUNDS = 10 };
#define STEP_MAX ((INT64_C(1) << GS_RNG_STEP_BITS) - 1)

uint64_t gs_rng_bits(gs_rng_key key, uint64_t step, uint32_t index)
{
    /* Step and purpose share the upper words, so that no two draws of a seed have one counter. */
    GS_ASSERT(step >> GS_RNG_STEP_BITS == 0);
    GS_ASSERT((uint32_t)key.purpose < UINT32_C(1) << (32 - PURPOSE_SHIFT));
    philox4x32_ctr_t counter = {{index, key.entity, (uint32_t)step,
                                 (uint32_t)(step >> 32) | (uint32_t)key.purpose << PURPOSE_SHIFT}};
    philox4x32_key_t words = {{(uint32_t)key.seed, (uint32_t)(key.seed >> 32)}};
    philox4x32_ctr_t block = philox4x32_R(ROUNDS, counter, words);
    return (uint64_t)block.v[1] << 32 | block.v[0];
}

double gs_rng_uniform(gs_rng_key key, uint64_t step, uint32_t index)
{
    uint64_t numerator = gs_rng_bits(key, step, index) >> 11;
    /* 0 stands for the lower half of its cell: the one value that would leave the open interval. */
    return numerator == 0 ? 0x1p-54 : (double)numerator * 0x1p-53;
}

/* ---------------------------------------------------------------- many */

#if defined(__x86_64__)
enum { LANES = 4 };

/* The upper words of counters: 64 bits of a step and a purpose. */
GS_WIDE static __m256i steps_of(const gs_rng_many *of, uint32_t from)
{
    __m256i steps = _mm256_loadu_si256((const void *)(of->steps + from));
    steps = _mm256_add_epi64(steps, _mm256_set1_epi64x((int64_t)of->later));
    GS_ASSERT(_mm256_testz_si256(steps, _mm256_set1_epi64x(-1 - STEP_MAX)));
    return steps;
}

/* The numerator in two parts, each as the fraction of a double of known size, as no instruction
 * converts whole numbers of 64 bits: all sums are exact. The constants are 2^52 and 2^84. */
GS_WIDE static __m256d uniforms_of(__m256i numerators)
{
    const __m256i low_of = _mm256_set1_epi64x(0x4330000000000000);
    const __m256i high_of = _mm256_set1_epi64x(0x4530000000000000);
    __m256i lows = _mm256_blend_epi32(numerators, low_of, 0xaa);
    __m256i highs = _mm256_or_si256(_mm256_srli_epi64(numerators, 32), high_of);
    __m256d low = _mm256_sub_pd(_mm256_castsi256_pd(lows), _mm256_set1_pd(0x1p52));
    __m256d high = _mm256_sub_pd(_mm256_castsi256_pd(highs), _mm256_set1_pd(0x1p84));
    __m256d uniforms = _mm256_mul_pd(_mm256_add_pd(high, low), _mm256_set1_pd(0x1p-53));
    return _mm256_max_pd(uniforms, _mm256_set1_pd(0x1p-54));
}

/* Words of four counters at a time, each in the lower half of 64 bits: the upper one holds whatever
 * a product left there, and no product reads it. Returns how many were drawn. */
GS_WIDE static uint32_t draw_fours(const gs_rng_many *of, uint32_t count, double *out)
{
    const __m256i by_0 = _mm256_set1_epi64x(PHILOX_M4x32_0);
    const __m256i by_1 = _mm256_set1_epi64x(PHILOX_M4x32_1);
    const __m256i purpose = _mm256_set1_epi64x((int64_t)of->purpose << PURPOSE_SHIFT);
    __m256i keys[ROUNDS][2];
    for (uint32_t round = 0; round < ROUNDS; round++) {
        keys[round][0] = _mm256_set1_epi64x((uint32_t)of->seed + round * PHILOX_W32_0);
        keys[round][1] = _mm256_set1_epi64x((uint32_t)(of->seed >> 32) + round * PHILOX_W32_1);
    }
    uint32_t done = 0;
    for (; done + LANES <= count; done += LANES) {
        __m256i steps = steps_of(of, done);
        __m128i entities = _mm_loadu_si128((const void *)(of->entities + done));
        __m256i word_0 = _mm256_setzero_si256();
        __m256i word_1 = _mm256_cvtepu32_epi64(entities);
        __m256i word_2 = steps;
        __m256i word_3 = _mm256_or_si256(_mm256_srli_epi64(steps, 32), purpose);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            __m256i first = _mm256_mul_epu32(word_0, by_0);
            __m256i second = _mm256_mul_epu32(word_2, by_1);
            word_1 = _mm256_xor_si256(word_1, keys[round][0]);
            word_3 = _mm256_xor_si256(word_3, keys[round][1]);
            word_0 = _mm256_xor_si256(word_1, _mm256_srli_epi64(second, 32));
            word_2 = _mm256_xor_si256(word_3, _mm256_srli_epi64(first, 32));
            word_1 = second;
            word_3 = first;
        }
        __m256i bits = _mm256_blend_epi32(word_0, _mm256_slli_epi64(word_1, 32), 0xaa);
        _mm256_storeu_pd(out + done, uniforms_of(_mm256_srli_epi64(bits, 11)));
    }
    return done;
}
#endif

void gs_rng_uniforms(const gs_rng_many *of, uint32_t count, double *out)
{
    uint32_t done = 0;
#if defined(__x86_64__)
    done = GS_IS_WIDE ? draw_fours(of, count, out) : 0;
#endif
    for (; done < count; done++) {
        gs_rng_key key = {of->seed, of->purpose, of->entities[done]};
        out[done] = gs_rng_uniform(key, of->steps[done] + of->later, 0);
    }
}
