#include "traces/store/store_gc.h"

#include "traces/store/store_parts.h"

/* Who meets the rule goes to a table of its own; those of baselines are marked. */
static gs_status find_runs(gs_sql *sql, const gs_gc_rule *rule, gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        sql,
        "CREATE TEMP TABLE garbage AS SELECT run_id, "
        "EXISTS (SELECT 1 FROM baseline_run b WHERE b.run_key = run.run_key) AS held FROM run "
        "WHERE (?1 IS NOT NULL OR ?2 IS NOT NULL OR ?3) AND (?1 IS NULL OR started_utc < ?1) "
        "AND (?2 IS NULL OR label = ?2) AND (NOT ?3 OR status = 'interrupted')",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, rule->before_utc);
        gs_sql_bind_text(&query, 2, rule->label);
        gs_sql_bind_int(&query, 3, rule->interrupted ? 1 : 0);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

/* What no run, comparison and accepted change refers to. */
#define UNUSED_SCENARIO                                                                            \
    "FROM scenario WHERE scenario_id NOT IN (SELECT scenario_id FROM run UNION "                   \
    "SELECT scenario_id FROM verdict UNION "                                                       \
    "SELECT scenario_id FROM ack WHERE scenario_id IS NOT NULL)"
#define UNUSED_STRATEGY                                                                            \
    "FROM strategy WHERE strategy_id NOT IN (SELECT strategy_id FROM run UNION "                   \
    "SELECT strategy_id FROM verdict UNION "                                                       \
    "SELECT strategy_id FROM ack WHERE strategy_id IS NOT NULL)"
#define UNUSED_ENV "FROM env WHERE env_id NOT IN (SELECT env_id FROM run)"

static gs_status collect(gs_sql *sql, const gs_gc_rule *rule, gs_collected *out, gs_error *err)
{
    GS_TRY(find_runs(sql, rule, err));
    GS_TRY(gs_store_query_int(sql, "SELECT count(*) FROM temp.garbage WHERE NOT held", &out->runs,
                              err));
    GS_TRY(
        gs_store_query_int(sql, "SELECT count(*) FROM temp.garbage WHERE held", &out->kept, err));
    GS_TRY(gs_sql_run(
        sql, "DELETE FROM run WHERE run_id IN (SELECT run_id FROM temp.garbage WHERE NOT held)",
        err));
    GS_TRY(gs_store_query_int(sql,
                              "SELECT (SELECT count(*) " UNUSED_SCENARIO ") + "
                              "(SELECT count(*) " UNUSED_STRATEGY ") + "
                              "(SELECT count(*) " UNUSED_ENV ")",
                              &out->unused, err));
    GS_TRY(gs_sql_run(sql, "DELETE FROM answer WHERE batch NOT IN (SELECT batch FROM run)", err));
    GS_TRY(gs_sql_run(sql, "DELETE " UNUSED_SCENARIO, err));
    GS_TRY(gs_sql_run(sql, "DELETE " UNUSED_STRATEGY, err));
    GS_TRY(gs_sql_run(sql, "DELETE " UNUSED_ENV, err));
    return gs_sql_run(sql, "DROP TABLE temp.garbage", err);
}

static gs_status size_of(gs_sql *sql, int64_t *out, gs_error *err)
{
    int64_t pages = 0;
    int64_t page_bytes = 0;
    GS_TRY(gs_store_query_int(sql, "PRAGMA page_count", &pages, err));
    GS_TRY(gs_store_query_int(sql, "PRAGMA page_size", &page_bytes, err));
    *out = pages * page_bytes;
    return GS_OK;
}

gs_status gs_store_collect(gs_store *store, const gs_gc_rule *rule, bool dry, gs_collected *out,
                           gs_error *err)
{
    gs_sql *sql = &store->sql;
    *out = (gs_collected){0};
    GS_TRY(size_of(sql, &out->bytes_before, err));
    GS_TRY(gs_sql_run(sql, dry ? "BEGIN" : "BEGIN IMMEDIATE", err));
    gs_status status = collect(sql, rule, out, err);
    if (status == GS_OK && !dry) {
        status = gs_sql_run(sql, "COMMIT", err);
    }
    if (status != GS_OK || dry) {
        gs_sql_roll_back(sql);
        out->bytes_after = out->bytes_before;
        return status;
    }
    GS_TRY(gs_sql_run(sql, "VACUUM", err));
    return size_of(sql, &out->bytes_after, err);
}
