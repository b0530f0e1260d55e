/* Messages on their way: first-in first-out channels over links that share their capacity max-min
 * fairly.
 *
 * A channel is an ordered stream from one entity to another. Parts queue at its head; one at a time
 * is a flow over the route (sim/topology.h), at the rate that the links give it (sim/fluid.h),
 * in pieces as the capacity changes over time; then the latency passes, with jitter, never
 * overtaking. A channel all of whose links carry no other channel is private: nobody can change its
 * rate, so each part costs one event, exact to the tick. Where the link class says so, all channels
 * and the notes from one entity to another are one socket (sim/sim_net_socket.h), which flows in
 * their place. Channels of communicators are opened before the run, which then is sealed. */
#ifndef GS_SIM_SIM_NET_H
#define GS_SIM_SIM_NET_H

#include "base/arena.h"
#include "traces/noise.h"
#include "sim/fluid.h"
#include "sim/rate_integral.h"
#include "sim/sim_loop.h"
#include "sim/sim_net_line.h"
#include "sim/topology.h"
#include "strategies/host.h"
#include "strategies/selection.h"
#include "traces/entity_memory.h"
#include "traces/timeline.h"

#define GS_NO_PART   UINT32_MAX
#define GS_NO_CALL   UINT32_MAX
#define GS_NO_SOCKET UINT32_MAX

/* One message on a channel, or a note. Parts of timing-only collectives on private channels have
 * none. */
typedef struct gs_sim_part {
    uint32_t next;        /* on its channel, or of the free list */
    uint32_t sender_slot; /* to be told when it has left; UINT32_MAX: nobody */
    int64_t bytes;
    gs_tick ready_at;    /* not sent before: its stream is busy; of a flow: when it began */
    gs_time_ns asked_ns; /* when the sender asked */
    gs_message message;  /* point to point and notes */
    gs_payload *payload; /* of notes NULL, and of parts in timing-only runs */
    uint32_t behind;     /* next at the desk of its sender, then on its socket */
    uint32_t channel;    /* on a socket only, as is what follows: for a note, one to its receiver */
    bool is_note;
    int64_t end; /* of its bytes, among all of the socket */
} gs_sim_part;

/* Bytes under way at the rate that the links give them: of a channel, or of a socket. */
typedef struct gs_sim_flow {
    uint32_t index;  /* in the fluid; GS_FLUID_NONE: stands still */
    uint64_t handle; /* of the pending event of its owner; 0: none */
} gs_sim_flow;

typedef struct gs_sim_channel {
    uint32_t from, to; /* entities */
    uint32_t stream;   /* of a communicator's channel, or net->communicators: point to point */
    uint32_t inbox;    /* of the receiving driver; communicators only */
    gs_route route;
    bool is_private;
    uint32_t socket; /* whose parts these are; GS_NO_SOCKET: its own flow */
    uint32_t untold; /* on a socket: parts whose sender has not been told */
    uint32_t first,
        last;         /* parts: delivered ones first, then those under way, then those waiting */
    uint32_t sending; /* first that has not left; not on a socket */
    gs_sim_flow flow; /* of that part; its handle is of GS_SIM_CHANNEL events */
    gs_tick free_at;  /* private: the last part has left */
    gs_tick last_arrival;
    uint64_t messages;
    uint32_t flush_call;      /* waits until the channel is empty; GS_NO_CALL */
    struct gs_sim_cost *cost; /* of messages beside their bytes (sim/sim_net_cost.h); NULL: none */
} gs_sim_channel;

typedef struct gs_sim_net {
    gs_sim_loop *loop;
    const gs_topology *topology;
    const gs_noise_sampler *latency_noise;
    uint64_t seed;
    const gs_streams *streams;
    uint32_t communicators; /* streams of them: from here on they are of none */
    gs_sim_channel *channels;
    uint32_t channel_count, channel_capacity;
    uint32_t *table; /* open addressing: channel + 1 by (from, to, stream) */
    uint32_t table_capacity;
    bool has_connection_rates;     /* behind the topology's links of the fluid, one a flow */
    gs_fluid *fluid;               /* NULL while every channel is private */
    const gs_fairshare *fairshare; /* of it: for who looks at links; NULL likewise */
    uint32_t *owner_of_flow;       /* channel, or of a socket: GS_SIM_OF_SOCKET */
    uint32_t *free_flows;
    uint32_t free_flow_count, flow_capacity;
    struct gs_sim_socket *sockets;
    uint32_t socket_count, socket_capacity;
    gs_sim_lines lines;            /* of links that are queues */
    struct gs_sim_tenant *tenants; /* flows of other jobs: sim/sim_net_tenant.h */
    uint32_t tenant_count, tenants_flowing;
    struct gs_sim_desk *desks; /* [entities]; NULL: no link has sockets */
    gs_sim_part *parts;
    uint32_t part_count, part_capacity, free_part;
    gs_payload_pool *pool;
    int64_t nic_bytes;
    int64_t least_bytes, most_bytes; /* of one that was sent and not empty; 0: none */
    uint64_t sent, arrived;          /* parts, messages and notes */
    int64_t *entity_bytes;           /* [entities] sent */
    /* Is told of a link that a flow is about to begin on; NULL: nobody. */
    void (*intrude)(void *host, uint32_t link);
    void *intrude_host;
    gs_tick *last_note; /* [entities][entities]: when the last one comes; NULL: ties keep order */
    gs_arena *arena;
    gs_timeline *timeline; /* is told of every message; NULL: nobody looks */
    bool out_of_memory;
} gs_sim_net;

typedef struct gs_sim_net_config {
    gs_sim_loop *loop;
    const gs_topology *topology;
    const gs_noise_sampler *latency_noise;
    uint64_t seed;
    gs_payload_pool *pool;     /* where payloads of freed parts go */
    gs_timeline *timeline;     /* or NULL */
    const gs_streams *streams; /* of communicators; owner: caller, for the life of the net */
} gs_sim_net_config;

/* false: no memory. */
bool gs_sim_net_init(gs_sim_net *net, const gs_sim_net_config *config, gs_arena *arena);

/* The channel, opened if it is not. Communicators' must be opened before the net is sealed. Without
 * memory it is none, and the loop ends; nothing but gs_sim_net_send may be asked of it then. */
uint32_t gs_sim_net_channel(gs_sim_net *net, uint32_t from, uint32_t to, uint32_t stream);

/* No more channels of communicators. private_allowed: false where point to point is used, or for
 * tests. flows_max: parts that may be flows at one time beyond one a channel open now. false: no
 * memory. */
bool gs_sim_net_seal(gs_sim_net *net, bool private_allowed, uint32_t flows_max);

/* An empty part, or GS_NO_PART without memory. Freed with its payload. */
uint32_t gs_sim_net_part(gs_sim_net *net);
void gs_sim_net_part_free(gs_sim_net *net, uint32_t part);

/* Queues bytes on a channel. part: its data and message, or GS_NO_PART; owner from now on: the net.
 */
void gs_sim_net_send(gs_sim_net *net, uint32_t channel, int64_t bytes, gs_tick ready_at,
                     uint32_t part);
/* The receiver of a communicator's channel has come to its next message. */
void gs_sim_net_await(gs_sim_net *net, uint32_t channel);
/* A note: latency only; on a socket it waits for its turn. */
void gs_sim_net_note(gs_sim_net *net, uint32_t from, uint32_t to, uint32_t part);

/* When everything queued so far has left; GS_TICK_NEVER: not known yet, `call` is put into
 * flush_call and comes back from gs_sim_net_channel_event. */
gs_tick gs_sim_net_flush(gs_sim_net *net, uint32_t channel, uint32_t call);

typedef struct gs_sim_left {
    bool left;            /* a part has left its sender: */
    uint32_t from;        /* entity, */
    uint32_t sender_slot; /* to be told; UINT32_MAX: nobody */
    uint32_t flush_call;  /* whose channel is empty now; GS_NO_CALL */
} gs_sim_left;

/* GS_SIM_CHANNEL and GS_SIM_LINK events. */
gs_sim_left gs_sim_net_channel_event(gs_sim_net *net, uint32_t channel, uint64_t handle);
void gs_sim_net_link_event(gs_sim_net *net, uint32_t link, uint64_t handle);
/* Is something under way that no pending event may tell of, as its links stand still? */
static inline bool gs_sim_net_is_flowing(const gs_sim_net *net)
{
    return net->flow_capacity - net->free_flow_count > net->tenants_flowing;
}
/* GS_SIM_DESK and GS_SIM_SOCKET events. After one of a socket ask gs_sim_net_told until it says
 * false: each time another part of it has left. */
void gs_sim_net_desk_event(gs_sim_net *net, uint32_t entity);
void gs_sim_net_socket_event(gs_sim_net *net, uint32_t socket, uint64_t handle);
bool gs_sim_net_told(gs_sim_net *net, uint32_t socket, gs_sim_left *out);

/* What sim_op.h works out beforehand, as a channel would that has its links to itself. When bytes
 * have left that begin at `start`; how long message number `messages` of its channel is under way,
 * of so many bytes; and that a message was as large as that. */
gs_tick gs_sim_net_leaves(const gs_sim_net *net, uint32_t channel, gs_tick start, int64_t bytes);
gs_tick gs_sim_net_latency(const gs_sim_net *net, uint32_t channel, uint64_t messages,
                           int64_t bytes);
void gs_sim_net_see_size(gs_sim_net *net, int64_t bytes);

/* A message of a communicator that was sent in the past, by times that were worked out, and has not
 * arrived yet. */
typedef struct gs_sim_under_way {
    int64_t bytes;
    gs_tick ready_at;             /* of what begins after now */
    gs_tick start, left, arrival; /* those after now hold while nothing comes in between */
} gs_sim_under_way;

/* Puts it behind what the channel has; counted by the caller. And one that has arrived and waits to
 * be taken. false: no memory. */
bool gs_sim_net_put(gs_sim_net *net, uint32_t channel, const gs_sim_under_way *message);
bool gs_sim_net_put_delivered(gs_sim_net *net, uint32_t channel);

/* The oldest part delivered and not taken: for absorb and for point-to-point messages. */
gs_sim_part *gs_sim_net_delivered(gs_sim_net *net, uint32_t channel, uint32_t *out_part);
/* Takes it off the channel; free it after use. */
void gs_sim_net_take(gs_sim_net *net, uint32_t channel);

#endif
