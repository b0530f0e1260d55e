/* Linear regression: one affine layer and the squared error; its one minimum is known exactly. */
#include "models/layers/dense.h"
#include "models/model.h"

static const gs_field_table table = {.name = "linear"};

static gs_status build(const void *config, const gs_data_shape *data, gs_network *out,
                       gs_error *err)
{
    (void)config;
    GS_TRY(gs_model_takes_floats(data, "linear", err));
    GS_TRY(gs_model_gives_numbers(data, "linear", err));
    gs_network_begin(out, data);
    (void)gs_add_dense(out, 1, data->answer_count * data->answer_width);
    return gs_network_end(out, err);
}

const gs_model gs_model_linear = {
    .name = "linear",
    .summary = "linear regression with squared error, one affine layer",
    .source = "Bishop, Pattern Recognition and Machine Learning, 2006, section 3.1",
    .config_table = &table,
    .build = build,
};
