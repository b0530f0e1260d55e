/* A race of arms over paired seeds: those that are surely worse than the leader leave early.
 *
 * Values are times or costs, above 0, lower is better; +INFINITY: the target was not reached. At
 * each of a planned number of looks every arm that is still in is held against the leader (the
 * least mean of logarithms; of equal ones the first, so arms come simplest first) by a one-sided
 * paired t test on the logarithms of their ratios, at
 *
 *     alpha / (looks * (arms - 1)).
 *
 * The arm that is truly best is held against some rival in each look; whichever leads, the union
 * over rivals and looks bounds the chance that it is ever eliminated by alpha (Bonferroni; the form
 * of Maron and Moore, Hoeffding Races, NIPS 1993, with Student's test for their bound). Eliminating
 * needs no further correction: an arm that left is not tested again.
 *
 * A censored value counts as config.censored, or as twice the largest finite value of the arms that
 * are in (as PAR2 of solver contests), so that what does not arrive is worse than all that does.
 * Values on a grid, such as times of evaluations, can differ by exactly one cell in each of few
 * seeds; min_spread keeps such chance from looking certain. Pure functions. */
#ifndef GS_TRACES_STATS_RACE_H
#define GS_TRACES_STATS_RACE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_race_config {
    uint32_t arms;     /* >= 1 at the start */
    uint32_t looks;    /* planned, >= 1 */
    double alpha;      /* chance that the best arm leaves, over the whole race; 0 < alpha < 1 */
    double min_spread; /* least standard deviation of a log ratio that is believed, such as the
                          relative distance of evaluations / sqrt(6); 0: any */
    double censored;   /* what +INFINITY counts as; not below any finite value. 0: see above */
} gs_race_config;

enum { GS_RACE_PAIRS_MIN = 3 }; /* fewer seeds eliminate nobody: a spread of two says little */

typedef struct gs_race_arm {
    const double *values; /* [seeds], by seed: element i of all arms has the same seed; borrowed */
    bool out;
    uint32_t out_at_look; /* where out; looks count from 1 */
    uint32_t lost_to;     /* arm that led when it left */
    double p;             /* against the leader of the last look it was in; 1 of the leader */
} gs_race_arm;

typedef struct gs_race {
    gs_race_config config;
    gs_race_arm *arms; /* [config.arms], borrowed; zero but for values at the start */
    uint32_t looks_done;
    uint32_t leader; /* of the last look */
    uint32_t in;     /* arms that are not out */
} gs_race;

/* Errors of the caller are assertions: see the bounds above. */
gs_race gs_race_begin(const gs_race_config *config, gs_race_arm *arms);

/* Looks at the first `seeds` (>= 1) values of each arm that is in, all > 0, and eliminates. Values
 * of arms that are out are not read. At most config.looks times. Returns how many left. */
uint32_t gs_race_look(gs_race *race, uint32_t seeds);

/* The level of one test of this race. */
double gs_race_level(const gs_race_config *config);

#endif
