/* cluster: nodes, links with their measured curves, servers. */
#include "traces/scenario/scenario_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "traces/importers/importer.h"

enum { GROUPS_MAX = 4096, WINDOW_MIN_BYTES = 4096 };

static const char *const gpudirect[] = {"on", "off", NULL};
static const char *const link_sockets[] = {"channel", "process", NULL};
const char *const gs_link_class_names[] = {"nvlink", "pcie", "infiniband", "roce", "tcp", NULL};

/* clang-format off */
static const gs_field node_fields[] = {
    {"name", GS_FIELD_TEXT, GS_FIELD_AT(gs_node_group, name), "", 0, 0, NULL,
     "what other keys call these nodes; empty: nodes0, nodes1, ..."},
    {"count", GS_FIELD_INT, GS_FIELD_AT(gs_node_group, count), "1", 1, GS_ENTITIES_MAX, NULL,
     "nodes of this kind"},
    {"ranks", GS_FIELD_INT, GS_FIELD_AT(gs_node_group, ranks), "8", 1, GS_ENTITIES_MAX, NULL,
     "ranks on each of them"},
    {"device", GS_FIELD_TEXT, GS_FIELD_AT(gs_node_group, device), "", 0, 0, NULL,
     "of the catalogue (gradsync list devices), or a label that nothing is derived from"},
    {"compute_scale", GS_FIELD_REAL, GS_FIELD_AT(gs_node_group, compute_scale), "1", 1e-3, 1e3, NULL,
     "compute time is multiplied by it; 1.6: slower"},
    {"vector_bandwidth", GS_FIELD_RATE, GS_FIELD_AT(gs_node_group, vector_bandwidth_bps), "1TB/s", 1e6, 1e17, NULL,
     "memory bandwidth that vector operations of a strategy get; default is the device's, else assumed"},
    {"usd_per_hour", GS_FIELD_REAL, GS_FIELD_AT(gs_node_group, usd_per_hour), "0", 0, 1e6, NULL,
     "price of one node, yours; 0: not stated"},
    {"watts", GS_FIELD_REAL, GS_FIELD_AT(gs_node_group, watts), "0", 0, 1e7, NULL,
     "what one node draws under load, yours; 0: not stated"},
    {"nic_scale", GS_FIELD_REAL, GS_FIELD_AT(gs_node_group, nic_scale), "1", 1e-3, 1e3, NULL,
     "rate of their nic, as a multiple of links.nic.bandwidth; 0.25: a quarter"},
    {"overlap_slowdown", GS_FIELD_REAL, GS_FIELD_AT(gs_node_group, overlap_slowdown), "1", 1, 100, NULL,
     "kernels that start while the rank communicates take so many times as long"},
    {"gpudirect", GS_FIELD_CHOICE, GS_FIELD_AT(gs_node_group, gpudirect), "on", 0, 0, gpudirect,
     "on: their nics read and write device memory (GPUDirect RDMA); off: what goes over them is copied through the host's, links.nic.staging_*"},
};
#define LINK_FIELDS(class_text, bandwidth_text, latency_text)                                      \
    {"class", GS_FIELD_CHOICE, GS_FIELD_AT(gs_link, class_index), class_text, 0, 0, gs_link_class_names, \
     "kind of the link"},                                                                          \
    {"bandwidth", GS_FIELD_RATE, GS_FIELD_AT(gs_link, bandwidth_bps), bandwidth_text, 1e3, 1e15, NULL, \
     "nominal rate in one direction"},                                                             \
    {"latency", GS_FIELD_DURATION, GS_FIELD_AT(gs_link, latency_ns), latency_text, 0, 1e10, NULL,  \
     "time of one empty message, end to end"},                                                     \
    {"efficiency", GS_FIELD_RATIO, GS_FIELD_AT(gs_link, efficiency), "1", 0.001, 1, NULL,          \
     "share of the nominal rate that payload gets"},                                               \
    {"sockets", GS_FIELD_CHOICE, GS_FIELD_AT(gs_link, sockets), "channel", 0, 0, link_sockets,     \
     "first-in first-out: each channel, or, as over TCP, all from one process to another"},        \
    {"window", GS_FIELD_BYTES, GS_FIELD_AT(gs_link, window_bytes), "0B", 0, 1099511627776.0, NULL, \
     "of a socket of a process: how far its sender may be ahead of what has come; 0B: any"},       \
    {"queue", GS_FIELD_BYTES, GS_FIELD_AT(gs_link, queue_bytes), "0B", 0, 1099511627776.0, NULL,   \
     "with a window: each card is one queue, which acknowledgements wait in too, and holds so much of a socket; 0B: it serves sockets in turn"}, \
    {"per_message", GS_FIELD_DURATION, GS_FIELD_AT(gs_link, per_message_ns), "0s", 0, 1e9, NULL,   \
     "what each message costs its sender before it begins, one after the other: on a channel, or of a process over all its sockets"}, \
    {"eager", GS_FIELD_BYTES, GS_FIELD_AT(gs_link, eager_bytes), "0B", 0, 1099511627776.0, NULL,   \
     "larger messages go by rendezvous: a round trip first, and the receiver has to have come to them; 0B: all go eagerly"}, \
    {"loss", GS_FIELD_RATIO, GS_FIELD_AT(gs_link, loss), "0", 0, 0.5, NULL,                        \
     "tcp: share of packets that get lost; a connection has segment / round trip x sqrt(3/2) / sqrt(loss) at most (Mathis et al. 1997)"}, \
    {"segment", GS_FIELD_BYTES, GS_FIELD_AT(gs_link, segment_bytes), "1460B", 64, 1048576, NULL,   \
     "tcp: payload of a packet (MSS)"},                                                            \
    {"initial_window", GS_FIELD_INT, GS_FIELD_AT(gs_link, initial_window), "0", 0, 1000000, NULL,  \
     "tcp: segments that a connection sends in its first round trip after it was idle, then twice as many (slow start; RFC 6928: 10); 0: it begins at its rate"}, \
    {"idle", GS_FIELD_DURATION, GS_FIELD_AT(gs_link, idle_ns), "200ms", 0, 3.2e16, NULL,           \
     "tcp: with an initial_window: a connection is idle once its last byte left so long ago (RFC 5681: a retransmission timeout)"}, \
    {"curve", GS_FIELD_TEXT, GS_FIELD_AT(gs_link, curve_file), "", 0, 0, NULL,                     \
     "nccl-tests output whose all-reduce times replace the model's; empty: none"}
static const gs_field nic_fields[] = {
    LINK_FIELDS("tcp", "10Gbit/s", "30us"),
    {"staging_bandwidth", GS_FIELD_RATE, GS_FIELD_AT(gs_link, staging_bps), "12GB/s", 1e3, 1e15, NULL,
     "where nodes[].gpudirect is off: rate of a rank's copies to the host and of those back (12GB/s: PCIe 3.0 x16 as NCCL counts it)"},
    {"staging_chunk", GS_FIELD_BYTES, GS_FIELD_AT(gs_link, staging_chunk_bytes), "512KiB", 1, 1073741824, NULL,
     "likewise: bytes that are copied at a time while those before are on the wire (NCCL: an eighth of NCCL_BUFFSIZE)"},
};
static const gs_field intra_fields[] = {LINK_FIELDS("nvlink", "200GB/s", "5us")};
static const gs_field servers_fields[] = {
    {"count", GS_FIELD_INT, GS_FIELD_AT(gs_servers_config, count), "0", 0, GS_ENTITIES_MAX, NULL,
     "parameter-server entities offered"},
    {"at", GS_FIELD_TEXT, GS_FIELD_AT(gs_servers_config, at), "", 0, 0, NULL,
     "nodes that they stand on in turn, \"node:NAME/INDEX\" with commas between; empty: nodes of their own"},
    {"usd_per_hour", GS_FIELD_REAL, GS_FIELD_AT(gs_servers_config, usd_per_hour), "0", 0, 1e6, NULL,
     "price of one server, yours; 0: not stated"},
    {"watts", GS_FIELD_REAL, GS_FIELD_AT(gs_servers_config, watts), "0", 0, 1e7, NULL,
     "what one server draws under load, yours; 0: not stated"},
};
/* clang-format on */

const gs_field_table gs_scenario_node_table =
    GS_SCENARIO_TABLE("cluster.nodes[]", gs_node_group, node_fields);
const gs_field_table gs_scenario_nic_table =
    GS_SCENARIO_TABLE("cluster.links.nic", gs_link, nic_fields);
const gs_field_table gs_scenario_intra_table =
    GS_SCENARIO_TABLE("cluster.links.intra", gs_link, intra_fields);
const gs_field_table gs_scenario_servers_table =
    GS_SCENARIO_TABLE("cluster.servers", gs_servers_config, servers_fields);

/* --- nodes ---------------------------------------------------------------------------------- */

/* Names empty groups, and refuses a name that stands twice. */
static gs_status name_groups(gs_scenario_reader *reader, gs_node_group *groups, uint32_t count,
                             gs_error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        if (groups[i].name[0] == '\0') {
            snprintf(groups[i].name, sizeof groups[i].name, "nodes%u", i);
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(groups[k].name, groups[i].name) == 0) {
                char path[GS_JSON_PATH_BYTES];
                snprintf(path, sizeof path, "cluster.nodes[%u].name", i);
                return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                        "\"%s\" is the name of cluster.nodes[%u] already; give "
                                        "each kind of node its own",
                                        groups[i].name, k);
            }
        }
    }
    return GS_OK;
}

/* Makes the cluster as large as the launcher's. */
static gs_status fit_to_launcher(gs_scenario_reader *reader, gs_node_group *groups, uint32_t count,
                                 int64_t total, gs_error *err)
{
    const gs_scenario_options *options = reader->source.options;
    int64_t wanted = options->ranks - (options->with_servers ? reader->servers.count : 0);
    if (options->ranks <= 0 || wanted == total) {
        return GS_OK;
    }
    if (wanted <= 0) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.servers.count", err,
                                "%lld servers are as many as the launcher's %lld processes; start "
                                "more, one each for every rank and every server",
                                (long long)reader->servers.count, (long long)options->ranks);
    }
    if (count > 1 || (wanted > groups[0].ranks && wanted % groups[0].ranks != 0)) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.nodes", err,
                                "hold %lld ranks in %s of %lld, the launcher started %lld; start "
                                "as many, or say another count and ranks",
                                (long long)total, count > 1 ? "several kinds, the first" : "nodes",
                                (long long)groups[0].ranks, (long long)wanted);
    }
    groups[0].ranks = wanted < groups[0].ranks ? wanted : groups[0].ranks;
    groups[0].count = wanted / groups[0].ranks;
    return GS_OK;
}

static gs_status read_nodes(gs_scenario_reader *reader, gs_error *err)
{
    void *items = NULL;
    uint32_t count = 0;
    GS_TRY(gs_scenario_read_object(reader, "cluster.servers", &gs_scenario_servers_table,
                                   &reader->servers, err));
    GS_TRY(gs_scenario_read_list(reader, "cluster.nodes", &gs_scenario_node_table, GROUPS_MAX,
                                 &items, &count, err));
    gs_json_at at;
    if (count == 0 && gs_scenario_path_find(&reader->source.merged, "cluster.nodes", &at)) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.nodes", err,
                                "is empty; a cluster has one kind of node at least");
    }
    gs_node_group *groups = items;
    if (count == 0) {
        groups = GS_TAKE(reader->arena, gs_node_group, 1);
        if (groups == NULL) {
            return gs_scenario_no_memory(reader, err);
        }
        gs_config_defaults(&gs_scenario_node_table, groups);
        count = 1;
    }
    GS_TRY(name_groups(reader, groups, count, err));
    double sum = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        sum += (double)groups[i].count * (double)groups[i].ranks;
    }
    if (sum > GS_ENTITIES_MAX) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.nodes", err,
                                "hold %.0f ranks together; at most %d may be: lower count or ranks",
                                sum, GS_ENTITIES_MAX);
    }
    GS_TRY(fit_to_launcher(reader, groups, count, (int64_t)sum, err));
    gs_scenario_read_devices(reader, groups, count);
    gs_scenario *out = reader->out;
    out->cluster.groups = groups;
    out->cluster.group_count = count;
    for (uint32_t i = 0; i < count; i++) {
        out->nodes += (uint32_t)groups[i].count;
        out->ranks += (uint32_t)(groups[i].count * groups[i].ranks);
    }
    return GS_OK;
}

/* --- servers -------------------------------------------------------------------------------- */

/* The node that "node:NAME/INDEX" names; UINT32_MAX: none that is there. */
static uint32_t node_at(const gs_cluster *cluster, const char *at, size_t bytes)
{
    const char *slash = memchr(at, '/', bytes);
    size_t name = slash == NULL ? 0 : (size_t)(slash - at);
    size_t digits = slash == NULL ? 0 : bytes - name - 1;
    if (bytes < 5 || strncmp(at, "node:", 5) != 0 || slash == NULL || digits == 0 || digits > 5 ||
        strspn(slash + 1, "0123456789") < digits) {
        return UINT32_MAX;
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        const gs_node_group *group = &cluster->groups[i];
        if (strlen(group->name) == name - 5 && strncmp(group->name, at + 5, name - 5) == 0) {
            int64_t index = strtol(slash + 1, NULL, 10);
            return index < group->count ? first + (uint32_t)index : UINT32_MAX;
        }
        first += (uint32_t)group->count;
    }
    return UINT32_MAX;
}

/* Servers stand on the nodes of the list in turn. */
static gs_status place_servers(gs_scenario_reader *reader, gs_error *err)
{
    gs_cluster *cluster = &reader->out->cluster;
    const char *path = "cluster.servers.at";
    uint32_t nodes[GS_FILE_BYTES];
    uint32_t count = 0;
    for (const char *at = reader->servers.at; *at != '\0'; count++) {
        size_t bytes = strcspn(at, ",");
        nodes[count] = node_at(cluster, at, bytes);
        if (nodes[count] == UINT32_MAX) {
            return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                    "\"%.*s\" is no node of the cluster; write node:NAME/INDEX, "
                                    "such as node:%s/0, or several with commas between",
                                    (int)bytes, at, cluster->groups[0].name);
        }
        at += bytes + (at[bytes] == ',' ? 1 : 0);
    }
    const gs_fabric *fabric = &cluster->topology;
    if (!gs_cluster_has_nodes(cluster) || fabric->inside != GS_INSIDE_SWITCH ||
        fabric->node_file[0] != '\0') {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "\"%s\" wants nodes whose inside is a switch, which servers have a "
                                "port of too; say topology.inside \"switch\" and a kind with nodes",
                                reader->servers.at);
    }
    uint32_t *server_nodes = GS_TAKE(reader->arena, uint32_t, (size_t)reader->servers.count);
    if (server_nodes == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    for (int64_t i = 0; i < reader->servers.count; i++) {
        server_nodes[i] = nodes[i % count];
    }
    cluster->server_nodes = server_nodes;
    return GS_OK;
}

static gs_status read_servers(gs_scenario_reader *reader, gs_error *err)
{
    gs_scenario *out = reader->out;
    out->cluster.servers = reader->servers.count;
    out->cluster.server_usd_per_hour = reader->servers.usd_per_hour;
    out->cluster.server_watts = reader->servers.watts;
    if (reader->servers.at[0] != '\0') {
        GS_TRY(place_servers(reader, err));
    }
    if (reader->servers.count > GS_ENTITIES_MAX - (int64_t)out->ranks) {
        return gs_scenario_fail(reader, GS_EINVAL, "cluster.servers.count", err,
                                "%lld servers and %u ranks are over %d entities; lower one",
                                (long long)reader->servers.count, out->ranks, GS_ENTITIES_MAX);
    }
    return GS_OK;
}

/* A window of a few bytes would be an event a byte. */
static gs_status check_buffers(const gs_scenario_reader *reader, const char *section,
                               const gs_link *link, gs_error *err)
{
    char path[GS_JSON_PATH_BYTES];
    if (link->window_bytes != 0 && link->window_bytes < WINDOW_MIN_BYTES) {
        snprintf(path, sizeof path, "%s.window", section);
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "%lldB is below the least that a socket has; write 4KiB or more, "
                                "or 0B for any",
                                (long long)link->window_bytes);
    }
    if (link->queue_bytes != 0 && link->queue_bytes < WINDOW_MIN_BYTES) {
        snprintf(path, sizeof path, "%s.queue", section);
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "%lldB is below the least that a card takes; write 4KiB or more, "
                                "or 0B for cards that serve sockets in turn",
                                (long long)link->queue_bytes);
    }
    return GS_OK;
}

/* What waits for its receiver would hold up all that is behind it in the socket. */
static gs_status check_eager(const gs_scenario_reader *reader, const char *section,
                             const gs_link *link, gs_error *err)
{
    char path[GS_JSON_PATH_BYTES];
    if (link->eager_bytes == 0 || link->sockets == GS_SOCKETS_CHANNEL) {
        return GS_OK;
    }
    snprintf(path, sizeof path, "%s.eager", section);
    return gs_scenario_fail(reader, GS_EINVAL, path, err,
                            "%lldB with sockets \"process\": rendezvous is modelled for each "
                            "channel on its own; say sockets \"channel\", or 0B",
                            (long long)link->eager_bytes);
}

/* With a window the two ends of a socket take the first links and the last one: nics. */
static gs_status check_staging(const gs_scenario_reader *reader, gs_error *err)
{
    const gs_cluster *cluster = &reader->out->cluster;
    for (uint32_t i = 0; i < cluster->group_count; i++) {
        if (cluster->groups[i].gpudirect == GS_GPUDIRECT_OFF && cluster->nic.window_bytes > 0) {
            char path[GS_JSON_PATH_BYTES];
            snprintf(path, sizeof path, "cluster.nodes[%u].gpudirect", i);
            return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                    "\"off\" with cluster.links.nic.window %lldB: copies are "
                                    "modelled without windows; say window 0B, or gpudirect \"on\"",
                                    (long long)cluster->nic.window_bytes);
        }
    }
    return GS_OK;
}

gs_status gs_scenario_read_cluster(gs_scenario_reader *reader, gs_error *err)
{
    gs_cluster *cluster = &reader->out->cluster;
    GS_TRY(gs_scenario_read_object(reader, "cluster.topology", &gs_scenario_topology_table,
                                   &cluster->topology, err));
    GS_TRY(gs_scenario_read_object(reader, "cluster.links.nic", &gs_scenario_nic_table,
                                   &cluster->nic, err));
    GS_TRY(gs_scenario_read_object(reader, "cluster.links.intra", &gs_scenario_intra_table,
                                   &cluster->intra, err));
    GS_TRY(check_buffers(reader, "cluster.links.nic", &cluster->nic, err));
    GS_TRY(check_buffers(reader, "cluster.links.intra", &cluster->intra, err));
    GS_TRY(check_eager(reader, "cluster.links.nic", &cluster->nic, err));
    GS_TRY(check_eager(reader, "cluster.links.intra", &cluster->intra, err));
    GS_TRY(read_nodes(reader, err));
    GS_TRY(check_staging(reader, err));
    GS_TRY(gs_scenario_read_codec_costs(reader, err));
    GS_TRY(read_servers(reader, err));
    GS_TRY(gs_scenario_read_placement(reader, err));
    GS_TRY(gs_scenario_read_tenants(reader, err));
    return gs_scenario_read_topology(reader, err);
}

/* --- curves --------------------------------------------------------------------------------- */

/* A curve inside one host says nothing about a network, nor the other way round. `nodes`: that the
 * link's ranks are on, here. */
static gs_status check_hosts(gs_scenario_reader *reader, const char *path, const gs_link *link,
                             uint32_t nodes, gs_error *err)
{
    uint32_t hosts = (uint32_t)link->curve->hosts;
    if (hosts == 0 || hosts == nodes) {
        return GS_OK;
    }
    if ((hosts == 1) == (nodes == 1)) {
        gs_scenario_note(reader, "%s: measured on %u hosts, here are %u nodes", path, hosts, nodes);
        return GS_OK;
    }
    return gs_scenario_fail(reader, GS_EINVAL, path, err,
                            "\"%s\" was measured on %d ranks of %u host%s, here they are on %u "
                            "node%s; %s",
                            link->curve_file, link->curve->ranks, hosts, hosts == 1 ? "" : "s",
                            nodes, nodes == 1 ? "" : "s",
                            nodes == 1 ? "give a curve of one host, or say as many nodes"
                                       : "measure it over the nodes, or remove it");
}

/* Takes the all-reduce curve of `ranks` on `nodes` out of the link's file. */
static gs_status read_curve(gs_scenario_reader *reader, const char *path, gs_link *link,
                            uint32_t ranks, uint32_t nodes, gs_error *err)
{
    if (link->curve_file[0] == '\0') {
        return GS_OK;
    }
    gs_error inner = {0};
    gs_imported imported = {0};
    const char *files[] = {link->curve_file};
    gs_status status = gs_import(files, 1, NULL, reader->arena, &imported, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, path, err, "%s", inner.text);
    }
    const gs_curve *other = NULL;
    for (uint32_t i = 0; i < imported.curve_count; i++) {
        const gs_curve *curve = &imported.curves[i];
        if (strcmp(curve->collective, "all_reduce") == 0) {
            if (curve->ranks == 0 || (uint32_t)curve->ranks == ranks) {
                link->curve = curve;
                return check_hosts(reader, path, link, nodes, err);
            }
            other = curve;
        }
    }
    if (other != NULL) {
        return gs_scenario_fail(reader, GS_EINVAL, path, err,
                                "\"%s\" was measured on %d ranks, here are %u; measure it on as "
                                "many, or remove it",
                                link->curve_file, other->ranks, ranks);
    }
    return gs_scenario_fail(reader, GS_EINVAL, path, err,
                            "\"%s\" (%s) holds no all_reduce curve; give the output of "
                            "all_reduce_perf",
                            link->curve_file, imported.format);
}

gs_status gs_scenario_read_curves(gs_scenario_reader *reader, gs_error *err)
{
    gs_scenario *out = reader->out;
    GS_TRY(read_curve(reader, "cluster.links.nic.curve", &out->cluster.nic, out->ranks, out->nodes,
                      err));
    return read_curve(reader, "cluster.links.intra.curve", &out->cluster.intra,
                      (uint32_t)out->cluster.groups[0].ranks, 1, err);
}

/* --- writing -------------------------------------------------------------------------------- */

bool gs_scenario_write_cluster(const gs_scenario_reader *reader, gs_json *root)
{
    const gs_cluster *cluster = &reader->out->cluster;
    gs_json *links = gs_json_new_object();
    bool ok = gs_scenario_put_object(links, "nic", &gs_scenario_nic_table, &cluster->nic);
    ok = gs_scenario_put_object(links, "intra", &gs_scenario_intra_table, &cluster->intra) && ok;
    gs_json *part = gs_json_new_object();
    ok = gs_scenario_write_topology(reader, part) && ok;
    ok = gs_scenario_put_list(part, "nodes", &gs_scenario_node_table, cluster->groups,
                              cluster->group_count) &&
         ok;
    ok = gs_json_set(part, "links", links) && ok;
    ok = gs_scenario_write_placement(reader, part) && ok;
    ok =
        gs_scenario_put_object(part, "servers", &gs_scenario_servers_table, &reader->servers) && ok;
    ok = gs_scenario_put_list(part, "codecs", &gs_scenario_codec_cost_table, cluster->codecs,
                              cluster->codec_count) &&
         ok;
    ok = gs_scenario_write_collectives(reader, part) && ok;
    ok = gs_scenario_write_tenants(reader, part) && ok;
    ok = gs_scenario_write_tuning(reader, part) && ok;
    return gs_json_set(root, "cluster", part) && ok;
}
