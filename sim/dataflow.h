/* When the members of a collective end, from its program and from when they start: a network of
 * sequential lanes and first-in first-out channels.
 *
 * A lane runs until a message that it waits for has not been sent; a channel holds when its
 * messages arrive. Such a network (Kahn, IFIP 1974) gives the same times in whatever order its
 * lanes are looked at: there is no clock, no event and no stored schedule, and members may start
 * one after the other. True as long as each channel has its links to itself: a watcher is told of
 * the transfers on links that channels share. Up to a horizon on wish: then the state of every lane
 * and channel at that time is what is left. It knows neither scenario nor driver. */
#ifndef GS_SIM_DATAFLOW_H
#define GS_SIM_DATAFLOW_H

#include "base/arena.h"
#include "sim/tick.h"
#include "strategies/collective.h"

/* What the messages of a channel pass. */
typedef struct gs_dataflow_path {
    double bytes_per_tick; /* 0: it varies, gs_dataflow_wires says when bytes have left */
    gs_tick latency;       /* GS_TICK_NEVER: each message has its own, which the wires say */
    gs_tick overhead;      /* of each message, before its bytes begin */
    bool is_watched;       /* the watcher is told of its transfers */
} gs_dataflow_path;

/* Channels by their index in the plan. messages: how many went before, on the same channel, since
 * the run began. */
typedef struct gs_dataflow_wires {
    void *host;
    gs_tick (*leaves)(void *host, uint32_t channel, gs_tick start, int64_t bytes);
    gs_tick (*latency)(void *host, uint32_t channel, uint64_t messages, int64_t bytes);
} gs_dataflow_wires;

typedef struct gs_dataflow_transfer {
    uint32_t channel;
    int64_t bytes;
    gs_tick start, left, arrival; /* start: of its bytes */
} gs_dataflow_transfer;

/* Both may be NULL: nobody watches. */
typedef struct gs_dataflow_watcher {
    void *host;
    void (*transfer)(void *host, const gs_dataflow_transfer *transfer);
} gs_dataflow_watcher;

/* Who sends to whom: the same for every op of a program and a group. */
typedef struct gs_dataflow_plan {
    const gs_collective *program;
    gs_shape shape; /* of member 0 */
    uint32_t member_count;
    uint32_t lane_count;
    uint32_t channel_count;
    uint32_t *lane_first; /* [members + 1] */
    uint32_t *out_first;  /* [members + 1]: of channels, which are sorted by who sends */
    uint32_t *in_first;   /* [members + 1]: of in_channels */
    uint32_t *in_channels;
    uint32_t *from, *to; /* [channels] members */
    uint32_t *numbers;   /* [channels] of the program's own count */
    gs_dataflow_path *paths;
} gs_dataflow_plan;

/* Paths are the caller's to fill. NULL: no memory. Owner: the arena. shape: of any member; elements
 * and root do not matter. */
gs_dataflow_plan *gs_dataflow_plan_create(const gs_collective *program, const gs_shape *shape,
                                          gs_arena *arena);

typedef struct gs_dataflow_lane {
    uint64_t index; /* of the vertex that it stands at */
    gs_tick time;   /* it came there */
    uint32_t member;
    uint32_t number;    /* of the member's lanes */
    uint32_t waits_for; /* channel; GS_DATAFLOW_NONE: it has not started, or has ended */
    uint32_t out_hint, in_hint;
    bool ended;
} gs_dataflow_lane;

#define GS_DATAFLOW_NONE UINT32_MAX

/* Messages that were sent and not received, by when they arrive: a ring of capacity, a power of
 * two. */
typedef struct gs_dataflow_queue {
    gs_tick *arrivals;
    uint32_t head, count, capacity;
} gs_dataflow_queue;

typedef struct gs_dataflow_channel {
    gs_tick free_at;      /* its last message has left */
    gs_tick last_arrival; /* none arrives before it */
    uint64_t messages;    /* since the run began */
    int64_t bytes;        /* of this op */
    uint32_t waiter;      /* lane that waits for it */
    gs_dataflow_queue queue;
} gs_dataflow_channel;

/* One op under way. Open to be read. */
typedef struct gs_dataflow {
    const gs_dataflow_plan *plan;
    gs_dataflow_wires wires;
    gs_dataflow_watcher watcher;
    gs_shape shape; /* of the op; self changes */
    int64_t element_bytes;
    gs_tick horizon;
    gs_dataflow_lane *lanes;       /* [plan->lane_count] */
    gs_dataflow_channel *channels; /* [plan->channel_count] */
    uint32_t *ready;               /* [lanes] a stack of those that may go on */
    uint32_t ready_count;
    uint32_t *lanes_left; /* [members] that have not ended */
    gs_tick *ready_at;    /* [members] nothing is sent before */
    gs_tick *ends;        /* [members] or GS_TICK_NEVER: when it has received, and sent, all */
    uint32_t *ended;      /* [ended_count] members, in the order in which it was found out */
    uint32_t ended_count;
    int64_t least_bytes, most_bytes; /* of a message that is not empty; 0: none */
    bool watches_all;                /* the watcher is told of every transfer */
    gs_arena *arena;
    bool out_of_memory;
} gs_dataflow;

/* false: no memory. The plan is borrowed. */
bool gs_dataflow_init(gs_dataflow *flow, const gs_dataflow_plan *plan,
                      const gs_dataflow_wires *wires, gs_arena *arena);

/* Another op; of its shape elements, root and piece count. free_at, last_arrival and messages of
 * its channels are the caller's to set before a member starts. No message that arrives after the
 * horizon is received; GS_TICK_NEVER: all are. */
void gs_dataflow_begin(gs_dataflow *flow, const gs_shape *shape, int64_t element_bytes,
                       gs_tick horizon);

/* A member starts, and sends nothing before ready_at: all that follows from it is known when this
 * returns. Cost: O(1) a message. Without memory flow->out_of_memory is set and times are wrong. */
void gs_dataflow_start(gs_dataflow *flow, uint32_t member, gs_tick at, gs_tick ready_at);

/* Ticks of bytes at a rate, at least one for what is not empty: as the network counts. */
static inline gs_tick gs_dataflow_ticks(int64_t bytes, double bytes_per_tick)
{
    double ticks = (double)bytes / bytes_per_tick + 0.5;
    return ticks >= 1.0 || bytes <= 0 ? gs_tick_of(ticks) : 1;
}

#endif
