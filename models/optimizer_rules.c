#include "models/optimizer_rules.h"

#include <math.h>

#include "base/assert.h"
#include "models/network.h"
#include "base/wide.h"

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

/* ---------------------------------------------------------------- over elements */

GS_WIDE_BODY void update_body(const gs_element_update *update)
{
    float *parameters = update->parameters;
    const float *gradient = update->gradient;
    float *state = update->state, *square = update->square;
    size_t count = update->count;
    gs_sgd_numbers sgd = update->sgd;
    gs_adam_numbers adam = update->adam;
    switch (update->form) {
    case GS_UPDATE_SGD:
        for (size_t i = 0; i < count; i++) {
            gs_element_sgd(sgd, &parameters[i], gradient[i]);
        }
        break;
    case GS_UPDATE_HEAVY_BALL:
        for (size_t i = 0; i < count; i++) {
            gs_element_heavy_ball(sgd, &parameters[i], gradient[i], &state[i]);
        }
        break;
    case GS_UPDATE_NESTEROV:
        for (size_t i = 0; i < count; i++) {
            gs_element_nesterov(sgd, &parameters[i], gradient[i], &state[i]);
        }
        break;
    case GS_UPDATE_ADAM:
        for (size_t i = 0; i < count; i++) {
            gs_element_adam(adam, &parameters[i], gradient[i], &state[i], &square[i]);
        }
        break;
    }
}

GS_WIDE static void update_wide(const gs_element_update *update)
{
    update_body(update);
}

static void run(const gs_rule_step *step, const gs_element_update *update)
{
    GS_ASSERT(update->form == GS_UPDATE_SGD || update->state != NULL);
    if (step->device != NULL) {
        step->device->update(step->device_context, update);
    } else if (GS_IS_WIDE) {
        update_wide(update);
    } else {
        update_body(update);
    }
}

/* ---------------------------------------------------------------- sgd and adam */

/* Of the elements from offset on. */
static gs_element_update update_of(const gs_rule_step *step, size_t offset, size_t count)
{
    const gs_optimizer_update *update = step->update;
    return (gs_element_update){
        .parameters = update->parameters + offset,
        .gradient = update->gradient + offset,
        .state = update->state == NULL ? NULL : update->state + offset,
        .count = count,
    };
}

static float momentum_of(const gs_rule_step *step)
{
    return (float)(step->config->momentum * (1.0 - step->update->momentum_less));
}

void gs_rule_sgd(const gs_rule_step *step)
{
    const gs_optimizer_config *config = step->config;
    gs_element_update update = update_of(step, step->update->offset, step->update->count);
    if (gs_optimizer_state_vectors(config) > 0) {
        update.form = config->nesterov ? GS_UPDATE_NESTEROV : GS_UPDATE_HEAVY_BALL;
    }
    update.sgd = (gs_sgd_numbers){(float)step->rate, momentum_of(step), (float)config->weight_decay,
                                  step->factor};
    run(step, &update);
}

void gs_rule_adam(const gs_rule_step *step)
{
    const gs_optimizer_config *config = step->config;
    GS_ASSERT(step->update->state != NULL && step->update->updates >= 0);
    gs_element_update update = update_of(step, step->update->offset, step->update->count);
    double t = (double)step->update->updates + 1.0;
    bool is_apart = config->kind == GS_ADAMW;
    update.form = GS_UPDATE_ADAM;
    update.square = update.state + step->update->parameter_count;
    update.adam = (gs_adam_numbers){
        .rate = (float)(step->rate / (1.0 - pow(config->beta1, t))),
        .root = (float)(1.0 / sqrt(1.0 - pow(config->beta2, t))),
        .beta1 = (float)config->beta1,
        .beta2 = (float)config->beta2,
        .rest1 = (float)(1.0 - config->beta1),
        .rest2 = (float)(1.0 - config->beta2),
        .epsilon = (float)config->epsilon,
        .decay = is_apart ? 0.0F : (float)config->weight_decay,
        .keep = is_apart ? (float)(1.0 - step->rate * config->weight_decay) : 1.0F,
        .factor = step->factor,
    };
    run(step, &update);
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
    gs_element_update part = update_of(step, offset, count);
    if (gs_optimizer_state_vectors(config) > 0) {
        part.form = GS_UPDATE_HEAVY_BALL;
    }
    part.sgd = (gs_sgd_numbers){(float)step->rate, momentum_of(step),
                                (float)(trust * config->weight_decay),
                                (float)(trust * (double)step->factor)};
    run(step, &part);
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
