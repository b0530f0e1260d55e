/* The host of replayed drivers: what they send waits until a record says that it came; for
 * replay.c. */
#ifndef GS_SIM_REPLAY_HOST_H
#define GS_SIM_REPLAY_HOST_H

#include "sim/replay.h"
#include "strategies/driver.h"
#include "traces/entity_memory.h"
#include "traces/wire.h"

/* Planes of channels; parts of stream s of the communicators travel on GS_REPLAY_PARTS + s. */
enum { GS_REPLAY_MESSAGES, GS_REPLAY_NOTES, GS_REPLAY_PARTS };

typedef struct gs_replay_parcel {
    uint64_t sequence; /* on its channel, from 0 */
    gs_message message;
    gs_op_signature signature;
    gs_payload *payload;
    struct gs_replay_parcel *next;
} gs_replay_parcel;

typedef struct gs_replay_queue {
    gs_replay_parcel *first, *last;
} gs_replay_queue;

typedef struct gs_replay_request {
    uint64_t number;
    uint32_t slot;
    bool is_sent; /* ends by sent, else by later */
} gs_replay_request;

typedef struct gs_replay gs_replay;

typedef struct gs_replay_entity {
    gs_replay *replay;
    gs_peer self;
    gs_driver *driver;
    gs_entity_memory memory;
    uint32_t leg;                /* of the run; their count: the handover */
    gs_wire *wire;               /* of the leg; NULL: nothing is coded */
    gs_wire **wires;             /* [legs] */
    uint32_t check;              /* of its records so far */
    gs_replay_queue *coming;     /* [planes][entities]: sent to this one */
    gs_replay_queue *arrived;    /* [streams][ranks]: parts that were not absorbed */
    uint64_t *sent;              /* [planes][entities]: by this one */
    gs_replay_request *requests; /* [request_count] outstanding */
    uint32_t request_count, request_capacity;
    uint64_t requests_made;
    gs_plan plan;     /* of the step under way */
    bool *unit_ready; /* [unit_count] */
    uint32_t units_left;
    double loss;
    bool started, asked, in_backward, quiesced;
    bool has_begun;    /* a step */
    bool has_gradient; /* of the step under way: its weights were all there */
} gs_replay_entity;

struct gs_replay {
    gs_replay_config config;
    gs_relay relay;   /* as in live */
    gs_layout layout; /* of all legs */
    gs_streams streams;
    const gs_bucket_plan *buckets, *buckets_rebuilt; /* as in live */
    gs_replay_entity *entities;                      /* workers, then servers */
    uint32_t entity_count;
    gs_task_workspace *workspace; /* NULL: timing only */
    gs_arena arena;
    gs_payload_pool floats;
    gs_staleness staleness; /* of all gradients applied */
    gs_replay_parcel *free;
    size_t at; /* record that is being played */
    gs_time_ns last_ns;
    gs_error error; /* code GS_OK: none yet */
};

/* Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_replay_entity_init(gs_replay *replay, uint32_t number, gs_error *err);
/* The oldest parcel on a channel to the entity, or NULL. */
gs_replay_parcel *gs_replay_peek(const gs_replay *replay, const gs_replay_entity *entity,
                                 uint32_t plane, uint32_t from);
/* Tells the driver of that parcel. */
void gs_replay_arrive(gs_replay *replay, gs_replay_entity *entity, uint32_t plane, uint32_t from,
                      gs_time_ns at);
/* Takes a request off the outstanding ones; false: there is no such one. */
bool gs_replay_end_request(gs_replay_entity *entity, uint64_t number, bool is_sent,
                           uint32_t *out_slot);
/* Takes the gradient of the step under way. */
void gs_replay_gradient(gs_replay_entity *entity);
/* Of the models of all workers in rank order. */
uint64_t gs_replay_weights_hash(const gs_replay *replay);

#endif
