/* A smoothed norm and how fast it changes: what adaptive strategies take for the phase of training.
 * Plain numbers, without a world. */
#ifndef GS_STRATEGIES_NORM_TREND_H
#define GS_STRATEGIES_NORM_TREND_H

#include <stdint.h>

enum { GS_NORM_WINDOW_MAX = 128 };

/* Zeros: no norm has come. */
typedef struct gs_norm_trend {
    double norms[GS_NORM_WINDOW_MAX]; /* the last ones, in a ring */
    uint32_t next;                    /* of the ring */
    uint32_t count;                   /* in it, at most the window */
    double smoothed;
} gs_norm_trend;

/* |after - before| / before. 0 where nothing changed, INFINITY where it was 0 and is not any more,
 * NAN where either is no number. */
double gs_relative_change(double before, double after);

/* A norm has come, the root of this square: the smoothed one becomes the mean of the last `window`
 * (1 to GS_NORM_WINDOW_MAX), each weighing `keep` (0..1) of the one after it. Returns its relative
 * change; INFINITY while fewer than the window had come. */
double gs_norm_trend_add(gs_norm_trend *trend, uint32_t window, double keep, double square);

#endif
