#include "models/layers/activation.h"

#include <math.h>
#include <string.h>

static int64_t values_of(const gs_layer_pass *pass)
{
    return pass->count * pass->layer->output_count;
}

/* max(v, 0), which keeps NaN, so that a diverged model is seen as one; v + |v| is exact for all but
 * the largest floats. Signs are as good as random here: a branch on them is mispredicted half of
 * the time and costs more than all the rest. */
static void relu_forward(const gs_layer_pass *pass)
{
    int64_t count = values_of(pass);
    for (int64_t i = 0; i < count; i++) {
        pass->outputs[i] = 0.5F * (pass->inputs[i] + fabsf(pass->inputs[i]));
    }
}

/* What comes from above where the gate was open, else 0. Masks bits, because compilers turn the
 * plain choice into a branch. */
static void relu_backward(const gs_layer_pass *pass)
{
    int64_t count = values_of(pass);
    for (int64_t i = 0; pass->input_gradient != NULL && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &pass->output_gradient[i], sizeof bits);
        bits &= 0U - (uint32_t)(pass->outputs[i] > 0.0F);
        memcpy(&pass->input_gradient[i], &bits, sizeof bits);
    }
}

const gs_layer_kind gs_layer_relu = {
    .name = "relu",
    .source = "Nair and Hinton, ICML 2010",
    .forward = relu_forward,
    .backward = relu_backward,
};

int32_t gs_add_activation(gs_network *network, const gs_layer_kind *kind)
{
    gs_layer layer = gs_network_layer(network, kind, NULL);
    layer.out = gs_network_extent(network, layer.input);
    return gs_network_add(network, &layer);
}
