/* The table of sim_report.h: cells for people, and exact values. */
#include "tools/sim_report.h"

#include "base/units.h"
#include "tools/message.h"

#include <math.h>
#include <stddef.h>
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

enum { DIGITS_MAX = 6 };

char *gs_sim_ratio_text(double value, char out[GS_UNIT_TEXT_BYTES])
{
    int digits = 2;
    do {
        snprintf(out, GS_UNIT_TEXT_BYTES, "%.*f", digits, value);
    } while (strtod(out, NULL) == 1.0 && value != 1.0 && digits++ < DIGITS_MAX);
    return out;
}

void gs_sim_interval_text(double low, double high, char low_text[GS_UNIT_TEXT_BYTES],
                          char high_text[GS_UNIT_TEXT_BYTES])
{
    int digits = 2;
    do {
        snprintf(low_text, GS_UNIT_TEXT_BYTES, "%.*f", digits, low);
        snprintf(high_text, GS_UNIT_TEXT_BYTES, "%.*f", digits, high);
    } while (strcmp(low_text, high_text) == 0 && digits++ < DIGITS_MAX);
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
        const char *word = is_first ? "" : tie ? "x tie" : slower ? "x slower" : "x faster";
        int used = snprintf(shown, sizeof shown, "%s%s", gs_sim_ratio_text(value, exact), word);
        if (ratio->pairs > 1 && !is_first && !ratio->same && used > 0) {
            char low[GS_UNIT_TEXT_BYTES];
            char high[GS_UNIT_TEXT_BYTES];
            gs_sim_interval_text(slower && !tie ? 1.0 / ratio->high : ratio->low,
                                 slower && !tie ? 1.0 / ratio->low : ratio->high, low, high);
            snprintf(shown + used, sizeof shown - (size_t)used, " [%s, %s]", low, high);
        }
    }
    gs_table_add(table, shown, exact_text(ratio->value, exact));
    add_exact(table, ratio->low);
    add_exact(table, ratio->high);
}

static void add_share(gs_table *table, const gs_spread *share)
{
    char shown[CELL_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (isfinite(share->mean)) {
        snprintf(shown, sizeof shown, "%.0f %%", 100.0 * share->mean);
    }
    gs_table_add(table, shown, exact_text(share->mean, exact));
}

/* "12 % [9, 15]" */
static void add_chance(gs_table *table, const gs_chance *chance)
{
    char shown[CELL_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (isfinite(chance->value)) {
        snprintf(shown, sizeof shown, "%.3g %% [%.3g, %.3g]", 100.0 * chance->value,
                 100.0 * chance->low, 100.0 * chance->high);
    }
    gs_table_add(table, shown, exact_text(chance->value, exact));
    add_exact(table, chance->low);
    add_exact(table, chance->high);
}

/* What only programs are told. */
static void add_hidden(gs_table *table, const gs_sim_row *row)
{
    const gs_chance *faster = &row->faster;
    const double values[] = {
        row->p50.mean,         row->p99.mean,         row->exposed_share.mean,
        row->utilisation.mean, row->recovery.mean,    faster->value,
        faster->low,           faster->high,          row->cosine.mean,
        row->error_ratio.mean, row->noise_scale.mean, row->consensus.mean,
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        add_exact(table, values[i]);
    }
}

static void add_learning(gs_table *table, const gs_sim_row *row, bool has_target)
{
    char shown[CELL_BYTES] = "-";
    char exact[GS_UNIT_TEXT_BYTES];
    if (row->learned.count > 1) {
        snprintf(shown, sizeof shown, "%.4f +- %.4f", row->learned.mean, row->learned.sd);
    } else if (row->learned.count == 1) {
        snprintf(shown, sizeof shown, "%.4f", row->learned.mean);
    }
    gs_table_add(table, shown, exact_text(row->learned.mean, exact));
    add_exact(table, row->learned.sd);
    if (has_target) {
        add_time(table, row->target_ns);
        snprintf(shown, sizeof shown, "%u/%u", row->reached, row->good);
        snprintf(exact, sizeof exact, "%u", row->reached);
        gs_table_add(table, shown, exact);
    }
}

/* Is any part of that name above 0? A column of zeros says nothing to people. */
static bool has_part(const gs_sim_report *report, size_t offset)
{
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_spread *part = (const void *)((const char *)&report->rows[s] + offset);
        if (isfinite(part->mean) && part->mean > 0.0) {
            return true;
        }
    }
    return false;
}

static void add_columns(gs_table *table, const gs_table_column *columns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gs_table_add_column(table, columns[i]);
    }
}

/* The mean is over all cards, and servers have their own. */
static const char *wire_title(const gs_scenario *scenario)
{
    for (uint32_t s = 0; s < scenario->strategy_count; s++) {
        if (scenario->servers[s] > 0) {
            return "wire/step/NIC (servers' too)";
        }
    }
    return "wire/step/NIC";
}

static void add_all_columns(gs_table *table, const gs_sim_report *report, bool learns,
                            bool has_target)
{
    const char *input = has_part(report, offsetof(gs_sim_row, input)) ? "input" : NULL;
    const char *staleness =
        has_part(report, offsetof(gs_sim_row, staleness)) ? "staleness (updates)" : NULL;
    const char *overhead = has_part(report, offsetof(gs_sim_row, overhead)) ? "overhead" : NULL;
    const char *dropped =
        has_part(report, offsetof(gs_sim_row, dropped)) ? "dropped samples" : NULL;
    const gs_table_column timing[] = {
        {"strategy", "strategy", false},
        {NULL, "runs", true},
        {NULL, "good_runs", true},
        {"step mean", "step_mean_ns", true},
        {"p95", "step_p95_ns", true},
        {"compute", "compute_ns", true},
        {input, "input_ns", true},
        {"exposed comm", "exposed_comm_ns", true},
        {"overlap", "overlap_efficiency_ratio", true},
        {"wait", "wait_ns", true},
        {overhead, "overhead_ns", true},
        {wire_title(report->scenario), "wire_bytes_per_step", true},
        {"samples/s", "samples_per_s", true},
        {"vs first", "faster_than_first_ratio", false},
        {NULL, "faster_than_first_low", true},
        {NULL, "faster_than_first_high", true},
    };
    const gs_table_column limit[] = {
        {report->limit_title, "step_over_limit_probability", true},
        {NULL, "step_over_limit_low", true},
        {NULL, "step_over_limit_high", true},
    };
    static const char *const sds[GS_QUALITY_COUNT] = {"final_accuracy_sd", "final_loss_sd",
                                                      "final_bits_per_char_sd"};
    gs_quality quality = report->scenario->workload.quality;
    const gs_table_column learning[] = {
        {report->learned_title, gs_quality_metric(quality), true},
        {NULL, sds[quality], true},
        {"median time to target", "time_to_target_ns", true},
        {"reached", "reached_runs", true},
    };
    const gs_table_column hidden[] = {
        {NULL, "step_p50_ns", true},
        {NULL, "step_p99_ns", true},
        {NULL, "exposed_ratio", true},
        {NULL, "utilisation_ratio", true},
        {NULL, "recovery_cost_ns", true},
        {NULL, "faster_than_first_probability", true},
        {NULL, "faster_than_first_probability_low", true},
        {NULL, "faster_than_first_probability_high", true},
        {NULL, "fidelity_cosine_ratio", true},
        {NULL, "fidelity_error_ratio", true},
        {NULL, "noise_scale_samples", true},
        {NULL, "consensus_distance", true},
        {staleness, "staleness_mean", true},
        {dropped, "dropped_samples", true},
    };
    add_columns(table, timing, sizeof timing / sizeof *timing);
    add_columns(table, limit, report->step_limit_ns > 0 ? 3 : 0);
    add_columns(table, learning, learns ? has_target ? 4 : 2 : 0);
    add_columns(table, hidden, sizeof hidden / sizeof *hidden);
}

void gs_sim_report_table(const gs_sim_report *report, gs_table *table)
{
    bool learns = report->scenario->workload.real_gradients;
    bool has_target = report->scenario->workload.target_value > 0.0;
    add_all_columns(table, report, learns, has_target);
    for (uint32_t s = 0; s < report->row_count; s++) {
        const gs_sim_row *row = &report->rows[s];
        gs_table_add(table, row->label, NULL);
        add_exact(table, row->runs);
        add_exact(table, row->good);
        add_time(table, row->step.mean);
        add_time(table, row->p95.mean);
        add_time(table, row->compute.mean);
        add_time(table, row->input.mean);
        add_exposed(table, row);
        add_share(table, &row->overlap);
        add_time(table, row->wait.mean);
        add_time(table, row->overhead.mean);
        add_wire(table, row);
        add_rate(table, row->rate.mean);
        add_ratio(table, &row->vs_first, s == 0);
        if (report->step_limit_ns > 0) {
            add_chance(table, &row->over);
        }
        if (learns) {
            add_learning(table, row, has_target);
        }
        add_hidden(table, row);
        add_rate(table, row->staleness.mean);
        add_rate(table, row->dropped.mean);
    }
}
