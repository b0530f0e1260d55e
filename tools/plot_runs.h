/* Runs that a figure is made of: stored ones by name, or those of a scenario, simulated now. */
#ifndef GS_TOOLS_PLOT_RUNS_H
#define GS_TOOLS_PLOT_RUNS_H

#include "base/arena.h"
#include "tools/cli.h"
#include "traces/store/store.h"
#include "traces/record.h"

#include <stdint.h>

/* A strategy over its seeds; runs that did not end well are left out. */
typedef struct gs_plot_group {
    const char *label;  /* "allreduce:bucket=10MiB" */
    uint32_t runs;      /* >= 1 */
    double parts_ns[5]; /* GS_PART_COMPUTE to GS_PART_OVERHEAD, mean over runs */
    double *step_ns;    /* every step of every run, mean over its ranks; ascending */
    int64_t step_count;
} gs_plot_group;

typedef struct gs_plot_runs {
    gs_arena arena;
    const char *title; /* "demo-ethernet, 3 seeds each"; of live runs "3 runs each" */
    bool is_measured;
    gs_plot_group *groups; /* [group_count] in order of first appearance */
    uint32_t group_count;  /* >= 1 */
} gs_plot_runs;

/* A run's strategy as a user would write it: its name, and the parameters that are not as by
 * default. Free it; arena: scratch. */
char *gs_plot_run_label(const gs_stored_run *run, gs_arena *arena);

/* Word 1 is a run (an id, @last, a label) or a scenario, which words after it change. An exit code;
 * errors are printed. End with gs_plot_runs_fini, also after errors. */
int gs_plot_runs_find(const gs_cli *cli, gs_plot_runs *out);
void gs_plot_runs_fini(gs_plot_runs *runs);

/* Whether word 1 names a stored run rather than a scenario. */
bool gs_plot_names_run(const gs_cli *cli);

#endif
