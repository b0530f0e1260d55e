/* Intervals by resampling: BCa, the bias-corrected and accelerated bootstrap.
 *
 * Source: Efron, Better Bootstrap Confidence Intervals, JASA 82 (1987), section 3; acceleration of
 * several samples from their jackknife, Davison and Hinkley, Bootstrap Methods and their
 * Application (1997), section 5.3.2. Draws are counter-based: the same values give the same
 * interval. */
#ifndef GS_TRACES_STATS_BOOTSTRAP_H
#define GS_TRACES_STATS_BOOTSTRAP_H

#include "base/status.h"

#include <stdint.h>

enum { GS_BCA_ROUNDS = 4999, GS_BCA_SAMPLES_MAX = 2 };

typedef struct gs_interval {
    double low, high;
} gs_interval;

/* One or two samples, drawn from apart. */
typedef struct gs_samples {
    const double *values[GS_BCA_SAMPLES_MAX]; /* [counts[i]], all finite; borrowed */
    uint32_t counts[GS_BCA_SAMPLES_MAX];      /* >= 1; the second may be 0: one sample */
} gs_samples;

/* What is estimated, finite for finite values. samples: copies, which may be sorted in place. */
typedef double (*gs_statistic)(double *const samples[GS_BCA_SAMPLES_MAX],
                               const uint32_t counts[GS_BCA_SAMPLES_MAX]);

double gs_statistic_mean(double *const samples[GS_BCA_SAMPLES_MAX],
                         const uint32_t counts[GS_BCA_SAMPLES_MAX]);
/* Of two samples, second after first: difference of medians, and of means. */
double gs_statistic_median_shift(double *const samples[GS_BCA_SAMPLES_MAX],
                                 const uint32_t counts[GS_BCA_SAMPLES_MAX]);
double gs_statistic_mean_shift(double *const samples[GS_BCA_SAMPLES_MAX],
                               const uint32_t counts[GS_BCA_SAMPLES_MAX]);

/* Two-sided interval of level 1 - alpha. Values that are all alike have an interval without width.
 * Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_bca(const gs_samples *samples, gs_statistic statistic, double alpha,
                             gs_interval *out);

#endif
