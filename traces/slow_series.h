/* Lateness of every rank in every step, in one part of the step, and the scores that make ranks
 * comparable. The groundwork of slow_rank.c. */
#ifndef GS_TRACES_SLOW_SERIES_H
#define GS_TRACES_SLOW_SERIES_H

#include "base/arena.h"
#include "traces/slow_rank.h"

#define GS_SLOW_NO_VALUE INT64_MIN

typedef struct gs_slow_series {
    uint32_t rank_count;
    uint32_t step_count;
    /* [rank * step_count + step]; GS_SLOW_NO_VALUE where there is none. */
    int64_t *values;  /* >= 0 */
    int64_t *late;    /* value less the median of the other ranks' */
    double *scores;   /* of `late` as a standard normal, by the noise that ranks share; NAN */
    double inflation; /* gs_slow_terms.inflation: from how sums of scores over stretches vary, the
                         median of all ranks; 1 for fewer than 4 ranks, where one is the mirror of
                         the others */
    double spread;    /* 1.48 times the median of |late| about each rank's median */
} gs_slow_series;

/* A rank's own time in a step, or GS_STEP_MISSING. */
int64_t gs_slow_own(const gs_step_table *table, gs_slow_basis basis, uint32_t rank, uint32_t step);

/* part GS_STEP_TIME: the own time. Errors: GS_ENOMEM. Owner of the arrays: the arena. */
GS_MUST_USE gs_status gs_slow_series_make(const gs_step_table *table, gs_slow_basis basis,
                                          gs_step_part part, gs_arena *arena, gs_slow_series *out,
                                          gs_error *err);

/* The score of a lateness far beyond all noise. */
double gs_slow_highest_score(uint32_t step_count);

/* Lower middle of values [count], which are sorted; 0 where there are none. */
int64_t gs_slow_median(int64_t *values, size_t count);

#endif
