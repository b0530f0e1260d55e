/* What encoders share: bytes of the wire, bits of floats, lanes of sums, counted random words. */
#ifndef GS_MODELS_CODECS_PACK_H
#define GS_MODELS_CODECS_PACK_H

#include "models/codec_kernels.h"

#include <string.h>

#define GS_PACKER(stem) extern const gs_packer gs_packer_##stem;
#include "models/codecs/packers.def"
#undef GS_PACKER

#define GS_INLINE static inline __attribute__((always_inline))

/* GS_TWICE(name, parameters, arguments) makes name(parameters) of the inline function name_body:
 * compiled for every processor and for AVX2, chosen at run time. The source is one, and no
 * operation is contracted or reordered, so both give the same bits. Returns nothing. */
#if defined(__x86_64__)
#define GS_TWICE(name, parameters, arguments)                                                      \
    __attribute__((target("avx2"))) static void name##_avx2 parameters                             \
    {                                                                                              \
        name##_body arguments;                                                                     \
    }                                                                                              \
    static void name parameters                                                                    \
    {                                                                                              \
        if (__builtin_cpu_supports("avx2")) {                                                      \
            name##_avx2 arguments;                                                                 \
        } else {                                                                                   \
            name##_body arguments;                                                                 \
        }                                                                                          \
    }
#else
#define GS_TWICE(name, parameters, arguments)                                                      \
    static void name parameters                                                                    \
    {                                                                                              \
        name##_body arguments;                                                                     \
    }
#endif

/* ---------------------------------------------------------------- bits and bytes */

GS_INLINE uint32_t gs_bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

GS_INLINE float gs_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { GS_SIZE_MASK = 0x7fffffff, GS_INFINITE = 0x7f800000 };

/* The size of a float as a whole number that orders like it; NaN is above all. */
GS_INLINE uint32_t gs_size_of(float value)
{
    return gs_bits_of(value) & GS_SIZE_MASK;
}

/* Little-endian, at any address. By memcpy and not byte by byte, so that loops of them become loops
 * over vectors; other machines turn the bytes around. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define GS_WIRE(bits, value) (value)
#else
#define GS_WIRE(bits, value) __builtin_bswap##bits(value)
#endif

#define GS_PACK_WHOLE(bits)                                                                        \
    GS_INLINE void gs_put_u##bits(uint8_t *out, uint##bits##_t value)                              \
    {                                                                                              \
        value = GS_WIRE(bits, value);                                                              \
        memcpy(out, &value, sizeof value);                                                         \
    }                                                                                              \
    GS_INLINE uint##bits##_t gs_get_u##bits(const uint8_t *in)                                     \
    {                                                                                              \
        uint##bits##_t value;                                                                      \
        memcpy(&value, in, sizeof value);                                                          \
        return GS_WIRE(bits, value);                                                               \
    }
GS_PACK_WHOLE(16)
GS_PACK_WHOLE(32)
GS_PACK_WHOLE(64)
#undef GS_PACK_WHOLE

GS_INLINE void gs_put_float(uint8_t *out, float value)
{
    gs_put_u32(out, gs_bits_of(value));
}

GS_INLINE float gs_get_float(const uint8_t *in)
{
    return gs_of_bits(gs_get_u32(in));
}

/* A scale on the wire: at least 0 and finite, or the one NaN that stands for a block with a float
 * that is not finite. */
enum { GS_NOT_FINITE = 0x7fc00000 };

GS_INLINE bool gs_is_scale(const uint8_t *in)
{
    uint32_t bits = gs_get_u32(in);
    return bits < GS_INFINITE || bits == GS_NOT_FINITE;
}

GS_INLINE float gs_scale_or_nan(double scale)
{
    float value = (float)scale;
    return gs_bits_of(value) < GS_INFINITE ? value : gs_of_bits(GS_NOT_FINITE);
}

GS_INLINE void gs_unpack_one(gs_unpack mode, float *out, float value)
{
    if (mode == GS_UNPACK_PUT) {
        *out = value;
    } else if (mode == GS_UNPACK_ADD) {
        *out += value;
    } else {
        *out -= value;
    }
}

/* ---------------------------------------------------------------- sums */

/* Sums run in eight lanes of doubles, element i in lane i % 8, so that vector units of any width
 * give the bits of a plain loop. As vector types, since compilers do not find such lanes in loops
 * over arrays. */
enum { GS_LANES = 8 };

typedef float gs_float4 __attribute__((vector_size(16)));
typedef int32_t gs_int4 __attribute__((vector_size(16)));
typedef double gs_double4 __attribute__((vector_size(32)));

typedef struct gs_lanes {
    gs_double4 low, high;
} gs_lanes;

GS_INLINE void gs_lanes_add_one(gs_lanes *lanes, size_t lane, double value)
{
    if (lane < 4) {
        lanes->low[lane] += value;
    } else {
        lanes->high[lane - 4] += value;
    }
}

/* The order in which lanes come together. */
GS_INLINE double gs_lanes_sum(const gs_lanes *lanes)
{
    gs_double4 half = lanes->low + lanes->high;
    return (half[0] + half[2]) + (half[1] + half[3]);
}

/* ---------------------------------------------------------------- random words */

typedef struct gs_draws {
    uint32_t first, second;
} gs_draws;

GS_INLINE gs_draws gs_draws_of(const gs_pack_rule *rule, uint32_t index)
{
    uint64_t bits = gs_rng_bits(rule->key, rule->step, index);
    return (gs_draws){.first = (uint32_t)bits, .second = (uint32_t)(bits >> 32)};
}

/* Word i under that key: Murmur3's final mixer, with the second key between its halves so that two
 * keys whose counters overlap do not share words. One to one in i. */
GS_INLINE uint32_t gs_draw(gs_draws key, uint32_t i)
{
    uint32_t x = i + key.first;
    x ^= x >> 16;
    x *= UINT32_C(0x85ebca6b);
    x ^= key.second;
    x ^= x >> 13;
    x *= UINT32_C(0xc2b2ae35);
    return x ^ x >> 16;
}

/* Uniform on [0, 1), 24 bits: exact in a float. */
GS_INLINE float gs_draw_uniform(gs_draws key, uint32_t i)
{
    return (float)(int32_t)(gs_draw(key, i) >> 8) * 0x1p-24F;
}

#endif
