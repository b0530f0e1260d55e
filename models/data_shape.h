/* What one sample of a data set looks like: what a model must fit. */
#ifndef GS_MODELS_DATA_SHAPE_H
#define GS_MODELS_DATA_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_answer_kind {
    GS_ANSWER_CLASS, /* one class a position: softmax and cross-entropy */
    GS_ANSWER_REAL   /* one number a position: squared error */
} gs_answer_kind;

/* The size of one sample's values, [channels][height][width] in row-major order. A vector of n is
 * {1, 1, n}, a sequence of t vectors of n is {1, t, n}, an image of one colour {1, h, w}. */
typedef struct gs_extent {
    int64_t channels, height, width; /* 1..INT32_MAX, and so is their product */
} gs_extent;

typedef struct gs_data_shape {
    gs_extent input;      /* of tokens: {1, 1, tokens of a sample} */
    bool is_tokens;       /* inputs are numbers of tokens (bytes below answer_width), not floats */
    gs_answer_kind kind;  /* of the answers */
    int64_t answer_count; /* answers of a sample: positions of a sequence, else 1 */
    int64_t answer_width; /* outputs a position: classes (2..256), or 1 for numbers */
} gs_data_shape;

static inline int64_t gs_extent_count(gs_extent extent)
{
    return extent.channels * extent.height * extent.width;
}

#endif
