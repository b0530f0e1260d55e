#include "models/codecs/select.h"

#include "base/assert.h"
#include "models/codecs/pack.h"

#include <math.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { SAMPLE = 16384, INDEX_BYTES = 4, DIGITS = 2048 };

/* ---------------------------------------------------------------- k-th largest */

/* Sizes are 31 bits: three digits of 11, 10 and 10 bits, the first decided first. */
typedef struct digit {
    uint32_t shift, bits;
} digit;

static const digit digits[3] = {{20, 11}, {10, 10}, {0, 10}};

/* Where sizes come from: floats at a stride, or candidates, of which indices and sizes are listed.
 */
typedef struct sizes {
    const float *in;
    size_t count, stride;
    const uint8_t *indices, *listed; /* NULL: in[i * stride] */
} sizes;

GS_INLINE uint32_t size_at(const sizes *of, size_t i)
{
    return of->listed == NULL ? gs_size_of(of->in[i * of->stride])
                              : gs_get_u32(of->listed + INDEX_BYTES * i);
}

/* The kept-th largest size; *out_above: how many are larger. */
static uint32_t kth_size(const sizes *of, size_t kept, size_t *out_above)
{
    uint32_t prefix = 0;
    size_t above = 0;
    for (int d = 0; d < 3; d++) {
        size_t histogram[DIGITS] = {0};
        uint32_t shift = digits[d].shift, upper = shift + digits[d].bits;
        uint32_t mask = (UINT32_C(1) << digits[d].bits) - 1;
        for (size_t i = 0; i < of->count; i++) {
            uint32_t size = size_at(of, i);
            /* Only those that agree with the digits decided so far. */
            histogram[size >> shift & mask] += (size_t)(upper > 30 || size >> upper == prefix);
        }
        uint32_t value = mask;
        while (above + histogram[value] < kept) {
            above += histogram[value];
            GS_ASSERT(value > 0);
            value--;
        }
        prefix = prefix << digits[d].bits | value;
    }
    *out_above = above;
    return prefix;
}

uint32_t gs_select_size(const float *in, size_t count, size_t stride, size_t kept)
{
    size_t above;
    GS_ASSERT(stride > 0 && kept > 0);
    size_t sampled = (count - 1) / stride + 1;
    GS_ASSERT(kept <= sampled);
    return kth_size(&(sizes){.in = in, .count = sampled, .stride = stride}, kept, &above);
}

/* ---------------------------------------------------------------- passes over memory */

GS_INLINE void count_above_body(const float *in, size_t count, uint32_t size, size_t *out)
{
    enum { CHUNK = 1 << 20 }; /* so that 32 bits count it */
    size_t total = 0;
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t here = count - at < CHUNK ? count - at : CHUNK;
        uint32_t above = 0;
        for (size_t i = 0; i < here; i++) {
            above += gs_size_of(in[at + i]) >= size;
        }
        total += above;
    }
    *out = total;
}
GS_TWICE(count_above, (const float *in, size_t count, uint32_t size, size_t *out),
         (in, count, size, out))

size_t gs_select_count(const float *in, size_t count, uint32_t size)
{
    size_t above = 0;
    count_above(in, count, size, &above);
    return above;
}

/* Indices of those with at least that size, and the sizes beside them. */
typedef struct found {
    uint8_t *indices, *sizes; /* sizes may be NULL */
    size_t count, most;
} found;

GS_INLINE void add_found(found *list, const float *in, size_t index)
{
    gs_put_u32(list->indices + INDEX_BYTES * list->count, (uint32_t)index);
    if (list->sizes != NULL) {
        gs_put_u32(list->sizes + INDEX_BYTES * list->count, gs_size_of(in[index]));
    }
    list->count++;
}

#if defined(__x86_64__)
/* Whole groups of 32; returns how many floats were looked at. Few groups have any, so the branch is
 * cheap. */
__attribute__((target("avx2"))) static size_t above_by_groups(const float *in, size_t count,
                                                              uint32_t size, found *list)
{
    const __m256i mask = _mm256_set1_epi32(GS_SIZE_MASK);
    const __m256i below = _mm256_set1_epi32((int32_t)size - 1);
    size_t i = 0;
    for (; i + 32 <= count && list->count + 32 <= list->most; i += 32) {
        __m256i above[4];
        for (size_t k = 0; k < 4; k++) {
            __m256i bits = _mm256_castps_si256(_mm256_loadu_ps(in + i + 8 * k));
            above[k] = _mm256_cmpgt_epi32(_mm256_and_si256(bits, mask), below);
        }
        __m256i any = _mm256_or_si256(_mm256_or_si256(above[0], above[1]),
                                      _mm256_or_si256(above[2], above[3]));
        if (_mm256_testz_si256(any, any)) {
            continue;
        }
        for (size_t k = 0; k < 4; k++) {
            uint32_t set = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(above[k]));
            for (; set != 0; set &= set - 1) {
                add_found(list, in, i + 8 * k + (size_t)__builtin_ctz(set));
            }
        }
    }
    return i;
}
#endif

static void find_above(const float *in, size_t count, uint32_t size, found *list)
{
    size_t i = 0;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        i = above_by_groups(in, count, size, list);
    }
#endif
    for (; i < count && list->count < list->most; i++) {
        if (gs_size_of(in[i]) >= size) {
            add_found(list, in, i);
        }
    }
}

size_t gs_select_above(const float *in, size_t count, uint32_t size, uint8_t *indices, size_t most)
{
    found list = {.indices = indices, .most = most};
    find_above(in, count, size, &list);
    return list.count;
}

/* ---------------------------------------------------------------- the largest */

/* An even sample of SAMPLE sizes or a few more; of fewer floats all. */
static size_t sample_stride(size_t count)
{
    return count < SAMPLE ? 1 : count / SAMPLE;
}

/* A place in the sorted sample that the kept-th of all is above, but for bad luck: the expected
 * place and four standard deviations. */
static size_t sample_place(size_t count, size_t kept)
{
    double expected = (double)kept / (double)sample_stride(count);
    return (size_t)(expected + 4.0 * sqrt(expected)) + 8;
}

/* How many candidates there is room for, twice what that place leads one to expect; 0: so many that
 * there is nothing to gain. */
static size_t candidates_most(size_t count, size_t kept)
{
    size_t most = 2 * sample_place(count, kept) * sample_stride(count);
    return most < count ? most : 0;
}

size_t gs_select_room_bytes(size_t count, size_t kept)
{
    return 2 * INDEX_BYTES * candidates_most(count, kept);
}

/* Of those the sizes are of, the kept largest: those above the exact threshold, and the first of
 * those at it. */
static void take_largest(const sizes *of, size_t kept, uint8_t *indices)
{
    size_t above = 0;
    uint32_t exact = kth_size(of, kept, &above);
    size_t equal = kept - above, taken = 0;
    for (size_t i = 0; i < of->count && taken < kept; i++) {
        uint32_t size = size_at(of, i);
        if (size < exact || (size == exact && equal == 0)) {
            continue;
        }
        equal -= size == exact;
        gs_put_u32(indices + INDEX_BYTES * taken,
                   of->indices == NULL ? (uint32_t)i : gs_get_u32(of->indices + INDEX_BYTES * i));
        taken++;
    }
    GS_ASSERT(taken == kept);
}

void gs_select_largest(const float *in, size_t count, size_t kept, uint8_t *indices, uint8_t *room)
{
    GS_ASSERT(kept > 0 && kept <= count && count <= INT32_MAX);
    size_t most = candidates_most(count, kept);
    sizes all = {.in = in, .count = count, .stride = 1};
    if (kept == count) {
        for (size_t i = 0; i < count; i++) {
            gs_put_u32(indices + INDEX_BYTES * i, (uint32_t)i);
        }
        return;
    }
    if (most > 0) {
        uint32_t threshold =
            gs_select_size(in, count, sample_stride(count), sample_place(count, kept));
        found list = {.indices = room, .sizes = room + INDEX_BYTES * most, .most = most};
        find_above(in, count, threshold, &list);
        if (list.count >= kept && list.count < most) {
            sizes candidates = {.count = list.count, .indices = list.indices, .listed = list.sizes};
            take_largest(&candidates, kept, indices);
            return;
        }
    }
    take_largest(&all, kept, indices);
}
