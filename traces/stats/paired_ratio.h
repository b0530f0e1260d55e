/* Values of two sides paired by seed: their ratio, its interval, and whether it is other than 1.
 *
 * Each pair gives one logarithm of candidate / base; their mean is that of the geometric mean of
 * the ratios. What both sides have alike, such as a seed's draw of noise, is gone from it. */
#ifndef GS_TRACES_STATS_PAIRED_RATIO_H
#define GS_TRACES_STATS_PAIRED_RATIO_H

#include "base/status.h"

#include <stdint.h>

typedef struct gs_paired_ratio {
    uint32_t pairs;   /* of values that are finite and above 0 on both sides */
    double value;     /* geometric mean of candidate / base; NAN: no pair */
    double low, high; /* BCa interval of level 1 - alpha; NAN: fewer than two pairs */
    double spread;    /* standard deviation of the logarithms; NAN: fewer than two pairs */
    double p;         /* sign-flip, against a ratio of 1 */
} gs_paired_ratio;

/* Logarithms of candidate / base, of the pairs whose values are finite and above 0; how many they
 * are. out [count]. */
uint32_t gs_paired_logs(const double *base, const double *candidate, uint32_t count, double *out);

/* base, candidate [count], paired by index; other pairs than those above are left out. Errors:
 * GS_ENOMEM. */
GS_MUST_USE gs_status gs_paired_ratio_of(const double *base, const double *candidate,
                                         uint32_t count, double alpha, gs_paired_ratio *out);

#endif
