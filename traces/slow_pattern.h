/* When is one rank late: always, in a rhythm, in stretches, in single steps, or not at all?
 *
 * Takes scores that are standard normal and independent for a rank like all others, and asks which
 * of four patterns explains them best. A pattern's gain is its log likelihood ratio against "like
 * all others"; its cost is the logarithm of how many such patterns noise could have matched, over
 * the false alarms allowed. The pattern of the greatest gain less cost is the answer, where that is
 * above 0. Pure. */
#ifndef GS_TRACES_SLOW_PATTERN_H
#define GS_TRACES_SLOW_PATTERN_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_slow_pattern {
    GS_SLOW_NOT,
    GS_SLOW_ALWAYS,   /* one level in all steps */
    GS_SLOW_SINCE,    /* one stretch, up to the last step */
    GS_SLOW_ONCE,     /* one stretch that ended */
    GS_SLOW_PERIODIC, /* every period-th step, or the same few steps of each period */
    GS_SLOW_BURSTS,   /* several stretches, or single steps, without a period */
    GS_SLOW_PATTERNS
} gs_slow_pattern;

/* "always", "since", "once", "periodic", "bursts"; "none". */
const char *gs_slow_pattern_name(gs_slow_pattern pattern);

/* Longest period that is looked for, in steps of the table; at least four periods must fit. */
enum { GS_SLOW_PERIOD_MAX = 200 };

typedef struct gs_slow_terms {
    double tests;          /* how many arrays of scores are asked, for the false alarms of all */
    double inflation;      /* >= 1: variance of a sum of scores over its count, where noise has
                              memory */
    bool is_evenly_spaced; /* else no period is looked for */
} gs_slow_terms;

typedef struct gs_slow_fit {
    gs_slow_pattern pattern;
    double excess;      /* gain less cost; <= 0: GS_SLOW_NOT */
    uint32_t period;    /* in steps of the table; 0 unless periodic */
    uint32_t stretches; /* since, once, bursts; 0: single steps */
    uint32_t first;     /* index of the first late step */
    uint32_t last;      /* of the last */
} gs_slow_fit;

/* The chance that one kind of pattern blames any rank of a set in which none is slow; an upper
 * bound, as overlapping patterns are counted as if each were a try of its own. */
#define GS_SLOW_FALSE_ALARM 0.003

/* scores [count]; NAN: the step is missing. is_on [count]: out, 1 in the steps of the pattern.
 * Errors: GS_ENOMEM. Cost O(count + period^3). */
GS_MUST_USE gs_status gs_slow_fit_scores(const double *scores, uint32_t count,
                                         const gs_slow_terms *terms, unsigned char *is_on,
                                         gs_slow_fit *out, gs_error *err);

/* Smallest mean of `count` scores that is told as "always" at these terms. */
double gs_slow_least_mean(uint32_t count, const gs_slow_terms *terms);

#endif
