/* The result of a command as JSON, for scripts: `sim --json` and whoever reads it.
 *
 * {"schema": "gradsync.result/1", "command", "environment", "runs": [...], "strategies",
 * "verdict", "exit_code"}.
 * Within a major number of the schema fields are only added. A field is always there; what is not
 * known, not reached or not finite is null. Described in docs/formats.md. */
#ifndef GS_TRACES_RESULT_JSON_H
#define GS_TRACES_RESULT_JSON_H

#include "base/json.h"
#include "base/status.h"
#include "traces/environment.h"
#include "traces/store/store.h"

#include <stdint.h>

#define GS_RESULT_SCHEMA "gradsync.result/1"

/* A document without runs. command: as the user typed it. NULL: no memory. Owner: caller,
 * gs_json_free. */
gs_json *gs_result_json_create(const char *command, const gs_environment *environment);

/* Adds a run; run_id is its id in the store, 0 where it was not stored. A run whose started_utc is
 * NULL keeps its times on the host to itself: the document is the same bytes each time. Errors:
 * GS_EPARSE where params_json is not JSON, GS_ENOMEM; the document is as before then. */
GS_MUST_USE gs_status gs_result_json_add_run(gs_json *document, const gs_stored_run *run,
                                             int64_t run_id, gs_error *err);

/* The last line on the terminal and the exit code, which launchers may hide. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_result_json_finish(gs_json *document, const char *verdict, int exit_code,
                                            gs_error *err);

#endif
