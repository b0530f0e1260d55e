/* How likely: that a step takes longer than a limit, that one strategy is faster than another; from
 * the runs of several seeds, with intervals that do not take the steps of a run for independent. */
#ifndef GS_TOOLS_SIM_CHANCE_H
#define GS_TOOLS_SIM_CHANCE_H

#include <stddef.h>

typedef struct gs_chance {
    size_t count;       /* steps, or pairs of runs */
    size_t hits, equal; /* of them; equal: neither faster nor slower */
    double value;       /* NAN: nothing to count */
    double low, high;   /* 95 % interval; NAN where value is */
} gs_chance;

/* Durations of the steps of one run. */
typedef struct gs_run_steps {
    const double *ns; /* [count] */
    size_t count;
} gs_run_steps;

/* P(step > limit): the share of all steps of all runs. Interval: Wilson's score interval, with
 * Student's quantile, for as many independent steps as the steps are worth: their number over the
 * inflation of the variance of their means. Runs are the independent units, with one run its blocks
 * of sqrt(count) steps; inflation is never below 1. A single step has the interval [0, 1].
 * Sources: Wilson, JASA 22 (1927) 209; the design effect of Kish, Survey Sampling (1965), 5.4. */
gs_chance gs_chance_over(const gs_run_steps *runs, size_t run_count, double limit_ns);

/* P(other is faster than base): base, other [count] are times of runs paired by seed; pairs with a
 * value that is not finite are left out, equal times count half. Interval: Clopper and Pearson's
 * (Biometrika 26 (1934) 404), exact; equal times count as slower for its low end and as faster for
 * its high end. */
gs_chance gs_chance_faster(const double *base, const double *other, size_t count);

#endif
