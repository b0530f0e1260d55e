#include <criterion/criterion.h>

#include "models/kernels.h"

#include <string.h>

/* Powers of two and small whole numbers: every value below is exact in float, so == is meant. */
enum { COUNT = 5 };
static const float A[COUNT] = {3, -8, 0.25F, 1024, -0.5F};
static const float B[COUNT] = {1, 16, 0.75F, -1024, 7};
static const float D[COUNT] = {-5, 2, 4, 0.5F, 12};

static void expect(const float *found, float v0, float v1, float v2, float v3, float v4)
{
    const float wanted[COUNT] = {v0, v1, v2, v3, v4};
    for (int i = 0; i < COUNT; i++) {
        cr_expect(found[i] == wanted[i], "element %d: %g, not %g", i, (double)found[i],
                  (double)wanted[i]);
    }
}

Test(kernels, each_computes_its_formula)
{
    float d[COUNT];
    memcpy(d, D, sizeof d);
    gs_kernel_add(d, A, NULL, COUNT, 0); /* d + a */
    expect(d, -2, -6, 4.25F, 1024.5F, 11.5F);
    memcpy(d, D, sizeof d);
    gs_kernel_axpy(d, A, NULL, COUNT, -0.5F); /* d - a / 2 */
    expect(d, -6.5F, 6, 3.875F, -511.5F, 12.25F);
    gs_kernel_copy(d, A, NULL, COUNT, 0);
    expect(d, 3, -8, 0.25F, 1024, -0.5F);
    gs_kernel_fill(d, NULL, NULL, COUNT, 2.5F);
    expect(d, 2.5F, 2.5F, 2.5F, 2.5F, 2.5F);
    memcpy(d, D, sizeof d);
    gs_kernel_lerp(d, A, NULL, COUNT, 0.25F); /* d + (a - d) / 4 */
    expect(d, -3, -0.5F, 3.0625F, 256.375F, 8.875F);
    memcpy(d, D, sizeof d);
    gs_kernel_mul(d, A, NULL, COUNT, 0); /* d a */
    expect(d, -15, -16, 1, 512, -6);
    memcpy(d, D, sizeof d);
    gs_kernel_scale(d, NULL, NULL, COUNT, -4);
    expect(d, 20, -8, -16, -2, -48);
    gs_kernel_sub(d, A, B, COUNT, 0);
    expect(d, 2, -24, -0.5F, 2048, -7.5F);
}

Test(kernels, an_operand_may_be_the_destination_itself)
{
    float d[COUNT];
    memcpy(d, A, sizeof d);
    gs_kernel_sub(d, d, B, COUNT, 0); /* a - b */
    expect(d, 2, -24, -0.5F, 2048, -7.5F);
    memcpy(d, B, sizeof d);
    gs_kernel_sub(d, A, d, COUNT, 0);
    expect(d, 2, -24, -0.5F, 2048, -7.5F);
    memcpy(d, D, sizeof d);
    gs_kernel_add(d, d, NULL, COUNT, 0); /* 2 d */
    expect(d, -10, 4, 8, 1, 24);
}

Test(kernels, a_product_is_rounded_before_it_is_added)
{
    /* (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 rounds to 1 + 2^-11 in float (24 bits, tie to even), so
     * taking 1 + 2^-11 away leaves 0; a fused multiply-add would leave 2^-24. */
    float x = 1.0F + 0x1p-12F;
    float d = -(1.0F + 0x1p-11F);
    gs_kernel_axpy(&d, &x, NULL, 1, x);
    cr_expect(d == 0.0F, "%a", (double)d);
}

Test(kernels, nothing_behind_the_count_is_touched){
#define TOUCHES_NOTHING(name, formula)                                                             \
    {                                                                                              \
        float d[COUNT];                                                                            \
        memcpy(d, D, sizeof d);                                                                    \
        gs_kernel_##name(d, A, B, 0, 3.0F);                                                        \
        expect(d, -5, 2, 4, 0.5F, 12);                                                             \
        gs_kernel_##name(d, A, B, COUNT - 1, 3.0F);                                                \
        cr_expect(d[COUNT - 1] == 12.0F, "%s", #name);                                             \
    }
    GS_KERNEL_LIST(TOUCHES_NOTHING)
#undef TOUCHES_NOTHING
}

/* 3 - 128 + 0.1875 - 2^20 - 3.5 */
Test(kernels, dot_sums_products_in_double)
{
    cr_expect_eq(gs_kernel_dot(A, B, COUNT), -1048704.3125);
    cr_expect_eq(gs_kernel_dot(A, B, 0), 0.0);
}

/* The order of the comment in kernels.h, written down lane by lane. */
Test(kernels, dot_has_one_order)
{
    enum { LANES = 16, MANY = 5 * LANES + 7 };
    float a[MANY], b[MANY];
    for (int i = 0; i < MANY; i++) {
        a[i] = 1.0F / (float)(3 * i + 1);
        b[i] = (float)(i % 7) - 3.3F;
    }
    for (size_t count = 0; count <= MANY; count++) {
        double lanes[LANES] = {0.0};
        for (size_t i = 0; i < count; i++) {
            lanes[i % LANES] += (double)a[i] * (double)b[i];
        }
        double eight[8], four[4];
        for (int i = 0; i < 8; i++) {
            eight[i] = lanes[i] + lanes[i + 8];
        }
        for (int i = 0; i < 4; i++) {
            four[i] = eight[i] + eight[i + 4];
        }
        double wanted = four[0] + four[2] + (four[1] + four[3]);
        cr_expect_eq(gs_kernel_dot(a, b, count), wanted, "%zu", count);
    }
}
