#include "models/layers/activation.h"

#include <math.h>
#include <string.h>

#include "models/layers/curves.h"

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

/* Loops of one fixed length over bits are what every compiler vectorises. */
enum { BLOCK = 16 };

static void close_gates(const float outputs[BLOCK], const float delta[BLOCK], float out[BLOCK])
{
    uint32_t bits[BLOCK];
    memcpy(bits, delta, sizeof bits);
    for (int i = 0; i < BLOCK; i++) {
        bits[i] &= 0U - (uint32_t)(outputs[i] > 0.0F);
    }
    memcpy(out, bits, sizeof bits);
}

/* What comes from above where the gate was open, else 0. */
static void relu_backward(const gs_layer_pass *pass)
{
    int64_t count = pass->input_gradient == NULL ? 0 : values_of(pass);
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        close_gates(pass->outputs + i, pass->output_gradient + i, pass->input_gradient + i);
    }
    if (i < count) {
        float outputs[BLOCK] = {0};
        float delta[BLOCK] = {0};
        size_t bytes = (size_t)(count - i) * sizeof(float);
        memcpy(outputs, pass->outputs + i, bytes);
        memcpy(delta, pass->output_gradient + i, bytes);
        close_gates(outputs, delta, delta);
        memcpy(pass->input_gradient + i, delta, bytes);
    }
}

const gs_layer_kind gs_layer_relu = {
    .name = "relu",
    .source = "Nair and Hinton, ICML 2010",
    .forward = relu_forward,
    .backward = relu_backward,
};

static void tanh_forward(const gs_layer_pass *pass)
{
    gs_curve_tanh(pass->inputs, pass->outputs, values_of(pass));
}

/* tanh' = 1 - tanh^2 */
static void tanh_backward(const gs_layer_pass *pass)
{
    int64_t count = values_of(pass);
    for (int64_t i = 0; pass->input_gradient != NULL && i < count; i++) {
        float y = pass->outputs[i];
        pass->input_gradient[i] = pass->output_gradient[i] * (1.0F - y * y);
    }
}

const gs_layer_kind gs_layer_tanh = {
    .name = "tanh",
    .source = "Goodfellow, Bengio and Courville, Deep Learning, 2016, section 6.3.2",
    .forward = tanh_forward,
    .backward = tanh_backward,
};

/* sqrt(2 / pi), and the cubic term's factor */
static const float gelu_slope = 0.797884561F;
static const float gelu_cubic = 0.044715F;

/* Keeps the tanh: it costs more than all the rest. */
static void gelu_forward(const gs_layer_pass *pass)
{
    int64_t count = values_of(pass);
    for (int64_t i = 0; i < count; i++) {
        float x = pass->inputs[i];
        pass->kept[i] = gelu_slope * (x + gelu_cubic * x * x * x);
    }
    gs_curve_tanh(pass->kept, pass->kept, count);
    for (int64_t i = 0; i < count; i++) {
        pass->outputs[i] = 0.5F * pass->inputs[i] * (1.0F + pass->kept[i]);
    }
}

static void gelu_backward(const gs_layer_pass *pass)
{
    int64_t count = values_of(pass);
    for (int64_t i = 0; pass->input_gradient != NULL && i < count; i++) {
        float x = pass->inputs[i];
        float bent = pass->kept[i];
        float inner = gelu_slope * (1.0F + 3.0F * gelu_cubic * x * x);
        float slope = 0.5F * (1.0F + bent) + 0.5F * x * (1.0F - bent * bent) * inner;
        pass->input_gradient[i] = pass->output_gradient[i] * slope;
    }
}

const gs_layer_kind gs_layer_gelu = {
    .name = "gelu",
    .source = "Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv:1606.08415, section 2",
    .forward = gelu_forward,
    .backward = gelu_backward,
};

int32_t gs_add_activation(gs_network *network, const gs_layer_kind *kind)
{
    gs_layer layer = gs_network_layer(network, kind, NULL);
    layer.out = gs_network_extent(network, layer.input);
    layer.kept_count = kind == &gs_layer_gelu ? gs_extent_count(layer.out) : 0;
    return gs_network_add(network, &layer);
}
