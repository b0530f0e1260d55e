/* Changes that were accepted: what `compare` called worse and somebody has wanted.
 *
 * An ack covers the change that it saw and no more: up to the worse end of its interval, from the
 * base that it saw. A metric that gets worse again is worse again, and once the base has the change
 * there is nothing left to cover. */
#ifndef GS_TRACES_STORE_ACK_H
#define GS_TRACES_STORE_ACK_H

#include "traces/store/store.h"

typedef struct gs_ack {
    const char *scenario, *strategy, *params_json; /* names of both; parameters */
    const char *metric, *commit, *who, *why;
    const char *made_utc;
    double ratio; /* of the change, candidate over base; NAN: not known */
    /* The base's value, and the candidate's at the worse end of the interval (of an exact metric:
     * the candidate's); NAN: acks of before did not say. */
    double base, worst;
} gs_ack;

/* A row that the newest comparison of its scenario, strategy and metric calls worse. */
typedef struct gs_worse {
    int64_t scenario_id, strategy_id;
    const char *scenario, *strategy, *params_json, *metric;
    const char *commit; /* of the candidate's newest run; NULL: not known */
    double ratio;       /* NAN: not known */
    double base, worst; /* as of gs_ack */
} gs_worse;

/* By scenario, strategy and metric. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_worse(gs_store *store, gs_arena *arena,
                                          const gs_worse **out_rows, uint32_t *out_count,
                                          gs_error *err);
GS_MUST_USE gs_status gs_store_write_ack(gs_store *store, const gs_worse *row, const char *who,
                                         const char *why, gs_error *err);
/* Oldest first. Owner: the arena. */
GS_MUST_USE gs_status gs_store_read_acks(gs_store *store, gs_arena *arena, const gs_ack **out_rows,
                                         uint32_t *out_count, gs_error *err);

#endif
