/* The database of runs: SQLite 3, one file, schema in store_schema.c, told in docs/formats.md.
 *
 * One transaction a run: a killed process leaves whole runs only. No write-ahead log, so that the
 * file may lie on a shared file system. Errors name the database, what is wrong and the cure:
 * GS_EVERSION (made by a newer gradsync), GS_EBUSY (locked by another process), GS_EPARSE (not a
 * database, damaged, or another program's), GS_ENOTFOUND, GS_EIO, GS_ENOMEM. Not thread safe. */
#ifndef GS_TRACES_STORE_H
#define GS_TRACES_STORE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/units.h"
#include "traces/environment.h"
#include "traces/record.h"
#include "traces/stored_input.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gs_store gs_store;

typedef enum gs_store_mode {
    GS_STORE_READ,              /* the file must exist */
    GS_STORE_WRITE,             /* made if absent; its folder must exist */
    GS_STORE_WRITE_MAKE_FOLDERS /* also its folders: for the default path only, since a folder that
                                   a user names and that is not there is most likely mistyped */
} gs_store_mode;

/* An older schema is brought up to date; a newer one is refused. path ":memory:" keeps nothing.
 * Owner of *out: caller, gs_store_close, which accepts NULL. */
GS_MUST_USE gs_status gs_store_open(const char *path, gs_store_mode mode, gs_store **out,
                                    gs_error *err);
void gs_store_close(gs_store *store);

/* For people: version of SQLite, and the schema that an open store has. */
const char *gs_store_library(void);
int64_t gs_store_schema(void);

/* $XDG_STATE_HOME/gradsync/runs.db, with $HOME/.local/state where the first is not set or not
 * absolute. Both may be NULL. Errors: GS_ENOTFOUND (neither), GS_ELIMIT. */
GS_MUST_USE gs_status gs_store_default_path(const char *xdg_state_home, const char *home, char *out,
                                            size_t out_bytes, gs_error *err);

/* clang-format off */
#define GS_RUN_STATUS_LIST(X)                                                                      \
    X(OK,          "ok",          "ran to its end")                                                \
    X(RECOVERED,   "recovered",   "ran to its end after a fault")                                  \
    X(DIVERGED,    "diverged",    "the loss was not finite any more")                              \
    X(DEADLOCK,    "deadlock",    "every rank waited and nothing was on its way")                  \
    X(MISMATCH,    "mismatch",    "ranks issued different operations")                             \
    X(TIMEOUT,     "timeout",     "ran longer than allowed")                                       \
    X(INTERRUPTED, "interrupted", "stopped by the user, or a process was lost; rows so far")       \
    X(ERROR,       "error",       "failed; see error_text")
/* clang-format on */

typedef enum gs_run_status {
#define GS_RUN_STATUS_ENUM(name, text, help) GS_RUN_##name,
    GS_RUN_STATUS_LIST(GS_RUN_STATUS_ENUM)
#undef GS_RUN_STATUS_ENUM
        GS_RUN_STATUS_COUNT
} gs_run_status;

const char *gs_run_status_text(gs_run_status status);

typedef enum gs_run_source { GS_SOURCE_SIM, GS_SOURCE_LIVE, GS_SOURCE_IMPORT } gs_run_source;

const char *gs_run_source_text(gs_run_source source);

typedef struct gs_stored_scenario {
    const char *name;
    uint64_t config_hash;
    const char *config_json; /* resolved, every default written out */
    int64_t ranks, nodes;
    const char *model;
    int64_t gradient_bytes;
} gs_stored_scenario;

typedef struct gs_stored_strategy {
    const char *name;
    const char *version;
    const char *params_json;
} gs_stored_strategy;

enum { GS_REPEAT_NEXT = -1 };

/* The point of a sweep that a run is one seed of. */
typedef struct gs_stored_place {
    uint64_t sweep_key; /* of scenario and dimensions */
    int64_t point;
    const char *overrides_json; /* {"cluster.links.nic.bandwidth": "1Gbit/s", "strategy": "asp"} */
    const char *own_json; /* what the scenario itself says of these keys, likewise; NULL: unknown */
    int64_t rung;         /* of successive halving in which it was run; 0: the first, or none */
} gs_stored_place;

/* One strategy on one scenario with one seed. */
typedef struct gs_stored_run {
    gs_run_source source;
    gs_run_status status;
    gs_stored_scenario scenario;
    gs_stored_strategy strategy;
    gs_environment environment;
    const char *label; /* NULL: none */
    uint64_t seed;
    int64_t repeat;         /* GS_REPEAT_NEXT: the first free number, for runs that measure */
    const char *error_text; /* NULL: none */
    bool exact;             /* result_hash is bit for bit reproducible from the key */
    uint64_t result_hash;   /* where exact */
    const char *started_utc;
    gs_time_ns wall_ns; /* of the host, not of the simulated cluster */
    const gs_stored_input *inputs;
    uint32_t input_count;
    const double *values;         /* [gs_metric_count()], NAN: NULL in the table; or NULL: none */
    bool target_censored;         /* time_to_target_ns is a lower bound */
    const gs_record *record;      /* steps, curve, series and histograms; NULL: none */
    const gs_stored_place *place; /* NULL: of no sweep */
} gs_stored_run;

/* Stores a run in one transaction. Its key is made of source, version, commit, config, strategy and
 * parameters, inputs, seed and repeat. A run of the same key is replaced and keeps its id, except
 * that an interrupted run never replaces one that ended. Where both are exact, from a clean build
 * and computed by the same BLAS kernels, their hashes must agree: GS_EMISMATCH names both.
 * All runs written through one gs_store are one batch, which is what "@last" means.
 * Other errors: GS_EINVAL (label). After an error the database is as before. */
GS_MUST_USE gs_status gs_store_write_run(gs_store *store, const gs_stored_run *run, int64_t *out_id,
                                         gs_error *err);

/* Refuses what could be taken for another selector: "", "12", "@x", "x:y". Errors: GS_EINVAL. */
GS_MUST_USE gs_status gs_store_check_label(const char *label, gs_error *err);

/* Runs that a selector names, oldest first: an id; a label (the newest batch that bears it);
 * "label:NAME" (all that bear it, of every batch); "@last" and "@last~N" (the last batch, and the
 * N-th before it); "baseline:NAME"; "commit:SHA" (of every program built from it). Never none.
 * Errors: GS_ENOTFOUND with what there is instead; GS_EINVAL. Owner of *out_ids: the arena. */
GS_MUST_USE gs_status gs_store_find_runs(gs_store *store, const char *selector, gs_arena *arena,
                                         const int64_t **out_ids, uint32_t *out_count,
                                         gs_error *err);
/* The newest of them. */
GS_MUST_USE gs_status gs_store_find_run(gs_store *store, const char *selector, int64_t *out_id,
                                        gs_error *err);

/* Reads back what was written, without its record. Metrics that this build does not know are left
 * out, those that the run does not have are NAN. Errors: GS_ENOTFOUND. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_run(gs_store *store, int64_t run_id, gs_arena *arena,
                                        gs_stored_run *out, gs_error *err);
/* Rows of a run by step, then rank. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_steps(gs_store *store, int64_t run_id, gs_arena *arena,
                                          const gs_step_row **out_rows, int64_t *out_count,
                                          gs_error *err);
GS_MUST_USE gs_status gs_store_read_curve(gs_store *store, int64_t run_id, gs_arena *arena,
                                          const gs_curve_row **out_rows, int64_t *out_count,
                                          gs_error *err);

/* A value of a named series, and a bin of a named histogram. */
typedef struct gs_stored_point {
    const char *name;
    int32_t rank; /* GS_ALL_RANKS: of the job */
    gs_time_ns at_ns;
    double value; /* NAN: not finite when it was written */
} gs_stored_point;

typedef struct gs_stored_bin {
    const char *name;
    int32_t rank;
    double low, high; /* [low, high) */
    int64_t count;    /* > 0 */
} gs_stored_bin;

/* By name, then rank, then time or low end. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_series(gs_store *store, int64_t run_id, gs_arena *arena,
                                           const gs_stored_point **out_rows, int64_t *out_count,
                                           gs_error *err);
GS_MUST_USE gs_status gs_store_read_histograms(gs_store *store, int64_t run_id, gs_arena *arena,
                                               const gs_stored_bin **out_rows, int64_t *out_count,
                                               gs_error *err);

#endif
