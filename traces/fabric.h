/* What joins the nodes of a cluster, as a scenario says it: kinds of topology with their sizes,
 * resolved and checked; no simulation.
 *
 * Entities: the workers' nodes in file order, then one node for each server. Nics: those of the
 * nodes, `nics` each, then one a server. A zeroed struct is one switch that every rank has its own
 * nic on. Open structs; owner of arrays: the arena of the scenario. */
#ifndef GS_TRACES_FABRIC_H
#define GS_TRACES_FABRIC_H

#include "base/arena.h"
#include "base/config.h"
#include "base/units.h"
#include "traces/fabric_graph.h"
#include "traces/node_graph.h"

#include <stdbool.h>
#include <stdint.h>

enum { GS_FABRIC_NAME_BYTES = 64, GS_FABRIC_FILE_BYTES = 256, GS_REGIONS_MAX = 64 };

/* Links of the longest route: a torus of 16 x 16 x 16 nodes has such. */
enum { GS_FABRIC_ROUTE_MAX = 24, GS_TORUS_DIMENSIONS_MAX = 4 };

typedef enum gs_topology_kind {
    GS_TOPOLOGY_SWITCH,   /* every rank has its own nic */
    GS_TOPOLOGY_NODES,    /* nodes, on one switch that nobody can fill */
    GS_TOPOLOGY_FAT_TREE, /* nodes on leaf switches, leaves on spines, spines on cores */
    GS_TOPOLOGY_TORUS,    /* a node and its neighbours */
    GS_TOPOLOGY_REGIONS,  /* switches joined by links of a wide area network */
    GS_TOPOLOGY_GRAPH     /* as a file says */
} gs_topology_kind;

typedef enum gs_node_inside { GS_INSIDE_SWITCH, GS_INSIDE_MESH, GS_INSIDE_PCIE } gs_node_inside;

typedef enum gs_fabric_routing { GS_ROUTING_ECMP, GS_ROUTING_D_MOD_K } gs_fabric_routing;

/* cluster.regions[] */
typedef struct gs_region {
    char name[GS_FABRIC_NAME_BYTES];
    int64_t nodes; /* the next so many; the first region holds the servers too */
} gs_region;

/* cluster.wan[]: one direction. */
typedef struct gs_wan_link {
    char from[GS_FABRIC_NAME_BYTES];
    char to[GS_FABRIC_NAME_BYTES];
    int64_t bandwidth_bps;
    gs_time_ns latency_ns; /* on top of that of links.nic */
} gs_wan_link;

typedef struct gs_fabric {
    int kind;   /* gs_topology_kind */
    int inside; /* gs_node_inside, where node_file is empty */
    char node_file[GS_FABRIC_FILE_BYTES];
    int64_t nics;            /* of a node; 0 in what is read, never in what is resolved */
    gs_int_list nic_of_rank; /* of the ranks of a node, in turn; empty: the nearest */
    int64_t sockets, bridge_ranks;
    int64_t nvlink_bandwidth_bps, pcie_bandwidth_bps, sockets_bandwidth_bps; /* 0: by the device */
    gs_time_ns hop_latency_ns; /* of every switch after the first */
    /* fat tree */
    bool rails;
    int routing; /* gs_fabric_routing */
    int64_t leaf_nodes, spines, pod_nodes, cores;
    double oversubscription, core_oversubscription;
    gs_int_list dims; /* torus */
    char graph_file[GS_FABRIC_FILE_BYTES];
    /* what the reader makes of it */
    const gs_node_graph *const *insides; /* [groups of nodes]; NULL: ports on one switch */
    const gs_region *regions;
    uint32_t region_count;
    const gs_wan_link *wan; /* [region_count][region_count], from first; NULL: there is none */
    const gs_fabric_graph *graph;
} gs_fabric;

/* A fat tree's sizes, once nodes and servers are counted. Switches of a level are numbered one
 * after the other: leaf = group of nodes (* nics + rail), spine = pod * spines + number. */
typedef struct gs_fat_tree {
    uint32_t group_nodes; /* nodes that share a leaf, or with rails a leaf for each nic */
    uint32_t group_leaves;
    uint32_t leaves;
    uint32_t spines;     /* of a pod */
    uint32_t pod_groups; /* groups in a pod; with two levels all of them */
    uint32_t pods;       /* 1: two levels */
    uint32_t cores;      /* that each spine reaches */
    double uplink_nics;  /* rate of a link from leaf to spine, in nics */
    double core_nics;    /* and from spine to core */
} gs_fat_tree;

gs_fat_tree gs_fabric_fat_tree(const gs_fabric *fabric, uint32_t nodes_and_servers);

/* Links of the longest route between nodes, without what is inside them. */
uint32_t gs_fabric_links_max(const gs_fabric *fabric, uint32_t nodes_and_servers);

/* What if: rates that the topology says itself (of insides, regions and graphs; not those that
 * follow links.nic) times a factor, at most `most_bps`, inside nodes or between them; and latencies
 * of its own gone. What changes is copied. false: no memory. */
bool gs_fabric_scale_inside(gs_fabric *fabric, uint32_t groups, double factor, int64_t most_bps,
                            gs_arena *arena);
bool gs_fabric_scale_between(gs_fabric *fabric, double factor, int64_t most_bps, gs_arena *arena);
bool gs_fabric_drop_latency(gs_fabric *fabric, gs_arena *arena);

#endif
