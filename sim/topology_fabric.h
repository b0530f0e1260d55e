/* Between topology.c and topology_fabric.c: what lies between the nics. Nobody else includes this.
 */
#ifndef GS_SIM_TOPOLOGY_FABRIC_H
#define GS_SIM_TOPOLOGY_FABRIC_H

#include "base/assert.h"
#include "sim/tick.h"
#include "sim/topology.h"

static inline void gs_route_add(gs_route *route, uint32_t link)
{
    GS_ASSERT(route->link_count < GS_TOPOLOGY_ROUTE_MAX);
    route->links[route->link_count++] = link;
}

/* Rate that payload gets of one nominal. */
static inline double gs_topology_bytes_per_tick(const gs_link *link, int64_t bandwidth_bps)
{
    return (double)bandwidth_bps * link->efficiency / 8.0 / ((double)GS_NS_PER_S * GS_TICKS_PER_NS);
}

/* A node that traffic leaves or enters, and one of its nics. */
typedef struct gs_fabric_port {
    uint32_t node;
    uint32_t nic; /* of all */
} gs_fabric_port;

/* Do nics have links of their own? */
bool gs_fabric_has_nic_links(const gs_topology *topology);

/* Links between the nics, and their rates. links: the first of them. */
uint64_t gs_fabric_link_count(const gs_topology *topology);
void gs_fabric_make_links(const gs_topology *topology, gs_topology_link *links);

/* A node's nic_scale; a server has 1. */
double gs_topology_nic_scale(const gs_topology *topology, uint32_t node);

/* Adds the links between two nics of different nodes, and their latency beyond that of the class.
 * hash: of the flow. */
void gs_fabric_route(const gs_topology *topology, gs_fabric_port from, gs_fabric_port to,
                     uint64_t hash, gs_route *route);

#endif
