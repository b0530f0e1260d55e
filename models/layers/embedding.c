#include "models/layers/embedding.h"

#include <string.h>

#include "base/assert.h"
#include "models/blas.h"
#include "models/layers/start.h"

static void init(const gs_layer *layer, gs_rng_key key, float *parameters)
{
    gs_start_normal(key, layer->start_deviation, parameters, layer->parameter_count);
}

static void embedding_forward(const gs_layer_pass *pass)
{
    int64_t width = pass->layer->out.width;
    for (int64_t i = 0; i < pass->count * pass->layer->out.height; i++) {
        memcpy(pass->outputs + i * width, pass->parameters + pass->tokens[i] * width,
               (size_t)width * sizeof(float));
    }
}

/* dst[i] += a[i] */
static void add_to(float *dst, const float *a, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        dst[i] += a[i];
    }
}

static void embedding_backward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    int64_t width = layer->out.width;
    if (!pass->accumulate) {
        memset(pass->parameter_gradient, 0, (size_t)layer->parameter_count * sizeof(float));
    }
    for (int64_t i = 0; i < pass->count * layer->out.height; i++) {
        add_to(pass->parameter_gradient + pass->tokens[i] * width,
               pass->output_gradient + i * width, width);
    }
}

const gs_layer_kind gs_layer_embedding = {
    .name = "embedding",
    .source = "Bengio et al., Journal of Machine Learning Research 3, 2003, section 2",
    .init = init,
    .forward = embedding_forward,
    .backward = embedding_backward,
};

static void positions_forward(const gs_layer_pass *pass)
{
    int64_t values = pass->layer->output_count;
    for (int64_t i = 0; i < pass->count; i++) {
        for (int64_t j = 0; j < values; j++) {
            pass->outputs[i * values + j] = pass->inputs[i * values + j] + pass->parameters[j];
        }
    }
}

static void positions_backward(const gs_layer_pass *pass)
{
    int64_t values = pass->layer->output_count;
    if (!pass->accumulate) {
        memset(pass->parameter_gradient, 0, (size_t)values * sizeof(float));
    }
    for (int64_t i = 0; i < pass->count; i++) {
        add_to(pass->parameter_gradient, pass->output_gradient + i * values, values);
    }
    if (pass->input_gradient != NULL) {
        memcpy(pass->input_gradient, pass->output_gradient,
               (size_t)(pass->count * values) * sizeof(float));
    }
}

const gs_layer_kind gs_layer_positions = {
    .name = "positions",
    .source = "Gehring et al., Convolutional Sequence to Sequence Learning, ICML 2017, section 3.1",
    .init = init,
    .forward = positions_forward,
    .backward = positions_backward,
};

static void tied_forward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    gs_matrix x = {pass->inputs, pass->count * layer->out.height, layer->in.width, false};
    gs_matrix rows = {pass->parameters, layer->out.width, layer->in.width, true};
    gs_blas_multiply(&x, &rows, false, pass->outputs);
}

static void tied_backward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    int64_t positions = pass->count * layer->out.height;
    gs_matrix x = {pass->inputs, positions, layer->in.width, false};
    gs_matrix turned = {pass->output_gradient, positions, layer->out.width, true};
    gs_blas_multiply(&turned, &x, pass->accumulate, pass->parameter_gradient);
    if (pass->input_gradient != NULL) {
        gs_matrix delta = {pass->output_gradient, positions, layer->out.width, false};
        gs_matrix rows = {pass->parameters, layer->out.width, layer->in.width, false};
        gs_blas_multiply(&delta, &rows, false, pass->input_gradient);
    }
}

const gs_layer_kind gs_layer_tied_output = {
    .name = "tied_output",
    .source = "Press and Wolf, Using the Output Embedding, EACL 2017, section 3",
    .forward = tied_forward,
    .backward = tied_backward,
};

int32_t gs_add_embedding(gs_network *network, int64_t width, double deviation)
{
    GS_ASSERT(network->data.is_tokens && network->layer_count == 0 && width > 0);
    gs_layer layer = gs_network_layer(network, &gs_layer_embedding, "embedding");
    layer.out = (gs_extent){1, gs_extent_count(network->data.input), width};
    layer.parameter_count = network->data.answer_width * width;
    layer.rows = network->data.answer_width;
    layer.columns = width;
    layer.start_deviation = deviation;
    return gs_network_add(network, &layer);
}

int32_t gs_add_positions(gs_network *network, double deviation)
{
    gs_layer layer = gs_network_layer(network, &gs_layer_positions, "positions");
    layer.out = gs_network_extent(network, layer.input);
    layer.parameter_count = gs_extent_count(layer.out);
    layer.rows = layer.out.height;
    layer.columns = layer.out.width;
    layer.start_deviation = deviation;
    layer.forward_flops = layer.parameter_count;
    return gs_network_add(network, &layer);
}

int32_t gs_add_tied_output(gs_network *network, int32_t embedding)
{
    gs_layer layer = gs_network_layer(network, &gs_layer_tied_output, "output");
    gs_extent in = gs_network_extent(network, layer.input);
    int64_t tokens = network->data.answer_width;
    layer.shares = embedding;
    layer.out = (gs_extent){1, in.height, tokens};
    GS_ASSERT(network->too_large || gs_network_extent(network, embedding).width == in.width);
    layer.forward_flops = 2 * in.height * in.width * tokens;
    return gs_network_add(network, &layer);
}
