/* Softmax regression: one affine layer; convex, so every run that converges finds the same loss. */
#include "models/dense_chain.h"

static const gs_field_table table = {.name = "softmax"};

static gs_status describe(const void *config, int64_t input_count, int64_t class_count,
                          gs_model_shape *out, gs_error *err)
{
    (void)config;
    const gs_int_list none = {.count = 0};
    return gs_dense_chain_describe(&none, input_count, class_count, out, err);
}

const gs_model gs_model_softmax = {
    .name = "softmax",
    .summary = "softmax regression, one affine layer",
    .source = "Bishop, Pattern Recognition and Machine Learning, 2006, section 4.3.4",
    .config_table = &table,
    .describe = describe,
    .init = gs_dense_chain_init,
    .workspace_bytes = gs_dense_chain_workspace_bytes,
    .gradient = gs_dense_chain_gradient,
    .evaluate = gs_dense_chain_evaluate,
};
