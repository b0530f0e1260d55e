/* Values measured several times: their middle, what is left out, and how sure the middle is.
 *
 * Of what is timed on a machine that others use too, single values are far too long and never far
 * too short: the median stands, and what lies far from it does not count. Pure functions. */
#ifndef GS_TRACES_ROBUST_H
#define GS_TRACES_ROBUST_H

#include <stdint.h>

/* A value and the interval that holds it with 99 % confidence. */
typedef struct gs_estimate {
    double value, low, high;
} gs_estimate;

/* Of values sorted ascending: those that count are [first, first + kept). */
typedef struct gs_middle {
    double median; /* of those that count */
    double spread; /* standard deviation that a normal law would have with their middle half */
    uint32_t first, kept;
} gs_middle;

/* Sorts values [count], count >= 1, all finite. A value counts unless it is more than 6 spreads and
 * 0.1 % away from the median of all. */
gs_middle gs_middle_of(double *values, uint32_t count);

/* Median of as many draws, with replacement, from sorted values [count]; round `round` of thing
 * `entity`. scratch [count]. */
double gs_median_redrawn(const double *values, uint32_t count, uint32_t entity, uint32_t round,
                         double *scratch);

/* The median of what counts of values [count] (>= 1), which are sorted, and its interval by
 * bootstrap; as wide as all that counts where fewer than 5 do. scratch [count]. */
gs_estimate gs_median_estimate(double *values, uint32_t count, double *scratch);

/* Bounds of the 99 % in the middle of draws [count] (>= 1), which are sorted. */
void gs_interval_of(double *draws, uint32_t count, double *out_low, double *out_high);

enum { GS_BOOTSTRAP_ROUNDS = 1000 };

#endif
