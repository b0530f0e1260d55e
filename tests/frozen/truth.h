/* The truth of the frozen benchmark: how every arm does at its best rates, in a CSV file that is
 * also the checkpoint of whoever makes it. */
#ifndef GS_TESTS_FROZEN_TRUTH_H
#define GS_TESTS_FROZEN_TRUTH_H

#include "tests/frozen/bench.h"

enum { TRUTH_RATES = 5, TRUTH_ARM_BYTES = 96 };

/* Each stage has more seeds than the one before and leaves out what cannot win (docs/frozen.md). */
typedef enum truth_stage { TRUTH_FIRST, TRUTH_TRIAL, TRUTH_FINAL, TRUTH_STAGES } truth_stage;

typedef struct truth_row {
    char scenario[FROZEN_NAME_BYTES];
    char arm[TRUTH_ARM_BYTES];
    double factor; /* of the scenario's rate */
    truth_stage stage;
    bench_result result;
} truth_row;

typedef struct frozen_truth {
    const char *path;
    truth_row *rows;
    uint32_t count, capacity;
    int64_t bytes; /* of whole lines in the file */
} frozen_truth;

/* Reads the file, which may not be there. Whole lines count: one that a killed program has begun is
 * left out, and cut off before the next one is written. One line on standard error and the end of
 * the program where it is of other scenarios or cannot be read. End with truth_close. */
void truth_open(const char *path, frozen_truth *out);
void truth_close(frozen_truth *truth);

/* NULL: not measured yet. */
const truth_row *truth_find(const frozen_truth *truth, const char *scenario, const char *arm,
                            double factor, truth_stage stage);
/* The least time of all final rows of a scenario; NULL: it has none, or is not whole. */
const truth_row *truth_best(const frozen_truth *truth, const char *scenario);

/* Measures what is missing of a scenario, a row at a time. false: a signal came. */
bool truth_make(frozen_truth *truth, uint32_t index);

#endif
