/* Sockets: all that one entity sends to another, first-in first-out over all streams, as over one
 * TCP connection. Behind sim_net.c and nobody else.
 *
 * A message first lies at its sender's desk: there it waits until it is ready, and then each takes
 * the link class's time per message, one after the other over all destinations. Then it is in its
 * socket, and the first one there goes over the route, as one flow a socket, so that shares are
 * what a card gives that serves destinations in turn. Notes have no bytes but wait for their turn;
 * nothing overtakes on the way either.
 *
 * The window is a credit: the sender may have sent, and put into the socket, what is a window ahead
 * of what the receiver's side has taken; the news of that needs a round trip. So the two ends share
 * their links apart from each other: the sender's serves whoever has credit, even where the bytes
 * then queue before a slow receiver; the receiver's serves whose bytes have been sent. Both go in
 * chunks, a sixteenth of the window: the receiver's side begins a chunk when the sender's does and
 * ends it no earlier, and credit for one more comes a round trip after it has begun one. A message
 * has left once credit covers its last byte, whether or not that is on the wire yet.
 *
 * With a window a link may be one queue (queue_bytes): first-in first-out, chunk by chunk, at its
 * full rate. The sender's card then takes so much of a socket, and more as that goes; the queue of
 * the receiver takes all that is sent. Who has more in it gets more, and the news that a chunk has
 * been taken waits in the two queues of its way back (sim/sim_net_line.h). A window W and a way
 * back that is as full as the way there give half of the rate: that is what a slow host does to a
 * ring.
 *
 * Without a window both ends of the route are in step, and a message has left with its last byte on
 * the wire. */
#ifndef GS_SIM_SIM_NET_SOCKET_H
#define GS_SIM_SIM_NET_SOCKET_H

#include "sim/sim_net.h"

enum { GS_WINDOW_CHUNKS = 16 };

typedef struct gs_sim_socket {
    uint32_t to;
    uint32_t next; /* of the same sender; GS_NO_SOCKET */
    gs_route route;
    const gs_link *link;
    gs_sim_flow flows[2]; /* of the sender's end, over the whole route where there is no window; of
                             the receiver's. Handles are of GS_SIM_SOCKET events */
    uint32_t last;        /* newest part, if any */
    uint32_t sending;     /* first part that has not been sent as a whole; GS_NO_PART */
    uint32_t taking;      /* first part that has not been taken; GS_NO_PART */
    uint32_t untold;      /* first part whose sender has not been told; GS_NO_PART */
    /* Bytes since the start: put in; sent, and once what is under way is; taken, and likewise. */
    int64_t queued, sent, sent_until, taken, taken_until;
    bool is_taken;       /* up to taken_until, except for what has not been sent */
    int64_t chunk_bytes; /* of the window; 0: there is none */
    int64_t credit;      /* bytes since the start that may have been sent */
    int64_t next_chunk;  /* first byte that brings another chunk of credit when it is taken */
    bool has_queues;     /* both ends' links are queues: */
    int64_t in_card;     /* bytes since the start that the sender's has taken */
    uint32_t back_first, back_last;   /* links of the way back */
    gs_tick grants[GS_WINDOW_CHUNKS]; /* a ring: when credit for a chunk comes */
    uint32_t grant_first, grant_count;
    gs_tick last_arrival;     /* -1: nothing has come */
    struct gs_sim_cost *cost; /* of its messages beside their bytes; NULL: none */
    uint32_t held;            /* part that its slow start holds up, the first one; GS_NO_PART */
    gs_tick held_until;
} gs_sim_socket;

typedef struct gs_sim_desk {
    uint32_t first_socket;                  /* of this sender; GS_NO_SOCKET */
    uint32_t waiting_first, waiting_last;   /* parts that are not ready */
    uint32_t handling_first, handling_last; /* parts that take their time, the first one now */
    gs_tick free_at;                        /* when the last of them has */
} gs_sim_desk;

/* false: no memory. */
bool gs_sim_sockets_init(gs_sim_net *net);

/* The socket of a pair, opened if it is not; GS_NO_SOCKET: no memory. */
uint32_t gs_sim_socket_open(gs_sim_net *net, uint32_t from, uint32_t to);

/* Puts a part on the desk: its channel, is_note, bytes and ready_at say what it is. */
void gs_sim_socket_send(gs_sim_net *net, uint32_t part);

/* ---- what sim_net.c has for it */

/* Twice the room from the arena; what was there is copied. NULL: no memory. */
void *gs_sim_net_grown(gs_sim_net *net, const void *old, uint32_t count, uint32_t *capacity,
                       size_t item_bytes);

/* When a message of the channel comes that leaves at `left`: after the latency, with jitter. */
gs_tick gs_sim_net_arrival(gs_sim_net *net, gs_sim_channel *channel, gs_tick left, int64_t bytes);

/* Tells the timeline of it: channel->last_arrival is its arrival. */
void gs_sim_net_tell_timeline(gs_sim_net *net, const gs_sim_channel *channel, int64_t bytes,
                              gs_tick began, gs_tick left);

#endif
