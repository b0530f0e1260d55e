/* The frozen benchmark of `recommend`: 40 scenarios, drawn once from a fixed seed (docs/frozen.md).
 * 20 are for tuning what decides, 20 are held out and measured at releases alone. */
#ifndef GS_TESTS_FROZEN_FROZEN_H
#define GS_TESTS_FROZEN_FROZEN_H

#include <stdint.h>

enum { FROZEN_HALF = 20, FROZEN_COUNT = 2 * FROZEN_HALF, FROZEN_NAME_BYTES = 32 };

/* Steps that plain all-reduce needs to the target at the scenario's own rate, and the budget. */
enum { FROZEN_STEPS_MIN = 30, FROZEN_STEPS_MAX = 150, FROZEN_BUDGET_STEPS = 300 };

/* "tuning_00" to "tuning_19" of index 0 to 19, then "held_out_00" to "held_out_19". */
void frozen_name(uint32_t index, char out[FROZEN_NAME_BYTES]);

/* The scenario file, the same bytes on every machine. Owner: caller, free(). Out of memory ends the
 * program. */
char *frozen_text(uint32_t index);

/* Hash of all files, name and text, in their order. */
uint64_t frozen_hash(void);

#endif
