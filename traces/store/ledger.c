#include "traces/store/ledger.h"

#include "traces/judge.h"
#include "traces/store/store_parts.h"

#include <math.h>
#include <stdio.h>

/* ---------------------------------------------------------------- predictions */

/* The value of a judged metric; false: the run does not predict it. A target that it does not reach
 * is a prediction too, and NULL in the table. */
static bool value_of(const gs_stored_run *run, const char *name, double *out)
{
    uint32_t metric = gs_metric_find(name);
    if (metric == gs_metric_count() || run->values == NULL) {
        return false;
    }
    bool censored = run->target_censored && metric == gs_metric_find("time_to_target_ns");
    *out = censored ? (double)INFINITY : run->values[metric];
    return !isnan(*out);
}

static gs_status write_values(gs_sql_query *query, const gs_stored_run *run, gs_error *err)
{
    char now[GS_UTC_BYTES];
    gs_sql_bind_text(query, 4, gs_utc_now(now));
    for (uint32_t i = 0; i < gs_judged_count(); i++) {
        double value = 0.0;
        if (!value_of(run, gs_judged_at(i)->name, &value)) {
            continue;
        }
        gs_sql_bind_text(query, 2, gs_judged_at(i)->name);
        gs_sql_bind_real(query, 3, value);
        GS_TRY(gs_sql_done(query, err));
    }
    return GS_OK;
}

gs_status gs_store_write_predictions(gs_store *store, const gs_stored_run *run, int64_t run_id,
                                     gs_error *err)
{
    if (run->source != GS_SOURCE_SIM ||
        (run->status != GS_RUN_OK && run->status != GS_RUN_RECOVERED)) {
        return GS_OK;
    }
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO prediction(run_id, metric, value, predicted_utc) VALUES(?, ?, ?, ?) "
        "ON CONFLICT(run_id, metric) DO UPDATE SET value = excluded.value, "
        "predicted_utc = iif(value IS excluded.value, predicted_utc, excluded.predicted_utc)",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = write_values(&query, run, err);
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_predicted_utc(gs_store *store, int64_t run_id, char out[GS_UTC_BYTES],
                                 gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    out[0] = '\0';
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT iif(total(p.value IS NOT iif(censored, NULL, r.value)) = 0, max(predicted_utc), "
        "NULL) FROM prediction p LEFT JOIN result r USING(run_id, metric) WHERE run_id = ?",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row && gs_sql_text(&query, 0) != NULL) {
        (void)snprintf(out, GS_UTC_BYTES, "%s", gs_sql_text(&query, 0));
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_count_decisions(gs_store *store, int64_t run_id, int64_t *out, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status =
        gs_sql_prepare(&store->sql, "SELECT count(*) FROM decision WHERE run_id = ?", &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        *out = gs_sql_int(&query, 0);
    }
    gs_sql_finish(&query);
    return status;
}

/* ---------------------------------------------------------------- validations */

static void bind_row(gs_sql_query *query, const gs_validation *row)
{
    gs_sql_bind_int(query, 1, row->predicted_run_id);
    gs_sql_bind_int(query, 2, row->measured_run_id);
    gs_sql_bind_text(query, 3, row->name);
    gs_sql_bind_int(query, 4, row->rank);
    gs_sql_bind_int(query, 5, row->predicted_count);
    gs_sql_bind_real(query, 6, row->predicted);
    gs_sql_bind_real(query, 7, row->predicted_low);
    gs_sql_bind_real(query, 8, row->predicted_high);
    gs_sql_bind_text(query, 9, row->predicted_utc);
    gs_sql_bind_int(query, 10, row->measured_count);
    gs_sql_bind_real(query, 11, row->measured);
    gs_sql_bind_real(query, 12, row->measured_low);
    gs_sql_bind_real(query, 13, row->measured_high);
    gs_sql_bind_text(query, 14, row->measured_utc);
    gs_sql_bind_int(query, 15, row->blind ? 1 : 0);
    gs_sql_bind_text(query, 16, row->yardstick);
    gs_sql_bind_real(query, 17, row->error);
    gs_sql_bind_real(query, 18, row->tolerance);
    gs_sql_bind_text(query, 19, row->inside ? "inside" : "outside");
    gs_sql_bind_text(query, 20, row->reason);
}

static gs_status write_rows(gs_store *store, const gs_validation *rows, uint32_t count,
                            gs_error *err)
{
    char now[GS_UTC_BYTES];
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO validation(predicted_run_id, measured_run_id, metric, rank, predicted_count, "
        "predicted, predicted_low, predicted_high, predicted_utc, measured_count, measured, "
        "measured_low, measured_high, measured_utc, blind, yardstick, error, tolerance, verdict, "
        "reason, judged_utc) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT(predicted_run_id, measured_run_id, metric, rank) DO UPDATE SET "
        "predicted_count = excluded.predicted_count, predicted = excluded.predicted, "
        "predicted_low = excluded.predicted_low, predicted_high = excluded.predicted_high, "
        "predicted_utc = excluded.predicted_utc, measured_count = excluded.measured_count, "
        "measured = excluded.measured, measured_low = excluded.measured_low, "
        "measured_high = excluded.measured_high, measured_utc = excluded.measured_utc, "
        "blind = excluded.blind, yardstick = excluded.yardstick, error = excluded.error, "
        "tolerance = excluded.tolerance, verdict = excluded.verdict, reason = excluded.reason, "
        "judged_utc = excluded.judged_utc",
        &query, err);
    (void)gs_utc_now(now);
    for (uint32_t i = 0; status == GS_OK && i < count; i++) {
        bind_row(&query, &rows[i]);
        gs_sql_bind_text(&query, 21, now);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_write_validations(gs_store *store, const gs_validation *rows, uint32_t count,
                                     gs_error *err)
{
    GS_TRY(gs_sql_run(&store->sql, "BEGIN IMMEDIATE", err));
    gs_status status = write_rows(store, rows, count, err);
    if (status == GS_OK) {
        status = gs_sql_run(&store->sql, "COMMIT", err);
    }
    if (status != GS_OK) {
        gs_sql_roll_back(&store->sql);
    }
    return status;
}

static bool take_row(const gs_sql_query *query, gs_arena *arena, gs_validation *out)
{
    bool ok = true;
    *out = (gs_validation){
        .predicted_run_id = gs_sql_int(query, 0),
        .measured_run_id = gs_sql_int(query, 1),
        .name = gs_store_take_text(query, 2, arena, &ok),
        .rank = (int32_t)gs_sql_int(query, 3),
        .predicted_count = gs_sql_int(query, 4),
        .predicted = gs_sql_real(query, 5),
        .predicted_low = gs_sql_real(query, 6),
        .predicted_high = gs_sql_real(query, 7),
        .predicted_utc = gs_store_take_text(query, 8, arena, &ok),
        .measured_count = gs_sql_int(query, 9),
        .measured = gs_sql_real(query, 10),
        .measured_low = gs_sql_real(query, 11),
        .measured_high = gs_sql_real(query, 12),
        .measured_utc = gs_store_take_text(query, 13, arena, &ok),
        .blind = gs_sql_int(query, 14) != 0,
        .yardstick = gs_store_take_text(query, 15, arena, &ok),
        .error = gs_sql_real(query, 16),
        .tolerance = gs_sql_real(query, 17),
        .inside = gs_sql_int(query, 18) != 0,
        .reason = gs_store_take_text(query, 19, arena, &ok),
    };
    return ok;
}

static gs_status read_rows(gs_store *store, gs_arena *arena, gs_validation *rows, int64_t count,
                           int64_t *out_count, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = true;
    int64_t taken = 0;
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT predicted_run_id, measured_run_id, metric, rank, predicted_count, predicted, "
        "predicted_low, predicted_high, predicted_utc, measured_count, measured, measured_low, "
        "measured_high, measured_utc, blind, yardstick, error, tolerance, verdict = 'inside', "
        "reason FROM validation ORDER BY validation_id",
        &query, err);
    while (status == GS_OK && taken < count) {
        status = gs_sql_step(&query, &row, err);
        if (status != GS_OK || !row) {
            break;
        }
        if (!take_row(&query, arena, &rows[taken])) {
            status = gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
        }
        taken++;
    }
    gs_sql_finish(&query);
    *out_count = taken;
    return status;
}

gs_status gs_store_read_validations(gs_store *store, gs_arena *arena,
                                    const gs_validation **out_rows, int64_t *out_count,
                                    gs_error *err)
{
    int64_t count = 0;
    /* One transaction, so that no writer comes between count and rows. */
    GS_TRY(gs_sql_run(&store->sql, "BEGIN", err));
    gs_status status =
        gs_store_query_int(&store->sql, "SELECT count(*) FROM validation", &count, err);
    gs_validation *rows = NULL;
    if (status == GS_OK) {
        rows = GS_TAKE(arena, gs_validation, (size_t)count + 1);
        status = rows == NULL
                     ? gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM))
                     : read_rows(store, arena, rows, count, &count, err);
    }
    gs_sql_roll_back(&store->sql); /* nothing was written */
    if (status == GS_OK) {
        *out_rows = rows;
        *out_count = count;
    }
    return status;
}
