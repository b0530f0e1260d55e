#include "traces/sum.h"

#include "base/assert.h"
#include "models/kernels.h"
#include "strategies/collectives/ring_turn.h"

/* The sum of a block and what is added to it take 16 KiB: half of a first cache. */
enum { BLOCK = 2048 };

static gs_shape shape_of(const gs_sum *sum, int64_t elements)
{
    gs_shape shape = gs_shape_plain(sum->members, 0, elements);
    shape.rings = sum->rings;
    shape.inner = sum->inner;
    return shape;
}

/* Part of the op and of a member's slice: parts of all members on each ring. */
static gs_slice piece_of(const gs_sum *sum, uint32_t part, uint32_t member)
{
    gs_slice slice = sum->slices[member];
    if (sum->order == GS_SUM_AT_ROOT) {
        return slice;
    }
    int64_t offset, length;
    gs_shape shape = shape_of(sum, slice.length);
    gs_ring_share(&shape, part / sum->members, part % sum->members, &offset, &length);
    return (gs_slice){slice.vector, slice.offset + offset, length};
}

static uint32_t parts_of(const gs_sum *sum)
{
    return sum->order == GS_SUM_AT_ROOT ? 1 : sum->members * sum->rings;
}

/* The member that is number `turn` in the sum of a part. */
static uint32_t member_at(const gs_sum *sum, uint32_t part, uint32_t turn)
{
    if (sum->order == GS_SUM_AT_ROOT) {
        return turn;
    }
    gs_shape shape = shape_of(sum, 0);
    uint32_t ring = part / sum->members;
    uint32_t place = gs_ring_place(&shape, ring, part % sum->members) + turn;
    return gs_ring_member(&shape, ring, place < sum->members ? place : place - sum->members);
}

static float *floats_of(const gs_sum *sum, uint32_t part, uint32_t member, size_t *out_count)
{
    gs_slice piece = piece_of(sum, part, member);
    return gs_vectors_slice(&sum->memories[member]->vectors, piece.vector, piece.offset,
                            piece.length, out_count);
}

/* ---------------------------------------------------------------- ages */

static bool is_even(const gs_sum *sum, uint32_t part)
{
    size_t first, count;
    (void)floats_of(sum, part, 0, &first);
    for (uint32_t member = 1; member < sum->members; member++) {
        (void)floats_of(sum, part, member, &count);
        if (count != first) {
            return false;
        }
    }
    return true;
}

static void age(const gs_sum *sum, uint32_t part)
{
    int64_t version = GS_NO_VERSION;
    for (uint32_t turn = 0; turn < sum->members; turn++) {
        uint32_t member = member_at(sum, part, turn);
        gs_versions *versions = &sum->memories[member]->versions;
        gs_slice at = piece_of(sum, part, member);
        if (sum->order == GS_SUM_AT_ROOT && turn > 0) {
            gs_slice root = piece_of(sum, part, 0);
            version = gs_versions_oldest(versions, at.vector, at.offset, at.length);
            versions = &sum->memories[0]->versions;
            gs_versions_add(versions, root.vector, root.offset, root.length, version);
            at = root;
        } else if (turn > 0) {
            gs_versions_add(versions, at.vector, at.offset, at.length, version);
        }
        version = gs_versions_oldest(versions, at.vector, at.offset, at.length);
    }
    uint32_t last = sum->order == GS_SUM_AT_ROOT ? 0 : member_at(sum, part, sum->members - 1);
    for (uint32_t member = 0; member < sum->members; member++) {
        gs_slice at = piece_of(sum, part, member);
        if (member != last) {
            gs_versions_put(&sum->memories[member]->versions, at.vector, at.offset, at.length,
                            version);
        }
    }
}

bool gs_sum_begin(const gs_sum *sum)
{
    GS_ASSERT(sum->order != GS_SUM_BY_PROGRAM && sum->members > 0);
    for (uint32_t part = 0; part < parts_of(sum); part++) {
        if (!is_even(sum, part)) {
            return false;
        }
    }
    for (uint32_t part = 0; part < parts_of(sum) && sum->members > 1; part++) {
        age(sum, part);
    }
    return true;
}

/* ---------------------------------------------------------------- numbers */

/* What travels is rounded before it is added, every sum after that. */
static void add(const gs_sum *sum, float *so_far, const float *term, size_t count, bool is_first)
{
    gs_number number = sum->memories[0]->config.number;
    float rounded[BLOCK];
    if (number == GS_FP32 || number == GS_FP64) {
        gs_kernel_add(so_far, term, NULL, count, 0.0F);
        return;
    }
    if (sum->order == GS_SUM_AT_ROOT) {
        gs_kernel_copy(rounded, term, NULL, count, 0.0F);
        gs_half_round(number, rounded, count);
        term = rounded;
    } else if (is_first) {
        gs_half_round(number, so_far, count);
    }
    gs_kernel_add(so_far, term, NULL, count, 0.0F);
    gs_half_round(number, so_far, count);
}

/* One part of the op: where it lies in the vectors of member 0, and of every other member that has
 * lent the same slice, as all do but in odd strategies. */
typedef struct place {
    uint32_t part;
    size_t index, count;
} place;

static float *floats_at(const gs_sum *sum, const place *at, uint32_t member)
{
    const gs_slice *own = &sum->slices[member], *first = &sum->slices[0];
    size_t count;
    return own->vector == first->vector && own->offset == first->offset
               ? sum->memories[member]->vectors.data + at->index
               : floats_of(sum, at->part, member, &count);
}

static void sum_block(const gs_sum *sum, const place *at, size_t from, size_t count)
{
    float so_far[BLOCK];
    for (uint32_t turn = 0; turn < sum->members; turn++) {
        const float *term = floats_at(sum, at, member_at(sum, at->part, turn)) + from;
        if (turn == 0) {
            gs_kernel_copy(so_far, term, NULL, count, 0.0F);
        } else {
            add(sum, so_far, term, count, turn == 1);
        }
    }
    for (uint32_t member = 0; member < sum->members; member++) {
        gs_kernel_copy(floats_at(sum, at, member) + from, so_far, NULL, count, 0.0F);
    }
}

void gs_sum_floats(const gs_sum *sum, uint32_t share, uint32_t shares)
{
    for (uint32_t part = 0; part < parts_of(sum) && sum->members > 1; part++) {
        place at = {.part = part};
        at.index = (size_t)(floats_of(sum, part, 0, &at.count) - sum->memories[0]->vectors.data);
        size_t end = at.count * (share + 1) / shares;
        for (size_t from = at.count * share / shares; from < end; from += BLOCK) {
            sum_block(sum, &at, from, end - from < BLOCK ? end - from : BLOCK);
        }
    }
}
