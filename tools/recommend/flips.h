/* Where the choice flips: the timing model at other bandwidths, jitters and rank counts, times the
 * samples to the target that were measured here. */
#ifndef GS_TOOLS_RECOMMEND_FLIPS_H
#define GS_TOOLS_RECOMMEND_FLIPS_H

#include "tools/recommend/trial.h"

typedef enum gs_flip_axis {
    GS_FLIP_BANDWIDTH, /* of the outer link, as a multiple of today's */
    GS_FLIP_JITTER,    /* standard deviation over mean of compute times, lognormal */
    GS_FLIP_RANKS,
    GS_FLIP_AXES
} gs_flip_axis;

extern const char *const gs_flip_axis_keys[GS_FLIP_AXES]; /* "bandwidth_bps", for programs */

/* One direction of one axis. */
typedef struct gs_flip {
    gs_flip_axis axis;
    bool is_up;
    double today;     /* in the unit of the axis: bit/s, ratio, ranks */
    double holds_to;  /* last value looked at where the choice holds */
    double flips_at;  /* first one where `to` is better by 1 %; NAN: none up to holds_to */
    const gs_arm *to; /* NULL: nobody */
    bool is_assumed;  /* the samples of `to` or of the choice were measured with another timing on
                         which they depend, or are those of plain all-reduce */
} gs_flip;

enum { GS_FLIPS_MAX = 2 * GS_FLIP_AXES };

typedef struct gs_flips {
    gs_flip flips[GS_FLIPS_MAX];
    uint32_t count;
} gs_flips;

/* Looks for the nearest flip of `choice` in both directions of each axis: steps of a factor of 2,
 * then bisection. false: a signal came, or --budget left no time; *out holds what was found. */
bool gs_flips_find(gs_recommend *all, const gs_arm *choice, gs_flips *out);

/* What an arm needs of samples: measured, or where it was dominated in screening those of the exact
 * arm. INFINITY: it is not known, or too many of its runs do not reach the target. */
double gs_flip_samples(const gs_recommend *all, const gs_arm *arm, bool *out_assumed);

#endif
