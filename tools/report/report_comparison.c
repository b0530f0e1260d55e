/* A stored comparison on the page: its sentence, a row for each metric, worst first. */
#include "tools/report/report.h"

#include "base/json.h"
#include "tools/compare/compare.h"
#include "tools/message.h"
#include "tools/metric_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static gs_verdict_word word_of(const gs_stored_verdict *row)
{
    for (int word = 0; word < GS_VERDICT_COUNT; word++) {
        if (strcmp(gs_verdict_text((gs_verdict_word)word), row->verdict) == 0) {
            return (gs_verdict_word)word;
        }
    }
    return GS_VERDICT_INVALID; /* the table allows no other */
}

/* Has the metric a gate, or does the row stand for runs that there are none of? */
static bool is_gated(const gs_json_at *gates, const gs_stored_verdict *row)
{
    gs_json_at gate = {0};
    gs_json_at metric = {0};
    const char *name = NULL;
    gs_verdict_word word = word_of(row);
    if (word == GS_VERDICT_MISSING || word == GS_VERDICT_INVALID || word == GS_VERDICT_NEW) {
        return true;
    }
    for (size_t i = 0; gs_json_walk(gates, i, &gate); i++) {
        if (gs_json_find(&gate, "metric", &metric) && gs_json_text(&metric, &name, NULL) == GS_OK &&
            strcmp(name, row->metric) == 0) {
            return true;
        }
    }
    return false;
}

/* Gates as they were stored; value NULL: they cannot be read. Owner: caller, gs_json_free. */
static gs_json_at read_gates(const gs_report *report)
{
    gs_json_at gates = {0};
    const char *json = report->comparison.gate_json;
    if (gs_json_parse(json, strlen(json), "gate_json", &gates, NULL) != GS_OK) {
        gates.value = gs_need(gs_json_new_list());
    }
    return gates;
}

/* "FAIL: 1 worse, ...", as compare has said it. Owner: caller, free(). */
static char *comparison_answer(const gs_report *report)
{
    uint32_t counts[GS_VERDICT_COUNT] = {0};
    gs_json_at gates = read_gates(report);
    for (uint32_t i = 0; i < report->verdict_count; i++) {
        counts[word_of(&report->verdicts[i])] += is_gated(&gates, &report->verdicts[i]) ? 1 : 0;
    }
    gs_json_free(gates.value);
    return gs_compare_words(report->comparison.verdict, counts);
}

static void add_value(gs_table *table, const char *metric, double value)
{
    char text[GS_METRIC_TEXT_BYTES];
    uint32_t index = gs_metric_find(metric);
    const char *unit = index < gs_metric_count() ? gs_metric_at(index)->unit : "";
    gs_table_add(table, gs_metric_value_text(unit, value, text), NULL);
}

static void add_row(gs_table *table, const gs_stored_verdict *row, bool gated, gs_arena *arena)
{
    const char *label =
        gs_need(gs_strategy_stored_label(row->strategy->name, row->strategy->params_json, arena));
    char *change = !isfinite(row->ratio) ? gs_text("-")
                   : !isfinite(row->ratio_lo)
                       ? gs_text("%+.2f %%", 100.0 * (row->ratio - 1.0))
                       : gs_text("%+.2f %% [%+.2f, %+.2f]", 100.0 * (row->ratio - 1.0),
                                 100.0 * (row->ratio_lo - 1.0), 100.0 * (row->ratio_hi - 1.0));
    char *p = isfinite(row->p_adjusted) ? gs_text("%.3g", row->p_adjusted) : gs_text("-");
    char *runs = gs_text("%" PRId64 " / %" PRId64, row->n_base, row->n_cand);
    gs_table_add(table, row->verdict, NULL);
    gs_table_add(table, row->scenario->name, NULL);
    gs_table_add(table, label, NULL);
    gs_table_add(table, row->metric, NULL);
    add_value(table, row->metric, row->base);
    add_value(table, row->metric, row->cand);
    gs_table_add(table, change, NULL);
    gs_table_add(table, p, NULL);
    gs_table_add(table, runs, NULL);
    gs_table_add(table, gated ? "yes" : "no", NULL);
    gs_table_add(table, row->reason, NULL);
    free(change);
    free(p);
    free(runs);
}

static void put_rows(gs_report *report)
{
    static const gs_table_column columns[] = {
        {"verdict", NULL, false},        {"scenario", NULL, false}, {"strategy", NULL, false},
        {"metric", NULL, false},         {"base", NULL, true},      {"candidate", NULL, true},
        {"change, 95 % CI", NULL, true}, {"p (Holm)", NULL, true},  {"runs", NULL, true},
        {"can fail it", NULL, false},    {"why", NULL, false},
    };
    gs_table table;
    gs_json_at gates = read_gates(report);
    gs_table_init(&table);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gs_table_add_column(&table, columns[i]);
    }
    for (int word = 0; word < GS_VERDICT_COUNT; word++) {
        for (uint32_t i = 0; i < report->verdict_count; i++) {
            const gs_stored_verdict *row = &report->verdicts[i];
            if (word_of(row) == (gs_verdict_word)word) {
                add_row(&table, row, is_gated(&gates, row), &report->arena);
            }
        }
    }
    gs_html_table(&table, "Verdicts, the worst first", report->out);
    gs_table_fini(&table);
    gs_json_free(gates.value);
}

void gs_report_comparison(gs_report *report)
{
    FILE *out = report->out;
    const gs_stored_comparison *comparison = &report->comparison;
    char *answer = comparison_answer(report);
    fprintf(out, "<p class=\"verdict %s\">", comparison->verdict);
    gs_html_text(answer, out);
    fputs("</p>\n<p>", out);
    gs_html_printf(out,
                   "%s against %s, compared at %s: %s, alpha %.3g over all rows by %s's "
                   "correction.",
                   comparison->candidate_sel, comparison->baseline_sel, comparison->made_utc,
                   comparison->method, comparison->alpha, comparison->correction);
    fputs("</p>\n", out);
    free(answer);
    put_rows(report);
    gs_html_details("Gates, as JSON", comparison->gate_json, out);
}
