/* How far the simulator is off on the run that a profile is a recording of: what to make of its
 * answers to "what if". */
#ifndef GS_TOOLS_RECORDED_STEP_H
#define GS_TOOLS_RECORDED_STEP_H

#include "traces/scenario/scenario.h"

/* One line about a simulated step of so long by that strategy (of the scenario's), or NULL where it
 * is not the one recorded, or the profile is no recording. Owner: caller, free(). */
char *gs_recorded_step_text(const gs_scenario *scenario, uint32_t strategy, double mean_ns);
/* One line where no strategy of the scenario is the one recorded; else NULL. Owner: caller, free().
 */
char *gs_recorded_other_text(const gs_scenario *scenario);

#endif
