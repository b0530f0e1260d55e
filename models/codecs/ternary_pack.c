/* terngrad: -s, 0 or s at random with the right mean. Payload: s, fp32, then five elements in a
 * byte, the first with weight 1, then 3, 9, 27, 81; digits 0, 1 (s) and 2 (-s); a last byte that is
 * not whole is filled up with zeros. */
#include "models/codecs/pack.h"

#include <math.h>

enum { SCALE_BYTES = 4, FIVE = 5, BYTES = 64, CHUNK = FIVE * BYTES, POSITIVE = 1, NEGATIVE = 2 };
enum { DIGITS = 243 /* 3^5 */ };

/* Below it the inverse of a scale could overflow. */
#define SMALLEST 0x1p-100F

static size_t payload_bytes(const gs_pack_rule *rule)
{
    return rule->count == 0 ? 0 : SCALE_BYTES + (rule->count - 1) / FIVE + 1;
}

typedef struct moments {
    double sum, squares;
    uint32_t largest; /* size */
} moments;

GS_INLINE void moments_of_body(const float *in, size_t count, moments *out)
{
    gs_lanes sum = {.low = {0.0}}, squares = {.low = {0.0}};
    gs_int4 largest = {0};
    size_t whole = count - count % GS_LANES;
    for (size_t i = 0; i < whole; i += GS_LANES) {
        gs_int4 bits[2];
        memcpy(bits, in + i, sizeof bits);
        gs_double4 a = __builtin_convertvector((gs_float4)bits[0], gs_double4);
        gs_double4 b = __builtin_convertvector((gs_float4)bits[1], gs_double4);
        sum.low += a;
        sum.high += b;
        squares.low += a * a;
        squares.high += b * b;
        for (int half = 0; half < 2; half++) {
            gs_int4 size = bits[half] & GS_SIZE_MASK, is_larger = size > largest;
            largest = (size & is_larger) | (largest & ~is_larger);
        }
    }
    for (size_t i = whole; i < count; i++) {
        int32_t size = (int32_t)gs_size_of(in[i]);
        gs_lanes_add_one(&sum, i - whole, (double)in[i]);
        gs_lanes_add_one(&squares, i - whole, (double)in[i] * (double)in[i]);
        largest[0] = size > largest[0] ? size : largest[0];
    }
    *out = (moments){.sum = gs_lanes_sum(&sum), .squares = gs_lanes_sum(&squares)};
    for (size_t k = 0; k < 4; k++) {
        uint32_t size = (uint32_t)largest[k];
        out->largest = size > out->largest ? size : out->largest;
    }
}
GS_TWICE(moments_of, (const float *in, size_t count, moments *out), (in, count, out))

/* The largest size, but at most clip standard deviations about the mean of all. */
static float scale_of(const gs_pack_rule *rule, const float *in)
{
    moments all = {.sum = 0.0};
    moments_of(in, rule->count, &all);
    if (all.largest >= GS_INFINITE) {
        return gs_of_bits(GS_NOT_FINITE);
    }
    float largest = gs_of_bits(all.largest);
    if (largest < SMALLEST) {
        return 0.0F;
    }
    double mean = all.sum / (double)rule->count;
    double variance = all.squares / (double)rule->count - mean * mean;
    double most = rule->clip * sqrt(variance > 0.0 ? variance : 0.0);
    /* Elements that are all equal have no deviation: they are not outliers either. */
    bool cut = most >= (double)SMALLEST && most < (double)largest;
    return cut ? (float)most : largest;
}

GS_INLINE void digits_of_body(const float *in, size_t count, float inverse, gs_draws key,
                              uint32_t first, uint8_t *digits)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = gs_bits_of(in[i]);
        float chance = gs_of_bits(bits & GS_SIZE_MASK) * inverse;
        uint32_t is_sent = gs_draw_uniform(key, first + (uint32_t)i) < chance;
        digits[i] = (uint8_t)(is_sent + (is_sent & bits >> 31)); /* 0, POSITIVE or NEGATIVE */
    }
}
GS_TWICE(digits_of,
         (const float *in, size_t count, float inverse, gs_draws key, uint32_t first,
          uint8_t *digits),
         (in, count, inverse, key, first, digits))

static size_t encode(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    if (rule->count == 0) {
        return 0;
    }
    float scale = scale_of(rule, in);
    float inverse = scale > 0.0F ? 1.0F / scale : 0.0F;
    gs_draws key = gs_draws_of(rule, 0);
    gs_put_float(out, scale);
    for (size_t at = 0; at < rule->count; at += CHUNK) {
        size_t here = rule->count - at < CHUNK ? rule->count - at : CHUNK;
        uint8_t digits[CHUNK] = {0};
        if (scale > 0.0F) {
            digits_of(in + at, here, inverse, key, (uint32_t)at, digits);
        }
        uint8_t *bytes = out + SCALE_BYTES + at / FIVE;
        for (size_t i = 0; i < (here + FIVE - 1) / FIVE; i++) {
            const uint8_t *d = digits + FIVE * i;
            bytes[i] = (uint8_t)(d[0] + 3 * d[1] + 9 * d[2] + 27 * d[3] + 81 * d[4]);
        }
    }
    return payload_bytes(rule);
}

/* No byte above 3^5 - 1, and nothing in the places of the last that no element has. */
static bool is_payload(const gs_pack_rule *rule, const uint8_t *in, size_t bytes)
{
    static const uint8_t limit[FIVE] = {DIGITS, 3, 9, 27, 81};
    if (bytes != payload_bytes(rule) || !gs_is_scale(in)) {
        return false;
    }
    uint8_t largest = 0;
    for (size_t i = SCALE_BYTES; i < bytes; i++) {
        largest = in[i] > largest ? in[i] : largest;
    }
    return largest < DIGITS && in[bytes - 1] < limit[rule->count % FIVE];
}

static bool decode(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                   float *out)
{
    if (rule->count == 0) {
        return bytes == 0;
    }
    if (!is_payload(rule, in, bytes)) {
        return false;
    }
    float scale = gs_get_float(in);
    const float value[3] = {scale * 0.0F, scale, -scale}; /* NaN stays NaN */
    for (size_t at = 0; at < rule->count; at += FIVE) {
        size_t here = rule->count - at < FIVE ? rule->count - at : FIVE;
        uint32_t rest = in[SCALE_BYTES + at / FIVE];
        for (size_t i = 0; i < here; i++) {
            gs_unpack_one(mode, &out[at + i], value[rest % 3]);
            rest /= 3;
        }
    }
    return true;
}

const gs_packer gs_packer_terngrad = {
    .name = "terngrad", .room_bytes = payload_bytes, .encode = encode, .decode = decode};
