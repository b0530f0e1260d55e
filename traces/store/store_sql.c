#include "traces/store/store_sql.h"

#include "base/assert.h"

#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The one place where SQLite's codes become ours. */
static gs_status fail_sql(const gs_sql *sql, int code, gs_error *err)
{
    const char *path = sql->path;
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return gs_fail(err, GS_EBUSY,
                       "%s: another process has locked the database for more than %d s; wait for "
                       "it to end, or use another --db",
                       path, GS_SQL_PATIENCE_MS / 1000);
    case SQLITE_NOTADB:
        return gs_fail(err, GS_EPARSE, "%s: not a database; use another --db", path);
    case SQLITE_CORRUPT:
        return gs_fail(err, GS_EPARSE,
                       "%s: the database is damaged (%s); restore a copy, or use another --db",
                       path, sqlite3_errmsg(sql->handle));
    case SQLITE_FULL:
        return gs_fail(err, GS_EIO,
                       "%s: the disk is full, the run was not stored; free some space, or use "
                       "another --db",
                       path);
    case SQLITE_READONLY:
        return gs_fail(err, GS_EIO,
                       "%s: the database cannot be written; allow writing to the file and its "
                       "folder, or use another --db",
                       path);
    case SQLITE_CANTOPEN:
        return gs_fail(err, GS_EIO,
                       "%s: cannot be opened; check the rights of the file and its folder, or use "
                       "another --db",
                       path);
    case SQLITE_NOMEM:
        return gs_fail(err, GS_ENOMEM, "%s: %s", path, gs_status_text(GS_ENOMEM));
    default:
        return gs_fail(err, GS_EIO, "%s: the database failed: %s", path,
                       sqlite3_errmsg(sql->handle));
    }
}

gs_status gs_sql_open(const char *path, bool create, gs_sql *out, gs_error *err)
{
    gs_sql sql = {.path = strdup(path)};
    if (sql.path == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: %s", path, gs_status_text(GS_ENOMEM));
    }
    int flags = SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0);
    int code = sqlite3_open_v2(path, &sql.handle, flags, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_busy_timeout(sql.handle, GS_SQL_PATIENCE_MS);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_exec(sql.handle, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
    }
    if (code != SQLITE_OK) {
        gs_status status = fail_sql(&sql, code, err);
        gs_sql_close(&sql);
        return status;
    }
    *out = sql;
    return GS_OK;
}

void gs_sql_close(gs_sql *sql)
{
    int code = sqlite3_close(sql->handle);
    GS_ASSERT(code == SQLITE_OK); /* else a statement was not finished */
    free(sql->path);
    *sql = (gs_sql){0};
}

bool gs_sql_is_read_only(const gs_sql *sql)
{
    return sqlite3_db_readonly(sql->handle, "main") == 1;
}

gs_status gs_sql_run(gs_sql *sql, const char *text, gs_error *err)
{
    int code = sqlite3_exec(sql->handle, text, NULL, NULL, NULL);
    return code == SQLITE_OK ? GS_OK : fail_sql(sql, code, err);
}

void gs_sql_roll_back(gs_sql *sql)
{
    if (sqlite3_get_autocommit(sql->handle) == 0) {
        (void)sqlite3_exec(sql->handle, "ROLLBACK", NULL, NULL, NULL);
    }
}

gs_status gs_sql_prepare(gs_sql *sql, const char *text, gs_sql_query *out, gs_error *err)
{
    *out = (gs_sql_query){.sql = sql};
    int code = sqlite3_prepare_v2(sql->handle, text, -1, &out->statement, NULL);
    return code == SQLITE_OK ? GS_OK : fail_sql(sql, code, err);
}

void gs_sql_finish(gs_sql_query *query)
{
    (void)sqlite3_finalize(query->statement); /* repeats what step has reported */
    query->statement = NULL;
}

static void keep_code(gs_sql_query *query, int code)
{
    GS_ASSERT(code != SQLITE_RANGE);
    GS_ASSERT(code != SQLITE_MISUSE);
    if (query->bind_code == SQLITE_OK) {
        query->bind_code = code;
    }
}

void gs_sql_bind_int(gs_sql_query *query, int place, int64_t value)
{
    keep_code(query, sqlite3_bind_int64(query->statement, place, value));
}

void gs_sql_bind_real(gs_sql_query *query, int place, double value)
{
    if (isfinite(value)) {
        keep_code(query, sqlite3_bind_double(query->statement, place, value));
    } else {
        gs_sql_bind_null(query, place);
    }
}

void gs_sql_bind_text(gs_sql_query *query, int place, const char *value)
{
    keep_code(query, sqlite3_bind_text(query->statement, place, value, -1, SQLITE_STATIC));
}

void gs_sql_bind_hash(gs_sql_query *query, int place, uint64_t value)
{
    (void)snprintf(query->hash, sizeof query->hash, "%016" PRIx64, value);
    gs_sql_bind_text(query, place, query->hash);
}

void gs_sql_bind_null(gs_sql_query *query, int place)
{
    keep_code(query, sqlite3_bind_null(query->statement, place));
}

gs_status gs_sql_step(gs_sql_query *query, bool *out_row, gs_error *err)
{
    if (query->bind_code != SQLITE_OK) {
        return fail_sql(query->sql, query->bind_code, err);
    }
    int code = sqlite3_step(query->statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        return fail_sql(query->sql, code, err);
    }
    *out_row = code == SQLITE_ROW;
    return GS_OK;
}

gs_status gs_sql_done(gs_sql_query *query, gs_error *err)
{
    bool row = true;
    while (row) {
        GS_TRY(gs_sql_step(query, &row, err));
    }
    gs_sql_reset(query);
    return GS_OK;
}

void gs_sql_reset(gs_sql_query *query)
{
    (void)sqlite3_reset(query->statement); /* repeats what step has reported */
}

int64_t gs_sql_int(const gs_sql_query *query, int column)
{
    return sqlite3_column_int64(query->statement, column);
}

double gs_sql_real(const gs_sql_query *query, int column)
{
    if (sqlite3_column_type(query->statement, column) == SQLITE_NULL) {
        return (double)NAN;
    }
    double value = sqlite3_column_double(query->statement, column);
    return isfinite(value) ? value : (double)NAN; /* only another program has written it */
}

const char *gs_sql_text(const gs_sql_query *query, int column)
{
    return (const char *)sqlite3_column_text(query->statement, column);
}

const char *gs_sql_library(void)
{
    return sqlite3_libversion();
}
