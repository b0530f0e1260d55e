/* All runs of a command, in parallel processes or one after the other in this one. The outcomes are
 * in the order of the runs and the same either way: a run knows nothing of the others. */
#ifndef GS_TOOLS_RUN_POOL_H
#define GS_TOOLS_RUN_POOL_H

#include "tools/progress.h"
#include "tools/run_one.h"
#include "tools/troupe.h"

typedef struct gs_pool_config {
    const gs_scenario *scenario;
    const gs_scenario *const *variants; /* [variant_count]: the first strategy of each of these
                                           instead of every strategy of the scenario; or NULL */
    uint32_t variant_count;
    uint32_t seeds;  /* a strategy or variant; scenario->seed and the ones after it */
    int64_t jobs;    /* processes at a time; 1: in this process */
    int64_t threads; /* of each run, for gradients; 0: processors / runs at a time, at least 1 */
    bool keep_all_ranks;
    int64_t look_every;                         /* steps between looks at the gradients; 0: none */
    void (*ended)(void *context, uint32_t run); /* outcomes[run] is there; or NULL */
    void *context;
    gs_progress *progress;
    gs_troupe *troupe; /* whose processes share the runs, and all get the outcomes; or NULL */
} gs_pool_config;

/* outcomes [(strategies or variants) * seeds]: out, the seeds of the first strategy first. After a
 * signal no new run starts and those under way end as interrupted. A process that dies fails its
 * run only. */
void gs_pool_run(const gs_pool_config *config, gs_outcome *outcomes);

#endif
