#include "models/optimizer.h"

#include <math.h>

#include "base/assert.h"
#include "models/loss_scale.h"
#include "models/optimizer_rules.h"

static const char *const names[] = {"sgd", "adam", "adamw", "lars", NULL};
static const char *const scale_words[] = {"dynamic", NULL};

#define SAMPLES_MAX 1e15

/* clang-format off */
static const gs_field fields[] = {
    {"name", GS_FIELD_CHOICE, GS_FIELD_AT(gs_optimizer_config, kind), "sgd", 0, 0, names,
     "rule that applies a gradient"},
    {"rate", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, rate), "0.1", 1e-12, 1e6, NULL,
     "learning rate; 0.1 is for sgd, adam wants about 0.001"},
    {"momentum", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, momentum), "0.9", 0, 0.999999,
     NULL, "sgd, lars: share of the last update's direction that is kept; 0 keeps none"},
    {"nesterov", GS_FIELD_BOOL, GS_FIELD_AT(gs_optimizer_config, nesterov), "false", 0, 0, NULL,
     "sgd: step as if the momentum had been followed already"},
    {"beta1", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, beta1), "0.9", 0, 0.999999, NULL,
     "adam, adamw: share of the mean gradient that is kept"},
    {"beta2", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, beta2), "0.999", 0, 0.99999999, NULL,
     "adam, adamw: share of the mean squared gradient that is kept"},
    {"epsilon", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, epsilon), "1e-8", 1e-30, 1, NULL,
     "adam, adamw: added to the root of the mean square"},
    {"trust", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, trust), "0.001", 1e-12, 1e6, NULL,
     "lars: rate of a layer by the norms of its weights and gradient"},
    {"weight_decay", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, weight_decay), "0", 0, 1e3,
     NULL, "times the parameters: added to the gradient (L2), by adamw taken off them"},
    {"clip", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, clip), "0", 0, 1e12, NULL,
     "largest norm of the whole gradient, longer ones are scaled to it; 0: any"},
    {"loss_scale", GS_FIELD_REAL_OR_CHOICE, GS_FIELD_AT(gs_optimizer_config, loss_scale), "1",
     1e-12, 1e12, scale_words,
     "gradients are multiplied by it before they are rounded to dtype and divided when applied"},
    {"schedule", GS_FIELD_CHOICE, GS_FIELD_AT(gs_optimizer_config, schedule.kind), "constant", 0, 0,
     gs_schedule_names, "how the rate goes on after the warm-up"},
    {"warmup_samples", GS_FIELD_INT, GS_FIELD_AT(gs_optimizer_config, schedule.warmup_samples),
     "0", 0, SAMPLES_MAX, NULL, "the rate rises from 0 over so many samples of all ranks"},
    {"schedule_samples", GS_FIELD_INT, GS_FIELD_AT(gs_optimizer_config, schedule.end_samples), "0",
     0, SAMPLES_MAX, NULL, "where linear and cosine reach 0, in samples; 0: the budget"},
    {"drop_samples", GS_FIELD_INT_LIST, GS_FIELD_AT(gs_optimizer_config, schedule.drops), "", 1,
     SAMPLES_MAX, NULL, "step: samples after which the rate drops; none: at 1/2 and 3/4 of the end"},
    {"drop_factor", GS_FIELD_RATIO, GS_FIELD_AT(gs_optimizer_config, schedule.drop_factor), "0.1",
     0, 1, NULL, "step: each drop multiplies the rate by it"},
};
/* clang-format on */

const gs_field_table gs_optimizer_config_table = {
    .name = "optimizer",
    .struct_bytes = sizeof(gs_optimizer_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

static bool is_adam(const gs_optimizer_config *config)
{
    return config->kind == GS_ADAM || config->kind == GS_ADAMW;
}

static bool has_dynamic_scale(const gs_optimizer_config *config)
{
    return config->loss_scale < 0.0;
}

/* ---------------------------------------------------------------- what it keeps and costs */

size_t gs_optimizer_state_vectors(const gs_optimizer_config *config)
{
    if (is_adam(config)) {
        return 2;
    }
    return config->momentum > 0.0 ? 1 : 0;
}

size_t gs_optimizer_state_floats(const gs_optimizer_config *config, size_t parameter_count)
{
    return gs_optimizer_state_vectors(config) * parameter_count +
           (has_dynamic_scale(config) ? GS_LOSS_SCALE_FLOATS : 0);
}

double gs_optimizer_loss_scale(const gs_optimizer_config *config, const float *state,
                               size_t parameter_count)
{
    if (!has_dynamic_scale(config)) {
        return config->loss_scale;
    }
    GS_ASSERT(state != NULL);
    return gs_loss_scale(state + gs_optimizer_state_vectors(config) * parameter_count);
}

int64_t gs_optimizer_moves(const gs_optimizer_config *config)
{
    int64_t moves = 3 + 2 * (int64_t)gs_optimizer_state_vectors(config); /* x and g; x, state */
    moves += config->clip > 0.0 || has_dynamic_scale(config) ? 1 : 0;
    moves += config->kind == GS_LARS ? 2 : 0;
    return moves;
}

bool gs_optimizer_is_linear(const gs_optimizer_config *config)
{
    bool is_nesterov = config->nesterov && config->momentum > 0.0;
    return config->kind == GS_SGD && !is_nesterov && !(config->clip > 0.0) &&
           !has_dynamic_scale(config) && gs_schedule_is_constant(&config->schedule);
}

bool gs_optimizer_needs_whole(const gs_optimizer_config *config)
{
    return config->clip > 0.0 || config->kind == GS_LARS || has_dynamic_scale(config);
}

/* ---------------------------------------------------------------- applying */

/* torch.nn.utils.clip_grad_norm_: clip / (norm + 1e-6), at most 1. */
static double clip_factor(const gs_optimizer_config *config, double norm)
{
    double factor = config->clip / (norm + 1e-6);
    return factor < 1.0 ? factor : 1.0;
}

static void apply_rule(const gs_rule_step *step)
{
    switch ((gs_optimizer_kind)step->config->kind) {
    case GS_SGD:
        gs_rule_sgd(step);
        break;
    case GS_ADAM:
    case GS_ADAMW:
        gs_rule_adam(step);
        break;
    case GS_LARS:
        gs_rule_lars(step);
        break;
    }
}

bool gs_optimizer_apply(const gs_optimizer_config *config, const gs_optimizer_update *update)
{
    return gs_optimizer_apply_on(NULL, NULL, config, update);
}

bool gs_optimizer_apply_on(const gs_accelerator *device, void *device_context,
                           const gs_optimizer_config *config, const gs_optimizer_update *update)
{
    if (device != NULL && gs_optimizer_needs_whole(config)) {
        (void)device->synchronise(device_context, NULL); /* a failure is told by the next one too */
    }
    size_t whole = update->parameter_count;
    GS_ASSERT(update->offset <= whole && update->count <= whole - update->offset);
    GS_ASSERT(!gs_optimizer_needs_whole(config) || update->count == whole);
    double factor = update->gradient_scale > 0.0 ? 1.0 / update->gradient_scale : 1.0;
    if (config->clip > 0.0 || has_dynamic_scale(config)) {
        double square = gs_sum_of_squares(update->gradient, whole);
        if (has_dynamic_scale(config)) {
            GS_ASSERT(update->state != NULL);
            float *scale = update->state + gs_optimizer_state_vectors(config) * whole;
            gs_loss_scale_update(scale, isfinite(square));
            if (!isfinite(square)) {
                return false;
            }
        }
        if (config->clip > 0.0) {
            factor *= clip_factor(config, sqrt(square) * factor);
        }
    }
    apply_rule(&(gs_rule_step){
        .config = config,
        .update = update,
        .rate = config->rate * update->rate_scale *
                gs_schedule_factor(&config->schedule, update->samples),
        .factor = (float)factor,
        .device = device,
        .device_context = device_context,
    });
    return true;
}
