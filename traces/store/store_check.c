#include "traces/store/store_check.h"

#include "traces/store/store_parts.h"
#include "traces/store/store_sweep.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { FINDINGS_MAX = 64, TEXT_BYTES = 400, HASH_DIGITS = 16 };

typedef struct check {
    gs_store *store;
    gs_arena *arena;
    gs_finding *findings; /* [FINDINGS_MAX] */
    uint32_t count;
} check;

static gs_status add(check *all, gs_error *err, bool is_damage, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static gs_status add(check *all, gs_error *err, bool is_damage, const char *format, ...)
{
    if (all->count == FINDINGS_MAX) {
        return GS_OK; /* who has so many does not read more */
    }
    char text[TEXT_BYTES];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(text, sizeof text, format, values);
    va_end(values);
    const char *copy = gs_arena_text(all->arena, text);
    if (copy == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory", all->store->sql.path);
    }
    all->findings[all->count++] = (gs_finding){.is_damage = is_damage, .text = copy};
    return GS_OK;
}

/* A finding for every row of a query of one text, which follows the prefix. */
typedef struct question {
    const char *query;
    const char *prefix;
    bool is_damage;
} question;

static const question questions[] = {
    {"SELECT integrity_check FROM pragma_integrity_check(20) WHERE integrity_check <> 'ok'",
     "the file is damaged: ", true},
    {"SELECT format('%s, row %s, refers to a row of %s that is not there', \"table\", "
     "coalesce(rowid, '?'), parent) FROM pragma_foreign_key_check LIMIT 20",
     "", true},
    {"SELECT format('run %d: its status \"%s\" is not in the table status', run_id, status) "
     "FROM run WHERE status NOT IN (SELECT status FROM status) LIMIT 20",
     "", true},
    {"SELECT format('run %d: result_hash \"%s\" is not 16 hexadecimal digits', run_id, "
     "result_hash) FROM run WHERE result_hash IS NOT NULL AND (length(result_hash) <> 16 OR "
     "result_hash GLOB '*[^0-9a-f]*') LIMIT 20",
     "", true},
    {"SELECT format('baseline %s: runs that are gone or have other results: %d', b.name, count(*))"
     " FROM baseline_run b LEFT JOIN run r USING(run_key) WHERE b.mark IS NOT "
     "coalesce(r.result_hash, r.started_utc) GROUP BY b.name",
     "", false},
    {"SELECT format('interrupted runs: %d; gradsync db gc --interrupted drops them', count(*)) "
     "FROM run WHERE status = 'interrupted' HAVING count(*) > 0",
     "", false},
};

static gs_status ask(check *all, const question *one, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(&all->store->sql, one->query, &query, err);
    if (status == GS_OK) {
        status = gs_sql_step(&query, &row, err);
    }
    while (status == GS_OK && row) {
        const char *text = gs_sql_text(&query, 0);
        status = add(all, err, one->is_damage, "%s%s", one->prefix, text == NULL ? "?" : text);
        if (status == GS_OK) {
            status = gs_sql_step(&query, &row, err);
        }
    }
    gs_sql_finish(&query);
    return status;
}

/* --- keys of runs ----------------------------------------------------------------------------- */

/* A key is made of what the row says. That of a run with several inputs is made in their order,
 * which rows do not have. */
static gs_status check_key(check *all, int64_t run_id, const char *key, gs_error *err)
{
    char made[HASH_DIGITS + 1];
    gs_arena arena;
    gs_arena_init(&arena);
    gs_stored_run run;
    gs_status status = gs_store_read_run(all->store, run_id, &arena, &run, err);
    if (status == GS_OK && run.input_count <= 1) {
        (void)snprintf(made, sizeof made, "%016" PRIx64, gs_store_run_key(&run));
        if (strcmp(made, key) != 0) {
            status = add(all, err, true,
                         "run %" PRId64 ": its key is %s, and what it was made of gives %s: it was "
                         "changed by hand",
                         run_id, key, made);
        }
    }
    gs_arena_fini(&arena);
    return status;
}

static gs_status check_keys(check *all, gs_error *err)
{
    int64_t after = -1;
    bool row = true;
    while (row) {
        char key[HASH_DIGITS + 1] = "";
        gs_sql_query query = {0};
        gs_status status = gs_sql_prepare(
            &all->store->sql,
            "SELECT run_id, run_key FROM run WHERE run_id > ? ORDER BY run_id LIMIT 1", &query,
            err);
        if (status == GS_OK) {
            gs_sql_bind_int(&query, 1, after);
            status = gs_sql_step(&query, &row, err);
        }
        if (status == GS_OK && row) {
            after = gs_sql_int(&query, 0);
            (void)snprintf(key, sizeof key, "%s", gs_sql_text(&query, 1));
        }
        gs_sql_finish(&query);
        GS_TRY(status);
        if (row) {
            GS_TRY(check_key(all, after, key, err));
        }
    }
    return GS_OK;
}

static gs_status check_metrics(check *all, gs_error *err)
{
    gs_sql_query query = {0};
    bool row = false;
    gs_status status = gs_sql_prepare(
        &all->store->sql, "SELECT metric, count(*) FROM result GROUP BY metric ORDER BY metric",
        &query, err);
    if (status == GS_OK) {
        status = gs_sql_step(&query, &row, err);
    }
    while (status == GS_OK && row) {
        const char *name = gs_sql_text(&query, 0);
        if (gs_metric_find(name) == gs_metric_count()) {
            status = add(all, err, false,
                         "metric %s is not known to this gradsync: another version wrote it "
                         "(results: %" PRId64 ")",
                         name, gs_sql_int(&query, 1));
        }
        if (status == GS_OK) {
            status = gs_sql_step(&query, &row, err);
        }
    }
    gs_sql_finish(&query);
    return status;
}

gs_status gs_store_check(gs_store *store, gs_arena *arena, const gs_finding **out,
                         uint32_t *out_count, gs_error *err)
{
    check all = {
        .store = store, .arena = arena, .findings = GS_TAKE(arena, gs_finding, FINDINGS_MAX)};
    if (all.findings == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory", store->sql.path);
    }
    GS_TRY(ask(&all, &questions[0], err));
    bool is_whole = all.count == 0; /* else what lies in damaged pages is not asked for */
    for (size_t i = 1; is_whole && i < sizeof questions / sizeof *questions; i++) {
        GS_TRY(ask(&all, &questions[i], err));
    }
    if (is_whole) {
        GS_TRY(check_keys(&all, err));
        GS_TRY(check_metrics(&all, err));
    }
    *out = all.findings;
    *out_count = all.count;
    return GS_OK;
}
