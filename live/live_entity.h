/* One entity of a live run: its driver, its memory and what feeds it; for live's own files. */
#ifndef GS_LIVE_LIVE_ENTITY_H
#define GS_LIVE_LIVE_ENTITY_H

#include "live/live.h"
#include "live/live_log.h"
#include "live/live_pace.h"
#include "live/live_shelf.h"
#include "strategies/driver.h"
#include "traces/entity_memory.h"
#include "traces/wire.h"

#include <pthread.h>
#include <stdatomic.h>

/* What a process was heard to say last. */
typedef struct gs_live_beat {
    gs_time_ns at_ns;   /* of gs_live_clock */
    gs_time_ns idle_ns; /* nothing had moved there for so long */
} gs_live_beat;

/* What all entities of a run in this process share. */
typedef struct gs_live_shared {
    gs_live_config config;
    gs_relay relay;   /* of the strategy: one leg, or those that follow one another */
    gs_layout layout; /* of all of them */
    gs_streams streams;
    const gs_bucket_plan *buckets, *buckets_rebuilt; /* of the first step, and after it */
    uint32_t entity_count;                           /* workers and the servers the strategy uses */
    const gs_transport *transport;
    void *net;
    gs_time_ns start_ns;             /* of gs_live_clock */
    uint32_t process, process_count; /* of the crew; 0 of 1 without one */
    uint32_t places;                 /* in this process */
    int64_t budget_passes;

    atomic_uint waiting;      /* places in take */
    atomic_llong progress_ns; /* of gs_live_clock: the last parcel taken */
    atomic_llong gradients;   /* of this process, as parcels are */
    atomic_llong parcels_sent, parcels_taken;

    gs_live_beat *beats;  /* [process_count]; NULL: no crew. Used by place 0 */
    gs_time_ns beaten_ns; /* of gs_live_clock: said that this process lives */

    /* Process 0 counts for all. */
    atomic_uint drained, workers_told; /* entities; told: of the common cut */
    atomic_llong all_passes;

    pthread_mutex_t lock; /* of what follows */
    gs_recording recording;
    gs_live_log log;
    gs_time_ns stamped_ns; /* the last time given */
    gs_status status;
    gs_error error;
} gs_live_shared;

/* A rank's gradient under way. */
typedef struct gs_live_computer gs_live_computer;

typedef struct gs_live_entity {
    gs_live_shared *shared;
    gs_peer self;
    uint32_t number;
    gs_driver *driver;
    gs_entity_memory memory;
    void *device;                 /* opened of config.device; NULL: none */
    uint32_t leg;                 /* of the run; their count: the handover */
    gs_wire *wire;                /* of the leg; NULL: nothing is coded */
    gs_wire **wires;              /* [legs] */
    gs_staleness staleness;       /* of what it applied */
    gs_task_workspace *workspace; /* NULL: timing only, or a server */
    gs_arena arena; /* of driver and memory; used by the entity's own place while it runs */
    gs_time_ns now;

    /* Channels by plane and peer; parts that came and were not absorbed, oldest first. */
    uint64_t *sent;       /* [planes][entities]: parcels sent so far */
    gs_parcel **first;    /* [streams][ranks] */
    gs_parcel **last;     /* likewise */
    uint32_t *unsent;     /* [communicators]: parts sent that have not left */
    gs_parcel *flushes;   /* [communicators]: kind FLUSHED: its op waits for unsent to be 0 */
    uint64_t requests;    /* to the host, so far */
    uint64_t *op_streams; /* [communicators]: hash of what was issued on each */
    int64_t bytes_sent;
    int64_t dropped_elements;
    int64_t cancelled_passes; /* of gradients that were stopped */

    /* Worker. */
    int64_t steps_begun, passes_begun;
    gs_time_ns handover_ns; /* when it entered the last one */
    int64_t passes_more;    /* counted on top since ranks agreed on a number: strategies/swap.h */
    bool stops;             /* the budget of all gradients is used up */
    gs_plan plan;           /* of the step under way */
    bool in_backward;
    bool quiesced;
    gs_live_computer *computer;
    gs_live_shelf shelf;                  /* models to be evaluated */
    int64_t shelved_step;                 /* of the last of them */
    uint32_t native_groups[GS_LINES_MAX]; /* of its all-reduces, + 1; 0: not made */
    int64_t next_look;                    /* mean steps, where each entity cuts on its own */
} gs_live_entity;

/* Driver and memory. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_live_entity_init(gs_live_entity *entity, gs_live_shared *shared,
                                          gs_peer self, gs_error *err);
void gs_live_entity_fini(gs_live_entity *entity);
gs_peer gs_live_peer(const gs_live_shared *shared, uint32_t number);

/* The entity's first turn, and what it does with a parcel. */
void gs_live_entity_start(gs_live_entity *entity);
void gs_live_entity_handle(gs_live_entity *entity, gs_parcel *parcel);
/* What live_compute.c and live_calls.c tell of it. */
void gs_live_entity_unit(gs_live_entity *entity, uint32_t unit);
void gs_live_entity_backward(gs_live_entity *entity, double loss);
void gs_live_entity_drained(gs_live_entity *entity);
/* After the run: a parcel that came too late. */
void gs_live_entity_left_over(gs_live_entity *entity, const gs_parcel *parcel);

/* Ends the run; the first error stays. */
void gs_live_fail(gs_live_shared *shared, const gs_error *err);
void gs_live_fail_memory(gs_live_shared *shared, const char *what);
/* A time of the run for something that happens now: later than every one given in this process, and
 * than those of all that it has heard of; no two processes give the same one. */
gs_time_ns gs_live_stamp(gs_live_shared *shared);
/* Writes down what an entity did, where rows are wanted: at_ns is set. */
void gs_live_note(gs_live_entity *entity, gs_live_entry entry);

extern const gs_host_calls gs_live_calls; /* live_calls.c; host: the gs_live_entity */

/* Sends a parcel to an entity; ends the run where there is no memory. */
void gs_live_post(gs_live_shared *shared, const gs_parcel *parcel, bool keep);
/* To itself, on a later turn. */
void gs_live_post_own(gs_live_entity *entity, gs_parcel_kind kind);

/* ---------------------------------------------------------------- evaluations: live_look.c */

/* Worker 0's model at every mark of the scenario; where ranks learn apart and cut together that of
 * each worker. Where all cut together the marks are ends of its steps; else steps of the ranks'
 * mean, asked at its own, and the end. */
/* Room for them. Errors: as of gs_live_shelf_create. */
GS_MUST_USE gs_status gs_live_look_open(gs_live_entity *entity, gs_error *err);
void gs_live_look_step_ended(gs_live_entity *entity);
void gs_live_look_by_mean(gs_live_entity *entity, bool is_end);
void gs_live_look_drained(gs_live_entity *entity);

/* Begins an all-reduce by the carrier's own: false where it has none for such numbers, or the op is
 * coded. live_native.c */
bool gs_live_native(gs_live_entity *entity, uint32_t slot, const gs_op_signature *op,
                    gs_slice data);

/* ---------------------------------------------------------------- legs: live_leg.c */

/* gs_host_calls.leg and .not_swapped. */
void gs_live_leg(void *host, gs_peer self, const gs_leg_turn *turn);
void gs_live_leg_refused(void *host, gs_peer self, uint32_t leg, const char *why);

/* ---------------------------------------------------------------- computing: live_compute.c */

/* NULL: no memory, or what gs_live_pace_create says. Owner: the entity's arena, until close. */
GS_MUST_USE gs_status gs_live_computer_open(gs_live_entity *entity, gs_error *err);
void gs_live_computer_close(gs_live_computer *computer);
/* Takes the gradient of the step under way, and begins to announce it. */
void gs_live_compute_begin(gs_live_entity *entity);
/* A COMPUTE parcel has come: the next unit, or the end of the backward pass. */
void gs_live_compute_turn(gs_live_entity *entity, const gs_parcel *parcel);
/* No thread works on the entity's numbers any more when it returns: a run that fails ends in the
 * middle of a pass. */
void gs_live_compute_stop(gs_live_entity *entity);
/* Nothing of the gradient under way is announced any more. */
void gs_live_compute_cancel(gs_live_entity *entity);
/* The optimizer has run: its time of the profile passes before the next gradient. */
void gs_live_compute_applied(gs_live_entity *entity);
/* When that time has passed, on the clock of the run; 0: none was asked for. */
gs_time_ns gs_live_compute_free_ns(const gs_live_entity *entity);
/* A gradient is being computed beside what the entity's place does. */
bool gs_live_is_computing(gs_live_entity *entity);

/* ---------------------------------------------------------------- the processes: live_words.c */

typedef enum gs_live_count {
    GS_COUNT_PASSES,  /* forward and backward passes of a gradient that was taken */
    GS_COUNT_TOLD,    /* a worker was told of the common cut */
    GS_COUNT_DRAINED, /* an entity */
    GS_COUNT_KINDS
} gs_live_count;

/* Process 0 hears of it, and acts once all are counted. */
void gs_live_count_more(gs_live_shared *shared, gs_live_count what, int64_t amount);
/* Everybody is to stop. */
void gs_live_stop_all(gs_live_shared *shared);
/* A parcel of kind WORD. */
void gs_live_hear(gs_live_shared *shared, const gs_parcel *parcel);
/* Now and then, by place 0: says that this process lives, and finds out who does not, and whether
 * anything moves anywhere. */
void gs_live_look_around(gs_live_shared *shared);

#endif
