#include "traces/store/store.h"

#include "base/assert.h"
#include "base/hash.h"
#include "traces/store/store_parts.h"
#include "traces/store/store_sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HASH_TEXT_BYTES = 17 };

static char *hash_text(uint64_t hash, char out[HASH_TEXT_BYTES])
{
    (void)snprintf(out, HASH_TEXT_BYTES, "%016" PRIx64, hash);
    return out;
}

/* A text with its end, so that "ab","c" and "a","bc" differ; an absent one differs from "". */
static uint64_t hash_of_text(uint64_t before, const char *text)
{
    return text == NULL ? gs_hash(before, "\1", 1) : gs_hash(before, text, strlen(text) + 1);
}

/* What the result of a run is a function of. A build from a changed tree is a program of its own.
 */
static uint64_t key_of(const gs_stored_run *run, int64_t repeat)
{
    uint64_t hash = hash_of_text(0, gs_run_source_text(run->source));
    hash = hash_of_text(hash, run->environment.tool_version);
    hash = hash_of_text(hash, run->environment.commit);
    hash = hash_of_text(hash, run->environment.dirty ? "dirty" : "clean");
    hash = gs_hash(hash, &run->scenario.config_hash, sizeof run->scenario.config_hash);
    hash = hash_of_text(hash, run->strategy.name);
    hash = hash_of_text(hash, run->strategy.version);
    hash = hash_of_text(hash, run->strategy.params_json);
    for (uint32_t i = 0; i < run->input_count; i++) {
        hash = hash_of_text(hash, run->inputs[i].role);
        hash = gs_hash(hash, &run->inputs[i].xxh3, sizeof run->inputs[i].xxh3);
    }
    hash = gs_hash(hash, &run->seed, sizeof run->seed);
    return gs_hash(hash, &repeat, sizeof repeat);
}

uint64_t gs_store_run_key(const gs_stored_run *run)
{
    GS_ASSERT(run->repeat != GS_REPEAT_NEXT);
    return key_of(run, run->repeat);
}

/* A run of the same key that is there already. */
typedef struct old_run {
    int64_t id; /* 0: none */
    bool interrupted;
    bool comparable; /* exact, from a clean build, and of the BLAS kernels at hand */
    char result_hash[HASH_TEXT_BYTES];
} old_run;

/* Where a run belongs. */
typedef struct run_place {
    char key[HASH_TEXT_BYTES];
    int64_t repeat;
    old_run old;
} run_place;

static gs_status find_old(gs_store *store, const gs_stored_run *run, const char *key, old_run *out,
                          gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    *out = (old_run){0};
    gs_status status = gs_sql_prepare(&store->sql,
                                      "SELECT run_id, status = ?2, result_hash, "
                                      "result_hash IS NOT NULL AND NOT git_dirty AND blas IS ?3 "
                                      "FROM run JOIN env USING(env_id) WHERE run_key = ?1",
                                      &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, key);
        gs_sql_bind_text(&query, 2, gs_run_status_text(GS_RUN_INTERRUPTED));
        gs_sql_bind_text(&query, 3, run->environment.blas);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        out->id = gs_sql_int(&query, 0);
        out->interrupted = gs_sql_int(&query, 1) != 0;
        out->comparable = gs_sql_int(&query, 3) != 0;
        if (out->comparable) {
            (void)snprintf(out->result_hash, sizeof out->result_hash, "%s", gs_sql_text(&query, 2));
        }
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status check_reproduced(const gs_store *store, const gs_stored_run *run,
                                  const old_run *old, gs_error *err)
{
    char now[HASH_TEXT_BYTES];
    if (!old->comparable || !run->exact ||
        strcmp(old->result_hash, hash_text(run->result_hash, now)) == 0) {
        return GS_OK;
    }
    return gs_fail(err, GS_EMISMATCH,
                   "%s: not reproducible: %s, %s, seed %" PRIu64 " gave result %s before (run "
                   "%" PRId64 ") and %s now, from the same commit %s; the old run stays; store "
                   "the new one with another --db and report both as a bug",
                   store->sql.path, run->scenario.name, run->strategy.name, run->seed,
                   old->result_hash, old->id, now, run->environment.commit);
}

/* Runs a prepared statement that returns an id, and ends it. */
static gs_status take_id(gs_sql_query *query, gs_status prepared, int64_t *out, gs_error *err)
{
    bool row = false;
    gs_status status = prepared;
    if (status == GS_OK) {
        status = gs_sql_step(query, &row, err);
    }
    if (status == GS_OK) {
        GS_ASSERT(row);
        *out = gs_sql_int(query, 0);
        status = gs_sql_done(query, err);
    }
    gs_sql_finish(query);
    return status;
}

/* "DO UPDATE" to itself, because "DO NOTHING" returns no row. */
gs_status gs_store_put_scenario(gs_sql *sql, const gs_stored_scenario *scenario, bool newest,
                                int64_t *out_id, gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        sql,
        "INSERT INTO scenario(name, config_hash, config_json, ranks, nodes, model, gradient_bytes) "
        "VALUES(?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT(config_hash, name) DO UPDATE SET "
        "config_json = iif(?8, excluded.config_json, config_json) RETURNING scenario_id",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, scenario->name);
        gs_sql_bind_hash(&query, 2, scenario->config_hash);
        gs_sql_bind_text(&query, 3, scenario->config_json);
        gs_sql_bind_int(&query, 4, scenario->ranks);
        gs_sql_bind_int(&query, 5, scenario->nodes);
        gs_sql_bind_text(&query, 6, scenario->model);
        gs_sql_bind_int(&query, 7, scenario->gradient_bytes);
        gs_sql_bind_int(&query, 8, newest ? 1 : 0);
    }
    return take_id(&query, status, out_id, err);
}

gs_status gs_store_put_strategy(gs_sql *sql, const gs_stored_strategy *strategy, int64_t *out_id,
                                gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status =
        gs_sql_prepare(sql,
                       "INSERT INTO strategy(name, version, params_json) VALUES(?, ?, ?) "
                       "ON CONFLICT(name, version, params_json) DO UPDATE SET name = name "
                       "RETURNING strategy_id",
                       &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, strategy->name);
        gs_sql_bind_text(&query, 2, strategy->version);
        gs_sql_bind_text(&query, 3, strategy->params_json);
    }
    return take_id(&query, status, out_id, err);
}

static gs_status put_env(gs_sql *sql, const gs_environment *env, int64_t *out_id, gs_error *err)
{
    const char *const texts[] = {env->tool_version, env->commit, env->compiler, env->cpu,
                                 env->blas,         env->os,     env->runner};
    enum { TEXT_COUNT = sizeof texts / sizeof texts[0] };
    gs_sql_query query = {0};
    gs_status status =
        gs_sql_prepare(sql,
                       "INSERT INTO env(tool_version, git_commit, compiler, cpu, blas, os, runner, "
                       "git_dirty, env_hash) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) "
                       "ON CONFLICT(env_hash) DO UPDATE SET env_hash = env_hash RETURNING env_id",
                       &query, err);
    if (status == GS_OK) {
        uint64_t hash = env->dirty ? 1 : 0;
        for (int i = 0; i < TEXT_COUNT; i++) {
            gs_sql_bind_text(&query, i + 1, texts[i]);
            hash = hash_of_text(hash, texts[i]);
        }
        gs_sql_bind_int(&query, TEXT_COUNT + 1, env->dirty ? 1 : 0);
        gs_sql_bind_hash(&query, TEXT_COUNT + 2, hash);
    }
    return take_id(&query, status, out_id, err);
}

/* A new row, or the old one with every value replaced: other tables may refer to its id. */
static gs_status put_run(gs_store *store, const gs_stored_run *run, const run_place *place,
                         int64_t *out_id, gs_error *err)
{
    gs_sql *sql = &store->sql;
    int64_t scenario_id = 0;
    int64_t strategy_id = 0;
    int64_t env_id = 0;
    GS_TRY(gs_store_put_scenario(sql, &run->scenario, true, &scenario_id, err));
    GS_TRY(gs_store_put_strategy(sql, &run->strategy, &strategy_id, err));
    GS_TRY(put_env(sql, &run->environment, &env_id, err));
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(
        sql,
        "INSERT INTO run(run_key, batch, source, scenario_id, strategy_id, env_id, label, seed, "
        "repeat, status, error_text, result_hash, started_utc, wall_ns) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(run_key) DO UPDATE SET "
        "batch = excluded.batch, scenario_id = excluded.scenario_id, env_id = excluded.env_id, "
        "label = excluded.label, status = excluded.status, error_text = excluded.error_text, "
        "result_hash = excluded.result_hash, started_utc = excluded.started_utc, "
        "wall_ns = excluded.wall_ns RETURNING run_id",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, place->key);
        gs_sql_bind_int(&query, 2, store->batch);
        gs_sql_bind_text(&query, 3, gs_run_source_text(run->source));
        gs_sql_bind_int(&query, 4, scenario_id);
        gs_sql_bind_int(&query, 5, strategy_id);
        gs_sql_bind_int(&query, 6, env_id);
        gs_sql_bind_text(&query, 7, run->label);
        gs_sql_bind_int(&query, 8, (int64_t)run->seed);
        gs_sql_bind_int(&query, 9, place->repeat);
        gs_sql_bind_text(&query, 10, gs_run_status_text(run->status));
        gs_sql_bind_text(&query, 11, run->error_text);
        if (run->exact) {
            gs_sql_bind_hash(&query, 12, run->result_hash);
        }
        gs_sql_bind_text(&query, 13, run->started_utc);
        gs_sql_bind_int(&query, 14, run->wall_ns);
    }
    return take_id(&query, status, out_id, err);
}

/* The key with the first repeat number that is free. */
static gs_status next_repeat(gs_store *store, const gs_stored_run *run, int64_t *out_repeat,
                             gs_error *err)
{
    old_run old = {.id = 1};
    int64_t repeat = -1;
    while (old.id != 0) {
        char key[HASH_TEXT_BYTES];
        repeat++;
        GS_TRY(find_old(store, run, hash_text(key_of(run, repeat), key), &old, err));
    }
    *out_repeat = repeat;
    return GS_OK;
}

gs_status gs_store_take_batch(gs_store *store, gs_error *err)
{
    if (store->batch != 0) {
        return GS_OK;
    }
    GS_TRY(gs_store_query_int(&store->sql, "SELECT coalesce(max(batch), 0) + 1 FROM run",
                              &store->batch, err));
    /* Of runs that are gone: the number may have been another command's. */
    return gs_sql_run(&store->sql,
                      "DELETE FROM answer WHERE batch > (SELECT coalesce(max(batch), 0) FROM run)",
                      err);
}

/* The rows of a run that is new, or may take the place of the old one. */
static gs_status put_all(gs_store *store, const gs_stored_run *run, const run_place *place,
                         int64_t *out_id, gs_error *err)
{
    GS_TRY(check_reproduced(store, run, &place->old, err));
    if (place->old.id != 0) {
        GS_TRY(gs_store_delete_rows(store, place->old.id, err));
    }
    GS_TRY(gs_store_take_batch(store, err));
    GS_TRY(put_run(store, run, place, out_id, err));
    GS_TRY(gs_store_write_rows(store, run, *out_id, err));
    GS_TRY(gs_store_write_predictions(store, run, *out_id, err));
    return run->place == NULL ? GS_OK : gs_store_write_place(store, *out_id, run->place, err);
}

static gs_status write_in_transaction(gs_store *store, const gs_stored_run *run, int64_t *out_id,
                                      gs_error *err)
{
    run_place place = {.repeat = run->repeat};
    GS_TRY(gs_store_write_catalogue(store, err));
    if (run->repeat == GS_REPEAT_NEXT) {
        GS_TRY(next_repeat(store, run, &place.repeat, err));
    }
    (void)hash_text(key_of(run, place.repeat), place.key);
    GS_TRY(find_old(store, run, place.key, &place.old, err));
    if (place.old.id != 0 && !place.old.interrupted && run->status == GS_RUN_INTERRUPTED) {
        *out_id = place.old.id;
        return GS_OK;
    }
    return put_all(store, run, &place, out_id, err);
}

gs_status gs_store_write_run(gs_store *store, const gs_stored_run *run, int64_t *out_id,
                             gs_error *err)
{
    GS_ASSERT(run->repeat >= GS_REPEAT_NEXT);
    GS_ASSERT(run->wall_ns >= 0);
    if (run->label != NULL) {
        GS_TRY(gs_store_check_label(run->label, err));
    }
    GS_TRY(gs_sql_run(&store->sql, "BEGIN IMMEDIATE", err));
    int64_t batch = store->batch;
    bool catalogue_written = store->catalogue_written;
    int64_t id = 0;
    gs_status status = write_in_transaction(store, run, &id, err);
    if (status == GS_OK) {
        status = gs_sql_run(&store->sql, "COMMIT", err);
    }
    if (status != GS_OK) {
        gs_sql_roll_back(&store->sql);
        store->batch = batch;
        store->catalogue_written = catalogue_written;
        return status;
    }
    *out_id = id;
    return GS_OK;
}
