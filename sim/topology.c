#include "sim/topology.h"

#include "base/assert.h"
#include "sim/tick.h"

static double bytes_per_tick(const gs_link *link)
{
    return (double)link->bandwidth_bps * link->efficiency / 8.0 /
           ((double)GS_NS_PER_S * GS_TICKS_PER_NS);
}

static gs_topology_link make_link(const gs_link *from)
{
    return (gs_topology_link){
        .bytes_per_tick = bytes_per_tick(from),
        .trace = from->trace.point_count > 0 ? &from->trace : NULL,
    };
}

static bool has_nodes(const gs_scenario *scenario)
{
    return gs_cluster_has_nodes(&scenario->cluster);
}

const gs_topology *gs_topology_create(const gs_scenario *scenario, uint32_t servers,
                                      gs_arena *arena)
{
    gs_topology *topology = GS_TAKE(arena, gs_topology, 1);
    uint32_t entities = scenario->ranks + servers;
    uint32_t nics = has_nodes(scenario) ? scenario->nodes + servers : 0;
    gs_topology_link *links = GS_TAKE(arena, gs_topology_link, 2 * ((size_t)entities + nics));
    if (topology == NULL || links == NULL) {
        return NULL;
    }
    *topology = (gs_topology){.scenario = scenario,
                              .entities = entities,
                              .link_count = 2 * (entities + nics),
                              .links = links,
                              .nic_first = 2 * entities};
    const gs_cluster *cluster = &scenario->cluster;
    gs_topology_link nic = make_link(&cluster->nic);
    gs_topology_link port = has_nodes(scenario) ? make_link(&cluster->intra) : nic;
    for (uint32_t link = 0; link < topology->link_count; link++) {
        links[link] = link < topology->nic_first ? port : nic;
    }
    for (uint32_t rank = 0; rank < scenario->ranks; rank++) {
        uint32_t up = has_nodes(scenario)
                          ? topology->nic_first + 2 * gs_scenario_node_of(scenario, rank)
                          : 2 * rank;
        double rate = nic.bytes_per_tick * gs_scenario_group_of(scenario, rank)->nic_scale;
        links[up].bytes_per_tick = links[up + 1].bytes_per_tick = rate;
    }
    return topology;
}

/* The nic of an entity: its node's, or a server's own. */
static uint32_t nic_of(const gs_topology *topology, uint32_t entity)
{
    const gs_scenario *scenario = topology->scenario;
    return entity < scenario->ranks ? gs_scenario_node_of(scenario, entity)
                                    : scenario->nodes + entity - scenario->ranks;
}

uint32_t gs_topology_nic(const gs_topology *topology, uint32_t entity)
{
    return has_nodes(topology->scenario) ? nic_of(topology, entity) : entity;
}

uint32_t gs_topology_nic_count(const gs_topology *topology)
{
    const gs_scenario *scenario = topology->scenario;
    uint32_t servers = topology->entities - scenario->ranks;
    return (has_nodes(scenario) ? scenario->nodes : scenario->ranks) + servers;
}

gs_route gs_topology_route(const gs_topology *topology, uint32_t from, uint32_t to, uint32_t stream)
{
    (void)stream; /* one path a pair */
    GS_ASSERT(from != to && from < topology->entities && to < topology->entities);
    const gs_scenario *scenario = topology->scenario;
    const gs_cluster *cluster = &scenario->cluster;
    if (has_nodes(scenario)) {
        uint32_t nic_from = nic_of(topology, from);
        uint32_t nic_to = nic_of(topology, to);
        if (nic_from != nic_to) {
            return (gs_route){
                .links = {topology->nic_first + 2 * nic_from, topology->nic_first + 2 * nic_to + 1},
                .link_count = 2,
                .latency_ns = cluster->nic.latency_ns,
                .over_nic = true};
        }
        return (gs_route){.links = {2 * from, 2 * to + 1},
                          .link_count = 2,
                          .latency_ns = cluster->intra.latency_ns};
    }
    return (gs_route){.links = {2 * from, 2 * to + 1},
                      .link_count = 2,
                      .latency_ns = cluster->nic.latency_ns,
                      .over_nic = true};
}
