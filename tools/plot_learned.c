/* plot time-to-accuracy and plot pareto: who learns how fast, and what a longer run buys. */
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/stored_set.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs of one job, and what its target is. */
static int open_job(const gs_cli *cli, const char *what, gs_stored_set *set)
{
    int code = gs_stored_set_open(cli, what, 1, cli->word_count - 1, set);
    if (code == GS_EXIT_OK && !gs_stored_set_is_one_job(set, what)) {
        code = GS_EXIT_USAGE;
    }
    return code;
}

static void put_title(FILE *out, const gs_stored_set *set, const char *what)
{
    char *title = gs_text("%s: %s", set->runs[0].run.scenario.name, what);
    fputs("set title ", out);
    gs_plot_quote(title, out);
    fputc('\n', out);
    free(title);
}

static const char **colors_of(gs_stored_set *set)
{
    const char **colors =
        gs_need(gs_arena_take(&set->arena, (size_t)set->label_count + 1, sizeof *colors));
    gs_plot_strategy_colors(set->labels, set->label_count, colors);
    return colors;
}

/* ---------------------------------------------------------------- time to accuracy */

/* One evaluation over the runs of a strategy that have it. */
typedef struct evaluation {
    int64_t step;
    double time_s, samples; /* means */
    double mean, low, high; /* of what is learned; low and high: the worst and the best run */
    uint32_t runs;
} evaluation;

typedef struct learning {
    evaluation *at; /* [count] by step */
    uint32_t count;
} learning;

static void add_evaluation(evaluation *at, const gs_curve_row *row, double value)
{
    double n = (double)++at->runs;
    at->step = row->step;
    at->time_s += ((double)row->time_ns / 1e9 - at->time_s) / n;
    at->samples += ((double)row->samples - at->samples) / n;
    at->mean += (value - at->mean) / n;
    at->low = at->runs == 1 ? value : fmin(at->low, value);
    at->high = at->runs == 1 ? value : fmax(at->high, value);
}

/* Evaluations of runs of one strategy come after the same numbers of steps; where one of them ends
 * early, the mean is over those that go on. */
static gs_status read_learning(gs_stored_set *set, uint32_t label, gs_quality quality,
                               learning *out, gs_error *err)
{
    *out = (learning){0};
    for (uint32_t i = 0; i < set->count; i++) {
        const gs_curve_row *rows = NULL;
        int64_t count = 0;
        if (set->runs[i].label != label || !set->runs[i].is_good) {
            continue;
        }
        GS_TRY(gs_store_read_curve(set->store, set->runs[i].id, &set->arena, &rows, &count, err));
        if (count > out->count) {
            evaluation *longer = gs_need(gs_arena_take(&set->arena, (size_t)count, sizeof *longer));
            memset(longer, 0, (size_t)count * sizeof *longer);
            if (out->count > 0) {
                memcpy(longer, out->at, out->count * sizeof *longer);
            }
            out->at = longer;
            out->count = (uint32_t)count;
        }
        for (int64_t row = 0; row < count; row++) {
            double value = gs_quality_of(quality, &rows[row]);
            if (isfinite(value)) {
                add_evaluation(&out->at[row], &rows[row], value);
            }
        }
    }
    return GS_OK;
}

static uint32_t put_learning(gs_plot *plot, const gs_stored_set *set, const learning *all)
{
    uint32_t rows = 0;
    fputs("strategy,label,step,time_s,samples,mean,worst,best,runs\n", plot->csv);
    for (uint32_t label = 0; label < set->label_count; label++) {
        for (uint32_t i = 0; i < all[label].count; i++) {
            const evaluation *at = &all[label].at[i];
            if (at->runs > 0) {
                fprintf(plot->csv, "%" PRIu32 ",", label);
                gs_plot_field(set->labels[label], plot->csv);
                fprintf(plot->csv, ",%" PRId64 ",%.9f,%.1f,%.9g,%.9g,%.9g,%" PRIu32 "\n", at->step,
                        at->time_s, at->samples, at->mean, at->low, at->high, at->runs);
                rows++;
            }
        }
    }
    return rows;
}

/* Where what is learned is enough; SVG has no dashes for arrows. */
static void put_target(FILE *out, double target)
{
    if (target > 0.0) {
        fprintf(out, "%.9g with lines dt 2 lw 1.5 lc rgb '#606060' notitle, \\\n     ", target);
    }
}

/* Bands first, so that no band hides a line. */
static void put_panel(gs_plot *plot, const gs_stored_set *set, const learning *all,
                      const char **colors, int column, double target)
{
    bool is_first = true;
    bool has_key = column == 4; /* one of two panels */
    fputs("plot ", plot->script);
    put_target(plot->script, target);
    for (int lines = gs_plot_is_preview(plot) ? 1 : 0; lines < 2; lines++) {
        for (uint32_t i = 0; i < set->label_count; i++) {
            if (all[i].count == 0) {
                continue;
            }
            fprintf(plot->script, "%s%s skip 1 using ($1 == %" PRIu32 " ? $%d : NaN):",
                    is_first ? "" : ", \\\n     ", plot->data, i, column);
            is_first = false;
            if (lines == 0) {
                fprintf(plot->script,
                        "7:8 with filledcurves fs transparent solid 0.18 noborder lc rgb '%s' "
                        "notitle",
                        colors[i]);
                continue;
            }
            fprintf(plot->script, "6 with %s lw 2 pt 7 ps 0.5 lc rgb '%s' %s",
                    gs_plot_is_preview(plot) ? "points" : "linespoints", colors[i],
                    has_key ? "title " : "notitle");
            if (has_key) {
                gs_plot_quote(set->labels[i], plot->script);
            }
        }
    }
    fputc('\n', plot->script);
}

static void fill_learning(gs_plot *plot, gs_stored_set *set, const learning *all,
                          gs_quality quality, double target)
{
    const char **colors = colors_of(set);
    FILE *out = plot->script;
    fprintf(out, "set ylabel '%s'\n", gs_quality_words(quality));
    if (gs_plot_is_preview(plot)) {
        put_title(out, set, "what is learned, by time");
        fputs("set xlabel 'time of the run, s'\n", out);
        put_panel(plot, set, all, colors, 4, target);
        return;
    }
    char *title =
        gs_text("%s: what is learned; bands: worst and best run%s", set->runs[0].run.scenario.name,
                target > 0.0 ? "; dashed: the target" : "");
    fputs("set multiplot layout 1,2 title ", out);
    gs_plot_quote(title, out);
    free(title);
    fputs("\nset lmargin 9\nset rmargin 2\nset bmargin 7\n"
          "set key at screen 0.5, 0.09 center center horizontal maxrows 3\n"
          "set xlabel 'time of the run, s'\n",
          out);
    put_panel(plot, set, all, colors, 4, target);
    fputs("set xlabel 'samples of all ranks'\nset ylabel ''\nset format x '%.1s%c'\n", out);
    put_panel(plot, set, all, colors, 5, target);
    fputs("unset multiplot\n", out);
    plot->width = 1100;
    plot->height = 520;
}

int gs_plot_time_to_accuracy(const gs_cli *cli, gs_plot *plot)
{
    gs_stored_set set;
    gs_error err = {0};
    double target = 0.0;
    int code = open_job(cli, "plot time-to-accuracy", &set);
    if (code == GS_EXIT_OK) {
        gs_quality quality = gs_set_target(&set.runs[0].run, &target);
        learning *all =
            gs_need(gs_arena_take(&set.arena, (size_t)set.label_count + 1, sizeof *all));
        gs_status status = GS_OK;
        for (uint32_t i = 0; status == GS_OK && i < set.label_count; i++) {
            status = read_learning(&set, i, quality, &all[i], &err);
        }
        if (status != GS_OK) {
            code = gs_complain_error(&err);
        } else if (put_learning(plot, &set, all) == 0) {
            gs_complain("plot time-to-accuracy: nothing was learned in these runs; set "
                        "workload.real_gradients=true and workload.target.value");
            code = GS_EXIT_FAILED;
        } else {
            fill_learning(plot, &set, all, quality, target);
        }
    }
    gs_stored_set_close(&set);
    return code;
}

/* ---------------------------------------------------------------- pareto */

/* A strategy over its runs. */
typedef struct trade {
    uint32_t label, runs;
    double time_s, time_low, time_high;
    double learned, learned_low, learned_high; /* ends: the least and the largest of the runs */
    bool is_dominated;
} trade;

static void add_trade(trade *of, double time_s, double learned)
{
    double n = (double)++of->runs;
    of->time_s += (time_s - of->time_s) / n;
    of->learned += (learned - of->learned) / n;
    of->time_low = of->runs == 1 ? time_s : fmin(of->time_low, time_s);
    of->time_high = of->runs == 1 ? time_s : fmax(of->time_high, time_s);
    of->learned_low = of->runs == 1 ? learned : fmin(of->learned_low, learned);
    of->learned_high = of->runs == 1 ? learned : fmax(of->learned_high, learned);
}

/* Another one is no slower and learns no less, and is better in one of the two. */
static void mark_dominated(trade *all, uint32_t count, bool more_is_better)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++) {
            double gain = (all[k].learned - all[i].learned) * (more_is_better ? 1.0 : -1.0);
            all[i].is_dominated =
                all[i].is_dominated || (all[k].time_s <= all[i].time_s && gain >= 0.0 &&
                                        (all[k].time_s < all[i].time_s || gain > 0.0));
        }
    }
}

static uint32_t list_trades(const gs_stored_set *set, gs_quality quality, trade *out)
{
    uint32_t count = 0;
    for (uint32_t label = 0; label < set->label_count; label++) {
        trade one = {.label = label};
        for (uint32_t i = 0; i < set->count; i++) {
            const gs_set_run *run = &set->runs[i];
            double learned = gs_set_learned(&run->run, quality);
            double time_ns = run->run.values[gs_metric_find("run_ns")];
            if (run->label == label && run->is_good && isfinite(learned) && isfinite(time_ns)) {
                add_trade(&one, time_ns / 1e9, learned);
            }
        }
        if (one.runs > 0) {
            out[count++] = one;
        }
    }
    return count;
}

static void put_trades(gs_plot *plot, const gs_stored_set *set, const trade *all, uint32_t count)
{
    fputs("strategy,label,time_s,time_least_s,time_most_s,learned,learned_least,learned_most,runs,"
          "dominated\n",
          plot->csv);
    for (uint32_t i = 0; i < count; i++) {
        const trade *one = &all[i];
        fprintf(plot->csv, "%" PRIu32 ",", i);
        gs_plot_field(set->labels[one->label], plot->csv);
        fprintf(plot->csv, ",%.9f,%.9f,%.9f,%.9g,%.9g,%.9g,%" PRIu32 ",%d\n", one->time_s,
                one->time_low, one->time_high, one->learned, one->learned_low, one->learned_high,
                one->runs, one->is_dominated ? 1 : 0);
    }
}

static void fill_trades(gs_plot *plot, gs_stored_set *set, const trade *all, uint32_t count,
                        double target)
{
    const char **colors = colors_of(set);
    FILE *out = plot->script;
    put_title(out, set,
              "time of the run against what is learned; grey: another is no worse in both");
    fputs("set xlabel 'time of the run for its budget of samples, s'\n"
          "set offsets graph 0.06, graph 0.06, graph 0.08, graph 0.08\n",
          out);
    fputs("plot ", out);
    put_target(out, target);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out,
                "%s%s skip 1 using ($1 == %" PRIu32
                " ? $3 : NaN):6:4:5:7:8 with xyerrorbars pt %d ps 1.3 lw 1.5 lc rgb '%s' title ",
                i == 0 ? "" : ", \\\n     ", plot->data, i, all[i].is_dominated ? 6 : 7,
                all[i].is_dominated ? "#9A9A9A" : colors[all[i].label]);
        gs_plot_quote(set->labels[all[i].label], out);
    }
    fputc('\n', out);
    plot->height = 520;
    plot->width = 1100;
}

int gs_plot_pareto(const gs_cli *cli, gs_plot *plot)
{
    gs_stored_set set;
    double target = 0.0;
    int code = open_job(cli, "plot pareto", &set);
    if (code == GS_EXIT_OK) {
        gs_quality quality = gs_set_target(&set.runs[0].run, &target);
        trade *all = gs_need(gs_arena_take(&set.arena, (size_t)set.label_count + 1, sizeof *all));
        uint32_t count = list_trades(&set, quality, all);
        if (count == 0) {
            gs_complain("plot pareto: nothing was learned in these runs; set "
                        "workload.real_gradients=true");
            code = GS_EXIT_FAILED;
        } else {
            mark_dominated(all, count, quality == GS_ACCURACY);
            put_trades(plot, &set, all, count);
            fprintf(plot->script, "set ylabel 'final %s'\n", gs_quality_words(quality));
            fill_trades(plot, &set, all, count, target);
        }
    }
    gs_stored_set_close(&set);
    return code;
}
