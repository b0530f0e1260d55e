/* Outcomes of `sim` as rows of the database and as a JSON document. */
#ifndef GS_TOOLS_SIM_SAVE_H
#define GS_TOOLS_SIM_SAVE_H

#include "tools/cli.h"
#include "tools/run_one.h"
#include "tools/sim_report.h"

typedef struct gs_sim_batch {
    const gs_cli *cli;
    const gs_scenario *scenario;
    uint32_t seeds;
    const gs_outcome *outcomes; /* [strategies * seeds] */
    const char *command;        /* that makes the same runs again */
    gs_environment environment;
    const char *model_name;
    const char *config_json;
    int64_t *run_ids; /* [strategies * seeds], 0: not stored */
} gs_sim_batch;

/* Stores every run that was started; run_ids are set for those that are in. Errors: those of
 * gs_store_open and gs_store_write_run; what was stored before stays. */
GS_MUST_USE gs_status gs_sim_store(gs_sim_batch *batch, gs_error *err);

/* The whole document with the answer and the exit code. Out of memory ends the program. Owner:
 * caller. */
gs_json *gs_sim_document(const gs_sim_batch *batch, const gs_sim_report *report, const char *answer,
                         int exit_code);

#endif
