/* A figure: its data as CSV, a gnuplot script that draws it, and the picture.
 *
 * For -o f.svg the three are f.svg.csv, f.svg.gp and f.svg; the script runs by hand as well, in the
 * folder of the three. Without a file the picture is drawn in characters on standard output, or is
 * a table where characters cannot show it, and nothing is kept. Without gnuplot in PATH the first
 * two are written. */
#ifndef GS_TOOLS_PLOT_H
#define GS_TOOLS_PLOT_H

#include "tools/cli.h"
#include "traces/scenario/scenario.h"

#include <stdio.h>

typedef struct gs_plot {
    const gs_cli *cli;
    char *data_file, *script_file; /* NULL: a preview */
    const char *file;              /* NULL: a preview on standard output */
    const char *data;              /* how the script names the data: 'f.svg.csv' or $data */
    bool is_told;                  /* set by a figure that has printed what it says instead */
    bool is_in_page;               /* drawn as SVG in memory, for a report */
    bool lies;                     /* its values run from left to right; set by the figure */
    int width, height;             /* pixels; set by the figure before the end */
    FILE *csv, *script;            /* filled by the figure; the script without its head */
    char *csv_text, *script_text, *data_text;
    size_t csv_bytes, script_bytes;
} gs_plot;

/* Refuses an ending other than .svg, .png and .pdf, and a folder that takes no files. An exit code.
 * End with gs_plot_close or gs_plot_drop. */
int gs_plot_open(const gs_cli *cli, gs_plot *out);
/* Writes and draws what the figure holds. An exit code. */
int gs_plot_close(gs_plot *plot);
void gs_plot_drop(gs_plot *plot);
/* Is it drawn in characters? */
bool gs_plot_is_preview(const gs_plot *plot);

/* The same for a report: nothing is written to files. End with gs_plot_take or gs_plot_drop. */
void gs_plot_open_page(const gs_cli *cli, gs_plot *out);
/* *out_svg: NULL where there is no gnuplot, or where it fails, which is said. *out_csv: the data.
 * Owner of both: caller, free(). */
void gs_plot_take(gs_plot *plot, char **out_svg, char **out_csv);

/* A text as gnuplot takes it: quoted, nothing in it is a command. */
void gs_plot_quote(const char *text, FILE *out);
/* A text as a field of CSV. */
void gs_plot_field(const char *text, FILE *out);

/* Colours that people who confuse colours can tell apart (Okabe and Ito 2008), as "#0072B2". Parts
 * of a step have one each on every figure, and so have strategies. */
const char *gs_plot_part_color(int part); /* GS_PART_* */
enum {
    GS_PART_COMPUTE,
    GS_PART_EXPOSED,
    GS_PART_WAIT,
    GS_PART_INPUT,
    GS_PART_OVERHEAD,
    GS_PART_COMM, /* on the wire, hidden or not */
    GS_PART_COUNT
};

/* labels [count], such as "allreduce:bucket=10MiB"; colors [count]: out. The first of each strategy
 * has the strategy's own colour; others get what is left, in their order. */
void gs_plot_strategy_colors(const char *const *labels, size_t count, const char **colors);
enum { GS_PLOT_COLORS = 8 };
const char *gs_plot_color(size_t index); /* for what is no strategy; from 8 on they repeat */

/* Figures: word 0 is the figure, the rest is theirs. An exit code each; errors are printed. */
typedef int (*gs_plot_fill)(const gs_cli *cli, gs_plot *plot);
/* NULL: no such figure. */
gs_plot_fill gs_plot_find(const char *name);
int gs_plot_timeline(const gs_cli *cli, gs_plot *plot);
/* The same of a scenario that is read, by its first strategy and seed. */
int gs_plot_timeline_of(const gs_cli *cli, const gs_scenario *scenario, gs_plot *plot);
int gs_plot_breakdown(const gs_cli *cli, gs_plot *plot);
int gs_plot_cdf(const gs_cli *cli, gs_plot *plot);
int gs_plot_busbw(const gs_cli *cli, gs_plot *plot);
/* plot busbw where a scenario is meant: words are those of show collective. */
int gs_plot_tuning(const gs_cli *cli, gs_plot *plot);
int gs_plot_gradients(const gs_cli *cli, gs_plot *plot);
int gs_plot_predicted(const gs_cli *cli, gs_plot *plot);
int gs_plot_time_to_accuracy(const gs_cli *cli, gs_plot *plot);
int gs_plot_pareto(const gs_cli *cli, gs_plot *plot);
int gs_plot_heatmap(const gs_cli *cli, gs_plot *plot);
int gs_plot_scaling(const gs_cli *cli, gs_plot *plot);
int gs_plot_history(const gs_cli *cli, gs_plot *plot);
int gs_plot_strictness(const gs_cli *cli, gs_plot *plot);

#endif
