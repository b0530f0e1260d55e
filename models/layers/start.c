#include "models/layers/start.h"

#include <math.h>

void gs_start_uniform(gs_rng_key key, double bound, float *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double uniform = gs_rng_uniform(key, 0, (uint32_t)i);
        out[i] = (float)(bound * (2.0 * uniform - 1.0));
    }
}

void gs_start_normal(gs_rng_key key, double deviation, float *out, int64_t count)
{
    const double full_turn = 6.283185307179586;
    for (int64_t i = 0; i < count; i++) {
        double radius = sqrt(-2.0 * log(gs_rng_uniform(key, 0, (uint32_t)(2 * i))));
        double angle = full_turn * gs_rng_uniform(key, 0, (uint32_t)(2 * i + 1));
        out[i] = (float)(deviation * radius * cos(angle));
    }
}

void gs_start_constant(float value, float *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        out[i] = value;
    }
}
