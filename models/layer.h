/* One operation of a network, and the interface of its kind.
 *
 * A kind is pure functions on plain arrays: forward writes outputs, backward reads what forward
 * kept and writes derivatives. It has no state, so threads share it, and it does not know what
 * stands before or after it. A new kind is one file pair in models/layers/: its gs_layer_kind, and
 * a function that puts such a layer at the end of a network. */
#ifndef GS_MODELS_LAYER_H
#define GS_MODELS_LAYER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "models/data_shape.h"

enum {
    GS_LAYER_NAME_BYTES = 24,
    GS_LAYER_BATCH = -1, /* as an input: the samples themselves */
    GS_LAYER_NONE = -2
};

typedef struct gs_layer_kind gs_layer_kind;

/* Plain data, made by the function of its kind. Its parameters are [offset, offset +
 * parameter_count) of the network's vector, or those of the layer it shares them with. */
typedef struct gs_layer {
    const gs_layer_kind *kind;
    char name[GS_LAYER_NAME_BYTES];
    int32_t input;  /* number of the layer whose outputs it reads, or GS_LAYER_BATCH */
    int32_t other;  /* a second one, of the extent of its outputs, or GS_LAYER_NONE */
    int32_t shares; /* an earlier layer whose parameters it uses, or GS_LAYER_NONE: its own */
    gs_extent in, out;
    int64_t input_count, output_count; /* values per sample */
    int64_t offset, parameter_count;   /* shared: the offset there, and 0 */
    int64_t rows, columns;             /* of the matrix that its parameters begin with, row by row;
                                          what is left of them are vectors; 0: all are */
    int64_t kept_count;                /* floats per sample from forward to backward */
    int64_t scratch_count;             /* floats during one call, whatever the batch */
    int64_t forward_flops;             /* per sample; a multiply-add counts as two */
    int32_t kernel, stride, padding;   /* of a convolution or pooling */
    int32_t parts;                     /* groups of a normalisation, heads of an attention */
    double start_deviation;            /* of the first weights; 0: as its kind does it */
} gs_layer;

typedef struct gs_layer_pass {
    const gs_layer *layer;
    int64_t count;           /* samples, >= 1 */
    const float *inputs;     /* [count][input_count]; NULL where they are tokens */
    const uint8_t *tokens;   /* [count][input_count]; NULL where they are floats */
    const float *others;     /* [count][output_count] of the second input; NULL: none */
    const float *parameters; /* the layer's own first one */
    float *outputs;          /* [count][output_count]; written by forward, read by backward */
    float *kept;             /* [count][kept_count]; likewise */
    float *scratch;          /* [scratch_count]; contents do not matter */
    /* Of backward; derivatives of the batch's mean loss. */
    const float *output_gradient; /* [count][output_count] */
    float *input_gradient;        /* [count][input_count], written; NULL: nobody asks */
    float *other_gradient;        /* [count][output_count], written; NULL where others is */
    float *parameter_gradient;    /* the layer's own first one */
    bool accumulate;              /* add to parameter_gradient instead of replacing it */
} gs_layer_pass;

struct gs_layer_kind {
    const char *name;
    const char *source; /* where the formulas come from */
    /* Starting parameters; draws are index 0 and on of step 0 of the key. NULL: it has none. */
    void (*init)(const gs_layer *layer, gs_rng_key key, float *parameters);
    void (*forward)(const gs_layer_pass *pass);
    void (*backward)(const gs_layer_pass *pass);
};

#endif
