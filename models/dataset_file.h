/* Files of data as a whole. */
#ifndef GS_MODELS_DATASET_FILE_H
#define GS_MODELS_DATASET_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"

enum { GS_DATA_BYTES_MAX = 64 * 1024 * 1024 };

/* All bytes of a file. hint: what is said where there is none. Errors: GS_ENOTFOUND, GS_EIO (no
 * regular file, cannot be opened or read), GS_ELIMIT (over GS_DATA_BYTES_MAX), GS_EPARSE
 * (compressed), GS_ENOMEM. Owner: the arena. */
GS_MUST_USE gs_status gs_data_file_read(const char *file, const char *hint, gs_arena *arena,
                                        const char **out_bytes, size_t *out_length, gs_error *err);

/* data_dir/models/data/NAME. Errors: GS_ENOMEM. Owner: the arena. */
GS_MUST_USE gs_status gs_data_file_bundled(const char *data_dir, const char *name, gs_arena *arena,
                                           const char **out, gs_error *err);

gs_status gs_data_no_memory(const char *what, gs_error *err);

#endif
