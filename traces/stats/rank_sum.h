/* Does one of two unpaired samples tend to larger values? The test of Mann and Whitney.
 *
 * Exact where there are no ties and fewer than 50 values on each side, by counting arrangements;
 * else the normal law with correction for ties and continuity. Source: Mann and Whitney, Annals of
 * Mathematical Statistics 18 (1947); ties: Lehmann, Nonparametrics (1975), section 1.4. */
#ifndef GS_TRACES_STATS_RANK_SUM_H
#define GS_TRACES_STATS_RANK_SUM_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { GS_RANK_SUM_EXACT_MAX = 49 };

typedef struct gs_rank_sum {
    double u; /* pairs (i, k) with first[i] > second[k]; equal ones count 1/2 */
    double p; /* two-sided; 1 where all values are alike */
    bool exact;
} gs_rank_sum;

/* first, second: [counts], both >= 1; +INFINITY is larger than all that is finite. Errors:
 * GS_ENOMEM. */
GS_MUST_USE gs_status gs_rank_sum_test(const double *first, uint32_t first_count,
                                       const double *second, uint32_t second_count,
                                       gs_rank_sum *out);

/* The least p that samples of these sizes can have: 2 / C(first + second, first). */
double gs_rank_sum_least(uint32_t first_count, uint32_t second_count);
/* How many values on each side it takes for a least p of at most `level` > 0. */
uint32_t gs_rank_sum_needs(double level);

#endif
