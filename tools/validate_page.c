#include "tools/validate_page.h"

#include "base/assert.h"
#include "tools/message.h"
#include "tools/metric_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES = 160, INTERVAL_RUNS = 6 };

/* ---------------------------------------------------------------- words of values */

static const char *unit_of(const gs_judged *what)
{
    uint32_t metric = gs_metric_find(what->name);
    return metric < gs_metric_count() ? gs_metric_at(metric)->unit : "1";
}

static gs_metric_scale scale_of(const gs_judged *what, double value)
{
    return gs_metric_scale_of(unit_of(what), value);
}

/* "41.8 ms [40.9, 42.9]". */
static void put_estimate(const gs_judged *what, const gs_estimate *estimate, char out[CELL_BYTES])
{
    if (isinf(estimate->value)) {
        snprintf(out, CELL_BYTES, "not reached");
        return;
    }
    gs_metric_scale shown = scale_of(what, estimate->value);
    int used = snprintf(out, CELL_BYTES, "%.4g%s", estimate->value / shown.by, shown.unit);
    if (isfinite(estimate->low) && isfinite(estimate->high) && used > 0) {
        snprintf(out + used, CELL_BYTES - (size_t)used, " [%.4g, %.4g]", estimate->low / shown.by,
                 estimate->high / shown.by);
    }
}

static bool is_share(const gs_judged *what)
{
    return strcmp(unit_of(what), "ratio") == 0;
}

char *gs_validate_error_text(const gs_judged *what, double error, char out[64])
{
    double percent = 100.0 * error;
    if (!isfinite(error)) {
        snprintf(out, 64, "-");
    } else if (what->yardstick == GS_YARDSTICK_DIFFERENCE && is_share(what)) {
        snprintf(out, 64, "%+.2f points", percent);
    } else if (what->yardstick == GS_YARDSTICK_DIFFERENCE) {
        snprintf(out, 64, "%+.4g", error);
    } else {
        snprintf(out, 64, "%+.1f %%%s", percent,
                 what->yardstick == GS_YARDSTICK_STEP ? " of the step" : "");
    }
    bool is_nothing = strtod(out, NULL) < 5e-3 && strtod(out, NULL) > -5e-3;
    if (isfinite(error) && is_nothing) {
        memmove(out, out + 1, strlen(out)); /* "0.0 %" has no sign */
    }
    return out;
}

static void put_verdict(const gs_validate_row *row, char out[CELL_BYTES])
{
    const gs_judged *what = row->what;
    bool difference = what->yardstick == GS_YARDSTICK_DIFFERENCE;
    bool is_one = row->tolerance > 0.00995 && row->tolerance < 0.01005;
    const char *unit = !difference ? " %" : !is_share(what) ? "" : is_one ? " point" : " points";
    snprintf(out, CELL_BYTES, "%s %.4g%s%s%s", row->judgement.inside ? "inside" : "OUTSIDE",
             (difference && !is_share(what) ? 1.0 : 100.0) * row->tolerance, unit,
             row->reason[0] == '\0' ? "" : ": ", row->reason);
}

/* ---------------------------------------------------------------- table */

static void add_columns(const gs_validate *validate, gs_table *table)
{
    const gs_table_column columns[] = {
        {validate->scenarios_differ ? "scenario" : NULL, "scenario", false},
        {NULL, "config_hash", false},
        {"strategy", "strategy", false},
        {NULL, "metric", false},
        {NULL, "rank", true},
        {"metric", NULL, false},
        {"predicted [95 %]", "predicted", true},
        {NULL, "predicted_low", true},
        {NULL, "predicted_high", true},
        {NULL, "predicted_count", true},
        {"measured [95 %]", "measured", true},
        {NULL, "measured_low", true},
        {NULL, "measured_high", true},
        {"runs", "measured_count", true},
        {NULL, "unit", false},
        {"error", "error", true},
        {NULL, "yardstick", false},
        {NULL, "tolerance", true},
        {"verdict", "verdict", false},
        {NULL, "blind", true},
        {NULL, "reason", false},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gs_table_add_column(table, columns[i]);
    }
}

static void add_number(gs_table *table, const char *text, double value)
{
    char exact[GS_UNIT_TEXT_BYTES] = "";
    if (isfinite(value)) {
        gs_exact_real(value, exact);
    }
    gs_table_add(table, text, exact);
}

static void add_estimate(gs_table *table, const gs_judged *what, const gs_estimate *estimate)
{
    char text[CELL_BYTES];
    put_estimate(what, estimate, text);
    add_number(table, text, estimate->value);
    add_number(table, "", estimate->low);
    add_number(table, "", estimate->high);
    snprintf(text, sizeof text, "%" PRIu32, estimate->count);
    gs_table_add(table, text, NULL);
}

static void add_row(const gs_validate_pair *pair, const gs_validate_row *row, gs_table *table)
{
    char text[CELL_BYTES];
    gs_table_add(table, pair->scenario, NULL);
    snprintf(text, sizeof text, "%016" PRIx64, pair->of->scenario.config_hash);
    gs_table_add(table, text, NULL);
    gs_table_add(table, pair->label, NULL);
    gs_table_add(table, row->what->name, NULL);
    snprintf(text, sizeof text, "%" PRId32, row->rank);
    gs_table_add(table, text, NULL);
    if (row->rank == GS_ALL_RANKS) {
        gs_table_add(table, row->what->words, NULL);
    } else {
        snprintf(text, sizeof text, "%s, rank %" PRId32, row->what->words, row->rank);
        gs_table_add(table, text, NULL);
    }
    add_estimate(table, row->what, &row->predicted);
    add_estimate(table, row->what, &row->measured);
    gs_table_add(table, unit_of(row->what), NULL);
    char error[64];
    add_number(table, gs_validate_error_text(row->what, row->judgement.error, error),
               row->judgement.error);
    gs_table_add(table, gs_yardstick_text(row->what->yardstick), NULL);
    add_number(table, "", row->tolerance);
    put_verdict(row, text);
    gs_table_add(table, text, row->judgement.inside ? "inside" : "outside");
    gs_table_add(table, pair->blind ? "1" : "0", NULL);
    gs_table_add(table, row->reason, NULL);
}

/* ---------------------------------------------------------------- facts and notes */

/* For programs only: people read it in the sentences. */
static void add_field(gs_page *page, const char *key, gs_json *value)
{
    if (!gs_json_set(page->document, key, value)) {
        gs_need(NULL);
    }
}

static void add_side(gs_page *page, const gs_validate *validate, int side, const char *key,
                     const char *label, const char *what)
{
    char *text =
        gs_text("%s: %" PRIu32 " %s run%s", validate->selectors[side], validate->run_count[side],
                what, validate->run_count[side] == 1 ? "" : "s");
    gs_page_fact(page, key, label, text, gs_json_new_text(validate->selectors[side]));
    free(text);
}

static void add_blind(gs_page *page, const gs_validate *validate)
{
    uint32_t blind = 0;
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        blind += validate->pairs[i].blind ? 1 : 0;
    }
    bool all = blind == validate->pair_count;
    gs_page_fact(page, "blind", "blind",
                 all ? "yes: every prediction was stored before its measurement began"
                     : "NO: see below",
                 gs_json_new_bool(all));
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        const gs_validate_pair *pair = &validate->pairs[i];
        if (pair->blind) {
            continue;
        }
        if (pair->predicted_utc[0] == '\0') {
            gs_page_note(page, "NOT BLIND: %s, %s: its prediction is not in the ledger.",
                         pair->scenario, pair->label);
        } else {
            gs_page_note(page,
                         "NOT BLIND: %s, %s: predicted at %s, after the measurement began at %s.",
                         pair->scenario, pair->label, pair->predicted_utc, pair->measured_utc);
        }
    }
}

static void add_order(gs_page *page, const gs_validate *validate)
{
    char *text =
        validate->ordered == 0 && validate->tied > 0
            ? gs_text("none: where the mean steps of two strategies differ by more than 10 %%, it "
                      "is within their noise")
        : validate->ordered == 0
            ? gs_text(
                  "no two strategies of one scenario differ by more than 10 %% in their mean step")
            : gs_text("right in %" PRIu32 " of %" PRIu32 " pair%s of strategies whose mean step "
                      "differs by more than 10 %%",
                      validate->in_order, validate->ordered, validate->ordered == 1 ? "" : "s");
    gs_page_fact(page, "order", "order", text, gs_json_new_text(text));
    free(text);
    add_field(page, "pairs_ordered", gs_json_new_int(validate->ordered));
    add_field(page, "pairs_in_order", gs_json_new_int(validate->in_order));
}

/* Intervals are missing for a reason that the user can do something about. */
static void add_interval_note(gs_page *page, const gs_validate *validate)
{
    uint32_t fewest = INTERVAL_RUNS;
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        fewest =
            validate->pairs[i].measured_count < fewest ? validate->pairs[i].measured_count : fewest;
    }
    if (fewest < INTERVAL_RUNS) {
        gs_page_note(page,
                     "Values are medians over runs. A 95 %% interval needs %d of them, the fewest "
                     "are %" PRIu32 ": measure again, repeats are kept apart.",
                     INTERVAL_RUNS, fewest);
    }
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

char *gs_validate_answer(const gs_validate *validate)
{
    double *errors = gs_need(calloc((size_t)validate->pair_count + 1, sizeof *errors));
    double worst = 0.0;
    uint32_t count = 0;
    const gs_validate_pair *where = &validate->pairs[0];
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        const gs_validate_row *step = gs_validate_row_of(&validate->pairs[i], "step_mean_ns");
        if (step == NULL) {
            continue;
        }
        where = count == 0 ? &validate->pairs[i] : where;
        errors[count++] = fabs(step->judgement.error);
        if (errors[count - 1] > fabs(worst)) {
            worst = step->judgement.error;
            where = &validate->pairs[i];
        }
    }
    qsort(errors, count, sizeof *errors, by_value);
    char *steps = count == 0 ? gs_text("no step can be compared")
                             : gs_text("mean step: median error %.1f %%, worst %+.1f %% (%s on %s)",
                                       100.0 * gs_quantile_of_sorted(errors, count, 0.5),
                                       100.0 * worst, where->label, where->scenario);
    char *text = gs_text(
        "%" PRIu32 " of %" PRIu32 " predictions are %s; %s%s.",
        validate->outside == 0 ? validate->row_count : validate->outside, validate->row_count,
        validate->outside == 0 ? "inside their tolerance" : "OUTSIDE their tolerance", steps,
        validate->ordered == validate->in_order ? "" : "; the ORDER of strategies is WRONG");
    free(steps);
    free(errors);
    return text;
}

void gs_validate_page(const gs_validate *validate, int exit_code, bool all_ranks, gs_page *page)
{
    page->table_key = "predictions";
    add_side(page, validate, GS_SIDE_PREDICTED, "predicted", "predicted", "simulated");
    add_side(page, validate, GS_SIDE_MEASURED, "measured", "measured", "measured");
    add_blind(page, validate);
    add_order(page, validate);
    add_columns(validate, &page->table);
    uint32_t hidden = 0;
    for (uint32_t i = 0; i < validate->pair_count; i++) {
        const gs_validate_pair *pair = &validate->pairs[i];
        for (uint32_t k = 0; k < pair->row_count; k++) {
            const gs_validate_row *row = &pair->rows[k];
            if (all_ranks || row->rank == GS_ALL_RANKS || !row->judgement.inside) {
                add_row(pair, row, &page->table);
            } else {
                hidden++;
            }
        }
    }
    for (uint32_t i = 0; i < validate->remark_count; i++) {
        gs_page_note(page, "%s", validate->remarks[i]);
    }
    if (hidden > 0) {
        gs_page_note(page,
                     "%" PRIu32 " rows of single ranks are inside and not shown; -v shows "
                     "them.",
                     hidden);
    }
    add_interval_note(page, validate);
    char *answer = gs_validate_answer(validate);
    gs_page_note(page, "%s", answer);
    add_field(page, "verdict",
              gs_json_new_text(exit_code == GS_EXIT_OK        ? "inside"
                               : exit_code == GS_EXIT_OUTSIDE ? "outside"
                                                              : "incomplete"));
    add_field(page, "exit_code", gs_json_new_int(exit_code));
    free(answer);
}
