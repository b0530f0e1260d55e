/* Sums of floats in an order of their own: eight partial sums, value i in number i mod 8, which are
 * added pairwise. Compilers may work on the eight at once without changing a bit. */
#ifndef GS_MODELS_LAYERS_SUMS_H
#define GS_MODELS_LAYERS_SUMS_H

#include <stdint.h>

/* The sum of values [count], of their squared distances from a point, and of a[i] * b[i]. */
float gs_sum(const float *values, int64_t count);
float gs_sum_squares(const float *values, int64_t count, float point);
float gs_sum_products(const float *a, const float *b, int64_t count);

#endif
