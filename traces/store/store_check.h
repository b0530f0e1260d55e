/* Is a database whole, and does it say what it must? */
#ifndef GS_TRACES_STORE_CHECK_H
#define GS_TRACES_STORE_CHECK_H

#include "traces/store/store.h"

typedef struct gs_finding {
    bool is_damage; /* else a remark: true of a good database too */
    const char *text;
} gs_finding;

/* Looks at the pages of the file, references between tables, keys and hashes of runs, baselines
 * whose runs are gone, and metrics that this gradsync does not know. Errors: those of the database;
 * GS_ENOMEM. Owner of *out: the arena. */
GS_MUST_USE gs_status gs_store_check(gs_store *store, gs_arena *arena, const gs_finding **out,
                                     uint32_t *out_count, gs_error *err);

#endif
