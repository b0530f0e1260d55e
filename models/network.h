/* A network: layers in forward order, built once, then run by pure functions.
 *
 * Each layer reads the outputs of one or two earlier ones, so blocks may be gone around (residual
 * connections) and parameters may be shared (a tied output). All parameters lie in one float
 * vector, layer after layer, and so does the gradient. Backward visits the layers from last to
 * first and hands them over as their gradients become final. */
#ifndef GS_MODELS_NETWORK_H
#define GS_MODELS_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "models/layer.h"

enum { GS_NETWORK_LAYERS_MAX = 192 };

typedef struct gs_network {
    gs_data_shape data; /* what it takes */
    int64_t parameter_count;
    uint32_t layer_count; /* 1..GS_NETWORK_LAYERS_MAX once it is built */
    gs_layer layers[GS_NETWORK_LAYERS_MAX];
    bool too_large; /* while it is built */
} gs_network;

/* ---------------------------------------------------------------- building */

/* An empty network for such data. */
void gs_network_begin(gs_network *network, const gs_data_shape *data);

/* Number of the last layer, GS_LAYER_BATCH at the start, and the extent of what it gives. */
int32_t gs_network_last(const gs_network *network);
gs_extent gs_network_extent(const gs_network *network, int32_t layer);

/* For the functions of the kinds: adds a layer, of which kind, name, out, parameter_count,
 * kept_count, scratch_count, forward_flops and the kind's own fields are set, as are input, other
 * and shares where they are not the last layer, none and none. Fills the rest. Returns its number.
 * What is over a limit is remembered (too_large), nothing is added from then on, and gs_network_end
 * tells. */
int32_t gs_network_add(gs_network *network, const gs_layer *layer);

/* A layer with input = the last one, other = shares = none, and that name ("dense%d": numbered by
 * the layers of its kind so far). */
gs_layer gs_network_layer(const gs_network *network, const gs_layer_kind *kind, const char *name);

/* Checks what was built: that its outputs are the answers the data asks for, and the sizes. Errors:
 * GS_ELIMIT, GS_EINVAL. */
GS_MUST_USE gs_status gs_network_end(const gs_network *network, gs_error *err);

/* ---------------------------------------------------------------- running */

/* Says that a layer's gradient is final; called from last layer to first, from inside gradient, for
 * each layer that has parameters of its own. */
typedef void gs_layer_ready(void *context, uint32_t layer_index);

/* Samples one after another; of inputs and tokens the one that data.is_tokens says, of labels and
 * targets the one that data.kind says. */
typedef struct gs_batch {
    const float *inputs;   /* [count][values of data.input] */
    const uint8_t *tokens; /* likewise */
    const uint8_t *labels; /* [count][data.answer_count], below data.answer_width */
    const float *targets;  /* likewise */
    int64_t count;         /* 1..the batch_max of the workspace */
} gs_batch;

typedef struct gs_network_pass {
    const float *parameters; /* [parameter_count] */
    gs_batch batch;
    void *workspace;             /* of gs_network_workspace_bytes, aligned for float */
    bool accumulate;             /* gradient: add to what is there instead of replacing it */
    gs_layer_ready *layer_ready; /* NULL: nobody listens */
    void *context;               /* for layer_ready */
} gs_network_pass;

/* Starting parameters, a function of seed and network only. */
void gs_network_init(const gs_network *network, uint64_t seed, float *parameters);

/* Bytes of scratch for batches of up to batch_max samples. */
size_t gs_network_workspace_bytes(const gs_network *network, int64_t batch_max);

/* Mean loss over the samples and their answers, and its gradient [parameter_count]. The loss is
 * summed in sample order. Parameters that are not finite give a loss that is not finite; nothing
 * else fails. */
double gs_network_gradient(const gs_network *network, const gs_network_pass *pass, float *gradient);

/* Sum of the losses of all answers of the batch. Of classes also how many are right: the largest
 * output wins, the first of equal ones, and none where an output is not a number; of numbers 0. */
double gs_network_evaluate(const gs_network *network, const gs_network_pass *pass,
                           int64_t *out_correct);

#endif
