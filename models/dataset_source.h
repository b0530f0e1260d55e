/* The interface of a source of data: what a scenario may say of it, and the data set it makes.
 *
 * A new source is one file models/dataset_NAME.c with its gs_data_source, and one line in
 * datasets.def. */
#ifndef GS_MODELS_DATASET_SOURCE_H
#define GS_MODELS_DATASET_SOURCE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/config.h"
#include "base/status.h"
#include "models/dataset.h"

enum {
    GS_DATA_CONFIG_BYTES = 1088, /* no source's config struct is larger */
    GS_DATA_FILE_BYTES = 256     /* of a field that names a file */
};

typedef struct gs_data_source {
    const char *name;    /* in scenario files */
    const char *summary; /* one line */
    const char *source;  /* where it comes from */
    const gs_field_table *config_table;
    const char *const *files; /* keys that name files, "" for none of them; ends with NULL. NULL: no
                                 such keys */

    /* Reads or generates from a config of config_table's struct; the same bytes for the same
     * config and files. data_dir holds models/data. Errors: GS_ENOTFOUND, GS_EIO, GS_EPARSE (file,
     * place, what is expected), GS_EINVAL (values that do not fit each other), GS_ELIMIT,
     * GS_ENOMEM. Owner of all arrays: the arena. */
    gs_status (*read)(const void *config, const char *data_dir, gs_arena *arena, gs_dataset *out,
                      gs_error *err);
} gs_data_source;

/* The names of all sources, sorted, NULL at the end. */
extern const char *const gs_data_source_names[];

/* The i-th of gs_data_source_names, or NULL from the end on. */
const gs_data_source *gs_data_source_at(size_t index);

/* The source of that name, or NULL. */
const gs_data_source *gs_data_source_find(const char *name);

#endif
