#include "strategies/norm_trend.h"

#include "base/assert.h"

#include <math.h>

double gs_relative_change(double before, double after)
{
    double change = fabs(after - before);
    if (before > 0.0) {
        return change / before;
    }
    return change > 0.0 ? (double)INFINITY : change;
}

/* From the newest to the oldest. */
static double smooth(const gs_norm_trend *trend, uint32_t window, double keep)
{
    double weight = 1.0, weights = 0.0, sum = 0.0;
    for (uint32_t age = 0; age < trend->count; age++) {
        uint32_t at = (trend->next + window - 1 - age) % window;
        sum += weight * trend->norms[at];
        weights += weight;
        weight *= keep;
    }
    return sum / weights;
}

double gs_norm_trend_add(gs_norm_trend *trend, uint32_t window, double keep, double square)
{
    GS_ASSERT(window >= 1 && window <= GS_NORM_WINDOW_MAX);
    bool is_full = trend->count == window;
    double before = trend->smoothed;
    trend->norms[trend->next] = sqrt(square);
    trend->next = (trend->next + 1) % window;
    trend->count += is_full ? 0 : 1;
    trend->smoothed = smooth(trend, window, keep);
    return is_full ? gs_relative_change(before, trend->smoothed) : (double)INFINITY;
}
