/* The sentences of a sweep; of the room's own use. */
#ifndef GS_TOOLS_SWEEP_SWEEP_WORDS_H
#define GS_TOOLS_SWEEP_SWEEP_WORDS_H

#include "tools/sweep/sweep_page.h"

/* "time per sample", and "sample_ns" for programs. */
const char *gs_sweep_objective_title(gs_sweep_objective objective);
const char *gs_sweep_objective_name(gs_sweep_objective objective);

/* The last word of a key, or all of it where another dimension has the same last word. */
const char *gs_sweep_short_key(const gs_dimensions *dimensions, uint32_t index);

/* "9 bandwidth x 20 strategy = 180 points, 10 seeds each". Owner: caller, free(). */
char *gs_sweep_shape(const gs_sweep *sweep);

/* "bandwidth=1Gbit/s, local_sgd:period=4": what a point is. With a dimension: all but its value,
 * and the strategy without what is swept of it. GS_NO_VALUE: all. Owner: caller, free(). */
char *gs_sweep_others(const gs_sweep *sweep, uint32_t point, uint32_t dimension);

/* Notes: what the marks mean, knees, and the answer, which is the last one. */
void gs_sweep_tell(const gs_sweep *sweep, const gs_sweep_verdict *verdict, gs_page *page);

#endif
