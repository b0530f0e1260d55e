/* What is inside a node: GPUs, nics, bridges and sockets, the links between them with their rates,
 * and the path that data takes from one to another.
 *
 * From a file (NCCL's XML, nvidia-smi's matrix, gradsync's own) or made by rule. Paths follow
 * NCCL's order of preference: over NVLink, directly or through NVSwitch; over NVLink by way of one
 * other GPU; over PCIe and between sockets. Between two GPUs that reach each other in several ways
 * of one kind the path with fewest links counts, then the wider one, then the one named first. Open
 * structs; owner of arrays: the arena. */
#ifndef GS_TRACES_NODE_GRAPH_H
#define GS_TRACES_NODE_GRAPH_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GS_NODE_NAME_BYTES = 32,
    GS_NODE_PARTS_MAX = 512,
    GS_NODE_GPUS_MAX = 64,
    GS_NODE_NICS_MAX = 64,
    GS_NODE_EDGES_MAX = 4096,
    GS_NODE_PATH_MAX = 8
};

typedef enum gs_node_part_kind {
    GS_NODE_GPU,
    GS_NODE_NIC,
    GS_NODE_BRIDGE, /* a PCIe switch */
    GS_NODE_SOCKET, /* a NUMA node with its host bridges */
    GS_NODE_NVSWITCH
} gs_node_part_kind;

typedef enum gs_node_edge_kind {
    GS_EDGE_NVLINK, /* AMD's xGMI too */
    GS_EDGE_PCIE,
    GS_EDGE_SOCKETS
} gs_node_edge_kind;

extern const char *const gs_node_part_names[]; /* by kind, NULL-terminated: "gpu", ... */
extern const char *const gs_node_edge_names[]; /* "nvlink", "pcie", "sockets" */

typedef struct gs_node_part {
    gs_node_part_kind kind;
    char name[GS_NODE_NAME_BYTES];
    int64_t rate_bps; /* of a nic on the network; 0: not known */
} gs_node_part;

/* The same rate in both directions, which do not share it. */
typedef struct gs_node_edge {
    uint32_t a, b; /* parts */
    gs_node_edge_kind kind;
    uint32_t count;   /* bonded links, >= 1 */
    int64_t rate_bps; /* of all of them; 0: the file does not say */
} gs_node_edge;

/* A link of a path: 2 * edge, + 1 from b to a. */
typedef struct gs_node_path {
    uint16_t hops[GS_NODE_PATH_MAX];
    uint16_t count;
} gs_node_path;

typedef struct gs_node_graph {
    const char *source; /* file name, or what made it */
    gs_node_part *parts;
    uint32_t part_count;
    gs_node_edge *edges;
    uint32_t edge_count;
    /* What gs_node_graph_finish fills: */
    const uint32_t *gpus; /* parts, in the order of the devices' numbers */
    uint32_t gpu_count;
    const uint32_t *nics;
    uint32_t nic_count;
    const gs_node_path *between; /* [gpu][gpu] */
    const gs_node_path *to_nic;  /* [gpu][nic]; backwards: each hop the other way, last first */
} gs_node_graph;

/* Rates for links whose file does not say them: what payload gets on one of them, one direction. */
typedef struct gs_node_rates {
    int64_t nvlink_bps;
    int64_t pcie_bps;
    int64_t sockets_bps;
} gs_node_rates;

/* Counts and paths, from parts and edges: GPUs and nics are numbered in the order of the parts.
 * Errors: GS_EPARSE for a part named twice, GPUs that are not joined, a nic that no GPU reaches, a
 * path over GS_NODE_PATH_MAX links; GS_ELIMIT; GS_ENOMEM. */
GS_MUST_USE gs_status gs_node_graph_finish(gs_node_graph *graph, gs_arena *arena, gs_error *err);

/* A copy whose links all have rates; paths are shared. NULL: no memory. */
const gs_node_graph *gs_node_graph_rated(const gs_node_graph *graph, const gs_node_rates *rates,
                                         gs_arena *arena);

/* Every two GPUs joined by a link of their own. */
GS_MUST_USE gs_status gs_node_graph_mesh(uint32_t gpus, int64_t rate_bps, gs_arena *arena,
                                         const gs_node_graph **out, gs_error *err);

typedef struct gs_node_tree {
    uint32_t gpus, nics;
    uint32_t bridge_gpus; /* GPUs below one bridge; the last may have fewer */
    uint32_t sockets;     /* bridges are dealt to them in blocks, nics to bridges likewise */
    gs_node_rates rates;
} gs_node_tree;

/* GPUs and nics below bridges, bridges below sockets, sockets joined two by two. */
GS_MUST_USE gs_status gs_node_graph_tree(const gs_node_tree *tree, gs_arena *arena,
                                         const gs_node_graph **out, gs_error *err);

/* The nic nearest to a GPU: fewest sockets crossed, then fewest links; of several such the GPU's
 * number decides, in turn. Graphs with nics only. */
uint32_t gs_node_graph_nearest_nic(const gs_node_graph *graph, uint32_t gpu);

/* "NV12", "PIX", "PXB", "PHB" or "SYS": nvidia-smi's word for a path; returns out. */
char *gs_node_graph_distance(const gs_node_graph *graph, const gs_node_path *path, char *out,
                             size_t out_bytes);

#endif
