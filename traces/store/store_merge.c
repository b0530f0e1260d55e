#include "traces/store/store_merge.h"

#include "base/assert.h"
#include "traces/store/store_parts.h"
#include "traces/store/store_sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEXT_BYTES = 2048, PATH_BYTES = 4096 };

typedef struct merge {
    gs_sql *sql; /* of the database that takes; the other one is attached as `other` */
    const char *from;
    char copy[PATH_BYTES]; /* of an older one, brought up to date; "": none */
    gs_store *source;      /* the other one, or its copy */
    bool is_attached;
} merge;

/* Measurements whose key somebody else has taken. */
#define TAKEN                                                                                      \
    " FROM other.run o JOIN main.run m USING(run_key)"                                             \
    " WHERE o.result_hash IS NULL AND o.source = 'live'"                                           \
    " AND o.run_id NOT IN (SELECT old FROM temp.measured)"

static gs_status query_int(const merge *all, const char *text, int64_t *out, gs_error *err)
{
    return gs_store_query_int(all->sql, text, out, err);
}

/* --- the other file --------------------------------------------------------------------------- */

static gs_status refuse_itself(const gs_store *into, const char *from, gs_error *err)
{
    struct stat own;
    struct stat other;
    if (stat(into->sql.path, &own) == 0 && stat(from, &other) == 0 && own.st_dev == other.st_dev &&
        own.st_ino == other.st_ino) {
        return gs_fail(err, GS_EINVAL, "%s: is the database that it would be merged into", from);
    }
    return GS_OK;
}

static gs_status bind_and_run(gs_sql *sql, const char *text, const char *value, gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(sql, text, &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, value);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    return status;
}

/* A copy of what is older, so that the file itself stays as it is. */
static gs_status copy_older(merge *all, gs_error *err)
{
    gs_sql sql = {0};
    int64_t version = 0;
    int64_t application = 0;
    GS_TRY(gs_sql_open(all->from, false, &sql, err));
    gs_status status = gs_store_query_int(&sql, "PRAGMA application_id", &application, err);
    if (status == GS_OK) {
        status = gs_store_query_int(&sql, "PRAGMA user_version", &version, err);
    }
    if (status == GS_OK && application == GS_STORE_APPLICATION &&
        version < gs_store_schema_version) {
        int used =
            snprintf(all->copy, sizeof all->copy, "%s.merged-%ld", all->sql->path, (long)getpid());
        if (used < 0 || (size_t)used >= sizeof all->copy) {
            all->copy[0] = '\0';
            status = gs_fail(err, GS_ELIMIT, "%s: its path is too long", all->sql->path);
        } else {
            (void)unlink(all->copy); /* of a process of that number that was killed */
            status = bind_and_run(&sql, "VACUUM INTO ?", all->copy, err);
        }
    }
    gs_sql_close(&sql);
    return status;
}

static gs_status open_other(merge *all, gs_error *err)
{
    struct stat facts;
    if (stat(all->from, &facts) != 0) {
        return gs_fail(err, GS_ENOTFOUND, "%s: no such database", all->from);
    }
    if (!S_ISREG(facts.st_mode)) {
        return gs_fail(err, GS_EINVAL, "%s: not a database file", all->from);
    }
    GS_TRY(copy_older(all, err));
    const char *path = all->copy[0] == '\0' ? all->from : all->copy;
    GS_TRY(gs_store_open(path, GS_STORE_READ, &all->source, err));
    GS_TRY(bind_and_run(all->sql, "ATTACH DATABASE ? AS other", path, err));
    all->is_attached = true;
    return GS_OK;
}

static void close_other(merge *all)
{
    if (all->is_attached) {
        gs_status off = gs_sql_run(all->sql, "DETACH DATABASE other", NULL);
        GS_ASSERT(off == GS_OK); /* else a statement or a transaction of ours is open */
    }
    gs_store_close(all->source);
    if (all->copy[0] != '\0') {
        (void)unlink(all->copy);
    }
}

/* --- conflicts -------------------------------------------------------------------------------- */

/* The same program, commit and kernels must come to the same result. */
static gs_status check_conflicts(const merge *all, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        all->sql,
        "SELECT s.name, t.name, o.seed, m.result_hash, o.result_hash, e.git_commit, m.run_id "
        "FROM other.run o JOIN main.run m USING(run_key) "
        "JOIN main.scenario s ON s.scenario_id = m.scenario_id "
        "JOIN main.strategy t ON t.strategy_id = m.strategy_id "
        "JOIN main.env e ON e.env_id = m.env_id JOIN other.env f ON f.env_id = o.env_id "
        "WHERE m.result_hash <> o.result_hash AND NOT e.git_dirty AND NOT f.git_dirty "
        "AND e.blas IS f.blas ORDER BY o.run_id",
        &query, err);
    if (status == GS_OK) {
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        status = gs_fail(err, GS_EMISMATCH,
                         "%s: %s, %s, seed %" PRId64 " has the result %s here (run %" PRId64
                         ") and %s there, from the same commit %s; nothing was merged; one of the "
                         "files was changed, or the run is not reproducible",
                         all->from, gs_sql_text(&query, 0), gs_sql_text(&query, 1),
                         gs_sql_int(&query, 2), gs_sql_text(&query, 3), gs_sql_int(&query, 6),
                         gs_sql_text(&query, 4), gs_sql_text(&query, 5));
    }
    gs_sql_finish(&query);
    return status;
}

/* --- measurements whose number is taken ------------------------------------------------------- */

static gs_status is_taken(const merge *all, uint64_t key, bool *out, gs_error *err)
{
    gs_sql_query query = {0};
    gs_status status = gs_sql_prepare(all->sql,
                                      "SELECT 1 FROM main.run WHERE run_key = ?1 UNION ALL "
                                      "SELECT 1 FROM other.run WHERE run_key = ?1 UNION ALL "
                                      "SELECT 1 FROM temp.renumbered WHERE run_key = ?1",
                                      &query, err);
    if (status == GS_OK) {
        gs_sql_bind_hash(&query, 1, key);
        status = gs_sql_step(&query, out, err);
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status renumber(merge *all, int64_t run_id, gs_error *err)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_stored_run run;
    gs_sql_query query = {0};
    bool taken = true;
    gs_status status = gs_store_read_run(all->source, run_id, &arena, &run, err);
    for (run.repeat = 0; status == GS_OK && taken; run.repeat += taken ? 1 : 0) {
        status = is_taken(all, gs_store_run_key(&run), &taken, err);
    }
    if (status == GS_OK) {
        status =
            gs_sql_prepare(all->sql, "INSERT INTO temp.renumbered VALUES(?, ?, ?)", &query, err);
    }
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        gs_sql_bind_hash(&query, 2, gs_store_run_key(&run));
        gs_sql_bind_int(&query, 3, run.repeat);
        status = gs_sql_done(&query, err);
    }
    gs_sql_finish(&query);
    gs_arena_fini(&arena);
    return status;
}

static gs_status renumber_all(merge *all, gs_merged *out, gs_error *err)
{
    /* A measurement is known by when it began and what it took: its number may be another here. */
    GS_TRY(gs_sql_run(all->sql,
                      "CREATE TEMP TABLE measured AS SELECT o.run_id AS old, min(m.run_id) AS new "
                      "FROM other.run o JOIN main.run m USING(source, seed, started_utc, wall_ns) "
                      "WHERE o.source = 'live' AND o.result_hash IS NULL GROUP BY o.run_id",
                      err));
    GS_TRY(gs_sql_run(all->sql,
                      "CREATE TEMP TABLE renumbered(run_id INTEGER PRIMARY KEY, run_key TEXT, "
                      "repeat INTEGER)",
                      err));
    gs_status status = GS_OK;
    bool row = true;
    int64_t after = 0;
    while (status == GS_OK && row) {
        gs_sql_query query = {0};
        status = gs_sql_prepare(all->sql,
                                "SELECT o.run_id" TAKEN " AND o.run_id > ? "
                                "ORDER BY o.run_id LIMIT 1",
                                &query, err);
        if (status == GS_OK) {
            gs_sql_bind_int(&query, 1, after);
            status = gs_sql_step(&query, &row, err);
        }
        if (status == GS_OK && row) {
            after = gs_sql_int(&query, 0);
        }
        gs_sql_finish(&query);
        if (status == GS_OK && row) {
            out->renumbered++;
            status = renumber(all, after, err);
        }
    }
    return status;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Which run of the other one is which here; is_new: its rows come along. */
static const char *const run_statements[] = {
    "INSERT OR IGNORE INTO main.status SELECT * FROM other.status",
    "INSERT OR IGNORE INTO main.metric SELECT * FROM other.metric",
    "INSERT OR IGNORE INTO main.scenario(name, config_hash, config_json, ranks, nodes, model, "
    "gradient_bytes) SELECT name, config_hash, config_json, ranks, nodes, model, gradient_bytes "
    "FROM other.scenario",
    "INSERT OR IGNORE INTO main.strategy(name, version, params_json) "
    "SELECT name, version, params_json FROM other.strategy",
    "INSERT OR IGNORE INTO main.env(tool_version, git_commit, git_dirty, git_ref, compiler, cpu, "
    "gpu, mpi, nccl, blas, os, runner, env_hash) SELECT tool_version, git_commit, git_dirty, "
    "git_ref, compiler, cpu, gpu, mpi, nccl, blas, os, runner, env_hash FROM other.env",
    /* A run that was interrupted here and ended there keeps its id and gets all else. */
    "CREATE TEMP TABLE mapped AS SELECT o.run_id AS old, m.run_id AS new, "
    "  m.status = 'interrupted' AND o.status <> 'interrupted' AS is_new "
    "FROM other.run o JOIN main.run m USING(run_key) "
    "WHERE o.run_id NOT IN (SELECT run_id FROM temp.renumbered) "
    "  AND o.run_id NOT IN (SELECT old FROM temp.measured) "
    "UNION ALL SELECT old, new, 0 FROM temp.measured",
    "INSERT INTO main.run(run_key, batch, source, scenario_id, strategy_id, env_id, label, seed, "
    "  repeat, status, error_text, result_hash, started_utc, wall_ns) "
    "SELECT coalesce(n.run_key, o.run_key), o.batch + (SELECT first FROM temp.batches), o.source, "
    "  s.scenario_id, t.strategy_id, e.env_id, o.label, o.seed, coalesce(n.repeat, o.repeat), "
    "  o.status, o.error_text, o.result_hash, o.started_utc, o.wall_ns "
    "FROM other.run o JOIN other.scenario os ON os.scenario_id = o.scenario_id "
    "  JOIN main.scenario s ON s.config_hash = os.config_hash AND s.name = os.name "
    "  JOIN other.strategy ot ON ot.strategy_id = o.strategy_id "
    "  JOIN main.strategy t ON t.name = ot.name AND t.version = ot.version "
    "    AND t.params_json = ot.params_json "
    "  JOIN other.env oe ON oe.env_id = o.env_id JOIN main.env e ON e.env_hash = oe.env_hash "
    "  LEFT JOIN temp.renumbered n ON n.run_id = o.run_id "
    "WHERE o.run_id NOT IN (SELECT old FROM temp.mapped WHERE NOT is_new) "
    "ORDER BY o.run_id "
    "ON CONFLICT(run_key) DO UPDATE SET batch = excluded.batch, env_id = excluded.env_id, "
    "  label = excluded.label, status = excluded.status, error_text = excluded.error_text, "
    "  result_hash = excluded.result_hash, started_utc = excluded.started_utc, "
    "  wall_ns = excluded.wall_ns",
    "INSERT INTO temp.mapped SELECT o.run_id, m.run_id, 1 FROM other.run o "
    "  LEFT JOIN temp.renumbered n ON n.run_id = o.run_id "
    "  JOIN main.run m ON m.run_key = coalesce(n.run_key, o.run_key) "
    "WHERE o.run_id NOT IN (SELECT old FROM temp.mapped)",
};

/* Of one run each, and nothing else. */
static const char *const parts[] = {"input",  "result", "step",       "curve",    "decision",
                                    "series", "fault",  "prediction", "histogram"};

static const char *const other_statements[] = {
    "INSERT OR IGNORE INTO main.sweep_point SELECT p.sweep_key, p.point, r.new, p.overrides_json, "
    "  p.rung, p.pruned, p.own_json FROM other.sweep_point p JOIN temp.mapped r ON r.old = "
    "p.run_id",
    "INSERT OR IGNORE INTO main.validation(predicted_run_id, measured_run_id, metric, rank, "
    "  predicted_count, predicted, predicted_low, predicted_high, predicted_utc, measured_count, "
    "  measured, measured_low, measured_high, measured_utc, blind, yardstick, error, tolerance, "
    "  verdict, reason, judged_utc) "
    "SELECT p.new, q.new, metric, rank, predicted_count, predicted, predicted_low, "
    "  predicted_high, predicted_utc, measured_count, measured, measured_low, measured_high, "
    "  measured_utc, blind, yardstick, error, tolerance, verdict, reason, judged_utc "
    "FROM other.validation v JOIN temp.mapped p ON p.old = v.predicted_run_id "
    "  JOIN temp.mapped q ON q.old = v.measured_run_id ORDER BY validation_id",
    "INSERT INTO main.ack(scenario_id, strategy_id, metric, git_commit, who, why, until_utc, "
    "  made_utc, ratio, base, worst) "
    "SELECT s.scenario_id, t.strategy_id, a.metric, a.git_commit, a.who, a.why, a.until_utc, "
    "  a.made_utc, a.ratio, a.base, a.worst FROM other.ack a "
    "  LEFT JOIN other.scenario os ON os.scenario_id = a.scenario_id "
    "  LEFT JOIN main.scenario s ON s.config_hash = os.config_hash AND s.name = os.name "
    "  LEFT JOIN other.strategy ot ON ot.strategy_id = a.strategy_id "
    "  LEFT JOIN main.strategy t ON t.name = ot.name AND t.version = ot.version "
    "    AND t.params_json = ot.params_json "
    "WHERE NOT EXISTS (SELECT 1 FROM main.ack b WHERE (b.scenario_id, b.strategy_id, b.metric, "
    "  b.git_commit, b.who, b.why, b.worst) IS (s.scenario_id, t.strategy_id, a.metric, "
    "  a.git_commit, a.who, a.why, a.worst))",
    "INSERT OR IGNORE INTO main.answer SELECT batch + (SELECT first FROM temp.batches), verb, text "
    "  FROM other.answer",
    "CREATE TEMP TABLE named AS SELECT name FROM other.baseline WHERE name NOT IN "
    "  (SELECT name FROM main.baseline)",
    "INSERT INTO main.baseline SELECT * FROM other.baseline "
    "  WHERE name IN (SELECT name FROM temp.named)",
    "INSERT INTO main.baseline_run SELECT * FROM other.baseline_run "
    "  WHERE name IN (SELECT name FROM temp.named)",
    "DROP TABLE temp.named",
};

/* Columns of a table but run_id, which the new one takes the place of. */
static gs_status copy_part(const merge *all, const char *table, gs_error *err)
{
    char columns[TEXT_BYTES];
    char text[3 * TEXT_BYTES];
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(all->sql,
                                      "SELECT group_concat(name, ', ') FROM pragma_table_info(?) "
                                      "WHERE name <> 'run_id'",
                                      &query, err);
    if (status == GS_OK) {
        gs_sql_bind_text(&query, 1, table);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK) {
        int used = snprintf(columns, sizeof columns, "%s", gs_sql_text(&query, 0));
        GS_ASSERT(used > 0 && (size_t)used < sizeof columns);
    }
    gs_sql_finish(&query);
    GS_TRY(status);
    (void)snprintf(text, sizeof text,
                   "DELETE FROM main.%s WHERE run_id IN (SELECT new FROM temp.mapped WHERE is_new)",
                   table);
    GS_TRY(gs_sql_run(all->sql, text, err));
    (void)snprintf(text, sizeof text,
                   "INSERT INTO main.%s(run_id, %s) SELECT m.new, %s FROM other.%s "
                   "JOIN temp.mapped m ON m.old = run_id WHERE m.is_new",
                   table, columns, columns, table);
    return gs_sql_run(all->sql, text, err);
}

static gs_status run_all(const merge *all, const char *const *statements, size_t count,
                         gs_error *err)
{
    for (size_t i = 0; i < count; i++) {
        GS_TRY(gs_sql_run(all->sql, statements[i], err));
    }
    return GS_OK;
}

static gs_status count_runs(const merge *all, gs_merged *out, gs_error *err)
{
    int64_t mapped = 0;
    GS_TRY(query_int(all, "SELECT count(*) FROM temp.mapped WHERE NOT is_new", &out->same, err));
    GS_TRY(query_int(all, "SELECT count(*) FROM temp.mapped WHERE is_new", &out->completed, err));
    GS_TRY(query_int(all, "SELECT count(*) FROM other.run", &mapped, err));
    out->added = mapped - out->same - out->completed;
    return GS_OK;
}

static gs_status merge_rows(merge *all, gs_merged *out, gs_error *err)
{
    enum { UNTIL_MAPPED = 6 };
    const size_t run_count = sizeof run_statements / sizeof *run_statements;
    GS_TRY(check_conflicts(all, err));
    GS_TRY(gs_sql_run(all->sql,
                      "CREATE TEMP TABLE batches AS SELECT coalesce(max(batch), 0) AS first "
                      "FROM main.run",
                      err));
    GS_TRY(renumber_all(all, out, err));
    GS_TRY(run_all(all, run_statements, UNTIL_MAPPED, err));
    GS_TRY(count_runs(all, out, err));
    GS_TRY(run_all(all, run_statements + UNTIL_MAPPED, run_count - UNTIL_MAPPED, err));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        GS_TRY(copy_part(all, parts[i], err));
    }
    return run_all(all, other_statements, sizeof other_statements / sizeof *other_statements, err);
}

static gs_status merge_in_transaction(merge *all, gs_merged *out, gs_error *err)
{
    GS_TRY(gs_sql_run(all->sql, "BEGIN IMMEDIATE", err));
    gs_status status = merge_rows(all, out, err);
    if (status == GS_OK) {
        status = gs_sql_run(all->sql,
                            "DROP TABLE temp.mapped; DROP TABLE temp.renumbered; "
                            "DROP TABLE temp.measured; "
                            "DROP TABLE temp.batches; COMMIT",
                            err);
    }
    if (status != GS_OK) {
        gs_sql_roll_back(all->sql); /* takes the temporary tables along */
    }
    return status;
}

gs_status gs_store_merge(gs_store *into, const char *from, gs_merged *out, gs_error *err)
{
    merge all = {.sql = &into->sql, .from = from};
    *out = (gs_merged){0};
    GS_TRY(refuse_itself(into, from, err));
    gs_status status = open_other(&all, err);
    if (status == GS_OK) {
        status = merge_in_transaction(&all, out, err);
    }
    close_other(&all);
    return status;
}
