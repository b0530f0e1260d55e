#include "traces/fabric.h"

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
