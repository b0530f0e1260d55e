/* Matrix products by OpenBLAS: the one place that knows its interface.
 *
 * Products run on one thread. The order of OpenBLAS's sums depends on the processor it finds and on
 * the shapes, so bits are equal within one process and one shape only; gs_blas_kernel says which
 * kernels ran. */
#ifndef GS_MODELS_BLAS_H
#define GS_MODELS_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* A matrix in row-major order without gaps, read as it is or transposed. */
typedef struct gs_matrix {
    const float *elements; /* [rows][columns], borrowed */
    int64_t rows, columns; /* 1..INT32_MAX, before transposition */
    bool transposed;
} gs_matrix;

/* out = left * right, or out += left * right. Shapes: left is m x k and right k x n after
 * transposition, out [m][n] and apart from both. Cost 2 m k n flops. Cannot fail; wrong shapes
 * assert. */
void gs_blas_multiply(const gs_matrix *left, const gs_matrix *right, bool accumulate, float *out);

/* A product of matrices that are parts of larger ones, such as one head of an attention. */
typedef struct gs_part_product {
    gs_matrix left, right;
    int64_t left_stride, right_stride, out_stride; /* floats from one row to the next */
    float scale;                                   /* of the product */
    bool accumulate;                               /* add to out instead of replacing it */
} gs_part_product;

/* The same with gaps between the rows: a stride is at least the matrix's columns, and what lies
 * between is neither read nor written. */
void gs_blas_multiply_parts(const gs_part_product *product, float *out);

/* The library's version and the processor it chose kernels for ("OpenBLAS 0.3.21 ... Haswell"), for
 * the record of a run; static storage. */
const char *gs_blas_kernel(void);

#endif
