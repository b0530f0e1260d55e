/* Parcels that are due at some time: where those for one taker lie until it takes them.
 *
 * What is due at the same time comes in the order in which it was put. On a channel (sender, plane)
 * nothing is due before what was put earlier. Any thread may put; one takes. Parcels and copies of
 * payloads belong to the mailbox they were put into and go home to it: steady state takes no
 * memory. For transports. */
#ifndef GS_LIVE_MAILBOX_H
#define GS_LIVE_MAILBOX_H

#include "base/event_queue.h"
#include "live/live_net.h"

#include <pthread.h>

/* A parcel and what it holds. */
typedef struct gs_envelope {
    gs_parcel parcel;  /* first: an envelope is found by its parcel */
    gs_payload view;   /* what parcel.payload is where nothing was copied */
    gs_payload *copy;  /* of the mailbox's pool; NULL: none */
    void *handle;      /* of whoever lends the view; NULL: nobody */
    bool tells_sender; /* LEFT is due when it is released */
    uint32_t index;
    struct gs_envelope *next_free;
} gs_envelope;

enum { GS_MAILBOX_CHUNK = 64, GS_MAILBOX_CHUNKS_MAX = 4096 };

typedef struct gs_mailbox {
    pthread_mutex_t lock;
    pthread_cond_t came;
    gs_event_heap due;
    uint64_t order; /* parcels so far */
    uint32_t planes;
    gs_time_ns *last_due; /* [senders][planes] */
    gs_arena arena;       /* everything below */
    gs_payload_pool floats;
    gs_envelope *chunks[GS_MAILBOX_CHUNKS_MAX];
    uint32_t chunk_count;
    gs_envelope *free;
    bool stopped;
} gs_mailbox;

/* false: no memory; fini is called all the same. */
bool gs_mailbox_init(gs_mailbox *box, uint32_t senders, uint32_t planes);
void gs_mailbox_fini(gs_mailbox *box);

/* Between lock and unlock. */
void gs_mailbox_lock(gs_mailbox *box);
void gs_mailbox_unlock(gs_mailbox *box); /* and wakes the taker */
/* A copy of the parcel, without its payload. NULL: no memory. */
gs_envelope *gs_mailbox_envelope(gs_mailbox *box, const gs_parcel *parcel);
/* Due at that time, or when the one before it on its channel is. false: no memory. */
bool gs_mailbox_put(gs_mailbox *box, gs_envelope *put, gs_time_ns due_ns);
/* A parcel with no payload, due at that time. false: no memory. */
bool gs_mailbox_tell(gs_mailbox *box, const gs_parcel *parcel, gs_time_ns due_ns);
/* The first parcel, if it is due; NULL: none is. *out_next: when the next one is, or GS_TIME_NEVER.
 */
gs_parcel *gs_mailbox_due(gs_mailbox *box, gs_time_ns now_ns, gs_time_ns *out_next);

/* These lock themselves. */
void gs_mailbox_stop(gs_mailbox *box);
/* The envelope and its copy go home. */
void gs_mailbox_release(gs_mailbox *box, gs_parcel *parcel);
/* What nobody took, due or not. */
gs_parcel *gs_mailbox_left_over(gs_mailbox *box);

/* LEFT for the sender of that parcel. */
gs_parcel gs_parcel_left(const gs_parcel *sent);

#endif
