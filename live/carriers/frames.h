/* Frames on their way out and in, their memory, and what is to be said of them: what carriers over
 * different networks have in common.
 *
 * Memory is kept for later frames of its size: once the largest traffic has been seen, nothing is
 * allocated any more. Used from one thread. Compiled into each module once more. */
#ifndef GS_LIVE_CARRIERS_FRAMES_H
#define GS_LIVE_CARRIERS_FRAMES_H

#include "live/carrier.h"

#include <stdalign.h>

enum { GS_FRAME_BUFFER_CLASSES = 48 };

/* In front of each head; in the byte order of the machine, the greeting has checked that. */
typedef struct gs_frame_header {
    uint32_t head_bytes; /* 0: the last frame of this sender, it leaves */
    uint32_t blame; /* of a last frame: 0, or 1 + the process for whose sake its sender gives up */
    uint64_t body_bytes;
    uint64_t padding_bytes;
} gs_frame_header;

enum { GS_FRAME_WIRE_BYTES = sizeof(gs_frame_header) + GS_FRAME_HEAD_BYTES };

typedef struct gs_outgoing {
    struct gs_outgoing *next;
    uint64_t cookie;
    gs_carried_kind said; /* when it has left; NOTHING: it is the carrier's own */
    void *body;
    size_t body_bytes;
    size_t padding_bytes;
    size_t gone_bytes; /* of wire, body and padding: handed to the network */
    uint32_t requests; /* of the network, that still read from it */
    uint32_t wire_bytes;
    unsigned char wire[GS_FRAME_WIRE_BYTES]; /* header and head */
} gs_outgoing;

typedef struct gs_incoming {
    struct gs_incoming *next;
    uint32_t from;
    uint32_t head_bytes;
    unsigned char *body; /* of the pool */
    size_t body_bytes;
    size_t padding_bytes;
    size_t come_bytes; /* of body and padding: read, or asked of the network */
    uint32_t requests; /* of the network, that still write to it */
    alignas(16) unsigned char head[GS_FRAME_HEAD_BYTES];
} gs_incoming;

typedef struct gs_outgoing_queue {
    gs_outgoing *first, *last;
} gs_outgoing_queue;

typedef struct gs_incoming_queue {
    gs_incoming *first, *last;
} gs_incoming_queue;

typedef struct gs_frame_loss {
    uint32_t peer;
    char text[160];
} gs_frame_loss;

typedef struct gs_frames {
    uint32_t processes;
    gs_outgoing *spare_outgoing;
    gs_incoming *spare_incoming;
    struct gs_frame_buffer *spare_buffers[GS_FRAME_BUFFER_CLASSES];
    gs_outgoing_queue left;
    gs_incoming_queue come;
    bool *is_lost;         /* [processes] */
    gs_frame_loss *losses; /* [processes] */
    uint32_t loss_count;
    uint32_t losses_said;
} gs_frames;

/* false: no memory. Owner: caller, gs_frames_fini, in both cases. */
bool gs_frames_init(gs_frames *frames, uint32_t processes);
void gs_frames_fini(gs_frames *frames);

void gs_outgoing_push(gs_outgoing_queue *queue, gs_outgoing *frame);
gs_outgoing *gs_outgoing_pop(gs_outgoing_queue *queue); /* NULL: empty */
void gs_incoming_push(gs_incoming_queue *queue, gs_incoming *frame);
gs_incoming *gs_incoming_pop(gs_incoming_queue *queue);

/* A frame to be sent, not yet in a queue; NULL: no memory. frame NULL: the last frame, or none at
 * all: what stands for a sum under way has `said` changed to DONE. */
gs_outgoing *gs_frames_outgoing(gs_frames *frames, const gs_frame *frame, uint64_t cookie);
size_t gs_outgoing_bytes(const gs_outgoing *frame);
/* Its body is not read any more: says what it is to say. */
void gs_frames_left(gs_frames *frames, gs_outgoing *frame);
/* All of a queue have left: their receiver is lost. */
void gs_frames_drop(gs_frames *frames, gs_outgoing_queue *queue);

/* A frame whose header has come; head [header->head_bytes]. NULL: no memory for it. */
gs_incoming *gs_frames_incoming(gs_frames *frames, uint32_t from, const gs_frame_header *header,
                                const void *head);
/* All of it is here. */
void gs_frames_come(gs_frames *frames, gs_incoming *frame);
void gs_frames_give_back(gs_frames *frames, gs_incoming *frame);

/* Memory of the pool, 64-byte aligned; NULL: none. */
void *gs_frames_buffer(gs_frames *frames, size_t bytes);
void gs_frames_buffer_back(gs_frames *frames, void *buffer); /* NULL allowed */

/* Said once for each process, after all that has come from it. */
void gs_frames_lost(gs_frames *frames, uint32_t peer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* CLOCK_MONOTONIC. */
gs_time_ns gs_frames_clock(void);

/* The next of LEFT, DONE, FRAME and LOST; false: nothing to say. */
bool gs_frames_next(gs_frames *frames, gs_carried *out);
bool gs_frames_has_next(const gs_frames *frames);
/* Forgets what there is to say: nobody asks any more. */
void gs_frames_hush(gs_frames *frames);

#endif
