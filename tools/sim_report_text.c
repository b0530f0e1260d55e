/* The texts of sim_report.h: cells of the table, and the answer. */
#include "tools/sim_report.h"

#include "base/units.h"
#include "tools/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 128 };

/* --- cells ------------------------------------------------------------------------------------ */

static const char *exact_text(double value, char out[GS_UNIT_TEXT_BYTES])
{
    return isfinite(value) ? gs_exact_real(value, out) : "";
}

static void add_exact(gs_table *table, double value)
{
    char exact[GS_UNIT_TEXT_BYTES];
    gs_table_add(table, "", exact_text(value, exact));
}

static void add_time(gs_table *table, double value_ns)
{
    char shown[GS_UNIT_TEXT_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (isfinite(value_ns)) {
        gs_format_duration((gs_time_ns)llround(value_ns), shown);
    }
    gs_table_add(table, shown, exact_text(value_ns, exact));
}

static void add_exposed(gs_table *table, const gs_sim_row *row)
{
    char time[GS_UNIT_TEXT_BYTES];
    char shown[CELL_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (isfinite(row->exposed.mean) && row->step.mean > 0.0) {
        snprintf(shown, sizeof shown, "%s (%.0f %%)",
                 gs_format_duration((gs_time_ns)llround(row->exposed.mean), time),
                 100.0 * row->exposed.mean / row->step.mean);
    }
    gs_table_add(table, shown, exact_text(row->exposed.mean, exact));
}

static void add_wire(gs_table *table, const gs_sim_row *row)
{
    char shown[GS_UNIT_TEXT_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (isfinite(row->wire.mean)) {
        gs_format_bytes(llround(row->wire.mean), shown);
    }
    gs_table_add(table, shown, exact_text(row->wire.mean, exact));
}

static void add_rate(gs_table *table, double value)
{
    char shown[GS_UNIT_TEXT_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (isfinite(value)) {
        snprintf(shown, sizeof shown, value < 1000.0 ? "%.3g" : "%.0f", value);
    }
    gs_table_add(table, shown, exact_text(value, exact));
}

/* "1.38x faster [1.35, 1.41]": the larger number first, so that it reads as it is meant. */
static void add_ratio(gs_table *table, const gs_ratio *ratio, bool is_first)
{
    char shown[CELL_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (isfinite(ratio->value)) {
        bool tie = gs_ratio_is_tie(ratio);
        bool slower = ratio->value < 1.0;
        double value = slower && !tie ? 1.0 / ratio->value : ratio->value;
        double low = slower && !tie ? 1.0 / ratio->high : ratio->low;
        double high = slower && !tie ? 1.0 / ratio->low : ratio->high;
        const char *word = is_first ? "" : tie ? "x tie" : slower ? "x slower" : "x faster";
        int used = snprintf(shown, sizeof shown, "%.2f%s", value, word);
        if (ratio->pairs > 1 && !is_first && used > 0) {
            snprintf(shown + used, sizeof shown - (size_t)used, " [%.2f, %.2f]", low, high);
        }
    }
    gs_table_add(table, shown, exact_text(ratio->value, exact));
    add_exact(table, ratio->low);
    add_exact(table, ratio->high);
}

static void add_learning(gs_table *table, const gs_sim_row *row, bool has_target)
{
    char shown[CELL_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (row->accuracy.count > 1) {
        snprintf(shown, sizeof shown, "%.4f +- %.4f", row->accuracy.mean, row->accuracy.sd);
    } else if (row->accuracy.count == 1) {
        snprintf(shown, sizeof shown, "%.4f", row->accuracy.mean);
    }
    gs_table_add(table, shown, exact_text(row->accuracy.mean, exact));
    add_exact(table, row->accuracy.sd);
    if (has_target) {
        add_time(table, row->target_ns);
        snprintf(shown, sizeof shown, "%u/%u", row->reached, row->good);
        snprintf(exact, sizeof exact, "%u", row->reached);
        gs_table_add(table, shown, exact);
    }
}

static void add_columns(gs_table *table, bool learns, bool has_target)
{
    static const gs_table_column timing[] = {
        {"strategy", "strategy", false},
        {NULL, "runs", true},
        {NULL, "good_runs", true},
        {"step mean", "step_mean_ns", true},
        {"p95", "step_p95_ns", true},
        {"exposed comm", "exposed_comm_ns", true},
        {"wait", "wait_ns", true},
        {"wire/step/NIC", "wire_bytes_per_step", true},
        {"samples/s", "samples_per_s", true},
        {"vs first", "faster_than_first_ratio", false},
        {NULL, "faster_than_first_low", true},
        {NULL, "faster_than_first_high", true},
    };
    static const gs_table_column learning[] = {
        {"final accuracy", "final_accuracy", true},
        {NULL, "final_accuracy_sd", true},
        {"time to target", "time_to_target_ns", true},
        {"reached", "reached_runs", true},
    };
    for (size_t i = 0; i < sizeof timing / sizeof *timing; i++) {
        gs_table_add_column(table, timing[i]);
    }
    for (size_t i = 0; i < (learns ? has_target ? 4U : 2U : 0U); i++) {
        gs_table_add_column(table, learning[i]);
    }
}

void gs_sim_report_table(const gs_sim_report *report, gs_table *table)
{
    bool learns = report->scenario->workload.real_gradients;
    bool has_target = report->scenario->workload.target_accuracy > 0.0;
    add_columns(table, learns, has_target);
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        gs_table_add(table, row->label, NULL);
        add_exact(table, row->runs);
        add_exact(table, row->good);
        add_time(table, row->step.mean);
        add_time(table, row->p95.mean);
        add_exposed(table, row);
        add_time(table, row->wait.mean);
        add_wire(table, row);
        add_rate(table, row->rate.mean);
        add_ratio(table, &row->vs_first, s == 0);
        if (learns) {
            add_learning(table, row, has_target);
        }
    }
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Index of the row with the most samples per second, leaving one out; row_count: none. */
static uint32_t fastest(const gs_sim_report *report, uint32_t without)
{
    uint32_t best = report->row_count;
    for (uint32_t s = 0; s < report->row_count; s++) {
        double mean = report->rows[s].rate.mean;
        if (s != without && isfinite(mean) &&
            (best == report->row_count || mean > report->rows[best].rate.mean)) {
            best = s;
        }
    }
    return best;
}

static char *answer_alone(const gs_sim_row *row)
{
    char mean[GS_UNIT_TEXT_BYTES];
    char low[GS_UNIT_TEXT_BYTES];
    char high[GS_UNIT_TEXT_BYTES];
    double share = row->step.mean > 0.0 ? 100.0 * row->exposed.mean / row->step.mean : 0.0;
    gs_format_duration((gs_time_ns)llround(row->step.mean), mean);
    char *sure = NULL;
    if (row->step.count < 2) {
        sure = gs_text("one seed: no interval; --seeds 5 gives one");
    } else if (row->step.sd > 0.0) {
        sure =
            gs_text("95 %% CI %s to %s over %zu seeds",
                    gs_format_duration((gs_time_ns)llround(row->step.low), low),
                    gs_format_duration((gs_time_ns)llround(row->step.high), high), row->step.count);
    } else {
        sure = gs_text("the same for all %zu seeds", row->step.count);
    }
    char *text = gs_text("%s: a step takes %s (%s; lower is better), %.0f %% of it exposed "
                         "communication.",
                         row->label, mean, sure, share);
    free(sure);
    return text;
}

static char *sure_text(const gs_ratio *ratio)
{
    if (ratio->pairs < 2) {
        return gs_text("one seed: no interval; --seeds 5 gives one");
    }
    return gs_text("95 %% CI %.2f to %.2f, %zu seeds", ratio->low, ratio->high, ratio->pairs);
}

/* Sentence about `best` against `other`. */
static char *compare(const gs_sim_row *other, const gs_sim_row *best, bool *out_tie)
{
    gs_ratio ratio = gs_ratio_of(other->sample_ns, best->sample_ns, best->runs);
    *out_tie = isfinite(ratio.value) && gs_ratio_is_tie(&ratio);
    if (!isfinite(ratio.value)) {
        return gs_text("%s trains the most samples per second; %s has no seed in common with it.",
                       best->label, other->label);
    }
    char *sure = sure_text(&ratio);
    char *text = *out_tie
                     ? gs_text("%s and %s tie on samples per second (ratio %.2f; %s): prefer the "
                               "simpler one.",
                               best->label, other->label, ratio.value, sure)
                     : gs_text("%s trains %.2fx as many samples per second as %s (%s).",
                               best->label, ratio.value, other->label, sure);
    free(sure);
    return text;
}

/* Who reaches the target first, where that is not the fastest one: " allreduce is first there,
 * ...". */
static char *first_there_text(const gs_sim_report *report, const gs_sim_row *fastest_row)
{
    const gs_sim_row *first = NULL;
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        if (isfinite(row->target_ns) && (first == NULL || row->target_ns < first->target_ns)) {
            first = row;
        }
    }
    char time[GS_UNIT_TEXT_BYTES];
    if (first == NULL || first == fastest_row) {
        return gs_text("%s", "");
    }
    return gs_text(" %s is first there, after %s (median, %u of %u runs).", first->label,
                   gs_format_duration((gs_time_ns)llround(first->target_ns), time), first->reached,
                   first->good);
}

/* What the fastest one learns meanwhile: " Its final accuracy is ..., ..." */
static char *learning_text(const gs_sim_report *report, const gs_sim_row *row)
{
    const gs_workload *workload = &report->scenario->workload;
    char time[GS_UNIT_TEXT_BYTES];
    if (!workload->real_gradients) {
        return gs_text(" Speed is not accuracy: set workload.real_gradients.");
    }
    char *accuracy = row->accuracy.count > 1
                         ? gs_text("%.4f +- %.4f", row->accuracy.mean, row->accuracy.sd)
                         : gs_text("%.4f", row->accuracy.mean);
    char *target = NULL;
    if (workload->target_accuracy <= 0.0) {
        target = gs_text("%s", "");
    } else if (isfinite(row->target_ns)) {
        target = gs_text(
            "; it reached %g after %s (median, %u of %u runs)", workload->target_accuracy,
            gs_format_duration((gs_time_ns)llround(row->target_ns), time), row->reached, row->good);
    } else {
        target = gs_text("; it reached %g in %u of %u runs", workload->target_accuracy,
                         row->reached, row->good);
    }
    char *first_there = first_there_text(report, row);
    char *text = gs_text(" Its final accuracy is %s%s.%s", accuracy, target, first_there);
    free(accuracy);
    free(target);
    free(first_there);
    return text;
}

char *gs_sim_report_answer(const gs_sim_report *report)
{
    uint32_t best = fastest(report, report->row_count);
    uint32_t next = fastest(report, best);
    if (best == report->row_count) {
        return gs_text("No run ended well: there is nothing to compare.");
    }
    bool tie = false;
    char *text = NULL;
    if (next == report->row_count) {
        text = answer_alone(&report->rows[best]);
    } else {
        text = compare(&report->rows[next], &report->rows[best], &tie);
    }
    if (next != report->row_count && !tie && best != 0 && next != 0 &&
        isfinite(report->rows[0].step.mean)) {
        /* The first of the scenario is what people compare with. */
        free(text);
        text = compare(&report->rows[0], &report->rows[best], &tie);
    }
    char *learning = learning_text(report, &report->rows[best]);
    char *whole = gs_text("%s%s", text, learning);
    free(text);
    free(learning);
    return whole;
}
