/* How stale the gradients of a run were: how many updates the weights had when a gradient was
 * applied that it did not know of.
 *
 * Counts are exact below 64; above, eight bins to each power of two. Not thread safe. */
#ifndef GS_TRACES_STALENESS_H
#define GS_TRACES_STALENESS_H

#include "base/status.h"
#include "traces/series.h"

#include <stdint.h>

enum { GS_STALENESS_EXACT = 64, GS_STALENESS_BINS = GS_STALENESS_EXACT + 8 * 57 };

/* {0} is an empty one. */
typedef struct gs_staleness {
    int64_t counts[GS_STALENESS_BINS];
    int64_t count, max;
    double sum;
} gs_staleness;

/* One gradient was applied, so many (>= 0) updates late. */
void gs_staleness_add(gs_staleness *staleness, int64_t updates);
void gs_staleness_merge(gs_staleness *into, const gs_staleness *more);

/* Mean over the gradients applied; NAN where there are none. */
double gs_staleness_mean(const gs_staleness *staleness);
/* The least value that a share p (0..1) of them does not exceed, rounded up to the end of its bin;
 * NAN where there are none. */
double gs_staleness_quantile(const gs_staleness *staleness, double p);

/* The histogram "staleness" of the job: a row for each bin that is not empty. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_staleness_store(const gs_staleness *staleness, gs_series *series);

#endif
