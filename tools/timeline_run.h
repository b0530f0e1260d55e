/* The timeline of a few steps of a scenario: of its first strategy and first seed. */
#ifndef GS_TOOLS_TIMELINE_RUN_H
#define GS_TOOLS_TIMELINE_RUN_H

#include "tools/scenario_load.h"
#include "traces/timeline.h"

typedef struct gs_window {
    int64_t first, last; /* steps, both in it */
} gs_window;

/* --window, "10..19" or "12"; without it steps 1 to `count`, since DDP makes its buckets anew after
 * step 0. Cut at the end of the run. An exit code; errors are printed. */
int gs_window_of(const gs_cli *cli, const gs_scenario *scenario, int64_t count, gs_window *out);

/* Simulates until every rank has passed the window. An exit code; errors are printed. Owner of
 * *out: caller, gs_timeline_destroy; before the scenario is unloaded. */
int gs_timeline_run(const gs_scenario *scenario, gs_window window, gs_timeline **out);

/* "steps 10 to 19 of allreduce, seed 1". Owner: caller, free(). */
char *gs_timeline_title(const gs_scenario *scenario, const gs_timeline *timeline);

/* Writes it as a trace for Perfetto, and says so. An exit code. */
int gs_timeline_save(const gs_cli *cli, const gs_scenario *scenario, gs_window window);

#endif
