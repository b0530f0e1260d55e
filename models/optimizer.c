#include "models/optimizer.h"

#include "base/assert.h"

static const char *const names[] = {"sgd", NULL};

/* clang-format off */
static const gs_field fields[] = {
    {"name", GS_FIELD_CHOICE, GS_FIELD_AT(gs_optimizer_config, kind), "sgd", 0, 0, names,
     "rule that applies a gradient"},
    {"rate", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, rate), "0.1", 1e-12, 1e6, NULL,
     "learning rate"},
    {"momentum", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, momentum), "0.9", 0, 0.999999,
     NULL, "share of the last update's direction that is kept; 0 keeps none"},
    {"weight_decay", GS_FIELD_REAL, GS_FIELD_AT(gs_optimizer_config, weight_decay), "0", 0, 1e3,
     NULL, "L2 decay: this times the parameters is added to the gradient"},
};
/* clang-format on */

const gs_field_table gs_optimizer_config_table = {
    .name = "optimizer",
    .struct_bytes = sizeof(gs_optimizer_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

size_t gs_optimizer_state_vectors(const gs_optimizer_config *config)
{
    return config->momentum > 0.0 ? 1 : 0;
}

void gs_optimizer_apply(const gs_optimizer_config *config, const gs_optimizer_update *update)
{
    float *parameters = update->parameters + update->offset;
    const float *gradient = update->gradient + update->offset;
    float step = (float)(config->rate * update->rate_scale);
    float momentum = (float)config->momentum;
    float decay = (float)config->weight_decay;
    if (gs_optimizer_state_vectors(config) == 0) {
        for (size_t i = 0; i < update->count; i++) {
            parameters[i] -= step * (gradient[i] + decay * parameters[i]);
        }
        return;
    }
    GS_ASSERT(update->state != NULL);
    float *velocity = update->state + update->offset;
    for (size_t i = 0; i < update->count; i++) {
        velocity[i] = momentum * velocity[i] + (gradient[i] + decay * parameters[i]);
        parameters[i] -= step * velocity[i];
    }
}
