#include "models/layers/dense.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "models/blas.h"
#include "models/layers/start.h"

/* Positions of the whole batch, and the length of their vectors. */
static int64_t rows_of(const gs_layer_pass *pass)
{
    return pass->count * pass->layer->out.height;
}

static int64_t inputs_of(const gs_layer *layer)
{
    return layer->input_count / layer->out.height;
}

static void init(const gs_layer *layer, gs_rng_key key, float *parameters)
{
    int64_t outputs = layer->out.width;
    int64_t weight_count = inputs_of(layer) * outputs;
    if (layer->start_deviation > 0.0) {
        gs_start_normal(key, layer->start_deviation, parameters, weight_count);
    } else {
        double bound = sqrt(6.0 / (double)(inputs_of(layer) + outputs));
        gs_start_uniform(key, bound, parameters, weight_count);
    }
    gs_start_constant(0.0F, parameters + weight_count, outputs);
}

static void forward(const gs_layer_pass *pass)
{
    int64_t rows = rows_of(pass);
    int64_t inputs = inputs_of(pass->layer);
    int64_t outputs = pass->layer->out.width;
    gs_matrix x = {pass->inputs, rows, inputs, false};
    gs_matrix w = {pass->parameters, outputs, inputs, true};
    gs_blas_multiply(&x, &w, false, pass->outputs);
    const float *bias = pass->parameters + inputs * outputs;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < outputs; j++) {
            pass->outputs[i * outputs + j] += bias[j];
        }
    }
}

/* dW = delta^T x, db = the sum of delta's rows in sample order, dx = delta W. */
static void backward(const gs_layer_pass *pass)
{
    int64_t rows = rows_of(pass);
    int64_t inputs = inputs_of(pass->layer);
    int64_t outputs = pass->layer->out.width;
    const float *delta = pass->output_gradient;
    gs_matrix x = {pass->inputs, rows, inputs, false};
    gs_matrix transposed = {delta, rows, outputs, true};
    gs_blas_multiply(&transposed, &x, pass->accumulate, pass->parameter_gradient);
    float *bias = pass->parameter_gradient + inputs * outputs;
    if (!pass->accumulate) {
        memset(bias, 0, (size_t)outputs * sizeof(float));
    }
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < outputs; j++) {
            bias[j] += delta[i * outputs + j];
        }
    }
    if (pass->input_gradient != NULL) {
        gs_matrix d = {delta, rows, outputs, false};
        gs_matrix w = {pass->parameters, outputs, inputs, false};
        gs_blas_multiply(&d, &w, false, pass->input_gradient);
    }
}

const gs_layer_kind gs_layer_dense = {
    .name = "dense",
    .source = "Goodfellow, Bengio and Courville, Deep Learning, 2016, section 6.5.6",
    .init = init,
    .forward = forward,
    .backward = backward,
};

int32_t gs_add_dense_normal(gs_network *network, int64_t positions, int64_t outputs,
                            double deviation)
{
    int64_t inputs = gs_extent_count(gs_network_extent(network, gs_network_last(network)));
    GS_ASSERT(positions > 0 && inputs % positions == 0 && outputs > 0);
    inputs /= positions;
    gs_layer layer = gs_network_layer(network, &gs_layer_dense, NULL);
    layer.out = (gs_extent){1, positions, outputs};
    layer.start_deviation = deviation;
    layer.parameter_count = (inputs + 1) * outputs;
    layer.rows = outputs;
    layer.columns = inputs;
    layer.forward_flops = positions * (2 * inputs + 1) * outputs;
    return gs_network_add(network, &layer);
}

int32_t gs_add_dense(gs_network *network, int64_t positions, int64_t outputs)
{
    return gs_add_dense_normal(network, positions, outputs, 0.0);
}
