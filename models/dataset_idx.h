/* Reads images and labels in IDX, the format of MNIST and Fashion-MNIST. */
#ifndef GS_MODELS_DATASET_IDX_H
#define GS_MODELS_DATASET_IDX_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "models/dataset.h"

/* One file as it was read; bytes need not be terminated. */
typedef struct gs_idx_file {
    const char *file; /* for errors */
    const char *bytes;
    size_t length;
} gs_idx_file;

/* Images and labels to train with and, where test_images.file is not NULL, to test with; otherwise
 * one row in five is for testing (gs_data_split). Numbers are big-endian; images: 0x00000803,
 * count, height, width, then a byte a pixel, row by row; labels: 0x00000801, count, then a byte
 * each, below classes. Errors: GS_EPARSE with file, offset or field, and what is expected (another
 * magic number, a file that is cut or goes on, counts or sizes that differ, no rows, a label that
 * is no class), GS_ELIMIT (sides over 4096), GS_ENOMEM. Owner of all arrays: the arena. */
typedef struct gs_idx_files {
    gs_idx_file images, labels, test_images, test_labels;
    int64_t classes; /* 2..256 */
} gs_idx_files;

GS_MUST_USE gs_status gs_idx_parse(const gs_idx_files *files, gs_arena *arena, gs_dataset *out,
                                   gs_error *err);

#endif
