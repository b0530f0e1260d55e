#include "models/layers/residual.h"

#include <string.h>

#include "base/assert.h"

static void forward(const gs_layer_pass *pass)
{
    int64_t count = pass->count * pass->layer->output_count;
    for (int64_t i = 0; i < count; i++) {
        pass->outputs[i] = pass->inputs[i] + pass->others[i];
    }
}

static void backward(const gs_layer_pass *pass)
{
    size_t bytes = (size_t)(pass->count * pass->layer->output_count) * sizeof(float);
    if (pass->input_gradient != NULL) {
        memcpy(pass->input_gradient, pass->output_gradient, bytes);
    }
    if (pass->other_gradient != NULL) {
        memcpy(pass->other_gradient, pass->output_gradient, bytes);
    }
}

const gs_layer_kind gs_layer_residual = {
    .name = "residual",
    .source = "He et al., Deep Residual Learning, CVPR 2016, eq. 1",
    .forward = forward,
    .backward = backward,
};

int32_t gs_add_residual(gs_network *network, int32_t other)
{
    gs_layer layer = gs_network_layer(network, &gs_layer_residual, NULL);
    layer.other = other;
    layer.out = gs_network_extent(network, layer.input);
    GS_ASSERT(network->too_large || (other >= 0 && other != layer.input));
    GS_ASSERT(network->too_large ||
              gs_extent_count(gs_network_extent(network, other)) == gs_extent_count(layer.out));
    layer.forward_flops = gs_extent_count(layer.out);
    return gs_network_add(network, &layer);
}
