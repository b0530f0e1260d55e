#include "tools/compare/compare_page.h"

#include "tools/message.h"
#include "tools/metric_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- cells */

char *gs_compare_side_text(const gs_compare_row *row, int side, char out[GS_COMPARE_CELL_BYTES])
{
    const char *unit = gs_metric_at(row->metric)->unit;
    char value[GS_METRIC_TEXT_BYTES];
    double shown = side == GS_SIDE_BASE ? row->change.base : row->change.candidate;
    snprintf(out, GS_COMPARE_CELL_BYTES, "%s",
             row->measured ? gs_metric_value_text(unit, shown, value) : "-");
    return out;
}

/* An effect as people read it: percent of the base, or an amount. */
static double shown_effect(const gs_compare_row *row, double effect)
{
    if (row->change.of_ratio) {
        return 100.0 * expm1(effect);
    }
    bool is_share = strcmp(gs_metric_at(row->metric)->unit, "ratio") == 0;
    return (is_share ? 100.0 : 1.0) * effect;
}

/* How many digits after the point tell a change of this size, and its ends, apart. */
static int digits_of(double value, double low, double high)
{
    double width = isfinite(low) && high > low ? fmin(high - low, fabs(value)) : fabs(value);
    int digits = 1;
    while (digits < 6 && width > 0.0 && width < 1.0) {
        width *= 10.0;
        digits++;
    }
    return digits == 6 ? 1 : digits; /* no wider than rounding: nothing to tell apart */
}

/* "+5.2", and "0.0" for what is nothing to so many digits. */
static void put_signed(double value, int digits, char out[GS_UNIT_TEXT_BYTES])
{
    snprintf(out, GS_UNIT_TEXT_BYTES, "%+.*f", digits, value);
    if (strspn(out + 1, "0.") == strlen(out + 1)) {
        memmove(out, out + 1, strlen(out));
    }
}

char *gs_compare_change_text(const gs_compare_row *row, char out[GS_COMPARE_CELL_BYTES])
{
    const gs_change *change = &row->change;
    const char *metric_unit = gs_metric_at(row->metric)->unit;
    if (!row->measured || change->identical) {
        snprintf(out, GS_COMPARE_CELL_BYTES, "%s", row->measured ? "none" : "-");
        return out;
    }
    bool is_share = strcmp(metric_unit, "ratio") == 0;
    bool has_ends = isfinite(change->low) && isfinite(change->high);
    gs_metric_scale scale = {1.0, change->of_ratio ? " %" : " points"};
    if (!change->of_ratio && !is_share) {
        double far = has_ends ? fmax(fabs(change->low), fabs(change->high)) : change->effect;
        scale = gs_metric_scale_of(metric_unit, far);
    }
    double value = shown_effect(row, change->effect) / scale.by;
    double low = shown_effect(row, change->low) / scale.by;
    double high = shown_effect(row, change->high) / scale.by;
    int digits = digits_of(value, low, high);
    char numbers[3][GS_UNIT_TEXT_BYTES];
    put_signed(value, digits, numbers[0]);
    put_signed(low, digits, numbers[1]);
    put_signed(high, digits, numbers[2]);
    if (has_ends) {
        snprintf(out, GS_COMPARE_CELL_BYTES, "%s%s [%s, %s]", numbers[0], scale.unit, numbers[1],
                 numbers[2]);
    } else {
        snprintf(out, GS_COMPARE_CELL_BYTES, "%s%s", numbers[0], scale.unit);
    }
    return out;
}

char *gs_compare_p_text(double p, char out[GS_COMPARE_CELL_BYTES])
{
    if (isnan(p)) {
        snprintf(out, GS_COMPARE_CELL_BYTES, "-");
    } else {
        snprintf(out, GS_COMPARE_CELL_BYTES, "%.2g", p);
    }
    return out;
}

/* ---------------------------------------------------------------- words */

char *gs_compare_side_words(const gs_compare_side *side)
{
    const gs_environment *environment = &side->runs[side->count - 1].run.environment;
    bool why = side->why[0] != '\0';
    return gs_text("%s%s%s%s: %" PRIu32 " run%s, commit %.12s%s", side->selector, why ? " (" : "",
                   side->why, why ? ")" : "", side->count, side->count == 1 ? "" : "s",
                   environment->commit, environment->dirty ? " changed since" : "");
}

char *gs_compare_gate_words(const gs_compare *compare)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    for (uint32_t i = 0; i < compare->gates.count; i++) {
        const gs_gate *gate = &compare->gates.gates[i];
        char name[GS_LIMIT_TEXT_BYTES];
        char limit[GS_LIMIT_TEXT_BYTES];
        bool lower = strcmp(gs_metric_at(gate->metric)->better, "lower") == 0;
        bool by_history = compare->auto_limit && !gate->limit.is_amount;
        fprintf(out, "%s%s %s %s", i == 0 ? "" : ", ", gs_metric_short(gate->metric, name),
                lower ? "<=" : ">=", by_history ? "auto" : gs_gate_limit_text(gate, limit));
    }
    fprintf(out, " (%s)", compare->gates.from);
    fclose(out);
    return gs_need(text);
}

char *gs_compare_difference_words(const gs_compare *compare)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = gs_need(open_memstream(&text, &bytes));
    for (uint32_t i = 0; i < compare->difference_count; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : "; ", compare->differences[i]);
    }
    fputs(compare->difference_count == 0 ? "same" : "", out);
    fclose(out);
    return gs_need(text);
}

/* ---------------------------------------------------------------- table */

static void add_columns(gs_page *page)
{
    static const gs_table_column columns[] = {
        {"verdict", "verdict", false},
        {"scenario / strategy", NULL, false},
        {NULL, "scenario", false},
        {NULL, "strategy", false},
        {"metric", NULL, false},
        {NULL, "metric", false},
        {NULL, "unit", false},
        {NULL, "better", false},
        {"base", "base", true},
        {"candidate", "candidate", true},
        {"change", "ratio", true},
        {NULL, "ratio_low", true},
        {NULL, "ratio_high", true},
        {NULL, "difference", true},
        {NULL, "difference_low", true},
        {NULL, "difference_high", true},
        {"p (Holm)", "p_adjusted", true},
        {NULL, "p_raw", true},
        {"limit", "limit", true},
        {NULL, "min_detectable", true},
        {NULL, "base_runs", true},
        {NULL, "candidate_runs", true},
        {NULL, "base_failed", true},
        {NULL, "candidate_failed", true},
        {NULL, "gated", false},
        {NULL, "exact", false},
        {NULL, "identical", false},
        {"why", "reason", false},
    };
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        gs_table_add_column(&page->table, columns[i]);
    }
}

static void add_number(gs_table *table, const char *text, double value)
{
    char exact[GS_UNIT_TEXT_BYTES];
    gs_table_add(table, text, isfinite(value) ? gs_exact_real(value, exact) : "");
}

static void add_yes(gs_table *table, bool yes)
{
    gs_table_add(table, yes ? "yes" : "no", NULL);
}

static void add_names(gs_table *table, const gs_compare_row *row)
{
    const gs_metric *metric = gs_metric_at(row->metric);
    char name[GS_LIMIT_TEXT_BYTES];
    char *both = gs_text("%s / %s", row->job->scenario, row->job->strategy);
    bool shout = row->word == GS_VERDICT_WORSE && row->gated;
    gs_table_add(table, shout ? "WORSE" : gs_verdict_text(row->word), gs_verdict_text(row->word));
    gs_table_add(table, both, NULL);
    gs_table_add(table, row->job->scenario, NULL);
    gs_table_add(table, row->job->strategy, NULL);
    gs_table_add(table, gs_metric_short(row->metric, name), NULL);
    gs_table_add(table, metric->name, NULL);
    gs_table_add(table, metric->unit, NULL);
    gs_table_add(table, metric->better, NULL);
    free(both);
}

static void add_effects(gs_table *table, const gs_compare_row *row)
{
    const gs_change *change = &row->change;
    char text[GS_COMPARE_CELL_BYTES];
    const double none = (double)NAN;
    bool ratio = row->measured && change->of_ratio;
    bool difference = row->measured && !change->of_ratio;
    add_number(table, gs_compare_change_text(row, text), ratio ? exp(change->effect) : none);
    add_number(table, "", ratio ? exp(change->low) : none);
    add_number(table, "", ratio ? exp(change->high) : none);
    add_number(table, "", difference ? change->effect : none);
    add_number(table, "", difference ? change->low : none);
    add_number(table, "", difference ? change->high : none);
    add_number(table, gs_compare_p_text(row->p_adjusted, text), row->p_adjusted);
    add_number(table, "", row->measured ? change->p : none);
}

/* As ratio and difference are shown: candidate against base. */
static double detectable_of(const gs_compare_row *row)
{
    double effect = (row->change.lower_is_better ? 1.0 : -1.0) * row->judged.detectable;
    return row->change.of_ratio ? exp(effect) : effect;
}

static void add_row(gs_table *table, const gs_compare_row *row)
{
    const gs_compare_job *job = row->job;
    const double none = (double)NAN;
    char text[GS_COMPARE_CELL_BYTES];
    char limit[GS_LIMIT_TEXT_BYTES];
    add_names(table, row);
    add_number(table, gs_compare_side_text(row, GS_SIDE_BASE, text),
               row->measured ? row->change.base : none);
    add_number(table, gs_compare_side_text(row, GS_SIDE_CANDIDATE, text),
               row->measured ? row->change.candidate : none);
    add_effects(table, row);
    add_number(table, row->gated ? gs_gate_limit_text(&row->limit, limit) : "-",
               row->limit.limit.value);
    add_number(table, "", row->measured ? detectable_of(row) : none);
    for (int side = 0; side < GS_SIDES; side++) {
        add_number(table, "", job->counts[side]);
    }
    for (int side = 0; side < GS_SIDES; side++) {
        add_number(table, "", job->failed[side]);
    }
    add_yes(table, row->gated);
    add_yes(table, row->measured && row->change.exact);
    add_yes(table, row->measured && row->change.identical);
    gs_table_add(table, row->reason, NULL);
}

/* ---------------------------------------------------------------- page */

static void fact(gs_page *page, const char *key, const char *label, char *text, gs_json *value)
{
    gs_page_fact(page, key, label, text, value);
    free(text);
}

static void set(gs_json *object, const char *key, gs_json *value)
{
    if (!gs_json_set(object, key, value)) {
        gs_need(NULL);
    }
}

static gs_json *side_json(const gs_compare_side *side)
{
    const gs_environment *environment = &side->runs[side->count - 1].run.environment;
    gs_json *object = gs_need(gs_json_new_object());
    set(object, "selector", gs_json_new_text(side->selector));
    set(object, "chosen_because", gs_json_new_text(side->why));
    set(object, "runs", gs_json_new_int(side->count));
    set(object, "commit", gs_json_new_text(environment->commit));
    set(object, "changed_since", gs_json_new_bool(environment->dirty));
    return object;
}

gs_json *gs_compare_gate_json(const gs_compare *compare)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < compare->gates.count; i++) {
        const gs_gate *gate = &compare->gates.gates[i];
        gs_json *object = gs_need(gs_json_new_object());
        set(object, "metric", gs_json_new_text(gs_metric_at(gate->metric)->name));
        set(object, gate->limit.is_amount ? "amount" : "share",
            gs_json_new_real(gate->limit.value));
        set(object, "from", gs_json_new_text(compare->gates.from));
        if (!gs_json_add(list, object)) {
            gs_need(NULL);
        }
    }
    return list;
}

static gs_json *texts_json(const char *const *texts, uint32_t count)
{
    gs_json *list = gs_need(gs_json_new_list());
    for (uint32_t i = 0; i < count; i++) {
        if (!gs_json_add(list, gs_json_new_text(texts[i]))) {
            gs_need(NULL);
        }
    }
    return list;
}

static void add_fields(const gs_compare *compare, int64_t comparison_id, gs_page *page)
{
    set(page->document, "alpha", gs_json_new_real(compare->alpha));
    set(page->document, "comparison_id",
        comparison_id == 0 ? gs_json_new_null() : gs_json_new_int(comparison_id));
    set(page->document, "verdict", gs_json_new_text(compare->verdict));
    set(page->document, "exit_code", gs_json_new_int(compare->exit_code));
    gs_json *counts = gs_need(gs_json_new_object());
    for (int word = 0; word < GS_VERDICT_COUNT; word++) {
        set(counts, gs_verdict_text((gs_verdict_word)word), gs_json_new_int(compare->counts[word]));
    }
    set(page->document, "counts", counts);
}

/* What more seeds could find, where some could not tell. */
static void note_power(const gs_compare *compare, gs_page *page)
{
    double most = 0.0;
    uint32_t needed = 0;
    for (uint32_t i = 0; i < compare->row_count; i++) {
        const gs_compare_row *row = &compare->rows[i];
        bool told = row->measured && row->gated && row->change.of_ratio;
        double detectable = told ? row->judged.detectable : (double)NAN;
        most = isfinite(detectable) ? fmax(most, detectable) : most;
        needed = told && row->judged.needed > needed ? row->judged.needed : needed;
    }
    if (most > 0.0) {
        gs_page_note(page,
                     "A change for the worse of %.2g %% or more would be found in 80 of 100 such "
                     "comparisons, in every row with an interval.",
                     100.0 * expm1(most));
    }
    if (needed > 0) {
        gs_page_note(page,
                     "%" PRIu32 " rows are tested together at alpha %.3g: with fewer than %" PRIu32
                     " seeds no change can be told from chance (`--seeds %" PRIu32 "`).",
                     compare->tested, compare->alpha, needed, needed);
    }
}

bool gs_compare_is_quiet(const gs_compare_row *row)
{
    return !row->gated && row->measured && row->change.identical;
}

void gs_compare_page(const gs_compare *compare, bool all_rows, int64_t comparison_id, gs_page *page)
{
    page->table_key = "rows";
    const gs_compare_side *base = &compare->sides[GS_SIDE_BASE];
    const gs_compare_side *candidate = &compare->sides[GS_SIDE_CANDIDATE];
    fact(page, "config", "config", gs_compare_difference_words(compare),
         texts_json(compare->differences, compare->difference_count));
    fact(page, "environment", "environment",
         gs_text("%s", compare->environment[0] == '\0' ? "same" : compare->environment), NULL);
    fact(page, "baseline", "baseline", gs_compare_side_words(base), side_json(base));
    fact(page, "candidate", "candidate", gs_compare_side_words(candidate), side_json(candidate));
    fact(page, "gates", "gates", gs_compare_gate_words(compare), gs_compare_gate_json(compare));
    add_columns(page);
    uint32_t hidden = 0;
    for (uint32_t i = 0; i < compare->row_count; i++) {
        const gs_compare_row *row = &compare->rows[i];
        if (gs_compare_is_quiet(row) && !all_rows) {
            hidden++;
        } else {
            add_row(&page->table, row);
        }
    }
    for (uint32_t i = 0; i < compare->remark_count; i++) {
        gs_page_note(page, "%s", compare->remarks[i]);
    }
    if (hidden > 0) {
        gs_page_note(page,
                     "%" PRIu32 " more metrics are the same bit for bit and have no gate; -v shows "
                     "them.",
                     hidden);
    }
    note_power(compare, page);
    char *answer = gs_compare_answer(compare);
    gs_page_note(page, "%s", answer);
    free(answer);
    add_fields(compare, comparison_id, page);
}
