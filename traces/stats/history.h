/* How much a value wanders from one run to the next where nothing was changed. */
#ifndef GS_TRACES_STATS_HISTORY_H
#define GS_TRACES_STATS_HISTORY_H

#include <stdint.h>

enum { GS_HISTORY_MIN = 5, GS_HISTORY_MAX = 20 };

/* Three median absolute deviations over the median of values [count], all above 0, at most
 * GS_HISTORY_MAX: a share of the base that noise alone rarely goes beyond (of normal noise one
 * value in 23). NAN for fewer than GS_HISTORY_MIN. */
double gs_history_limit(const double *values, uint32_t count);

#endif
