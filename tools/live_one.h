/* One live run from start to end, and what is kept of it: the twin of tools/run_one.h. */
#ifndef GS_TOOLS_LIVE_ONE_H
#define GS_TOOLS_LIVE_ONE_H

#include "tools/live_crew.h"
#include "tools/run_one.h"

typedef struct gs_live_plan {
    const gs_scenario *scenario;
    const gs_live_crew *crew;
    bool keep_all_ranks;
    const char *recording; /* file of the order of events, written by process 0; NULL: none */
    bool *is_unwritten;    /* out: true where that file could not be written, which has been said */
} gs_live_plan;

/* All processes call it. strategy: of scenario->strategies. Out of memory ends the program. Owner
 * of what is in *out, which only process 0 has whole: caller, gs_outcome_fini. */
void gs_live_one(const gs_live_plan *plan, uint32_t strategy, uint64_t seed, gs_outcome *out);

#endif
