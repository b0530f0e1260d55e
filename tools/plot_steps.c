/* plot breakdown and plot cdf: where a step goes by strategy, and how long steps are. */
#include "tools/message.h"
#include "tools/output.h"
#include "tools/plot.h"
#include "tools/plot_runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 5 };

static void put_title(FILE *out, const char *what, const gs_plot_runs *runs)
{
    char *title = gs_text("%s: %s", runs->title, what);
    fputs("set title ", out);
    gs_plot_quote(title, out);
    fputc('\n', out);
    free(title);
}

/* ---------------------------------------------------------------- breakdown */

static const char *const part_names[PARTS] = {"compute", "exposed communication", "wait for ranks",
                                              "input", "overhead"};

/* Stacked bars of characters cannot be read. */
static int print_breakdown(const gs_cli *cli, const gs_plot_runs *runs, gs_plot *plot)
{
    gs_table table;
    gs_output output;
    gs_table_init(&table);
    gs_table_add_column(&table, (gs_table_column){"strategy", NULL, false});
    gs_table_add_column(&table, (gs_table_column){"step", NULL, true});
    for (int part = 0; part < PARTS; part++) {
        gs_table_add_column(&table, (gs_table_column){part_names[part], NULL, true});
    }
    for (uint32_t i = 0; i < runs->group_count; i++) {
        const gs_plot_group *group = &runs->groups[i];
        double sum = 0.0;
        char unit[GS_UNIT_TEXT_BYTES];
        for (int part = 0; part < PARTS; part++) {
            sum += group->parts_ns[part];
        }
        gs_table_add(&table, group->label, NULL);
        gs_table_add(&table, gs_format_duration(llround(sum), unit), NULL);
        for (int part = 0; part < PARTS; part++) {
            char text[GS_UNIT_TEXT_BYTES + 16];
            snprintf(text, sizeof text, "%s (%.0f %%)",
                     gs_format_duration(llround(group->parts_ns[part]), unit),
                     sum > 0.0 ? 100.0 * group->parts_ns[part] / sum : 0.0);
            gs_table_add(&table, text, NULL);
        }
    }
    int code = gs_output_open(&output, "-");
    if (code == GS_EXIT_OK) {
        fprintf(output.text, "%s: where a step goes, mean over ranks and steps\n\n", runs->title);
        gs_table_print(&table, GS_TABLE_TEXT, cli->bold, output.text);
        code = gs_output_close(&output);
    }
    gs_table_fini(&table);
    plot->is_told = true;
    return code;
}

static void fill_breakdown(const gs_plot_runs *runs, gs_plot *plot)
{
    bool used[PARTS] = {false};
    size_t longest = 0;
    fputs("strategy,compute_ms,exposed_comm_ms,wait_ms,input_ms,overhead_ms,step_ms\n", plot->csv);
    for (uint32_t i = 0; i < runs->group_count; i++) {
        const gs_plot_group *group = &runs->groups[i];
        double sum = 0.0;
        gs_plot_field(group->label, plot->csv);
        for (int part = 0; part < PARTS; part++) {
            fprintf(plot->csv, ",%.6f", group->parts_ns[part] / 1e6);
            used[part] = used[part] || group->parts_ns[part] > 0.0;
            sum += group->parts_ns[part];
        }
        fprintf(plot->csv, ",%.6f\n", sum / 1e6);
        longest = strlen(group->label) > longest ? strlen(group->label) : longest;
    }
    put_title(plot->script, "where a step goes, mean over ranks and steps", runs);
    bool slanted = longest * runs->group_count > 70;
    fprintf(plot->script,
            "set ylabel 'ms per step'\n"
            "set yrange [0:*]\n"
            "set offsets 0, 0, graph 0.08, 0\n"
            "set style data histograms\n"
            "set style histogram rowstacked\n"
            "set style fill solid border rgb '#FFFFFF'\n"
            "set boxwidth 0.6\n"
            "set xrange [-0.6:%g]\n"
            "set xtics scale 0%s\n"
            "plot ",
            (double)runs->group_count - 0.4, slanted ? " rotate by -20" : "");
    for (int part = 0; part < PARTS; part++) {
        if (used[part]) {
            fprintf(plot->script, "%s skip 1 using %d:xtic(1) lc rgb '%s' title '%s', \\\n     ",
                    plot->data, part + 2, gs_plot_part_color(part), part_names[part]);
        }
    }
    fprintf(plot->script,
            "%s skip 1 using 0:7:(sprintf('%%.1f ms', $7)) with labels offset 0,0.7 notitle\n",
            plot->data);
}

int gs_plot_breakdown(const gs_cli *cli, gs_plot *plot)
{
    gs_plot_runs runs;
    int code = gs_plot_runs_find(cli, &runs);
    if (code == GS_EXIT_OK && gs_plot_is_preview(plot)) {
        code = print_breakdown(cli, &runs, plot);
    } else if (code == GS_EXIT_OK) {
        fill_breakdown(&runs, plot);
    }
    gs_plot_runs_fini(&runs);
    return code;
}

/* ---------------------------------------------------------------- cdf */

/* Type 7 of R, as the metrics have it. */
static double quantile(const gs_plot_group *group, double share)
{
    double place = (double)(group->step_count - 1) * share;
    int64_t below = (int64_t)place;
    int64_t above = below + 1 < group->step_count ? below + 1 : below;
    double rest = place - (double)below;
    return group->step_ns[below] + rest * (group->step_ns[above] - group->step_ns[below]);
}

static void fill_cdf(const gs_plot_runs *runs, gs_plot *plot)
{
    static const double marks[] = {0.5, 0.95, 0.99};
    const char **labels = gs_need(calloc(runs->group_count, sizeof *labels));
    const char **colors = gs_need(calloc(runs->group_count, sizeof *colors));
    for (uint32_t i = 0; i < runs->group_count; i++) {
        labels[i] = runs->groups[i].label;
    }
    gs_plot_strategy_colors(labels, runs->group_count, colors);
    put_title(plot->script, "how long steps are, mean over ranks", runs);
    fputs("set xlabel 'ms per step'\n"
          "set ylabel 'share of steps that take no longer'\n"
          "set yrange [0:1.02]\n"
          "set ytics add ('p50' 0.5, 'p95' 0.95)\n"
          "set offsets graph 0.02, graph 0.02, 0, 0\n",
          plot->script);
    fputs("strategy,label,step_ms,share_ratio\n", plot->csv);
    for (uint32_t i = 0; i < runs->group_count; i++) {
        const gs_plot_group *group = &runs->groups[i];
        for (int64_t step = 0; step < group->step_count; step++) {
            fprintf(plot->csv, "%" PRIu32 ",", i);
            gs_plot_field(group->label, plot->csv);
            fprintf(plot->csv, ",%.6f,%.6f\n", group->step_ns[step] / 1e6,
                    (double)(step + 1) / (double)group->step_count);
        }
        for (size_t mark = 0; mark < sizeof marks / sizeof *marks; mark++) {
            fprintf(plot->script, "set label at %.6f,%g '' point pt 7 ps 0.7 lc rgb '%s' front\n",
                    quantile(group, marks[mark]) / 1e6, marks[mark], colors[i]);
        }
    }
    plot->width = 1100;
    fputs("plot ", plot->script);
    for (uint32_t i = 0; i < runs->group_count; i++) {
        const gs_plot_group *group = &runs->groups[i];
        char *title = gs_text("%s", group->label);
        fprintf(plot->script,
                "%s skip 1 using ($1 == %" PRIu32 " ? $3 : NaN):4 with fsteps lw 2 lc rgb '%s' "
                "title ",
                plot->data, i, colors[i]);
        gs_plot_quote(title, plot->script);
        free(title);
        fprintf(plot->script,
                ", \\\n     NaN with points pt 7 ps 0.7 lc rgb '%s' title 'p50 %.1f  p95 %.1f  p99 "
                "%.1f ms'%s",
                colors[i], quantile(group, 0.5) / 1e6, quantile(group, 0.95) / 1e6,
                quantile(group, 0.99) / 1e6, i + 1 < runs->group_count ? ", \\\n     " : "\n");
    }
    free(labels);
    free(colors);
}

static int check_steps(const gs_plot_runs *runs)
{
    for (uint32_t i = 0; i < runs->group_count; i++) {
        if (runs->groups[i].step_count == 0) {
            gs_complain("plot cdf: %s has no step rows; simulate it again", runs->groups[i].label);
            return GS_EXIT_FAILED;
        }
    }
    return GS_EXIT_OK;
}

int gs_plot_cdf(const gs_cli *cli, gs_plot *plot)
{
    gs_plot_runs runs;
    int code = gs_plot_runs_find(cli, &runs);
    code = code == GS_EXIT_OK ? check_steps(&runs) : code;
    if (code == GS_EXIT_OK) {
        fill_cdf(&runs, plot);
    }
    gs_plot_runs_fini(&runs);
    return code;
}
