/* Softmax regression: one affine layer; convex, so every run that converges finds the same loss. */
#include "models/layers/dense.h"
#include "models/model.h"

static const gs_field_table table = {.name = "softmax"};

static gs_status build(const void *config, const gs_data_shape *data, gs_network *out,
                       gs_error *err)
{
    (void)config;
    GS_TRY(gs_model_takes_floats(data, "softmax", err));
    GS_TRY(gs_model_gives_classes(data, "softmax", err));
    gs_network_begin(out, data);
    (void)gs_add_dense(out, 1, data->answer_count * data->answer_width);
    return gs_network_end(out, err);
}

const gs_model gs_model_softmax = {
    .name = "softmax",
    .summary = "softmax regression, one affine layer",
    .source = "Bishop, Pattern Recognition and Machine Learning, 2006, section 4.3.4",
    .config_table = &table,
    .build = build,
};
