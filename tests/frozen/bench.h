/* A scenario of the frozen benchmark with what `recommend` may choose there, and the measure by
 * which it is judged: recommend's own score, on seeds that it does not use. */
#ifndef GS_TESTS_FROZEN_BENCH_H
#define GS_TESTS_FROZEN_BENCH_H

#include "tests/frozen/frozen.h"
#include "tools/recommend/trial.h"

enum {
    BENCH_TRIAL_SEEDS = 3,
    BENCH_FINAL_SEEDS = 30,
    /* Past those of the confirmation and of recommend's own stages. */
    BENCH_TRIAL_FIRST = 3000000,
    BENCH_FINAL_FIRST = 4000000
};

typedef struct frozen_bench {
    gs_cli *cli;
    char *text;
    char name[FROZEN_NAME_BYTES];
    gs_scenario scenario;
    gs_recommend all; /* after bench_arms: its arms, those that run are in, dominated or not */
} frozen_bench;

/* One line on standard error and the end of the program where the scenario cannot be read. End with
 * bench_close. */
void bench_open(uint32_t index, frozen_bench *out);
void bench_close(frozen_bench *bench);

/* Makes the arms, and measures what a sample of each takes by the timing model of recommend, since
 * a miss is counted by it. No arm that runs is left out. false: a signal came. */
bool bench_arms(frozen_bench *bench);

/* Likewise of plain all-reduce and what the word names, as after -s, which is the last one. */
bool bench_arms_named(frozen_bench *bench, const char *word);

/* How an arm did at `factor` times the scenario's rate. */
typedef struct bench_result {
    uint32_t seeds, reached;
    double seconds; /* geometric mean to the target; a miss counts as twice the budget */
} bench_result;

/* After bench_arms. false: a signal came, *out is not set. */
bool bench_measure(frozen_bench *bench, const gs_arm *arm, double factor, uint64_t moved,
                   uint32_t seeds, bench_result *out);

#endif
