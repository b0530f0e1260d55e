/* One bit an element: sign and ef_sign (all of one size), onebit (two means).
 *
 * Payload: the scales, fp32, where there are any, then the sign bits, element i in bit i % 8 of
 * byte i / 8, 1 for negative (also -0), the last byte filled up with zeros. */
#include "models/codecs/pack.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SCALE_BYTES = 4, CHUNK = 4096 /* floats that are still in the cache for the second look */ };

static size_t sign_bytes(size_t count)
{
    return count / 8 + (count % 8 != 0);
}

/* ---------------------------------------------------------------- bits */

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void signs_by_eight(const float *in, size_t bytes,
                                                           uint8_t *out)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (uint8_t)_mm256_movemask_ps(_mm256_loadu_ps(in + 8 * i));
    }
}
#endif

static void pack_signs(const float *in, size_t count, uint8_t *out)
{
    size_t done = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        done = count / 8;
        signs_by_eight(in, done, out);
    }
#endif
    for (size_t i = done; i < sign_bytes(count); i++) {
        size_t here = count - 8 * i < 8 ? count - 8 * i : 8;
        uint32_t bits = 0;
        for (size_t k = 0; k < here; k++) {
            bits |= gs_bits_of(in[8 * i + k]) >> 31 << k;
        }
        out[i] = (uint8_t)bits;
    }
}

static bool is_filled_with_zeros(const uint8_t *signs, size_t count)
{
    return count % 8 == 0 || signs[count / 8] >> count % 8 == 0;
}

/* For each element one of two floats. */
GS_INLINE void unpack_body(gs_unpack mode, const uint8_t *signs, size_t count, const float side[2],
                           float *out)
{
    uint32_t positive = gs_bits_of(side[0]), other = positive ^ gs_bits_of(side[1]);
    size_t whole = count - count % 8;
    for (size_t i = 0; i < whole; i += 8) {
        uint32_t byte = signs[i / 8];
        for (uint32_t k = 0; k < 8; k++) {
            uint32_t mask = 0U - (byte >> k & 1U);
            gs_unpack_one(mode, &out[i + k], gs_of_bits(positive ^ (other & mask)));
        }
    }
    for (size_t i = whole; i < count; i++) {
        gs_unpack_one(mode, &out[i], side[signs[i / 8] >> i % 8 & 1]);
    }
}

/* One loop a mode: a choice inside would be made for each float. */
GS_INLINE void unpack_signs_body(gs_unpack mode, const uint8_t *signs, size_t count,
                                 const float side[2], float *out)
{
    if (mode == GS_UNPACK_PUT) {
        unpack_body(GS_UNPACK_PUT, signs, count, side, out);
    } else if (mode == GS_UNPACK_ADD) {
        unpack_body(GS_UNPACK_ADD, signs, count, side, out);
    } else {
        unpack_body(GS_UNPACK_SUB, signs, count, side, out);
    }
}
GS_TWICE(unpack_signs,
         (gs_unpack mode, const uint8_t *signs, size_t count, const float side[2], float *out),
         (mode, signs, count, side, out))

/* ---------------------------------------------------------------- sums by sign */

typedef struct side_lanes {
    gs_lanes positive, negative; /* sizes */
} side_lanes;

/* count is a multiple of GS_LANES but for the last call of a slice. */
GS_INLINE void add_sides_body(const float *in, size_t count, side_lanes *lanes)
{
    gs_lanes positive = lanes->positive, negative = lanes->negative;
    size_t whole = count - count % GS_LANES;
    for (size_t i = 0; i < whole; i += GS_LANES) {
        gs_int4 bits[2];
        memcpy(bits, in + i, sizeof bits);
        gs_int4 is_negative[2] = {bits[0] >> 31, bits[1] >> 31};
        gs_int4 size[2] = {bits[0] & GS_SIZE_MASK, bits[1] & GS_SIZE_MASK};
        positive.low += __builtin_convertvector((gs_float4)(size[0] & ~is_negative[0]), gs_double4);
        positive.high +=
            __builtin_convertvector((gs_float4)(size[1] & ~is_negative[1]), gs_double4);
        negative.low += __builtin_convertvector((gs_float4)(size[0] & is_negative[0]), gs_double4);
        negative.high += __builtin_convertvector((gs_float4)(size[1] & is_negative[1]), gs_double4);
    }
    for (size_t i = whole; i < count; i++) {
        bool is_negative = gs_bits_of(in[i]) >> 31 != 0;
        gs_lanes_add_one(is_negative ? &negative : &positive, i - whole,
                         (double)gs_of_bits(gs_size_of(in[i])));
    }
    lanes->positive = positive;
    lanes->negative = negative;
}
GS_TWICE(add_sides, (const float *in, size_t count, side_lanes *lanes), (in, count, lanes))

/* Signs and sums in one look at memory. */
static void pack_and_add(const float *in, size_t count, uint8_t *signs, side_lanes *lanes)
{
    memset(lanes, 0, sizeof *lanes);
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t here = count - at < CHUNK ? count - at : CHUNK;
        pack_signs(in + at, here, signs + at / 8);
        add_sides(in + at, here, lanes);
    }
}

/* ---------------------------------------------------------------- sign, ef_sign */

static size_t scale_bytes(bool scaled, size_t count)
{
    return scaled && count > 0 ? SCALE_BYTES : 0;
}

static size_t encode_scaled(bool scaled, const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    size_t scales = scale_bytes(scaled, rule->count);
    if (scales == 0) {
        pack_signs(in, rule->count, out);
    } else {
        side_lanes lanes;
        pack_and_add(in, rule->count, out + scales, &lanes);
        double sum = gs_lanes_sum(&lanes.positive) + gs_lanes_sum(&lanes.negative);
        gs_put_float(out, gs_scale_or_nan(sum / (double)rule->count));
    }
    return scales + sign_bytes(rule->count);
}

static bool decode_scaled(bool scaled, const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in,
                          size_t bytes, float *out)
{
    size_t scales = scale_bytes(scaled, rule->count);
    if (bytes != scales + sign_bytes(rule->count) ||
        !is_filled_with_zeros(in + scales, rule->count) || (scales > 0 && !gs_is_scale(in))) {
        return false;
    }
    float size = scales > 0 ? gs_get_float(in) : 1.0F;
    const float side[2] = {size, -size};
    unpack_signs(mode, in + scales, rule->count, side, out);
    return true;
}

static size_t room_sign(const gs_pack_rule *rule)
{
    return scale_bytes(rule->scaled, rule->count) + sign_bytes(rule->count);
}

static size_t encode_sign(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    return encode_scaled(rule->scaled, rule, in, out);
}

static bool decode_sign(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                        float *out)
{
    return decode_scaled(rule->scaled, rule, mode, in, bytes, out);
}

static size_t room_ef_sign(const gs_pack_rule *rule)
{
    return scale_bytes(true, rule->count) + sign_bytes(rule->count);
}

static size_t encode_ef_sign(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    return encode_scaled(true, rule, in, out);
}

static bool decode_ef_sign(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in,
                           size_t bytes, float *out)
{
    return decode_scaled(true, rule, mode, in, bytes, out);
}

const gs_packer gs_packer_sign = {
    .name = "sign", .room_bytes = room_sign, .encode = encode_sign, .decode = decode_sign};

const gs_packer gs_packer_ef_sign = {.name = "ef_sign",
                                     .room_bytes = room_ef_sign,
                                     .encode = encode_ef_sign,
                                     .decode = decode_ef_sign};

/* ---------------------------------------------------------------- onebit */

static size_t room_onebit(const gs_pack_rule *rule)
{
    return 2 * scale_bytes(true, rule->count) + sign_bytes(rule->count);
}

static size_t count_ones(const uint8_t *bytes, size_t count)
{
    size_t ones = 0;
    for (size_t i = 0; i < count; i++) {
        ones += (size_t)__builtin_popcount(bytes[i]);
    }
    return ones;
}

/* Means of sizes: first of those that are not negative, then of those that are; 0 of none. */
static size_t encode_onebit(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    if (rule->count == 0) {
        return 0;
    }
    side_lanes lanes;
    uint8_t *signs = out + 2 * SCALE_BYTES;
    pack_and_add(in, rule->count, signs, &lanes);
    size_t negative = count_ones(signs, sign_bytes(rule->count));
    size_t positive = rule->count - negative;
    double divisor[2] = {positive > 0 ? (double)positive : 1.0,
                         negative > 0 ? (double)negative : 1.0};
    gs_put_float(out, gs_scale_or_nan(gs_lanes_sum(&lanes.positive) / divisor[0]));
    gs_put_float(out + SCALE_BYTES, gs_scale_or_nan(gs_lanes_sum(&lanes.negative) / divisor[1]));
    return room_onebit(rule);
}

static bool decode_onebit(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                          float *out)
{
    if (bytes != room_onebit(rule)) {
        return false;
    }
    if (rule->count == 0) {
        return true;
    }
    const uint8_t *signs = in + 2 * SCALE_BYTES;
    if (!gs_is_scale(in) || !gs_is_scale(in + SCALE_BYTES) ||
        !is_filled_with_zeros(signs, rule->count)) {
        return false;
    }
    const float side[2] = {gs_get_float(in), -gs_get_float(in + SCALE_BYTES)};
    unpack_signs(mode, signs, rule->count, side, out);
    return true;
}

const gs_packer gs_packer_onebit = {
    .name = "onebit", .room_bytes = room_onebit, .encode = encode_onebit, .decode = decode_onebit};
