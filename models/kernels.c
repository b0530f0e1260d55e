#include "models/kernels.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The loops carry no sum, so a compiler may vectorise them without changing a bit. */
#define KERNEL_DEFINE(name, formula)                                                               \
    void gs_kernel_##name(float *dst, const float *a, const float *b, size_t count, float k)       \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        (void)k;                                                                                   \
        for (size_t i = 0; i < count; i++) {                                                       \
            dst[i] = formula;                                                                      \
        }                                                                                          \
    }
GS_KERNEL_LIST(KERNEL_DEFINE)
#undef KERNEL_DEFINE

static inline int32_t larger(int32_t largest, float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= 0x7fffffff;
    return bits > largest ? bits : largest;
}

/* Magnitudes order as their bits do, and what is not finite comes last: whole numbers, whose
 * maximum compilers vectorise. One lane would wait for itself at every float. */
static inline __attribute__((always_inline)) float largest_of(const float *a, size_t count)
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

#if defined(__x86_64__)

/* Before AVX2 a maximum of whole numbers takes five instructions. */
__attribute__((target("avx2"))) static float largest_by_avx2(const float *a, size_t count)
{
    return largest_of(a, count);
}

float gs_kernel_largest(const float *a, size_t count)
{
    return __builtin_cpu_supports("avx2") ? largest_by_avx2(a, count) : largest_of(a, count);
}

#else

float gs_kernel_largest(const float *a, size_t count)
{
    return largest_of(a, count);
}

#endif
