#include "models/optimizer_rules.h"

#include <float.h>
#include <math.h>

#include "base/assert.h"
#include "models/network.h"
#include "models/wide.h"

double gs_sum_of_squares(const float *floats, size_t count)
{
    /* Four sums, because one would wait for itself at every addition. */
    double sums[4] = {0.0, 0.0, 0.0, 0.0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (size_t lane = 0; lane < 4; lane++) {
            double value = (double)floats[i + lane];
            sums[lane] += value * value;
        }
    }
    for (size_t lane = 0; i < count; i++, lane++) {
        double value = (double)floats[i];
        sums[lane] += value * value;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* What is left of an average once its gradients stay 0, as those of a closed unit do: it would fall
 * into the subnormal floats, where processors take a hundred times as long, and stay there. NaN is
 * kept. */
GS_WIDE_BODY float normal_or_zero(float value)
{
    return fabsf(value) < FLT_MIN ? 0.0F : value;
}

/* ---------------------------------------------------------------- sgd */

typedef struct sgd {
    float rate, momentum, decay, factor;
} sgd;

GS_WIDE_BODY void plain(sgd by, float *parameters, const float *gradient, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        parameters[i] -= by.rate * (by.factor * gradient[i] + by.decay * parameters[i]);
    }
}

GS_WIDE_BODY void heavy_ball(sgd by, float *parameters, const float *gradient, float *velocity,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        velocity[i] = normal_or_zero(by.momentum * velocity[i] +
                                     (by.factor * gradient[i] + by.decay * parameters[i]));
        parameters[i] -= by.rate * velocity[i];
    }
}

GS_WIDE_BODY void nesterov(sgd by, float *parameters, const float *gradient, float *velocity,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float g = by.factor * gradient[i] + by.decay * parameters[i];
        velocity[i] = normal_or_zero(by.momentum * velocity[i] + g);
        parameters[i] -= by.rate * (g + by.momentum * velocity[i]);
    }
}

GS_WIDE_BODY void sgd_body(const gs_rule_step *step)
{
    const gs_optimizer_config *config = step->config;
    const gs_optimizer_update *update = step->update;
    sgd by = {(float)step->rate, (float)config->momentum, (float)config->weight_decay,
              step->factor};
    float *parameters = update->parameters + update->offset;
    const float *gradient = update->gradient + update->offset;
    if (gs_optimizer_state_vectors(config) == 0) {
        plain(by, parameters, gradient, update->count);
        return;
    }
    GS_ASSERT(update->state != NULL);
    float *velocity = update->state + update->offset;
    if (config->nesterov) {
        nesterov(by, parameters, gradient, velocity, update->count);
    } else {
        heavy_ball(by, parameters, gradient, velocity, update->count);
    }
}

GS_WIDE static void sgd_wide(const gs_rule_step *step)
{
    sgd_body(step);
}

void gs_rule_sgd(const gs_rule_step *step)
{
    if (GS_IS_WIDE) {
        sgd_wide(step);
    } else {
        sgd_body(step);
    }
}

/* ---------------------------------------------------------------- adam */

GS_WIDE_BODY void adam_body(const gs_rule_step *step)
{
    const gs_optimizer_config *config = step->config;
    const gs_optimizer_update *update = step->update;
    GS_ASSERT(update->state != NULL && update->updates >= 0);
    float *parameters = update->parameters + update->offset;
    const float *gradient = update->gradient + update->offset;
    float *mean = update->state + update->offset;
    float *square = update->state + update->parameter_count + update->offset;
    double t = (double)update->updates + 1.0;
    float rate = (float)(step->rate / (1.0 - pow(config->beta1, t)));
    float root = (float)(1.0 / sqrt(1.0 - pow(config->beta2, t)));
    float beta1 = (float)config->beta1, beta2 = (float)config->beta2;
    float rest1 = (float)(1.0 - config->beta1), rest2 = (float)(1.0 - config->beta2);
    float epsilon = (float)config->epsilon;
    bool is_apart = config->kind == GS_ADAMW;
    float decay = is_apart ? 0.0F : (float)config->weight_decay;
    float keep = is_apart ? (float)(1.0 - step->rate * config->weight_decay) : 1.0F;
    for (size_t i = 0; i < update->count; i++) {
        float x = parameters[i] * keep;
        float g = step->factor * gradient[i] + decay * parameters[i];
        mean[i] = normal_or_zero(beta1 * mean[i] + rest1 * g);
        square[i] = normal_or_zero(beta2 * square[i] + rest2 * (g * g));
        parameters[i] = x - rate * (mean[i] / (sqrtf(square[i]) * root + epsilon));
    }
}

GS_WIDE static void adam_wide(const gs_rule_step *step)
{
    adam_body(step);
}

void gs_rule_adam(const gs_rule_step *step)
{
    if (GS_IS_WIDE) {
        adam_wide(step);
    } else {
        adam_body(step);
    }
}

/* ---------------------------------------------------------------- lars */

static void apply_to_layer(const gs_rule_step *step, size_t offset, size_t count)
{
    const gs_optimizer_config *config = step->config;
    const gs_optimizer_update *update = step->update;
    float *weights = update->parameters + offset;
    const float *gradient = update->gradient + offset;
    double size = sqrt(gs_sum_of_squares(weights, count));
    double slope = sqrt(gs_sum_of_squares(gradient, count)) * (double)step->factor;
    double trust = 1.0;
    if (size > 0.0 && slope > 0.0) {
        trust = config->trust * size / (slope + config->weight_decay * size);
    }
    float factor = (float)(trust * (double)step->factor);
    float decay = (float)(trust * config->weight_decay);
    sgd by = {(float)step->rate, (float)config->momentum, decay, factor};
    if (gs_optimizer_state_vectors(config) == 0) {
        plain(by, weights, gradient, count);
    } else {
        GS_ASSERT(update->state != NULL);
        heavy_ball(by, weights, gradient, update->state + offset, count);
    }
}

void gs_rule_lars(const gs_rule_step *step)
{
    const gs_network *network = step->update->network;
    GS_ASSERT(network != NULL);
    GS_ASSERT((size_t)network->parameter_count == step->update->parameter_count);
    for (uint32_t i = 0; i < network->layer_count; i++) {
        const gs_layer *layer = &network->layers[i];
        apply_to_layer(step, (size_t)layer->offset, (size_t)layer->parameter_count);
    }
}
