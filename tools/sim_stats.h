/* What several seeds of a strategy say together: means, spreads and paired ratios. */
#ifndef GS_TOOLS_SIM_STATS_H
#define GS_TOOLS_SIM_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_spread {
    size_t count;     /* of finite values */
    double mean;      /* NAN: none */
    double sd;        /* of the sample; NAN: fewer than two */
    double low, high; /* 95 % interval of the mean; NAN: fewer than two */
    bool same;        /* two values or more, all within 5e-4 of the mean: alike as shown */
} gs_spread;

/* values [count]; those that are not finite are left out. The interval is Student's. */
gs_spread gs_spread_of(const double *values, size_t count);

typedef struct gs_ratio {
    size_t pairs;
    double value;     /* geometric mean of base / other: above 1, other is faster; NAN: no pair */
    double low, high; /* 95 % interval; NAN: fewer than two pairs */
    bool same;        /* two ratios or more, all within 5e-4 */
} gs_ratio;

/* base, other [count], paired by index; pairs with a value that is not finite or not above 0 are
 * left out. The interval is Student's on the logarithms of the ratios. */
gs_ratio gs_ratio_of(const double *base, const double *other, size_t count);

/* The interval contains 1; with one pair, the ratio is 1. */
bool gs_ratio_is_tie(const gs_ratio *ratio);

/* Median where a value that is not finite counts as larger than any other: NAN where it falls on
 * such a one. scratch [count]. */
double gs_median_censored(const double *values, size_t count, double *scratch);

#endif
