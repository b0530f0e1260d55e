#include "traces/fabric.h"

#include <string.h>

static uint32_t at_least_one(double value)
{
    return value < 1.0 ? 1 : (uint32_t)(value + 0.5);
}

gs_fat_tree gs_fabric_fat_tree(const gs_fabric *fabric, uint32_t nodes_and_servers)
{
    gs_fat_tree tree = {.group_nodes = (uint32_t)fabric->leaf_nodes};
    uint32_t nics = (uint32_t)fabric->nics;
    uint32_t groups = (nodes_and_servers + tree.group_nodes - 1) / tree.group_nodes;
    double ports = (double)tree.group_nodes * (fabric->rails ? 1 : nics);
    tree.group_leaves = fabric->rails ? nics : 1;
    tree.leaves = groups * tree.group_leaves;
    tree.spines = fabric->spines > 0 ? (uint32_t)fabric->spines
                                     : at_least_one(ports / fabric->oversubscription);
    tree.uplink_nics = ports / (fabric->oversubscription * tree.spines);
    tree.pod_groups = groups;
    tree.pods = 1;
    if (fabric->pod_nodes > 0 && fabric->pod_nodes < nodes_and_servers) {
        tree.pod_groups = (uint32_t)fabric->pod_nodes / tree.group_nodes;
        tree.pods = (groups + tree.pod_groups - 1) / tree.pod_groups;
        double leaves = (double)tree.pod_groups * tree.group_leaves;
        tree.cores = fabric->cores > 0 ? (uint32_t)fabric->cores
                                       : at_least_one(leaves / fabric->core_oversubscription);
        tree.core_nics = leaves * tree.uplink_nics / (fabric->core_oversubscription * tree.cores);
    }
    return tree;
}

uint32_t gs_fabric_links_max(const gs_fabric *fabric, uint32_t nodes_and_servers)
{
    enum { NICS = 2 };
    uint32_t links = 0;
    switch ((gs_topology_kind)fabric->kind) {
    case GS_TOPOLOGY_SWITCH:
    case GS_TOPOLOGY_NODES:
        return NICS;
    case GS_TOPOLOGY_FAT_TREE:
        return NICS + (gs_fabric_fat_tree(fabric, nodes_and_servers).pods > 1 ? 4 : 2);
    case GS_TOPOLOGY_TORUS:
        for (int64_t i = 0; i < fabric->dims.count; i++) {
            links += (uint32_t)fabric->dims.values[i] / 2;
        }
        return links;
    case GS_TOPOLOGY_REGIONS:
        return NICS + 1;
    case GS_TOPOLOGY_GRAPH:
        return fabric->graph->links_max;
    }
    return NICS;
}

/* --- what if ---------------------------------------------------------------------------------- */

static int64_t scaled(int64_t rate_bps, double factor, int64_t most_bps)
{
    double rate = (double)rate_bps * factor;
    return rate >= (double)most_bps ? most_bps : rate < 1.0 ? 1 : (int64_t)(rate + 0.5);
}

bool gs_fabric_scale_inside(gs_fabric *fabric, uint32_t groups, double factor, int64_t most_bps,
                            gs_arena *arena)
{
    static const gs_node_rates none = {0};
    if (fabric->insides == NULL) {
        return true;
    }
    const gs_node_graph **copies = GS_TAKE(arena, const gs_node_graph *, groups);
    for (uint32_t i = 0; copies != NULL && i < groups; i++) {
        const gs_node_graph *copy = gs_node_graph_rated(fabric->insides[i], &none, arena);
        if (copy == NULL) {
            return false;
        }
        for (uint32_t k = 0; k < copy->edge_count; k++) {
            copy->edges[k].rate_bps = scaled(copy->edges[k].rate_bps, factor, most_bps);
        }
        copies[i] = copy;
    }
    fabric->insides = copies;
    return copies != NULL;
}

/* Copies of the links of regions and graphs, which may be changed. */
static bool copy_between(gs_fabric *fabric, gs_wan_link **out_wan, gs_graph_link **out_links,
                         gs_arena *arena)
{
    uint32_t pairs = fabric->wan == NULL ? 0 : fabric->region_count * fabric->region_count;
    uint32_t links = fabric->graph == NULL ? 0 : fabric->graph->link_count;
    gs_fabric_graph *graph = GS_TAKE(arena, gs_fabric_graph, 1);
    *out_wan = GS_TAKE(arena, gs_wan_link, pairs);
    *out_links = GS_TAKE(arena, gs_graph_link, links);
    if (graph == NULL || *out_wan == NULL || *out_links == NULL) {
        return false;
    }
    if (pairs > 0) {
        memcpy(*out_wan, fabric->wan, pairs * sizeof **out_wan);
        fabric->wan = *out_wan;
    }
    if (fabric->graph != NULL) {
        memcpy(*out_links, fabric->graph->links, links * sizeof **out_links);
        *graph = *fabric->graph;
        graph->links = *out_links;
        fabric->graph = graph;
    }
    return true;
}

bool gs_fabric_scale_between(gs_fabric *fabric, double factor, int64_t most_bps, gs_arena *arena)
{
    gs_wan_link *wan = NULL;
    gs_graph_link *links = NULL;
    if (!copy_between(fabric, &wan, &links, arena)) {
        return false;
    }
    for (uint32_t i = 0; fabric->wan != NULL && i < fabric->region_count * fabric->region_count;
         i++) {
        wan[i].bandwidth_bps = scaled(wan[i].bandwidth_bps, factor, most_bps);
    }
    for (uint32_t i = 0; fabric->graph != NULL && i < fabric->graph->link_count; i++) {
        links[i].bandwidth_bps = scaled(links[i].bandwidth_bps, factor, most_bps);
    }
    return true;
}

bool gs_fabric_drop_latency(gs_fabric *fabric, gs_arena *arena)
{
    gs_wan_link *wan = NULL;
    gs_graph_link *links = NULL;
    if (!copy_between(fabric, &wan, &links, arena)) {
        return false;
    }
    fabric->hop_latency_ns = 0;
    for (uint32_t i = 0; fabric->wan != NULL && i < fabric->region_count * fabric->region_count;
         i++) {
        wan[i].latency_ns = 0;
    }
    for (uint32_t i = 0; fabric->graph != NULL && i < fabric->graph->link_count; i++) {
        links[i].latency_ns = 0;
    }
    return true;
}
