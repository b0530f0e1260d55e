/* The interface of a trainable model: a table of functions and plain memory of its caller.
 *
 * A model is a pure function: parameters and a batch in, mean loss and gradient out. It keeps no
 * state, so threads may share it, each with its own workspace. All parameters lie in one float
 * vector, layer after layer, and so does the gradient; backward visits the layers from last to
 * first. A new model is one file and one line in models.def. */
#ifndef GS_MODELS_MODEL_H
#define GS_MODELS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/status.h"

enum {
    GS_MODEL_LAYERS_MAX = GS_INT_LIST_MAX + 1,
    GS_MODEL_NAME_BYTES = 24,
    GS_MODEL_CONFIG_BYTES = 192 /* no model's config struct is larger */
};

/* A layer's parameters are [offset, offset + parameter_count) of the vector. */
typedef struct gs_model_layer {
    char name[GS_MODEL_NAME_BYTES];
    int64_t offset;
    int64_t parameter_count;
    int64_t input_count, output_count; /* values per sample */
    int64_t forward_flops;             /* per sample; a multiply-add counts as two */
} gs_model_layer;

/* What a config means for data of a given width: plain data, made by describe. */
typedef struct gs_model_shape {
    int64_t input_count, class_count;
    int64_t parameter_count;
    uint32_t layer_count; /* 1..GS_MODEL_LAYERS_MAX */
    gs_model_layer layers[GS_MODEL_LAYERS_MAX];
} gs_model_shape;

/* Says that a layer's gradient is final; called from last layer to first, from inside gradient. */
typedef void gs_layer_ready(void *context, uint32_t layer_index);

typedef struct gs_model_batch {
    const float *inputs;   /* [count][input_count] */
    const uint8_t *labels; /* [count], each below class_count */
    int64_t count;         /* 1..the batch_max of the workspace */
} gs_model_batch;

typedef struct gs_model_pass {
    const float *parameters; /* [parameter_count] */
    gs_model_batch batch;
    void *workspace;             /* workspace_bytes, aligned for float; contents do not matter */
    bool accumulate;             /* gradient: add to what is there instead of replacing it */
    gs_layer_ready *layer_ready; /* NULL: nobody listens */
    void *context;               /* for layer_ready */
} gs_model_pass;

typedef struct gs_model gs_model;
struct gs_model {
    const char *name;    /* in scenario files */
    const char *summary; /* one line */
    const char *source;  /* where the formulas come from */
    const gs_field_table *config_table;

    /* Fills out from a config of config_table's struct. Errors: GS_ELIMIT where the parameters
     * would not fit a vector that can be addressed. */
    gs_status (*describe)(const void *config, int64_t input_count, int64_t class_count,
                          gs_model_shape *out, gs_error *err);

    /* Starting parameters, a function of seed and shape only. */
    void (*init)(const gs_model_shape *shape, uint64_t seed, float *parameters);

    /* Bytes of scratch for batches of up to batch_max samples. */
    size_t (*workspace_bytes)(const gs_model_shape *shape, int64_t batch_max);

    /* Mean loss of the batch (nats), and its gradient [parameter_count]. The loss is summed in
     * sample order. Not finite parameters give a loss that is not finite; nothing else fails. */
    double (*gradient)(const gs_model_shape *shape, const gs_model_pass *pass, float *gradient);

    /* Sum of the losses of the batch (nats), and how many samples it classifies right: the largest
     * output wins, the first of equal ones, and none where an output is not a number. */
    double (*evaluate)(const gs_model_shape *shape, const gs_model_pass *pass,
                       int64_t *out_correct);
};

/* The names of all models, sorted, NULL at the end. */
extern const char *const gs_model_names[];

/* The i-th model of gs_model_names, or NULL from the end on. */
const gs_model *gs_model_at(size_t index);

/* The model of that name, or NULL. */
const gs_model *gs_model_find(const char *name);

#endif
