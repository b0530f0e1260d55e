/* How every entity of a live run ended, and what it did on the way: in this process at once, from
 * the others when all have ended. For live's own files. */
#ifndef GS_LIVE_LIVE_FINAL_H
#define GS_LIVE_LIVE_FINAL_H

#include "live/live_entity.h"

typedef struct gs_live_final {
    bool is_known; /* false: another process has it, and this one is not process 0, or it is gone */
    int64_t steps, bytes_sent, dropped_elements, cancelled_passes;
    int64_t rounded_elements, underflown_elements;
    uint64_t *op_streams; /* [communicators]; owner: the run's arena, as of all */
    const float *model;   /* [model_count]; NULL: timing only, or a server */
    size_t model_count;
    double model_weight;
    const gs_live_mark *marks; /* [look_count] at which it kept its model; where means are looked at
                                  those of all workers are here */
    const float *looks;        /* [look_count][model_count] */
    uint32_t look_count;
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

/* Evaluates what was kept; first: worker 0's entity, finals: of all. Errors: GS_EDIVERGED,
 * GS_ENOMEM. live_look.c */
GS_MUST_USE gs_status gs_live_look_rows(const gs_live_entity *first, const gs_live_final *finals,
                                        gs_record *rows, gs_error *err);

#endif
