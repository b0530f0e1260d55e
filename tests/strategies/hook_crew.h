/* Ranks of libgradsync_hook in one process: what crosses them is summed here, and every decision is
 * asserted to be the same on all. */
#ifndef GS_TESTS_STRATEGIES_HOOK_CREW_H
#define GS_TESTS_STRATEGIES_HOOK_CREW_H

#include "strategies/controller/gradsync_hook.h"

enum { CREW_MAX = 16 };

typedef struct hook_crew {
    uint32_t ranks;
    double *memory; /* of all controllers; owner: the crew */
    gradsync_hook *hooks[CREW_MAX];
    gradsync_hook_signals signals[CREW_MAX]; /* of the next step; the caller changes them */
    gradsync_hook_values agreed;             /* of the last decision */
    gradsync_hook_decision decision;         /* likewise */
} hook_crew;

/* config.rank is set for each. Signals begin as unknown. End with crew_fini. */
void crew_init(hook_crew *crew, const gradsync_hook_config *config);
void crew_fini(hook_crew *crew);

/* A step of all. true: they decided. */
bool crew_step(hook_crew *crew);

/* Sets one signal of all ranks. */
#define CREW_ALL(crew, member, value)                                                              \
    for (uint32_t crew_rank = 0; crew_rank < (crew)->ranks; crew_rank++) {                         \
        (crew)->signals[crew_rank].member = (value);                                               \
    }

#endif
