/* How large a change a comparison of n pairs can find, and how often it finds one.
 *
 * Power of the paired t test by the noncentral t distribution, which has its integral over the law
 * of the spread here (GSL has none): Johnson, Kotz and Balakrishnan, Continuous Univariate
 * Distributions 2 (1995), chapter 31. The sign-flip test, whose power has no closed form, comes
 * close to it from n = 8 on (docs/compare.md has it measured). */
#ifndef GS_TRACES_STATS_POWER_H
#define GS_TRACES_STATS_POWER_H

#include <stdint.h>

/* Chance that a two-sided test at `alpha` of pairs (>= 2) differences, whose standard deviation is
 * spread > 0, finds a true mean of `shift` > 0 on its right side. */
double gs_paired_power(uint32_t pairs, double shift, double spread, double alpha);

/* The shift found with chance `power` (alpha/2 < power < 1); 0 where spread is 0, NAN for fewer
 * than 2 pairs. */
double gs_detectable_shift(uint32_t pairs, double spread, double alpha, double power);

#endif
