#include "traces/series.h"

#include "base/assert.h"
#include "traces/grow.h"

#include <stdlib.h>
#include <string.h>

void gs_series_fini(gs_series *series)
{
    free(series->names);
    free(series->points);
    free(series->bins);
    *series = (gs_series){0};
}

gs_status gs_series_find_name(gs_series *series, const char *name, uint32_t *out)
{
    size_t length = strlen(name);
    GS_ASSERT(length > 0 && length < GS_SERIES_NAME_BYTES);
    for (int64_t i = 0; i < series->name_count; i++) {
        if (strcmp(series->names[i].text, name) == 0) {
            *out = (uint32_t)i;
            return GS_OK;
        }
    }
    gs_series_name *names =
        gs_grow(series->names, series->name_count, &series->name_capacity, sizeof *series->names);
    if (names == NULL) {
        return GS_ENOMEM;
    }
    series->names = names;
    *out = (uint32_t)series->name_count;
    names[series->name_count] = (gs_series_name){0};
    memcpy(names[series->name_count++].text, name, length);
    return GS_OK;
}

gs_status gs_series_add(gs_series *series, const gs_series_point *point)
{
    GS_ASSERT(point->name < series->name_count);
    gs_series_point *points = gs_grow(series->points, series->point_count, &series->point_capacity,
                                      sizeof *series->points);
    if (points == NULL) {
        return GS_ENOMEM;
    }
    series->points = points;
    points[series->point_count++] = *point;
    return GS_OK;
}

gs_status gs_series_add_bin(gs_series *series, const gs_series_bin *bin, int64_t *out_index)
{
    GS_ASSERT(bin->name < series->name_count);
    GS_ASSERT(bin->low < bin->high);
    GS_ASSERT(bin->count >= 0);
    gs_series_bin *bins =
        gs_grow(series->bins, series->bin_count, &series->bin_capacity, sizeof *series->bins);
    if (bins == NULL) {
        return GS_ENOMEM;
    }
    series->bins = bins;
    *out_index = series->bin_count;
    bins[series->bin_count++] = *bin;
    return GS_OK;
}
