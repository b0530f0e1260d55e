/* What a sweep has found: the best point of each group, and where curves bend. */
#ifndef GS_TOOLS_SWEEP_VERDICT_H
#define GS_TOOLS_SWEEP_VERDICT_H

#include "tools/sweep/sweep.h"
#include "traces/stats/knee.h"

typedef enum gs_sweep_mark {
    GS_MARK_NONE,
    GS_MARK_BEST,
    GS_MARK_TIE,     /* with the best: the 95 % interval of their paired ratio contains 1 */
    GS_MARK_PRUNED,  /* by halving */
    GS_MARK_REFUSED, /* cannot be run */
    GS_MARK_MISSED,  /* no run of it has a value: target not reached, diverged, failed */
    GS_MARK_UNKNOWN  /* of another shard, or interrupted */
} gs_sweep_mark;

/* The curve of one strategy over a dimension, all other values as in `point`. */
typedef struct gs_sweep_knee {
    uint32_t dimension;
    uint32_t point;
    gs_knee knee;
} gs_sweep_knee;

typedef struct gs_sweep_verdict {
    gs_sweep_mark *marks; /* [points] */
    double *scores;       /* [points]: mean over the seeds that have a value; NAN: none */
    double *behind;      /* [points]: times the best of its group, paired by seed; NAN: not known */
    uint32_t *best;      /* [groups]: point; GS_NO_VALUE: none */
    uint32_t *ties;      /* [groups]: points that tie with it */
    uint32_t *preferred; /* [groups]: of the best and its ties the simplest strategy */
    gs_sweep_knee *knees;
    uint32_t knee_count;
    uint32_t pruned, refused, missed, unknown, diverged, failed; /* points; the last two: runs */
} gs_sweep_verdict;

/* Out of memory ends the program. Owner of *out: caller, gs_sweep_verdict_free. */
void gs_sweep_verdict_make(const gs_sweep *sweep, gs_sweep_verdict *out);
void gs_sweep_verdict_free(gs_sweep_verdict *verdict);

#endif
