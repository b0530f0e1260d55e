/* The quantile of the standard normal distribution: rational functions in three regions, relative
 * error about 1e-16 (Wichura, algorithm AS 241, PPND16, Applied Statistics 37(3), 1988).
 *
 * Written out here so that many can be worked out side by side and every processor gives the same
 * bits, as far as its log does. */
#ifndef GS_TRACES_NORMAL_QUANTILE_H
#define GS_TRACES_NORMAL_QUANTILE_H

#include <stddef.h>

/* 0 < probability < 1. */
double gs_normal_quantile(double probability);

/* out [count] of probabilities [count], which do not overlap it: bit for bit the same. */
void gs_normal_quantiles(const double *restrict probabilities, size_t count, double *restrict out);

#endif
