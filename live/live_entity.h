/* One entity of a live run: its driver, its memory and the loop that feeds it; for live's own
 * files. */
#ifndef GS_LIVE_LIVE_ENTITY_H
#define GS_LIVE_LIVE_ENTITY_H

#include "live/live.h"
#include "strategies/driver.h"
#include "traces/wire.h"
#include "traces/entity_memory.h"

#include <pthread.h>
#include <stdatomic.h>

/* What all entities of a run share. */
typedef struct gs_live_shared {
    gs_live_config config;
    gs_layout layout;
    const gs_bucket_plan *buckets;
    uint32_t entity_count; /* workers and the servers the strategy uses */
    const gs_transport *transport;
    void *net;
    gs_time_ns start_ns;

    atomic_uint waiting;               /* entities in take */
    atomic_llong progress_ns;          /* of gs_live_clock: the last parcel taken */
    atomic_uint drained, workers_told; /* entities; told: of the common cut */
    atomic_llong gradients;

    pthread_mutex_t lock; /* of what follows */
    gs_recording recording;
    gs_status status;
    gs_error error;
} gs_live_shared;

typedef struct gs_live_entity {
    gs_live_shared *shared;
    gs_peer self;
    uint32_t number;
    gs_driver *driver;
    gs_entity_memory memory;
    gs_wire *wire;                /* NULL: nothing is coded */
    gs_staleness staleness;       /* of what it applied */
    gs_task_workspace *workspace; /* NULL: timing only, or a server */
    gs_arena arena; /* of driver and memory; used by the entity's own thread while it runs */
    pthread_t thread;
    gs_time_ns now;

    /* Channels by plane and peer; parts that came and were not absorbed, oldest first. */
    uint64_t *sent;       /* [planes][entities]: parcels sent so far */
    gs_parcel **first;    /* [communicators][ranks] */
    gs_parcel **last;     /* likewise */
    uint32_t *unsent;     /* [communicators]: parts sent that have not left */
    gs_parcel *flushes;   /* [communicators]: kind FLUSHED: its op waits for unsent to be 0 */
    uint64_t requests;    /* to the host, so far */
    uint64_t *op_streams; /* [communicators]: hash of what was issued on each */

    /* Worker. */
    int64_t steps_begun;
    gs_plan plan;        /* of the step under way */
    uint32_t units_left; /* of this step's gradient that are not announced */
    bool in_backward;
    bool quiesced;
    double loss;
} gs_live_entity;

/* Driver and memory. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_live_entity_init(gs_live_entity *entity, gs_live_shared *shared,
                                          gs_peer self, gs_error *err);
void gs_live_entity_fini(gs_live_entity *entity);
/* The body of its thread. */
void *gs_live_entity_loop(void *entity);
/* After the threads have ended: what came too late. */
void gs_live_entity_left_over(gs_live_entity *entity);

/* Ends the run; the first error stays. */
void gs_live_fail(gs_live_shared *shared, const gs_error *err);

extern const gs_host_calls gs_live_calls; /* live_calls.c; host: the gs_live_entity */

/* Takes the gradient of the step under way, and begins to announce it. */
void gs_live_entity_gradient(gs_live_entity *entity);

/* Sends a parcel of the entity's to itself or to another one; ends the run where there is no
 * memory. */
void gs_live_post(gs_live_entity *entity, const gs_parcel *parcel, bool keep);

#endif
