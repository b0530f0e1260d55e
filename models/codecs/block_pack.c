/* Codes of 2 to 8 bits with one scale a block: fp8_e4m3, fp8_e5m2, int8, int4, qsgd.
 *
 * Payload: the scales of all blocks, fp32, then the codes of all elements, lowest bits first, the
 * last byte filled up with zeros. A decoded float is its block's unit times what a table says of
 * the code; a NaN in the table is a code that no encoder writes. */
#include "models/codecs/pack.h"

#include "base/assert.h"

#include <math.h>

/* Blocks with nothing larger than this are 0: below it the inverse of a unit could overflow. */
#define SMALLEST 0x1p-100F

enum { SCALE_BYTES = 4, CHUNK = 256 /* codes on their way, a multiple of 8 */ };

typedef enum block_kind { E4M3, E5M2, WHOLE, LEVELS } block_kind;

typedef struct block_coder {
    block_kind kind;
    uint32_t bits;
    float largest; /* what the scale of a block corresponds to, in codes */
    bool is_norm;  /* the scale is the l2 norm as it is; else the unit */
} block_coder;

static block_coder coder_of(block_kind kind, uint32_t bits)
{
    block_coder made = {.kind = kind, .bits = bits};
    made.largest = kind == E4M3 ? 448.0F : kind == E5M2 ? 57344.0F : (float)((1 << (bits - 1)) - 1);
    made.is_norm = kind == LEVELS;
    return made;
}

static size_t block_of(const gs_pack_rule *rule)
{
    return rule->block == 0 || rule->block > rule->count ? rule->count : rule->block;
}

static size_t block_count(const gs_pack_rule *rule)
{
    return rule->count == 0 ? 0 : (rule->count - 1) / block_of(rule) + 1;
}

static size_t packed_bytes(size_t count, uint32_t bits)
{
    return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

static size_t payload_bytes(const gs_pack_rule *rule, uint32_t bits)
{
    return SCALE_BYTES * block_count(rule) + packed_bytes(rule->count, bits);
}

/* ---------------------------------------------------------------- scales */

GS_INLINE void largest_size_body(const float *in, size_t count, uint32_t *out)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t size = gs_size_of(in[i]);
        largest = size > largest ? size : largest;
    }
    *out = largest;
}
GS_TWICE(largest_size, (const float *in, size_t count, uint32_t *out), (in, count, out))

GS_INLINE void squares_body(const float *in, size_t count, double *out)
{
    gs_lanes lanes = {.low = {0.0}};
    size_t whole = count - count % GS_LANES;
    for (size_t i = 0; i < whole; i += GS_LANES) {
        gs_float4 low, high;
        memcpy(&low, in + i, sizeof low);
        memcpy(&high, in + i + 4, sizeof high);
        gs_double4 a = __builtin_convertvector(low, gs_double4);
        gs_double4 b = __builtin_convertvector(high, gs_double4);
        lanes.low += a * a;
        lanes.high += b * b;
    }
    for (size_t i = whole; i < count; i++) {
        gs_lanes_add_one(&lanes, i - whole, (double)in[i] * (double)in[i]);
    }
    *out = gs_lanes_sum(&lanes);
}
GS_TWICE(squares, (const float *in, size_t count, double *out), (in, count, out))

/* The scale that travels, and what floats are multiplied by to become codes. */
static float scale_of(const block_coder *coder, const float *in, size_t count, float *out_inverse)
{
    uint32_t size = 0;
    largest_size(in, count, &size);
    float largest = gs_of_bits(size);
    *out_inverse = 0.0F;
    if (size >= GS_INFINITE) {
        return gs_of_bits(GS_NOT_FINITE);
    }
    if (largest < SMALLEST) {
        return 0.0F;
    }
    if (coder->is_norm) {
        double sum = 0.0;
        squares(in, count, &sum);
        largest = gs_scale_or_nan(sqrt(sum));
        *out_inverse = isnan(largest) ? 0.0F : coder->largest / largest;
        return largest;
    }
    *out_inverse = coder->largest / largest;
    return largest / coder->largest;
}

/* ---------------------------------------------------------------- floats to codes */

/* Adding 1.5 2^23 leaves a float's nearest whole number, ties to even, in its lowest bits. */
#define WHOLE_MAGIC 0x1.8p23F

GS_INLINE void whole_codes(const float *in, size_t count, float inverse, uint32_t mask,
                           uint8_t *codes)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = gs_bits_of(in[i] * inverse + WHOLE_MAGIC) - gs_bits_of(WHOLE_MAGIC);
        codes[i] = (uint8_t)(bits & mask);
    }
}

/* value in [-largest, largest], but for rounding; digits of fraction, and the exponent of the
 * smallest normal number. */
GS_INLINE uint32_t float8_of(float value, uint32_t digits, int least, uint32_t largest)
{
    uint32_t shift = 23 - digits;
    uint32_t size = gs_size_of(value);
    uint32_t bias = (uint32_t)(127 + least - 1) << 23;
    uint32_t rounded = size + (UINT32_C(1) << (shift - 1)) - 1 + (size >> shift & 1);
    uint32_t normal = (rounded - bias) >> shift;
    /* Units of the smallest subnormal, by the same trick as for whole numbers. */
    float magic = gs_of_bits((uint32_t)(127 + least - (int)digits + 23) << 23);
    uint32_t subnormal = gs_bits_of(gs_of_bits(size) + magic) - gs_bits_of(magic);
    /* By a mask: a branch would keep compilers from working on vectors. */
    uint32_t is_small = 0U - (uint32_t)(size < (uint32_t)(127 + least) << 23);
    uint32_t code = (subnormal & is_small) | (normal & ~is_small);
    code = code < largest ? code : largest;
    return code | (gs_bits_of(value) >> 24 & 0x80);
}

enum { E4M3_LARGEST = 0x7e, E5M2_LARGEST = 0x7b };

GS_INLINE uint32_t e4m3_of(float value)
{
    return float8_of(value, 3, -6, E4M3_LARGEST);
}

GS_INLINE uint32_t e5m2_of(float value)
{
    return float8_of(value, 2, -14, E5M2_LARGEST);
}

/* Levels of |x| / norm x largest: the lower one, or the upper with the probability of the rest. The
 * rest is exact, so the mean is right to 2^-24. Counted in 32 bits like the words: a wider count
 * would have to be narrowed for every vector of them. */
GS_INLINE void level_codes(const float *in, uint32_t count, float inverse, const block_coder *coder,
                           gs_draws key, uint8_t *codes)
{
    int32_t most = (int32_t)coder->largest;
    uint32_t shift = coder->bits - 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = gs_bits_of(in[i]);
        float at = gs_of_bits(bits & GS_SIZE_MASK) * inverse;
        int32_t level = (int32_t)at;
        level += gs_draw_uniform(key, i) < at - (float)level;
        level = level < most ? level : most;
        codes[i] = (uint8_t)((uint32_t)level | bits >> 31 << shift);
    }
}

typedef struct segment {
    const float *in;
    size_t count;
    float inverse;
    gs_draws key;
    uint32_t first; /* index in its block */
} segment;

GS_INLINE void codes_of_body(const block_coder *coder, const segment *part, uint8_t *codes)
{
    const float *in = part->in;
    size_t count = part->count; /* not read again in loops: codes could be any object */
    float inverse = part->inverse;
    if (coder->kind == WHOLE) {
        whole_codes(in, count, inverse, (UINT32_C(1) << coder->bits) - 1, codes);
    } else if (coder->kind == LEVELS) {
        gs_draws key = part->key;
        key.first += part->first; /* word i + first is the first word of key.first + i */
        level_codes(in, (uint32_t)count, inverse, coder, key, codes);
    } else if (coder->kind == E4M3) {
        for (size_t i = 0; i < count; i++) {
            codes[i] = (uint8_t)e4m3_of(in[i] * inverse);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            codes[i] = (uint8_t)e5m2_of(in[i] * inverse);
        }
    }
}
GS_TWICE(codes_of, (const block_coder *coder, const segment *part, uint8_t *codes),
         (coder, part, codes))

/* ---------------------------------------------------------------- codes to bits */

/* Eight codes, one a byte, moved together in three halvings: bits x 2, x 4, x 8. */
GS_INLINE uint64_t squeeze(uint64_t codes, uint32_t bits)
{
    const uint64_t two = UINT64_C(0x00ff00ff00ff00ff), four = UINT64_C(0x0000ffff0000ffff);
    codes = (codes & two) | (codes >> 8 & two) << bits;
    codes = (codes & four) | (codes >> 16 & four) << 2 * bits;
    return (codes & UINT32_MAX) | codes >> 32 << 4 * bits;
}

GS_INLINE uint64_t spread(uint64_t packed, uint32_t bits)
{
    const uint64_t one = (UINT64_C(1) << bits) - 1, two = (UINT64_C(1) << 2 * bits) - 1,
                   four = (UINT64_C(1) << 4 * bits) - 1;
    packed = (packed & four) | (packed >> 4 * bits & four) << 32;
    packed = (packed & (two | two << 32)) | (packed >> 2 * bits & (two | two << 32)) << 16;
    const uint64_t mask = one * UINT64_C(0x0001000100010001);
    return (packed & mask) | (packed >> bits & mask) << 8;
}

/* count codes; a last group that is not whole is filled up with zeros. Writes up to SLACK bytes
 * more: whole groups are stored as 8 bytes, the next one covers what is too much. */
enum { SLACK = 8 };

GS_INLINE void pack_codes_body(const uint8_t *codes, size_t count, uint32_t bits, uint8_t *out)
{
    size_t i = 0;
    if (bits == 4) { /* two a byte: a loop that compilers make vectors of */
        for (size_t byte = 0; byte < count / 8 * 4; byte++) {
            uint32_t two = gs_get_u16(codes + 2 * byte);
            out[byte] = (uint8_t)(two | two >> 4);
        }
        i = count / 8 * 8;
    }
    for (; i + 8 <= count; i += 8) {
        gs_put_u64(out + i / 8 * bits, squeeze(gs_get_u64(codes + i), bits));
    }
    uint8_t group[8] = {0};
    memcpy(group, codes + i, count - i);
    gs_put_u64(out + i / 8 * bits, squeeze(gs_get_u64(group), bits));
}
GS_TWICE(pack_codes, (const uint8_t *codes, size_t count, uint32_t bits, uint8_t *out),
         (codes, count, bits, out))

/* The codes of in[bytes], count of them and up to 7 more. */
GS_INLINE void unpack_codes(const uint8_t *in, size_t bytes, size_t count, uint32_t bits,
                            uint8_t *codes)
{
    size_t i = 0;
    for (; i + 8 <= count && i / 8 * bits + 8 <= bytes; i += 8) {
        gs_put_u64(codes + i, spread(gs_get_u64(in + i / 8 * bits), bits));
    }
    for (; i < count; i += 8) {
        size_t here = count - i < 8 ? count - i : 8;
        uint8_t group[8] = {0};
        memcpy(group, in + i / 8 * bits, (here * bits + 7) / 8);
        gs_put_u64(codes + i, spread(gs_get_u64(group), bits));
    }
}

/* ---------------------------------------------------------------- slices */

/* What comes a block later is fetched while this is coded: the look for the next scale would wait
 * for memory and then leave it idle. Blocks too long for the first cache fetch nothing. */
static void fetch_ahead(const gs_pack_rule *rule, const float *in, size_t at, size_t count)
{
    enum { LONGEST = 4096, FLOATS_A_LINE = 16 };
    size_t block = block_of(rule);
    for (size_t i = at; block <= LONGEST && i < at + count; i += FLOATS_A_LINE) {
        if (i + block < rule->count) {
            __builtin_prefetch(in + i + block);
        }
    }
}

static size_t encode(const block_coder *coder, const gs_pack_rule *rule, const float *in,
                     uint8_t *out)
{
    size_t block = block_of(rule);
    uint8_t *packed = out + SCALE_BYTES * block_count(rule);
    uint8_t room[CHUNK];
    segment part = {.inverse = 0.0F};
    for (size_t at = 0; at < rule->count; at += CHUNK) {
        size_t end = rule->count - at < CHUNK ? rule->count : at + CHUNK;
        uint8_t *codes = coder->bits == 8 ? packed + at : room;
        for (size_t i = at; i < end; i += part.count) {
            size_t in_block = i % block;
            if (in_block == 0) {
                size_t whole = rule->count - i < block ? rule->count - i : block;
                float scale = scale_of(coder, in + i, whole, &part.inverse);
                gs_put_float(out + SCALE_BYTES * (i / block), scale);
                part.key = gs_draws_of(rule, (uint32_t)(i / block));
            }
            part.in = in + i;
            part.first = (uint32_t)in_block;
            part.count = block - in_block < end - i ? block - in_block : end - i;
            fetch_ahead(rule, in, i, part.count);
            if (part.inverse > 0.0F) {
                codes_of(coder, &part, codes + (i - at));
            } else { /* all 0, or all not finite */
                memset(codes + (i - at), 0, part.count);
            }
        }
        if (coder->bits != 8) {
            pack_codes(codes, end - at, coder->bits, packed + at / 8 * coder->bits);
        }
    }
    return payload_bytes(rule, coder->bits);
}

/* What a code says, in units. */
static void fill_table(const block_coder *coder, float table[256])
{
    for (uint32_t code = 0; code < 256; code++) {
        uint32_t sign = UINT32_C(1) << (coder->bits - 1);
        uint32_t rest = code & (sign - 1);
        if (coder->kind == E4M3 || coder->kind == E5M2) {
            float value =
                gs_float_of_float8(coder->kind == E4M3 ? GS_E4M3 : GS_E5M2, (uint8_t)code);
            table[code] = isfinite(value) ? value : gs_of_bits(GS_NOT_FINITE);
        } else if (coder->kind == LEVELS) {
            table[code] = (code & sign) != 0 ? -(float)rest : (float)rest;
        } else {
            table[code] = (code & sign) == 0 ? (float)rest : (float)rest - (float)sign;
        }
    }
    if (coder->kind == WHOLE) { /* as far down as up */
        table[UINT32_C(1) << (coder->bits - 1)] = gs_of_bits(GS_NOT_FINITE);
    }
}

/* The codes of a chunk: packed ones are spread into room, others stay where they are. */
static const uint8_t *chunk_codes(const block_coder *coder, const uint8_t *packed, size_t at,
                                  size_t count, uint8_t room[CHUNK])
{
    if (coder->bits == 8) {
        return packed + at;
    }
    unpack_codes(packed + at / 8 * coder->bits, packed_bytes(count, coder->bits), count,
                 coder->bits, room);
    return room;
}

static bool is_payload(const block_coder *coder, const gs_pack_rule *rule, const uint8_t *in,
                       size_t bytes, const float table[256])
{
    if (bytes != payload_bytes(rule, coder->bits)) {
        return false;
    }
    size_t scales = block_count(rule);
    for (size_t i = 0; i < scales; i++) {
        if (!gs_is_scale(in + SCALE_BYTES * i)) {
            return false;
        }
    }
    uint32_t left = (uint32_t)(rule->count % 8 * coder->bits % 8);
    if (left != 0 && in[bytes - 1] >> left != 0) {
        return false;
    }
    uint8_t is_bad[256];
    for (uint32_t code = 0; code < 256; code++) {
        is_bad[code] = (uint8_t)(isnan(table[code]) != 0);
    }
    uint8_t room[CHUNK];
    uint8_t bad = 0;
    for (size_t at = 0; coder->kind != LEVELS && at < rule->count; at += CHUNK) {
        size_t count = rule->count - at < CHUNK ? rule->count - at : CHUNK;
        const uint8_t *codes = chunk_codes(coder, in + SCALE_BYTES * scales, at, count, room);
        for (size_t i = 0; i < count; i++) {
            bad |= is_bad[codes[i]];
        }
    }
    return bad == 0;
}

static bool decode(const block_coder *coder, const gs_pack_rule *rule, gs_unpack mode,
                   const uint8_t *in, size_t bytes, float *out)
{
    float table[256];
    fill_table(coder, table);
    if (!is_payload(coder, rule, in, bytes, table)) {
        return false;
    }
    size_t block = block_of(rule);
    const uint8_t *packed = in + SCALE_BYTES * block_count(rule);
    uint8_t room[CHUNK];
    for (size_t at = 0; at < rule->count; at += CHUNK) {
        size_t end = rule->count - at < CHUNK ? rule->count : at + CHUNK;
        const uint8_t *codes = chunk_codes(coder, packed, at, end - at, room);
        size_t i = at;
        while (i < end) {
            float unit = gs_get_float(in + SCALE_BYTES * (i / block));
            unit = coder->is_norm ? unit / coder->largest : unit;
            size_t until = i - i % block + block < end ? i - i % block + block : end;
            for (; i < until; i++) {
                gs_unpack_one(mode, &out[i], table[codes[i - at]] * unit);
            }
        }
    }
    return true;
}

/* ---------------------------------------------------------------- the five */

#define BLOCK_PACKER(stem, kind, bits)                                                             \
    static size_t room_##stem(const gs_pack_rule *rule)                                            \
    {                                                                                              \
        return payload_bytes(rule, (bits)) + SLACK;                                                \
    }                                                                                              \
    static size_t encode_##stem(const gs_pack_rule *rule, const float *in, uint8_t *out)           \
    {                                                                                              \
        block_coder made = coder_of((kind), (bits));                                               \
        return encode(&made, rule, in, out);                                                       \
    }                                                                                              \
    static bool decode_##stem(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in,         \
                              size_t bytes, float *out)                                            \
    {                                                                                              \
        block_coder made = coder_of((kind), (bits));                                               \
        return decode(&made, rule, mode, in, bytes, out);                                          \
    }                                                                                              \
    const gs_packer gs_packer_##stem = {.name = #stem,                                             \
                                        .room_bytes = room_##stem,                                 \
                                        .encode = encode_##stem,                                   \
                                        .decode = decode_##stem};

BLOCK_PACKER(fp8_e4m3, E4M3, 8)
BLOCK_PACKER(fp8_e5m2, E5M2, 8)
BLOCK_PACKER(int4, WHOLE, 4)
BLOCK_PACKER(int8, WHOLE, 8)
BLOCK_PACKER(qsgd, LEVELS, rule->bits)

/* ---------------------------------------------------------------- one 8-bit float */

uint8_t gs_float8_of_float(gs_float8 kind, float value)
{
    GS_ASSERT(!isnan(value));
    float most = kind == GS_E4M3 ? 448.0F : 57344.0F;
    float within = value > most ? most : value < -most ? -most : value;
    return (uint8_t)(kind == GS_E4M3 ? e4m3_of(within) : e5m2_of(within));
}

float gs_float_of_float8(gs_float8 kind, uint8_t code)
{
    uint32_t digits = kind == GS_E4M3 ? 3 : 2;
    int least = kind == GS_E4M3 ? -6 : -14;
    uint32_t exponent = (code & 0x7fU) >> digits;
    uint32_t fraction = code & ((1U << digits) - 1);
    float size;
    if (kind == GS_E4M3 && (code & 0x7f) == 0x7f) {
        size = gs_of_bits(GS_NOT_FINITE);
    } else if (kind == GS_E5M2 && exponent == 0x1f) {
        size = gs_of_bits(fraction == 0 ? GS_INFINITE : GS_NOT_FINITE);
    } else if (exponent == 0) {
        size = (float)fraction * gs_of_bits((uint32_t)(127 + least - (int)digits) << 23);
    } else {
        size =
            gs_of_bits((uint32_t)((int)exponent + 126 + least) << 23 | fraction << (23 - digits));
    }
    return (code & 0x80) != 0 ? -size : size;
}
