/* Links and routes of a cluster: who shares what with whom.
 *
 * A route is made up when it is asked for: out of the sender's node to its nic, over what joins the
 * nodes, and in. Links are of one direction. Where a node is one switch (NVSwitch, or a host's
 * memory) its ranks have a port each way and reach their nics without using it; where its inside is
 * a mesh, a tree or a file's, paths are traces/node_graph.h's. Between nodes:
 *   switch     every entity has its own nic on one switch; there are no nodes
 *   nodes      up the sender's nic, down the receiver's; the switch between them is never full
 *   fat tree   likewise over leaf and spine, or leaf, spine, core and spine, where the nics do not
 *              share a leaf. Of several spines and cores ECMP takes what a hash of (from, to,
 *              stream) says, so that flows meet by chance; d-mod-k takes the receiver's number
 *              among the ports of its leaf, modulo the spines
 *   torus      dimension after dimension, the shorter way round; where both are equal, up from even
 *              places and down from odd ones. A link each way to each neighbour is the nic
 *   regions    up the nic, over one link that all flows of this pair of regions share, down
 *   graph      the shortest path of the file; its links are the nics
 * Where nodes[].gpudirect is off, what leaves a rank over a nic is copied to the memory of the host
 * first, and what comes is copied from there: a link each way, the first or the last of the route.
 * Servers are nodes of one entity behind the workers', or with servers.at stand on workers' nodes,
 * over whose nics they go in turn; then come the hosts of other jobs, likewise. A route's latency
 * is that of the link class it uses, once, plus hop_latency for every switch after the first
 * (torus: every link after the first), plus what links of wide area networks and graphs say. Open
 * structs; owner of arrays: the arena. */
#ifndef GS_SIM_TOPOLOGY_H
#define GS_SIM_TOPOLOGY_H

#include "base/arena.h"
#include "strategies/strategy.h"
#include "traces/scenario/scenario.h"

enum { GS_TOPOLOGY_ROUTE_MAX = GS_FABRIC_ROUTE_MAX };

typedef struct gs_route {
    uint32_t links[GS_TOPOLOGY_ROUTE_MAX];
    uint32_t link_count; /* >= 1 */
    gs_time_ns latency_ns;
    bool over_nic;
} gs_route;

typedef struct gs_topology_link {
    double bytes_per_tick;      /* what payload gets: bandwidth times efficiency */
    const gs_rate_trace *trace; /* factor over time; NULL: constant */
} gs_topology_link;

/* cluster.nodes[] and where its links are. */
typedef struct gs_topology_group {
    uint32_t first_node;
    const gs_node_graph *inside; /* NULL: ports on one switch */
    uint32_t link_first;    /* of the first node's inside, hop by hop; the next node's follow */
    const uint16_t *nic_of; /* [ranks of a node] which of the node's nics */
} gs_topology_group;

typedef struct gs_topology {
    const gs_scenario *scenario;
    uint32_t entities; /* workers, then servers, then hosts of tenants */
    uint32_t servers;
    uint32_t link_count;
    const gs_topology_link *links;
    const gs_topology_group *groups; /* NULL: no nodes */
    uint32_t nodes;                  /* and servers with a node of their own, and hosts */
    uint32_t nics;                   /* of a node */
    uint32_t nic_first; /* links of nic k: up 2k, down 2k + 1 from here; servers and hosts follow.
                           No nic of a torus or graph has links of its own */
    uint32_t fabric_first;
    uint32_t
        copy_first; /* links of rank r: out 2r, in 2r + 1 from here; link_count: there are none */
    gs_fat_tree tree;
    const uint8_t *region_of; /* [nodes] */
} gs_topology;

/* NULL: no memory. servers: entities beyond the workers. seed: of the rates that change by chance,
 * each link's on its own, both directions of a nic or port alike. Borrows the scenario. */
const gs_topology *gs_topology_create(const gs_scenario *scenario, uint32_t servers, uint64_t seed,
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

/* Is a link a copy between the memories of a device and its host? */
static inline bool gs_topology_is_copy(const gs_topology *topology, uint32_t link)
{
    return link >= topology->copy_first;
}

/* The class of link that a route uses. */
static inline const gs_link *gs_topology_link_of(const gs_topology *topology, const gs_route *route)
{
    const gs_cluster *cluster = &topology->scenario->cluster;
    return route->over_nic ? &cluster->nic : &cluster->intra;
}

#endif
