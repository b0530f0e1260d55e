/* The vectors of one entity: real floats seen through the element count of the job.
 *
 * The clock of a run may come from a model of 7 billion elements while the numbers come from one of
 * ten thousand. Job elements count from the last parameter to the first, as buckets are filled; a
 * slice of them maps to floats by floor(index * count / elements) at both ends, counted from the
 * last float, so that slices that tile the job tile the floats: no float is left out or used twice.
 * Where job and model are of one size, a bucket holds the floats of its own layers; within a slice
 * they lie in parameter order. Thread safe for disjoint use. */
#ifndef GS_MODELS_VECTORS_H
#define GS_MODELS_VECTORS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_vectors {
    float *data; /* [vector_count][count]; NULL in timing-only runs */
    uint32_t vector_count;
    size_t count;     /* floats of one vector */
    int64_t elements; /* job elements of one vector, > 0 */
} gs_vectors;

/* false: no memory. count 0 makes a timing-only set. Zeroed; owner: the arena. */
bool gs_vectors_init(gs_vectors *vectors, uint32_t vector_count, size_t count, int64_t elements,
                     gs_arena *arena);

/* First float of a slice and how many there are; NULL and 0 in timing-only sets. Asserts the range.
 */
float *gs_vectors_slice(const gs_vectors *vectors, uint32_t vector, int64_t offset, int64_t length,
                        size_t *out_count);

#endif
