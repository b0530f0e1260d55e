/* Some elements and where they are: topk, dgc (a sampled threshold), randomk (places that all ranks
 * know).
 *
 * Payloads: topk has kept indices, 32 bits each and ascending, then their floats; dgc has the
 * number of its entries, 32 bits, the indices, 32 or 64 bits each and ascending, then their floats;
 * randomk has kept floats. */
#include "models/codecs/select.h"

#include "base/assert.h"
#include "models/codecs/pack.h"
#include "models/kernels.h"

#include <math.h>

enum { VALUE_BYTES = 4, COUNT_BYTES = 4, NARROW = 4, WIDE = 8 };

/* ---------------------------------------------------------------- entries */

static size_t index_at(const uint8_t *indices, size_t width, size_t i)
{
    const uint8_t *at = indices + width * i;
    return width == NARROW ? gs_get_u32(at) : (size_t)gs_get_u64(at);
}

static bool ascend_below(const uint8_t *indices, size_t width, size_t entries, size_t count)
{
    size_t least = 0;
    for (size_t i = 0; i < entries; i++) {
        size_t index = index_at(indices, width, i);
        if (index < least || index >= count) {
            return false;
        }
        least = index + 1;
    }
    return true;
}

static void clear(gs_unpack mode, float *out, size_t count)
{
    if (mode == GS_UNPACK_PUT) {
        gs_kernel_fill(out, NULL, NULL, count, 0.0F);
    }
}

static void unpack_entries(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *indices,
                           size_t width, size_t entries, float *out)
{
    const uint8_t *values = indices + width * entries;
    clear(mode, out, rule->count);
    for (size_t i = 0; i < entries; i++) {
        gs_unpack_one(mode, &out[index_at(indices, width, i)],
                      gs_get_float(values + VALUE_BYTES * i));
    }
}

/* ---------------------------------------------------------------- topk */

static size_t topk_bytes(const gs_pack_rule *rule)
{
    return (NARROW + VALUE_BYTES) * rule->kept;
}

static size_t room_topk(const gs_pack_rule *rule)
{
    return topk_bytes(rule) + gs_select_room_bytes(rule->count, rule->kept);
}

static size_t encode_topk(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    uint8_t *values = out + NARROW * rule->kept;
    if (rule->kept > 0) {
        gs_select_largest(in, rule->count, rule->kept, out, out + topk_bytes(rule));
    }
    for (size_t i = 0; i < rule->kept; i++) {
        gs_put_float(values + VALUE_BYTES * i, in[index_at(out, NARROW, i)]);
    }
    return topk_bytes(rule);
}

static bool decode_topk(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                        float *out)
{
    if (bytes != topk_bytes(rule) || !ascend_below(in, NARROW, rule->kept, rule->count)) {
        return false;
    }
    unpack_entries(rule, mode, in, NARROW, rule->kept, out);
    return true;
}

const gs_packer gs_packer_topk = {
    .name = "topk", .room_bytes = room_topk, .encode = encode_topk, .decode = decode_topk};

/* ---------------------------------------------------------------- dgc */

static size_t index_width(const gs_pack_rule *rule)
{
    return rule->wide_index ? WIDE : NARROW;
}

/* The most entries: upper times kept. */
static size_t entries_most(const gs_pack_rule *rule)
{
    double most = floor(rule->upper * (double)rule->kept);
    return most < (double)rule->count ? (size_t)most : rule->count;
}

static size_t dgc_bytes(const gs_pack_rule *rule, size_t entries)
{
    return rule->count == 0 ? 0 : COUNT_BYTES + (index_width(rule) + VALUE_BYTES) * entries;
}

static size_t room_dgc(const gs_pack_rule *rule)
{
    return dgc_bytes(rule, entries_most(rule)) + gs_select_room_bytes(rule->count, rule->kept);
}

/* The size that should let kept of count through, from evenly strided ones. */
static uint32_t sampled_size(const gs_pack_rule *rule, const float *in)
{
    size_t stride = (size_t)(1.0 / rule->sample);
    stride = stride < 1 ? 1 : stride < rule->count ? stride : rule->count;
    size_t sampled = (rule->count - 1) / stride + 1;
    double place = ceil((double)sampled * ((double)rule->kept / (double)rule->count));
    size_t kept = place < 1.0 ? 1 : place < (double)sampled ? (size_t)place : sampled;
    return gs_select_size(in, rule->count, stride, kept);
}

/* Narrow indices of what is sent; returns how many. A threshold that lets too few through is
 * lowered; where too many pass, or none of the rounds helps, the exact largest are taken. */
static size_t choose(const gs_pack_rule *rule, const float *in, uint8_t *indices, uint8_t *room)
{
    double least = rule->lower * (double)rule->kept, most = rule->upper * (double)rule->kept;
    uint32_t size = sampled_size(rule, in);
    for (uint32_t round = 0; round < rule->rounds && rule->kept < rule->count; round++) {
        size_t above = gs_select_count(in, rule->count, size);
        if ((double)above > most) {
            break;
        }
        if ((double)above >= least) {
            return gs_select_above(in, rule->count, size, indices, above);
        }
        size = gs_bits_of(gs_of_bits(size) * (float)rule->lower) & GS_SIZE_MASK;
    }
    gs_select_largest(in, rule->count, rule->kept, indices, room);
    return rule->kept;
}

static size_t encode_dgc(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    if (rule->count == 0) {
        return 0;
    }
    size_t width = index_width(rule);
    uint8_t *indices = out + COUNT_BYTES;
    size_t entries = choose(rule, in, indices, out + dgc_bytes(rule, entries_most(rule)));
    gs_put_u32(out, (uint32_t)entries);
    if (width == WIDE) {
        for (size_t i = entries; i-- > 0;) { /* from the end: they grow in place */
            gs_put_u64(indices + WIDE * i, gs_get_u32(indices + NARROW * i));
        }
    }
    uint8_t *values = indices + width * entries;
    for (size_t i = 0; i < entries; i++) {
        gs_put_float(values + VALUE_BYTES * i, in[index_at(indices, width, i)]);
    }
    return dgc_bytes(rule, entries);
}

/* The number of entries, or SIZE_MAX where these bytes are no payload. */
static size_t entries_of(const gs_pack_rule *rule, const uint8_t *in, size_t bytes)
{
    if (rule->count == 0) {
        return bytes == 0 ? 0 : SIZE_MAX;
    }
    if (bytes < COUNT_BYTES) {
        return SIZE_MAX;
    }
    size_t entries = gs_get_u32(in);
    bool ok = entries <= entries_most(rule) && bytes == dgc_bytes(rule, entries) &&
              ascend_below(in + COUNT_BYTES, index_width(rule), entries, rule->count);
    return ok ? entries : SIZE_MAX;
}

static bool decode_dgc(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in, size_t bytes,
                       float *out)
{
    size_t entries = entries_of(rule, in, bytes);
    if (entries == SIZE_MAX) {
        return false;
    }
    if (rule->count > 0) {
        unpack_entries(rule, mode, in + COUNT_BYTES, index_width(rule), entries, out);
    }
    return true;
}

const gs_packer gs_packer_dgc = {
    .name = "dgc", .room_bytes = room_dgc, .encode = encode_dgc, .decode = decode_dgc};

size_t gs_pack_dgc(const gs_pack_rule *rule, const gs_dgc_memory *memory, const float *gradient,
                   uint8_t *out)
{
    for (size_t i = 0; i < rule->count; i++) {
        memory->u[i] = memory->momentum * memory->u[i] + gradient[i];
        memory->v[i] += memory->u[i];
    }
    size_t bytes = encode_dgc(rule, memory->v, out);
    size_t entries = entries_of(rule, out, bytes);
    GS_ASSERT(entries != SIZE_MAX);
    bool masking = memory->masking && rule->kept < rule->count;
    for (size_t i = 0; i < entries; i++) {
        size_t index = index_at(out + COUNT_BYTES, index_width(rule), i);
        memory->v[index] = 0.0F;
        memory->u[index] = masking ? 0.0F : memory->u[index];
    }
    return bytes;
}

/* ---------------------------------------------------------------- randomk */

enum { ROUNDS = 6 };

/* A permutation of 0 to 4^half - 1 by a Feistel network; those of 0 to count - 1 are walked along
 * it until they are below count again, which permutes them too. */
typedef struct shuffle {
    uint32_t half; /* bits */
    uint32_t count;
    gs_draws key[ROUNDS];
} shuffle;

static shuffle shuffle_of(const gs_pack_rule *rule)
{
    GS_ASSERT(rule->count <= INT32_MAX);
    shuffle made = {.half = 1, .count = (uint32_t)rule->count};
    while (made.half < 16 && UINT64_C(1) << 2 * made.half < rule->count) {
        made.half++;
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        made.key[round] = gs_draws_of(rule, round);
    }
    return made;
}

/* Where element i of the payload comes from. */
static size_t place_of(const shuffle *order, size_t i)
{
    uint32_t mask = (UINT32_C(1) << order->half) - 1;
    uint32_t at = (uint32_t)i;
    do {
        uint32_t left = at >> order->half, right = at & mask;
        for (uint32_t round = 0; round < ROUNDS; round++) {
            uint32_t next = (left ^ gs_draw(order->key[round], right)) & mask;
            left = right;
            right = next;
        }
        at = left << order->half | right;
    } while (at >= order->count);
    return at;
}

static size_t randomk_bytes(const gs_pack_rule *rule)
{
    return VALUE_BYTES * rule->kept;
}

static size_t encode_randomk(const gs_pack_rule *rule, const float *in, uint8_t *out)
{
    shuffle order = shuffle_of(rule);
    for (size_t i = 0; i < rule->kept; i++) {
        gs_put_float(out + VALUE_BYTES * i, in[place_of(&order, i)]);
    }
    return randomk_bytes(rule);
}

static bool decode_randomk(const gs_pack_rule *rule, gs_unpack mode, const uint8_t *in,
                           size_t bytes, float *out)
{
    if (bytes != randomk_bytes(rule)) {
        return false;
    }
    shuffle order = shuffle_of(rule);
    clear(mode, out, rule->count);
    for (size_t i = 0; i < rule->kept; i++) {
        gs_unpack_one(mode, &out[place_of(&order, i)], gs_get_float(in + VALUE_BYTES * i));
    }
    return true;
}

static void add_randomk(const gs_pack_rule *rule, uint8_t *sum, const uint8_t *other)
{
    for (size_t i = 0; i < rule->kept; i++) {
        gs_put_float(sum + VALUE_BYTES * i,
                     gs_get_float(sum + VALUE_BYTES * i) + gs_get_float(other + VALUE_BYTES * i));
    }
}

const gs_packer gs_packer_randomk = {.name = "randomk",
                                     .room_bytes = randomk_bytes,
                                     .encode = encode_randomk,
                                     .decode = decode_randomk,
                                     .add = add_randomk};
