/* The optimizer: turns a gradient into an update of the parameters.
 *
 * Its state is plain floats of its caller, so that a strategy may average, send or drop them. Rules
 * are in models/optimizer_rules.c, how rates change over a run in models/schedule.h, scales of
 * gradients in models/loss_scale.h. */
#ifndef GS_MODELS_OPTIMIZER_H
#define GS_MODELS_OPTIMIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "models/accelerator.h"
#include "models/schedule.h"

struct gs_network;

typedef enum gs_optimizer_kind { GS_SGD, GS_ADAM, GS_ADAMW, GS_LARS } gs_optimizer_kind;

#define GS_LOSS_SCALE_DYNAMIC (-1.0) /* of loss_scale: the word */

typedef struct gs_optimizer_config {
    int kind;            /* gs_optimizer_kind */
    double rate;         /* > 0 */
    double momentum;     /* sgd, lars: 0..1, 1 excluded; 0: no velocity is kept */
    bool nesterov;       /* sgd */
    double beta1, beta2; /* adam, adamw: 0..1, 1 excluded */
    double epsilon;      /* adam, adamw: > 0 */
    double trust;        /* lars: > 0 */
    double weight_decay; /* >= 0 */
    double clip;         /* largest norm of the whole gradient; 0: any */
    double loss_scale;   /* > 0, or GS_LOSS_SCALE_DYNAMIC */
    gs_schedule schedule;
} gs_optimizer_config;

/* Reads {"name": "adam", "rate": 0.001, ...}. */
extern const gs_field_table gs_optimizer_config_table;

/* How many vectors of parameter_count floats it keeps: 1 with momentum, 2 of adam, else none. */
size_t gs_optimizer_state_vectors(const gs_optimizer_config *config);
/* All floats it keeps for one vector of parameters, all starting at 0: those vectors one after
 * another, then the state of a dynamic loss scale. */
size_t gs_optimizer_state_floats(const gs_optimizer_config *config, size_t parameter_count);
/* What gradients must be multiplied by before they are rounded; state as for an update. */
double gs_optimizer_loss_scale(const gs_optimizer_config *config, const float *state,
                               size_t parameter_count);
/* Times that an update reads or writes a vector of parameter_count numbers. */
int64_t gs_optimizer_moves(const gs_optimizer_config *config);
/* Is x(k+1) - x(k) = m (x(k) - x(k-1)) - rate (gradient + weight_decay x(k)) with the same numbers
 * in every update? So is sgd at a constant rate; what clips, adapts or leaves updates out is not.
 */
bool gs_optimizer_is_linear(const gs_optimizer_config *config);

/* One update of [offset, offset + count); the pointers are those of the whole vectors. */
typedef struct gs_optimizer_update {
    float *parameters;
    const float *gradient;
    float *state;           /* [gs_optimizer_state_floats]; NULL where there are none */
    size_t parameter_count; /* of the whole vectors */
    size_t offset, count;
    const struct gs_network *network; /* lars: whose parameters; others do not look */
    double rate_scale;                /* of this update: staleness, what a strategy says */
    double gradient_scale;            /* gradient holds so many times the true one; 0 means 1 */
    double momentum_less;             /* the share of the momentum that is left out, 0..1 */
    int64_t updates;                  /* made before to this vector, 0: this is the first */
    int64_t samples;                  /* of all ranks that were learned from before this update */
} gs_optimizer_update;

/* One update by the rule of config. true: it was made; false: the gradient is not finite and the
 * loss scale is dynamic, so that nothing but the scale changed.
 *
 * Element by element in float, so disjoint slices of one update may be applied in any order or by
 * several threads; norms are sums in double in a fixed order. Where gs_optimizer_needs_whole, the
 * slice must be everything. Cannot fail. */
bool gs_optimizer_apply(const gs_optimizer_config *config, const gs_optimizer_update *update);
/* The same on a device, whose memory the update's vectors lie in; norms are worked out here, once
 * the device has come so far. NULL: as gs_optimizer_apply. */
bool gs_optimizer_apply_on(const gs_accelerator *device, void *device_context,
                           const gs_optimizer_config *config, const gs_optimizer_update *update);

/* Does an element's update depend on other elements? With clip, lars and a dynamic loss scale. */
bool gs_optimizer_needs_whole(const gs_optimizer_config *config);

#endif
