#include "traces/store/store_ack.h"

#include "traces/store/store_parts.h"

static gs_status no_memory(const gs_store *store, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
}

/* Rows of a query into an array; take fills one and says whether there was memory. */
typedef struct row_array {
    bool (*take)(const gs_sql_query *query, gs_arena *arena, void *rows, uint32_t index);
    void *rows; /* [most], of the arena */
    uint32_t most, count;
} row_array;

static gs_status take_rows(gs_store *store, const char *text, gs_arena *arena, row_array *out,
                           gs_error *err)
{
    gs_sql_query query = {0};
    bool row = true;
    gs_status status = gs_sql_prepare(&store->sql, text, &query, err);
    while (status == GS_OK && out->count < out->most) {
        status = gs_sql_step(&query, &row, err);
        if (status != GS_OK || !row) {
            break;
        }
        if (!out->take(&query, arena, out->rows, out->count++)) {
            status = no_memory(store, err);
        }
    }
    gs_sql_finish(&query);
    return status;
}

static bool take_worse(const gs_sql_query *query, gs_arena *arena, void *rows, uint32_t index)
{
    bool ok = true;
    ((gs_worse *)rows)[index] = (gs_worse){
        .scenario_id = gs_sql_int(query, 0),
        .strategy_id = gs_sql_int(query, 1),
        .scenario = gs_store_take_text(query, 2, arena, &ok),
        .strategy = gs_store_take_text(query, 3, arena, &ok),
        .params_json = gs_store_take_text(query, 4, arena, &ok),
        .metric = gs_store_take_text(query, 5, arena, &ok),
        .ratio = gs_sql_real(query, 6),
        .commit = gs_store_take_text(query, 7, arena, &ok),
        .base = gs_sql_real(query, 8),
        .worst = gs_sql_real(query, 9),
    };
    return ok;
}

gs_status gs_store_read_worse(gs_store *store, gs_arena *arena, const gs_worse **out_rows,
                              uint32_t *out_count, gs_error *err)
{
    static const char text[] =
        "SELECT v.scenario_id, v.strategy_id, s.name, t.name, params_json, metric, ratio, "
        "(SELECT git_commit FROM run JOIN env USING(env_id) WHERE run.scenario_id = v.scenario_id "
        "AND run.strategy_id = v.strategy_id ORDER BY run_id DESC LIMIT 1), base, "
        "coalesce(base * iif(better = 'higher', ratio_lo, ratio_hi), cand) "
        "FROM verdict v JOIN scenario s USING(scenario_id) JOIN strategy t USING(strategy_id) "
        "JOIN metric USING(metric) "
        "WHERE verdict = 'worse' AND comparison_id = (SELECT max(comparison_id) FROM verdict w "
        "JOIN scenario x USING(scenario_id) JOIN strategy y USING(strategy_id) "
        "WHERE w.metric = v.metric AND x.name = s.name AND y.name = t.name AND "
        "y.params_json = t.params_json) ORDER BY s.name, t.name, params_json, metric";
    int64_t most = 0;
    GS_TRY(gs_store_query_int(&store->sql, "SELECT count(*) FROM verdict WHERE verdict = 'worse'",
                              &most, err));
    gs_worse *rows = GS_TAKE(arena, gs_worse, (size_t)most + 1);
    if (rows == NULL) {
        return no_memory(store, err);
    }
    row_array all = {.take = take_worse, .rows = rows, .most = (uint32_t)most};
    GS_TRY(take_rows(store, text, arena, &all, err));
    *out_rows = rows;
    *out_count = all.count;
    return GS_OK;
}

gs_status gs_store_write_ack(gs_store *store, const gs_worse *row, const char *who, const char *why,
                             gs_error *err)
{
    char now[GS_UTC_BYTES];
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO ack(scenario_id, strategy_id, metric, git_commit, who, why, made_utc, ratio, "
        "base, worst) VALUES(?, ?, ?, coalesce(?, 'unknown'), ?, ?, ?, ?, ?, ?)",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, row->scenario_id);
        gs_sql_bind_int(&query, 2, row->strategy_id);
        gs_sql_bind_text(&query, 3, row->metric);
        gs_sql_bind_text(&query, 4, row->commit);
        gs_sql_bind_text(&query, 5, who);
        gs_sql_bind_text(&query, 6, why);
        gs_sql_bind_text(&query, 7, gs_utc_now(now));
        gs_sql_bind_real(&query, 8, row->ratio);
        gs_sql_bind_real(&query, 9, row->base);
        gs_sql_bind_real(&query, 10, row->worst);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

static bool take_ack(const gs_sql_query *query, gs_arena *arena, void *rows, uint32_t index)
{
    bool ok = true;
    ((gs_ack *)rows)[index] = (gs_ack){
        .scenario = gs_store_take_text(query, 0, arena, &ok),
        .strategy = gs_store_take_text(query, 1, arena, &ok),
        .params_json = gs_store_take_text(query, 2, arena, &ok),
        .metric = gs_store_take_text(query, 3, arena, &ok),
        .commit = gs_store_take_text(query, 4, arena, &ok),
        .who = gs_store_take_text(query, 5, arena, &ok),
        .why = gs_store_take_text(query, 6, arena, &ok),
        .made_utc = gs_store_take_text(query, 7, arena, &ok),
        .ratio = gs_sql_real(query, 8),
        .base = gs_sql_real(query, 9),
        .worst = gs_sql_real(query, 10),
    };
    return ok;
}

gs_status gs_store_read_acks(gs_store *store, gs_arena *arena, const gs_ack **out_rows,
                             uint32_t *out_count, gs_error *err)
{
    int64_t most = 0;
    GS_TRY(gs_store_query_int(&store->sql, "SELECT count(*) FROM ack", &most, err));
    gs_ack *rows = GS_TAKE(arena, gs_ack, (size_t)most + 1);
    if (rows == NULL) {
        return no_memory(store, err);
    }
    row_array all = {.take = take_ack, .rows = rows, .most = (uint32_t)most};
    GS_TRY(
        take_rows(store,
                  "SELECT s.name, t.name, params_json, metric, git_commit, who, why, made_utc, "
                  "ratio, base, worst FROM ack JOIN scenario s USING(scenario_id) JOIN strategy t "
                  "USING(strategy_id) ORDER BY ack.rowid",
                  arena, &all, err));
    *out_rows = rows;
    *out_count = all.count;
    return GS_OK;
}
