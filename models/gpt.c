/* A decoder-only transformer for text: it says at each token which one comes next. */
#include "models/layers/activation.h"
#include "models/layers/attention.h"
#include "models/layers/dense.h"
#include "models/layers/embedding.h"
#include "models/layers/normalisation.h"
#include "models/layers/residual.h"
#include "models/model.h"

#include <math.h>

typedef struct gpt_config {
    int64_t layers, heads, width;
} gpt_config;

/* clang-format off */
static const gs_field fields[] = {
    {"layers", GS_FIELD_INT, GS_FIELD_AT(gpt_config, layers), "2", 1, 18, NULL,
     "blocks of attention and perceptron"},
    {"heads", GS_FIELD_INT, GS_FIELD_AT(gpt_config, heads), "4", 1, 256, NULL,
     "heads of each attention; divides the width"},
    {"width", GS_FIELD_INT, GS_FIELD_AT(gpt_config, width), "64", 1, 8192, NULL,
     "numbers of a token between layers"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "gpt",
    .struct_bytes = sizeof(gpt_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

static const double deviation = 0.02;

/* Norms stand before what they feed, so that residual connections run through unchanged. The layers
 * that write into those start smaller, by the root of how many there are. */
static void add_block(const gpt_config *gpt, int64_t positions, gs_network *out)
{
    double residual_deviation = deviation / sqrt(2.0 * (double)gpt->layers);
    int32_t around = gs_network_last(out);
    (void)gs_add_layer_norm(out);
    (void)gs_add_dense_normal(out, positions, 3 * gpt->width, deviation);
    (void)gs_add_attention(out, (int32_t)gpt->heads);
    (void)gs_add_dense_normal(out, positions, gpt->width, residual_deviation);
    around = gs_add_residual(out, around);
    (void)gs_add_layer_norm(out);
    (void)gs_add_dense_normal(out, positions, 4 * gpt->width, deviation);
    (void)gs_add_activation(out, &gs_layer_gelu);
    (void)gs_add_dense_normal(out, positions, gpt->width, residual_deviation);
    (void)gs_add_residual(out, around);
}

static gs_status build(const void *config, const gs_data_shape *data, gs_network *out,
                       gs_error *err)
{
    const gpt_config *gpt = config;
    GS_TRY(gs_model_takes_tokens(data, "gpt", err));
    if (gpt->width % gpt->heads != 0) {
        return gs_fail(err, GS_EINVAL,
                       "gpt: %lld heads do not divide width %lld; use a width that is a multiple "
                       "of heads",
                       (long long)gpt->heads, (long long)gpt->width);
    }
    gs_network_begin(out, data);
    int32_t embedding = gs_add_embedding(out, gpt->width, deviation);
    (void)gs_add_positions(out, deviation);
    for (int64_t i = 0; i < gpt->layers; i++) {
        add_block(gpt, data->answer_count, out);
    }
    (void)gs_add_layer_norm(out);
    (void)gs_add_tied_output(out, embedding);
    return gs_network_end(out, err);
}

const gs_model gs_model_gpt = {
    .name = "gpt",
    .summary = "decoder-only transformer for text, with tied output",
    .source = "Radford et al., Language Models are Unsupervised Multitask Learners, 2019, "
              "section 2.3",
    .config_table = &table,
    .build = build,
};
