/* plot history: a metric over the commands that have stored it, with the band in which its own
 * noise keeps it, and with changes that were accepted. */
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/plot_runs.h"
#include "tools/stored_set.h"
#include "traces/store/store_ack.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS_MAX = 200, SELECTOR_BYTES = 32, COMMIT_BYTES = 8 };

/* Median deviations on each side of the median that noise reaches: what compare --limit auto has.
 */
static const double band_deviations = 3.0;

/* One command: the mean of the metric over its runs of one strategy. */
typedef struct moment {
    bool is_there;
    double value;
    const char *started_utc, *commit;
} moment;

typedef struct history {
    gs_stored_set *set; /* of the runs that the user named */
    uint32_t metric;
    const char *scenario;
    uint64_t config_hash;
    moment *moments; /* [commands * label_count], the oldest command first */
    uint32_t commands;
    const gs_ack *acks; /* [ack_count] of this scenario and metric */
    uint32_t ack_count;
} history;

static uint32_t label_of(const gs_stored_set *set, const gs_stored_run *run, gs_arena *arena)
{
    char *label = gs_plot_run_label(run, arena);
    uint32_t place = 0;
    while (place < set->label_count && strcmp(set->labels[place], label) != 0) {
        place++;
    }
    free(label);
    return place;
}

/* moments [label_count]: of one command; true: one of them is there. */
static gs_status read_command(history *of, const int64_t *ids, uint32_t count, moment *moments,
                              bool *out_any, gs_error *err)
{
    gs_stored_set *set = of->set;
    uint32_t *runs =
        gs_need(gs_arena_take(&set->arena, (size_t)set->label_count + 1, sizeof *runs));
    memset(runs, 0, set->label_count * sizeof *runs);
    *out_any = false;
    for (uint32_t i = 0; i < count; i++) {
        gs_stored_run run;
        GS_TRY(gs_store_read_run(set->store, ids[i], &set->arena, &run, err));
        double value = run.values[of->metric];
        uint32_t label = label_of(set, &run, &set->arena);
        bool is_good = run.status == GS_RUN_OK || run.status == GS_RUN_RECOVERED;
        if (label < set->label_count && is_good && isfinite(value) &&
            run.source == set->runs[0].run.source && run.scenario.config_hash == of->config_hash) {
            moment *at = &moments[label];
            at->value += (value - at->value) / (double)++runs[label];
            at->is_there = true;
            at->started_utc = run.started_utc;
            at->commit = run.environment.commit;
            *out_any = true;
        }
    }
    return GS_OK;
}

/* From the newest command back; then turned round. */
static gs_status read_commands(history *of, gs_error *err)
{
    gs_stored_set *set = of->set;
    size_t labels = set->label_count;
    of->moments = gs_need(gs_arena_take(&set->arena, COMMANDS_MAX * labels, sizeof *of->moments));
    memset(of->moments, 0, COMMANDS_MAX * labels * sizeof *of->moments);
    for (int back = 0; back < COMMANDS_MAX; back++) {
        char selector[SELECTOR_BYTES];
        const int64_t *ids = NULL;
        uint32_t count = 0;
        bool is_any = false;
        gs_error none = {0};
        snprintf(selector, sizeof selector, "@last~%d", back);
        gs_status status =
            gs_store_find_runs(set->store, selector, &set->arena, &ids, &count, &none);
        if (status == GS_ENOTFOUND || status == GS_EINVAL) {
            break;
        }
        if (status != GS_OK) {
            *err = none;
            return status;
        }
        GS_TRY(read_command(of, ids, count, &of->moments[of->commands * labels], &is_any, err));
        of->commands += is_any ? 1 : 0;
    }
    for (uint32_t i = 0; i < of->commands / 2; i++) {
        for (size_t label = 0; label < labels; label++) {
            moment *one = &of->moments[i * labels + label];
            moment *other = &of->moments[(of->commands - 1 - i) * labels + label];
            moment kept = *one;
            *one = *other;
            *other = kept;
        }
    }
    return GS_OK;
}

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a;
    double other = *(const double *)b;
    return (one > other) - (one < other);
}

static double median(double *values, uint32_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return gs_quantile_of_sorted(values, count, 0.5);
}

/* Around the commands before the last, which is the one to be judged. false: too few, or they do
 * not differ. scratch [commands]. */
static bool band_of(const history *of, uint32_t label, double *scratch, double *out_low,
                    double *out_high)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < of->commands; i++) {
        const moment *at = &of->moments[(size_t)i * of->set->label_count + label];
        if (at->is_there) {
            scratch[count++] = at->value;
        }
    }
    if (count < 3) {
        return false;
    }
    double middle = median(scratch, count);
    for (uint32_t i = 0; i < count; i++) {
        scratch[i] = fabs(scratch[i] - middle);
    }
    double deviation = median(scratch, count);
    *out_low = middle - band_deviations * deviation;
    *out_high = middle + band_deviations * deviation;
    return deviation > 0.0;
}

static double scale_of(const gs_metric *metric, const char **out_unit)
{
    bool is_time = strcmp(metric->unit, "ns") == 0;
    *out_unit = is_time ? "ms" : metric->unit;
    return is_time ? 1e-6 : 1.0;
}

static void put_data(const history *of, gs_plot *plot)
{
    const char *unit = NULL;
    double scale = scale_of(gs_metric_at(of->metric), &unit);
    double *scratch =
        gs_need(gs_arena_take(&of->set->arena, (size_t)of->commands + 1, sizeof *scratch));
    fputs("strategy,label,command,started_utc,commit,value,low,high\n", plot->csv);
    for (uint32_t label = 0; label < of->set->label_count; label++) {
        double low = 0.0, high = 0.0;
        bool has_band = band_of(of, label, scratch, &low, &high);
        for (uint32_t i = 0; i < of->commands; i++) {
            const moment *at = &of->moments[(size_t)i * of->set->label_count + label];
            if (at->is_there) {
                fprintf(plot->csv, "%" PRIu32 ",", label);
                gs_plot_field(of->set->labels[label], plot->csv);
                fprintf(plot->csv, ",%" PRIu32 ",%s,%.*s,%.9g,", i + 1, at->started_utc,
                        COMMIT_BYTES - 1, at->commit, at->value * scale);
                if (has_band) {
                    fprintf(plot->csv, "%.9g,%.9g", low * scale, high * scale);
                } else {
                    fputc(',', plot->csv);
                }
                fputc('\n', plot->csv);
            }
        }
    }
}

/* The first command after the ack was made. */
static uint32_t command_of(const history *of, const gs_ack *ack)
{
    for (uint32_t i = 0; i < of->commands; i++) {
        for (uint32_t label = 0; label < of->set->label_count; label++) {
            const moment *at = &of->moments[(size_t)i * of->set->label_count + label];
            if (at->is_there && strcmp(at->started_utc, ack->made_utc) >= 0) {
                return i + 1;
            }
        }
    }
    return of->commands;
}

static void fill(const history *of, gs_plot *plot)
{
    gs_stored_set *set = of->set;
    FILE *out = plot->script;
    const gs_metric *metric = gs_metric_at(of->metric);
    const char *unit = NULL;
    const char **colors =
        gs_need(gs_arena_take(&set->arena, (size_t)set->label_count + 1, sizeof *colors));
    (void)scale_of(metric, &unit);
    gs_plot_strategy_colors(set->labels, set->label_count, colors);
    char *title =
        gs_text("%s: %s by command; bands: 3 median deviations", of->scenario, metric->name);
    fputs("set title ", out);
    gs_plot_quote(title, out);
    free(title);
    fprintf(out,
            "\nset xlabel 'command, the newest last'\nset ylabel '%s'\nset xrange [0.5:%u.5]\n",
            unit, of->commands);
    fputs("set offsets 0, 0, graph 0.08, graph 0.08\nset xtics 1, 1\n", out);
    fputs(of->commands > 20 ? "set xtics autofreq\n" : "", out);
    for (uint32_t i = 0; i < of->ack_count; i++) {
        uint32_t at = command_of(of, &of->acks[i]);
        fprintf(out,
                "set arrow from first %u, graph 0 to first %u, graph 1 nohead dt 3 lc rgb "
                "'#606060'\nset label at first %u, graph 0.97 ",
                at, at, at);
        char *words = gs_text(" accepted: %s", of->acks[i].why);
        gs_plot_quote(words, out);
        fputc('\n', out);
        free(words);
    }
    fputs("plot ", out);
    bool is_first = true;
    for (int lines = gs_plot_is_preview(plot) ? 1 : 0; lines < 2; lines++) {
        for (uint32_t label = 0; label < set->label_count; label++) {
            fprintf(out, "%s%s skip 1 using ($1 == %" PRIu32 " ? $3 : NaN):",
                    is_first ? "" : ", \\\n     ", plot->data, label);
            is_first = false;
            if (lines == 0) {
                fprintf(out,
                        "7:8 with filledcurves fs transparent solid 0.15 noborder lc rgb '%s' "
                        "notitle",
                        colors[label]);
            } else {
                fprintf(out, "6 with linespoints lw 2 pt 7 ps 0.7 lc rgb '%s' title ",
                        colors[label]);
                gs_plot_quote(set->labels[label], out);
            }
        }
    }
    fputc('\n', out);
}

static gs_status read_acks(history *of, gs_error *err)
{
    const gs_ack *all = NULL;
    uint32_t count = 0;
    GS_TRY(gs_store_read_acks(of->set->store, &of->set->arena, &all, &count, err));
    gs_ack *own = gs_need(gs_arena_take(&of->set->arena, (size_t)count + 1, sizeof *own));
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(all[i].scenario, of->scenario) == 0 &&
            gs_metric_find(all[i].metric) == of->metric) {
            own[of->ack_count++] = all[i];
        }
    }
    of->acks = own;
    return GS_OK;
}

int gs_plot_history(const gs_cli *cli, gs_plot *plot)
{
    gs_stored_set set;
    gs_error err = {0};
    size_t words = cli->word_count - 1;
    uint32_t metric = gs_metric_find("step_p50_ns");
    if (words > 1 && gs_metric_find(cli->words[words]) < gs_metric_count()) {
        metric = gs_metric_find(cli->words[words--]);
    }
    int code = gs_stored_set_open(cli, "plot history", 1, words, &set);
    if (code == GS_EXIT_OK) {
        history of = {.set = &set,
                      .metric = metric,
                      .scenario = set.runs[set.count - 1].run.scenario.name,
                      .config_hash = set.runs[set.count - 1].run.scenario.config_hash};
        gs_status status = read_commands(&of, &err);
        status = status == GS_OK ? read_acks(&of, &err) : status;
        if (status != GS_OK) {
            code = gs_complain_error(&err);
        } else if (of.commands < 2) {
            gs_complain(
                "plot history: %s of %s is known from one command only; a history needs two",
                gs_metric_at(metric)->name, of.scenario);
            code = GS_EXIT_FAILED;
        } else {
            put_data(&of, plot);
            fill(&of, plot);
        }
    }
    gs_stored_set_close(&set);
    return code;
}
