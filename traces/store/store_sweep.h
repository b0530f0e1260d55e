/* Runs of a sweep: those that were made before are found by their key and never made again. */
#ifndef GS_TRACES_STORE_SWEEP_H
#define GS_TRACES_STORE_SWEEP_H

#include "traces/store/store.h"

/* What gs_store_write_run would store the run under; its repeat is a number. */
uint64_t gs_store_run_key(const gs_stored_run *run);

typedef struct gs_found_run {
    int64_t run_id; /* 0: none */
    gs_run_status status;
    bool target_censored;
} gs_found_run;

/* Around calls of gs_store_reuse_run: one transaction for all of them. end commits, or takes all
 * back where `before` is no GS_OK, and returns it. */
GS_MUST_USE gs_status gs_store_reuse_begin(gs_store *store, gs_error *err);
GS_MUST_USE gs_status gs_store_reuse_end(gs_store *store, gs_status before, gs_error *err);

/* A run of that key which came to an end: well, diverged, or in a way that it would come to again.
 * It becomes one of this store's batch and of the sweep; label NULL: it keeps its own. values
 * [gs_metric_count()]: out. */
GS_MUST_USE gs_status gs_store_reuse_run(gs_store *store, uint64_t key, const char *label,
                                         const gs_stored_place *place, double *values,
                                         gs_found_run *out, gs_error *err);

/* Says of a point that it was left after that rung. */
GS_MUST_USE gs_status gs_store_prune_point(gs_store *store, uint64_t sweep_key, int64_t point,
                                           int64_t rung, gs_error *err);

/* The places that a run has in sweeps, by sweep, then point. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_places(gs_store *store, int64_t run_id, gs_arena *arena,
                                           const gs_stored_place **out_rows, uint32_t *out_count,
                                           gs_error *err);

#endif
