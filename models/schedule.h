/* How the rate of an optimizer changes over a run: a factor that depends on the samples seen, and
 * on nothing else, so that it does not care how many ranks or updates they took. */
#ifndef GS_MODELS_SCHEDULE_H
#define GS_MODELS_SCHEDULE_H

#include <stdint.h>

#include "base/config.h"

typedef enum gs_schedule_kind {
    GS_SCHEDULE_CONSTANT,
    GS_SCHEDULE_STEP,
    GS_SCHEDULE_LINEAR,
    GS_SCHEDULE_COSINE
} gs_schedule_kind;

extern const char *const gs_schedule_names[]; /* by gs_schedule_kind, NULL-terminated */

typedef struct gs_schedule {
    int kind;               /* gs_schedule_kind */
    int64_t warmup_samples; /* the factor first rises from 0 to 1 over so many; 0: none */
    int64_t end_samples;    /* where linear and cosine reach 0; 0: at budget_samples */
    gs_int_list drops;      /* step: in samples; none: at half and three quarters of the end */
    double drop_factor;     /* step: each drop multiplies by it */
    int64_t budget_samples; /* of the whole run, all ranks; told by whoever makes the run */
} gs_schedule;

/* Factor of the update that is made after so many samples (>= 0) of all ranks, 0..1: warm-up
 * samples / warmup_samples, then by kind. linear: 1 - p, cosine: (1 + cos(pi p)) / 2, p the share
 * of the way from the end of the warm-up to the end, at most 1. Asserts that an end is known where
 * one is needed. Sources: Goyal et al., arXiv 1706.02677 (warm-up); He et al., arXiv 1512.03385
 * (step); Loshchilov and Hutter, arXiv 1608.03983 (cosine, without restarts). */
double gs_schedule_factor(const gs_schedule *schedule, int64_t samples);

/* Is the factor always 1? */
static inline bool gs_schedule_is_constant(const gs_schedule *schedule)
{
    return schedule->kind == GS_SCHEDULE_CONSTANT && schedule->warmup_samples == 0;
}

#endif
