/* Looks sources of data up by name or place in datasets.def. */
#include "models/dataset_source.h"

#include <string.h>

#define GS_DATA_SOURCE(stem) extern const gs_data_source gs_data_source_##stem;
#include "models/datasets.def"
#undef GS_DATA_SOURCE

static const gs_data_source *const sources[] = {
#define GS_DATA_SOURCE(stem) &gs_data_source_##stem,
#include "models/datasets.def"
#undef GS_DATA_SOURCE
};

const char *const gs_data_source_names[] = {
#define GS_DATA_SOURCE(stem) #stem,
#include "models/datasets.def"
#undef GS_DATA_SOURCE
    NULL,
};

const gs_data_source *gs_data_source_at(size_t index)
{
    return index < sizeof sources / sizeof sources[0] ? sources[index] : NULL;
}

const gs_data_source *gs_data_source_find(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        if (strcmp(sources[i]->name, name) == 0) {
            return sources[i];
        }
    }
    return NULL;
}
