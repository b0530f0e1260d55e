#include "models/layers/pooling.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "models/layers/convolution.h"
#include "models/layers/sums.h"

enum { EXACT_FLOATS = 1 << 24 /* whole numbers up to here are floats */ };

static int64_t plane_of(gs_extent extent)
{
    return extent.height * extent.width;
}

/* Place of the largest value of a window, counted in pixels from its first. Which it is cannot be
 * predicted, so it is chosen without a branch. */
static int64_t largest(const float *window, int64_t kernel, int64_t line)
{
    int64_t best = 0;
    for (int64_t y = 0; y < kernel; y++) {
        for (int64_t at = y * line; at < y * line + kernel; at++) {
            int64_t is_larger = (window[at] > window[best]) | (isnan(window[at]) != 0);
            best += (at - best) & -is_larger;
        }
    }
    return best;
}

/* Keeps the place of each window's largest value. */
static void max_forward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    const float *plane = pass->inputs;
    float *outputs = pass->outputs;
    float *kept = pass->kept;
    for (int64_t c = 0; c < pass->count * layer->in.channels; c++, plane += plane_of(layer->in)) {
        for (int64_t y = 0; y < layer->out.height; y++) {
            const float *window = plane + y * layer->stride * layer->in.width;
            for (int64_t x = 0; x < layer->out.width; x++, window += layer->stride) {
                int64_t place = largest(window, layer->kernel, layer->in.width);
                *kept++ = (float)place;
                *outputs++ = window[place];
            }
        }
    }
}

static void max_backward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    float *plane = pass->input_gradient;
    if (plane == NULL) {
        return;
    }
    memset(plane, 0, (size_t)(pass->count * layer->input_count) * sizeof(float));
    const float *delta = pass->output_gradient;
    const float *kept = pass->kept;
    for (int64_t c = 0; c < pass->count * layer->in.channels; c++, plane += plane_of(layer->in)) {
        for (int64_t y = 0; y < layer->out.height; y++) {
            float *window = plane + y * layer->stride * layer->in.width;
            for (int64_t x = 0; x < layer->out.width; x++, window += layer->stride) {
                window[(int64_t)*kept++] += *delta++;
            }
        }
    }
}

const gs_layer_kind gs_layer_max_pool = {
    .name = "max_pool",
    .source = "Goodfellow, Bengio and Courville, Deep Learning, 2016, section 9.3",
    .forward = max_forward,
    .backward = max_backward,
};

static float window_sum(const float *window, int64_t kernel, int64_t line)
{
    float sum = 0.0F;
    for (int64_t y = 0; y < kernel; y++) {
        for (int64_t x = 0; x < kernel; x++) {
            sum += window[y * line + x];
        }
    }
    return sum;
}

static void average_forward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    const float *plane = pass->inputs;
    float *outputs = pass->outputs;
    float share = 1.0F / (float)(layer->kernel * layer->kernel);
    for (int64_t c = 0; c < pass->count * layer->in.channels; c++, plane += plane_of(layer->in)) {
        for (int64_t y = 0; y < layer->out.height; y++) {
            const float *window = plane + y * layer->stride * layer->in.width;
            for (int64_t x = 0; x < layer->out.width; x++, window += layer->stride) {
                *outputs++ = share * window_sum(window, layer->kernel, layer->in.width);
            }
        }
    }
}

static void window_add(float *window, int64_t kernel, int64_t line, float value)
{
    for (int64_t y = 0; y < kernel; y++) {
        for (int64_t x = 0; x < kernel; x++) {
            window[y * line + x] += value;
        }
    }
}

static void average_backward(const gs_layer_pass *pass)
{
    const gs_layer *layer = pass->layer;
    float *plane = pass->input_gradient;
    if (plane == NULL) {
        return;
    }
    memset(plane, 0, (size_t)(pass->count * layer->input_count) * sizeof(float));
    const float *delta = pass->output_gradient;
    float share = 1.0F / (float)(layer->kernel * layer->kernel);
    for (int64_t c = 0; c < pass->count * layer->in.channels; c++, plane += plane_of(layer->in)) {
        for (int64_t y = 0; y < layer->out.height; y++) {
            float *window = plane + y * layer->stride * layer->in.width;
            for (int64_t x = 0; x < layer->out.width; x++, window += layer->stride) {
                window_add(window, layer->kernel, layer->in.width, share * *delta++);
            }
        }
    }
}

const gs_layer_kind gs_layer_average_pool = {
    .name = "average_pool",
    .source = "LeCun et al., Proceedings of the IEEE 86, 1998, section II",
    .forward = average_forward,
    .backward = average_backward,
};

static void global_forward(const gs_layer_pass *pass)
{
    int64_t plane = plane_of(pass->layer->in);
    for (int64_t c = 0; c < pass->count * pass->layer->in.channels; c++) {
        pass->outputs[c] = gs_sum(pass->inputs + c * plane, plane) / (float)plane;
    }
}

static void global_backward(const gs_layer_pass *pass)
{
    int64_t plane = plane_of(pass->layer->in);
    int64_t values = pass->count * pass->layer->input_count;
    for (int64_t i = 0; pass->input_gradient != NULL && i < values; i += plane) {
        float share = pass->output_gradient[i / plane] / (float)plane;
        for (int64_t p = 0; p < plane; p++) {
            pass->input_gradient[i + p] = share;
        }
    }
}

const gs_layer_kind gs_layer_global_average = {
    .name = "global_average",
    .source = "Lin, Chen and Yan, Network in Network, ICLR 2014, section 3.2",
    .forward = global_forward,
    .backward = global_backward,
};

int32_t gs_add_pool(gs_network *network, const gs_layer_kind *kind, int32_t kernel, int32_t stride)
{
    gs_layer layer = gs_network_layer(network, kind, NULL);
    gs_extent in = gs_network_extent(network, layer.input);
    GS_ASSERT(kernel > 0 && stride > 0 && in.height >= kernel && in.width >= kernel);
    GS_ASSERT(kernel * in.width < EXACT_FLOATS);
    layer.kernel = kernel;
    layer.stride = stride;
    layer.out = (gs_extent){in.channels, gs_window_count(in.height, kernel, stride, 0),
                            gs_window_count(in.width, kernel, stride, 0)};
    layer.kept_count = kind == &gs_layer_max_pool ? gs_extent_count(layer.out) : 0;
    layer.forward_flops = gs_extent_count(layer.out) * kernel * kernel;
    return gs_network_add(network, &layer);
}

int32_t gs_add_global_average(gs_network *network)
{
    gs_layer layer = gs_network_layer(network, &gs_layer_global_average, NULL);
    gs_extent in = gs_network_extent(network, layer.input);
    layer.out = (gs_extent){1, 1, in.channels};
    layer.forward_flops = gs_extent_count(in);
    return gs_network_add(network, &layer);
}
