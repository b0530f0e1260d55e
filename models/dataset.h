/* A data set in memory: what a sample looks like, the samples, their answers, and which rows are
 * for training.
 *
 * Where it comes from is the business of its source (models/dataset_source.h), in which order
 * samples come and who gets them that of models/dataset_shards.h. Immutable after reading; threads
 * share it. */
#ifndef GS_MODELS_DATASET_H
#define GS_MODELS_DATASET_H

#include <stdbool.h>
#include <stdint.h>

#include "models/data_shape.h"

typedef struct gs_dataset {
    gs_data_shape shape;
    int64_t row_count, train_count, test_count; /* train + test = all rows */
    /* The inputs of row r begin at r * input_stride of the one that is not NULL: floats, bytes to
     * be divided by 255 (images), or tokens. */
    const float *inputs;
    const uint8_t *pixels;
    const uint8_t *tokens;
    int64_t input_stride;
    /* Its answers begin at r * answer_stride of the one that shape.kind says. */
    const uint8_t *labels; /* below shape.answer_width */
    const float *targets;
    int64_t answer_stride;
    const uint32_t *split;     /* [row_count]: the train rows, then the test rows */
    const uint8_t *vocabulary; /* [answer_width]: the byte of each token; NULL where inputs are
                                  not tokens */
} gs_dataset;

/* Has a row one class of its own, so that rows can be told apart by it? Windows of a text and rows
 * with numbers as answers have none. */
static inline bool gs_dataset_has_classes(const gs_dataset *dataset)
{
    return dataset->shape.kind == GS_ANSWER_CLASS && dataset->shape.answer_count == 1;
}

#endif
