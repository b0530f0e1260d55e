#include "tools/explain_page.h"

#include "tools/explain_words.h"
#include "tools/message.h"
#include "tools/page.h"
#include "tools/scenario_load.h"

#include <math.h>
#include <stdlib.h>

enum { CELL_BYTES = 96 };

/* --- cells ------------------------------------------------------------------------------------ */

static const char *exact_text(double value, char out[GS_UNIT_TEXT_BYTES])
{
    return isfinite(value) ? gs_exact_real(value, out) : "";
}

static void add_shown(gs_table *table, const char *shown, double value)
{
    char exact[GS_UNIT_TEXT_BYTES];
    gs_table_add(table, shown, exact_text(value, exact));
}

static void add_time(gs_table *table, double ns)
{
    char shown[GS_UNIT_TEXT_BYTES];
    add_shown(table, gs_explain_time(ns, shown), ns);
}

static void add_number(gs_table *table, const char *format_text, double value)
{
    char shown[CELL_BYTES] = "-";
    if (isfinite(value)) {
        snprintf(shown, sizeof shown, "%s", format_text);
    }
    add_shown(table, shown, value);
}

static void add_columns(gs_table *table, const gs_table_column *columns, size_t count)
{
    gs_table_init(table);
    for (size_t i = 0; i < count; i++) {
        gs_table_add_column(table, columns[i]);
    }
}

/* --- the waterfall ---------------------------------------------------------------------------- */

static void add_part(gs_table *table, const char *name, const char *key, double added,
                     double removed)
{
    gs_table_add(table, name, key);
    add_time(table, added);
    add_time(table, removed);
    add_time(table, removed - added);
}

static void make_waterfall(const gs_explain *explain, gs_table *table)
{
    static const gs_table_column columns[] = {
        {"from ideal to actual", "part", false},
        {"added alone", "added_ns", true},
        {"taken away", "removed_ns", true},
        {"interaction", "interaction_ns", true},
    };
    add_columns(table, columns, sizeof columns / sizeof *columns);
    add_part(table, "ideal step", "ideal", explain->ideal.mean_ns, explain->ideal.mean_ns);
    for (uint32_t i = 0; i < explain->cause_count; i++) {
        const gs_explain_cause *cause = &explain->causes[i];
        add_part(table, cause->cause->name, cause->cause->key, cause->added_ns, cause->removed_ns);
    }
    if (explain->cause_count > 0) {
        add_part(table, "together", "together", gs_explain_together_ns(explain, true),
                 gs_explain_together_ns(explain, false));
    }
    add_part(table, "step", "step", explain->actual.mean_ns, explain->actual.mean_ns);
}

/* --- changes ---------------------------------------------------------------------------------- */

static void add_gain(gs_table *table, const gs_explain_change *change)
{
    char shown[CELL_BYTES];
    const gs_ratio *gain = &change->gain;
    bool slower = gain->value < 1.0;
    double value = slower ? 1.0 / gain->value : gain->value;
    int used = snprintf(shown, sizeof shown, "%.2fx %s", value,
                        change->tie ? "tie"
                        : slower    ? "slower"
                                    : "faster");
    if (gain->pairs > 1 && used > 0) {
        snprintf(shown + used, sizeof shown - (size_t)used, " [%.2f, %.2f]",
                 slower ? 1.0 / gain->high : gain->low, slower ? 1.0 / gain->low : gain->high);
    }
    add_shown(table, shown, gain->value);
    add_shown(table, "", gain->low);
    add_shown(table, "", gain->high);
}

static void make_changes(const gs_explain *explain, gs_table *table)
{
    static const gs_table_column columns[] = {
        {"change", "change", false},
        {NULL, "what", false},
        {"time per sample", "faster_ratio", true},
        {NULL, "faster_low", true},
        {NULL, "faster_high", true},
        {"today's samples in", "same_samples_ns", true},
        {NULL, "tie", false},
        {"learns", "learns", false},
    };
    add_columns(table, columns, sizeof columns / sizeof *columns);
    for (uint32_t i = 0; i < explain->change_count; i++) {
        const gs_explain_change *change = &explain->changes[i];
        gs_table_add(table, change->change.name, change->change.key);
        gs_table_add(table, change->change.name, NULL);
        add_gain(table, change);
        add_time(table, change->same_ns);
        gs_table_add(table, change->tie ? "true" : "false", NULL);
        gs_table_add(table, change->change.learns, NULL);
    }
}

/* --- scaling ---------------------------------------------------------------------------------- */

static void add_step(gs_table *table, const gs_spread *step)
{
    char mean[GS_UNIT_TEXT_BYTES], half[GS_UNIT_TEXT_BYTES];
    char shown[CELL_BYTES];
    gs_explain_time(step->mean, mean);
    gs_explain_time((step->high - step->low) / 2.0, half);
    snprintf(shown, sizeof shown, step->count > 1 ? "%s +- %s" : "%s", mean, half);
    add_shown(table, shown, step->mean);
    add_shown(table, "", step->low);
    add_shown(table, "", step->high);
}

static void add_money(gs_table *table, const gs_explain_scale *row)
{
    char shown[CELL_BYTES];
    snprintf(shown, sizeof shown, "$%.2f", row->added_usd);
    if (isinf(row->added_usd)) {
        gs_table_add(table, "no more samples", "");
    } else {
        add_number(table, shown, row->added_usd);
    }
}

static void add_scale(gs_table *table, const gs_explain_scale *row, bool has_price)
{
    char shown[CELL_BYTES];
    snprintf(shown, sizeof shown, "%u", row->ranks);
    gs_table_add(table, shown, NULL);
    snprintf(shown, sizeof shown, "%u", row->nodes);
    gs_table_add(table, shown, NULL);
    add_step(table, &row->step);
    snprintf(shown, sizeof shown, row->samples_per_s < 1000.0 ? "%.3g" : "%.0f",
             row->samples_per_s);
    add_number(table, shown, row->samples_per_s);
    snprintf(shown, sizeof shown, "%.0f %%", 100.0 * row->efficiency);
    add_number(table, shown, row->efficiency);
    snprintf(shown, sizeof shown, "%.2f ranks", row->added_rank);
    add_number(table, shown, row->added_rank);
    if (has_price) {
        add_money(table, row);
    }
    gs_table_add(table, row->extrapolated ? "extrapolated" : "",
                 row->extrapolated ? "true" : "false");
}

static void make_scales(const gs_explain *explain, gs_table *table)
{
    static const gs_table_column columns[] = {
        {"ranks", "ranks", true},
        {"nodes", "nodes", true},
        {"step", "step_mean_ns", true},
        {NULL, "step_low_ns", true},
        {NULL, "step_high_ns", true},
        {"samples/s", "samples_per_s", true},
        {"efficiency", "efficiency_ratio", true},
        {"an added rank gives", "added_rank_ratio", true},
    };
    bool has_price = gs_variant_usd_per_hour(explain->base) > 0.0;
    add_columns(table, columns, sizeof columns / sizeof *columns);
    if (has_price) {
        gs_table_add_column(
            table, (gs_table_column){"a million added samples", "added_usd_per_million", true});
    }
    gs_table_add_column(table, (gs_table_column){"", "extrapolated", false});
    for (uint32_t i = 0; i < explain->scale_count; i++) {
        add_scale(table, &explain->scales[i], has_price);
    }
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_table(const gs_explain *explain, const gs_cli *cli,
                        void (*make)(const gs_explain *explain, gs_table *table), FILE *out)
{
    gs_table table;
    make(explain, &table);
    if (table.cell_count > 0) {
        fputc('\n', out);
        gs_table_print(&table, gs_cli_table_format(cli), cli->bold, out);
    }
    gs_table_fini(&table);
}

static void print_owned(char *text, const char *end, FILE *out)
{
    fprintf(out, "%s%s", text, end);
    free(text);
}

static void print_remark(void *context, const char *text)
{
    fprintf(context, "%s\n", text);
}

void gs_explain_print(const gs_explain *explain, const gs_cli *cli, const char *headline,
                      const char *command, FILE *out)
{
    const char *end = cli->flags.markdown ? "\n\n" : "\n";
    fprintf(out, "%s\n", headline);
    gs_scenario_put_details(explain->base, out);
    fputs(cli->flags.markdown ? "\n" : "", out);
    fprintf(out,
            "%s, %lld steps a seed, without its first and last; %llu simulations without numbers%s",
            explain->base->strategies[0].label, (long long)explain->steps,
            (unsigned long long)explain->runs, end);
    print_owned(gs_explain_step_text(explain), end, out);
    print_owned(gs_explain_link_text(explain), "\n", out);
    print_table(explain, cli, make_waterfall, out);
    print_table(explain, cli, make_changes, out);
    print_table(explain, cli, make_scales, out);
    fputc('\n', out);
    gs_explain_remarks(explain, print_remark, out);
    print_owned(gs_explain_even_text(explain), "\n", out);
    fprintf(out, "Reproduce: %s%s%s\n", cli->flags.markdown ? "`" : "", command,
            cli->flags.markdown ? "`" : "");
    const char *key = NULL;
    char *limit = gs_explain_limit_text(explain, &key);
    fprintf(out, "%s%s%s%s\n", cli->flags.markdown ? "\n" : "", cli->bold ? "\033[1m" : "", limit,
            cli->bold ? "\033[0m" : "");
    free(limit);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void need(bool done)
{
    static char something;
    gs_need(done ? &something : NULL);
}

static void set_real(gs_json *object, const char *key, double value)
{
    need(gs_json_set(object, key, isfinite(value) ? gs_json_new_real(value) : gs_json_new_null()));
}

static void set_text(gs_json *object, const char *key, const char *text)
{
    need(gs_json_set(object, key, gs_json_new_text(text)));
}

static void set_owned(gs_json *object, const char *key, char *text)
{
    set_text(object, key, text);
    free(text);
}

static void set_table(gs_json *document, const char *key, const gs_explain *explain,
                      void (*make)(const gs_explain *explain, gs_table *table))
{
    gs_table table;
    make(explain, &table);
    need(gs_json_set(document, key, gs_page_rows(&table)));
    gs_table_fini(&table);
}

static void set_step(gs_json *document, const gs_explain *explain)
{
    const gs_measure *step = &explain->actual;
    gs_json *object = gs_need(gs_json_new_object());
    set_real(object, "mean_ns", step->mean_ns);
    set_real(object, "compute_ns", step->compute_ns);
    set_real(object, "exposed_comm_ns", step->exposed_ns);
    set_real(object, "wait_ns", step->wait_ns);
    set_real(object, "input_ns", step->input_ns);
    set_real(object, "overhead_ns", step->overhead_ns);
    set_real(object, "comm_ns", step->comm_ns);
    set_real(object, "hidden_comm_ns", step->comm_ns - step->exposed_ns);
    set_real(object, "ideal_ns", explain->ideal.mean_ns);
    set_real(object, "efficiency_ratio", explain->ideal.mean_ns / step->mean_ns);
    need(gs_json_set(document, "step", object));
}

static void set_link(gs_json *document, const gs_explain *explain)
{
    const gs_scenario *base = explain->base;
    const gs_link *link = gs_scenario_outer_link(base);
    bool inside = link == &base->cluster.intra;
    double alone = explain->communication.mean_ns;
    double bytes = inside ? explain->actual.rank_bytes : explain->actual.nic_bytes;
    int64_t gradient = gs_scenario_gradient_bytes(base);
    double algorithm = (double)gradient / alone;
    gs_json *object = gs_need(gs_json_new_object());
    set_text(object, "name", inside ? "intra" : "nic");
    set_real(object, "nominal_bps", (double)link->bandwidth_bps);
    set_real(object, "efficiency_ratio", link->efficiency);
    set_real(object, "wire_bytes_per_step", bytes);
    set_real(object, "alone_ns", alone);
    set_real(object, "effective_bps", bytes > 0.0 ? bytes * 8e9 / alone : (double)NAN);
    set_real(object, "algbw_bytes_per_s", bytes > 0.0 ? algorithm * 1e9 : (double)NAN);
    set_real(object, "busbw_bytes_per_s",
             bytes > 0.0 ? algorithm * 1e9 * 2.0 * (base->ranks - 1) / base->ranks : (double)NAN);
    need(gs_json_set(document, "link", object));
}

static void set_even(gs_json *document, const gs_explain *explain)
{
    static const char *const kinds[] = {
        [GS_EVEN_FOUND] = "found",
        [GS_EVEN_ALWAYS] = "always",
        [GS_EVEN_NEVER] = "never",
        [GS_EVEN_UNKNOWN] = "unknown",
    };
    gs_json *object = gs_need(gs_json_new_object());
    const gs_link *link = gs_scenario_outer_link(explain->base);
    bool found = explain->has_even && explain->even == GS_EVEN_FOUND;
    set_text(object, "kind", explain->has_even ? kinds[explain->even] : "none");
    set_real(object, "against_ranks",
             explain->has_even ? (double)explain->unit_ranks : (double)NAN);
    set_real(object, "factor", found ? explain->even_factor : (double)NAN);
    set_real(object, "bandwidth_bps",
             found && link->curve == NULL ? explain->even_factor * (double)link->bandwidth_bps
                                          : (double)NAN);
    need(gs_json_set(document, "break_even", object));
}

static void add_remark(void *context, const char *text)
{
    need(gs_json_add(context, gs_json_new_text(text)));
}

gs_json *gs_explain_document(const gs_explain *explain, const char *command, int exit_code)
{
    gs_json *document = gs_need(gs_json_new_object());
    const char *key = NULL;
    set_text(document, "schema", "gradsync.explain/1");
    set_text(document, "command", command);
    set_text(document, "scenario", explain->base->name);
    set_text(document, "strategy", explain->base->strategies[0].label);
    set_real(document, "seeds", explain->seeds);
    set_real(document, "steps_per_seed", (double)explain->steps);
    set_real(document, "simulations", (double)explain->runs);
    set_owned(document, "answer", gs_explain_limit_text(explain, &key));
    set_text(document, "limit", key);
    set_step(document, explain);
    set_link(document, explain);
    set_table(document, "waterfall", explain, make_waterfall);
    set_table(document, "changes", explain, make_changes);
    set_table(document, "scaling", explain, make_scales);
    set_even(document, explain);
    gs_json *notes = gs_need(gs_json_new_list());
    gs_explain_remarks(explain, add_remark, notes);
    need(gs_json_set(document, "notes", notes));
    set_real(document, "exit_code", exit_code);
    return document;
}
