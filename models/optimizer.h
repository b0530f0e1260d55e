/* The optimizer: turns a gradient into an update, on any slice of the parameters.
 *
 * Its state is plain float vectors of its caller, so that a strategy may average, send or drop
 * them. */
#ifndef GS_MODELS_OPTIMIZER_H
#define GS_MODELS_OPTIMIZER_H

#include <stddef.h>

#include "base/config.h"

typedef struct gs_optimizer_config {
    int kind;            /* index into the choices of its name; only sgd so far */
    double rate;         /* > 0 */
    double momentum;     /* 0..1, 1 excluded; 0: no velocity is kept */
    double weight_decay; /* >= 0; L2, added to the gradient */
} gs_optimizer_config;

/* Reads {"name": "sgd", "rate": 0.1, "momentum": 0.9, "weight_decay": 0}. */
extern const gs_field_table gs_optimizer_config_table;

/* How many vectors of parameter_count floats it keeps, all starting at 0: 1 with momentum, else
 * none. */
size_t gs_optimizer_state_vectors(const gs_optimizer_config *config);

/* One update of [offset, offset + count); the pointers are those of the whole vectors. */
typedef struct gs_optimizer_update {
    float *parameters;
    const float *gradient;
    float *state; /* [gs_optimizer_state_vectors][parameter_count]; NULL where there is none */
    size_t offset, count;
    double rate_scale; /* of this update: warm-up, schedule, staleness */
} gs_optimizer_update;

/* g = gradient + weight_decay x;  v = momentum v + g;  x -= rate rate_scale v.  Element by element,
 * in float; disjoint slices may be applied in any order, or by several threads. Cannot fail.
 * Source: heavy ball in the form of Sutskever et al., ICML 2013, with the rate outside of v, so
 * that a new rate does not rescale what v has gathered. */
void gs_optimizer_apply(const gs_optimizer_config *config, const gs_optimizer_update *update);

#endif
