/* What the files of the store share; of the room's own use. */
#ifndef GS_TRACES_STORE_PARTS_H
#define GS_TRACES_STORE_PARTS_H

#include "traces/store/store.h"
#include "traces/store/store_sql.h"

/* application_id of our files, "gsyn" in ASCII: tells them from other programs' databases. */
enum { GS_STORE_APPLICATION = 0x6773796e };

struct gs_store {
    gs_sql sql;
    int64_t batch;          /* number of this store's runs; 0: nothing written yet */
    bool catalogue_written; /* metric and status names of this build are in their tables */
};

/* From schema N to N + 1: statements, NULL-terminated. */
typedef struct gs_store_migration {
    const char *const *statements;
} gs_store_migration;

/* Migration 0 makes the tables. The newest schema has the number of migrations as its version. */
extern const gs_store_migration gs_store_migrations[];
extern const int64_t gs_store_schema_version;

/* Brings a database of any version up to step_count in one transaction, and refuses a newer one
 * (GS_EVERSION) and another program's (GS_EPARSE, names a table of it). Touches nothing where
 * there is nothing to do. */
GS_MUST_USE gs_status gs_store_migrate(gs_sql *sql, const gs_store_migration *steps,
                                       int64_t step_count, gs_error *err);

/* First column of the first row as a whole number; 0 where there is no row. */
GS_MUST_USE gs_status gs_store_query_int(gs_sql *sql, const char *text, int64_t *out,
                                         gs_error *err);

/* Copy of a text column, NULL for NULL. *ok becomes false where there is no memory. */
const char *gs_store_take_text(const gs_sql_query *query, int column, gs_arena *arena, bool *ok);

/* Parts of gs_store_write_run, inside its transaction. Catalogue: metric and status names of this
 * build, once a store. Delete: all rows of a run but its own. */
GS_MUST_USE gs_status gs_store_write_catalogue(gs_store *store, gs_error *err);
GS_MUST_USE gs_status gs_store_delete_rows(gs_store *store, int64_t run_id, gs_error *err);
GS_MUST_USE gs_status gs_store_write_rows(gs_store *store, const gs_stored_run *run, int64_t run_id,
                                          gs_error *err);
/* The row of a scenario or strategy, new or there already. newest: the text of the scenario is this
 * one from now on; what its hash does not cover, such as gates, may have changed. */
GS_MUST_USE gs_status gs_store_put_scenario(gs_sql *sql, const gs_stored_scenario *scenario,
                                            bool newest, int64_t *out_id, gs_error *err);
GS_MUST_USE gs_status gs_store_put_strategy(gs_sql *sql, const gs_stored_strategy *strategy,
                                            int64_t *out_id, gs_error *err);
/* Errors: GS_ENOTFOUND with the nearest name; GS_EMISMATCH: its runs are not what they were. */
GS_MUST_USE gs_status gs_store_check_baseline(gs_store *store, const char *name, gs_arena *arena,
                                              gs_error *err);
/* The number of this store's batch, once for all its runs. */
GS_MUST_USE gs_status gs_store_take_batch(gs_store *store, gs_error *err);
/* The row of a run in sweep_point. */
GS_MUST_USE gs_status gs_store_write_place(gs_store *store, int64_t run_id,
                                           const gs_stored_place *place, gs_error *err);
/* What a simulated run that ended well foretells (ledger.c); of other runs nothing. */
GS_MUST_USE gs_status gs_store_write_predictions(gs_store *store, const gs_stored_run *run,
                                                 int64_t run_id, gs_error *err);

#endif
