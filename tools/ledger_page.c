#include "tools/ledger_page.h"

#include "tools/message.h"
#include "tools/validate_page.h"
#include "traces/judge.h"
#include "traces/store/ledger.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = 10 };

/* Judgements of one metric, of whole jobs: ranks of a job are no predictions of their own. */
typedef struct metric_record {
    const gs_judged *what;
    uint32_t judged, inside, blind;
    double *errors; /* [count] the finite ones, oldest first */
    uint32_t count;
} metric_record;

static void gather(const gs_judged *what, const gs_validation *rows, int64_t count,
                   metric_record *out)
{
    *out =
        (metric_record){.what = what, .errors = gs_need(calloc((size_t)count + 1, sizeof(double)))};
    for (int64_t i = 0; i < count; i++) {
        if (rows[i].rank != GS_ALL_RANKS || strcmp(rows[i].name, what->name) != 0) {
            continue;
        }
        out->judged++;
        out->inside += rows[i].inside ? 1 : 0;
        out->blind += rows[i].blind ? 1 : 0;
        if (isfinite(rows[i].error)) {
            out->errors[out->count++] = rows[i].error;
        }
    }
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Quantile of the sizes of errors [count]; NAN: none. */
static double quantile(const double *errors, uint32_t count, double p)
{
    if (count == 0) {
        return (double)NAN;
    }
    double *sizes = gs_need(calloc(count, sizeof *sizes));
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = fabs(errors[i]);
    }
    qsort(sizes, count, sizeof *sizes, by_size);
    double value = gs_quantile_of_sorted(sizes, count, p);
    free(sizes);
    return value;
}

static double mean(const double *errors, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += errors[i];
    }
    return count == 0 ? (double)NAN : sum / count;
}

static void add_count(gs_table *table, uint32_t count)
{
    char text[GS_UNIT_TEXT_BYTES];
    snprintf(text, sizeof text, "%" PRIu32, count);
    gs_table_add(table, text, NULL);
}

static void add_error(gs_table *table, const gs_judged *what, double error, bool has_sign)
{
    char text[64];
    char exact[GS_UNIT_TEXT_BYTES] = "";
    gs_validate_error_text(what, error, text);
    if (isfinite(error)) {
        gs_exact_real(error, exact);
    }
    gs_table_add(table, has_sign || text[0] != '+' ? text : text + 1, exact);
}

static void add_row(gs_table *table, const metric_record *record)
{
    uint32_t last = record->count < LAST ? record->count : LAST;
    gs_table_add(table, record->what->words, record->what->name);
    add_count(table, record->judged);
    add_count(table, record->inside);
    add_count(table, record->judged - record->inside);
    add_count(table, record->blind);
    add_error(table, record->what, quantile(record->errors, record->count, 0.5), false);
    add_error(table, record->what, quantile(record->errors, record->count, 0.9), false);
    add_error(table, record->what, mean(record->errors, record->count), true);
    add_error(table, record->what, quantile(record->errors + record->count - last, last, 0.5),
              false);
}

static void add_columns(gs_table *table)
{
    static const gs_table_column columns[] = {
        {"prediction", "metric", false},
        {"judged", "judged", true},
        {"inside", "inside", true},
        {"outside", "outside", true},
        {"blind", "blind", true},
        {"median error", "error_median", true},
        {"p90", "error_p90", true},
        {"mean, with sign", "bias", true},
        {"last 10", "error_median_last", true},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        gs_table_add_column(table, columns[i]);
    }
}

gs_status gs_ledger_page_add(gs_page *page, const gs_cli *cli, gs_store *store, gs_error *err)
{
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_validation *rows = NULL;
    int64_t count = 0;
    gs_status status = gs_store_read_validations(store, &arena, &rows, &count, err);
    if (status != GS_OK) {
        gs_arena_fini(&arena);
        return status;
    }
    uint32_t judged = 0;
    uint32_t inside = 0;
    bool shown = !cli->flags.csv; /* there the facts are the table */
    page->table_key = shown ? "predictions" : NULL;
    if (shown) {
        add_columns(&page->table);
    }
    for (uint32_t i = 0; i < gs_judged_count(); i++) {
        metric_record record;
        gather(gs_judged_at(i), rows, count, &record);
        judged += record.judged;
        inside += record.inside;
        if (shown && record.judged > 0) {
            add_row(&page->table, &record);
        }
        free(record.errors);
    }
    char *text = judged == 0 ? gs_text("none judged yet; gradsync validate does")
                             : gs_text("%" PRIu32 " judged, %" PRIu32 " of them inside their "
                                       "tolerance",
                                       judged, inside);
    gs_page_fact(page, "predictions_judged", "predictions", text, gs_json_new_int(judged));
    free(text);
    gs_arena_fini(&arena);
    return GS_OK;
}
