#include "traces/store/store_baseline.h"

#include "base/assert.h"
#include "base/nearest.h"
#include "traces/store/store_parts.h"

#include <inttypes.h>
#include <string.h>

static gs_status no_memory(const gs_store *store, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
}

/* Runs `write` in a transaction of its own. */
static gs_status in_transaction(gs_store *store,
                                gs_status (*write)(gs_store *, const void *, gs_error *),
                                const void *what, gs_error *err)
{
    GS_TRY(gs_sql_run(&store->sql, "BEGIN IMMEDIATE", err));
    gs_status status = write(store, what, err);
    if (status == GS_OK) {
        status = gs_sql_run(&store->sql, "COMMIT", err);
    }
    if (status != GS_OK) {
        gs_sql_roll_back(&store->sql);
    }
    return status;
}

/* ---------------------------------------------------------------- set, remove */

typedef struct new_baseline {
    const char *name, *note;
    const int64_t *ids;
    uint32_t count;
} new_baseline;

static gs_status delete_one(gs_store *store, const char *name, gs_error *err)
{
    static const char *const texts[] = {"DELETE FROM baseline_run WHERE name = ?",
                                        "DELETE FROM baseline WHERE name = ?"};
    for (int i = 0; i < 2; i++) {
        gs_sql_query query = {0};
        gs_status status = gs_sql_prepare(&store->sql, texts[i], &query, err);
        if (status == GS_OK) {
            gs_sql_bind_text(&query, 1, name);
            status = gs_sql_done(&query, err);
        }
        gs_sql_finish(&query);
        GS_TRY(status);
    }
    return GS_OK;
}

/* The commit is that of the newest of the runs. */
static gs_status insert_name(gs_store *store, const new_baseline *baseline, gs_error *err)
{
    char now[GS_UTC_BYTES];
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO baseline(name, git_commit, set_utc, note) "
        "SELECT ?1, coalesce(git_commit, 'unknown') || iif(git_dirty, ' changed since', ''), ?2, "
        "?3 FROM run JOIN env USING(env_id) WHERE run_id = ?4",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, baseline->name);
        gs_sql_bind_text(&query, 2, gs_utc_now(now));
        gs_sql_bind_text(&query, 3, baseline->note);
        gs_sql_bind_int(&query, 4, baseline->ids[baseline->count - 1]);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status insert_runs(gs_store *store, const new_baseline *baseline, gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        &store->sql,
        "INSERT INTO baseline_run(name, run_key, mark) "
        "SELECT ?1, run_key, coalesce(result_hash, started_utc) FROM run WHERE run_id = ?2",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, baseline->name);
    }
    for (uint32_t i = 0; status == GS_OK && i < baseline->count; i++) {
        gs_sql_bind_int(&query, 2, baseline->ids[i]);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status replace(gs_store *store, const void *what, gs_error *err)
{
    const new_baseline *baseline = what;
    GS_TRY(delete_one(store, baseline->name, err));
    GS_TRY(insert_name(store, baseline, err));
    return insert_runs(store, baseline, err);
}

gs_status gs_store_set_baseline(gs_store *store, const char *name, const int64_t *ids,
                                uint32_t count, const char *note, gs_error *err)
{
    GS_ASSERT(count >= 1);
    if (gs_store_check_label(name, err) != GS_OK) {
        return gs_fail(err, GS_EINVAL,
                       "baseline \"%s\": use a word without @ : # ~ that is not a number", name);
    }
    new_baseline baseline = {.name = name, .note = note, .ids = ids, .count = count};
    return in_transaction(store, replace, &baseline, err);
}

static gs_status remove_named(gs_store *store, const void *what, gs_error *err)
{
    return delete_one(store, what, err);
}

/* ---------------------------------------------------------------- read */

static bool take_baseline(const gs_sql_query *query, gs_arena *arena, gs_baseline *out)
{
    bool ok = true;
    *out = (gs_baseline){
        .name = gs_store_take_text(query, 0, arena, &ok),
        .commit = gs_store_take_text(query, 1, arena, &ok),
        .set_utc = gs_store_take_text(query, 2, arena, &ok),
        .note = gs_store_take_text(query, 3, arena, &ok),
        .runs = gs_sql_int(query, 4),
        .runs_left = gs_sql_int(query, 5),
    };
    return ok;
}

static gs_status take_baselines(gs_store *store, gs_arena *arena, gs_baseline *rows, uint32_t most,
                                uint32_t *count, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = true;
    gs_status status =
        gs_sql_prepare(&store->sql,
                       "SELECT b.name, git_commit, set_utc, note, count(*), "
                       "total(mark IS coalesce(result_hash, started_utc)) "
                       "FROM baseline b JOIN baseline_run USING(name) LEFT JOIN run USING(run_key) "
                       "GROUP BY b.name ORDER BY set_utc DESC, b.name",
                       &query, err);
    while (status == GS_OK && *count < most) {
        status = gs_sql_step(&query, &row, err);
        if (status != GS_OK || !row) {
            break;
        }
        if (!take_baseline(&query, arena, &rows[(*count)++])) {
            status = no_memory(store, err);
        }
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_read_baselines(gs_store *store, gs_arena *arena, const gs_baseline **out_rows,
                                  uint32_t *out_count, gs_error *err)
{
    int64_t most = 0;
    uint32_t count = 0;
    GS_TRY(gs_store_query_int(&store->sql, "SELECT count(*) FROM baseline", &most, err));
    gs_baseline *rows = GS_TAKE(arena, gs_baseline, (size_t)most + 1);
    if (rows == NULL) {
        return no_memory(store, err);
    }
    GS_TRY(take_baselines(store, arena, rows, (uint32_t)most, &count, err));
    *out_rows = rows;
    *out_count = count;
    return GS_OK;
}

/* The baseline of a name, or the nearest name there is. */
static gs_status find_baseline(gs_store *store, const char *name, gs_arena *arena,
                               const gs_baseline **out, gs_error *err)
{
    const gs_baseline *rows = NULL;
    uint32_t count = 0;
    GS_TRY(gs_store_read_baselines(store, arena, &rows, &count, err));
    const char **names = GS_TAKE(arena, const char *, (size_t)count + 1);
    if (names == NULL) {
        return no_memory(store, err);
    }
    for (uint32_t i = 0; i < count; i++) {
        names[i] = rows[i].name;
        if (strcmp(rows[i].name, name) == 0) {
            *out = &rows[i];
            return GS_OK;
        }
    }
    const char *nearest = count == 0 ? NULL : gs_nearest_name(name, names, count);
    if (nearest != NULL) {
        return gs_fail(err, GS_ENOTFOUND, "%s: no baseline \"%s\"; did you mean \"%s\"?",
                       store->sql.path, name, nearest);
    }
    return gs_fail(err, GS_ENOTFOUND,
                   "%s: no baseline \"%s\"; set it: gradsync baseline set %s RUN", store->sql.path,
                   name, name);
}

gs_status gs_store_check_baseline(gs_store *store, const char *name, gs_arena *arena, gs_error *err)
{
    const gs_baseline *found = NULL;
    GS_TRY(find_baseline(store, name, arena, &found, err));
    if (found->runs_left < found->runs) {
        return gs_fail(
            err, GS_EMISMATCH,
            "%s: baseline \"%s\" is gone: of its %" PRId64 " runs %" PRId64
            " were removed, or replaced by others of the same commit with another result, as "
            "builds from a changed tree do; keep such a base in a database of its own "
            "(compare base.db#@last), or set it again: gradsync baseline set %s RUN",
            store->sql.path, name, found->runs, found->runs - found->runs_left, name);
    }
    return GS_OK;
}

gs_status gs_store_remove_baseline(gs_store *store, const char *name, gs_error *err)
{
    gs_arena arena;
    gs_arena_init(&arena);
    const gs_baseline *found = NULL;
    gs_status status = find_baseline(store, name, &arena, &found, err);
    if (status == GS_OK) {
        status = in_transaction(store, remove_named, name, err);
    }
    gs_arena_fini(&arena);
    return status;
}
