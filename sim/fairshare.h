/* Max-min fair rates of flows that share links, repaired locally after each event.
 *
 * Rates are max-min fair when no flow can get more without taking from one that has no more than
 * it. That is so if and only if every flow has a bottleneck: a link of its route that is full and
 * where no flow is faster (Bertsekas & Gallager, Data Networks, 6.5.2). We keep such a link for
 * every flow, its certificate. An event breaks certificates in one place only, so only that place
 * is solved again: the set of flows to repair starts with those whose certificate the event
 * touched; the set is filled progressively on what the others leave (all its rates rise together, a
 * link that fills up fixes its flows); then a flow outside joins if its own certificate broke and
 * none of its links can replace it, or if it is faster than a flow of the set on the link that
 * holds that one back. Repeat until nobody joins: one to three rounds in practice, and no solution
 * of the whole network, ever.
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

enum { GS_ROUTE_MAX = 24 };

#define GS_FAIRSHARE_NONE UINT32_MAX

typedef struct gs_fairshare_link {
    double capacity; /* units per tick, >= 0 */
    double load;     /* sum of the rates of its flows */
    uint32_t first;  /* newest place on it, or NONE; a place is flow * GS_ROUTE_MAX + hop */
    uint32_t flow_count;
} gs_fairshare_link;

typedef struct gs_fairshare_flow {
    double rate;          /* units per tick; 0 while closed */
    uint32_t certificate; /* a link of the route; NONE while its rate is being looked for */
    uint16_t route_count; /* 0: closed */
    bool in_set;          /* being repaired */
    uint32_t
        next[GS_ROUTE_MAX]; /* older place on the same link, or NONE; near the rate for scans */
    uint32_t route[GS_ROUTE_MAX];
    uint32_t previous[GS_ROUTE_MAX]; /* newer place */
} gs_fairshare_flow;

typedef struct gs_fairshare_change {
    uint32_t flow;
    double old_rate; /* before the event; the new one is gs_fairshare_rate(flow) */
} gs_fairshare_change;

typedef struct gs_fairshare_work gs_fairshare_work; /* what a repair notes about links */

typedef struct gs_fairshare {
    gs_fairshare_link *links;
    gs_fairshare_flow *flows;
    uint32_t link_count, flow_capacity;
    gs_fairshare_change *changes; /* [change_count], of the last event */
    uint32_t change_count;
    gs_fairshare_work *work;
} gs_fairshare;

/* Links start with capacity 0. Memory: about 80 bytes a link and 130 a flow. NULL: no memory.
 * Owner: the arena. */
gs_fairshare *gs_fairshare_create(uint32_t link_count, uint32_t flow_capacity, gs_arena *arena);

/* Room for more flows; open ones keep their rates. false: no memory, nothing has changed. */
bool gs_fairshare_reserve(gs_fairshare *fairshare, uint32_t flow_capacity, gs_arena *arena);

/* Events: each leaves max-min rates, and in changes[change_count] exactly the flows whose rate
 * differs from before, in no particular order. A flow comes from rate 0, so that an added one is in
 * the list unless it gets nothing; a removed one is not in it. Rates that differ by rounding only
 * are kept. Cost: the route where the flow is alone on its links, else about the flows on the links
 * repaired. */

/* capacity >= 0 and finite; at 0 its flows stand still. */
void gs_fairshare_set_capacity(gs_fairshare *fairshare, uint32_t link, double capacity);

/* For the two functions below: when the flow has company. */
void gs_fairshare_repair_added(gs_fairshare *fairshare, uint32_t flow);
void gs_fairshare_repair_removed(gs_fairshare *fairshare, uint32_t flow);

/* Opens a closed flow. route [route_count]: links, each at most once, 1..GS_ROUTE_MAX; copied. */
static inline void gs_fairshare_add(gs_fairshare *fairshare, uint32_t flow_index,
                                    const uint32_t *route, uint32_t route_count)
{
    GS_ASSERT(flow_index < fairshare->flow_capacity);
    GS_ASSERT(route_count >= 1 && route_count <= GS_ROUTE_MAX);
    gs_fairshare_flow *flow = &fairshare->flows[flow_index];
    GS_ASSERT(flow->route_count == 0);
    flow->route_count = (uint16_t)route_count;
    uint32_t company = 0;
    uint32_t narrowest = route[0];
    for (uint32_t hop = 0; hop < route_count; hop++) {
        GS_ASSERT(route[hop] < fairshare->link_count);
        gs_fairshare_link *link = &fairshare->links[route[hop]];
        uint32_t place = flow_index * GS_ROUTE_MAX + hop;
        if (link->first != GS_FAIRSHARE_NONE) {
            uint32_t other = link->first;
            fairshare->flows[other / GS_ROUTE_MAX].previous[other % GS_ROUTE_MAX] = place;
        }
        flow->route[hop] = route[hop];
        flow->next[hop] = link->first;
        flow->previous[hop] = GS_FAIRSHARE_NONE;
        link->first = place;
        company |= link->flow_count++;
        narrowest = link->capacity < fairshare->links[narrowest].capacity ? route[hop] : narrowest;
    }
    if (company != 0) {
        gs_fairshare_repair_added(fairshare, flow_index);
        return;
    }
    double rate = fairshare->links[narrowest].capacity;
    flow->rate = rate;
    flow->certificate = narrowest;
    for (uint32_t hop = 0; hop < route_count; hop++) {
        fairshare->links[route[hop]].load = rate;
    }
    fairshare->changes[0] = (gs_fairshare_change){.flow = flow_index, .old_rate = 0.0};
    fairshare->change_count = rate > 0.0;
}

/* Closes an open flow; its index may be opened again. */
static inline void gs_fairshare_remove(gs_fairshare *fairshare, uint32_t flow_index)
{
    GS_ASSERT(flow_index < fairshare->flow_capacity);
    gs_fairshare_flow *flow = &fairshare->flows[flow_index];
    GS_ASSERT(flow->route_count != 0);
    uint32_t company = 0;
    for (uint32_t hop = 0; hop < flow->route_count; hop++) {
        company |= fairshare->links[flow->route[hop]].flow_count - 1;
    }
    if (company != 0) {
        gs_fairshare_repair_removed(fairshare, flow_index);
        return;
    }
    for (uint32_t hop = 0; hop < flow->route_count; hop++) {
        gs_fairshare_link *link = &fairshare->links[flow->route[hop]];
        link->first = GS_FAIRSHARE_NONE;
        link->flow_count = 0;
        link->load = 0.0;
    }
    flow->route_count = 0;
    flow->rate = 0.0;
    fairshare->change_count = 0;
}

/* Units per tick; 0 for a closed flow. */
static inline double gs_fairshare_rate(const gs_fairshare *fairshare, uint32_t flow)
{
    GS_ASSERT(flow < fairshare->flow_capacity);
    return fairshare->flows[flow].rate;
}

/* Sum of the rates on a link, units per tick. */
static inline double gs_fairshare_load(const gs_fairshare *fairshare, uint32_t link)
{
    GS_ASSERT(link < fairshare->link_count);
    return fairshare->links[link].load;
}

/* Open flows on a link. */
static inline uint32_t gs_fairshare_flows(const gs_fairshare *fairshare, uint32_t link)
{
    GS_ASSERT(link < fairshare->link_count);
    return fairshare->links[link].flow_count;
}

/* For tests, O(everything): loads are the sums and within capacity, every flow has a full link
 * where it is a largest flow, lists and counts agree. */
bool gs_fairshare_validate(const gs_fairshare *fairshare);

#endif
