/* Which matrices and vectors lie in a slice of a gradient, for codecs that look at shapes.
 *
 * Slices count in walking order (strategies/bucket.h): from the last unit to the first, so that
 * [offset, offset + length) is what stands that far before the end of the parameters. A slice that
 * cuts a matrix holds a matrix of fewer rows of the same length, which starts where the cut is.
 * Where gradients become ready in another order than this, rebuilt buckets cut matrices too. */
#ifndef GS_STRATEGIES_TENSORS_H
#define GS_STRATEGIES_TENSORS_H

#include "strategies/strategy.h"

/* A unit whose shape is not known is taken for a vector up to here, for a near-square matrix above:
 * biases and gains of public models have up to 4096 elements, few of their matrices have less. */
enum { GS_TENSOR_VECTOR_MAX = 4096 };

/* Units in parameter order; arrays are borrowed. */
typedef struct gs_tensors {
    uint32_t count;
    const int64_t *elements;     /* [count] */
    const gs_unit_shape *shapes; /* [count]; NULL: none is known */
} gs_tensors;

static inline gs_tensors gs_tensors_of(const gs_job *job)
{
    return (gs_tensors){job->unit_count, job->unit_elements, job->unit_shapes};
}

/* What a slice holds of one matrix, or of the vectors of one unit. */
typedef struct gs_tensor_piece {
    uint32_t unit;
    int64_t offset, length; /* in walking order */
    int64_t columns;        /* of the matrix; length: a vector; 0: near-square, its shape unknown */
} gs_tensor_piece;

typedef struct gs_tensor_walk {
    gs_tensors of;
    int64_t from, to;
    int64_t at;     /* where the next unit begins */
    uint32_t left;  /* units */
    bool in_matrix; /* of the next unit: its vectors have been passed */
} gs_tensor_walk;

/* The slice must lie within the units; its pieces tile it, in order. Cost of a whole walk O(units).
 */
gs_tensor_walk gs_tensor_walk_begin(const gs_tensors *tensors, int64_t offset, int64_t length);
/* false: there is no more. */
bool gs_tensor_walk_next(gs_tensor_walk *walk, gs_tensor_piece *out);

#endif
