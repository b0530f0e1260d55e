/* plot scaling and plot strictness: lines over what a sweep has varied: the number of ranks, and
 * how strictly a strategy keeps its ranks together. */
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/stored_set.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL_PIXELS = 250, PANELS = 3 };

/* Mean and ends over the runs of one label at one place of the axis. */
typedef struct spot {
    uint32_t runs;
    double mean, low, high;
} spot;

static void add_value(spot *at, double value)
{
    if (isfinite(value)) {
        double n = (double)++at->runs;
        at->mean += (value - at->mean) / n;
        at->low = at->runs == 1 ? value : fmin(at->low, value);
        at->high = at->runs == 1 ? value : fmax(at->high, value);
    }
}

static const char **colors_of(gs_stored_set *set, const char *const *labels, uint32_t count)
{
    const char **colors = gs_need(gs_arena_take(&set->arena, (size_t)count + 1, sizeof *colors));
    gs_plot_strategy_colors(labels, count, colors);
    return colors;
}

/* ---------------------------------------------------------------- scaling */

/* Rank counts of the good runs, ascending, each once. */
static uint32_t list_ranks(const gs_stored_set *set, int64_t *ranks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        int64_t has = set->runs[i].run.scenario.ranks;
        uint32_t place = 0;
        while (place < count && ranks[place] < has) {
            place++;
        }
        if (set->runs[i].is_good && (place == count || ranks[place] != has)) {
            memmove(&ranks[place + 1], &ranks[place], (count - place) * sizeof *ranks);
            ranks[place] = has;
            count++;
        }
    }
    return count;
}

static spot rate_at(const gs_stored_set *set, uint32_t label, int64_t ranks)
{
    spot at = {0};
    for (uint32_t i = 0; i < set->count; i++) {
        const gs_set_run *run = &set->runs[i];
        if (run->label == label && run->is_good && run->run.scenario.ranks == ranks) {
            add_value(&at, run->run.values[gs_metric_find("samples_per_s")]);
        }
    }
    return at;
}

/* *out_unit: samples/s that a rank gives at the fewest ranks, of the strategy that gives most. */
static void put_rates(gs_plot *plot, const gs_stored_set *set, const int64_t *ranks, uint32_t count,
                      double *out_unit)
{
    *out_unit = 0.0;
    fputs("strategy,label,ranks,samples_per_s,least,most,runs\n", plot->csv);
    for (uint32_t label = 0; label < set->label_count; label++) {
        for (uint32_t i = 0; i < count; i++) {
            spot at = rate_at(set, label, ranks[i]);
            if (at.runs > 0) {
                fprintf(plot->csv, "%" PRIu32 ",", label);
                gs_plot_field(set->labels[label], plot->csv);
                fprintf(plot->csv, ",%" PRId64 ",%.9g,%.9g,%.9g,%" PRIu32 "\n", ranks[i], at.mean,
                        at.low, at.high, at.runs);
                double unit = at.mean / (double)ranks[i];
                *out_unit = i == 0 && unit > *out_unit ? unit : *out_unit;
            }
        }
    }
}

static void fill_scaling(gs_plot *plot, gs_stored_set *set, const int64_t *ranks, uint32_t count,
                         double unit)
{
    const char **colors = colors_of(set, set->labels, set->label_count);
    char *title =
        gs_text("%s: samples per second by the number of ranks", set->runs[0].run.scenario.name);
    FILE *out = plot->script;
    fputs("set title ", out);
    gs_plot_quote(title, out);
    free(title);
    fputs("\nset logscale xy\nset xlabel 'ranks'\nset ylabel 'samples per second'\n"
          "set format y '%.0s%c'\nset xtics (",
          out);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%s%" PRId64, i == 0 ? "" : ", ", ranks[i]);
    }
    fprintf(out, ")\nset xrange [%g:%g]\nplot ", (double)ranks[0] / 1.15,
            (double)ranks[count - 1] * 1.15);
    if (unit > 0.0) {
        fprintf(out, "%.9g * x with lines dt 2 lw 1.5 lc rgb '#7F7F7F' title 'ideal', \\\n     ",
                unit);
    }
    for (uint32_t label = 0; label < set->label_count; label++) {
        fprintf(out,
                "%s%s skip 1 using ($1 == %" PRIu32
                " ? $3 : NaN):4:5:6 with yerrorlines lw 2 pt 7 ps 0.7 lc rgb '%s' title ",
                label == 0 ? "" : ", \\\n     ", plot->data, label, colors[label]);
        gs_plot_quote(set->labels[label], out);
    }
    fputc('\n', out);
}

int gs_plot_scaling(const gs_cli *cli, gs_plot *plot)
{
    gs_stored_set set;
    int code = gs_stored_set_open(cli, "plot scaling", 1, cli->word_count - 1, &set);
    if (code == GS_EXIT_OK) {
        int64_t *ranks = gs_need(gs_arena_take(&set.arena, (size_t)set.count + 1, sizeof *ranks));
        uint32_t count = list_ranks(&set, ranks);
        double unit = 0.0;
        if (count < 2) {
            gs_complain("plot scaling: all runs are of %" PRId64 " ranks; sweep their number, such "
                        "as cluster.nodes.0.count=1,2,4,8",
                        ranks[0]);
            code = GS_EXIT_FAILED;
        } else {
            put_rates(plot, &set, ranks, count, &unit);
            fill_scaling(plot, &set, ranks, count, unit);
        }
    }
    gs_stored_set_close(&set);
    return code;
}

/* ---------------------------------------------------------------- strictness */

/* Its values are numbers that say how far ranks may drift apart: a period, a bound, a share. */
static const gs_swept_key *strict_key(const gs_stored_set *set)
{
    for (uint32_t i = 0; i < set->key_count; i++) {
        const gs_swept_key *key = &set->keys[i];
        if (strncmp(key->key, "strategy.", 9) == 0 && key->is_numeric && key->count > 1) {
            return key;
        }
    }
    return NULL;
}

/* What a panel shows of a run. */
static double panel_value(const gs_set_run *run, int panel, gs_set_measure measure,
                          gs_quality quality)
{
    const double *values = run->run.values;
    double drift = values[gs_metric_find("consensus_distance")];
    switch (panel) {
    case 0:
        return gs_set_learned(&run->run, quality);
    case 1:
        return gs_set_score(measure == GS_SET_LOSS ? GS_SET_SAMPLE_TIME : measure, run) / 1e9;
    default:
        /* Models that are averaged at the end differ by nothing then. */
        return drift > 0.0 ? drift : values[gs_metric_find("staleness_mean")];
    }
}

static const char *panel_title(int panel, gs_set_measure measure, gs_quality quality)
{
    const char *const titles[PANELS] = {gs_quality_words(quality),
                                        measure == GS_SET_TARGET_TIME ? "time to target (s)"
                                                                      : "time per sample (s)",
                                        "drift of ranks"};
    return titles[panel];
}

/* Strategies by name: their label has the parameter that is the axis. */
static uint32_t list_names(gs_stored_set *set, const gs_swept_key *key, const char **names,
                           uint32_t *name_of)
{
    uint32_t count = 0;
    uint32_t place = (uint32_t)(key - set->keys);
    for (uint32_t i = 0; i < set->count; i++) {
        const char *name = set->runs[i].run.strategy.name;
        uint32_t at = 0;
        while (at < count && strcmp(names[at], name) != 0) {
            at++;
        }
        name_of[i] = at;
        if (at == count && set->runs[i].values[place] != GS_NOT_SWEPT) {
            names[count++] = name;
        }
    }
    return count;
}

static void put_panels(gs_plot *plot, const gs_stored_set *set, const gs_swept_key *key,
                       const char *const *names, const uint32_t *name_of, uint32_t count,
                       bool has[PANELS])
{
    double target = 0.0;
    gs_quality quality = gs_set_target(&set->runs[0].run, &target);
    gs_set_measure measure = gs_stored_set_measure(set);
    uint32_t place = (uint32_t)(key - set->keys);
    fputs("panel,what,strategy,name,value,mean,least,most,runs\n", plot->csv);
    for (int panel = 0; panel < PANELS; panel++) {
        for (uint32_t k = 0; k < count * key->count; k++) {
            spot at = {0};
            for (uint32_t i = 0; i < set->count; i++) {
                if (name_of[i] == k / key->count && set->runs[i].is_good &&
                    set->runs[i].values[place] == k % key->count) {
                    add_value(&at, panel_value(&set->runs[i], panel, measure, quality));
                }
            }
            if (at.runs > 0) {
                fprintf(plot->csv, "%d,", panel);
                gs_plot_field(panel_title(panel, measure, quality), plot->csv);
                fprintf(plot->csv, ",%" PRIu32 ",", k / key->count);
                gs_plot_field(names[k / key->count], plot->csv);
                fprintf(plot->csv, ",%.9g,%.9g,%.9g,%.9g,%" PRIu32 "\n",
                        key->numbers[k % key->count], at.mean, at.low, at.high, at.runs);
                has[panel] = true;
            }
        }
    }
}

static void fill_strictness(gs_plot *plot, gs_stored_set *set, const gs_swept_key *key,
                            const char *const *names, uint32_t count, const bool has[PANELS])
{
    const char **colors = colors_of(set, names, count);
    double target = 0.0;
    gs_quality quality = gs_set_target(&set->runs[0].run, &target);
    gs_set_measure measure = gs_stored_set_measure(set);
    FILE *out = plot->script;
    int panels = 0;
    int last = 0;
    for (int i = 0; i < PANELS; i++) {
        panels += has[i] ? 1 : 0;
        last = has[i] ? i : last;
    }
    char *title =
        gs_text("%s: what looser synchronisation costs and saves", set->runs[0].run.scenario.name);
    fprintf(out, "set multiplot layout %d,1 title ", panels);
    gs_plot_quote(title, out);
    free(title);
    fputs("\nset lmargin 12\nset rmargin 26\n", out);
    fputs(key->numbers[0] > 0.0 ? "set logscale x\n" : "", out);
    fputs("set autoscale xfix\nset offsets graph 0.03, graph 0.03, graph 0.05, graph 0.05\n"
          "set xtics (",
          out);
    for (uint32_t i = 0; i < key->count; i++) {
        fputs(i == 0 ? "" : ", ", out);
        gs_plot_quote(key->values[i], out);
        fprintf(out, " %.9g", key->numbers[i]);
    }
    fputs(")\n", out);
    bool is_first = true;
    for (int panel = 0; panel < PANELS; panel++) {
        if (!has[panel]) {
            continue;
        }
        fprintf(out, "set ylabel '%s'\nset xlabel ", panel_title(panel, measure, quality));
        gs_plot_quote(panel == last ? key->key : "", out);
        fputs("\nplot ", out);
        for (uint32_t i = 0; i < count; i++) {
            fprintf(out,
                    "%s%s skip 1 using ($1 == %d && $3 == %" PRIu32
                    " ? $5 : NaN):6:7:8 with yerrorlines lw 2 pt 7 ps 0.7 lc rgb '%s' title ",
                    i == 0 ? "" : ", \\\n     ", plot->data, panel, i, colors[i]);
            gs_plot_quote(is_first ? names[i] : "", out);
        }
        fputc('\n', out);
        is_first = false;
    }
    fputs("unset multiplot\n", out);
    plot->height = 70 + PANEL_PIXELS * panels;
}

int gs_plot_strictness(const gs_cli *cli, gs_plot *plot)
{
    gs_stored_set set;
    int code = gs_stored_set_open(cli, "plot strictness", 1, cli->word_count - 1, &set);
    const gs_swept_key *key = code == GS_EXIT_OK ? strict_key(&set) : NULL;
    if (code == GS_EXIT_OK && key == NULL) {
        gs_complain("plot strictness: no sweep has varied a number of the strategies; sweep one, "
                    "such as strategy.period=1,2,4,8,16 with -s local_sgd");
        code = GS_EXIT_FAILED;
    } else if (code == GS_EXIT_OK) {
        bool has[PANELS] = {false};
        const char **names =
            gs_need(gs_arena_take(&set.arena, (size_t)set.count + 1, sizeof *names));
        uint32_t *name_of =
            gs_need(gs_arena_take(&set.arena, (size_t)set.count + 1, sizeof *name_of));
        uint32_t count = list_names(&set, key, names, name_of);
        put_panels(plot, &set, key, names, name_of, count, has);
        fill_strictness(plot, &set, key, names, count, has);
    }
    gs_stored_set_close(&set);
    return code;
}
