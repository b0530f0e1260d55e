/* Starting values of parameters: draws are index 0 and on of step 0 of the key. */
#ifndef GS_MODELS_LAYERS_START_H
#define GS_MODELS_LAYERS_START_H

#include <stdint.h>

#include "base/rng.h"

/* Uniform in +-bound. */
void gs_start_uniform(gs_rng_key key, double bound, float *out, int64_t count);

/* Normal around 0. Source: Box and Muller, Annals of Mathematical Statistics 29, 1958. */
void gs_start_normal(gs_rng_key key, double deviation, float *out, int64_t count);

/* All equal. */
void gs_start_constant(float value, float *out, int64_t count);

#endif
