/* How every entity of a live run ended, and what it did on the way: in this process at once, from
 * the others when all have ended. For live's own files. */
#ifndef GS_LIVE_LIVE_FINAL_H
#define GS_LIVE_LIVE_FINAL_H

#include "live/crew.h"
#include "live/live_entity.h"
#include "traces/model_mean.h"

typedef struct gs_live_final {
    bool is_known; /* false: another process has it, and this one is not process 0, or it is gone */
    int64_t steps, bytes_sent, dropped_elements, cancelled_passes;
    int64_t rounded_elements, underflown_elements;
    uint64_t *op_streams; /* [communicators]; owner: the run's arena, as of all */
    const float *model;   /* [model_count]; NULL: timing only, or a server */
    size_t model_count;
    double model_weight;
    const gs_live_shelf *shelf; /* models kept at marks; NULL: none, or not of this host */
    gs_staleness staleness;
    char waits[GS_ERROR_TEXT_BYTES / 2]; /* for whom it waits; "": for nobody */
} gs_live_final;

/* Of an entity of this process. Its model stays where it is. false: no memory. */
bool gs_live_final_of(const gs_live_entity *entity, gs_arena *arena, gs_live_final *out);

/* With a crew: all finals, records and entries to process 0, whose shared and finals then hold
 * those of the whole run; status and error to all. Errors: GS_EDEADLOCK (a process is gone),
 * GS_ENOMEM. */
GS_MUST_USE gs_status gs_live_finals_gather(gs_live_shared *shared, gs_live_final *finals,
                                            gs_arena *arena, gs_error *err);

/* ---------------------------------------------------------------- evaluations: live_look.c */

/* What process 0 evaluates of a run, mark by mark: of all that was kept it has one mark in memory.
 */
typedef struct gs_live_looks {
    const gs_live_entity *first; /* worker 0's */
    const gs_live_final *finals; /* of all */
    gs_record *rows;
    uint32_t count;      /* of marks */
    bool asks;           /* some models are on other hosts: `told` is filled before each mark */
    gs_crew_bytes *told; /* [processes] of a mark, as gs_crew_gather has them; NULL: no crew */
    void *record;        /* one, as it lies in a shelf */
    gs_model_means means;
} gs_live_looks;

/* Errors: GS_ENOMEM. Owner: caller, end in both cases. */
GS_MUST_USE gs_status gs_live_looks_begin(gs_live_looks *looks, const gs_live_entity *first,
                                          const gs_live_final *finals, gs_record *rows,
                                          gs_error *err);
void gs_live_looks_end(gs_live_looks *looks);
/* Evaluates one mark, if all have come to it. Errors: GS_EDIVERGED, GS_EIO, GS_ENOMEM. */
GS_MUST_USE gs_status gs_live_looks_mark(gs_live_looks *looks, uint32_t mark, gs_error *err);
/* By all processes: models of that mark to process 0; entity NULL: this process has none. Errors:
 * as of gs_crew_gather, GS_EIO. */
GS_MUST_USE gs_status gs_live_looks_gather(const gs_live_shared *shared,
                                           const gs_live_entity *entity, uint32_t mark,
                                           gs_crew_bytes *out, gs_error *err);

#endif
