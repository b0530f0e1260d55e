/* Labelled images in memory, a fixed split into train and test, and the order in which samples
 * come.
 *
 * The order is a function of (seed, epoch) alone: how many ranks there are and how large a batch is
 * only says who takes which position. A data set is immutable after reading; threads share it. */
#ifndef GS_MODELS_DATASET_H
#define GS_MODELS_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "models/data_shape.h"

enum { GS_DATASET_BYTES_MAX = 64 * 1024 * 1024, GS_SAMPLE_ORDER_EPOCHS = 4 };

typedef struct gs_dataset {
    gs_data_shape shape;
    int64_t row_count, train_count, test_count; /* train + test = all rows */
    const float *inputs;   /* [row_count][values of shape.input], file order, 0..1 */
    const uint8_t *labels; /* [row_count], below shape.answer_width */
    const uint32_t *split; /* [row_count]: the train rows, then the test rows */
} gs_dataset;

/* The names a scenario may use, NULL at the end. */
extern const char *const gs_dataset_names[];

/* Reads data set gs_dataset_names[index] from data_dir/models/data. Errors: GS_ENOTFOUND (names the
 * file), GS_EIO, GS_ELIMIT (over GS_DATASET_BYTES_MAX), those of gs_digits_parse. Owner of all
 * arrays: the arena. */
GS_MUST_USE gs_status gs_dataset_read(size_t index, const char *data_dir, gs_arena *arena,
                                      gs_dataset *out, gs_error *err);

/* Parses 8 x 8 digits: lines of 64 pixels 0..16 and a label 0..9, whole numbers with commas between
 * them. Pixels are divided by 16. One row in five, rounded up, is for testing: rows are shuffled as
 * an epoch is, by seed 0 and entity 1, and the last ones of that order are taken. text need not be
 * terminated. Errors: GS_EPARSE with file and line (a wrong count of columns, a value that is no
 * whole number in its range, fewer than two rows), GS_ENOMEM. Owner of all arrays: the arena. */
GS_MUST_USE gs_status gs_digits_parse(const char *text, size_t length, const char *file,
                                      gs_arena *arena, gs_dataset *out, gs_error *err);

/* The order of samples, with the permutations used last kept at hand: a cache, never a state, so
 * each thread has its own and all give the same answers. */
typedef struct gs_sample_order {
    const gs_dataset *dataset;
    uint64_t seed;
    int64_t epochs[GS_SAMPLE_ORDER_EPOCHS]; /* which epoch a slot holds; -1: none */
    uint32_t *rows;                         /* [GS_SAMPLE_ORDER_EPOCHS][train_count] */
} gs_sample_order;

/* Borrows the data set. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_sample_order_init(gs_sample_order *order, const gs_dataset *dataset,
                                           uint64_t seed, gs_arena *arena);

/* The row at a position (>= 0) of the endless sequence of epochs; epoch e is the positions from
 * e * train_count on and holds every train row once. Cost O(1), O(train_count) at an epoch's start.
 */
uint32_t gs_sample_order_row(gs_sample_order *order, int64_t position);

#endif
