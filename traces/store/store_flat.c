#include "traces/store/store_flat.h"

#include "base/units.h"
#include "traces/store/store_parts.h"

#include <math.h>

enum { VALUE_COLUMN = 13 };

const gs_flat_column gs_flat_columns[GS_FLAT_COLUMNS] = {
    {"run_id", true},    {"batch", true},        {"source", false},     {"label", false},
    {"seed", true},      {"repeat", true},       {"status", false},     {"scenario", false},
    {"strategy", false}, {"params_json", false}, {"git_commit", false}, {"tool_version", false},
    {"metric", false},   {"value", true},        {"censored", true},    {"unit", false}};

gs_status gs_store_visit_flat(gs_store *store, int64_t run_id, gs_flat_visit visit, void *context,
                              gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT run_id, batch, source, label, seed, repeat, status, scenario, strategy, "
        "params_json, git_commit, tool_version, metric, value, censored, unit FROM run_flat "
        "WHERE run_id = ? ORDER BY metric",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = gs_sql_step(&query, &row, err);
    }
    while (status == GS_OK && row) {
        const char *values[GS_FLAT_COLUMNS];
        char exact[GS_UNIT_TEXT_BYTES];
        double value = gs_sql_real(&query, VALUE_COLUMN);
        for (int i = 0; i < GS_FLAT_COLUMNS; i++) {
            values[i] = gs_sql_text(&query, i);
        }
        /* SQLite's own text of a number has 15 digits. */
        values[VALUE_COLUMN] = isfinite(value) ? gs_exact_real(value, exact) : NULL;
        visit(context, values);
        status = gs_sql_step(&query, &row, err);
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_all_runs(gs_store *store, gs_arena *arena, const int64_t **out_ids,
                            uint32_t *out_count, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    int64_t count = 0;
    GS_TRY(gs_store_query_int(&store->sql, "SELECT count(*) FROM run", &count, err));
    int64_t *ids = GS_TAKE(arena, int64_t, (size_t)count);
    uint32_t used = 0;
    gs_status status =
        ids == NULL
            ? gs_fail(err, GS_ENOMEM, "%s: no memory", store->sql.path)
            : gs_sql_prepare(&store->sql, "SELECT run_id FROM run ORDER BY run_id", &query, err);
    if (status == GS_OK) {
        status = gs_sql_step(&query, &row, err);
    }
    while (status == GS_OK && row && used < count) {
        ids[used++] = gs_sql_int(&query, 0);
        status = gs_sql_step(&query, &row, err);
    }
    gs_sql_finish(&query);
    *out_ids = ids;
    *out_count = used;
    return status;
}
