/* A strategy that is no arm of recommend beside the fixed ones, on the frozen benchmark. */
#ifndef GS_TESTS_FROZEN_RIVAL_H
#define GS_TESTS_FROZEN_RIVAL_H

#include "tests/frozen/truth.h"

/* Prints, for each scenario, the rival's time at its best rate over the least time of the truth,
 * and at the end mean and worst of that, of the rival and of every fixed arm, over all scenarios
 * and over those whose conditions change in mid-run. word: as after -s. seeds: of the final
 * measurement, from the first of the truth's. false: a signal came. */
bool rival_measure(const frozen_truth *truth, const char *word, uint32_t first, uint32_t count,
                   uint32_t seeds);

#endif
