/* The scenario of stored runs, with their own strategies. */
#ifndef GS_TOOLS_STORED_CONFIG_H
#define GS_TOOLS_STORED_CONFIG_H

#include "traces/store/store.h"

/* A scenario is stored once, with the strategies of the command that stored it last; others may
 * have had others. As text for gs_scenario_load_text. Errors: GS_EPARSE. Owner of *out: caller,
 * free(). */
GS_MUST_USE gs_status gs_stored_config(const gs_stored_run *run, char **out, gs_error *err);

/* The scenario of the first of the runs [count], count >= 1, with the strategies of all of them, in
 * their order. */
GS_MUST_USE gs_status gs_stored_config_of(const gs_stored_run *const *runs, uint32_t count,
                                          char **out, gs_error *err);

#endif
