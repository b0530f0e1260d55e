#include "traces/store/store_compare.h"

#include "base/assert.h"
#include "traces/store/store_parts.h"

#include <inttypes.h>

static gs_status write_head(gs_store *store, const gs_stored_comparison *comparison,
                            int64_t *out_id, gs_error *err)
{
    char now[GS_UTC_BYTES];
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO comparison(made_utc, baseline_sel, candidate_sel, pairing, method, alpha, "
        "correction, gate_json, verdict, exit_code) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "RETURNING comparison_id",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, gs_utc_now(now));
        gs_sql_bind_text(&query, 2, comparison->baseline_sel);
        gs_sql_bind_text(&query, 3, comparison->candidate_sel);
        gs_sql_bind_text(&query, 4, comparison->paired ? "seed" : "none");
        gs_sql_bind_text(&query, 5, comparison->method);
        gs_sql_bind_real(&query, 6, comparison->alpha);
        gs_sql_bind_text(&query, 7, comparison->correction);
        gs_sql_bind_text(&query, 8, comparison->gate_json);
        gs_sql_bind_text(&query, 9, comparison->verdict);
        gs_sql_bind_int(&query, 10, comparison->exit_code);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK) {
        GS_ASSERT(row);
        *out_id = gs_sql_int(&query, 0);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

static void bind_verdict(gs_sql_query *query, const gs_stored_verdict *row)
{
    gs_sql_bind_text(query, 4, row->metric);
    gs_sql_bind_int(query, 5, row->n_base);
    gs_sql_bind_int(query, 6, row->n_cand);
    gs_sql_bind_int(query, 7, row->failed_base);
    gs_sql_bind_int(query, 8, row->failed_cand);
    gs_sql_bind_real(query, 9, row->base);
    gs_sql_bind_real(query, 10, row->cand);
    gs_sql_bind_real(query, 11, row->ratio);
    gs_sql_bind_real(query, 12, row->ratio_lo);
    gs_sql_bind_real(query, 13, row->ratio_hi);
    gs_sql_bind_real(query, 14, row->p_raw);
    gs_sql_bind_real(query, 15, row->p_adjusted);
    gs_sql_bind_real(query, 16, row->threshold_ratio);
    gs_sql_bind_real(query, 17, row->min_detectable_ratio);
    gs_sql_bind_text(query, 18, row->verdict);
    gs_sql_bind_text(query, 19, row->reason);
}

static gs_status write_verdict(gs_store *store, gs_sql_query *query, const gs_stored_verdict *row,
                               gs_error *err)
{
    int64_t scenario_id = 0;
    int64_t strategy_id = 0;
    GS_TRY(gs_store_put_scenario(&store->sql, row->scenario, false, &scenario_id, err));
    GS_TRY(gs_store_put_strategy(&store->sql, row->strategy, &strategy_id, err));
    gs_sql_bind_int(query, 2, scenario_id);
    gs_sql_bind_int(query, 3, strategy_id);
    bind_verdict(query, row);
    return gs_sql_done(query, err);
}

static gs_status write_all(gs_store *store, const gs_stored_comparison *comparison,
                           const gs_stored_verdict *rows, uint32_t count, int64_t *out_id,
                           gs_error *err)
{
    GS_TRY(gs_store_write_catalogue(store, err));
    GS_TRY(write_head(store, comparison, out_id, err));
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO verdict(comparison_id, scenario_id, strategy_id, metric, n_base, n_cand, "
        "failed_base, failed_cand, base, cand, ratio, ratio_lo, ratio_hi, p_raw, p_adjusted, "
        "threshold_ratio, min_detectable_ratio, verdict, reason) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, *out_id);
    }
    for (uint32_t i = 0; status == GS_OK && i < count; i++) {
        status = write_verdict(store, &query, &rows[i], err);
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_write_comparison(gs_store *store, const gs_stored_comparison *comparison,
                                    const gs_stored_verdict *rows, uint32_t count, int64_t *out_id,
                                    gs_error *err)
{
    int64_t id = 0;
    bool catalogue_written = store->catalogue_written;
    GS_TRY(gs_sql_run(&store->sql, "BEGIN IMMEDIATE", err));
    gs_status status = write_all(store, comparison, rows, count, &id, err);
    if (status == GS_OK) {
        status = gs_sql_run(&store->sql, "COMMIT", err);
    }
    if (status != GS_OK) {
        gs_sql_roll_back(&store->sql);
        store->catalogue_written = catalogue_written;
        return status;
    }
    *out_id = id;
    return GS_OK;
}

/* ---------------------------------------------------------------- reading */

static gs_status fail_memory(const gs_store *store, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
}

static gs_status read_head(gs_store *store, int64_t id, gs_arena *arena, gs_stored_comparison *out,
                           uint32_t *out_rows, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    bool ok = true;
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT baseline_sel, candidate_sel, pairing, method, alpha, correction, gate_json, "
        "verdict, exit_code, made_utc, (SELECT count(*) FROM verdict WHERE comparison_id = ?1) "
        "FROM comparison WHERE comparison_id = ?1",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, id);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && !row) {
        status = gs_fail(err, GS_ENOTFOUND,
                         "%s: no comparison %" PRId64 "; gradsync compare --json has comparison_id",
                         store->sql.path, id);
    } else if (status == GS_OK) {
        const char *pairing = gs_sql_text(&query, 2);
        *out = (gs_stored_comparison){
            .baseline_sel = gs_store_take_text(&query, 0, arena, &ok),
            .candidate_sel = gs_store_take_text(&query, 1, arena, &ok),
            .paired = pairing != NULL && pairing[0] == 's',
            .method = gs_store_take_text(&query, 3, arena, &ok),
            .alpha = gs_sql_real(&query, 4),
            .correction = gs_store_take_text(&query, 5, arena, &ok),
            .gate_json = gs_store_take_text(&query, 6, arena, &ok),
            .verdict = gs_store_take_text(&query, 7, arena, &ok),
            .exit_code = (int)gs_sql_int(&query, 8),
            .made_utc = gs_store_take_text(&query, 9, arena, &ok),
        };
        *out_rows = (uint32_t)gs_sql_int(&query, 10);
        status = ok ? GS_OK : fail_memory(store, err);
    }
    gs_sql_finish(&query);
    return status;
}

/* Columns of the query in read_rows, in their order. NULL: no memory. */
static bool take_verdict(const gs_sql_query *query, gs_arena *arena, gs_stored_verdict *out)
{
    bool ok = true;
    gs_stored_scenario *scenario = GS_TAKE(arena, gs_stored_scenario, 1);
    gs_stored_strategy *strategy = GS_TAKE(arena, gs_stored_strategy, 1);
    if (scenario == NULL || strategy == NULL) {
        return false;
    }
    *scenario = (gs_stored_scenario){.name = gs_store_take_text(query, 0, arena, &ok)};
    *strategy = (gs_stored_strategy){.name = gs_store_take_text(query, 1, arena, &ok),
                                     .params_json = gs_store_take_text(query, 2, arena, &ok)};
    *out = (gs_stored_verdict){
        .scenario = scenario,
        .strategy = strategy,
        .metric = gs_store_take_text(query, 3, arena, &ok),
        .n_base = gs_sql_int(query, 4),
        .n_cand = gs_sql_int(query, 5),
        .failed_base = gs_sql_int(query, 6),
        .failed_cand = gs_sql_int(query, 7),
        .base = gs_sql_real(query, 8),
        .cand = gs_sql_real(query, 9),
        .ratio = gs_sql_real(query, 10),
        .ratio_lo = gs_sql_real(query, 11),
        .ratio_hi = gs_sql_real(query, 12),
        .p_raw = gs_sql_real(query, 13),
        .p_adjusted = gs_sql_real(query, 14),
        .threshold_ratio = gs_sql_real(query, 15),
        .min_detectable_ratio = gs_sql_real(query, 16),
        .verdict = gs_store_take_text(query, 17, arena, &ok),
        .reason = gs_store_take_text(query, 18, arena, &ok),
    };
    return ok;
}

static gs_status read_rows(gs_store *store, int64_t id, gs_arena *arena, gs_stored_verdict *rows,
                           uint32_t count, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT s.name, t.name, params_json, metric, n_base, n_cand, failed_base, failed_cand, "
        "base, cand, ratio, ratio_lo, ratio_hi, p_raw, p_adjusted, threshold_ratio, "
        "min_detectable_ratio, verdict, reason FROM verdict JOIN scenario s USING(scenario_id) "
        "JOIN strategy t USING(strategy_id) WHERE comparison_id = ? "
        "ORDER BY s.name, scenario_id, strategy_id, metric",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, id);
        status = gs_sql_step(&query, &row, err);
    }
    for (uint32_t i = 0; status == GS_OK && row && i < count; i++) {
        status = take_verdict(&query, arena, &rows[i]) ? gs_sql_step(&query, &row, err)
                                                       : fail_memory(store, err);
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_read_comparison(gs_store *store, int64_t id, gs_arena *arena,
                                   gs_stored_comparison *out, const gs_stored_verdict **out_rows,
                                   uint32_t *out_count, gs_error *err)
{
    uint32_t count = 0;
    GS_TRY(read_head(store, id, arena, out, &count, err));
    gs_stored_verdict *rows = GS_TAKE(arena, gs_stored_verdict, (size_t)count + 1);
    if (rows == NULL) {
        return fail_memory(store, err);
    }
    GS_TRY(read_rows(store, id, arena, rows, count, err));
    *out_rows = rows;
    *out_count = count;
    return GS_OK;
}

/* ---------------------------------------------------------------- history */

static void bind_history(gs_sql_query *query, const gs_history_of *of)
{
    gs_sql_bind_text(query, 1, of->metric);
    gs_sql_bind_text(query, 2, gs_run_source_text(of->source));
    gs_sql_bind_hash(query, 3, of->config_hash);
    gs_sql_bind_text(query, 4, of->strategy);
    gs_sql_bind_text(query, 5, of->params_json);
    gs_sql_bind_text(query, 6, of->since_utc);
    gs_sql_bind_int(query, 7, of->before_run);
    gs_sql_bind_int(query, 8, of->most);
}

gs_status gs_store_read_history(gs_store *store, const gs_history_of *of, gs_arena *arena,
                                const double **out_values, uint32_t *out_count, gs_error *err)
{
    double *values = GS_TAKE(arena, double, (size_t)of->most + 1);
    if (values == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
    }
    uint32_t count = 0;
    bool row = true;
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT avg(value) FROM run JOIN result USING(run_id) JOIN scenario s USING(scenario_id) "
        "JOIN strategy t USING(strategy_id) WHERE metric = ?1 AND source = ?2 AND config_hash = ?3 "
        "AND t.name = ?4 AND params_json = ?5 AND status IN('ok', 'recovered') AND NOT censored "
        "AND value IS NOT NULL AND (?6 IS NULL OR started_utc >= ?6) AND (?7 = 0 OR batch <= "
        "(SELECT batch FROM run WHERE run_id = ?7)) GROUP BY batch ORDER BY batch DESC LIMIT ?8",
        &query, err);
    if (status == GS_OK) {
        bind_history(&query, of);
    }
    while (status == GS_OK && count < of->most) {
        status = gs_sql_step(&query, &row, err);
        if (status != GS_OK || !row) {
            break;
        }
        values[count++] = gs_sql_real(&query, 0);
    }
    gs_sql_finish(&query);
    if (status == GS_OK) {
        *out_values = values;
        *out_count = count;
    }
    return status;
}
