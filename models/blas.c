#include "models/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static pthread_once_t is_set_up = PTHREAD_ONCE_INIT;
static char kernel_text[128];

/* A library that is older than the processor takes its kernels for the oldest one of all, which are
 * a quarter as fast. It looks again at what it is told, by two functions that every build for
 * several processors has (docs/adr/0021). */
void gotoblas_dynamic_quit(void) __attribute__((weak));
void gotoblas_dynamic_init(void) __attribute__((weak));

static void choose_kernels(void)
{
#if defined(__x86_64__)
    bool is_oldest = strcmp(openblas_get_corename(), "Prescott") == 0;
    bool is_told = getenv("OPENBLAS_CORETYPE") != NULL;
    bool can_more = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (is_oldest && can_more && !is_told && gotoblas_dynamic_quit != NULL &&
        gotoblas_dynamic_init != NULL && setenv("OPENBLAS_CORETYPE", "Haswell", 0) == 0) {
        gotoblas_dynamic_quit();
        gotoblas_dynamic_init();
        (void)unsetenv("OPENBLAS_CORETYPE");
    }
#endif
}

/* More threads would split sums in other places, and callers bring their own threads. The text is
 * copied because the library writes it anew into one buffer at each call. */
static void set_up(void)
{
    choose_kernels();
    openblas_set_num_threads(1);
    snprintf(kernel_text, sizeof kernel_text, "%s", openblas_get_config());
}

void gs_blas_multiply_parts(const gs_part_product *product, float *out)
{
    const gs_matrix *left = &product->left;
    const gs_matrix *right = &product->right;
    int64_t rows = left->transposed ? left->columns : left->rows;
    int64_t inner = left->transposed ? left->rows : left->columns;
    int64_t columns = right->transposed ? right->rows : right->columns;
    GS_ASSERT(inner == (right->transposed ? right->columns : right->rows));
    GS_ASSERT(rows > 0 && rows <= INT32_MAX);
    GS_ASSERT(inner > 0 && inner <= INT32_MAX);
    GS_ASSERT(columns > 0 && columns <= INT32_MAX);
    GS_ASSERT(product->left_stride >= left->columns && product->left_stride <= INT32_MAX);
    GS_ASSERT(product->right_stride >= right->columns && product->right_stride <= INT32_MAX);
    GS_ASSERT(product->out_stride >= columns && product->out_stride <= INT32_MAX);
    int once = pthread_once(&is_set_up, set_up);
    GS_ASSERT(once == 0);
    cblas_sgemm(CblasRowMajor, left->transposed ? CblasTrans : CblasNoTrans,
                right->transposed ? CblasTrans : CblasNoTrans, (blasint)rows, (blasint)columns,
                (blasint)inner, product->scale, left->elements, (blasint)product->left_stride,
                right->elements, (blasint)product->right_stride, product->accumulate ? 1.0F : 0.0F,
                out, (blasint)product->out_stride);
}

void gs_blas_multiply(const gs_matrix *left, const gs_matrix *right, bool accumulate, float *out)
{
    gs_part_product product = {.left = *left,
                               .right = *right,
                               .left_stride = left->columns,
                               .right_stride = right->columns,
                               .out_stride = right->transposed ? right->rows : right->columns,
                               .scale = 1.0F,
                               .accumulate = accumulate};
    gs_blas_multiply_parts(&product, out);
}

const char *gs_blas_kernel(void)
{
    int once = pthread_once(&is_set_up, set_up);
    GS_ASSERT(once == 0);
    return kernel_text;
}
