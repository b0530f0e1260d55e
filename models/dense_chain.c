#include "models/dense_chain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"
#include "models/blas.h"
#include "models/loss.h"

/* Half of what an int32 counts, so that no size in bytes or flops comes near an overflow. */
enum { PARAMETERS_MAX = 1 << 30 };

gs_status gs_dense_chain_describe(const gs_int_list *hidden, int64_t input_count,
                                  int64_t class_count, gs_model_shape *out, gs_error *err)
{
    GS_ASSERT(hidden->count >= 0 && hidden->count < GS_MODEL_LAYERS_MAX);
    GS_ASSERT(input_count > 0 && input_count <= INT32_MAX && class_count > 1 && class_count <= 256);
    gs_model_shape shape = {.input_count = input_count,
                            .class_count = class_count,
                            .layer_count = (uint32_t)hidden->count + 1};
    int64_t inputs = input_count;
    for (uint32_t l = 0; l < shape.layer_count; l++) {
        int64_t outputs = l < (uint32_t)hidden->count ? hidden->values[l] : class_count;
        GS_ASSERT(outputs > 0 && outputs <= INT32_MAX);
        gs_model_layer *layer = &shape.layers[l];
        snprintf(layer->name, sizeof layer->name, "dense%u", (unsigned)l);
        layer->offset = shape.parameter_count;
        layer->input_count = inputs;
        layer->output_count = outputs;
        layer->parameter_count = (inputs + 1) * outputs;
        layer->forward_flops = (2 * inputs + 1) * outputs;
        shape.parameter_count += layer->parameter_count;
        if (shape.parameter_count > PARAMETERS_MAX) {
            return gs_fail(err, GS_ELIMIT,
                           "model has more than %d parameters from layer %u on (%lld x %lld); "
                           "use smaller widths in hidden",
                           (int)PARAMETERS_MAX, (unsigned)l, (long long)inputs, (long long)outputs);
        }
        inputs = outputs;
    }
    *out = shape;
    return GS_OK;
}

void gs_dense_chain_init(const gs_model_shape *shape, uint64_t seed, float *parameters)
{
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        const gs_model_layer *layer = &shape->layers[l];
        gs_rng_key key = {.seed = seed, .purpose = GS_RNG_INIT, .entity = l};
        double bound = sqrt(6.0 / (double)(layer->input_count + layer->output_count));
        int64_t weight_count = layer->input_count * layer->output_count;
        float *weights = parameters + layer->offset;
        for (int64_t i = 0; i < weight_count; i++) {
            double uniform = gs_rng_uniform(key, 0, (uint32_t)i);
            weights[i] = (float)(bound * (2.0 * uniform - 1.0));
        }
        memset(weights + weight_count, 0, (size_t)layer->output_count * sizeof(float));
    }
}

static int64_t widest_output(const gs_model_shape *shape)
{
    int64_t widest = 0;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        if (shape->layers[l].output_count > widest) {
            widest = shape->layers[l].output_count;
        }
    }
    return widest;
}

/* The outputs of every layer, and one more block of the widest layer for derivatives on their way.
 */
size_t gs_dense_chain_workspace_bytes(const gs_model_shape *shape, int64_t batch_max)
{
    int64_t values = widest_output(shape);
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        values += shape->layers[l].output_count;
    }
    return (size_t)values * (size_t)batch_max * sizeof(float);
}

static void add_bias(float *outputs, const float *bias, int64_t count, int64_t width)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < width; j++) {
            outputs[i * width + j] += bias[j];
        }
    }
}

/* max(v, 0), which keeps NaN, so that a diverged model is seen as one; v + |v| is exact for all but
 * the largest floats. Signs are as good as random here: a branch on them is mispredicted half of
 * the time and costs more than all the rest. */
static void rectify(float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        values[i] = 0.5F * (values[i] + fabsf(values[i]));
    }
}

/* Sets outputs[l] to where layer l's outputs lie in the workspace and fills all of them. Returns
 * what follows the last of them: the block for derivatives. */
static float *forward(const gs_model_shape *shape, const gs_model_pass *pass,
                      float *outputs[GS_MODEL_LAYERS_MAX])
{
    int64_t count = pass->batch.count;
    const float *inputs = pass->batch.inputs;
    float *next = pass->workspace;
    for (uint32_t l = 0; l < shape->layer_count; l++) {
        const gs_model_layer *layer = &shape->layers[l];
        const float *weights = pass->parameters + layer->offset;
        outputs[l] = next;
        next += count * layer->output_count;
        gs_matrix x = {inputs, count, layer->input_count, false};
        gs_matrix w = {weights, layer->output_count, layer->input_count, true};
        gs_blas_multiply(&x, &w, false, outputs[l]);
        add_bias(outputs[l], weights + layer->input_count * layer->output_count, count,
                 layer->output_count);
        if (l + 1 < shape->layer_count) {
            rectify(outputs[l], count * layer->output_count);
        }
        inputs = outputs[l];
    }
    return next;
}

/* dW = delta^T x and db = the sum of delta's rows, in sample order. */
static void layer_gradient(const gs_model_layer *layer, const gs_matrix *inputs, const float *delta,
                           bool accumulate, float *gradient)
{
    int64_t width = layer->output_count;
    gs_matrix transposed = {delta, inputs->rows, width, true};
    gs_blas_multiply(&transposed, inputs, accumulate, gradient);
    float *bias = gradient + layer->input_count * width;
    if (!accumulate) {
        memset(bias, 0, (size_t)width * sizeof(float));
    }
    for (int64_t i = 0; i < inputs->rows; i++) {
        for (int64_t j = 0; j < width; j++) {
            bias[j] += delta[i * width + j];
        }
    }
}

/* outputs becomes the derivative by the layer's own outputs: what came from above (delta) where the
 * ReLU was open, else 0. Masks bits, because compilers turn the plain choice into a branch. */
static void close_gate(float *outputs, const float *delta, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &delta[i], sizeof bits);
        bits &= 0U - (uint32_t)(outputs[i] > 0.0F);
        memcpy(&outputs[i], &bits, sizeof bits);
    }
}

double gs_dense_chain_gradient(const gs_model_shape *shape, const gs_model_pass *pass,
                               float *gradient)
{
    int64_t count = pass->batch.count;
    float *outputs[GS_MODEL_LAYERS_MAX] = {NULL};
    float *scratch = forward(shape, pass, outputs);
    uint32_t last = shape->layer_count - 1;
    double loss = gs_loss_backward(outputs[last], pass->batch.labels, count, shape->class_count) /
                  (double)count;
    for (uint32_t l = last + 1; l-- > 0;) {
        const gs_model_layer *layer = &shape->layers[l];
        const float *delta = outputs[l];
        gs_matrix x = {l > 0 ? outputs[l - 1] : pass->batch.inputs, count, layer->input_count,
                       false};
        layer_gradient(layer, &x, delta, pass->accumulate, gradient + layer->offset);
        if (pass->layer_ready != NULL) {
            pass->layer_ready(pass->context, l);
        }
        if (l > 0) {
            gs_matrix d = {delta, count, layer->output_count, false};
            gs_matrix w = {pass->parameters + layer->offset, layer->output_count,
                           layer->input_count, false};
            gs_blas_multiply(&d, &w, false, scratch);
            close_gate(outputs[l - 1], scratch, count * layer->input_count);
        }
    }
    return loss;
}

double gs_dense_chain_evaluate(const gs_model_shape *shape, const gs_model_pass *pass,
                               int64_t *out_correct)
{
    float *outputs[GS_MODEL_LAYERS_MAX] = {NULL};
    (void)forward(shape, pass, outputs);
    return gs_loss_evaluate(outputs[shape->layer_count - 1], pass->batch.labels, pass->batch.count,
                            shape->class_count, out_correct);
}
