/* cluster.topology, cluster.regions, cluster.wan: what is inside nodes and what joins them. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "traces/importers/importer.h"
#include "traces/link_rates.h"

enum { SIZE_MAX_NODES = GS_ENTITIES_MAX, LINKS_MAX = 1 << 24 };

static const char *const kinds[] = {"switch",  "nodes", "fat_tree", "torus",
                                    "regions", "graph", NULL};
static const char *const insides[] = {"switch", "mesh", "pcie", NULL};
static const char *const routings[] = {"ecmp", "d_mod_k", NULL};

/* clang-format off */
static const gs_field fields[] = {
    {"kind", GS_FIELD_CHOICE, GS_FIELD_AT(gs_fabric, kind), "nodes", 0, 0, kinds,
     "what joins ranks: switch, every rank has its own nic on one; nodes, nics of nodes on one switch; fat_tree, torus, regions, graph, between nodes"},
    {"inside", GS_FIELD_CHOICE, GS_FIELD_AT(gs_fabric, inside), "switch", 0, 0, insides,
     "inside a node, each link with links.intra's rate: switch, a port a rank (NVSwitch); mesh, a link a pair; pcie, ranks below bridges below sockets"},
    {"node_file", GS_FIELD_TEXT, GS_FIELD_AT(gs_fabric, node_file), "", 0, 0, NULL,
     "inside of a node as NCCL's topology XML, nvidia-smi topo -m or gradsync.node/1 says it, instead of `inside`; empty: none"},
    {"nics", GS_FIELD_INT, GS_FIELD_AT(gs_fabric, nics), "0", 0, GS_NODE_NICS_MAX, NULL,
     "nics of a node, each with links.nic's rate; 0: those of node_file, else one"},
    {"nic_of_rank", GS_FIELD_INT_LIST, GS_FIELD_AT(gs_fabric, nic_of_rank), "", 0, GS_NODE_NICS_MAX - 1, NULL,
     "nic of each rank of a node, again from the start for further ones; empty: the nearest of a pcie tree or file, else rank modulo nics"},
    {"sockets", GS_FIELD_INT, GS_FIELD_AT(gs_fabric, sockets), "2", 1, 8, NULL,
     "inside pcie: sockets of a node, each joined with each"},
    {"bridge_ranks", GS_FIELD_INT, GS_FIELD_AT(gs_fabric, bridge_ranks), "4", 1, GS_NODE_GPUS_MAX, NULL,
     "inside pcie: ranks below one bridge, which share its link to the socket"},
    {"nvlink_bandwidth", GS_FIELD_RATE, GS_FIELD_AT(gs_fabric, nvlink_bandwidth_bps), "0bit/s", 0, 1e15, NULL,
     "node_file: of one NVLink whose generation the file does not say; 0: by the device, else that of an A100"},
    {"pcie_bandwidth", GS_FIELD_RATE, GS_FIELD_AT(gs_fabric, pcie_bandwidth_bps), "0bit/s", 0, 1e15, NULL,
     "node_file: of PCIe links whose speed the file does not say; 0: 3/4 of the device's, else 12GB/s"},
    {"sockets_bandwidth", GS_FIELD_RATE, GS_FIELD_AT(gs_fabric, sockets_bandwidth_bps), "0bit/s", 0, 1e15, NULL,
     "between two sockets, inside pcie and of a node_file that does not say the processor; 0: 10GB/s"},
    {"hop_latency", GS_FIELD_DURATION, GS_FIELD_AT(gs_fabric, hop_latency_ns), "0s", 0, 1e9, NULL,
     "added for every switch of a fat tree after the first, and every link of a torus after the first"},
    {"leaf_nodes", GS_FIELD_INT, GS_FIELD_AT(gs_fabric, leaf_nodes), "16", 1, SIZE_MAX_NODES, NULL,
     "fat tree: nodes on one leaf switch, or with rails on as many leaves as a node has nics"},
    {"rails", GS_FIELD_BOOL, GS_FIELD_AT(gs_fabric, rails), "false", 0, 0, NULL,
     "fat tree: nic k of the nodes is on leaf k of their group, so that traffic of equal nics stays there"},
    {"oversubscription", GS_FIELD_REAL, GS_FIELD_AT(gs_fabric, oversubscription), "1", 0.01, 1000, NULL,
     "fat tree: rate of a leaf's nics over that of its links to spines; 4: a quarter gets out"},
    {"spines", GS_FIELD_INT, GS_FIELD_AT(gs_fabric, spines), "0", 0, SIZE_MAX_NODES, NULL,
     "fat tree: links of a leaf upwards, one to each spine (of its pod); 0: so many that they have the nics' rate"},
    {"pod_nodes", GS_FIELD_INT, GS_FIELD_AT(gs_fabric, pod_nodes), "0", 0, SIZE_MAX_NODES, NULL,
     "fat tree: nodes of a pod, a multiple of leaf_nodes; pods are joined by cores; 0: two levels"},
    {"cores", GS_FIELD_INT, GS_FIELD_AT(gs_fabric, cores), "0", 0, SIZE_MAX_NODES, NULL,
     "fat tree of three levels: links of a spine upwards, one to each of its cores; 0: so many that they have the rate of those below"},
    {"core_oversubscription", GS_FIELD_REAL, GS_FIELD_AT(gs_fabric, core_oversubscription), "1", 0.01, 1000, NULL,
     "fat tree of three levels: rate of a spine's links to leaves over that of its links to cores"},
    {"routing", GS_FIELD_CHOICE, GS_FIELD_AT(gs_fabric, routing), "ecmp", 0, 0, routings,
     "fat tree: ecmp, spine and core by a hash of the flow; d_mod_k, by the receiver's port on its leaf"},
    {"dims", GS_FIELD_INT_LIST, GS_FIELD_AT(gs_fabric, dims), "", 1, SIZE_MAX_NODES, NULL,
     "torus: nodes in each dimension, the first one's are next to each other; 4/4/4"},
    {"graph_file", GS_FIELD_TEXT, GS_FIELD_AT(gs_fabric, graph_file), "", 0, 0, NULL,
     "graph: a file of hosts, switches and links (gradsync.graph/1); nodes, then servers, are its hosts in order"},
};
static const gs_field region_fields[] = {
    {"name", GS_FIELD_TEXT, GS_FIELD_AT(gs_region, name), NULL, 0, 0, NULL,
     "what wan calls it"},
    {"nodes", GS_FIELD_INT, GS_FIELD_AT(gs_region, nodes), "1", 1, SIZE_MAX_NODES, NULL,
     "the next so many nodes of the cluster; servers are in the first region"},
};
static const gs_field wan_fields[] = {
    {"from", GS_FIELD_TEXT, GS_FIELD_AT(gs_wan_link, from), NULL, 0, 0, NULL, "a region"},
    {"to", GS_FIELD_TEXT, GS_FIELD_AT(gs_wan_link, to), NULL, 0, 0, NULL,
     "another; the way back is the same where no entry says it"},
    {"bandwidth", GS_FIELD_RATE, GS_FIELD_AT(gs_wan_link, bandwidth_bps), NULL, 1e3, 1e15, NULL,
     "that all flows of this direction share"},
    {"latency", GS_FIELD_DURATION, GS_FIELD_AT(gs_wan_link, latency_ns), "0s", 0, 1e10, NULL,
     "of this direction, on top of links.nic.latency"},
};
/* clang-format on */

const gs_field_table gs_scenario_topology_table =
    GS_SCENARIO_TABLE("cluster.topology", gs_fabric, fields);
const gs_field_table gs_scenario_region_table =
    GS_SCENARIO_TABLE("cluster.regions[]", gs_region, region_fields);
const gs_field_table gs_scenario_wan_table =
    GS_SCENARIO_TABLE("cluster.wan[]", gs_wan_link, wan_fields);

static gs_status fail_field(const gs_scenario_reader *reader, const char *key, gs_error *err,
                            const char *text)
{
    char path[GS_JSON_PATH_BYTES];
    snprintf(path, sizeof path, "cluster.topology.%s", key);
    return gs_scenario_fail(reader, GS_EINVAL, path, err, "%s", text);
}

/* Nodes, servers and other jobs' hosts: what the topology has a place for. */
static uint32_t places_of(const gs_scenario_reader *reader)
{
    const gs_cluster *cluster = &reader->out->cluster;
    uint32_t servers = cluster->server_nodes == NULL ? (uint32_t)reader->servers.count : 0;
    return reader->out->nodes + servers + gs_cluster_tenant_hosts(cluster);
}

/* --- inside nodes ----------------------------------------------------------------------------- */

static gs_status import_node(gs_scenario_reader *reader, const gs_node_graph **out, gs_error *err)
{
    const gs_fabric *fabric = &reader->out->cluster.topology;
    const char *path = "cluster.topology.node_file";
    const char *files[] = {fabric->node_file};
    gs_error inner = {0};
    gs_imported imported = {0};
    gs_status status = gs_import(files, 1, NULL, reader->arena, &imported, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, path, err, "%s", inner.text);
    }
    if (imported.node == NULL) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "\"%s\" (%s) says nothing of a node's inside; give NCCL's topology "
                                "XML, the text of nvidia-smi topo -m, or gradsync.node/1",
                                fabric->node_file, imported.format);
    }
    for (uint32_t i = 0; i < imported.note_count; i++) {
        gs_scenario_note(reader, "%s: \"%s\": %s", path, fabric->node_file, imported.notes[i]);
    }
    *out = imported.node;
    return GS_OK;
}

/* Rates that the file leaves open: as the scenario says, by the device, or assumed, which is noted.
 */
static gs_node_rates rates_of(gs_scenario_reader *reader, const gs_node_graph *graph,
                              const gs_device *device)
{
    const gs_fabric *fabric = &reader->out->cluster.topology;
    int64_t host_link = device == NULL ? 0 : device->host_link_bps / 4 * 3;
    gs_node_rates rates = {
        .nvlink_bps = fabric->nvlink_bandwidth_bps > 0 ? fabric->nvlink_bandwidth_bps
                                                       : gs_rate_device_bps(device),
        .pcie_bps = fabric->pcie_bandwidth_bps > 0 ? fabric->pcie_bandwidth_bps : host_link,
        .sockets_bps = fabric->sockets_bandwidth_bps,
    };
    static const char *const keys[] = {"nvlink_bandwidth", "pcie_bandwidth", "sockets_bandwidth"};
    static const int64_t assumed[] = {GS_RATE_NVLINK_ASSUMED_BPS, GS_RATE_PCIE_ASSUMED_BPS,
                                      GS_RATE_SOCKETS_ASSUMED_BPS};
    int64_t *const of_kind[] = {&rates.nvlink_bps, &rates.pcie_bps, &rates.sockets_bps};
    bool open[3] = {false};
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        open[graph->edges[i].kind] |= graph->edges[i].rate_bps == 0;
    }
    for (int i = 0; i < 3; i++) {
        if (*of_kind[i] == 0) {
            char text[GS_UNIT_TEXT_BYTES];
            *of_kind[i] = assumed[i];
            if (open[i]) {
                gs_scenario_note(reader,
                                 "cluster.topology.%s: neither the file nor the device says it; %s "
                                 "a link is assumed",
                                 keys[i], gs_format_rate(assumed[i], text));
            }
        }
    }
    return rates;
}

static gs_status check_ranks(const gs_scenario_reader *reader, const gs_node_group *group,
                             const gs_node_graph *graph, gs_error *err)
{
    const gs_fabric *fabric = &reader->out->cluster.topology;
    if (group->ranks > graph->gpu_count) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.node_file", err,
                                "\"%s\" has %u GPUs, %s has %lld ranks; lower ranks, or give "
                                "another file",
                                fabric->node_file, graph->gpu_count, group->name,
                                (long long)group->ranks);
    }
    if (graph->nic_count > 0 && fabric->nics > graph->nic_count) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.nics", err,
                                "%lld, but \"%s\" has %u; lower it, or 0 for all of them",
                                (long long)fabric->nics, fabric->node_file, graph->nic_count);
    }
    return GS_OK;
}

static gs_status make_inside(gs_scenario_reader *reader, const gs_node_group *group,
                             const gs_node_graph *of_file, const gs_node_graph **out, gs_error *err)
{
    const gs_cluster *cluster = &reader->out->cluster;
    const gs_fabric *fabric = &cluster->topology;
    gs_error inner = {0};
    gs_status status = GS_OK;
    if (of_file != NULL) {
        GS_TRY(check_ranks(reader, group, of_file, err));
        gs_node_rates rates = rates_of(reader, of_file, group->known);
        *out = gs_node_graph_rated(of_file, &rates, reader->arena);
        return *out != NULL ? GS_OK : gs_scenario_no_memory(reader, err);
    }
    if (fabric->inside == GS_INSIDE_MESH) {
        status = gs_node_graph_mesh((uint32_t)group->ranks, cluster->intra.bandwidth_bps,
                                    reader->arena, out, &inner);
    } else {
        int64_t sockets = fabric->sockets_bandwidth_bps;
        gs_node_tree tree = {
            .gpus = (uint32_t)group->ranks,
            .nics = (uint32_t)fabric->nics,
            .bridge_gpus = (uint32_t)fabric->bridge_ranks,
            .sockets = (uint32_t)fabric->sockets,
            .rates = {.pcie_bps = cluster->intra.bandwidth_bps,
                      .sockets_bps = sockets > 0 ? sockets : GS_RATE_SOCKETS_ASSUMED_BPS}};
        status = gs_node_graph_tree(&tree, reader->arena, out, &inner);
    }
    return status == GS_OK
               ? GS_OK
               : gs_scenario_fail(reader, status, "cluster.topology.inside", err, "%s", inner.text);
}

static gs_status read_insides(gs_scenario_reader *reader, gs_error *err)
{
    gs_cluster *cluster = &reader->out->cluster;
    gs_fabric *fabric = &cluster->topology;
    const gs_node_graph *of_file = NULL;
    if (fabric->node_file[0] != '\0') {
        GS_TRY(import_node(reader, &of_file, err));
    }
    if (fabric->nics == 0) {
        fabric->nics = of_file != NULL && of_file->nic_count > 0 ? of_file->nic_count : 1;
    }
    for (int64_t i = 0; i < fabric->nic_of_rank.count; i++) {
        if (fabric->nic_of_rank.values[i] >= fabric->nics) {
            return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.nic_of_rank", err,
                                    "%lld is none of the %lld nics of a node, which are 0 to %lld",
                                    (long long)fabric->nic_of_rank.values[i],
                                    (long long)fabric->nics, (long long)fabric->nics - 1);
        }
    }
    if (of_file == NULL && fabric->inside == GS_INSIDE_SWITCH) {
        return GS_OK;
    }
    const gs_node_graph **of_groups =
        GS_TAKE(reader->arena, const gs_node_graph *, cluster->group_count);
    if (of_groups == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        GS_TRY(make_inside(reader, &cluster->groups[i], of_file, &of_groups[i], err));
    }
    fabric->insides = of_groups;
    return GS_OK;
}

/* --- between nodes ---------------------------------------------------------------------------- */

static gs_status check_fat_tree(const gs_scenario_reader *reader, gs_error *err)
{
    const gs_fabric *fabric = &reader->out->cluster.topology;
    if (fabric->pod_nodes % fabric->leaf_nodes != 0) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.pod_nodes", err,
                                "%lld is no multiple of leaf_nodes, %lld; a pod has whole leaves",
                                (long long)fabric->pod_nodes, (long long)fabric->leaf_nodes);
    }
    gs_fat_tree tree = gs_fabric_fat_tree(fabric, places_of(reader));
    double links = 2.0 * tree.leaves * tree.spines + 2.0 * tree.pods * tree.spines * tree.cores;
    if (links > LINKS_MAX) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.spines", err,
                                "the fat tree would have %.0f links; at most %d may be: lower "
                                "spines or cores, or raise oversubscription",
                                links, LINKS_MAX);
    }
    return GS_OK;
}

static gs_status check_torus(gs_scenario_reader *reader, gs_error *err)
{
    const gs_int_list *dims = &reader->out->cluster.topology.dims;
    double product = 1.0;
    if (dims->count == 0 || dims->count > GS_TORUS_DIMENSIONS_MAX) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.dims", err,
                                "has %lld dimensions; a torus has 1 to %d, such as [4, 4, 4]",
                                (long long)dims->count, GS_TORUS_DIMENSIONS_MAX);
    }
    for (int64_t i = 0; i < dims->count; i++) {
        product *= (double)dims->values[i];
    }
    uint32_t places = places_of(reader);
    if (product < places || product > GS_ENTITIES_MAX) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.dims", err,
                                "make %.0f places for %u nodes and %lld servers; make as many",
                                product, reader->out->nodes, (long long)reader->servers.count);
    }
    if (product > places) {
        gs_scenario_note(reader,
                         "cluster.topology.dims: make %.0f places for %u nodes and servers; the "
                         "others pass on what is not for them",
                         product, places);
    }
    return GS_OK;
}

static gs_status one_nic(const gs_scenario_reader *reader, gs_error *err)
{
    const gs_fabric *fabric = &reader->out->cluster.topology;
    if (fabric->nics == 1) {
        return GS_OK;
    }
    return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.nics", err,
                            "%lld, but with kind \"%s\" a node's links are its nic; write 1",
                            (long long)fabric->nics, kinds[fabric->kind]);
}

static gs_status read_graph(gs_scenario_reader *reader, gs_error *err)
{
    gs_fabric *fabric = &reader->out->cluster.topology;
    gs_error inner = {0};
    if (fabric->graph_file[0] == '\0') {
        return fail_field(reader, "graph_file", err,
                          "is empty; kind \"graph\" needs a file of hosts, switches and links");
    }
    gs_status status =
        gs_fabric_graph_read(fabric->graph_file, reader->arena, &fabric->graph, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, "cluster.topology.graph_file", err, "%s",
                                inner.text);
    }
    if (fabric->graph->hosts < places_of(reader)) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology.graph_file", err,
                                "\"%s\" has %u hosts for %u nodes and %lld servers; it needs one "
                                "for each",
                                fabric->graph_file, fabric->graph->hosts, reader->out->nodes,
                                (long long)reader->servers.count);
    }
    return GS_OK;
}

/* --- regions ---------------------------------------------------------------------------------- */

static uint32_t region_called(const gs_fabric *fabric, const char *name)
{
    uint32_t i = 0;
    while (i < fabric->region_count && strcmp(fabric->regions[i].name, name) != 0) {
        i++;
    }
    return i;
}

static gs_status check_regions(const gs_scenario_reader *reader, gs_error *err)
{
    const gs_fabric *fabric = &reader->out->cluster.topology;
    double nodes = 0.0;
    for (uint32_t i = 0; i < fabric->region_count; i++) {
        const gs_region *region = &fabric->regions[i];
        nodes += (double)region->nodes;
        if (region->name[0] == '\0' || region_called(fabric, region->name) != i) {
            return gs_scenario_fail(reader, GS_EINVAL, "cluster.regions", err,
                                    "\"%s\" names none, or two regions; give each its own name",
                                    region->name);
        }
    }
    if (nodes < reader->out->nodes || nodes > reader->out->nodes) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.regions", err,
                                "hold %.0f nodes together, cluster.nodes has %u; make them equal",
                                nodes, reader->out->nodes);
    }
    return GS_OK;
}

/* A direction that nobody says is as the other one. */
static gs_status fill_wan(const gs_scenario_reader *reader, gs_wan_link *matrix, gs_error *err)
{
    const gs_fabric *fabric = &reader->out->cluster.topology;
    uint32_t count = fabric->region_count;
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = 0; b < count; b++) {
            gs_wan_link *link = &matrix[a * count + b];
            const gs_wan_link *back = &matrix[b * count + a];
            if (a == b || link->bandwidth_bps > 0) {
                continue;
            }
            if (back->bandwidth_bps == 0) {
                return gs_scenario_fail(reader, GS_EINVAL, "cluster.wan", err,
                                        "nothing joins \"%s\" and \"%s\"; say the link between "
                                        "them",
                                        fabric->regions[a].name, fabric->regions[b].name);
            }
            link->bandwidth_bps = back->bandwidth_bps;
            link->latency_ns = back->latency_ns;
        }
    }
    return GS_OK;
}

static gs_status make_wan(gs_scenario_reader *reader, gs_error *err)
{
    gs_fabric *fabric = &reader->out->cluster.topology;
    uint32_t count = fabric->region_count;
    gs_wan_link *matrix = GS_TAKE(reader->arena, gs_wan_link, (size_t)count * count);
    if (matrix == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (uint32_t i = 0; i < reader->wan_count; i++) {
        const gs_wan_link *link = &reader->wan[i];
        char path[GS_JSON_PATH_BYTES];
        snprintf(path, sizeof path, "cluster.wan[%u]", i);
        uint32_t a = region_called(fabric, link->from);
        uint32_t b = region_called(fabric, link->to);
        if (a == count || b == count || a == b) {
            return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                    "\"%s\" and \"%s\" are not two of cluster.regions", link->from,
                                    link->to);
        }
        if (matrix[a * count + b].bandwidth_bps > 0) {
            return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                    "the link from \"%s\" to \"%s\" is there already; one entry "
                                    "a direction",
                                    link->from, link->to);
        }
        matrix[a * count + b] = *link;
    }
    GS_TRY(fill_wan(reader, matrix, err));
    fabric->wan = matrix;
    return GS_OK;
}

/* --- all together ----------------------------------------------------------------------------- */

static gs_status read_between(gs_scenario_reader *reader, gs_error *err)
{
    switch ((gs_topology_kind)reader->out->cluster.topology.kind) {
    case GS_TOPOLOGY_SWITCH:
    case GS_TOPOLOGY_NODES:
        return GS_OK;
    case GS_TOPOLOGY_FAT_TREE:
        return check_fat_tree(reader, err);
    case GS_TOPOLOGY_TORUS:
        GS_TRY(one_nic(reader, err));
        return check_torus(reader, err);
    case GS_TOPOLOGY_REGIONS:
        GS_TRY(check_regions(reader, err));
        return make_wan(reader, err);
    case GS_TOPOLOGY_GRAPH:
        GS_TRY(one_nic(reader, err));
        return read_graph(reader, err);
    }
    return GS_OK;
}

/* The longest way between a rank and a nic. */
static uint32_t leg_links(const gs_node_graph *graph)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < graph->gpu_count * graph->nic_count; i++) {
        most = graph->to_nic[i].count > most ? graph->to_nic[i].count : most;
    }
    return most;
}

static gs_status check_routes(const gs_scenario_reader *reader, gs_error *err)
{
    const gs_cluster *cluster = &reader->out->cluster;
    uint32_t legs = 0;
    for (uint32_t i = 0; cluster->topology.insides != NULL && i < cluster->group_count; i++) {
        uint32_t links = leg_links(cluster->topology.insides[i]);
        legs = links > legs ? links : legs;
    }
    uint32_t copies = 0;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        copies = cluster->groups[i].gpudirect == GS_GPUDIRECT_OFF ? 2 : copies;
    }
    uint32_t longest =
        gs_fabric_links_max(&cluster->topology, places_of(reader)) + 2 * legs + copies;
    if (longest <= GS_FABRIC_ROUTE_MAX) {
        return GS_OK;
    }
    return gs_scenario_fail(reader, GS_EINVAL, "cluster.topology", err,
                            "routes of up to %u links (%u of them inside nodes); at most %d may "
                            "be: make it smaller, or the insides simpler",
                            longest, 2 * legs, GS_FABRIC_ROUTE_MAX);
}

gs_status gs_scenario_read_topology(gs_scenario_reader *reader, gs_error *err)
{
    gs_fabric *fabric = &reader->out->cluster.topology;
    void *items = NULL;
    GS_TRY(gs_scenario_read_list(reader, "cluster.regions", &gs_scenario_region_table,
                                 GS_REGIONS_MAX, &items, &fabric->region_count, err));
    fabric->regions = items;
    GS_TRY(gs_scenario_read_list(reader, "cluster.wan", &gs_scenario_wan_table,
                                 GS_REGIONS_MAX * GS_REGIONS_MAX, &items, &reader->wan_count, err));
    reader->wan = items;
    if (!gs_cluster_has_nodes(&reader->out->cluster)) {
        fabric->nics = 1;
        return GS_OK;
    }
    GS_TRY(read_insides(reader, err));
    GS_TRY(read_between(reader, err));
    return check_routes(reader, err);
}

bool gs_scenario_write_topology(const gs_scenario_reader *reader, gs_json *cluster)
{
    const gs_fabric *fabric = &reader->out->cluster.topology;
    bool ok = gs_scenario_put_object(cluster, "topology", &gs_scenario_topology_table, fabric);
    ok = gs_scenario_put_list(cluster, "regions", &gs_scenario_region_table, fabric->regions,
                              fabric->region_count) &&
         ok;
    return gs_scenario_put_list(cluster, "wan", &gs_scenario_wan_table, reader->wan,
                                reader->wan_count) &&
           ok;
}
