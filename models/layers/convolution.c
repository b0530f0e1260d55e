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

/* One row of the patch matrix: what weight (channel, y, x) sees, for all outputs of a sample. The
 * outputs [first, end) of a line see pixels of the image from `from` on, the others its padding. */
typedef struct patch_row {
    int64_t channel, y, x;
    int64_t first, end, from;
} patch_row;

static patch_row row_at(const gs_layer *layer, int64_t index)
{
    int64_t stride = layer->stride;
    patch_row row = {.channel = index / layer->kernel / layer->kernel,
                     .y = index / layer->kernel % layer->kernel - layer->padding,
                     .x = index % layer->kernel - layer->padding};
    row.first = row.x < 0 ? (-row.x + stride - 1) / stride : 0;
    int64_t reach = layer->in.width - row.x;
    row.end = reach <= 0 ? 0 : (reach + stride - 1) / stride;
    row.end = row.end < layer->out.width ? row.end : layer->out.width;
    row.first = row.first < row.end ? row.first : row.end;
    row.from = row.first * stride + row.x;
    return row;
}

/* The line of the image under line y of the outputs, from the row's first pixel on; NULL: padding.
 */
static const float *line_under(const gs_layer *layer, const patch_row *row, const float *image,
                               int64_t y)
{
    int64_t line = y * layer->stride + row->y;
    if (line < 0 || line >= layer->in.height || row->first == row->end) {
        return NULL;
    }
    return image + (row->channel * layer->in.height + line) * layer->in.width + row->from;
}

/* patches [patch_of][plane_of] of one sample. */
static void gather(const gs_layer *layer, const float *image, float *patches)
{
    int64_t width = layer->out.width;
    for (int64_t r = 0; r < patch_of(layer); r++) {
        patch_row row = row_at(layer, r);
        for (int64_t y = 0; y < layer->out.height; y++, patches += width) {
            const float *line = line_under(layer, &row, image, y);
            if (line == NULL) {
                memset(patches, 0, (size_t)width * sizeof(float));
                continue;
            }
            for (int64_t x = 0; x < row.first; x++) {
                patches[x] = 0.0F;
            }
            if (layer->stride == 1) {
                memcpy(patches + row.first, line, (size_t)(row.end - row.first) * sizeof(float));
            } else {
                for (int64_t x = row.first; x < row.end; x++) {
                    patches[x] = line[(x - row.first) * layer->stride];
                }
            }
            for (int64_t x = row.end; x < width; x++) {
                patches[x] = 0.0F;
            }
        }
    }
}

/* The reverse: adds what came back for each patch to the pixels it was gathered from. */
static void scatter(const gs_layer *layer, const float *patches, float *image)
{
    memset(image, 0, (size_t)layer->input_count * sizeof(float));
    int64_t width = layer->out.width;
    for (int64_t r = 0; r < patch_of(layer); r++) {
        patch_row row = row_at(layer, r);
        for (int64_t y = 0; y < layer->out.height; y++, patches += width) {
            const float *under = line_under(layer, &row, image, y);
            float *line = under == NULL ? NULL : image + (under - image);
            for (int64_t x = row.first; line != NULL && x < row.end; x++) {
                line[(x - row.first) * layer->stride] += patches[x];
            }
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
    gs_matrix patches = {pass->scratch, patch_of(layer), plane, false};
    const float *bias = pass->parameters + channels * patch_of(layer);
    for (int64_t i = 0; i < pass->count; i++) {
        float *outputs = pass->outputs + i * layer->output_count;
        gather(layer, pass->inputs + i * layer->input_count, pass->scratch);
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
    gs_matrix turned_weights = {pass->parameters, channels, patch_of(layer), true};
    gs_matrix turned_patches = {pass->scratch, patch_of(layer), plane, true};
    for (int64_t i = 0; i < pass->count; i++) {
        bool add = pass->accumulate || i > 0;
        gs_matrix delta = {pass->output_gradient + i * layer->output_count, channels, plane, false};
        gather(layer, pass->inputs + i * layer->input_count, pass->scratch);
        gs_blas_multiply(&delta, &turned_patches, add, pass->parameter_gradient);
        for (int64_t c = 0; c < channels; c++) {
            bias[c] = (add ? bias[c] : 0.0F) + gs_sum(delta.elements + c * plane, plane);
        }
        if (pass->input_gradient != NULL) {
            gs_blas_multiply(&turned_weights, &delta, false, pass->scratch);
            scatter(layer, pass->scratch, pass->input_gradient + i * layer->input_count);
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
    layer.scratch_count = patch * plane;
    layer.forward_flops = (2 * patch + 1) * convolution->channels * plane;
    return gs_network_add(network, &layer);
}
