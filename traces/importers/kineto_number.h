/* Decimal texts of a Kineto trace as whole numbers, without a detour over floating point. */
#ifndef GS_TRACES_KINETO_NUMBER_H
#define GS_TRACES_KINETO_NUMBER_H

#include "base/units.h"

#include <stdbool.h>
#include <stddef.h>

/* Microseconds with a fraction ("4458676416788.066") as ns, rounded to the nearest; an exponent is
 * accepted. false: no number, or beyond about 146 years. */
bool gs_kineto_us(const char *text, size_t length, gs_time_ns *out_ns);

/* A whole number ("42", "42.0"). false: a fraction, no number, or out of range. */
bool gs_kineto_whole(const char *text, size_t length, int64_t *out);

/* Bytes of an element from the names that PyTorch uses ("Float", "c10::BFloat16", "long int");
 * 0: unknown name. */
int32_t gs_kineto_element_bytes(const char *name, bool *out_is_float);

#endif
