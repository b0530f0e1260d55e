/* Reads the bundled 8 x 8 digits (models/data/README.md). */
#ifndef GS_MODELS_DATASET_DIGITS_H
#define GS_MODELS_DATASET_DIGITS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "models/dataset.h"

/* Parses lines of 64 pixels 0..16 and a label 0..9, whole numbers with commas between them. Pixels
 * are divided by 16. One row in five is for testing (gs_data_split). text need not be terminated.
 * Errors: GS_EPARSE with file and line (a wrong count of columns, a value that is no whole number
 * in its range, fewer than two rows), GS_ENOMEM. Owner of all arrays: the arena. */
GS_MUST_USE gs_status gs_digits_parse(const char *text, size_t length, const char *file,
                                      gs_arena *arena, gs_dataset *out, gs_error *err);

#endif
