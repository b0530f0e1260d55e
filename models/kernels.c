#include "models/kernels.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/wide.h"

/* The loops carry no sum, so a compiler may vectorise them without changing a bit. */
#define KERNEL_DEFINE(name, formula)                                                               \
    GS_WIDE_BODY void name##_body(float *dst, const float *a, const float *b, size_t count,        \
                                  float k)                                                         \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        (void)k;                                                                                   \
        for (size_t i = 0; i < count; i++) {                                                       \
            dst[i] = formula;                                                                      \
        }                                                                                          \
    }                                                                                              \
    GS_WIDE static void name##_wide(float *dst, const float *a, const float *b, size_t count,      \
                                    float k)                                                       \
    {                                                                                              \
        name##_body(dst, a, b, count, k);                                                          \
    }                                                                                              \
    void gs_kernel_##name(float *dst, const float *a, const float *b, size_t count, float k)       \
    {                                                                                              \
        if (GS_IS_WIDE) {                                                                          \
            name##_wide(dst, a, b, count, k);                                                      \
        } else {                                                                                   \
            name##_body(dst, a, b, count, k);                                                      \
        }                                                                                          \
    }
GS_KERNEL_LIST(KERNEL_DEFINE)
#undef KERNEL_DEFINE

GS_WIDE_BODY int32_t larger(int32_t largest, float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= 0x7fffffff;
    return bits > largest ? bits : largest;
}

/* Magnitudes order as their bits do, and what is not finite comes last: whole numbers, whose
 * maximum compilers vectorise. One lane would wait for itself at every float. */
GS_WIDE_BODY float largest_body(const float *a, size_t count)
{
    enum { LANES = 32 };
    const int32_t infinite = 0x7f800000;
    int32_t lanes[LANES] = {0}, largest = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            lanes[lane] = larger(lanes[lane], a[i + lane]);
        }
    }
    for (; i < count; i++) {
        largest = larger(largest, a[i]);
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        largest = lanes[lane] > largest ? lanes[lane] : largest;
    }
    float value = INFINITY;
    if (largest < infinite) {
        memcpy(&value, &largest, sizeof value);
    }
    return value;
}

GS_WIDE static float largest_wide(const float *a, size_t count)
{
    return largest_body(a, count);
}

float gs_kernel_largest(const float *a, size_t count)
{
    return GS_IS_WIDE ? largest_wide(a, count) : largest_body(a, count);
}

GS_WIDE_BODY double dot_body(const float *a, const float *b, size_t count)
{
    enum { LANES = 16 };
    double sums[LANES] = {0.0};
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            sums[lane] += (double)a[i + lane] * (double)b[i + lane];
        }
    }
    for (; i < count; i++) {
        sums[i % LANES] += (double)a[i] * (double)b[i];
    }
    for (size_t half = LANES / 2; half > 0; half /= 2) {
        for (size_t lane = 0; lane < half; lane++) {
            sums[lane] += sums[lane + half];
        }
    }
    return sums[0];
}

GS_WIDE static double dot_wide(const float *a, const float *b, size_t count)
{
    return dot_body(a, b, count);
}

double gs_kernel_dot(const float *a, const float *b, size_t count)
{
    return GS_IS_WIDE ? dot_wide(a, b, count) : dot_body(a, b, count);
}
