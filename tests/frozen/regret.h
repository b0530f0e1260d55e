/* How much time is lost by doing what `recommend` says, on scenarios whose truth is known. */
#ifndef GS_TESTS_FROZEN_REGRET_H
#define GS_TESTS_FROZEN_REGRET_H

#include "tests/frozen/truth.h"

#define REGRET_MAX      0.05 /* upper 95 % bound of the mean */
#define REGRET_COST_MAX 0.25 /* simulations over those of every arm, rate and seed, on average */

/* Runs `program recommend` on scenarios [first, first + count) and prints a CSV row for each, then
 * a sentence. An exit code: GS_EXIT_OUTSIDE where a goal is missed. The truth of all of them must
 * be there. */
int regret_measure(const frozen_truth *truth, const char *program, uint32_t first, uint32_t count);

#endif
