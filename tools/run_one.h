/* One simulated run from start to end, and what is kept of it or of a live one. */
#ifndef GS_TOOLS_RUN_ONE_H
#define GS_TOOLS_RUN_ONE_H

#include "sim/sim.h"
#include "traces/environment.h"
#include "traces/record.h"
#include "traces/store/store.h"

typedef struct gs_outcome {
    bool started; /* false: an interrupt came first, nothing else is set */
    gs_run_status status;
    gs_sim_result result;
    double *values; /* [gs_metric_count()] */
    bool target_censored;
    gs_record *record; /* NULL where the run could not be made */
    char started_utc[GS_UTC_BYTES];
    gs_time_ns wall_ns;
} gs_outcome;

typedef struct gs_run_plan {
    const gs_scenario *scenario;
    bool keep_all_ranks;
    int64_t look_every; /* steps between looks at the gradients; 0: none */
    uint32_t threads;   /* that compute gradients */
    void (*progress)(void *context, double share); /* now and then; NULL: nobody listens */
    void *context;
} gs_run_plan;

/* strategy: of scenario->strategies. Ends early when a signal has come. Out of memory ends the
 * program. Owner of what is in *out: caller, gs_outcome_fini. */
void gs_run_one(const gs_run_plan *plan, uint32_t strategy, uint64_t seed, gs_outcome *out);

/* Around any run: begins an outcome without a record; and, once result and record are there, says
 * how it ended and measures it. */
void gs_outcome_begin(gs_outcome *out);
void gs_outcome_end(gs_outcome *out);

/* An outcome for a run that no one could finish. */
void gs_outcome_fail(gs_outcome *out, const char *text);
void gs_outcome_fini(gs_outcome *outcome);

#endif
