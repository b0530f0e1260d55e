#include "models/vectors.h"

#include "base/assert.h"

bool gs_vectors_init(gs_vectors *vectors, uint32_t vector_count, size_t count, int64_t elements,
                     gs_arena *arena)
{
    GS_ASSERT(elements > 0);
    *vectors = (gs_vectors){.vector_count = vector_count, .count = count, .elements = elements};
    if (count == 0) {
        return true;
    }
    vectors->data = GS_TAKE(arena, float, (size_t)vector_count *count);
    return vectors->data != NULL;
}

/* Elements of a large job times floats of a large model do not fit 64 bits. */
__extension__ typedef __int128 wide;

static size_t float_index(const gs_vectors *vectors, int64_t element)
{
    /* 64 bits hold the product but for huge jobs, and divide five times faster than 128. */
    int64_t product;
    if (!__builtin_mul_overflow(element, (int64_t)vectors->count, &product)) {
        return (size_t)(product / vectors->elements);
    }
    return (size_t)((wide)element * (wide)vectors->count / vectors->elements);
}

float *gs_vectors_slice(const gs_vectors *vectors, uint32_t vector, int64_t offset, int64_t length,
                        size_t *out_count)
{
    GS_ASSERT(vector < vectors->vector_count);
    GS_ASSERT(offset >= 0 && length >= 0 && offset + length <= vectors->elements);
    *out_count = 0;
    if (vectors->data == NULL) {
        return NULL;
    }
    size_t after = float_index(vectors, offset);
    size_t from = float_index(vectors, offset + length);
    *out_count = from - after;
    return vectors->data + ((size_t)vector + 1) * vectors->count - from;
}
