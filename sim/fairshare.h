/* Max-min fair rates of flows that share links, repaired locally after each event.
 *
 * Rates are max-min fair when no flow can get more without taking from one that has no more than
 * it. That is so if and only if every flow has a bottleneck: a link of its route that is full and
 * where no flow is faster (Bertsekas & Gallager, Data Networks, 6.5.2). We keep such a link for
 * every flow. All flows of one bottleneck are the fastest on it, so that they have one rate, the
 * link's level: rates are kept a link, not a flow.
 *
 * An event breaks that in one place only, so only that place is solved again: the set of flows to
 * repair starts with those whose bottleneck the event touched; the set is filled progressively on
 * what the others leave (all its rates rise together, a link that fills up fixes its flows); then a
 * flow outside joins if its own bottleneck broke and none of its links can replace it, or if it is
 * faster than a flow of the set on the link that holds that one back. Repeat until nobody joins:
 * one to three rounds in practice, and no solution of the whole network, ever
 * (sim/fairshare_repair.c).
 *
 * Where many flows have one bottleneck and fill nothing else, as into a server, even that is not
 * needed: the link is elastic, and its level moves alone (sim/fairshare_elastic.c).
 *
 * No clock and no names here: a link is an index with a capacity in units per tick, a flow is an
 * index with a route. Nothing is allocated after creation, unless more room is asked for. The
 * struct is open so that the common case, a flow alone on its links, is inlined; others read it
 * through the functions. */
#ifndef GS_SIM_FAIRSHARE_H
#define GS_SIM_FAIRSHARE_H

#include "base/arena.h"
#include "base/assert.h"

#include <stdbool.h>
#include <stdint.h>

/* Flows that a link holds itself; the others are in chunks. They make it one cache line. */
enum { GS_FAIRSHARE_INLINE = 10 };

/* A place is flow << route_shift | hop. */
typedef struct gs_fairshare_link {
    double capacity;     /* units per tick, >= 0 */
    uint32_t flow_count; /* that cross it */
    uint32_t held_count; /* of them, those whose bottleneck it is */
    uint32_t chunk;      /* newest one with places */
    uint32_t retry;      /* events before it is looked at again whether the link is elastic */
    uint32_t places[GS_FAIRSHARE_INLINE];
} gs_fairshare_link;

/* One link of a route. */
typedef struct gs_fairshare_hop {
    uint32_t link;
    uint32_t slot; /* where the place is on the link's list */
} gs_fairshare_hop;

typedef struct gs_fairshare_move {
    uint32_t flow;
    uint32_t from; /* its bottleneck before; link_count: it was closed */
} gs_fairshare_move;

struct gs_fairshare_work; /* what a repair notes */

typedef struct gs_fairshare {
    uint32_t link_count, flow_capacity, route_max, route_shift;
    gs_fairshare_link *links;
    /* A code is twice a link, and 1 more while its flow is being repaired; link_count in place of
     * the link: none. Levels are rates, units per tick, by code; at none 0. */
    double *levels;
    uint32_t *codes;        /* [flow_capacity] of the bottleneck */
    uint8_t *route_counts;  /* [flow_capacity] 0: closed */
    gs_fairshare_hop *hops; /* [flow_capacity << route_shift] by place */
    /* Of the last event. moved: flows with another bottleneck than before, and the one that was
     * added; not the one that was removed. levelled: links whose level has changed. */
    gs_fairshare_move *moved;
    uint32_t *levelled;
    uint32_t moved_count, levelled_count;
    struct gs_fairshare_work *work;
} gs_fairshare;

enum { GS_FAIRSHARE_ROUTE_MAX = 255 };

/* Links start with capacity 0. Routes have up to route_max links, 1..GS_FAIRSHARE_ROUTE_MAX.
 * Memory: about 170 bytes a link, 14 a flow, and 20 for each link that its route may have. NULL: no
 * memory. Owner: the arena. */
gs_fairshare *gs_fairshare_create(uint32_t link_count, uint32_t flow_capacity, uint32_t route_max,
                                  gs_arena *arena);

/* Room for more links, flows, or longer routes, none less than before; links and open flows stay as
 * they are. false: no memory, nothing has changed. */
bool gs_fairshare_reserve(gs_fairshare *fairshare, uint32_t link_count, uint32_t flow_capacity,
                          uint32_t route_max, gs_arena *arena);

/* Events: each leaves max-min rates, and what has changed in moved[] and levelled[], in no
 * particular order: every flow whose rate differs from before has moved or has a bottleneck that is
 * levelled. Rates that differ by rounding only are kept. Cost: the route where the flow is alone on
 * its links or its bottleneck is elastic, else about the flows on the links repaired. */

/* capacity >= 0 and finite; at 0 its flows stand still. */
void gs_fairshare_set_capacity(gs_fairshare *fairshare, uint32_t link, double capacity);

/* For the two functions below: when the link has more flows than it holds itself, and when the flow
 * has company. */
uint32_t gs_fairshare_append(gs_fairshare *fairshare, uint32_t link, uint32_t place);
void gs_fairshare_repair_added(gs_fairshare *fairshare, uint32_t flow);
void gs_fairshare_repair_removed(gs_fairshare *fairshare, uint32_t flow);

/* Opens a closed flow. route [route_count]: links, each at most once, 1..route_max; copied. */
static inline void gs_fairshare_add(gs_fairshare *fairshare, uint32_t flow, const uint32_t *route,
                                    uint32_t route_count)
{
    GS_ASSERT(flow < fairshare->flow_capacity && fairshare->route_counts[flow] == 0);
    GS_ASSERT(route_count >= 1 && route_count <= fairshare->route_max);
    fairshare->route_counts[flow] = (uint8_t)route_count;
    uint32_t place = flow << fairshare->route_shift;
    uint32_t company = 0;
    uint32_t narrowest = route[0];
    for (uint32_t hop = 0; hop < route_count; hop++, place++) {
        GS_ASSERT(route[hop] < fairshare->link_count);
        gs_fairshare_link *link = &fairshare->links[route[hop]];
        uint32_t slot = link->flow_count;
        if (slot < GS_FAIRSHARE_INLINE) {
            link->places[slot] = place;
        } else {
            slot = gs_fairshare_append(fairshare, route[hop], place);
        }
        fairshare->hops[place] = (gs_fairshare_hop){route[hop], slot};
        company |= link->flow_count++;
        narrowest = link->capacity < fairshare->links[narrowest].capacity ? route[hop] : narrowest;
    }
    if (company != 0) {
        gs_fairshare_repair_added(fairshare, flow);
        return;
    }
    fairshare->codes[flow] = 2 * narrowest;
    fairshare->levels[2 * narrowest] = fairshare->links[narrowest].capacity;
    fairshare->links[narrowest].held_count = 1;
    fairshare->moved[0] = (gs_fairshare_move){flow, fairshare->link_count};
    fairshare->moved_count = 1;
    fairshare->levelled_count = 0;
}

/* Closes an open flow; its index may be opened again. */
static inline void gs_fairshare_remove(gs_fairshare *fairshare, uint32_t flow)
{
    GS_ASSERT(flow < fairshare->flow_capacity && fairshare->route_counts[flow] != 0);
    const gs_fairshare_hop *hops = &fairshare->hops[flow << fairshare->route_shift];
    uint32_t route_count = fairshare->route_counts[flow];
    uint32_t company = 0;
    for (uint32_t hop = 0; hop < route_count; hop++) {
        company |= fairshare->links[hops[hop].link].flow_count - 1;
    }
    if (company != 0) {
        gs_fairshare_repair_removed(fairshare, flow);
        return;
    }
    for (uint32_t hop = 0; hop < route_count; hop++) {
        fairshare->links[hops[hop].link].flow_count = 0;
    }
    fairshare->links[fairshare->codes[flow] / 2].held_count = 0;
    fairshare->route_counts[flow] = 0;
    fairshare->codes[flow] = 2 * fairshare->link_count;
    fairshare->moved_count = fairshare->levelled_count = 0;
}

/* Units per tick; 0 for a closed flow. */
static inline double gs_fairshare_rate(const gs_fairshare *fairshare, uint32_t flow)
{
    GS_ASSERT(flow < fairshare->flow_capacity);
    return fairshare->levels[fairshare->codes[flow]];
}

/* The link that holds a flow back, or link_count for a closed one. */
static inline uint32_t gs_fairshare_bottleneck(const gs_fairshare *fairshare, uint32_t flow)
{
    GS_ASSERT(flow < fairshare->flow_capacity);
    return fairshare->codes[flow] / 2;
}

/* Units per tick that each flow gets whose bottleneck the link is. */
static inline double gs_fairshare_level(const gs_fairshare *fairshare, uint32_t link)
{
    GS_ASSERT(link < fairshare->link_count);
    return fairshare->levels[2 * (size_t)link];
}

/* Open flows on a link. */
static inline uint32_t gs_fairshare_flows(const gs_fairshare *fairshare, uint32_t link)
{
    GS_ASSERT(link < fairshare->link_count);
    return fairshare->links[link].flow_count;
}

/* Sum of the rates on a link, units per tick. Cost: its flows. */
double gs_fairshare_load(const gs_fairshare *fairshare, uint32_t link);

/* For tests, O(everything): loads are within capacity, every flow has a full link where it is a
 * largest flow, lists and counts agree, and elastic links are. */
bool gs_fairshare_validate(const gs_fairshare *fairshare);

#endif
