/* Has a metric become better, worse or neither between two sides? One row of a comparison.
 *
 * Exact values (of the simulator, from the same seeds) are compared bit for bit and judged by the
 * size of the change alone. Others are samples. Paired by seed: the mean of the logarithms of their
 * ratios, its BCa interval, the sign-flip test. Unpaired: the shift of the medians of the
 * logarithms, its BCa interval, the test of Mann and Whitney. Differences stand for ratios where a
 * value is not above 0 or the limit is an amount. A target that is not reached everywhere: how many
 * reach it is tested first (with the same tests, of what was reached), then times restricted to a
 * horizon (Royston and Parmar, BMC Medical Research Methodology 13 (2013)); p is twice the smaller
 * one.
 *
 * Worse needs effect and certainty: the interval lies beyond the limit, and p of "no further than
 * the limit" is small after Holm's correction over all rows. Better likewise against no change at
 * all. The same: the interval ends before the limit. Anything else is inconclusive. */
#ifndef GS_TRACES_STATS_CHANGE_H
#define GS_TRACES_STATS_CHANGE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_change_sides {
    const double *base, *candidate;       /* +INFINITY: not reached; NAN is not allowed */
    uint32_t base_count, candidate_count; /* >= 1; equal where paired */
    bool paired;                          /* element i of both has the same seed */
    bool exact;                           /* paired, and a function of the seed */
    bool lower_is_better;
    double horizon; /* time up to which all runs were watched, where a value is not reached; 0: the
                       largest value that is finite */
} gs_change_sides;

/* How much worse is still the same: a share of the base, or an amount in the metric's unit. */
typedef struct gs_change_limit {
    bool is_amount;
    double value; /* >= 0; of what is better when higher a share of 1 allows anything */
} gs_change_limit;

typedef struct gs_change {
    bool of_ratio;           /* effects are logarithms of candidate / base; else candidate - base */
    bool exact, identical;   /* identical: bit for bit, and as many */
    bool censored, by_reach; /* by_reach: p is that of how many reach the target */
    bool lower_is_better, paired;
    uint32_t tests; /* that p is made of: 2 where not all sides reach the target equally often */
    uint32_t count; /* pairs, or values of the smaller side */
    uint32_t reached_base, reached_candidate;
    double base, candidate; /* geometric means (means of differences), or medians where unpaired */
    double effect, low, high; /* of level 1 - alpha; NAN: exact, or fewer than two */
    double spread;            /* standard deviation of the effect of one pair; NAN likewise */
    double limit;             /* in units of the effect, towards worse */
    double p;                 /* NAN: exact or identical */
    double least_p;           /* that this many values can have */
} gs_change;

/* Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_change_measure(const gs_change_sides *sides, gs_change_limit limit,
                                        double alpha, gs_change *out);

typedef enum gs_change_word {
    GS_CHANGE_SAME,
    GS_CHANGE_BETTER,
    GS_CHANGE_WORSE,
    GS_CHANGE_INCONCLUSIVE
} gs_change_word;

typedef struct gs_change_verdict {
    gs_change_word word;
    uint32_t needed;   /* seeds without which nothing can be found among so many rows; 0: enough */
    double detectable; /* effect towards worse that is called worse in 80 of 100 comparisons; NAN:
                          none, or exact */
} gs_change_verdict;

/* p_adjusted: of Holm over the `rows` (>= 1) of one comparison that have a p. */
gs_change_verdict gs_change_judge(const gs_change *change, double p_adjusted, double alpha,
                                  uint32_t rows);

#endif
