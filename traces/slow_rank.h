/* Which rank is late, when, by how much, and why: the judgement behind `trace slow`.
 *
 * A rank is judged by its own time in a step, which is the step without the wait for others: in a
 * synchronous job all ranks have equal steps, and the slow one is the one that does not wait. Its
 * lateness in a step is its own time minus the median of all other ranks'. A score says how unusual
 * a lateness is by the noise that ranks have in common, whatever that looks like (heavy tails,
 * skew, memory from step to step); slow_pattern.h then asks each rank's scores for a pattern.
 * Besides the own time each recorded part (compute, input, wire) is judged by itself: a small delay
 * drowns in the noise of the others.
 *
 * A rank is named if a pattern stands out (slow_pattern.h bounds how often that happens where
 * nobody is slow), if the delay is at least GS_SLOW_PART_RATIO of the part and GS_SLOW_STEP_RATIO
 * of the step, and if its own time as a whole does not contradict it. Where waits are recorded, it
 * must also come late to its collectives, or its link alone must be slow. Pure. */
#ifndef GS_TRACES_SLOW_RANK_H
#define GS_TRACES_SLOW_RANK_H

#include "base/arena.h"
#include "traces/slow_pattern.h"
#include "traces/step_table.h"

#define GS_SLOW_PART_RATIO 0.02
#define GS_SLOW_STEP_RATIO 0.005
/* Fewer steps say too little about noise. */
enum { GS_SLOW_STEPS_MIN = 8 };

typedef enum gs_slow_basis {
    GS_SLOW_BY_WORK,  /* time less wait */
    GS_SLOW_BY_PARTS, /* compute and what else is recorded; waits are not */
    GS_SLOW_BY_TIME   /* whole steps: they hold the waits */
} gs_slow_basis;

typedef enum gs_slow_cause {
    GS_SLOW_UNKNOWN, /* parts are not recorded, or none of them grows with the delay */
    GS_SLOW_COMPUTE,
    GS_SLOW_INPUT,
    GS_SLOW_NETWORK,
    GS_SLOW_MIXED, /* no part makes up 60 % of the delay */
    GS_SLOW_CAUSES
} gs_slow_cause;

/* "cannot tell", "compute", "input", "network", "mixed". */
const char *gs_slow_cause_name(gs_slow_cause cause);

/* Times are in the table's unit. */
typedef struct gs_slow_rank {
    int32_t rank;
    uint32_t step_count;     /* that the table has of it */
    int64_t own_p50;         /* own time, median over steps */
    int64_t late_p50;        /* of all its steps; < 0: ahead of the others */
    double last_ratio;       /* share of its steps in which no rank had a longer own time */
    gs_slow_pattern pattern; /* GS_SLOW_NOT: not named; the fields below are 0 then */
    gs_slow_fit fit;
    gs_slow_cause cause;
    gs_step_part part; /* that gave it away; GS_STEP_TIME: the own time as a whole */
    double late_ratio; /* share of its steps in which it was late */
    int64_t delay_p50; /* median delay in those */
    int64_t delay_p95;
    double factor_ratio; /* its time in them over the median of the others', of `part` or cause */
    int64_t others_wait; /* others' wait less its own, median in them; GS_STEP_MISSING unknown */
    int64_t cost;        /* mean over all steps: how much later than the next slowest it was */
    int64_t
        excess[GS_STEP_PARTS]; /* median of each part beyond the others'; 0 where not recorded */
} gs_slow_rank;

/* Why nobody could be named, beyond nobody being slow. */
typedef enum gs_slow_answer {
    GS_SLOW_NAMED,
    GS_SLOW_NOBODY,
    GS_SLOW_ONE_RANK,
    GS_SLOW_NO_COMMON, /* no step is on two ranks */
    GS_SLOW_FEW_STEPS, /* not even a rank that is last in every step would stand out */
    GS_SLOW_ALL_EQUAL, /* no rank ever differs from another */
    GS_SLOW_EQUALISED  /* steps vary, and on all ranks alike: a collective makes them equal */
} gs_slow_answer;

typedef struct gs_slow_report {
    gs_slow_answer answer;
    gs_slow_basis basis;
    gs_slow_rank *ranks; /* [rank_count] as in the table */
    uint32_t rank_count;
    uint32_t *named; /* [named_count] indices of ranks, by cost and delay, dearest first */
    uint32_t named_count;
    uint32_t step_count;     /* with at least two ranks */
    uint32_t missing_count;  /* of rows, beside the steps that only one rank has */
    uint32_t least_steps;    /* that would have been enough for a clear case */
    int64_t step_p50;        /* the longest rank's time, median over steps */
    double detectable_ratio; /* own time of a rank slower in every step that is found in 95 of 100
                                cases: 1.03; 0 unless answer is NAMED or NOBODY */
    double noise_ratio;      /* spread of latenesses (1.48 median deviations) over the own time */
    bool is_evenly_spaced;   /* steps lie evenly, so that periods can be told */
    int64_t stride;          /* between steps, where they do */
} gs_slow_report;

/* Errors: GS_ENOMEM. Owner of the report's arrays: the arena. */
GS_MUST_USE gs_status gs_slow_judge(const gs_step_table *table, gs_arena *arena,
                                    gs_slow_report *out, gs_error *err);

#endif
