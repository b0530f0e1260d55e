/* Where the choice flips: at which bandwidth, jitter or rank count the verdict on the runs that
 * were made here would be another one, if each arm were as much faster or slower as the timing
 * model says. */
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
    double today;       /* in the unit of the axis: bit/s, ratio, ranks */
    double holds_to;    /* last value looked at where the choice holds */
    double flips_at;    /* where the verdict becomes `to`; NAN: nowhere up to holds_to */
    double first, last; /* interval of flips_at, by resampling seeds, the end nearer to today first;
                           NAN: beyond what was looked at */
    const gs_arm *to;   /* NULL: nobody */
    const gs_arm *tied; /* ties with the choice all the way; NULL: nobody does, or it flips */
    bool is_assumed;    /* the samples of `to` or of the choice were measured with another timing on
                           which they depend, or are those of plain all-reduce */
} gs_flip;

enum { GS_FLIPS_MAX = 2 * GS_FLIP_AXES };

typedef struct gs_flips {
    gs_flip flips[GS_FLIPS_MAX];
    uint32_t count;
} gs_flips;

/* Looks for the nearest flip of `choice`, which the verdict recommends, in both directions of each
 * axis: steps of a factor of 2, then places between them. The interval has the level 1 -
 * evaluate.alpha. false: a signal came, or --budget left no time; *out holds what was found. */
bool gs_flips_find(gs_recommend *all, const gs_arm *choice, gs_flips *out);

/* Runs that it makes, at most: for an estimate. */
uint64_t gs_flips_runs(void);

#endif
