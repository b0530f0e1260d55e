/* The rules of optimizers: loops over a slice, with every number of the update at hand. */
#ifndef GS_MODELS_OPTIMIZER_RULES_H
#define GS_MODELS_OPTIMIZER_RULES_H

#include <stddef.h>

#include "models/accelerator.h"
#include "models/optimizer.h"

typedef struct gs_rule_step {
    const gs_optimizer_config *config;
    const gs_optimizer_update *update;
    double rate;  /* of this update */
    float factor; /* the gradient is multiplied by it first: loss scale and clipping */
    const gs_accelerator *device; /* that works on the elements; NULL: this processor */
    void *device_context;
} gs_rule_step;

/* g = factor gradient + decay x;  v = m v + g;  x -= rate v, or with nesterov x -= rate (g + m v).
 * Source: Sutskever et al., ICML 2013, in the form of PyTorch: the rate is outside of v, so that a
 * new rate does not rescale what v has gathered. */
void gs_rule_sgd(const gs_rule_step *step);

/* With t = updates + 1 and g = factor gradient (adam: + decay x; adamw: x *= 1 - rate decay first):
 * m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 * x -= rate / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + epsilon).
 * Sources: Kingma and Ba, ICLR 2015 (arXiv 1412.6980), algorithm 1; Loshchilov and Hutter, ICLR
 * 2019 (arXiv 1711.05101), algorithm 2; epsilon stands where PyTorch has it. */
void gs_rule_adam(const gs_rule_step *step);

/* For each layer with parameters w and gradient g = factor gradient: q = trust |w| / (|g| + decay
 * |w|), or 1 where |w| or |g| is 0;  v = m v + q (g + decay w);  w -= rate v. Elements that no
 * layer has are not touched. Source: You, Gitman and Ginsburg, arXiv 1708.03888, algorithm 1, with
 * the rate outside of v as in gs_rule_sgd. */
void gs_rule_lars(const gs_rule_step *step);

/* Sum of squares in double, in an order that depends on count only. */
double gs_sum_of_squares(const float *floats, size_t count);

#endif
