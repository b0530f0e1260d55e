#include "sim/topology.h"

#include "base/assert.h"
#include "sim/topology_fabric.h"

static bool has_nodes(const gs_scenario *scenario)
{
    return gs_cluster_has_nodes(&scenario->cluster);
}

static gs_topology_link make_link(const gs_link *from, int64_t bandwidth_bps)
{
    return (gs_topology_link){
        .bytes_per_tick = gs_topology_bytes_per_tick(from, bandwidth_bps),
        .trace = from->trace.point_count > 0 ? &from->trace : NULL,
    };
}

/* --- creation --------------------------------------------------------------------------------- */

double gs_topology_nic_scale(const gs_topology *topology, uint32_t node)
{
    const gs_cluster *cluster = &topology->scenario->cluster;
    uint32_t first = 0;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        first += (uint32_t)cluster->groups[i].count;
        if (node < first) {
            return cluster->groups[i].nic_scale;
        }
    }
    return 1.0;
}

static bool choose_nics(const gs_fabric *fabric, uint32_t nics, const gs_node_group *from,
                        gs_topology_group *group, gs_arena *arena)
{
    uint16_t *nic_of = GS_TAKE(arena, uint16_t, (size_t)from->ranks);
    if (nic_of == NULL) {
        return false;
    }
    for (uint32_t rank = 0; rank < from->ranks; rank++) {
        int64_t listed = fabric->nic_of_rank.count;
        uint32_t nic = rank;
        if (listed > 0) {
            nic = (uint32_t)fabric->nic_of_rank.values[rank % listed];
        } else if (group->inside != NULL && group->inside->nic_count > 0) {
            nic = gs_node_graph_nearest_nic(group->inside, rank);
        }
        nic_of[rank] = (uint16_t)(nic % nics);
    }
    group->nic_of = nic_of;
    return true;
}

/* Numbers the links of nodes' insides from `link` on; returns the number after the last. */
static uint64_t make_groups(gs_topology *topology, uint64_t link, gs_arena *arena)
{
    const gs_cluster *cluster = &topology->scenario->cluster;
    gs_topology_group *groups = GS_TAKE(arena, gs_topology_group, cluster->group_count);
    uint32_t node = 0;
    for (uint32_t i = 0; groups != NULL && i < cluster->group_count; i++) {
        const gs_node_group *from = &cluster->groups[i];
        const gs_node_graph *const *insides = cluster->topology.insides;
        groups[i] = (gs_topology_group){.first_node = node,
                                        .inside = insides == NULL ? NULL : insides[i],
                                        .link_first = (uint32_t)link};
        if (!choose_nics(&cluster->topology, topology->nics, from, &groups[i], arena)) {
            return UINT64_MAX;
        }
        uint64_t edges = groups[i].inside == NULL ? 0 : groups[i].inside->edge_count;
        link += 2 * edges * (uint64_t)from->count;
        node += (uint32_t)from->count;
    }
    topology->groups = groups;
    return groups != NULL ? link : UINT64_MAX;
}

static bool make_regions(gs_topology *topology, gs_arena *arena)
{
    const gs_fabric *fabric = &topology->scenario->cluster.topology;
    uint8_t *region_of = GS_TAKE(arena, uint8_t, topology->nodes);
    if (region_of == NULL) {
        return false;
    }
    uint32_t node = 0;
    for (uint32_t i = 0; i < fabric->region_count; i++) {
        for (int64_t k = 0; k < fabric->regions[i].nodes && node < topology->nodes; k++) {
            region_of[node++] = (uint8_t)i;
        }
    }
    topology->region_of = region_of;
    return true;
}

static void fill_insides(const gs_topology *topology, gs_topology_link *links)
{
    const gs_cluster *cluster = &topology->scenario->cluster;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        const gs_topology_group *group = &topology->groups[i];
        uint32_t hops = group->inside == NULL ? 0 : 2 * group->inside->edge_count;
        gs_topology_link *link = &links[group->link_first];
        for (int64_t node = 0; node < cluster->groups[i].count; node++) {
            for (uint32_t hop = 0; hop < hops; hop++) {
                *link++ = make_link(&cluster->intra, group->inside->edges[hop / 2].rate_bps);
            }
        }
    }
}

/* Ports of entities: their nics where there are no nodes. */
static void fill_ports(const gs_topology *topology, gs_topology_link *links, uint32_t ports)
{
    const gs_scenario *scenario = topology->scenario;
    const gs_cluster *cluster = &scenario->cluster;
    const gs_link *class = has_nodes(scenario) ? &cluster->intra : &cluster->nic;
    gs_topology_link port = make_link(class, class->bandwidth_bps);
    for (uint32_t link = 0; link < ports; link++) {
        links[link] = port;
    }
    for (uint32_t rank = 0; rank < scenario->ranks && !has_nodes(scenario); rank++) {
        double scale = gs_scenario_group_of(scenario, rank)->nic_scale;
        links[2 * rank].bytes_per_tick *= scale;
        links[2 * rank + 1].bytes_per_tick *= scale;
    }
}

static void fill_nics(const gs_topology *topology, gs_topology_link *links)
{
    const gs_scenario *scenario = topology->scenario;
    gs_topology_link nic = make_link(&scenario->cluster.nic, scenario->cluster.nic.bandwidth_bps);
    uint32_t count = gs_topology_nic_count(topology);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t of_nodes = scenario->nodes * topology->nics;
        double scale = i < of_nodes ? gs_topology_nic_scale(topology, i / topology->nics) : 1.0;
        gs_topology_link scaled = nic;
        scaled.bytes_per_tick *= scale;
        links[topology->nic_first + 2 * i] = links[topology->nic_first + 2 * i + 1] = scaled;
    }
}

static bool is_staged(const gs_scenario *scenario)
{
    const gs_cluster *cluster = &scenario->cluster;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        if (cluster->groups[i].gpudirect == GS_GPUDIRECT_OFF) {
            return true;
        }
    }
    return false;
}

static void fill_copies(const gs_topology *topology, gs_topology_link *links)
{
    const gs_link *nic = &topology->scenario->cluster.nic;
    gs_topology_link copy = {.bytes_per_tick = (double)nic->staging_bps / 8.0 /
                                               ((double)GS_NS_PER_S * GS_TICKS_PER_NS)};
    for (uint32_t link = topology->copy_first; link < topology->link_count; link++) {
        links[link] = copy;
    }
}

/* Changes of one link before its path repeats, and of all links together: 16 bytes each. */
enum { CHANGES_MAX = 4096, CHANGES_MIN = 64, ALL_CHANGES_MAX = 1 << 22 };

/* Gives links [first, end) of a class paths of their own, one for each `alike` of them. false: no
 * memory. */
static bool vary(gs_topology_link *links, uint32_t first, uint32_t end, uint32_t alike,
                 const gs_link *class, uint64_t seed, gs_arena *arena)
{
    if (class->process.kind == GS_RATE_TRACE || first == end) {
        return true;
    }
    uint32_t paths = (end - first + alike - 1) / alike;
    uint32_t changes = ALL_CHANGES_MAX / paths;
    changes = changes > CHANGES_MAX ? CHANGES_MAX : changes < CHANGES_MIN ? CHANGES_MIN : changes;
    gs_rate_trace *traces = GS_TAKE(arena, gs_rate_trace, paths);
    bool ok = traces != NULL;
    for (uint32_t link = first; ok && link < end; link++) {
        gs_rate_trace *trace = &traces[(link - first) / alike];
        ok = trace->points != NULL ||
             gs_rate_process_trace(&class->process, seed, link, changes, arena, trace);
        links[link].trace = trace;
    }
    return ok;
}

const gs_topology *gs_topology_create(const gs_scenario *scenario, uint32_t servers, uint64_t seed,
                                      gs_arena *arena)
{
    gs_topology *topology = GS_TAKE(arena, gs_topology, 1);
    if (topology == NULL) {
        return NULL;
    }
    const gs_fabric *fabric = &scenario->cluster.topology;
    bool nodes = has_nodes(scenario);
    uint32_t hosts = gs_cluster_tenant_hosts(&scenario->cluster);
    uint32_t singles = hosts + (scenario->cluster.server_nodes == NULL ? servers : 0);
    *topology = (gs_topology){.scenario = scenario,
                              .entities = scenario->ranks + servers + hosts,
                              .servers = servers,
                              .nodes = nodes ? scenario->nodes + singles : 0,
                              .nics = fabric->nics > 0 ? (uint32_t)fabric->nics : 1};
    uint32_t ports = fabric->insides == NULL ? 2 * topology->entities : 0;
    uint64_t count = nodes ? make_groups(topology, ports, arena) : ports;
    if (count > UINT32_MAX ||
        (fabric->kind == GS_TOPOLOGY_REGIONS && !make_regions(topology, arena))) {
        return NULL;
    }
    if (fabric->kind == GS_TOPOLOGY_FAT_TREE) {
        topology->tree = gs_fabric_fat_tree(fabric, topology->nodes);
    }
    topology->nic_first = (uint32_t)count;
    bool has_nics = nodes && gs_fabric_has_nic_links(topology);
    count += has_nics ? 2 * (uint64_t)gs_topology_nic_count(topology) : 0;
    topology->fabric_first = (uint32_t)count;
    count += gs_fabric_link_count(topology);
    topology->copy_first = (uint32_t)count;
    count += is_staged(scenario) ? 2 * (uint64_t)scenario->ranks : 0;
    gs_topology_link *links =
        count > UINT32_MAX ? NULL : GS_TAKE(arena, gs_topology_link, (size_t)count);
    if (links == NULL) {
        return NULL;
    }
    topology->link_count = (uint32_t)count;
    topology->links = links;
    fill_ports(topology, links, ports);
    if (nodes) {
        fill_insides(topology, links);
    }
    if (has_nics) {
        fill_nics(topology, links);
    }
    gs_fabric_make_links(topology, links + topology->fabric_first);
    fill_copies(topology, links);
    const gs_cluster *cluster = &scenario->cluster;
    const gs_link *port = nodes ? &cluster->intra : &cluster->nic;
    uint32_t between = topology->fabric_first;
    return vary(links, 0, topology->nic_first, 2, port, seed, arena) &&
                   vary(links, topology->nic_first, between, 2, &cluster->nic, seed, arena) &&
                   vary(links, between, topology->copy_first, 1, &cluster->nic, seed, arena)
               ? topology
               : NULL;
}

/* --- routes ----------------------------------------------------------------------------------- */

typedef struct place {
    uint32_t node;
    uint32_t nic;                   /* of all */
    uint32_t local;                 /* among the ranks of the node */
    const gs_topology_group *group; /* NULL: no rank */
} place;

/* A node of one entity behind the workers'. */
static place single(const gs_topology *topology, uint32_t number)
{
    uint32_t nodes = topology->scenario->nodes;
    return (place){.node = nodes + number, .nic = nodes * topology->nics + number};
}

static place place_of(const gs_topology *topology, uint32_t entity)
{
    const gs_scenario *scenario = topology->scenario;
    const uint32_t *server_nodes = scenario->cluster.server_nodes;
    if (entity >= scenario->ranks) {
        uint32_t number = entity - scenario->ranks;
        if (server_nodes == NULL) {
            return single(topology, number);
        }
        if (number >= topology->servers) {
            return single(topology, number - topology->servers);
        }
        uint32_t node = server_nodes[number];
        return (place){.node = node, .nic = node * topology->nics + number % topology->nics};
    }
    gs_place at = gs_scenario_place_of(scenario, entity);
    const gs_topology_group *group = &topology->groups[at.group];
    return (place){.node = at.node,
                   .nic = at.node * topology->nics + group->nic_of[at.local],
                   .local = at.local,
                   .group = group};
}

uint32_t gs_topology_nic(const gs_topology *topology, uint32_t entity)
{
    return has_nodes(topology->scenario) ? place_of(topology, entity).nic : entity;
}

uint32_t gs_topology_nic_count(const gs_topology *topology)
{
    const gs_scenario *scenario = topology->scenario;
    return has_nodes(scenario)
               ? scenario->nodes * topology->nics + topology->nodes - scenario->nodes
               : topology->entities;
}

/* Links of a path inside a node; backwards, from its end to its start. */
static void add_path(const place *at, const gs_node_path *path, bool backwards, gs_route *route)
{
    const gs_topology_group *group = at->group;
    uint32_t first =
        group->link_first + (at->node - group->first_node) * 2 * group->inside->edge_count;
    for (uint32_t i = 0; i < path->count; i++) {
        gs_route_add(route,
                     first + (backwards ? path->hops[path->count - 1 - i] ^ 1U : path->hops[i]));
    }
}

/* Between a rank and its nic. */
static void add_leg(const gs_topology *topology, const place *at, bool inwards, gs_route *route)
{
    if (at->group != NULL && at->group->inside != NULL && at->group->inside->nic_count > 0) {
        const gs_node_graph *inside = at->group->inside;
        uint32_t nic = at->nic % topology->nics;
        add_path(at, &inside->to_nic[(size_t)at->local * inside->nic_count + nic], inwards, route);
    }
}

/* SplitMix64's finaliser: every bit of the flow's name moves every bit of the hash. */
static uint64_t mixed(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

static gs_route route_inside(const gs_topology *topology, const place *a, const place *b,
                             uint32_t from, uint32_t to)
{
    gs_route route = {.latency_ns = topology->scenario->cluster.intra.latency_ns};
    const gs_node_graph *inside = a->group == NULL ? NULL : a->group->inside;
    if (inside != NULL) {
        add_path(a, &inside->between[(size_t)a->local * inside->gpu_count + b->local], false,
                 &route);
    } else {
        gs_route_add(&route, 2 * from);
        gs_route_add(&route, 2 * to + 1);
    }
    return route;
}

/* The copy of a rank whose messages are staged: out (0) or in (1). */
static void add_copy(const gs_topology *topology, uint32_t entity, uint32_t inwards,
                     gs_route *route)
{
    const gs_scenario *scenario = topology->scenario;
    if (topology->copy_first < topology->link_count && entity < scenario->ranks &&
        gs_scenario_group_of(scenario, entity)->gpudirect == GS_GPUDIRECT_OFF) {
        gs_route_add(route, topology->copy_first + 2 * entity + inwards);
    }
}

/* Out of the sender's node, over what joins nodes, and in. */
static void route_between(const gs_topology *topology, const place *a, const place *b,
                          uint64_t hash, gs_route *route)
{
    gs_fabric_port out = {a->node, a->nic};
    gs_fabric_port in = {b->node, b->nic};
    bool nic_links = gs_fabric_has_nic_links(topology);
    add_leg(topology, a, false, route);
    if (nic_links) {
        gs_route_add(route, topology->nic_first + 2 * out.nic);
    }
    gs_fabric_route(topology, out, in, hash, route);
    if (nic_links) {
        gs_route_add(route, topology->nic_first + 2 * in.nic + 1);
    }
    add_leg(topology, b, true, route);
}

gs_route gs_topology_route(const gs_topology *topology, uint32_t from, uint32_t to, uint32_t stream)
{
    GS_ASSERT(from != to && from < topology->entities && to < topology->entities);
    const gs_cluster *cluster = &topology->scenario->cluster;
    gs_route route = {.latency_ns = cluster->nic.latency_ns, .over_nic = true};
    bool is_node = topology->groups != NULL;
    place a = {0}, b = {0};
    if (is_node) {
        a = place_of(topology, from);
        b = place_of(topology, to);
        if (a.node == b.node) {
            return route_inside(topology, &a, &b, from, to);
        }
    }
    add_copy(topology, from, 0, &route);
    if (is_node) {
        uint64_t hash = mixed(mixed((uint64_t)from << 32 | to) + stream);
        route_between(topology, &a, &b, hash, &route);
    } else {
        gs_route_add(&route, 2 * from);
        gs_route_add(&route, 2 * to + 1);
    }
    add_copy(topology, to, 1, &route);
    return route;
}
