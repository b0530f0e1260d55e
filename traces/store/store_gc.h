/* Runs that nobody needs any more dropped, and the room that they took given back. */
#ifndef GS_TRACES_STORE_GC_H
#define GS_TRACES_STORE_GC_H

#include "traces/store/store.h"

/* A run goes if it meets all that is said; where nothing is, none does. */
typedef struct gs_gc_rule {
    const char *before_utc; /* that began before; NULL: whenever */
    const char *label;      /* that bears it; NULL: any */
    bool interrupted;       /* that were interrupted */
} gs_gc_rule;

typedef struct gs_collected {
    int64_t runs;
    int64_t kept;   /* that meet the rule, and that a baseline holds */
    int64_t unused; /* scenarios, strategies and environments of no run */
    int64_t bytes_before, bytes_after;
} gs_collected;

/* dry: says what would go, and changes nothing; bytes_after is bytes_before then. Runs of baselines
 * stay. One transaction, then the file is written anew. Errors: those of the database; GS_EIO (no
 * room for the copy that VACUUM makes). */
GS_MUST_USE gs_status gs_store_collect(gs_store *store, const gs_gc_rule *rule, bool dry,
                                       gs_collected *out, gs_error *err);

#endif
