/* Values over the time of a run, and how often values lay where: what a record holds beside its
 * steps and its curve.
 *
 * A name says what is counted and in which unit ("gradient_norm/hidden0", "nic_busy_ratio"); it is
 * given once and then known by its index. Memory grows with the rows: who adds them bounds their
 * number. */
#ifndef GS_TRACES_SERIES_H
#define GS_TRACES_SERIES_H

#include "base/status.h"
#include "base/units.h"

#include <stddef.h>
#include <stdint.h>

enum { GS_SERIES_NAME_BYTES = 64 };

typedef struct gs_series_name {
    char text[GS_SERIES_NAME_BYTES];
} gs_series_name;

typedef struct gs_series_point {
    uint32_t name;
    int32_t rank; /* GS_ALL_RANKS: of the job */
    gs_time_ns at_ns;
    double value;
} gs_series_point;

/* How many values lay in [low, high). */
typedef struct gs_series_bin {
    uint32_t name;
    int32_t rank;
    double low, high;
    int64_t count;
} gs_series_bin;

/* {0} is an empty one. */
typedef struct gs_series {
    gs_series_name *names; /* [name_count] */
    int64_t name_count, name_capacity;
    gs_series_point *points; /* [point_count], in order of arrival */
    int64_t point_count, point_capacity;
    gs_series_bin *bins; /* [bin_count] */
    int64_t bin_count, bin_capacity;
} gs_series;

void gs_series_fini(gs_series *series);

/* Index of a name, which is new or known; names are shorter than GS_SERIES_NAME_BYTES. Errors:
 * GS_ENOMEM; the series is as before then, here and below. */
GS_MUST_USE gs_status gs_series_find_name(gs_series *series, const char *name, uint32_t *out);
GS_MUST_USE gs_status gs_series_add(gs_series *series, const gs_series_point *point);
/* Index of an added bin, whose count may grow in place; low < high. */
GS_MUST_USE gs_status gs_series_add_bin(gs_series *series, const gs_series_bin *bin,
                                        int64_t *out_index);

#endif
