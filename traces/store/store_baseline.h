/* Baselines: named sets of runs that later ones are compared with.
 *
 * A baseline holds its runs by key, with a mark of what they were when it was set. A run that was
 * replaced by a later one with another result, or is not there any more, makes the baseline gone:
 * comparing with what has taken its place would find nothing. */
#ifndef GS_TRACES_STORE_BASELINE_H
#define GS_TRACES_STORE_BASELINE_H

#include "traces/store/store.h"

typedef struct gs_baseline {
    const char *name, *commit, *set_utc;
    const char *note;        /* NULL: none */
    int64_t runs, runs_left; /* when it was set; those that are still what they were */
} gs_baseline;

/* ids [count], count >= 1, of runs of this store. A baseline of this name is replaced. Errors:
 * GS_EINVAL (name, by the rules of labels). */
GS_MUST_USE gs_status gs_store_set_baseline(gs_store *store, const char *name, const int64_t *ids,
                                            uint32_t count, const char *note, gs_error *err);
/* Errors: GS_ENOTFOUND with the nearest name. Its runs stay. */
GS_MUST_USE gs_status gs_store_remove_baseline(gs_store *store, const char *name, gs_error *err);

/* The one set last first. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_baselines(gs_store *store, gs_arena *arena,
                                              const gs_baseline **out_rows, uint32_t *out_count,
                                              gs_error *err);

#endif
