#include "traces/store/store_answer.h"

#include "traces/store/store_parts.h"

gs_status gs_store_write_answer(gs_store *store, const char *verb, const char *text, gs_error *err)
{
    gs_sql_query query = {0};
    if (store->batch == 0) {
        return GS_OK;
    }
    gs_status status = gs_sql_prepare(
        &store->sql, "INSERT OR REPLACE INTO answer(batch, verb, text) VALUES(?, ?, ?)", &query,
        err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, store->batch);
        gs_sql_bind_text(&query, 2, verb);
        gs_sql_bind_text(&query, 3, text);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status batch_of(gs_store *store, int64_t run_id, int64_t *out, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status =
        gs_sql_prepare(&store->sql, "SELECT batch FROM run WHERE run_id = ?", &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = gs_sql_step(&query, &row, err);
    }
    *out = row ? gs_sql_int(&query, 0) : 0;
    gs_sql_finish(&query);
    return status;
}

/* The answer of a batch that has so many runs. */
static gs_status read_batch(gs_store *store, int64_t batch, uint32_t count, gs_arena *arena,
                            const char **out_verb, const char **out_text, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    bool ok = true;
    gs_status status = gs_sql_prepare(&store->sql,
                                      "SELECT verb, text FROM answer WHERE batch = ?1 AND "
                                      "(SELECT count(*) FROM run WHERE run.batch = ?1) = ?2",
                                      &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, batch);
        gs_sql_bind_int(&query, 2, count);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        *out_verb = gs_store_take_text(&query, 0, arena, &ok);
        *out_text = gs_store_take_text(&query, 1, arena, &ok);
    }
    gs_sql_finish(&query);
    return ok ? status
              : gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
}

gs_status gs_store_read_answer(gs_store *store, const int64_t *run_ids, uint32_t count,
                               gs_arena *arena, const char **out_verb, const char **out_text,
                               gs_error *err)
{
    int64_t batch = 0;
    *out_verb = *out_text = NULL;
    GS_TRY(batch_of(store, run_ids[0], &batch, err));
    for (uint32_t i = 1; i < count; i++) {
        int64_t other = 0;
        GS_TRY(batch_of(store, run_ids[i], &other, err));
        if (other != batch) {
            return GS_OK;
        }
    }
    return read_batch(store, batch, count, arena, out_verb, out_text, err);
}
