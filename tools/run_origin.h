/* What a run was made by, as a recording keeps it: build, strategy and parameters, scenario; and
 * what of it is another one here. */
#ifndef GS_TOOLS_RUN_ORIGIN_H
#define GS_TOOLS_RUN_ORIGIN_H

#include "traces/scenario/scenario.h"

/* JSON. Owner: caller, free(). */
char *gs_run_origin_text(const gs_scenario *scenario, const gs_strategy_choice *choice);

/* Complains, a line for each that differs from what this program would run: build, parameters, the
 * first values of the scenario. origin NULL, or of another form: says nothing. */
void gs_run_origin_tell(const char *file, const char *origin, const gs_scenario *scenario,
                        const gs_strategy_choice *choice);

#endif
