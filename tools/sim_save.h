/* Outcomes of `sim` and `live` as rows of the database and as a JSON document. */
#ifndef GS_TOOLS_SIM_SAVE_H
#define GS_TOOLS_SIM_SAVE_H

#include "tools/cli.h"
#include "tools/run_one.h"
#include "tools/sim_report.h"

typedef struct gs_sim_batch {
    const gs_cli *cli;
    const gs_scenario *scenario;
    gs_run_source source;
    const char *how;      /* live runs ran; NULL: simulated ones */
    uint32_t seeds;       /* runs of a strategy: seeds times repeats */
    uint32_t repeats;     /* of each seed */
    gs_outcome *outcomes; /* [strategies * seeds] */
    char *command;        /* that makes the same runs again */
    gs_environment environment;
    char *model_name;
    char *config_json;
    int64_t *run_ids; /* [strategies * seeds], 0: not stored */
    /* Runs are stored as they end, so that a process that is killed loses only those under way; and
     * in their own order, whatever the number of processes, so that the database is the same. */
    gs_store *store;
    bool *ended;      /* [strategies * seeds] */
    uint32_t stored;  /* runs before this one are in */
    gs_status status; /* of the first thing that went wrong with the database */
    gs_error error;
} gs_sim_batch;

/* One of the runs as it is stored; texts are borrowed from the batch. End with
 * gs_sim_stored_run_fini. */
gs_stored_run gs_sim_stored_run(const gs_sim_batch *batch, uint32_t index);
void gs_sim_stored_run_fini(gs_stored_run *run);

/* A run has ended: it is stored, and those after it that waited for it. For gs_pool_config.ended.
 */
void gs_sim_store_ended(void *batch, uint32_t run);
/* The last of them, interrupted ones too, and the end of the batch. Errors: those of gs_store_open
 * and gs_store_write_run; what was stored before stays. */
GS_MUST_USE gs_status gs_sim_store_finish(gs_sim_batch *batch, gs_error *err);

/* Opens the database, before the first run that is to be stored or when it has ended. Errors: those
 * of gs_cli_database and gs_store_open. */
GS_MUST_USE gs_status gs_sim_store_begin(gs_sim_batch *batch, gs_error *err);

/* Adds the runs that were started to a document of traces/result_json.h. */
void gs_sim_document_runs(const gs_sim_batch *batch, gs_json *document);

/* The whole document with the answer and the exit code. Out of memory ends the program. Owner:
 * caller. */
gs_json *gs_sim_document(const gs_sim_batch *batch, const gs_sim_report *report, const char *answer,
                         int exit_code);

#endif
