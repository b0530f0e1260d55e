/* The clock of a simulated run and its pending events.
 *
 * Events order by (time, tie value, sequence): without shuffling the tie value is 0 and events of
 * one time come in the order in which they were asked for; with it ties are random, from the
 * engine's own stream, which exposes an order that nobody promised. An event is a kind and the
 * index of what it is about; an event that may be withdrawn is compared with the handle its object
 * keeps. */
#ifndef GS_SIM_SIM_LOOP_H
#define GS_SIM_SIM_LOOP_H

#include "base/event_queue.h"
#include "sim/tick.h"

#include <stdbool.h>

typedef enum gs_sim_event_kind {
    GS_SIM_PART,    /* a part or message arrives at the end of channel `index` */
    GS_SIM_CHANNEL, /* channel `index`: its flow ends, or may begin */
    GS_SIM_WORKER,  /* worker `index` goes on */
    GS_SIM_CALL,    /* call `index` is due: a completion for a driver */
    GS_SIM_NOTE,    /* part `index` is a note that arrives */
    GS_SIM_LINK,   /* the capacity of link `index` changes; beyond the links, a tenant's flow is due
                    */
    GS_SIM_SOCKET, /* socket `index`: its flow ends, or there is something for it to do */
    GS_SIM_DESK,   /* entity `index`: what it sends is ready, or handed to a socket */
    GS_SIM_KIND_COUNT
} gs_sim_event_kind;

enum { GS_SIM_INDEX_BITS = 21, GS_SIM_PAYLOAD_BITS = 24 };

typedef struct gs_sim_event {
    gs_sim_event_kind kind;
    uint32_t index;
    uint64_t handle;
} gs_sim_event;

typedef struct gs_sim_loop {
    gs_event_queue *queue;
    gs_tick now;
    uint64_t sequence; /* events asked for */
    uint64_t handled;
    uint64_t own; /* pending, and not of GS_SIM_LINK: those would go on for ever */
    uint64_t seed;
    bool shuffle_ties;
    bool out_of_memory;
    const char *limit; /* what the run has more of than there can be; NULL: nothing */
    uint64_t refills;
    bool is_refilled; /* all that is ahead came there with the last event */
} gs_sim_loop;

/* false: no memory. */
bool gs_sim_loop_init(gs_sim_loop *loop, uint64_t seed, bool shuffle_ties);
void gs_sim_loop_fini(gs_sim_loop *loop);

/* Asks for an event at a time that is not in the past; returns its handle, never 0. Without memory,
 * or past a limit, the loop notes that and ends. */
uint64_t gs_sim_loop_at(gs_sim_loop *loop, gs_tick at, gs_sim_event_kind kind, uint32_t index);

/* What orders an event among those of its time: the next number, or a random one. For what ends
 * together without being an event. */
uint64_t gs_sim_loop_order(gs_sim_loop *loop);

/* Time has come to its end outside the loop's sight. */
void gs_sim_loop_end_time(gs_sim_loop *loop);

/* The next event; the clock moves to it. false: none left, no memory, or a limit. */
bool gs_sim_loop_next(gs_sim_loop *loop, gs_sim_event *out);

/* The i-th of the events that are known to come soon, 0 the next one; false: no more are known. */
bool gs_sim_loop_ahead(const gs_sim_loop *loop, size_t i, gs_sim_event *out);

/* The clock in ns, rounded up: what leaves the simulator. */
static inline gs_time_ns gs_sim_loop_now_ns(const gs_sim_loop *loop)
{
    return gs_tick_ns(loop->now);
}

#endif
