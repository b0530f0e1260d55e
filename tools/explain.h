/* Where the step of a job goes, and what would change it: everything is the difference of two
 * simulations of variants of its scenario, with the same seeds. Says nothing itself: the numbers
 * are for explain_page.h. Out of memory ends the program. */
#ifndef GS_TOOLS_EXPLAIN_H
#define GS_TOOLS_EXPLAIN_H

#include "tools/explain_change.h"
#include "tools/explain_even.h"
#include "tools/explain_measure.h"
#include "tools/progress.h"

enum { GS_SCALES_MAX = 24, GS_EXPLAIN_STEPS = 16, GS_EXPLAIN_STEPS_MIN = 2 };

typedef struct gs_explain_config {
    const gs_scenario *scenario;
    uint32_t strategy; /* of the scenario's */
    uint32_t seeds;
    int64_t jobs, threads; /* as gs_pool_config has them */
    gs_progress *progress;
} gs_explain_config;

/* What a cause costs: the ideal step grows by `added_ns` with nothing but this cause, the actual
 * one shrinks by `removed_ns` without it. Where they differ, causes act together. */
typedef struct gs_explain_cause {
    const gs_cause *cause;
    double added_ns, removed_ns;
} gs_explain_cause;

/* What a change gives, in time per sample with the same seeds. */
typedef struct gs_explain_change {
    gs_change change;
    gs_ratio gain;  /* above 1: faster */
    double same_ns; /* time for as many samples as a step has today */
    bool tie;       /* the interval holds 1, or the gain is below 0.5 % */
} gs_explain_change;

typedef struct gs_explain_scale {
    uint32_t ranks, nodes;
    gs_spread step; /* ns */
    double samples_per_s;
    double efficiency; /* of that many single ranks; NAN: one rank was not measured */
    double added_rank; /* samples/s that each added rank gives, in single ranks; NAN: first row */
    double added_usd;  /* for a million samples more than the row before has; NAN: not stated;
                          infinite: there are no more */
    bool extrapolated; /* more ranks than the scenario has */
} gs_explain_scale;

typedef struct gs_explain {
    gs_arena arena;
    gs_scenario *base; /* as it was simulated */
    uint32_t seeds;
    int64_t steps; /* measured in a run: without its first and last */
    uint64_t runs; /* simulations made */
    gs_measure actual, ideal, communication;
    gs_explain_cause causes[GS_CAUSES_MAX]; /* those that the scenario has */
    uint32_t cause_count;
    gs_explain_change changes[GS_CHANGES_MAX]; /* by gain, the largest first */
    uint32_t change_count;
    gs_explain_scale scales[GS_SCALES_MAX]; /* by ranks */
    uint32_t scale_count;
    uint32_t scale_left_out; /* the fewest ranks that would take too long to simulate; 0: none */
    bool has_even;           /* the whole job and its unit can be compared */
    uint32_t unit_ranks;
    gs_even_kind even;
    double even_factor; /* of today's outer link */
    bool interrupted;
    const char *error; /* the job itself could not be simulated */
} gs_explain;

/* Simulates all of it. *out is to be freed after an error as well. */
void gs_explain_make(const gs_explain_config *config, gs_explain *out);
void gs_explain_free(gs_explain *explain);

/* Sum of all causes in one of the two ways, and what is left to the step's loss: what causes cost
 * only together, or more than once. */
double gs_explain_together_ns(const gs_explain *explain, bool added);

#endif
