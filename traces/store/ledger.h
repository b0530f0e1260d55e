/* The ledger of predictions: what simulated runs have foretold, when that was stored, and how it
 * compared with what was measured later.
 *
 * gs_store_write_run writes the predictions of a simulated run that ended well, in the run's own
 * transaction. Stored again with the same values they keep the time at which they were stored
 * first; with other values they are new predictions. So nobody can predict after the fact. */
#ifndef GS_TRACES_STORE_LEDGER_H
#define GS_TRACES_STORE_LEDGER_H

#include "traces/store/store.h"

/* Simulated runs of one strategy and scenario, held against measured ones in one metric. */
typedef struct gs_validation {
    int64_t predicted_run_id;                        /* the first of the runs that predicted it */
    int64_t measured_run_id;                         /* the first of those that measured it */
    const char *name;                                /* of judged.def */
    int32_t rank;                                    /* GS_ALL_RANKS: of the job */
    int64_t predicted_count, measured_count;         /* runs */
    double predicted, predicted_low, predicted_high; /* not finite: not reached, not known */
    double measured, measured_low, measured_high;
    const char *predicted_utc; /* when the last of the predictions was stored; NULL: never */
    const char *measured_utc;  /* when the first measurement began */
    bool blind;                /* stored first, measured then */
    const char *yardstick;     /* what error and tolerance are of */
    double error, tolerance;
    bool inside;
    const char *reason; /* NULL: none */
} gs_validation;

/* When the predictions of a run were stored, the last of them; "" where it has none, or where its
 * results are not what it foretold: somebody has changed them. */
GS_MUST_USE gs_status gs_store_predicted_utc(gs_store *store, int64_t run_id,
                                             char out[GS_UTC_BYTES], gs_error *err);
/* Rows of the table decision: adaptive switches, downgrades, fallbacks. */
GS_MUST_USE gs_status gs_store_count_decisions(gs_store *store, int64_t run_id, int64_t *out,
                                               gs_error *err);

/* Stores judgements in one transaction. The same runs judged again replace the row. */
GS_MUST_USE gs_status gs_store_write_validations(gs_store *store, const gs_validation *rows,
                                                 uint32_t count, gs_error *err);
/* All there are, in the order in which they were first judged. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_validations(gs_store *store, gs_arena *arena,
                                                const gs_validation **out_rows, int64_t *out_count,
                                                gs_error *err);

#endif
