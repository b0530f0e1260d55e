/* The scenario of a stored run, with the run's own strategy. */
#ifndef GS_TOOLS_STORED_CONFIG_H
#define GS_TOOLS_STORED_CONFIG_H

#include "traces/store/store.h"

/* A scenario is stored once, with the strategies of the command that stored it last; others may
 * have had others. As text for gs_scenario_load_text. Errors: GS_EPARSE. Owner of *out: caller,
 * free(). */
GS_MUST_USE gs_status gs_stored_config(const gs_stored_run *run, char **out, gs_error *err);

#endif
