/* Where a curve bends: the knee of a value over what is varied, with an interval.
 *
 * ln y is fitted by two lines that meet, over ln x or over x itself; where they meet with the least
 * squares is the knee. Source: Hinkley, Inference about the Intersection in Two-Phase Regression,
 * Biometrika 56 (1969); the search over break-points, Muggeo, Statistics in Medicine 22 (2003).
 * There is one only where two lines are better than one by Schwarz's criterion (Annals of
 * Statistics 6, 1978) by 2 or more, with residuals below 0.1 % not counted, and where the slopes
 * differ by 0.1 or more.
 *
 * The interval is what the middle 95 % of 499 bootstrap rounds give, each with as many seeds drawn
 * anew, the same for every x; widened to what the fits give that leave one x out, since seeds say
 * nothing of how far two lines are from the truth. Pure but for memory; draws are counter-based. */
#ifndef GS_TRACES_STATS_KNEE_H
#define GS_TRACES_STATS_KNEE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { GS_KNEE_POINTS_MIN = 6 };

typedef struct gs_knee {
    bool found;
    double at, low, high; /* in the unit of x */
    double before, after; /* slopes of ln y: a power of x, or a growth per unit of x */
} gs_knee;

/* x [count], ascending, > 0 where log_x; y [count][seeds], values > 0, the i-th of each row of the
 * same seed. Rows with a value that is not finite are left out; fewer than GS_KNEE_POINTS_MIN are
 * none. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_knee_of(const double *x, const double *y, uint32_t count, uint32_t seeds,
                                 bool log_x, gs_knee *out);

#endif
