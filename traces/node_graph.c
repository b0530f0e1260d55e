#include "traces/node_graph.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"

const char *const gs_node_part_names[] = {"gpu", "nic", "bridge", "socket", "nvswitch", NULL};
const char *const gs_node_edge_names[] = {"nvlink", "pcie", "sockets", NULL};

enum { FAR = UINT16_MAX, SOCKETS_COST = 1000 };

/* What a search from one part needs. */
typedef struct search {
    const gs_node_graph *graph;
    const uint32_t *first;             /* [part_count + 1]: places of a part in `ends` */
    const uint16_t *ends;              /* hops that start there */
    uint16_t links[GS_NODE_PARTS_MAX]; /* from the start; FAR: not reached */
    uint16_t last[GS_NODE_PARTS_MAX];  /* hop that came there */
    int64_t rate[GS_NODE_PARTS_MAX];   /* of the slowest link on the way */
    uint32_t queue[GS_NODE_PARTS_MAX];
} search;

static uint32_t start_of(const gs_node_graph *graph, uint16_t hop)
{
    const gs_node_edge *edge = &graph->edges[hop / 2];
    return hop % 2 == 0 ? edge->a : edge->b;
}

static uint32_t end_of(const gs_node_graph *graph, uint16_t hop)
{
    return start_of(graph, hop ^ 1);
}

/* Hops by the part they start at, in the order of the edges. */
static bool index_hops(search *in, gs_arena *arena)
{
    const gs_node_graph *graph = in->graph;
    uint32_t *first = GS_TAKE(arena, uint32_t, graph->part_count + 1);
    uint32_t *next = GS_TAKE(arena, uint32_t, graph->part_count);
    uint16_t *ends = GS_TAKE(arena, uint16_t, 2 * graph->edge_count);
    if (first == NULL || next == NULL || ends == NULL) {
        return false;
    }
    for (uint32_t hop = 0; hop < 2 * graph->edge_count; hop++) {
        first[start_of(graph, (uint16_t)hop) + 1]++;
    }
    for (uint32_t part = 0; part < graph->part_count; part++) {
        first[part + 1] += first[part];
        next[part] = first[part];
    }
    for (uint32_t hop = 0; hop < 2 * graph->edge_count; hop++) {
        ends[next[start_of(graph, (uint16_t)hop)]++] = (uint16_t)hop;
    }
    in->first = first;
    in->ends = ends;
    return true;
}

/* May data go on from a part that it has come to? `relays`: from one GPU. */
static bool passes(const search *in, uint32_t part, bool nvlink, bool relays)
{
    gs_node_part_kind kind = in->graph->parts[part].kind;
    if (nvlink) {
        return kind == GS_NODE_NVSWITCH || (relays && kind == GS_NODE_GPU && in->links[part] == 1);
    }
    return kind == GS_NODE_BRIDGE || kind == GS_NODE_SOCKET;
}

/* Breadth first over NVLink, or over everything else; of equally short ways the wider one. */
static void look_from(search *in, uint32_t start, bool nvlink, bool relays)
{
    const gs_node_graph *graph = in->graph;
    uint32_t head = 0;
    uint32_t tail = 0;
    memset(in->links, 0xff, sizeof in->links);
    in->links[start] = 0;
    in->rate[start] = INT64_MAX;
    in->queue[tail++] = start;
    while (head < tail) {
        uint32_t part = in->queue[head++];
        if (part != start && !passes(in, part, nvlink, relays)) {
            continue;
        }
        for (uint32_t i = in->first[part]; i < in->first[part + 1]; i++) {
            uint16_t hop = in->ends[i];
            const gs_node_edge *edge = &graph->edges[hop / 2];
            uint32_t to = end_of(graph, hop);
            uint16_t links = (uint16_t)(in->links[part] + 1);
            int64_t own = edge->rate_bps == 0 ? (int64_t)edge->count : edge->rate_bps;
            int64_t rate = own < in->rate[part] ? own : in->rate[part];
            if ((edge->kind == GS_EDGE_NVLINK) != nvlink || in->links[to] < links ||
                (in->links[to] == links && in->rate[to] >= rate)) {
                continue;
            }
            if (in->links[to] == FAR) {
                in->queue[tail++] = to;
            }
            in->links[to] = links;
            in->last[to] = hop;
            in->rate[to] = rate;
        }
    }
}

static bool take_path(const search *in, uint32_t to, gs_node_path *out)
{
    out->count = in->links[to];
    for (uint32_t part = to, i = out->count; i > 0; i--) {
        if (i <= GS_NODE_PATH_MAX) {
            out->hops[i - 1] = in->last[part];
        }
        part = start_of(in->graph, in->last[part]);
    }
    return out->count <= GS_NODE_PATH_MAX;
}

/* --- checks ----------------------------------------------------------------------------------- */

static gs_status count_parts(gs_node_graph *graph, gs_arena *arena, gs_error *err)
{
    uint32_t *gpus = GS_TAKE(arena, uint32_t, GS_NODE_GPUS_MAX);
    uint32_t *nics = GS_TAKE(arena, uint32_t, GS_NODE_NICS_MAX);
    if (gpus == NULL || nics == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory for the parts of a node", graph->source);
    }
    graph->gpu_count = graph->nic_count = 0;
    for (uint32_t i = 0; i < graph->part_count; i++) {
        const gs_node_part *part = &graph->parts[i];
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(graph->parts[k].name, part->name) == 0) {
                return gs_fail(err, GS_EPARSE,
                               "%s: %s \"%s\" is there twice; give each part its own name",
                               graph->source, gs_node_part_names[part->kind], part->name);
            }
        }
        bool is_gpu = part->kind == GS_NODE_GPU;
        if ((is_gpu && graph->gpu_count == GS_NODE_GPUS_MAX) ||
            (part->kind == GS_NODE_NIC && graph->nic_count == GS_NODE_NICS_MAX)) {
            return gs_fail(err, GS_ELIMIT, "%s: over %d %s; a node may have as many", graph->source,
                           GS_NODE_GPUS_MAX, is_gpu ? "GPUs" : "nics");
        }
        if (is_gpu) {
            gpus[graph->gpu_count++] = i;
        } else if (part->kind == GS_NODE_NIC) {
            nics[graph->nic_count++] = i;
        }
    }
    graph->gpus = gpus;
    graph->nics = nics;
    return graph->gpu_count > 0 ? GS_OK
                                : gs_fail(err, GS_EPARSE, "%s: holds no GPU", graph->source);
}

static gs_status fail_apart(const gs_node_graph *graph, uint32_t a, uint32_t b, uint32_t links,
                            gs_error *err)
{
    const char *from = graph->parts[a].name;
    const char *to = graph->parts[b].name;
    if (links == FAR) {
        return gs_fail(err, GS_EPARSE, "%s: nothing joins %s and %s; say the link that does",
                       graph->source, from, to);
    }
    return gs_fail(err, GS_ELIMIT, "%s: %u links from %s to %s; a path may have %d", graph->source,
                   links, from, to, GS_NODE_PATH_MAX);
}

/* Paths of one GPU to all others and to all nics. */
static gs_status find_paths(search *in, uint32_t gpu, gs_node_path *between, gs_node_path *to_nic,
                            gs_error *err)
{
    const gs_node_graph *graph = in->graph;
    static const bool order[][2] = {{true, false}, {true, true}, {false, false}};
    uint32_t start = graph->gpus[gpu];
    for (uint32_t way = 0; way < 3; way++) {
        look_from(in, start, order[way][0], order[way][1]);
        for (uint32_t i = 0; i < graph->gpu_count; i++) {
            uint32_t part = graph->gpus[i];
            if (i != gpu && between[i].count == 0 && in->links[part] != FAR &&
                !take_path(in, part, &between[i])) {
                return fail_apart(graph, start, part, in->links[part], err);
            }
        }
    }
    for (uint32_t i = 0; i < graph->gpu_count; i++) {
        if (i != gpu && between[i].count == 0) {
            return fail_apart(graph, start, graph->gpus[i], FAR, err);
        }
    }
    for (uint32_t i = 0; i < graph->nic_count; i++) {
        uint32_t part = graph->nics[i];
        if (in->links[part] == FAR || !take_path(in, part, &to_nic[i])) {
            return fail_apart(graph, start, part, in->links[part], err);
        }
    }
    return GS_OK;
}

gs_status gs_node_graph_finish(gs_node_graph *graph, gs_arena *arena, gs_error *err)
{
    if (graph->part_count > GS_NODE_PARTS_MAX || graph->edge_count > GS_NODE_EDGES_MAX) {
        return gs_fail(err, GS_ELIMIT, "%s: %u parts and %u links; at most %d and %d may be",
                       graph->source, graph->part_count, graph->edge_count, GS_NODE_PARTS_MAX,
                       GS_NODE_EDGES_MAX);
    }
    GS_TRY(count_parts(graph, arena, err));
    gs_node_path *between =
        GS_TAKE(arena, gs_node_path, (size_t)graph->gpu_count * graph->gpu_count);
    gs_node_path *to_nic =
        GS_TAKE(arena, gs_node_path, (size_t)graph->gpu_count * graph->nic_count);
    gs_arena scratch;
    gs_arena_init(&scratch);
    search *in = GS_TAKE(&scratch, search, 1);
    gs_status status = GS_ENOMEM;
    if (between != NULL && to_nic != NULL && in != NULL) {
        in->graph = graph;
        status = index_hops(in, &scratch) ? GS_OK : GS_ENOMEM;
    }
    if (status != GS_OK) {
        gs_arena_fini(&scratch);
        return gs_fail(err, status, "%s: no memory for the paths of a node", graph->source);
    }
    for (uint32_t gpu = 0; gpu < graph->gpu_count && status == GS_OK; gpu++) {
        status = find_paths(in, gpu, between + (size_t)gpu * graph->gpu_count,
                            to_nic + (size_t)gpu * graph->nic_count, err);
    }
    gs_arena_fini(&scratch);
    graph->between = between;
    graph->to_nic = to_nic;
    return status;
}

const gs_node_graph *gs_node_graph_rated(const gs_node_graph *graph, const gs_node_rates *rates,
                                         gs_arena *arena)
{
    gs_node_graph *copy = GS_TAKE(arena, gs_node_graph, 1);
    gs_node_edge *edges = GS_TAKE(arena, gs_node_edge, graph->edge_count);
    if (copy == NULL || edges == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        edges[i] = graph->edges[i];
        if (edges[i].rate_bps == 0) {
            int64_t one = edges[i].kind == GS_EDGE_NVLINK ? rates->nvlink_bps
                          : edges[i].kind == GS_EDGE_PCIE ? rates->pcie_bps
                                                          : rates->sockets_bps;
            edges[i].rate_bps = edges[i].count * one;
        }
    }
    *copy = *graph;
    copy->edges = edges;
    return copy;
}

/* --- by rule ---------------------------------------------------------------------------------- */

static gs_node_graph *new_graph(const char *source, uint32_t parts, uint32_t edges, gs_arena *arena)
{
    gs_node_graph *graph = GS_TAKE(arena, gs_node_graph, 1);
    if (graph == NULL) {
        return NULL;
    }
    *graph = (gs_node_graph){.source = source,
                             .parts = GS_TAKE(arena, gs_node_part, parts),
                             .edges = GS_TAKE(arena, gs_node_edge, edges)};
    return graph->parts != NULL && graph->edges != NULL ? graph : NULL;
}

static uint32_t add_part(gs_node_graph *graph, gs_node_part_kind kind, uint32_t number)
{
    gs_node_part *part = &graph->parts[graph->part_count];
    part->kind = kind;
    snprintf(part->name, sizeof part->name, "%s%u", gs_node_part_names[kind], number);
    return graph->part_count++;
}

static void add_edge(gs_node_graph *graph, uint32_t a, uint32_t b, gs_node_edge_kind kind,
                     int64_t rate_bps)
{
    graph->edges[graph->edge_count++] =
        (gs_node_edge){.a = a, .b = b, .kind = kind, .count = 1, .rate_bps = rate_bps};
}

static gs_status finish(gs_node_graph *graph, gs_arena *arena, const gs_node_graph **out,
                        gs_error *err)
{
    GS_TRY(gs_node_graph_finish(graph, arena, err));
    *out = graph;
    return GS_OK;
}

gs_status gs_node_graph_mesh(uint32_t gpus, int64_t rate_bps, gs_arena *arena,
                             const gs_node_graph **out, gs_error *err)
{
    if (gpus > GS_NODE_GPUS_MAX) {
        return gs_fail(err, GS_ELIMIT, "a mesh of %u ranks; a node may have %d", gpus,
                       GS_NODE_GPUS_MAX);
    }
    gs_node_graph *graph = new_graph("mesh", gpus, gpus * (gpus - 1) / 2, arena);
    if (graph == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for a mesh of %u ranks", gpus);
    }
    for (uint32_t i = 0; i < gpus; i++) {
        (void)add_part(graph, GS_NODE_GPU, i);
        for (uint32_t k = 0; k < i; k++) {
            add_edge(graph, k, i, GS_EDGE_NVLINK, rate_bps);
        }
    }
    return finish(graph, arena, out, err);
}

gs_status gs_node_graph_tree(const gs_node_tree *tree, gs_arena *arena, const gs_node_graph **out,
                             gs_error *err)
{
    if (tree->gpus > GS_NODE_GPUS_MAX || tree->nics > GS_NODE_NICS_MAX) {
        return gs_fail(err, GS_ELIMIT, "%u ranks and %u nics; a node may have %d and %d",
                       tree->gpus, tree->nics, GS_NODE_GPUS_MAX, GS_NODE_NICS_MAX);
    }
    uint32_t bridges = (tree->gpus + tree->bridge_gpus - 1) / tree->bridge_gpus;
    uint32_t sockets = tree->sockets < bridges ? tree->sockets : bridges;
    uint32_t edges = tree->gpus + tree->nics + bridges + sockets * (sockets - 1) / 2;
    gs_node_graph *graph =
        new_graph("pcie", tree->gpus + tree->nics + bridges + sockets, edges, arena);
    if (graph == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for a node of %u ranks", tree->gpus);
    }
    for (uint32_t i = 0; i < sockets; i++) {
        uint32_t socket = add_part(graph, GS_NODE_SOCKET, i);
        for (uint32_t k = 0; k < i; k++) {
            add_edge(graph, k, socket, GS_EDGE_SOCKETS, tree->rates.sockets_bps);
        }
    }
    for (uint32_t i = 0; i < bridges; i++) {
        uint32_t bridge = add_part(graph, GS_NODE_BRIDGE, i);
        add_edge(graph, i * sockets / bridges, bridge, GS_EDGE_PCIE, tree->rates.pcie_bps);
    }
    for (uint32_t i = 0; i < tree->gpus; i++) {
        uint32_t bridge = sockets + i / tree->bridge_gpus;
        add_edge(graph, bridge, add_part(graph, GS_NODE_GPU, i), GS_EDGE_PCIE,
                 tree->rates.pcie_bps);
    }
    for (uint32_t i = 0; i < tree->nics; i++) {
        uint32_t bridge = sockets + i * bridges / tree->nics;
        add_edge(graph, bridge, add_part(graph, GS_NODE_NIC, i), GS_EDGE_PCIE,
                 tree->rates.pcie_bps);
    }
    return finish(graph, arena, out, err);
}

/* --- questions -------------------------------------------------------------------------------- */

static uint32_t cost_of(const gs_node_graph *graph, const gs_node_path *path)
{
    uint32_t cost = path->count;
    for (uint32_t i = 0; i < path->count; i++) {
        cost += graph->edges[path->hops[i] / 2].kind == GS_EDGE_SOCKETS ? SOCKETS_COST : 0;
    }
    return cost;
}

uint32_t gs_node_graph_nearest_nic(const gs_node_graph *graph, uint32_t gpu)
{
    const gs_node_path *paths = graph->to_nic + (size_t)gpu * graph->nic_count;
    uint32_t near[GS_NODE_NICS_MAX];
    uint32_t count = 0;
    uint32_t least = UINT32_MAX;
    for (uint32_t nic = 0; nic < graph->nic_count; nic++) {
        uint32_t cost = cost_of(graph, &paths[nic]);
        count = cost < least ? 0 : count;
        if (cost <= least) {
            near[count++] = nic;
            least = cost;
        }
    }
    GS_ASSERT(count > 0);
    return near[gpu % count];
}

char *gs_node_graph_distance(const gs_node_graph *graph, const gs_node_path *path, char *out,
                             size_t out_bytes)
{
    uint32_t links = UINT32_MAX;
    uint32_t bridges = 0;
    bool over_socket = false;
    bool between_sockets = false;
    for (uint32_t i = 0; i < path->count; i++) {
        const gs_node_edge *edge = &graph->edges[path->hops[i] / 2];
        gs_node_part_kind end = graph->parts[end_of(graph, path->hops[i])].kind;
        bridges += end == GS_NODE_BRIDGE ? 1 : 0;
        over_socket |= end == GS_NODE_SOCKET;
        between_sockets |= edge->kind == GS_EDGE_SOCKETS;
        links = edge->kind == GS_EDGE_NVLINK && edge->count < links ? edge->count : links;
    }
    if (links != UINT32_MAX) {
        snprintf(out, out_bytes, "NV%u", links);
    } else {
        snprintf(out, out_bytes, "%s",
                 between_sockets ? "SYS"
                 : over_socket   ? "PHB"
                 : bridges > 1   ? "PXB"
                                 : "PIX");
    }
    return out;
}
