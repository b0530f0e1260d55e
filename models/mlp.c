/* A multi-layer perceptron: affine layers with an activation between them. */
#include "models/layers/activation.h"
#include "models/layers/dense.h"
#include "models/model.h"

typedef struct mlp_config {
    gs_int_list hidden;
    int activation; /* index into activations */
} mlp_config;

static const char *const activations[] = {"relu", "tanh", "gelu", NULL};
static const gs_layer_kind *const kinds[] = {&gs_layer_relu, &gs_layer_tanh, &gs_layer_gelu};

/* clang-format off */
static const gs_field fields[] = {
    {"hidden", GS_FIELD_INT_LIST, GS_FIELD_AT(mlp_config, hidden), "128", 1, 65536, NULL,
     "outputs of each hidden layer, from input to output"},
    {"activation", GS_FIELD_CHOICE, GS_FIELD_AT(mlp_config, activation), "relu", 0, 0, activations,
     "what stands behind each hidden layer"},
};
/* clang-format on */

static const gs_field_table table = {
    .name = "mlp",
    .struct_bytes = sizeof(mlp_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof fields[0],
};

static gs_status build(const void *config, const gs_data_shape *data, gs_network *out,
                       gs_error *err)
{
    const mlp_config *mlp = config;
    GS_TRY(gs_model_takes_floats(data, "mlp", err));
    gs_network_begin(out, data);
    for (int i = 0; i < mlp->hidden.count; i++) {
        (void)gs_add_dense(out, 1, mlp->hidden.values[i]);
        (void)gs_add_activation(out, kinds[mlp->activation]);
    }
    (void)gs_add_dense(out, 1, data->answer_count * data->answer_width);
    return gs_network_end(out, err);
}

const gs_model gs_model_mlp = {
    .name = "mlp",
    .summary = "multi-layer perceptron",
    .source = "Rumelhart, Hinton and Williams, Nature 323, 1986; ReLU: Nair and Hinton, ICML 2010",
    .config_table = &table,
    .build = build,
};
