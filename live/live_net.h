/* The transport: how parcels come from one entity to another in a live run, and what makes an
 * entity's loop turn.
 *
 * A transport is a table. Each entity's loop takes its parcels from it one at a time; whatever an
 * entity asks of itself for a later turn goes the same way. Channels are first in first out: all
 * that one entity sends another on one plane (parts of one communicator, messages, notes).
 * Functions may be called from any thread; take and release only from the entity's own. */
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
    GS_PARCEL_QUIESCE
} gs_parcel_kind;

enum { GS_PLANE_MESSAGES, GS_PLANE_NOTES, GS_PLANE_PARTS }; /* + communicator */

typedef struct gs_parcel {
    gs_parcel_kind kind;
    uint32_t from, to; /* entities by number: workers, then servers */
    uint32_t plane;
    uint64_t sequence;         /* number on its channel, from 0 */
    uint64_t request;          /* LEFT, FLUSHED, LATER: the host's number of what ended */
    uint32_t slot;             /* the driver's */
    gs_time_ns after_ns;       /* LATER: not before so much time has passed */
    gs_message message;        /* MESSAGE, NOTE */
    gs_op_signature signature; /* PART */
    const gs_payload *payload; /* PART, MESSAGE; without floats in timing-only runs */
    struct gs_parcel *next;    /* for whoever holds it */
} gs_parcel;

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

typedef struct gs_transport_config {
    uint32_t entities;
    uint32_t planes; /* GS_PLANE_PARTS + communicators */
    gs_delay delay;
    gs_time_ns delay_ns;
    bool rendezvous; /* data stays with its sender until the receiver takes it */
    uint64_t seed;
} gs_transport_config;

typedef enum gs_take { GS_TAKE_PARCEL, GS_TAKE_TIMEOUT, GS_TAKE_STOPPED } gs_take;

typedef struct gs_transport {
    const char *name;
    const char *summary;
    /* Errors: GS_ENOMEM, GS_EINVAL. Owner of *out: caller, close. */
    gs_status (*open)(const gs_transport_config *config, void **out, gs_error *err);
    void (*close)(void *net);
    /* Copies the parcel; its payload is lent until LEFT comes to the sender, or copied at once if
     * `keep`. A PART or MESSAGE causes LEFT, on a later turn. false: no memory. */
    bool (*send)(void *net, const gs_parcel *parcel, bool keep);
    /* The next parcel of an entity. Waits for it until until_ns (of gs_live_clock). */
    gs_take (*take)(void *net, uint32_t entity, gs_time_ns until_ns, gs_parcel **out);
    /* Its payload has been used. false: no memory. */
    bool (*release)(void *net, gs_parcel *parcel);
    /* Wakes everybody: take says STOPPED from now on. */
    void (*stop)(void *net);
    /* After stop, when no thread takes any more: what was sent and never taken; false: nothing. */
    bool (*left_over)(void *net, uint32_t entity, gs_parcel **out);
} gs_transport;

uint32_t gs_transport_count(void);
const gs_transport *gs_transport_at(uint32_t index);
const gs_transport *gs_transport_find(const char *name); /* NULL: no such name */

/* Monotonic clock of this machine. */
gs_time_ns gs_live_clock(void);

#endif
