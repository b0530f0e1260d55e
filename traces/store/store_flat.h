/* Rows of the view run_flat: a metric of a run with all that names the run, for other programs. */
#ifndef GS_TRACES_STORE_FLAT_H
#define GS_TRACES_STORE_FLAT_H

#include "traces/store/store.h"

enum { GS_FLAT_COLUMNS = 16 };

typedef struct gs_flat_column {
    const char *name;
    bool is_number;
} gs_flat_column;

extern const gs_flat_column gs_flat_columns[GS_FLAT_COLUMNS];

/* Of one run, by metric; texts live during the call, NULL is NULL, numbers read back exactly. */
typedef void (*gs_flat_visit)(void *context, const char *const values[GS_FLAT_COLUMNS]);

GS_MUST_USE gs_status gs_store_visit_flat(gs_store *store, int64_t run_id, gs_flat_visit visit,
                                          void *context, gs_error *err);

/* Ids of all runs, in their order; there may be none. Owner of *out_ids: the arena. */
GS_MUST_USE gs_status gs_store_all_runs(gs_store *store, gs_arena *arena, const int64_t **out_ids,
                                        uint32_t *out_count, gs_error *err);

#endif
