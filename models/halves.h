/* Numbers of 16 bits: what gradients are on the wire and in the memory of devices, while the
 * arithmetic here stays in floats.
 *
 * Every result is rounded once, to the nearest number of the kind, ties to even; what is too large
 * becomes infinite, what is too small a subnormal or 0, and NaN stays NaN. The bits do not depend
 * on the machine: conversions that a processor has are used where they give what the portable ones
 * give. Source: IEEE 754-2019 (binary16); bfloat16 is the upper half of a binary32. */
#ifndef GS_MODELS_HALVES_H
#define GS_MODELS_HALVES_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of number, in the order of workload.dtype. Floats hold all values of the middle two; of
 * fp64 they hold only their own, so it rounds nothing. */
typedef enum gs_number { GS_FP32, GS_FP16, GS_BF16, GS_FP64, GS_NUMBER_COUNT } gs_number;

/* One number each way. */
uint16_t gs_fp16_of_float(float value);
float gs_float_of_fp16(uint16_t half);
uint16_t gs_bf16_of_float(float value);
float gs_float_of_bf16(uint16_t half);

/* Rounds floats[count] in place to numbers of that kind; nothing for fp32 and fp64. */
void gs_half_round(gs_number number, float *floats, size_t count);

#endif
