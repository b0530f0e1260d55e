/* A prediction held against its measurements: what is judged, how far off it is, and the verdict.
 *
 * The value of several runs is their median. Its interval is that of the order statistics
 * (distribution-free): [x(k), x(n - k + 1)] with the largest k for which it holds the true median
 * with 95 % or more. That needs 6 runs; fewer have none. Source: Conover, Practical Nonparametric
 * Statistics, 3rd ed., section 3.2. */
#ifndef GS_TRACES_JUDGE_H
#define GS_TRACES_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

/* What an error is relative to. */
typedef enum gs_yardstick {
    GS_YARDSTICK_MEASURED,  /* predicted / measured - 1 */
    GS_YARDSTICK_STEP,      /* (predicted - measured) / measured step */
    GS_YARDSTICK_DIFFERENCE /* predicted - measured */
} gs_yardstick;

const char *gs_yardstick_text(gs_yardstick yardstick); /* "measured", "step", "difference" */

typedef struct gs_judged {
    const char *name;  /* a metric, or "decisions": rows of the table decision */
    const char *words; /* "step p50" */
    double tolerance;
    gs_yardstick yardstick;
    bool by_seed;  /* means something between equal seeds only */
    bool of_ranks; /* judged for each rank as well, where rows of all ranks were kept */
} gs_judged;

uint32_t gs_judged_count(void);
const gs_judged *gs_judged_at(uint32_t index);
/* By "step_p50_ns" or "step_p50"; gs_judged_count() where there is none. */
uint32_t gs_judged_find(const char *name);

typedef struct gs_estimate {
    uint32_t count;   /* of values */
    double value;     /* their median; NAN: none. INFINITY: not reached */
    double low, high; /* 95 % interval; NAN: fewer than 6 values */
} gs_estimate;

/* values [count]: sorted in place; INFINITY stands for what was not reached, NAN is not allowed. */
gs_estimate gs_estimate_of(double *values, uint32_t count);

typedef struct gs_judgement {
    double error; /* > 0: predicted too much; INFINITY: measured but not predicted to be reached */
    bool inside;  /* |error| <= tolerance */
    bool unsure;  /* an end of the measured interval would turn the verdict */
} gs_judgement;

/* step_ns: the measured step, for GS_YARDSTICK_STEP. Both estimates have a value. */
gs_judgement gs_judge(gs_yardstick yardstick, const gs_estimate *predicted,
                      const gs_estimate *measured, double step_ns, double tolerance);

#endif
