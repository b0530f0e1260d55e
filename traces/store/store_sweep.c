#include "traces/store/store_sweep.h"

#include "traces/store/store_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

gs_status gs_store_write_place(gs_store *store, int64_t run_id, const gs_stored_place *place,
                               gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO sweep_point(sweep_key, point, run_id, overrides_json, rung, pruned, own_json) "
        "VALUES(?, ?, ?, ?, ?, 0, ?) ON CONFLICT DO UPDATE SET "
        "overrides_json = excluded.overrides_json, rung = excluded.rung, pruned = 0, "
        "own_json = excluded.own_json",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_hash(&query, 1, place->sweep_key);
        gs_sql_bind_int(&query, 2, place->point);
        gs_sql_bind_int(&query, 3, run_id);
        gs_sql_bind_text(&query, 4, place->overrides_json);
        gs_sql_bind_int(&query, 5, place->rung);
        gs_sql_bind_text(&query, 6, place->own_json);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

static bool read_status(const char *text, gs_run_status *out)
{
    for (int i = 0; i < GS_RUN_STATUS_COUNT; i++) {
        if (strcmp(gs_run_status_text((gs_run_status)i), text) == 0) {
            *out = (gs_run_status)i;
            return true;
        }
    }
    return false;
}

/* An error may have been of the machine, and an interrupted run is none yet. */
static bool is_final(gs_run_status status)
{
    return status == GS_RUN_OK || status == GS_RUN_RECOVERED || status == GS_RUN_DIVERGED ||
           status == GS_RUN_DEADLOCK || status == GS_RUN_MISMATCH;
}

static gs_status find(gs_store *store, uint64_t key, gs_found_run *out, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        &store->sql, "SELECT run_id, status FROM run WHERE run_key = ?", &query, err);
    if (status == GS_OK) {
        gs_sql_bind_hash(&query, 1, key);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row && read_status(gs_sql_text(&query, 1), &out->status) &&
        is_final(out->status)) {
        out->run_id = gs_sql_int(&query, 0);
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status read_values(gs_store *store, double *values, gs_found_run *run, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        values[i] = (double)NAN;
    }
    gs_status status = gs_sql_prepare(
        &store->sql, "SELECT metric, value, censored FROM result WHERE run_id = ?", &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run->run_id);
        status = gs_sql_step(&query, &row, err);
    }
    while (status == GS_OK && row) {
        uint32_t metric = gs_metric_find(gs_sql_text(&query, 0));
        if (metric < gs_metric_count()) {
            values[metric] = gs_sql_real(&query, 1);
            run->target_censored = run->target_censored || gs_sql_int(&query, 2) != 0;
        }
        status = gs_sql_step(&query, &row, err);
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status join_batch(gs_store *store, int64_t run_id, const char *label, gs_error *err)
{
    gs_sql_query query = {0};
    GS_TRY(gs_store_take_batch(store, err));
    gs_status status = gs_sql_prepare(
        &store->sql, "UPDATE run SET batch = ?, label = coalesce(?, label) WHERE run_id = ?",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, store->batch);
        gs_sql_bind_text(&query, 2, label);
        gs_sql_bind_int(&query, 3, run_id);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_reuse_begin(gs_store *store, gs_error *err)
{
    return gs_sql_run(&store->sql, "BEGIN IMMEDIATE", err);
}

gs_status gs_store_reuse_end(gs_store *store, gs_status before, gs_error *err)
{
    gs_status status = before == GS_OK ? gs_sql_run(&store->sql, "COMMIT", err) : before;
    if (status != GS_OK) {
        gs_sql_roll_back(&store->sql);
        store->batch = 0;
    }
    return status;
}

gs_status gs_store_reuse_run(gs_store *store, uint64_t key, const char *label,
                             const gs_stored_place *place, double *values, gs_found_run *out,
                             gs_error *err)
{
    *out = (gs_found_run){0};
    GS_TRY(find(store, key, out, err));
    if (out->run_id == 0) {
        return GS_OK;
    }
    GS_TRY(read_values(store, values, out, err));
    GS_TRY(join_batch(store, out->run_id, label, err));
    return gs_store_write_place(store, out->run_id, place, err);
}

gs_status gs_store_prune_point(gs_store *store, uint64_t sweep_key, int64_t point, int64_t rung,
                               gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(&store->sql,
                                      "UPDATE sweep_point SET pruned = 1, rung = ?3 "
                                      "WHERE sweep_key = ?1 AND point = ?2",
                                      &query, err);
    if (status == GS_OK) {
        gs_sql_bind_hash(&query, 1, sweep_key);
        gs_sql_bind_int(&query, 2, point);
        gs_sql_bind_int(&query, 3, rung);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

/* --- reading ---------------------------------------------------------------------------------- */

static gs_status read_places(gs_store *store, int64_t run_id, gs_arena *arena,
                             gs_stored_place *rows, uint32_t count, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    bool ok = true;
    gs_status status =
        gs_sql_prepare(&store->sql,
                       "SELECT sweep_key, point, overrides_json, rung, own_json FROM sweep_point "
                       "WHERE run_id = ? ORDER BY sweep_key, point LIMIT ?",
                       &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        gs_sql_bind_int(&query, 2, count);
        status = gs_sql_step(&query, &row, err);
    }
    for (uint32_t i = 0; status == GS_OK && row; i++) {
        rows[i] = (gs_stored_place){
            .sweep_key = strtoull(gs_sql_text(&query, 0), NULL, 16),
            .point = gs_sql_int(&query, 1),
            .overrides_json = gs_store_take_text(&query, 2, arena, &ok),
            .own_json = gs_store_take_text(&query, 4, arena, &ok),
            .rung = gs_sql_int(&query, 3),
        };
        status = gs_sql_step(&query, &row, err);
    }
    gs_sql_finish(&query);
    if (status == GS_OK && !ok) {
        status = gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
    }
    return status;
}

gs_status gs_store_read_places(gs_store *store, int64_t run_id, gs_arena *arena,
                               const gs_stored_place **out_rows, uint32_t *out_count, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    uint32_t count = 0;
    gs_status status = gs_sql_prepare(
        &store->sql, "SELECT count(*) FROM sweep_point WHERE run_id = ?", &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        count = (uint32_t)gs_sql_int(&query, 0);
    }
    gs_sql_finish(&query);
    GS_TRY(status);
    gs_stored_place *rows = GS_TAKE(arena, gs_stored_place, count + 1);
    if (rows == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
    }
    GS_TRY(read_places(store, run_id, arena, rows, count, err));
    *out_rows = rows;
    *out_count = count;
    return GS_OK;
}
