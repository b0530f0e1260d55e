/* A multi-layer perceptron: affine layers with ReLU between them, softmax at the end. */
#include "models/dense_chain.h"

typedef struct mlp_config {
    gs_int_list hidden;
} mlp_config;

/* clang-format off */
static const gs_field fields[] = {
    {"hidden", GS_FIELD_INT_LIST, GS_FIELD_AT(mlp_config, hidden), "128", 1, 65536, NULL,
     "outputs of each hidden layer, from input to output"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "mlp",
    .struct_bytes = sizeof(mlp_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

static gs_status describe(const void *config, int64_t input_count, int64_t class_count,
                          gs_model_shape *out, gs_error *err)
{
    const mlp_config *mlp = config;
    return gs_dense_chain_describe(&mlp->hidden, input_count, class_count, out, err);
}

const gs_model gs_model_mlp = {
    .name = "mlp",
    .summary = "multi-layer perceptron with ReLU and softmax",
    .source = "Rumelhart, Hinton and Williams, Nature 323, 1986; ReLU: Nair and Hinton, ICML 2010",
    .config_table = &table,
    .describe = describe,
    .init = gs_dense_chain_init,
    .workspace_bytes = gs_dense_chain_workspace_bytes,
    .gradient = gs_dense_chain_gradient,
    .evaluate = gs_dense_chain_evaluate,
};
