#include "traces/store/store_parts.h"

#include <inttypes.h>
#include <stdio.h>

/* Times are ns, sizes bytes, and names say so. A status or metric name is a row of its own table,
 * so that a new name is no new schema. rank -1 is all ranks added up. */
/* clang-format off */
static const char *const schema_1[] = {
"CREATE TABLE status(\n"
"  status TEXT PRIMARY KEY,\n"
"  help TEXT NOT NULL) STRICT, WITHOUT ROWID",

"CREATE TABLE metric(\n"
"  metric TEXT PRIMARY KEY,\n"
"  unit TEXT NOT NULL,\n"
"  better TEXT NOT NULL CHECK(better IN('lower','higher','none')),\n"
"  exact INTEGER NOT NULL DEFAULT 0,\n"
"  help TEXT NOT NULL) STRICT, WITHOUT ROWID",

"CREATE TABLE scenario(\n"
"  scenario_id INTEGER PRIMARY KEY,\n"
"  name TEXT NOT NULL,\n"
"  config_hash TEXT NOT NULL,\n"
"  config_json TEXT NOT NULL CHECK(json_valid(config_json)), -- resolved, with every default\n"
"  ranks INTEGER NOT NULL,\n"
"  nodes INTEGER NOT NULL,\n"
"  model TEXT NOT NULL,\n"
"  gradient_bytes INTEGER NOT NULL,\n"
"  UNIQUE(config_hash, name)) STRICT",

"CREATE TABLE strategy(\n"
"  strategy_id INTEGER PRIMARY KEY,\n"
"  name TEXT NOT NULL,\n"
"  version TEXT NOT NULL,\n"
"  params_json TEXT NOT NULL CHECK(json_valid(params_json)),\n"
"  UNIQUE(name, version, params_json)) STRICT",

"CREATE TABLE env(\n"
"  env_id INTEGER PRIMARY KEY,\n"
"  tool_version TEXT NOT NULL,\n"
"  git_commit TEXT,\n"
"  git_dirty INTEGER, -- 1: built from a changed tree\n"
"  git_ref TEXT,\n"
"  compiler TEXT,\n"
"  cpu TEXT,\n"
"  gpu TEXT,\n"
"  mpi TEXT,\n"
"  nccl TEXT,\n"
"  blas TEXT, -- accuracy is exact for one BLAS kernel only\n"
"  os TEXT,\n"
"  runner TEXT,\n"
"  env_hash TEXT NOT NULL UNIQUE) STRICT",

"CREATE TABLE run( -- one strategy x scenario x seed, simulated or live\n"
"  run_id INTEGER PRIMARY KEY,\n"
"  run_key TEXT NOT NULL UNIQUE, -- the same key again replaces the run\n"
"  batch INTEGER NOT NULL, -- runs written by one command; the highest is @last\n"
"  source TEXT NOT NULL CHECK(source IN('sim','live','import')),\n"
"  scenario_id INTEGER NOT NULL REFERENCES scenario,\n"
"  strategy_id INTEGER NOT NULL REFERENCES strategy,\n"
"  env_id INTEGER NOT NULL REFERENCES env,\n"
"  label TEXT,\n"
"  seed INTEGER NOT NULL,\n"
"  repeat INTEGER NOT NULL DEFAULT 0 CHECK(repeat >= 0),\n"
"  status TEXT NOT NULL REFERENCES status,\n"
"  error_text TEXT,\n"
"  result_hash TEXT, -- NULL: not reproducible bit for bit\n"
"  started_utc TEXT NOT NULL,\n"
"  wall_ns INTEGER NOT NULL CHECK(wall_ns >= 0)) STRICT",

"CREATE TABLE input(\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  role TEXT NOT NULL,\n"
"  name TEXT NOT NULL,\n"
"  format TEXT NOT NULL,\n"
"  bytes INTEGER NOT NULL,\n"
"  xxh3 TEXT NOT NULL,\n"
"  PRIMARY KEY(run_id, role, name)) STRICT, WITHOUT ROWID",

"CREATE TABLE result(\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  metric TEXT NOT NULL REFERENCES metric,\n"
"  value REAL, -- NULL: not reached or not finite; never a sentinel\n"
"  censored INTEGER NOT NULL DEFAULT 0, -- 1: the value is a lower bound\n"
"  PRIMARY KEY(run_id, metric)) STRICT, WITHOUT ROWID",

"CREATE TABLE step( -- compute + exposed_comm + wait + input + overhead = duration\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  step INTEGER NOT NULL,\n"
"  rank INTEGER NOT NULL,\n"
"  start_ns INTEGER NOT NULL,\n"
"  duration_ns INTEGER NOT NULL,\n"
"  compute_ns INTEGER NOT NULL,\n"
"  comm_ns INTEGER NOT NULL,\n"
"  exposed_comm_ns INTEGER NOT NULL,\n"
"  wait_ns INTEGER NOT NULL,\n"
"  input_ns INTEGER NOT NULL,\n"
"  overhead_ns INTEGER NOT NULL,\n"
"  bytes_sent INTEGER NOT NULL,\n"
"  PRIMARY KEY(run_id, step, rank)) STRICT, WITHOUT ROWID",

"CREATE TABLE curve(\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  step INTEGER NOT NULL,\n"
"  time_ns INTEGER NOT NULL,\n"
"  samples INTEGER NOT NULL,\n"
"  loss REAL,\n"
"  accuracy REAL,\n"
"  PRIMARY KEY(run_id, step)) STRICT, WITHOUT ROWID",

"CREATE TABLE decision( -- adaptive switches, downgrades, fallbacks\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  step INTEGER NOT NULL,\n"
"  seq INTEGER NOT NULL, -- several in one step\n"
"  at_ns INTEGER NOT NULL,\n"
"  from_strategy TEXT NOT NULL,\n"
"  to_strategy TEXT NOT NULL,\n"
"  reason TEXT NOT NULL,\n"
"  evidence_json TEXT CHECK(json_valid(evidence_json)),\n"
"  PRIMARY KEY(run_id, step, seq)) STRICT, WITHOUT ROWID",

"CREATE TABLE series( -- a value over time; the name carries its unit: 'nic_busy_ratio'\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  name TEXT NOT NULL,\n"
"  rank INTEGER NOT NULL DEFAULT -1,\n"
"  at_ns INTEGER NOT NULL,\n"
"  value REAL,\n"
"  PRIMARY KEY(run_id, name, rank, at_ns)) STRICT, WITHOUT ROWID",

"CREATE TABLE histogram( -- how many values lay in [low, high); the name carries their unit\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  name TEXT NOT NULL,\n"
"  rank INTEGER NOT NULL DEFAULT -1,\n"
"  low REAL NOT NULL,\n"
"  high REAL NOT NULL,\n"
"  count INTEGER NOT NULL CHECK(count >= 0),\n"
"  PRIMARY KEY(run_id, name, rank, low)) STRICT, WITHOUT ROWID",

"CREATE TABLE fault( -- what happened to the cluster, and what it cost\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  seq INTEGER NOT NULL,\n"
"  kind TEXT NOT NULL,\n"
"  target TEXT NOT NULL, -- 'rank:3', 'node:1', 'link:nic/2'\n"
"  at_ns INTEGER NOT NULL,\n"
"  detected_ns INTEGER,\n"
"  recovered_ns INTEGER,\n"
"  lost_ns INTEGER, -- later end of the run than without it\n"
"  lost_samples INTEGER, -- work done again or dropped\n"
"  PRIMARY KEY(run_id, seq)) STRICT, WITHOUT ROWID",

"CREATE TABLE validation( -- a prediction, written before the measurement that judges it\n"
"  predicted_run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  metric TEXT NOT NULL REFERENCES metric,\n"
"  predicted REAL,\n"
"  predicted_low REAL,\n"
"  predicted_high REAL,\n"
"  predicted_utc TEXT NOT NULL,\n"
"  measured_run_id INTEGER REFERENCES run ON DELETE CASCADE,\n"
"  measured REAL,\n"
"  measured_count INTEGER,\n"
"  measured_utc TEXT,\n"
"  tolerance_ratio REAL NOT NULL,\n"
"  verdict TEXT NOT NULL CHECK(verdict IN('pending','inside','outside')),\n"
"  reason TEXT,\n"
"  UNIQUE(predicted_run_id, metric, measured_run_id)) STRICT",

"CREATE TABLE sweep_point(\n"
"  sweep_key TEXT NOT NULL, -- hash of scenario and dimensions: a sweep resumes by it\n"
"  point INTEGER NOT NULL,\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  overrides_json TEXT NOT NULL CHECK(json_valid(overrides_json)),\n"
"  rung INTEGER NOT NULL DEFAULT 0,\n"
"  pruned INTEGER NOT NULL DEFAULT 0, -- 1: stopped after this rung\n"
"  PRIMARY KEY(sweep_key, point, run_id)) STRICT, WITHOUT ROWID",

"CREATE TABLE baseline(\n"
"  name TEXT PRIMARY KEY,\n"
"  git_commit TEXT NOT NULL,\n"
"  set_utc TEXT NOT NULL,\n"
"  note TEXT) STRICT",

"CREATE TABLE comparison(\n"
"  comparison_id INTEGER PRIMARY KEY,\n"
"  made_utc TEXT NOT NULL,\n"
"  baseline_sel TEXT NOT NULL,\n"
"  candidate_sel TEXT NOT NULL,\n"
"  pairing TEXT NOT NULL CHECK(pairing IN('seed','none')),\n"
"  method TEXT NOT NULL,\n"
"  alpha REAL NOT NULL,\n"
"  correction TEXT NOT NULL,\n"
"  gate_json TEXT NOT NULL CHECK(json_valid(gate_json)),\n"
"  verdict TEXT NOT NULL CHECK(verdict IN('pass','fail','inconclusive','invalid')),\n"
"  exit_code INTEGER NOT NULL) STRICT",

"CREATE TABLE verdict(\n"
"  comparison_id INTEGER NOT NULL REFERENCES comparison ON DELETE CASCADE,\n"
"  scenario_id INTEGER NOT NULL REFERENCES scenario,\n"
"  strategy_id INTEGER NOT NULL REFERENCES strategy,\n"
"  metric TEXT NOT NULL REFERENCES metric,\n"
"  n_base INTEGER NOT NULL,\n"
"  n_cand INTEGER NOT NULL,\n"
"  failed_base INTEGER NOT NULL,\n"
"  failed_cand INTEGER NOT NULL,\n"
"  base REAL,\n"
"  cand REAL,\n"
"  ratio REAL,\n"
"  ratio_lo REAL,\n"
"  ratio_hi REAL,\n"
"  p_raw REAL,\n"
"  p_adjusted REAL,\n"
"  threshold_ratio REAL NOT NULL,\n"
"  min_detectable_ratio REAL,\n"
"  verdict TEXT NOT NULL CHECK(verdict IN('better','worse','same','inconclusive','invalid','new',\n"
"    'missing','acknowledged')),\n"
"  reason TEXT NOT NULL,\n"
"  PRIMARY KEY(comparison_id, scenario_id, strategy_id, metric)) STRICT, WITHOUT ROWID",

"CREATE TABLE ack( -- an accepted change; the history of a metric starts anew at its commit\n"
"  scenario_id INTEGER,\n"
"  strategy_id INTEGER,\n"
"  metric TEXT NOT NULL,\n"
"  git_commit TEXT NOT NULL,\n"
"  who TEXT NOT NULL,\n"
"  why TEXT NOT NULL,\n"
"  until_utc TEXT) STRICT",

"CREATE INDEX run_find ON run(scenario_id, strategy_id, env_id, seed)",
"CREATE INDEX run_batch ON run(batch)",
"CREATE INDEX run_label ON run(label)",

"CREATE VIEW run_flat AS\n"
"  SELECT r.run_id, r.batch, r.source, r.label, r.seed, r.repeat, r.status, s.name AS scenario,\n"
"    t.name AS strategy, t.params_json, e.git_commit, e.tool_version, x.metric, x.value,\n"
"    x.censored, m.unit\n"
"  FROM run r JOIN scenario s USING(scenario_id) JOIN strategy t USING(strategy_id)\n"
"    JOIN env e USING(env_id) LEFT JOIN result x USING(run_id)\n"
"    LEFT JOIN metric m ON m.metric = x.metric",
NULL};

/* Schema 2: predictions get a table of their own, with the time at which they were first stored, and
 * judgements more to say. No program of schema 1 wrote to validation; rows that a user put there
 * move along. Simulated runs of before are predictions too: they were stored when they ended. */
static const char *const schema_2[] = {
"CREATE TABLE prediction( -- what a simulated run foretells, and since when\n"
"  run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  metric TEXT NOT NULL,\n"
"  value REAL, -- NULL: that the target is not reached\n"
"  predicted_utc TEXT NOT NULL, -- when this value was stored first\n"
"  PRIMARY KEY(run_id, metric)) STRICT, WITHOUT ROWID",

"ALTER TABLE validation RENAME TO validation_of_schema_1",

"CREATE TABLE validation( -- predictions held against what was measured\n"
"  validation_id INTEGER PRIMARY KEY,\n"
"  predicted_run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  measured_run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,\n"
"  metric TEXT NOT NULL,\n"
"  rank INTEGER NOT NULL DEFAULT -1,\n"
"  predicted_count INTEGER NOT NULL,\n"
"  predicted REAL,\n"
"  predicted_low REAL,\n"
"  predicted_high REAL,\n"
"  predicted_utc TEXT,\n"
"  measured_count INTEGER NOT NULL,\n"
"  measured REAL,\n"
"  measured_low REAL,\n"
"  measured_high REAL,\n"
"  measured_utc TEXT NOT NULL,\n"
"  blind INTEGER NOT NULL, -- 1: stored before the measurement began\n"
"  yardstick TEXT NOT NULL CHECK(yardstick IN('measured','step','difference')),\n"
"  error REAL,\n"
"  tolerance REAL NOT NULL,\n"
"  verdict TEXT NOT NULL CHECK(verdict IN('inside','outside')),\n"
"  reason TEXT,\n"
"  judged_utc TEXT NOT NULL,\n"
"  UNIQUE(predicted_run_id, measured_run_id, metric, rank)) STRICT",

"INSERT OR IGNORE INTO prediction\n"
"  SELECT predicted_run_id, metric, predicted, predicted_utc FROM validation_of_schema_1",

"INSERT INTO validation(predicted_run_id, measured_run_id, metric, predicted_count, predicted,\n"
"    predicted_low, predicted_high, predicted_utc, measured_count, measured, measured_utc, blind,\n"
"    yardstick, error, tolerance, verdict, reason, judged_utc)\n"
"  SELECT v.predicted_run_id, v.measured_run_id, v.metric, 1, v.predicted, v.predicted_low,\n"
"    v.predicted_high, v.predicted_utc, coalesce(v.measured_count, 1), v.measured,\n"
"    r.started_utc, v.predicted_utc <= r.started_utc, 'measured',\n"
"    v.predicted / v.measured - 1, v.tolerance_ratio, v.verdict, v.reason,\n"
"    coalesce(v.measured_utc, r.started_utc)\n"
"  FROM validation_of_schema_1 v JOIN run r ON r.run_id = v.measured_run_id\n"
"  WHERE v.verdict <> 'pending'",

"DROP TABLE validation_of_schema_1",

"INSERT OR IGNORE INTO prediction\n"
"  SELECT run_id, metric, iif(censored, NULL, value),\n"
"    coalesce(strftime('%Y-%m-%dT%H:%M:%SZ', started_utc,\n"
"      (wall_ns / 1000000000 + 1) || ' seconds'), started_utc)\n"
"  FROM run JOIN result USING(run_id)\n"
"  WHERE source = 'sim' AND status IN('ok', 'recovered') AND (censored OR value IS NOT NULL)\n"
"    AND metric IN('step_p50_ns', 'step_p95_ns', 'exposed_comm_ns', 'wait_ns',\n"
"      'wire_bytes_per_step', 'time_to_target_ns', 'final_accuracy', 'final_bits_per_char')",
NULL};

/* Schema 3: a baseline holds runs, by key, so that a merged database keeps them, and what they were
 * when it was set; no program of before has set one. An ack says when, and which change it saw. */
static const char *const schema_3[] = {
"CREATE TABLE baseline_run(\n"
"  name TEXT NOT NULL REFERENCES baseline ON DELETE CASCADE,\n"
"  run_key TEXT NOT NULL, -- of run; that a run is not there any more must show\n"
"  mark TEXT NOT NULL, -- its result_hash; of one without: its started_utc\n"
"  PRIMARY KEY(name, run_key)) STRICT, WITHOUT ROWID",
"ALTER TABLE ack ADD COLUMN made_utc TEXT NOT NULL DEFAULT ''",
"ALTER TABLE ack ADD COLUMN ratio REAL",
NULL};

/* Schema 4: an ack holds up to a value, and as long as the base is the one that it was about: a
 * time alone would end it with the next push to the base's branch. Answers stay with their runs. */
static const char *const schema_4[] = {
"ALTER TABLE ack ADD COLUMN base REAL",
"ALTER TABLE ack ADD COLUMN worst REAL",
"CREATE TABLE answer( -- what a command has said of its runs\n"
"  batch INTEGER PRIMARY KEY,\n"
"  verb TEXT NOT NULL,\n"
"  text TEXT NOT NULL) STRICT",
NULL};

/* Schema 5: where in a map of a sweep the scenario itself lies. Of NULL some SQLite say that it is
 * not valid. */
static const char *const schema_5[] = {
"ALTER TABLE sweep_point ADD COLUMN own_json TEXT\n"
"  CHECK(own_json IS NULL OR json_valid(own_json))",
NULL};

const gs_store_migration gs_store_migrations[] = {{schema_1}, {schema_2}, {schema_3}, {schema_4},
                                                  {schema_5}};
/* clang-format on */
const int64_t gs_store_schema_version = sizeof gs_store_migrations / sizeof gs_store_migrations[0];

gs_status gs_store_query_int(gs_sql *sql, const char *text, int64_t *out, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    int64_t value = 0;
    gs_status status = gs_sql_prepare(sql, text, &query, err);
    if (status == GS_OK) {
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        value = gs_sql_int(&query, 0);
    }
    gs_sql_finish(&query);
    if (status == GS_OK) {
        *out = value;
    }
    return status;
}

static gs_status refuse_foreign(gs_sql *sql, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        sql, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name LIMIT 1", &query,
        err);
    if (status == GS_OK) {
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && row) {
        status = gs_fail(err, GS_EPARSE,
                         "%s: belongs to another program (it has a table \"%s\"); use another --db",
                         sql->path, gs_sql_text(&query, 0));
    }
    gs_sql_finish(&query);
    return status;
}

/* Version of our database, 0 for an empty file; refuses what is not ours, too new or no version. */
static gs_status read_version(gs_sql *sql, int64_t newest, int64_t *out, gs_error *err)
{
    int64_t application = 0;
    int64_t version = 0;
    GS_TRY(gs_store_query_int(sql, "PRAGMA application_id", &application, err));
    GS_TRY(gs_store_query_int(sql, "PRAGMA user_version", &version, err));
    if (application != GS_STORE_APPLICATION) {
        GS_TRY(refuse_foreign(sql, err));
        version = 0;
    }
    if (version < 0) {
        return gs_fail(err, GS_EPARSE,
                       "%s: its schema is %" PRId64
                       ", which no gradsync has written; restore a copy, or use another --db",
                       sql->path, version);
    }
    if (version > newest) {
        return gs_fail(err, GS_EVERSION,
                       "%s: made by a newer gradsync (its schema is %" PRId64
                       ", this gradsync knows up to %" PRId64
                       "); use a newer gradsync or another --db",
                       sql->path, version, newest);
    }
    *out = version;
    return GS_OK;
}

static gs_status apply_one(gs_sql *sql, const gs_store_migration *step, gs_error *err)
{
    for (const char *const *statement = step->statements; *statement != NULL; statement++) {
        GS_TRY(gs_sql_run(sql, *statement, err));
    }
    return GS_OK;
}

static gs_status apply(gs_sql *sql, const gs_store_migration *steps, int64_t from, int64_t to,
                       gs_error *err)
{
    for (int64_t i = from; i < to; i++) {
        GS_TRY(apply_one(sql, &steps[i], err));
    }
    char text[96];
    (void)snprintf(text, sizeof text, "PRAGMA application_id = %d; PRAGMA user_version = %" PRId64,
                   GS_STORE_APPLICATION, to);
    return gs_sql_run(sql, text, err);
}

gs_status gs_store_migrate(gs_sql *sql, const gs_store_migration *steps, int64_t step_count,
                           gs_error *err)
{
    int64_t version = 0;
    GS_TRY(read_version(sql, step_count, &version, err));
    if (version == step_count) {
        return GS_OK;
    }
    if (version > 0 && gs_sql_is_read_only(sql)) {
        return gs_fail(err, GS_EIO,
                       "%s: made by an older gradsync (its schema is %" PRId64
                       ", today's is %" PRId64 "), and bringing it up to date needs writing, which "
                       "the file does not allow; allow it, or use a copy with --db",
                       sql->path, version, step_count);
    }
    /* Another process may have done it since: look again under the lock. */
    GS_TRY(gs_sql_run(sql, "BEGIN IMMEDIATE", err));
    gs_status status = read_version(sql, step_count, &version, err);
    if (status == GS_OK && version < step_count) {
        status = apply(sql, steps, version, step_count, err);
    }
    if (status == GS_OK) {
        status = gs_sql_run(sql, "COMMIT", err);
    }
    if (status != GS_OK) {
        gs_sql_roll_back(sql);
    }
    return status;
}
