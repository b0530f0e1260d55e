#include <criterion/criterion.h>

#include "models/blas.h"

#include <math.h>
#include <string.h>

/* Whole numbers below 2^24: exact in float in whatever order they are summed. */
static const float LEFT[6] = {1, 2, 3, 4, 5, 6};     /* 2 x 3, or 3 x 2 */
static const float RIGHT[6] = {7, 8, 9, 10, 11, 12}; /* 3 x 2, or 2 x 3 */

static void expect(const float *found, float v0, float v1, float v2, float v3)
{
    const float wanted[4] = {v0, v1, v2, v3};
    cr_expect(memcmp(found, wanted, sizeof wanted) == 0, "%g %g %g %g", (double)found[0],
              (double)found[1], (double)found[2], (double)found[3]);
}

Test(blas, a_product_is_rows_times_columns)
{
    gs_matrix left = {LEFT, 2, 3, false};   /* 1 2 3 | 4 5 6 */
    gs_matrix right = {RIGHT, 3, 2, false}; /* 7 8 | 9 10 | 11 12 */
    float out[4] = {-1, -1, -1, -1};
    gs_blas_multiply(&left, &right, false, out);
    expect(out, 58, 64, 139, 154); /* 7+18+33, 8+20+36, 28+45+66, 32+50+72 */
    gs_blas_multiply(&left, &right, true, out);
    expect(out, 116, 128, 278, 308);
}

Test(blas, a_transposed_matrix_is_read_by_its_columns)
{
    float out[4];
    gs_matrix plain_left = {LEFT, 2, 3, false};
    gs_matrix turned_right = {RIGHT, 2, 3, true}; /* 7 8 9 | 10 11 12, as 3 x 2 */
    gs_blas_multiply(&plain_left, &turned_right, false, out);
    expect(out, 50, 68, 122, 167);              /* 7+16+27, 10+22+36, 28+40+54, 40+55+72 */
    gs_matrix turned_left = {LEFT, 3, 2, true}; /* 1 2 | 3 4 | 5 6, as 2 x 3 */
    gs_matrix plain_right = {RIGHT, 3, 2, false};
    gs_blas_multiply(&turned_left, &plain_right, false, out);
    expect(out, 89, 98, 116, 128); /* 7+27+55, 8+30+60, 14+36+66, 16+40+72 */
}

Test(blas, what_was_in_out_does_not_matter_without_accumulation)
{
    gs_matrix left = {LEFT, 2, 3, false};
    gs_matrix right = {RIGHT, 3, 2, false};
    const float nan_bits = NAN;
    float out[4] = {nan_bits, nan_bits, nan_bits, nan_bits};
    gs_blas_multiply(&left, &right, false, out);
    expect(out, 58, 64, 139, 154);
}

Test(blas, it_says_which_library_ran)
{
    cr_expect(strstr(gs_blas_kernel(), "OpenBLAS") != NULL, "%s", gs_blas_kernel());
}

/* The middle column of [2][3] rows: strides skip what stands left and right of it. */
Test(blas, parts_of_larger_matrices_leave_the_rest_alone)
{
    gs_part_product product = {.left = {LEFT + 1, 2, 2, false}, /* 2 3 | 5 6 */
                               .right = {RIGHT, 2, 1, false},   /* 7 | 9, of rows of two */
                               .left_stride = 3,
                               .right_stride = 2,
                               .out_stride = 2,
                               .scale = 0.5F};
    float out[4] = {-1, -2, -3, -4};
    gs_blas_multiply_parts(&product, out);
    expect(out, 20.5F, -2, 44.5F, -4); /* (14 + 27) / 2, (35 + 54) / 2 */
    product.accumulate = true;
    gs_blas_multiply_parts(&product, out);
    expect(out, 41, -2, 89, -4);
}
