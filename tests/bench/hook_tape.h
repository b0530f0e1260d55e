/* What a strategy was told and what services answered it, so that its hooks can be called again
 * without a driver: with null services, that say the same and do nothing.
 *
 * The program that uses this is linked with --wrap for every service (tests/CMakeLists.txt). */
#ifndef GS_TESTS_BENCH_HOOK_TAPE_H
#define GS_TESTS_BENCH_HOOK_TAPE_H

#include "strategies/strategy.h"

/* `strategy` with hooks that pass on to its own and keep what they were called with, once recording
 * is on. Valid until the next call. */
const gs_strategy *gs_tape_listen(const gs_strategy *strategy);

/* From now on: states [role] of state_bytes are kept as they are at the next hook. */
void gs_tape_record(const gs_layout *layout);

/* Hooks kept since, at most the tape's length. */
int64_t gs_tape_hooks(void);

/* Calls them again `times` times, from the kept states, with null services; processor seconds. */
double gs_tape_play(int times);

#endif
