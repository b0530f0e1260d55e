#include "models/layers/normalisation.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "models/layers/start.h"
#include "models/layers/sums.h"

static const float smallest_variance = 1e-5F;

enum { KEPT = 2 /* of each run: mean, 1 / deviation */ };

/* A sample is runs of neighbouring values, each normalised on its own; `span` neighbours in a run
 * share a gain. A layer norm's runs share one set of gains, each group of channels has its own. */
typedef struct run_shape {
    int64_t count;    /* runs of a sample */
    int64_t gains;    /* of a run */
    int64_t span;     /* values of a gain */
    int64_t distinct; /* gains of the layer */
} run_shape;

static run_shape runs_of(const gs_layer *layer)
{
    if (layer->parts > 0) {
        return (run_shape){layer->parts, layer->in.channels / layer->parts,
                           layer->in.height * layer->in.width, layer->in.channels};
    }
    return (run_shape){layer->in.height, layer->in.width, 1, layer->in.width};
}

/* Place of run r's first gain, r counted over the batch. */
static int64_t gain_of(const run_shape *runs, int64_t r)
{
    return r * runs->gains % runs->distinct;
}

static void init(const gs_layer *layer, gs_rng_key key, float *parameters)
{
    (void)key;
    int64_t distinct = runs_of(layer).distinct;
    gs_start_constant(1.0F, parameters, distinct);
    gs_start_constant(0.0F, parameters + distinct, distinct);
}

/* y = gain * x + shift; without shifts (NULL) y = gain * x. */
static void apply_gains(const run_shape *runs, const float *gains, const float *shifts,
                        const float *x, float *y)
{
    if (runs->span == 1) {
        for (int64_t j = 0; j < runs->gains; j++) {
            y[j] = gains[j] * x[j] + (shifts == NULL ? 0.0F : shifts[j]);
        }
        return;
    }
    for (int64_t j = 0; j < runs->gains; j++, x += runs->span, y += runs->span) {
        float shift = shifts == NULL ? 0.0F : shifts[j];
        for (int64_t p = 0; p < runs->span; p++) {
            y[p] = gains[j] * x[p] + shift;
        }
    }
}

static void normalise(const float *x, int64_t count, float mean, float inverse, float *out)
{
    for (int64_t j = 0; j < count; j++) {
        out[j] = (x[j] - mean) * inverse;
    }
}

static void forward(const gs_layer_pass *pass)
{
    run_shape runs = runs_of(pass->layer);
    int64_t length = runs.gains * runs.span;
    for (int64_t r = 0; r < pass->count * runs.count; r++) {
        const float *x = pass->inputs + r * length;
        float *y = pass->outputs + r * length;
        float mean = gs_sum(x, length) / (float)length;
        float variance = gs_sum_squares(x, length, mean) / (float)length;
        float inverse = 1.0F / sqrtf(variance + smallest_variance);
        pass->kept[KEPT * r] = mean;
        pass->kept[KEPT * r + 1] = inverse;
        normalise(x, length, mean, inverse, y);
        const float *gains = pass->parameters + gain_of(&runs, r);
        apply_gains(&runs, gains, gains + runs.distinct, y, y);
    }
}

/* d gain = sum of delta * normalised, d shift = sum of delta, over the values of each gain. */
static void add_gain_gradients(const run_shape *runs, const float *delta, const float *normal,
                               float *gains)
{
    float *shifts = gains + runs->distinct;
    if (runs->span == 1) {
        for (int64_t j = 0; j < runs->gains; j++) {
            gains[j] += delta[j] * normal[j];
            shifts[j] += delta[j];
        }
        return;
    }
    for (int64_t j = 0; j < runs->gains; j++) {
        gains[j] += gs_sum_products(delta + j * runs->span, normal + j * runs->span, runs->span);
        shifts[j] += gs_sum(delta + j * runs->span, runs->span);
    }
}

/* With n the normalised values and g = gain * delta:
 * dx = (g - mean(g) - n mean(g n)) / deviation. */
static void backward(const gs_layer_pass *pass)
{
    run_shape runs = runs_of(pass->layer);
    int64_t length = runs.gains * runs.span;
    float *normal = pass->scratch;
    float *scaled = pass->scratch + length;
    if (!pass->accumulate) {
        memset(pass->parameter_gradient, 0, (size_t)(2 * runs.distinct) * sizeof(float));
    }
    for (int64_t r = 0; r < pass->count * runs.count; r++) {
        const float *delta = pass->output_gradient + r * length;
        float inverse = pass->kept[KEPT * r + 1];
        normalise(pass->inputs + r * length, length, pass->kept[KEPT * r], inverse, normal);
        add_gain_gradients(&runs, delta, normal, pass->parameter_gradient + gain_of(&runs, r));
        if (pass->input_gradient == NULL) {
            continue;
        }
        apply_gains(&runs, pass->parameters + gain_of(&runs, r), NULL, delta, scaled);
        float mean = gs_sum(scaled, length) / (float)length;
        float along = gs_sum_products(scaled, normal, length) / (float)length;
        float *dx = pass->input_gradient + r * length;
        for (int64_t j = 0; j < length; j++) {
            dx[j] = inverse * (scaled[j] - mean - normal[j] * along);
        }
    }
}

const gs_layer_kind gs_layer_group_norm = {
    .name = "group_norm",
    .source = "Wu and He, Group Normalization, ECCV 2018, eq. 1, 2 and 6",
    .init = init,
    .forward = forward,
    .backward = backward,
};

const gs_layer_kind gs_layer_layer_norm = {
    .name = "layer_norm",
    .source = "Ba, Kiros and Hinton, Layer Normalization, arXiv:1607.06450, eq. 3 and 4",
    .init = init,
    .forward = forward,
    .backward = backward,
};

static int32_t add_norm(gs_network *network, const gs_layer_kind *kind, int32_t groups)
{
    gs_layer layer = gs_network_layer(network, kind, NULL);
    gs_extent in = gs_network_extent(network, layer.input);
    GS_ASSERT(network->too_large || (groups > 0 ? in.channels % groups == 0 : in.channels == 1));
    layer.in = in;
    layer.out = in;
    layer.parts = groups;
    run_shape runs = runs_of(&layer);
    layer.parameter_count = 2 * runs.distinct;
    layer.kept_count = KEPT * runs.count;
    layer.scratch_count = 2 * runs.gains * runs.span;
    layer.forward_flops = 8 * gs_extent_count(in); /* mean 1, variance 3, the rest 4 */
    return gs_network_add(network, &layer);
}

int32_t gs_add_group_norm(gs_network *network, int32_t groups)
{
    GS_ASSERT(groups > 0);
    return add_norm(network, &gs_layer_group_norm, groups);
}

int32_t gs_add_layer_norm(gs_network *network)
{
    return add_norm(network, &gs_layer_layer_norm, 0);
}
