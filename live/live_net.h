/* The transport: how parcels come from one entity to another in a live run, and what makes an
 * entity's loop turn.
 *
 * A transport is a table. Entities stand at places: a place is a thread that takes the parcels of
 * its entities one at a time; whatever an entity asks of itself for a later turn goes the same way.
 * Channels are first in first out: all that one entity sends another on one plane (parts of one
 * communicator, messages, notes). send and stop may be called from any thread, and those that lend
 * a payload only from the sender's; take and release only from the place's own. */
#ifndef GS_LIVE_NET_H
#define GS_LIVE_NET_H

#include "base/arena.h"
#include "base/status.h"
#include "traces/entity_memory.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_parcel_kind {
    GS_PARCEL_PART,    /* of a collective */
    GS_PARCEL_MESSAGE, /* with data */
    GS_PARCEL_NOTE,
    GS_PARCEL_LEFT,    /* the data of a parcel that this entity sent has left */
    GS_PARCEL_FLUSHED, /* this and the following: what an entity or its host asked for */
    GS_PARCEL_LATER,
    GS_PARCEL_WAKE,
    GS_PARCEL_COMPUTE,
    GS_PARCEL_QUIESCE,
    GS_PARCEL_SWAP,   /* to the leg in slot, where a strategy cuts on its own */
    GS_PARCEL_NATIVE, /* a collective that the network ran has ended */
    GS_PARCEL_WORD /* of a process of the run to this one (live/crew.h), for no entity: its payload
                    */
} gs_parcel_kind;

enum {
    GS_PLANE_MESSAGES,
    GS_PLANE_NOTES,
    GS_PLANE_PARTS
}; /* + stream of a communicator's channel */

typedef struct gs_parcel {
    gs_parcel_kind kind;
    uint32_t from, to; /* entities by number: workers, then servers */
    uint32_t plane;
    uint64_t sequence;   /* number on its channel, from 0 */
    uint64_t request;    /* LEFT, FLUSHED, LATER: the host's number of what ended */
    uint32_t slot;       /* the driver's */
    gs_time_ns after_ns; /* of what an entity tells itself: not before so much has passed */
    gs_time_ns sent_ns;  /* the sender's time of the run: no later than any of its next acts */
    int64_t bytes;       /* PART, MESSAGE: on the wire, as the job counts them */
    gs_message message;  /* MESSAGE, NOTE */
    gs_op_signature signature; /* PART */
    const gs_payload *payload; /* PART, MESSAGE; without floats in timing-only runs */
    struct gs_parcel *next;    /* for whoever holds it */
} gs_parcel;

/* What comes on a channel from another entity. */
static inline bool gs_parcel_is_on_channel(gs_parcel_kind kind)
{
    return kind == GS_PARCEL_PART || kind == GS_PARCEL_MESSAGE || kind == GS_PARCEL_NOTE;
}

static inline bool gs_parcel_has_data(gs_parcel_kind kind)
{
    return kind == GS_PARCEL_PART || kind == GS_PARCEL_MESSAGE;
}

/* How the in-process transport delays; each exposes orders that the others do not. */
/* clang-format off */
#define GS_DELAY_LIST(X)                                                                           \
    X(NONE,    "none")     /* as fast as threads are */                                            \
    X(UNIFORM, "uniform")  /* every parcel at random, up to delay_ns */                            \
    X(SKEWED,  "skewed")   /* one slow pair: entity 0 to 1 takes 8 delay_ns, and 0 is slow */      \
    X(LATE,    "late")     /* completions come long after, arrivals at once */                     \
    X(BURSTS,  "bursts")   /* nothing moves between multiples of delay_ns */
/* clang-format on */

typedef enum gs_delay {
#define GS_DELAY_ENUM(name, text) GS_DELAY_##name,
    GS_DELAY_LIST(GS_DELAY_ENUM)
#undef GS_DELAY_ENUM
        GS_DELAY_COUNT
} gs_delay;

const char *gs_delay_text(gs_delay delay);

typedef struct gs_crew gs_crew;

typedef struct gs_transport_config {
    uint32_t entities;
    uint32_t planes;       /* GS_PLANE_PARTS + streams */
    gs_number number;      /* of which payloads are; what has 16 bits travels in 16 */
    gs_crew *crew;         /* the processes of the run; NULL: this one alone */
    gs_time_ns latency_ns; /* carried: what comes waits so long more on purpose, */
    gs_time_ns jitter_ns;  /* and up to so long more, each parcel at random */
    gs_delay delay;
    gs_time_ns delay_ns;
    bool rendezvous; /* data stays with its sender until the receiver takes it */
    uint64_t seed;
} gs_transport_config;

typedef enum gs_take {
    GS_TAKE_PARCEL,
    GS_TAKE_NOTHING, /* came, and nothing is known to come */
    GS_TAKE_LATER,   /* nothing came, and something is due later */
    GS_TAKE_STOPPED,
    GS_TAKE_BROKEN /* no memory, or the crew is broken, which then says how */
} gs_take;

/* No place of this process. */
#define GS_NOT_HERE UINT32_MAX

typedef struct gs_transport {
    const char *name;
    const char *summary;
    const char *launcher; /* for people: what starts its processes */
    /* Errors: GS_ENOMEM, GS_EINVAL. Owner of *out: caller, close. */
    gs_status (*open)(const gs_transport_config *config, void **out, gs_error *err);
    void (*close)(void *net);
    /* Places in this process, at least one; and that of an entity, or GS_NOT_HERE. */
    uint32_t (*places)(void *net);
    uint32_t (*place_of)(void *net, uint32_t entity);
    /* Copies the parcel; its payload is lent until LEFT comes to the sender, or copied at once if
     * `keep`. A PART or MESSAGE causes LEFT, on a later turn. false: no memory. */
    bool (*send)(void *net, const gs_parcel *parcel, bool keep);
    /* The next parcel of a place. Waits for it until until_ns (of gs_live_clock). */
    gs_take (*take)(void *net, uint32_t place, gs_time_ns until_ns, gs_parcel **out);
    /* Its payload has been used. false: no memory. */
    bool (*release)(void *net, gs_parcel *parcel);
    /* Wakes everybody: take says STOPPED from now on. */
    void (*stop)(void *net);
    /* After stop, by place 0: until all that was sent has left, so that what was lent is free.
     * NULL: nothing is lent. */
    void (*drain)(void *net, gs_time_ns until_ns);
    /* After stop, when no thread takes any more: what was sent and never taken; false: nothing. */
    bool (*left_over)(void *net, uint32_t place, gs_parcel **out);
} gs_transport;

uint32_t gs_transport_count(void);
const gs_transport *gs_transport_at(uint32_t index);
const gs_transport *gs_transport_find(const char *name); /* NULL: no such name */

/* Monotonic clock of this machine. */
gs_time_ns gs_live_clock(void);

#endif
