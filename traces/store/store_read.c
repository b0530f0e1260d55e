#include "traces/store/store.h"

#include "traces/store/store_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static gs_status fail_memory(const gs_store *store, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: %s", store->sql.path, gs_status_text(GS_ENOMEM));
}

const char *gs_store_take_text(const gs_sql_query *query, int column, gs_arena *arena, bool *ok)
{
    const char *text = gs_sql_text(query, column);
    if (text == NULL) {
        return NULL;
    }
    const char *copy = gs_arena_text(arena, text);
    *ok = *ok && copy != NULL;
    return copy;
}

static uint64_t hash_at(const gs_sql_query *query, int column)
{
    const char *text = gs_sql_text(query, column);
    return text == NULL ? 0 : strtoull(text, NULL, 16);
}

static gs_run_status status_at(const gs_sql_query *query, int column)
{
    const char *text = gs_sql_text(query, column);
    for (int i = 0; text != NULL && i < GS_RUN_STATUS_COUNT; i++) {
        if (strcmp(text, gs_run_status_text((gs_run_status)i)) == 0) {
            return (gs_run_status)i;
        }
    }
    return GS_RUN_ERROR; /* a name of a newer build */
}

static gs_run_source source_at(const gs_sql_query *query, int column)
{
    const char *text = gs_sql_text(query, column);
    for (int i = GS_SOURCE_SIM; text != NULL && i < GS_SOURCE_IMPORT; i++) {
        if (strcmp(text, gs_run_source_text((gs_run_source)i)) == 0) {
            return (gs_run_source)i;
        }
    }
    return GS_SOURCE_IMPORT; /* the only one left: the table allows no other */
}

/* Columns of the query in read_facts, in their order. */
static bool take_facts(const gs_sql_query *query, gs_arena *arena, gs_stored_run *out)
{
    bool ok = true;
    *out = (gs_stored_run){
        .source = source_at(query, 0),
        .status = status_at(query, 1),
        .label = gs_store_take_text(query, 2, arena, &ok),
        .seed = (uint64_t)gs_sql_int(query, 3),
        .repeat = gs_sql_int(query, 4),
        .error_text = gs_store_take_text(query, 5, arena, &ok),
        .exact = gs_sql_text(query, 6) != NULL,
        .result_hash = hash_at(query, 6),
        .started_utc = gs_store_take_text(query, 7, arena, &ok),
        .wall_ns = gs_sql_int(query, 8),
        .scenario = {.name = gs_store_take_text(query, 9, arena, &ok),
                     .config_hash = hash_at(query, 10),
                     .config_json = gs_store_take_text(query, 11, arena, &ok),
                     .ranks = gs_sql_int(query, 12),
                     .nodes = gs_sql_int(query, 13),
                     .model = gs_store_take_text(query, 14, arena, &ok),
                     .gradient_bytes = gs_sql_int(query, 15)},
        .strategy = {.name = gs_store_take_text(query, 16, arena, &ok),
                     .version = gs_store_take_text(query, 17, arena, &ok),
                     .params_json = gs_store_take_text(query, 18, arena, &ok)},
        .environment = {.tool_version = gs_store_take_text(query, 19, arena, &ok),
                        .commit = gs_store_take_text(query, 20, arena, &ok),
                        .dirty = gs_sql_int(query, 21) != 0,
                        .compiler = gs_store_take_text(query, 22, arena, &ok),
                        .cpu = gs_store_take_text(query, 23, arena, &ok),
                        .blas = gs_store_take_text(query, 24, arena, &ok),
                        .os = gs_store_take_text(query, 25, arena, &ok),
                        .runner = gs_store_take_text(query, 26, arena, &ok)},
    };
    return ok;
}

static gs_status read_facts(gs_store *store, int64_t run_id, gs_arena *arena, gs_stored_run *out,
                            gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        &store->sql,
        "SELECT source, status, label, seed, repeat, error_text, result_hash, started_utc, "
        "wall_ns, s.name, config_hash, config_json, ranks, nodes, model, gradient_bytes, t.name, "
        "version, params_json, tool_version, git_commit, git_dirty, compiler, cpu, blas, os, "
        "runner FROM run JOIN scenario s USING(scenario_id) JOIN strategy t USING(strategy_id) "
        "JOIN env USING(env_id) WHERE run_id = ?",
        &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = gs_sql_step(&query, &row, err);
    }
    if (status == GS_OK && !row) {
        status = gs_fail(err, GS_ENOTFOUND, "%s: no run %" PRId64, store->sql.path, run_id);
    }
    if (status == GS_OK && !take_facts(&query, arena, out)) {
        status = fail_memory(store, err);
    }
    gs_sql_finish(&query);
    return status;
}

static gs_status read_values(gs_store *store, int64_t run_id, gs_arena *arena, gs_stored_run *out,
                             gs_error *err)
{
    double *values = GS_TAKE(arena, double, gs_metric_count());
    if (values == NULL) {
        return fail_memory(store, err);
    }
    for (uint32_t i = 0; i < gs_metric_count(); i++) {
        values[i] = (double)NAN;
    }
    gs_sql_query query = {0};
    bool row = true;
    gs_status status = gs_sql_prepare(
        &store->sql, "SELECT metric, value, censored FROM result WHERE run_id = ?", &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = gs_sql_step(&query, &row, err);
    }
    while (status == GS_OK && row) {
        uint32_t index = gs_metric_find(gs_sql_text(&query, 0));
        if (index < gs_metric_count()) {
            values[index] = gs_sql_real(&query, 1);
            out->target_censored = out->target_censored || gs_sql_int(&query, 2) != 0;
        }
        status = gs_sql_step(&query, &row, err);
    }
    gs_sql_finish(&query);
    out->values = values;
    return status;
}

/* Number of rows of a run in a table. */
static gs_status count_rows(gs_store *store, const char *count_query, int64_t run_id, int64_t *out,
                            gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(&store->sql, count_query, &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
        status = gs_sql_step(&query, &row, err);
    }
    *out = status == GS_OK && row ? gs_sql_int(&query, 0) : 0;
    gs_sql_finish(&query);
    return status;
}

/* One row of a table into rows[index]; false: no memory. */
typedef bool take_row(const gs_sql_query *query, int64_t index, void *rows, gs_arena *arena);

typedef struct table_reader {
    const char *count_query;
    const char *rows_query;
    size_t row_bytes;
    take_row *take;
} table_reader;

typedef struct table_rows {
    void *rows; /* of the arena */
    int64_t count;
} table_rows;

/* To be called inside a read transaction, so that no writer comes between count and rows. */
static gs_status read_table(gs_store *store, const table_reader *reader, int64_t run_id,
                            gs_arena *arena, table_rows *out, gs_error *err)
{
    int64_t count = 0;
    GS_TRY(count_rows(store, reader->count_query, run_id, &count, err));
    void *rows = gs_arena_take(arena, (size_t)count, reader->row_bytes);
    if (rows == NULL) {
        return fail_memory(store, err);
    }
    gs_sql_query query = {0};
    bool row = true;
    int64_t index = 0;
    gs_status status = gs_sql_prepare(&store->sql, reader->rows_query, &query, err);
    if (status == GS_OK) {
        gs_sql_bind_int(&query, 1, run_id);
    }
    while (status == GS_OK && index < count) {
        status = gs_sql_step(&query, &row, err);
        if (status == GS_OK && !row) {
            break;
        }
        if (status == GS_OK && !reader->take(&query, index, rows, arena)) {
            status = fail_memory(store, err);
        }
        index++;
    }
    gs_sql_finish(&query);
    *out = (table_rows){rows, index};
    return status;
}

/* read_table in a transaction of its own. */
static gs_status read_rows(gs_store *store, const table_reader *reader, int64_t run_id,
                           gs_arena *arena, table_rows *out, gs_error *err)
{
    GS_TRY(gs_sql_run(&store->sql, "BEGIN", err));
    gs_status status = read_table(store, reader, run_id, arena, out, err);
    gs_sql_roll_back(&store->sql); /* nothing was written */
    return status;
}

static bool take_input(const gs_sql_query *query, int64_t index, void *rows, gs_arena *arena)
{
    bool ok = true;
    ((gs_stored_input *)rows)[index] = (gs_stored_input){
        .role = gs_store_take_text(query, 0, arena, &ok),
        .name = gs_store_take_text(query, 1, arena, &ok),
        .format = gs_store_take_text(query, 2, arena, &ok),
        .bytes = gs_sql_int(query, 3),
        .xxh3 = hash_at(query, 4),
    };
    return ok;
}

static bool take_step(const gs_sql_query *query, int64_t index, void *rows, gs_arena *arena)
{
    (void)arena; /* a row without text */
    ((gs_step_row *)rows)[index] = (gs_step_row){
        .step = gs_sql_int(query, 0),
        .rank = (int32_t)gs_sql_int(query, 1),
        .start_ns = gs_sql_int(query, 2),
        .duration_ns = gs_sql_int(query, 3),
        .compute_ns = gs_sql_int(query, 4),
        .comm_ns = gs_sql_int(query, 5),
        .exposed_comm_ns = gs_sql_int(query, 6),
        .wait_ns = gs_sql_int(query, 7),
        .input_ns = gs_sql_int(query, 8),
        .overhead_ns = gs_sql_int(query, 9),
        .bytes_sent = gs_sql_int(query, 10),
    };
    return true;
}

static bool take_curve(const gs_sql_query *query, int64_t index, void *rows, gs_arena *arena)
{
    (void)arena; /* a row without text */
    ((gs_curve_row *)rows)[index] = (gs_curve_row){
        .step = gs_sql_int(query, 0),
        .time_ns = gs_sql_int(query, 1),
        .samples = gs_sql_int(query, 2),
        .loss = gs_sql_real(query, 3),
        .accuracy = gs_sql_real(query, 4),
    };
    return true;
}

static bool take_point(const gs_sql_query *query, int64_t index, void *rows, gs_arena *arena)
{
    bool ok = true;
    ((gs_stored_point *)rows)[index] = (gs_stored_point){
        .name = gs_store_take_text(query, 0, arena, &ok),
        .rank = (int32_t)gs_sql_int(query, 1),
        .at_ns = gs_sql_int(query, 2),
        .value = gs_sql_real(query, 3),
    };
    return ok;
}

static bool take_bin(const gs_sql_query *query, int64_t index, void *rows, gs_arena *arena)
{
    bool ok = true;
    ((gs_stored_bin *)rows)[index] = (gs_stored_bin){
        .name = gs_store_take_text(query, 0, arena, &ok),
        .rank = (int32_t)gs_sql_int(query, 1),
        .low = gs_sql_real(query, 2),
        .high = gs_sql_real(query, 3),
        .count = gs_sql_int(query, 4),
    };
    return ok;
}

gs_status gs_store_read_run(gs_store *store, int64_t run_id, gs_arena *arena, gs_stored_run *out,
                            gs_error *err)
{
    static const table_reader inputs = {
        "SELECT count(*) FROM input WHERE run_id = ?",
        "SELECT role, name, format, bytes, xxh3 FROM input WHERE run_id = ? ORDER BY role, name",
        sizeof(gs_stored_input), take_input};
    gs_stored_run run = {0};
    table_rows rows = {0};
    GS_TRY(gs_sql_run(&store->sql, "BEGIN", err));
    gs_status status = read_facts(store, run_id, arena, &run, err);
    if (status == GS_OK) {
        status = read_values(store, run_id, arena, &run, err);
    }
    if (status == GS_OK) {
        status = read_table(store, &inputs, run_id, arena, &rows, err);
    }
    gs_sql_roll_back(&store->sql); /* nothing was written */
    if (status == GS_OK) {
        run.inputs = rows.rows;
        run.input_count = (uint32_t)rows.count;
        *out = run;
    }
    return status;
}

gs_status gs_store_read_steps(gs_store *store, int64_t run_id, gs_arena *arena,
                              const gs_step_row **out_rows, int64_t *out_count, gs_error *err)
{
    static const table_reader steps = {
        "SELECT count(*) FROM step WHERE run_id = ?",
        "SELECT step, rank, start_ns, duration_ns, compute_ns, comm_ns, exposed_comm_ns, wait_ns, "
        "input_ns, overhead_ns, bytes_sent FROM step WHERE run_id = ? ORDER BY step, rank",
        sizeof(gs_step_row), take_step};
    table_rows rows = {0};
    GS_TRY(read_rows(store, &steps, run_id, arena, &rows, err));
    *out_rows = rows.rows;
    *out_count = rows.count;
    return GS_OK;
}

gs_status gs_store_read_curve(gs_store *store, int64_t run_id, gs_arena *arena,
                              const gs_curve_row **out_rows, int64_t *out_count, gs_error *err)
{
    static const table_reader curve = {
        "SELECT count(*) FROM curve WHERE run_id = ?",
        "SELECT step, time_ns, samples, loss, accuracy FROM curve WHERE run_id = ? ORDER BY step",
        sizeof(gs_curve_row), take_curve};
    table_rows rows = {0};
    GS_TRY(read_rows(store, &curve, run_id, arena, &rows, err));
    *out_rows = rows.rows;
    *out_count = rows.count;
    return GS_OK;
}

gs_status gs_store_read_series(gs_store *store, int64_t run_id, gs_arena *arena,
                               const gs_stored_point **out_rows, int64_t *out_count, gs_error *err)
{
    static const table_reader series = {
        "SELECT count(*) FROM series WHERE run_id = ?",
        "SELECT name, rank, at_ns, value FROM series WHERE run_id = ? ORDER BY name, rank, at_ns",
        sizeof(gs_stored_point), take_point};
    table_rows rows = {0};
    GS_TRY(read_rows(store, &series, run_id, arena, &rows, err));
    *out_rows = rows.rows;
    *out_count = rows.count;
    return GS_OK;
}

gs_status gs_store_read_histograms(gs_store *store, int64_t run_id, gs_arena *arena,
                                   const gs_stored_bin **out_rows, int64_t *out_count,
                                   gs_error *err)
{
    static const table_reader histograms = {
        "SELECT count(*) FROM histogram WHERE run_id = ?",
        "SELECT name, rank, low, high, count FROM histogram WHERE run_id = ? "
        "ORDER BY name, rank, low",
        sizeof(gs_stored_bin), take_bin};
    table_rows rows = {0};
    GS_TRY(read_rows(store, &histograms, run_id, arena, &rows, err));
    *out_rows = rows.rows;
    *out_count = rows.count;
    return GS_OK;
}
