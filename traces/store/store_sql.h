/* SQLite for the store: opening, queries and errors in our words. Of the room's own use.
 *
 * store_sql.c is the only file that includes sqlite3.h; its codes become gs_status there. Errors
 * name the database and a cure: GS_EBUSY (locked by another process), GS_EPARSE (not a database, or
 * damaged), GS_EIO (disk full, read-only, input or output), GS_ENOMEM. */
#ifndef GS_TRACES_STORE_SQL_H
#define GS_TRACES_STORE_SQL_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

typedef struct gs_sql {
    struct sqlite3 *handle;
    char *path;
} gs_sql;

/* A prepared statement. A failed bind is kept and reported by the next step. */
typedef struct gs_sql_query {
    gs_sql *sql;
    struct sqlite3_stmt *statement;
    int bind_code;
    char hash[17]; /* text of the one hash among the values */
} gs_sql_query;

/* Opens path for reading and writing, or for reading where the file system allows no more; `create`
 * makes an absent file. Foreign keys are on; a lock is waited for GS_SQL_PATIENCE_MS. */
enum { GS_SQL_PATIENCE_MS = 5000 };
GS_MUST_USE gs_status gs_sql_open(const char *path, bool create, gs_sql *out, gs_error *err);
void gs_sql_close(gs_sql *sql);
bool gs_sql_is_read_only(const gs_sql *sql);

/* Runs one or more statements without values. */
GS_MUST_USE gs_status gs_sql_run(gs_sql *sql, const char *text, gs_error *err);
/* Takes back an open transaction, if there is one; cannot fail in a way that matters: SQLite takes
 * it back itself when the file is opened next. */
void gs_sql_roll_back(gs_sql *sql);

/* One statement; text is borrowed during the call only. End with gs_sql_finish, also after errors.
 */
GS_MUST_USE gs_status gs_sql_prepare(gs_sql *sql, const char *text, gs_sql_query *out,
                                     gs_error *err);
void gs_sql_finish(gs_sql_query *query);
/* Places count from 1. Texts are borrowed until the next gs_sql_reset or gs_sql_finish; NULL is
 * NULL. A real that is not finite is NULL, as the tables want it. */
void gs_sql_bind_int(gs_sql_query *query, int place, int64_t value);
void gs_sql_bind_real(gs_sql_query *query, int place, double value);
void gs_sql_bind_text(gs_sql_query *query, int place, const char *value);
/* As 16 hexadecimal digits; one hash a statement. */
void gs_sql_bind_hash(gs_sql_query *query, int place, uint64_t value);
void gs_sql_bind_null(gs_sql_query *query, int place);
/* The next row; *out_row is false after the last. */
GS_MUST_USE gs_status gs_sql_step(gs_sql_query *query, bool *out_row, gs_error *err);
/* Steps to the end and makes the statement ready for other values. */
GS_MUST_USE gs_status gs_sql_done(gs_sql_query *query, gs_error *err);
void gs_sql_reset(gs_sql_query *query);
/* Columns count from 0. A NULL is 0, NAN and NULL. Texts live until the next step. */
int64_t gs_sql_int(const gs_sql_query *query, int column);
double gs_sql_real(const gs_sql_query *query, int column);
const char *gs_sql_text(const gs_sql_query *query, int column);

/* Version of the library that runs, for people. Static storage. */
const char *gs_sql_library(void);

#endif
