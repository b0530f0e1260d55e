/* Runs of another database taken over into this one: of other machines, of shards of a sweep.
 *
 * Runs of the same key are the same run where their results agree. Of measurements, whose results
 * are never the same, a second one gets the next free number. What an older gradsync wrote is
 * brought up to date in a copy; the other file stays as it is. */
#ifndef GS_TRACES_STORE_MERGE_H
#define GS_TRACES_STORE_MERGE_H

#include "traces/store/store.h"

typedef struct gs_merged {
    int64_t added;
    int64_t same;       /* were there already */
    int64_t completed;  /* took the place of an interrupted run */
    int64_t renumbered; /* of the added ones: measurements whose number was taken */
} gs_merged;

/* Takes over runs with all their rows, predictions and judgements, points of sweeps, accepted
 * changes, and baselines whose names are free; comparisons stay where they were made. One
 * transaction: all of it or nothing. Errors: those of gs_store_open of the other file; GS_EINVAL
 * (the file is this one); GS_EMISMATCH: a run of the same key, program, commit and kernels has
 * another result: which. */
GS_MUST_USE gs_status gs_store_merge(gs_store *into, const char *from, gs_merged *out,
                                     gs_error *err);

#endif
