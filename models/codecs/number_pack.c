/* Numbers as they are (none) and of 16 bits (fp16, bf16): one after the other, addable. */
#include "models/codecs/pack.h"

#include "models/halves.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* ---------------------------------------------------------------- fp32 */

static size_t room_of_4(const gs_pack_rule *rule)
{
    return 4 * rule->count;
}

static size_t encode_none(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    for (size_t i = 0; i < rule->count; i++) {
        gs_put_float(out + 4 * i, in[i]);
    }
    return 4 * rule->count;
}

static bool decode_none(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                        float *out)
{
    if (bytes != 4 * rule->count) {
        return false;
    }
    for (size_t i = 0; i < rule->count; i++) {
        gs_unpack_one(mode, &out[i], gs_get_float(in + 4 * i));
    }
    return true;
}

static void add_none(const gs_pack_rule *rule, uint8_t *sum, const uint8_t *other)
{
    for (size_t i = 0; i < rule->count; i++) {
        gs_put_float(sum + 4 * i, gs_get_float(sum + 4 * i) + gs_get_float(other + 4 * i));
    }
}

const gs_packer gs_packer_none = {.name = "none",
                                  .room_bytes = room_of_4,
                                  .encode = encode_none,
                                  .decode = decode_none,
                                  .add = add_none};

/* ---------------------------------------------------------------- 16 bits */

static size_t room_of_2(const gs_pack_rule *rule)
{
    return 2 * rule->count;
}

/* gs_bf16_of_float without a branch, so that the loop becomes one over vectors. */
GS_INLINE uint16_t bf16_of(float value)
{
    uint32_t bits = gs_bits_of(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t quiet = bits >> 16 | 0x40;
    return (uint16_t)((bits & GS_SIZE_MASK) > GS_INFINITE ? quiet : rounded);
}

GS_INLINE float of_bf16(const uint8_t *in)
{
    return gs_of_bits((uint32_t)gs_get_u16(in) << 16);
}

GS_INLINE void bf16_unpack_body(gs_unpack mode, const uint8_t *in, size_t count, float *out)
{
    if (mode == GS_UNPACK_PUT) {
        for (size_t i = 0; i < count; i++) {
            out[i] = of_bf16(in + 2 * i);
        }
    } else if (mode == GS_UNPACK_ADD) {
        for (size_t i = 0; i < count; i++) {
            out[i] += of_bf16(in + 2 * i);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            out[i] -= of_bf16(in + 2 * i);
        }
    }
}
GS_TWICE(bf16_unpack, (gs_unpack mode, const uint8_t *in, size_t count, float *out),
         (mode, in, count, out))

GS_INLINE void bf16_add_body(uint8_t *sum, const uint8_t *other, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gs_put_u16(sum + 2 * i, bf16_of(of_bf16(sum + 2 * i) + of_bf16(other + 2 * i)));
    }
}
GS_TWICE(bf16_add, (uint8_t * sum, const uint8_t *other, size_t count), (sum, other, count))

#if defined(__x86_64__)

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return has_avx2() && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

#define TARGET_AVX2 __attribute__((target("avx2")))
#define TARGET_F16C __attribute__((target("avx2,f16c")))
enum { NEAREST = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC };

/* A load and a store that ask for no alignment. */
TARGET_F16C static inline __m256 load_halves(const uint8_t *in)
{
    __m128i halves;
    memcpy(&halves, in, sizeof halves);
    return _mm256_cvtph_ps(halves);
}

TARGET_F16C static inline void store_halves(uint8_t *out, __m256 floats)
{
    __m128i halves = _mm256_cvtps_ph(floats, NEAREST);
    memcpy(out, &halves, sizeof halves);
}

/* bf16_of of eight floats, each in the lower half of its 32 bits. */
TARGET_AVX2 static inline __m256i bf16_of_eight(const float *in)
{
    const __m256i one = _mm256_set1_epi32(1), below_half = _mm256_set1_epi32(0x7fff);
    const __m256i size_mask = _mm256_set1_epi32(GS_SIZE_MASK), quiet = _mm256_set1_epi32(0x400000);
    __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(in));
    __m256i is_nan =
        _mm256_cmpgt_epi32(_mm256_and_si256(bits, size_mask), _mm256_set1_epi32(GS_INFINITE));
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(below_half, odd));
    rounded = _mm256_blendv_epi8(rounded, _mm256_or_si256(bits, quiet), is_nan);
    return _mm256_srli_epi32(rounded, 16);
}

/* The whole sixteens; returns how many floats that were. Compilers pack the halves of a plain loop
 * in twice the instructions, and a processor that looks ahead by itself is late here: asking for
 * what comes in a kilobyte saves a quarter of the time. */
TARGET_AVX2 static size_t bf16_pack_by_sixteen(const float *in, size_t count, uint8_t *out)
{
    enum { AHEAD = 256 };
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        _mm_prefetch((const char *)(in + (i + AHEAD < count ? i + AHEAD : i)), _MM_HINT_T0);
        __m256i mixed = _mm256_packus_epi32(bf16_of_eight(in + i), bf16_of_eight(in + i + 8));
        __m256i halves = _mm256_permute4x64_epi64(mixed, _MM_SHUFFLE(3, 1, 2, 0));
        memcpy(out + 2 * i, &halves, sizeof halves);
    }
    return i;
}

/* The whole eights; each returns how many floats that were. */
TARGET_F16C static size_t fp16_pack_by_eight(const float *in, size_t count, uint8_t *out)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        store_halves(out + 2 * i, _mm256_loadu_ps(in + i));
    }
    return i;
}

TARGET_F16C static size_t fp16_unpack_by_eight(gs_unpack mode, const uint8_t *in, size_t count,
                                               float *out)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m256 value = load_halves(in + 2 * i);
        if (mode == GS_UNPACK_ADD) {
            value = _mm256_add_ps(_mm256_loadu_ps(out + i), value);
        } else if (mode == GS_UNPACK_SUB) {
            value = _mm256_sub_ps(_mm256_loadu_ps(out + i), value);
        }
        _mm256_storeu_ps(out + i, value);
    }
    return i;
}

TARGET_F16C static size_t fp16_add_by_eight(uint8_t *sum, const uint8_t *other, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        store_halves(sum + 2 * i,
                     _mm256_add_ps(load_halves(sum + 2 * i), load_halves(other + 2 * i)));
    }
    return i;
}

#else

static bool has_avx2(void)
{
    return false;
}

static bool has_f16c(void)
{
    return false;
}

static size_t bf16_pack_by_sixteen(const float *in, size_t count, uint8_t *out)
{
    (void)in;
    (void)count;
    (void)out;
    return 0;
}

static size_t fp16_pack_by_eight(const float *in, size_t count, uint8_t *out)
{
    (void)in;
    (void)count;
    (void)out;
    return 0;
}

static size_t fp16_unpack_by_eight(gs_unpack mode, const uint8_t *in, size_t count, float *out)
{
    (void)mode;
    (void)in;
    (void)count;
    (void)out;
    return 0;
}

static size_t fp16_add_by_eight(uint8_t *sum, const uint8_t *other, size_t count)
{
    (void)sum;
    (void)other;
    (void)count;
    return 0;
}

#endif

static size_t encode_fp16(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    for (size_t i = has_f16c() ? fp16_pack_by_eight(in, rule->count, out) : 0; i < rule->count;
         i++) {
        gs_put_u16(out + 2 * i, gs_fp16_of_float(in[i]));
    }
    return 2 * rule->count;
}

static bool decode_fp16(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                        float *out)
{
    if (bytes != 2 * rule->count) {
        return false;
    }
    for (size_t i = has_f16c() ? fp16_unpack_by_eight(mode, in, rule->count, out) : 0;
         i < rule->count; i++) {
        gs_unpack_one(mode, &out[i], gs_float_of_fp16(gs_get_u16(in + 2 * i)));
    }
    return true;
}

static void add_fp16(const gs_pack_rule *rule, uint8_t *sum, const uint8_t *other)
{
    for (size_t i = has_f16c() ? fp16_add_by_eight(sum, other, rule->count) : 0; i < rule->count;
         i++) {
        float added =
            gs_float_of_fp16(gs_get_u16(sum + 2 * i)) + gs_float_of_fp16(gs_get_u16(other + 2 * i));
        gs_put_u16(sum + 2 * i, gs_fp16_of_float(added));
    }
}

static size_t encode_bf16(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    for (size_t i = has_avx2() ? bf16_pack_by_sixteen(in, rule->count, out) : 0; i < rule->count;
         i++) {
        gs_put_u16(out + 2 * i, bf16_of(in[i]));
    }
    return 2 * rule->count;
}

static bool decode_bf16(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                        float *out)
{
    if (bytes != 2 * rule->count) {
        return false;
    }
    bf16_unpack(mode, in, rule->count, out);
    return true;
}

static void add_bf16(const gs_pack_rule *rule, uint8_t *sum, const uint8_t *other)
{
    bf16_add(sum, other, rule->count);
}

const gs_packer gs_packer_fp16 = {.name = "fp16",
                                  .room_bytes = room_of_2,
                                  .encode = encode_fp16,
                                  .decode = decode_fp16,
                                  .add = add_fp16};

const gs_packer gs_packer_bf16 = {.name = "bf16",
                                  .room_bytes = room_of_2,
                                  .encode = encode_bf16,
                                  .decode = decode_bf16,
                                  .add = add_bf16};
