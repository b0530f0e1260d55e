#include "traces/stats/history.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "base/assert.h"

#define DEVIATIONS 3.0

double gs_history_limit(const double *values, uint32_t count)
{
    GS_ASSERT(count <= GS_HISTORY_MAX);
    if (count < GS_HISTORY_MIN) {
        return (double)NAN;
    }
    double sorted[GS_HISTORY_MAX];
    double scratch[GS_HISTORY_MAX];
    for (uint32_t i = 0; i < count; i++) {
        GS_ASSERT(values[i] > 0.0);
        sorted[i] = values[i];
    }
    double median = gsl_stats_median(sorted, 1, count); /* leaves its array in another order */
    return DEVIATIONS * gsl_stats_mad0(values, 1, count, scratch) / median;
}
