/* Successive halving over seeds: all points of a group run few seeds, the better half runs twice as
 * many, and so on, until the last rung has them all.
 *
 * Source: Jamieson and Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter
 * Optimization, AISTATS 2016. What is pruned keeps its runs. Pure functions. */
#ifndef GS_TOOLS_SWEEP_HALVING_H
#define GS_TOOLS_SWEEP_HALVING_H

#include <stdbool.h>
#include <stdint.h>

enum { GS_RUNGS_MAX = 16 };

/* Rungs for the largest group of `points`, at most so many that the first one has a seed; fills
 * seeds [GS_RUNGS_MAX] with how many each rung has run when it ends. At least 1. */
uint32_t gs_halving_rungs(uint32_t points, uint32_t seeds, uint32_t out_seeds[GS_RUNGS_MAX]);

/* A point of a group. */
typedef struct gs_halved {
    uint32_t point;
    uint32_t missing; /* seeds that have no value: not reached, diverged, failed */
    double score;     /* mean of the others, lower is better; of none: anything */
} gs_halved;

/* Sorts points [count] from the best to the worst, equal ones by their number, and returns how many
 * stay: half of them, rounded up. */
uint32_t gs_halving_keep(gs_halved *points, uint32_t count);

#endif
