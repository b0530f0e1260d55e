/* Links and routes of a cluster: who shares what with whom.
 *
 * switch: every entity has its own port, one link up and one down, of the nic's rate and latency.
 * nodes: ranks of one node reach each other over their own intra ports; between nodes a message
 * passes the nic of its node and that of the other, which all ranks of the node share. Servers have
 * a nic of their own. A route's latency is that of the link class it uses, once. Open structs;
 * owner of arrays: the arena. */
#ifndef GS_SIM_TOPOLOGY_H
#define GS_SIM_TOPOLOGY_H

#include "base/arena.h"
#include "strategies/strategy.h"
#include "traces/scenario/scenario.h"

/* A torus of 16 x 16 x 16 nodes has such routes. */
enum { GS_TOPOLOGY_ROUTE_MAX = 24 };

typedef struct gs_route {
    uint32_t links[GS_TOPOLOGY_ROUTE_MAX];
    uint32_t link_count;
    gs_time_ns latency_ns;
    bool over_nic;
} gs_route;

typedef struct gs_topology_link {
    double bytes_per_tick;      /* what payload gets: bandwidth times efficiency */
    const gs_rate_trace *trace; /* factor over time; NULL: constant */
} gs_topology_link;

typedef struct gs_topology {
    const gs_scenario *scenario;
    uint32_t entities; /* workers, then servers */
    uint32_t link_count;
    const gs_topology_link *links;
    uint32_t
        nic_first; /* links of node k: up 2k, down 2k + 1 from here; servers follow the nodes */
} gs_topology;

/* NULL: no memory. servers: entities beyond the workers. Borrows the scenario. */
const gs_topology *gs_topology_create(const gs_scenario *scenario, uint32_t servers,
                                      gs_arena *arena);

/* Flat index of an entity. */
static inline uint32_t gs_topology_entity(const gs_topology *topology, gs_peer peer)
{
    return peer.role == GS_WORKER ? peer.index : topology->scenario->ranks + peer.index;
}

/* from and to: flat indices, different. stream: what tells flows of one pair apart, such as the
 * communicator and its channel; where paths are chosen by hash, it is hashed with them. */
gs_route gs_topology_route(const gs_topology *topology, uint32_t from, uint32_t to,
                           uint32_t stream);

/* The nic that an entity sends over and receives from, and how many there are. */
uint32_t gs_topology_nic(const gs_topology *topology, uint32_t entity);
uint32_t gs_topology_nic_count(const gs_topology *topology);

/* The class of link that a route uses. */
static inline const gs_link *gs_topology_link_of(const gs_topology *topology, const gs_route *route)
{
    const gs_cluster *cluster = &topology->scenario->cluster;
    return route->over_nic ? &cluster->nic : &cluster->intra;
}

#endif
