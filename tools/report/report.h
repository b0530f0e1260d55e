/* A report: what stored runs say, as one HTML page.
 *
 * Runs are parted into jobs: those of one scenario, simulated or measured. Each job says what the
 * command that made its runs has said, by the same function, and shows the figures of `plot`. What
 * has no data is left out with a line that says why. */
#ifndef GS_TOOLS_REPORT_REPORT_H
#define GS_TOOLS_REPORT_REPORT_H

#include "tools/report/report_html.h"
#include "tools/scenario_load.h"
#include "tools/sim_report.h"
#include "tools/stored_set.h"
#include "traces/store/store_compare.h"

/* Jobs that have sections of their own; of a sweep, which has more, the maps speak. */
enum { GS_REPORT_JOBS = 4 };

typedef struct gs_report_job {
    const char *name;           /* of its scenario */
    const gs_stored_run *first; /* its newest run */
    const gs_set_run **runs;    /* [count] */
    uint32_t count;
    const gs_stored_run **strategies; /* [strategy_count] a run of each strategy */
    uint32_t *labels;                 /* [strategy_count] of the set */
    uint32_t strategy_count;
    uint32_t seeds;   /* runs of a strategy at most */
    bool is_measured; /* on real ranks */
    gs_loaded loaded;
    gs_outcome *outcomes; /* [strategy_count * seeds]; records only are owned */
    gs_sim_report sums;
    char *answer; /* NULL: `why` says what cannot be read */
    char *why;
    const char **words; /* [count + 1] the figure, then ids: the words of a command */
} gs_report_job;

typedef struct gs_report {
    const gs_cli *cli;
    FILE *out;
    gs_stored_set set; /* count 0: of a comparison alone */
    gs_report_job *jobs;
    uint32_t job_count;
    bool has_gnuplot;
    unsigned figures;      /* drawn so far */
    int64_t comparison_id; /* 0: none */
    gs_stored_comparison comparison;
    const gs_stored_verdict *verdicts; /* [verdict_count] */
    uint32_t verdict_count;
    gs_arena arena;
} gs_report;

/* Parts the runs of the set into jobs, at most GS_REPORT_JOBS of them ready to be told. */
void gs_report_find_jobs(gs_report *report);
void gs_report_free_jobs(gs_report *report);

/* The whole page. */
void gs_report_page(gs_report *report);
/* Its table and what it was made with. */
void gs_report_comparison(gs_report *report);

#endif
