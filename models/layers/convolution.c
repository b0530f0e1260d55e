#include "models/layers/convolution.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "models/blas.h"
#include "models/layers/start.h"
#include "models/layers/sums.h"

/* Inputs of one output: rows of the patch matrix. */
static int64_t patch_of(const gs_layer *layer)
{
    return layer->in.channels * layer->kernel * layer->kernel;
}

static int64_t plane_of(const gs_layer *layer)
{
    return layer->out.height * layer->out.width;
}

static void init(const gs_layer *layer, gs_rng_key key, float *parameters)
{
    int64_t weight_count = layer->out.channels * patch_of(layer);
    gs_start_uniform(key, sqrt(6.0 / (double)patch_of(layer)), parameters, weight_count);
    gs_start_constant(0.0F, parameters + weight_count, layer->out.channels);
}

/* The image with its padding around it: lines of it, and values of a line. */
static int64_t padded_height(const gs_layer *layer)
{
    return layer->in.height + 2 * (int64_t)layer->padding;
}

static int64_t padded_width(const gs_layer *layer)
{
    return layer->in.width + 2 * (int64_t)layer->padding;
}

static int64_t padded_count(const gs_layer *layer)
{
    return layer->in.channels * padded_height(layer) * padded_width(layer);
}

/* Line y of channel c within a padded image. */
static int64_t line_in_padded(const gs_layer *layer, int64_t c, int64_t y)
{
    return (c * padded_height(layer) + y + layer->padding) * padded_width(layer) + layer->padding;
}

static void pad(const gs_layer *layer, const float *image, float *padded)
{
    memset(padded, 0, (size_t)padded_count(layer) * sizeof(float));
    for (int64_t c = 0; c < layer->in.channels; c++) {
        for (int64_t y = 0; y < layer->in.height; y++, image += layer->in.width) {
            memcpy(padded + line_in_padded(layer, c, y), image,
                   (size_t)layer->in.width * sizeof(float));
        }
    }
}

/* The image without its padding. */
static void unpad(const gs_layer *layer, const float *padded, float *image)
{
    for (int64_t c = 0; c < layer->in.channels; c++) {
        for (int64_t y = 0; y < layer->in.height; y++, image += layer->in.width) {
            memcpy(image, padded + line_in_padded(layer, c, y),
                   (size_t)layer->in.width * sizeof(float));
        }
    }
}

/* Row `index` of the patch matrix belongs to one weight. The place of what that weight sees for the
 * first output, in a padded image. */
static int64_t corner_of(const gs_layer *layer, int64_t index)
{
    int64_t kernel = layer->kernel;
    int64_t line = index / (kernel * kernel) * padded_height(layer) + index / kernel % kernel;
    return line * padded_width(layer) + index % kernel;
}

/* patches [patch_of][plane_of] of one padded image. */
static void gather(const gs_layer *layer, const float *padded, float *patches)
{
    int64_t stride = layer->stride;
    int64_t width = layer->out.width;
    for (int64_t r = 0; r < patch_of(layer); r++) {
        const float *line = padded + corner_of(layer, r);
        for (int64_t y = 0; y < layer->out.height; y++, line += stride * padded_width(layer)) {
            for (int64_t x = 0; x < width; x++) {
                patches[x] = line[x * stride];
            }
            patches += width;
        }
    }
}

/* The reverse: adds what came back for each patch to the values it was gathered from. */
static void scatter(const gs_layer *layer, const float *patches, float *padded)
{
    memset(padded, 0, (size_t)padded_count(layer) * sizeof(float));
    int64_t stride = layer->stride;
    int64_t width = layer->out.width;
    for (int64_t r = 0; r < patch_of(layer); r++) {
        float *line = padded + corner_of(layer, r);
        for (int64_t y = 0; y < layer->out.height; y++, line += stride * padded_width(layer)) {
            for (int64_t x = 0; x < width; x++) {
                line[x * stride] += patches[x];
            }
            patches += width;
        }
    }
}

/* Sample by sample: the patches of one stay in the cache until their product is done. */
static void forward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    int64_t channels = layer->out.channels;
    int64_t plane = plane_of(layer);
    gs_matrix weights = {pass->parameters, channels, patch_of(layer), false};
    float *padded = pass->scratch + patch_of(layer) * plane;
    gs_matrix patches = {pass->scratch, patch_of(layer), plane, false};
    const float *bias = pass->parameters + channels * patch_of(layer);
    for (int64_t i = 0; i < pass->count; i++) {
        float *outputs = pass->outputs + i * layer->output_count;
        pad(layer, pass->inputs + i * layer->input_count, padded);
        gather(layer, padded, pass->scratch);
        gs_blas_multiply(&weights, &patches, false, outputs);
        for (int64_t c = 0; c < channels; c++) {
            for (int64_t p = 0; p < plane; p++) {
                outputs[c * plane + p] += bias[c];
            }
        }
    }
}

/* dW = delta patches^T, db = sums of delta, dx = W^T delta, scattered. The patches are gathered
 * anew: that costs little, and keeping them would take kernel^2 images of memory. */
static void backward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    int64_t channels = layer->out.channels;
    int64_t plane = plane_of(layer);
    float *bias = pass->parameter_gradient + channels * patch_of(layer);
    float *padded = pass->scratch + patch_of(layer) * plane;
    gs_matrix turned_weights = {pass->parameters, channels, patch_of(layer), true};
    gs_matrix turned_patches = {pass->scratch, patch_of(layer), plane, true};
    for (int64_t i = 0; i < pass->count; i++) {
        bool add = pass->accumulate || i > 0;
        gs_matrix delta = {pass->output_gradient + i * layer->output_count, channels, plane, false};
        pad(layer, pass->inputs + i * layer->input_count, padded);
        gather(layer, padded, pass->scratch);
        gs_blas_multiply(&delta, &turned_patches, add, pass->parameter_gradient);
        for (int64_t c = 0; c < channels; c++) {
            bias[c] = (add ? bias[c] : 0.0F) + gs_sum(delta.elements + c * plane, plane);
        }
        if (pass->input_gradient != NULL) {
            gs_blas_multiply(&turned_weights, &delta, false, pass->scratch);
            scatter(layer, pass->scratch, padded);
            unpad(layer, padded, pass->input_gradient + i * layer->input_count);
        }
    }
}

const gs_layer_kind gs_layer_convolution = {
    .name = "conv",
    .source = "LeCun et al., Proceedings of the IEEE 86, 1998, section II; as matrix products: "
              "Chellapilla, Puri and Simard, IWFHR 2006",
    .init = init,
    .forward = forward,
    .backward = backward,
};

int32_t gs_add_convolution(gs_network *network, const gs_convolution *convolution)
{
    gs_extent in = gs_network_extent(network, gs_network_last(network));
    int32_t kernel = convolution->kernel;
    int32_t padding = convolution->padding;
    GS_ASSERT(kernel > 0 && convolution->stride > 0 && padding >= 0 && convolution->channels > 0);
    GS_ASSERT(in.height + 2 * padding >= kernel && in.width + 2 * padding >= kernel);
    gs_layer layer = gs_network_layer(network, &gs_layer_convolution, NULL);
    layer.kernel = kernel;
    layer.stride = convolution->stride;
    layer.padding = padding;
    layer.out = (gs_extent){convolution->channels,
                            gs_window_count(in.height, kernel, layer.stride, padding),
                            gs_window_count(in.width, kernel, layer.stride, padding)};
    int64_t patch = in.channels * kernel * kernel;
    int64_t plane = layer.out.height * layer.out.width;
    layer.parameter_count = (patch + 1) * convolution->channels;
    layer.rows = convolution->channels;
    layer.columns = patch;
    layer.in = in;
    layer.scratch_count = patch * plane + padded_count(&layer);
    layer.forward_flops = (2 * patch + 1) * convolution->channels * plane;
    return gs_network_add(network, &layer);
}
