/* Arithmetic on one element, written once for processors and for CUDA, so that both give the same
 * bits: floats, one operation after the other, none of them fused (GS_FLOAT_FLAGS of
 * cmake/gs.cmake, -fmad=false of cmake/cuda.cmake). */
#ifndef GS_MODELS_ELEMENT_H
#define GS_MODELS_ELEMENT_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define GS_ELEMENT static __host__ __device__ __forceinline__
#else
#define GS_ELEMENT static inline __attribute__((always_inline))
#endif

GS_ELEMENT uint32_t gs_bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

GS_ELEMENT float gs_float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---------------------------------------------------------------- numbers of 16 bits */

/* The upper bits of a whole number, rounded to nearest, ties to even. */
GS_ELEMENT uint32_t gs_shifted(uint32_t value, uint32_t shift)
{
    uint32_t half = UINT32_C(1) << (shift - 1);
    return (value + half - 1 + (value >> shift & 1)) >> shift;
}

/* Biases: 127 of a float less 15 of a half. */
#define GS_FP16_EXPONENT_SHIFT UINT32_C(112)

GS_ELEMENT uint16_t gs_element_fp16_of(float value)
{
    const uint32_t infinite = 0x7f800000, too_large = 0x477ff000; /* 65520: half way to 65536 */
    const uint32_t normal = 0x38800000;                           /* 2^-14 */
    uint32_t bits = gs_bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t size = bits & 0x7fffffff;
    if (size > infinite) {
        return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x3ff)); /* quiet, with its upper bits */
    }
    if (size >= too_large) {
        return (uint16_t)(sign | 0x7c00);
    }
    if (size >= normal) {
        return (uint16_t)(sign | gs_shifted(size - (GS_FP16_EXPONENT_SHIFT << 23), 13));
    }
    uint32_t exponent = size >> 23;
    if (exponent < 102) { /* below 2^-25, half of the smallest: 0 */
        return (uint16_t)sign;
    }
    /* fraction 2^(exponent - 150) in units of 2^-24. */
    uint32_t fraction = (size & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | gs_shifted(fraction, 126 - exponent));
}

GS_ELEMENT float gs_element_of_fp16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;
    if (exponent == 0x1f) {
        uint32_t quiet = fraction != 0 ? 0x400000 : 0;
        return gs_float_of(sign | 0x7f800000 | quiet | fraction << 13);
    }
    if (exponent == 0) { /* fraction 2^-24 is a normal float, and exact */
        float size = (float)fraction * 0x1p-24F;
        return gs_float_of(sign | gs_bits_of(size));
    }
    return gs_float_of(sign | (exponent + GS_FP16_EXPONENT_SHIFT) << 23 | fraction << 13);
}

GS_ELEMENT uint16_t gs_element_bf16_of(float value)
{
    uint32_t bits = gs_bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) {
        return (uint16_t)(bits >> 16 | 0x40);
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

GS_ELEMENT float gs_element_of_bf16(uint16_t half)
{
    return gs_float_of((uint32_t)half << 16);
}

/* ---------------------------------------------------------------- updates */

/* What is left of an average once its gradients stay 0, as those of a closed unit do: it would fall
 * into the subnormal floats, where processors take a hundred times as long, and stay there. NaN is
 * kept. */
GS_ELEMENT float gs_normal_or_zero(float value)
{
    return fabsf(value) < FLT_MIN ? 0.0F : value;
}

/* The rules of models/optimizer_rules.h, with all numbers of one update at hand. */
typedef struct gs_sgd_numbers {
    float rate, momentum, decay, factor;
} gs_sgd_numbers;

typedef struct gs_adam_numbers {
    float rate, root, beta1, beta2, rest1, rest2, epsilon, decay, keep, factor;
} gs_adam_numbers;

GS_ELEMENT void gs_element_sgd(gs_sgd_numbers by, float *x, float gradient)
{
    *x -= by.rate * (by.factor * gradient + by.decay * *x);
}

GS_ELEMENT void gs_element_heavy_ball(gs_sgd_numbers by, float *x, float gradient, float *velocity)
{
    *velocity = gs_normal_or_zero(by.momentum * *velocity + (by.factor * gradient + by.decay * *x));
    *x -= by.rate * *velocity;
}

GS_ELEMENT void gs_element_nesterov(gs_sgd_numbers by, float *x, float gradient, float *velocity)
{
    float g = by.factor * gradient + by.decay * *x;
    *velocity = gs_normal_or_zero(by.momentum * *velocity + g);
    *x -= by.rate * (g + by.momentum * *velocity);
}

GS_ELEMENT void gs_element_adam(gs_adam_numbers by, float *x, float gradient, float *mean,
                                float *square)
{
    float kept = *x * by.keep;
    float g = by.factor * gradient + by.decay * *x;
    *mean = gs_normal_or_zero(by.beta1 * *mean + by.rest1 * g);
    *square = gs_normal_or_zero(by.beta2 * *square + by.rest2 * (g * g));
    *x = kept - by.rate * (*mean / (sqrtf(*square) * by.root + by.epsilon));
}

typedef enum gs_update_form {
    GS_UPDATE_SGD,
    GS_UPDATE_HEAVY_BALL,
    GS_UPDATE_NESTEROV,
    GS_UPDATE_ADAM
} gs_update_form;

/* One of them over count elements. */
typedef struct gs_element_update {
    gs_update_form form;
    gs_sgd_numbers sgd;
    gs_adam_numbers adam;
    float *parameters;
    const float *gradient;
    float *state;  /* velocity, or mean; NULL: the form keeps none */
    float *square; /* of adam */
    size_t count;
} gs_element_update;

#endif
