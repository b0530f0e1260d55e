#include "sim/topology_fabric.h"

static const gs_fabric *fabric_of(const gs_topology *topology)
{
    return &topology->scenario->cluster.topology;
}

/* --- fat tree --------------------------------------------------------------------------------- */

static uint32_t group_of(const gs_topology *topology, gs_fabric_port port)
{
    return port.node / topology->tree.group_nodes;
}

/* Number among the nics of its node. */
static uint32_t rail_of(const gs_topology *topology, gs_fabric_port port)
{
    uint32_t workers = topology->scenario->nodes;
    return port.node < workers ? port.nic % topology->nics : 0;
}

static uint32_t leaf_of(const gs_topology *topology, gs_fabric_port port)
{
    const gs_fat_tree *tree = &topology->tree;
    uint32_t rail = tree->group_leaves > 1 ? rail_of(topology, port) : 0;
    return group_of(topology, port) * tree->group_leaves + rail;
}

/* Number among the ports of its leaf. */
static uint32_t leaf_port(const gs_topology *topology, gs_fabric_port port)
{
    uint32_t place = port.node % topology->tree.group_nodes;
    bool rails = topology->tree.group_leaves > 1;
    return rails ? place : place * topology->nics + rail_of(topology, port);
}

/* Up, and one further on down. */
static uint32_t uplink(const gs_topology *topology, uint32_t leaf, uint32_t spine)
{
    return topology->fabric_first + 2 * (leaf * topology->tree.spines + spine);
}

static uint32_t core_link(const gs_topology *topology, uint32_t pod, uint32_t spine, uint32_t core)
{
    const gs_fat_tree *tree = &topology->tree;
    uint32_t place = (pod * tree->spines + spine) * tree->cores + core;
    return topology->fabric_first + 2 * (tree->leaves * tree->spines + place);
}

static void route_fat_tree(const gs_topology *topology, gs_fabric_port from, gs_fabric_port to,
                           uint64_t hash, gs_route *route)
{
    const gs_fat_tree *tree = &topology->tree;
    uint32_t leaf_from = leaf_of(topology, from);
    uint32_t leaf_to = leaf_of(topology, to);
    if (leaf_from == leaf_to) {
        return;
    }
    bool by_port = fabric_of(topology)->routing == GS_ROUTING_D_MOD_K;
    uint32_t port = leaf_port(topology, to);
    uint32_t spine = by_port ? port % tree->spines : (uint32_t)(hash % tree->spines);
    uint32_t pod_from = group_of(topology, from) / tree->pod_groups;
    uint32_t pod_to = group_of(topology, to) / tree->pod_groups;
    uint32_t switches_after_first = 2;
    gs_route_add(route, uplink(topology, leaf_from, spine));
    if (pod_from != pod_to) {
        uint32_t core =
            by_port ? port / tree->spines % tree->cores : (uint32_t)((hash >> 32) % tree->cores);
        gs_route_add(route, core_link(topology, pod_from, spine, core));
        gs_route_add(route, core_link(topology, pod_to, spine, core) + 1);
        switches_after_first = 4;
    }
    gs_route_add(route, uplink(topology, leaf_to, spine) + 1);
    route->latency_ns += switches_after_first * fabric_of(topology)->hop_latency_ns;
}

static void make_fat_tree(const gs_topology *topology, gs_topology_link *links)
{
    const gs_fat_tree *tree = &topology->tree;
    const gs_link *nic = &topology->scenario->cluster.nic;
    double rate = gs_topology_bytes_per_tick(nic, nic->bandwidth_bps);
    uint64_t uplinks = 2 * (uint64_t)tree->leaves * tree->spines;
    uint64_t count = gs_fabric_link_count(topology);
    for (uint64_t i = 0; i < count; i++) {
        links[i].bytes_per_tick = rate * (i < uplinks ? tree->uplink_nics : tree->core_nics);
    }
}

/* --- torus ------------------------------------------------------------------------------------ */

static uint32_t dimensions_of(const gs_topology *topology)
{
    return (uint32_t)fabric_of(topology)->dims.count;
}

static uint32_t size_of(const gs_topology *topology, uint32_t dimension)
{
    return (uint32_t)fabric_of(topology)->dims.values[dimension];
}

/* The neighbour of a node: the first dimension's are next to each other. */
static uint32_t neighbour(const gs_topology *topology, uint32_t node, uint32_t dimension, bool down)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; i < dimension; i++) {
        stride *= size_of(topology, i);
    }
    uint32_t size = size_of(topology, dimension);
    uint32_t place = node / stride % size;
    uint32_t next = (place + (down ? size - 1 : 1)) % size;
    return node - place * stride + next * stride;
}

static void route_torus(const gs_topology *topology, gs_fabric_port from, gs_fabric_port to,
                        gs_route *route)
{
    uint32_t dimensions = dimensions_of(topology);
    uint32_t node = from.node;
    uint32_t stride = 1;
    uint32_t before = route->link_count;
    for (uint32_t i = 0; i < dimensions; i++) {
        uint32_t size = size_of(topology, i);
        uint32_t place = node / stride % size;
        uint32_t up = (to.node / stride % size + size - place) % size;
        bool down = 2 * up > size || (2 * up == size && size > 2 && place % 2 == 1);
        for (uint32_t hops = down ? size - up : up; hops > 0; hops--) {
            gs_route_add(route,
                         topology->fabric_first + (node * dimensions + i) * 2 + (down ? 1 : 0));
            node = neighbour(topology, node, i, down);
        }
        stride *= size;
    }
    GS_ASSERT(node == to.node);
    route->latency_ns += (route->link_count - before - 1) * fabric_of(topology)->hop_latency_ns;
}

static uint32_t torus_size(const gs_topology *topology)
{
    uint32_t size = 1;
    for (uint32_t i = 0; i < dimensions_of(topology); i++) {
        size *= size_of(topology, i);
    }
    return size;
}

/* A link between two nodes has the rate of the slower one's nic. Places without a node pass on. */
static void make_torus(const gs_topology *topology, gs_topology_link *links)
{
    const gs_link *nic = &topology->scenario->cluster.nic;
    double rate = gs_topology_bytes_per_tick(nic, nic->bandwidth_bps);
    uint32_t dimensions = dimensions_of(topology);
    uint32_t size = torus_size(topology);
    for (uint32_t node = 0; node < size; node++) {
        double own = gs_topology_nic_scale(topology, node);
        for (uint32_t i = 0; i < 2 * dimensions; i++) {
            uint32_t next = neighbour(topology, node, i / 2, i % 2 == 1);
            double other = gs_topology_nic_scale(topology, next);
            *links++ = (gs_topology_link){
                .bytes_per_tick = rate * (own < other ? own : other),
                .trace = nic->trace.point_count > 0 ? &nic->trace : NULL,
            };
        }
    }
}

/* --- regions and graphs ----------------------------------------------------------------------- */

static void route_regions(const gs_topology *topology, gs_fabric_port from, gs_fabric_port to,
                          gs_route *route)
{
    const gs_fabric *fabric = fabric_of(topology);
    uint32_t a = topology->region_of[from.node];
    uint32_t b = topology->region_of[to.node];
    if (a != b) {
        uint32_t place = a * fabric->region_count + b;
        gs_route_add(route, topology->fabric_first + place);
        route->latency_ns += fabric->wan[place].latency_ns;
    }
}

static void make_regions(const gs_topology *topology, gs_topology_link *links)
{
    const gs_fabric *fabric = fabric_of(topology);
    const gs_link *nic = &topology->scenario->cluster.nic;
    for (uint32_t i = 0; i < fabric->region_count * fabric->region_count; i++) {
        links[i].bytes_per_tick = gs_topology_bytes_per_tick(nic, fabric->wan[i].bandwidth_bps);
    }
}

static void route_graph(const gs_topology *topology, gs_fabric_port from, gs_fabric_port to,
                        gs_route *route)
{
    const gs_fabric_graph *graph = fabric_of(topology)->graph;
    const uint16_t *next = graph->next + (size_t)to.node * graph->vertices;
    for (uint32_t at = from.node; at != to.node;) {
        const gs_graph_link *link = &graph->links[next[at]];
        gs_route_add(route, topology->fabric_first + next[at]);
        route->latency_ns += link->latency_ns;
        at = link->to;
    }
}

static void make_graph(const gs_topology *topology, gs_topology_link *links)
{
    const gs_fabric_graph *graph = fabric_of(topology)->graph;
    const gs_link *nic = &topology->scenario->cluster.nic;
    for (uint32_t i = 0; i < graph->link_count; i++) {
        links[i] = (gs_topology_link){
            .bytes_per_tick = gs_topology_bytes_per_tick(nic, graph->links[i].bandwidth_bps),
            .trace = nic->trace.point_count > 0 ? &nic->trace : NULL,
        };
    }
}

/* --- by kind ---------------------------------------------------------------------------------- */

bool gs_fabric_has_nic_links(const gs_topology *topology)
{
    int kind = fabric_of(topology)->kind;
    return kind != GS_TOPOLOGY_TORUS && kind != GS_TOPOLOGY_GRAPH;
}

uint64_t gs_fabric_link_count(const gs_topology *topology)
{
    const gs_fabric *fabric = fabric_of(topology);
    const gs_fat_tree *tree = &topology->tree;
    switch ((gs_topology_kind)fabric->kind) {
    case GS_TOPOLOGY_SWITCH:
    case GS_TOPOLOGY_NODES:
        return 0;
    case GS_TOPOLOGY_FAT_TREE:
        return 2 * ((uint64_t)tree->leaves * tree->spines +
                    (uint64_t)tree->pods * tree->spines * tree->cores);
    case GS_TOPOLOGY_TORUS:
        return 2 * (uint64_t)torus_size(topology) * dimensions_of(topology);
    case GS_TOPOLOGY_REGIONS:
        return fabric->region_count * fabric->region_count;
    case GS_TOPOLOGY_GRAPH:
        return fabric->graph->link_count;
    }
    return 0;
}

void gs_fabric_make_links(const gs_topology *topology, gs_topology_link *links)
{
    switch ((gs_topology_kind)fabric_of(topology)->kind) {
    case GS_TOPOLOGY_SWITCH:
    case GS_TOPOLOGY_NODES:
        return;
    case GS_TOPOLOGY_FAT_TREE:
        make_fat_tree(topology, links);
        return;
    case GS_TOPOLOGY_TORUS:
        make_torus(topology, links);
        return;
    case GS_TOPOLOGY_REGIONS:
        make_regions(topology, links);
        return;
    case GS_TOPOLOGY_GRAPH:
        make_graph(topology, links);
        return;
    }
}

void gs_fabric_route(const gs_topology *topology, gs_fabric_port from, gs_fabric_port to,
                     uint64_t hash, gs_route *route)
{
    switch ((gs_topology_kind)fabric_of(topology)->kind) {
    case GS_TOPOLOGY_SWITCH:
    case GS_TOPOLOGY_NODES:
        return;
    case GS_TOPOLOGY_FAT_TREE:
        route_fat_tree(topology, from, to, hash, route);
        return;
    case GS_TOPOLOGY_TORUS:
        route_torus(topology, from, to, route);
        return;
    case GS_TOPOLOGY_REGIONS:
        route_regions(topology, from, to, route);
        return;
    case GS_TOPOLOGY_GRAPH:
        route_graph(topology, from, to, route);
        return;
    }
}
