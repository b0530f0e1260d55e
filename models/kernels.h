/* Vector kernels on floats, all with one signature, so that a host calls any of them through a
 * table.
 *
 * Strategies name these operations and never see floats; the names and their costs are listed in
 * the strategies room (vops.def), the loops are here. Elements are worked on one by one and without
 * fused multiply-adds, so the bits are equal for every compiler and optimisation level. */
#ifndef GS_MODELS_KERNELS_H
#define GS_MODELS_KERNELS_H

#include <stddef.h>

/* X(name, the new dst[i]); operands that the formula does not name may be NULL. */
/* clang-format off */
#define GS_KERNEL_LIST(X)                                                                          \
    X(add,   dst[i] + a[i])                                                                        \
    X(axpy,  dst[i] + k * a[i])                                                                    \
    X(copy,  a[i])                                                                                 \
    X(fill,  k)                                                                                    \
    X(lerp,  dst[i] + k * (a[i] - dst[i]))                                                         \
    X(mul,   dst[i] * a[i])                                                                        \
    X(scale, dst[i] * k)                                                                           \
    X(sub,   a[i] - b[i])
/* clang-format on */

typedef enum gs_kernel {
#define GS_KERNEL_ENUM(name, formula) GS_KERNEL_##name,
    GS_KERNEL_LIST(GS_KERNEL_ENUM)
#undef GS_KERNEL_ENUM
        GS_KERNEL_COUNT
} gs_kernel;

/* gs_kernel_NAME: dst[i] = its formula, for i in 0..count-1. Shapes: dst, a and b hold count
 * floats; a and b may each be dst itself, but must not overlap it in part. Cannot fail. */
#define GS_KERNEL_DECLARE(name, formula)                                                           \
    void gs_kernel_##name(float *dst, const float *a, const float *b, size_t count, float k);
GS_KERNEL_LIST(GS_KERNEL_DECLARE)
#undef GS_KERNEL_DECLARE

/* The largest magnitude of count floats; 0 of none, INFINITY where one of them is not finite. */
float gs_kernel_largest(const float *a, size_t count);

/* Sum over i of a[i] b[i], in double: 16 sums of every 16th product, added in pairs. A product of
 * two floats is exact in double, so the bits are those of any compiler. */
double gs_kernel_dot(const float *a, const float *b, size_t count);

#endif
