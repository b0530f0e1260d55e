/* Several tests at once: p values that keep the chance of any false finding below a level.
 *
 * Source: Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of
 * Statistics 6 (1979). Valid whatever the tests have to do with each other. */
#ifndef GS_TRACES_STATS_HOLM_H
#define GS_TRACES_STATS_HOLM_H

#include <stdint.h>

/* p [count], 0..1; adjusted [count], another array: with an adjusted p of at most alpha a finding
 * stands at level alpha over all count tests together. */
void gs_holm(const double *p, uint32_t count, double *adjusted);

#endif
