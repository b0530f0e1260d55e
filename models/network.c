#include "models/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "models/kernels.h"
#include "models/loss.h"

/* Half of what an int32 counts, so that no size in bytes or flops comes near an overflow. */
enum { PARAMETERS_MAX = 1 << 30 };

/* ---------------------------------------------------------------- building */

void gs_network_begin(gs_network *network, const gs_data_shape *data)
{
    GS_ASSERT(gs_extent_count(data->input) > 0 && data->answer_count > 0 && data->answer_width > 0);
    network->data = *data;
    network->parameter_count = 0;
    network->layer_count = 0;
    network->too_large = false;
}

int32_t gs_network_last(const gs_network *network)
{
    return (int32_t)network->layer_count - 1;
}

gs_extent gs_network_extent(const gs_network *network, int32_t layer)
{
    return layer == GS_LAYER_BATCH ? network->data.input : network->layers[layer].out;
}

gs_layer gs_network_layer(const gs_network *network, const gs_layer_kind *kind, const char *name)
{
    gs_layer layer = {.kind = kind,
                      .input = gs_network_last(network),
                      .other = GS_LAYER_NONE,
                      .shares = GS_LAYER_NONE};
    int number = 0;
    for (uint32_t l = 0; l < network->layer_count; l++) {
        number += network->layers[l].kind == kind;
    }
    if (name != NULL) {
        snprintf(layer.name, sizeof layer.name, "%s", name);
    } else {
        snprintf(layer.name, sizeof layer.name, "%s%d", kind->name, number);
    }
    return layer;
}

int32_t gs_network_add(gs_network *network, const gs_layer *layer)
{
    if (network->too_large || network->layer_count == GS_NETWORK_LAYERS_MAX ||
        layer->parameter_count > PARAMETERS_MAX - network->parameter_count ||
        gs_extent_count(layer->out) > PARAMETERS_MAX || layer->kept_count > PARAMETERS_MAX ||
        layer->scratch_count > PARAMETERS_MAX) {
        network->too_large = true;
        return gs_network_last(network);
    }
    int32_t number = (int32_t)network->layer_count;
    gs_layer *added = &network->layers[network->layer_count++];
    *added = *layer;
    GS_ASSERT(added->input < number && added->other < number && added->shares < number);
    added->in = gs_network_extent(network, added->input);
    added->input_count = gs_extent_count(added->in);
    added->output_count = gs_extent_count(added->out);
    added->offset = added->shares == GS_LAYER_NONE ? network->parameter_count
                                                   : network->layers[added->shares].offset;
    GS_ASSERT(added->shares == GS_LAYER_NONE || added->parameter_count == 0);
    network->parameter_count += added->parameter_count;
    return number;
}

gs_status gs_network_end(const gs_network *network, gs_error *err)
{
    if (network->too_large) {
        return gs_fail(err, GS_ELIMIT,
                       "model is too large after layer %u (%s): more than %d parameters or values "
                       "of a sample, or more than %d layers; use a smaller one",
                       network->layer_count,
                       network->layer_count == 0 ? "the input"
                                                 : network->layers[network->layer_count - 1].name,
                       (int)PARAMETERS_MAX, (int)GS_NETWORK_LAYERS_MAX);
    }
    GS_ASSERT(network->layer_count > 0);
    int64_t wanted = network->data.answer_count * network->data.answer_width;
    int64_t found = network->layers[network->layer_count - 1].output_count;
    if (found != wanted) {
        return gs_fail(err, GS_EINVAL, "model gives %lld outputs, the data asks for %lld",
                       (long long)found, (long long)wanted);
    }
    return GS_OK;
}

void gs_network_init(const gs_network *network, uint64_t seed, float *parameters)
{
    uint32_t entity = 0;
    for (uint32_t l = 0; l < network->layer_count; l++) {
        const gs_layer *layer = &network->layers[l];
        if (layer->parameter_count > 0) {
            gs_rng_key key = {.seed = seed, .purpose = GS_RNG_INIT, .entity = entity++};
            layer->kind->init(layer, key, parameters + layer->offset);
        }
    }
}

/* ---------------------------------------------------------------- memory of a pass */

/* Where everything lies in the workspace; all arrays hold `count` samples. */
typedef struct places {
    float *outputs[GS_NETWORK_LAYERS_MAX];
    float *kept[GS_NETWORK_LAYERS_MAX];
    float *gradients[GS_NETWORK_LAYERS_MAX]; /* of a layer's outputs */
    float *spare;                            /* as large as the largest of these */
    float *scratch;
} places;

/* Floats used; base NULL only counts. */
static size_t lay_out(const gs_network *network, int64_t count, float *base, places *out)
{
    size_t used = 0;
    size_t widest = 0;
    size_t scratch = 0;
    for (uint32_t l = 0; l < network->layer_count; l++) {
        const gs_layer *layer = &network->layers[l];
        size_t width = (size_t)layer->output_count * (size_t)count;
        if (base != NULL) {
            out->outputs[l] = base + used;
            out->gradients[l] = base + used + width;
            out->kept[l] = base + used + 2 * width;
        }
        used += 2 * width + (size_t)layer->kept_count * (size_t)count;
        widest = width > widest ? width : widest;
        scratch = (size_t)layer->scratch_count > scratch ? (size_t)layer->scratch_count : scratch;
    }
    if (base != NULL) {
        out->spare = base + used;
        out->scratch = base + used + widest;
    }
    return used + widest + scratch;
}

size_t gs_network_workspace_bytes(const gs_network *network, int64_t batch_max)
{
    return lay_out(network, batch_max, NULL, NULL) * sizeof(float);
}

/* ---------------------------------------------------------------- running */

static gs_layer_pass pass_of(const gs_network *network, const gs_network_pass *pass,
                             const places *at, uint32_t index)
{
    const gs_layer *layer = &network->layers[index];
    bool from_batch = layer->input == GS_LAYER_BATCH;
    return (gs_layer_pass){
        .layer = layer,
        .count = pass->batch.count,
        .inputs = from_batch ? pass->batch.inputs : at->outputs[layer->input],
        .tokens = from_batch ? pass->batch.tokens : NULL,
        .others = layer->other >= 0 ? at->outputs[layer->other] : NULL,
        .parameters = pass->parameters + layer->offset,
        .outputs = at->outputs[index],
        .kept = at->kept[index],
        .scratch = at->scratch,
    };
}

static void forward(const gs_network *network, const gs_network_pass *pass, places *at)
{
    (void)lay_out(network, pass->batch.count, pass->workspace, at);
    for (uint32_t l = 0; l < network->layer_count; l++) {
        gs_layer_pass step = pass_of(network, pass, at, l);
        network->layers[l].kind->forward(&step);
    }
}

/* Where backward stands: which layers' output gradients hold something, and which layers'
 * parameters were visited by one that shares them. */
typedef struct progress {
    bool reached[GS_NETWORK_LAYERS_MAX];
    bool shared[GS_NETWORK_LAYERS_MAX];
} progress;

/* Where a layer may write the gradient of its input: in place, or aside if another has been there.
 */
static float *target_of(const places *at, const progress *done, int32_t input)
{
    if (input < 0) {
        return NULL;
    }
    return done->reached[input] ? at->spare : at->gradients[input];
}

static void settle(const gs_network *network, const places *at, progress *done, int32_t input,
                   int64_t count)
{
    if (input >= 0 && done->reached[input]) {
        size_t floats = (size_t)(network->layers[input].output_count * count);
        gs_kernel_add(at->gradients[input], at->spare, NULL, floats, 0.0F);
    } else if (input >= 0) {
        done->reached[input] = true;
    }
}

static void backward_layer(const gs_network *network, const gs_network_pass *pass, const places *at,
                           progress *done, uint32_t index, float *gradient)
{
    const gs_layer *layer = &network->layers[index];
    gs_layer_pass step = pass_of(network, pass, at, index);
    uint32_t owner = layer->shares >= 0 ? (uint32_t)layer->shares : index;
    GS_ASSERT(done->reached[index]);
    step.output_gradient = at->gradients[index];
    step.parameter_gradient = gradient + layer->offset;
    step.accumulate = pass->accumulate || done->shared[owner];
    step.input_gradient = target_of(at, done, layer->input);
    if (layer->other >= 0) {
        GS_ASSERT(layer->other != layer->input);
        step.other_gradient = target_of(at, done, layer->other);
        GS_ASSERT(step.other_gradient != at->spare || step.input_gradient != at->spare);
    }
    layer->kind->backward(&step);
    settle(network, at, done, layer->input, pass->batch.count);
    if (layer->other >= 0) {
        settle(network, at, done, layer->other, pass->batch.count);
    }
    done->shared[owner] = true;
    if (pass->layer_ready != NULL && layer->parameter_count > 0) {
        pass->layer_ready(pass->context, index);
    }
}

double gs_network_gradient(const gs_network *network, const gs_network_pass *pass, float *gradient)
{
    places at;
    progress done;
    memset(done.reached, 0, network->layer_count * sizeof done.reached[0]);
    memset(done.shared, 0, network->layer_count * sizeof done.shared[0]);
    forward(network, pass, &at);
    uint32_t last = network->layer_count - 1;
    const gs_data_shape *data = &network->data;
    int64_t answers = pass->batch.count * data->answer_count;
    memcpy(at.gradients[last], at.outputs[last],
           (size_t)(answers * data->answer_width) * sizeof(float));
    double loss =
        data->kind == GS_ANSWER_CLASS
            ? gs_loss_backward(at.gradients[last], pass->batch.labels, answers, data->answer_width)
            : gs_squared_backward(at.gradients[last], pass->batch.targets, answers);
    done.reached[last] = true;
    for (uint32_t l = network->layer_count; l-- > 0;) {
        backward_layer(network, pass, &at, &done, l, gradient);
    }
    return loss / (double)answers;
}

double gs_network_evaluate(const gs_network *network, const gs_network_pass *pass,
                           int64_t *out_correct)
{
    places at;
    forward(network, pass, &at);
    const float *outputs = at.outputs[network->layer_count - 1];
    const gs_data_shape *data = &network->data;
    int64_t answers = pass->batch.count * data->answer_count;
    *out_correct = 0;
    return data->kind == GS_ANSWER_CLASS
               ? gs_loss_evaluate(outputs, pass->batch.labels, answers, data->answer_width,
                                  out_correct)
               : gs_squared_evaluate(outputs, pass->batch.targets, answers);
}
