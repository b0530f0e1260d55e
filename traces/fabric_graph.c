#include "traces/fabric_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/config.h"

enum { NAME_BYTES = 64, NO_LINK = UINT16_MAX };

static const char schema[] = "gradsync.graph/1";

typedef struct link_config {
    char from[NAME_BYTES];
    char to[NAME_BYTES];
    int64_t bandwidth_bps;
    gs_time_ns latency_ns;
    bool both;
} link_config;

static const gs_field link_fields[] = {
    {"from", GS_FIELD_TEXT, GS_FIELD_AT(link_config, from), NULL, 0, 0, NULL,
     "a host or switch of this file"},
    {"to", GS_FIELD_TEXT, GS_FIELD_AT(link_config, to), NULL, 0, 0, NULL,
     "a host or switch of this file"},
    {"bandwidth", GS_FIELD_RATE, GS_FIELD_AT(link_config, bandwidth_bps), NULL, 1e3, 1e15, NULL,
     "rate in one direction"},
    {"latency", GS_FIELD_DURATION, GS_FIELD_AT(link_config, latency_ns), "0s", 0, 1e10, NULL,
     "on top of that of links.nic"},
    {"both", GS_FIELD_BOOL, GS_FIELD_AT(link_config, both), "true", 0, 0, NULL,
     "the same link the other way too"},
};

static const gs_field_table link_table = {
    .name = "links[]",
    .struct_bytes = sizeof(link_config),
    .fields = link_fields,
    .field_count = sizeof link_fields / sizeof *link_fields,
};

typedef struct named {
    const char *name;
    uint32_t vertex;
} named;

typedef struct reader {
    const char *file;
    gs_arena *arena;
    const char **names; /* [vertices] */
    named *by_name;     /* the same, in the order of the names */
    gs_fabric_graph *graph;
    gs_graph_link *links;
} reader;

static gs_status no_memory(const reader *in, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "%s: no memory for the graph", in->file);
}

/* --- names ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

static gs_status read_names(reader *in, const gs_json_at *root, const char *key, uint32_t limit,
                            gs_error *err)
{
    gs_json_at list;
    gs_json_at at;
    if (!gs_json_find(root, key, &list)) {
        return GS_OK;
    }
    if (gs_json_kind_of(list.value) != GS_JSON_LIST) {
        return gs_json_fail(&list, GS_EPARSE, err, "takes a list of names");
    }
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        const char *text = NULL;
        GS_TRY(gs_json_text(&at, &text, err));
        if (text[0] == '\0' || strlen(text) >= NAME_BYTES) {
            return gs_json_fail(&at, GS_EPARSE, err, "\"%s\" is no name of 1 to %d bytes", text,
                                NAME_BYTES - 1);
        }
        if (in->graph->vertices == limit) {
            return gs_json_fail(&list, GS_ELIMIT, err,
                                "the graph has over %u %s, the most there may be", limit, key);
        }
        in->names[in->graph->vertices] = gs_arena_text(in->arena, text);
        if (in->names[in->graph->vertices] == NULL) {
            return no_memory(in, err);
        }
        in->graph->vertices++;
    }
    return GS_OK;
}

static gs_status sort_names(reader *in, gs_error *err)
{
    for (uint32_t i = 0; i < in->graph->vertices; i++) {
        in->by_name[i] = (named){in->names[i], i};
    }
    qsort(in->by_name, in->graph->vertices, sizeof *in->by_name, by_name);
    for (uint32_t i = 1; i < in->graph->vertices; i++) {
        const char *name = in->by_name[i].name;
        if (strcmp(name, in->by_name[i - 1].name) == 0) {
            return gs_fail(err, GS_EPARSE,
                           "%s: \"%s\" is there twice among hosts and switches; give each its own "
                           "name",
                           in->file, name);
        }
    }
    return GS_OK;
}

static gs_status find_vertex(const reader *in, const gs_json_at *link, const char *key,
                             const char *name, uint32_t *out, gs_error *err)
{
    uint32_t low = 0;
    uint32_t high = in->graph->vertices;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(in->by_name[middle].name, name);
        if (order == 0) {
            *out = in->by_name[middle].vertex;
            return GS_OK;
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return gs_json_fail(link, GS_EPARSE, err, "%s: \"%s\" is no host or switch of this file", key,
                        name);
}

/* --- links ------------------------------------------------------------------------------------ */

static gs_status add_link(reader *in, const gs_json_at *at, gs_graph_link link, gs_error *err)
{
    if (in->graph->link_count == GS_GRAPH_LINKS_MAX) {
        return gs_json_fail(at, GS_ELIMIT, err, "the graph has over %d links of one direction",
                            GS_GRAPH_LINKS_MAX);
    }
    in->links[in->graph->link_count++] = link;
    return GS_OK;
}

static gs_status read_links(reader *in, const gs_json_at *root, gs_error *err)
{
    gs_json_at list;
    gs_json_at at;
    if (!gs_json_find(root, "links", &list) || gs_json_kind_of(list.value) != GS_JSON_LIST) {
        return gs_fail(err, GS_EPARSE, "%s: links: the graph has no list of links", in->file);
    }
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        link_config config;
        gs_config_defaults(&link_table, &config);
        GS_TRY(gs_config_read(&link_table, &config, &at, NULL, err));
        gs_graph_link link = {.bandwidth_bps = config.bandwidth_bps,
                              .latency_ns = config.latency_ns};
        GS_TRY(find_vertex(in, &at, "from", config.from, &link.from, err));
        GS_TRY(find_vertex(in, &at, "to", config.to, &link.to, err));
        if (link.from == link.to) {
            return gs_json_fail(&at, GS_EPARSE, err, "joins %s with itself", config.from);
        }
        GS_TRY(add_link(in, &at, link, err));
        if (config.both) {
            gs_graph_link back = link;
            back.from = link.to;
            back.to = link.from;
            GS_TRY(add_link(in, &at, back, err));
        }
    }
    return GS_OK;
}

/* Links by the vertex they end at: first[v] to first[v + 1] in `order`, in file order. */
static bool index_links(const reader *in, uint32_t *first, uint32_t *order)
{
    const gs_fabric_graph *graph = in->graph;
    uint32_t *next = GS_TAKE(in->arena, uint32_t, graph->vertices);
    if (next == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < graph->link_count; i++) {
        first[in->links[i].to + 1]++;
    }
    for (uint32_t v = 0; v < graph->vertices; v++) {
        first[v + 1] += first[v];
        next[v] = first[v];
    }
    for (uint32_t i = 0; i < graph->link_count; i++) {
        order[next[in->links[i].to]++] = i;
    }
    return true;
}

/* Two links of one pair would be one path and one idle link. */
static gs_status refuse_doubles(const reader *in, const uint32_t *first, const uint32_t *order,
                                gs_error *err)
{
    uint32_t *seen = GS_TAKE(in->arena, uint32_t, in->graph->vertices);
    if (seen == NULL) {
        return no_memory(in, err);
    }
    for (uint32_t to = 0; to < in->graph->vertices; to++) {
        for (uint32_t i = first[to]; i < first[to + 1]; i++) {
            uint32_t from = in->links[order[i]].from;
            if (seen[from] == to + 1) {
                return gs_fail(err, GS_EPARSE,
                               "%s: links: two lead from \"%s\" to \"%s\"; write one with the sum "
                               "of their rates",
                               in->file, in->names[from], in->names[to]);
            }
            seen[from] = to + 1;
        }
    }
    return GS_OK;
}

/* --- paths ------------------------------------------------------------------------------------ */

typedef struct spread {
    const uint32_t *first;
    const uint32_t *order;
    uint32_t *distance; /* [vertices] to the host; UINT32_MAX: none */
    uint32_t *queue;
} spread;

/* Fills next[] for one host: breadth first against the links. */
static gs_status spread_from(reader *in, const spread *of, uint32_t host, uint16_t *next,
                             gs_error *err)
{
    const gs_fabric_graph *graph = in->graph;
    uint32_t head = 0;
    uint32_t tail = 0;
    for (uint32_t v = 0; v < graph->vertices; v++) {
        of->distance[v] = UINT32_MAX;
        next[v] = NO_LINK;
    }
    of->distance[host] = 0;
    of->queue[tail++] = host;
    while (head < tail) {
        uint32_t to = of->queue[head++];
        for (uint32_t i = of->first[to]; i < of->first[to + 1]; i++) {
            uint32_t link = of->order[i];
            uint32_t from = in->links[link].from;
            if (of->distance[from] == UINT32_MAX) {
                of->distance[from] = of->distance[to] + 1;
                of->queue[tail++] = from;
            }
            if (of->distance[from] == of->distance[to] + 1 && link < next[from]) {
                next[from] = (uint16_t)link;
            }
        }
    }
    for (uint32_t v = 0; v < graph->hosts; v++) {
        if (of->distance[v] == UINT32_MAX) {
            return gs_fail(err, GS_EPARSE, "%s: links: no way leads from \"%s\" to \"%s\"",
                           in->file, in->names[v], in->names[host]);
        }
        in->graph->links_max =
            of->distance[v] > in->graph->links_max ? of->distance[v] : in->graph->links_max;
    }
    return GS_OK;
}

static gs_status find_paths(reader *in, gs_error *err)
{
    gs_fabric_graph *graph = in->graph;
    uint32_t *first = GS_TAKE(in->arena, uint32_t, graph->vertices + 1);
    uint32_t *order = GS_TAKE(in->arena, uint32_t, graph->link_count);
    spread of = {.first = first,
                 .order = order,
                 .distance = GS_TAKE(in->arena, uint32_t, graph->vertices),
                 .queue = GS_TAKE(in->arena, uint32_t, graph->vertices)};
    uint16_t *next = GS_TAKE(in->arena, uint16_t, (size_t)graph->hosts * graph->vertices);
    if (first == NULL || order == NULL || of.distance == NULL || of.queue == NULL || next == NULL ||
        !index_links(in, first, order)) {
        return no_memory(in, err);
    }
    GS_TRY(refuse_doubles(in, first, order, err));
    for (uint32_t host = 0; host < graph->hosts; host++) {
        GS_TRY(spread_from(in, &of, host, next + (size_t)host * graph->vertices, err));
    }
    graph->next = next;
    return GS_OK;
}

static gs_status check_root(const gs_json_at *root, gs_error *err)
{
    static const char *const keys[] = {"schema", "hosts", "switches", "links", "$comment", NULL};
    gs_json_at at;
    const char *text = NULL;
    if (gs_json_kind_of(root->value) != GS_JSON_OBJECT) {
        return gs_json_fail(root, GS_EPARSE, err, "is no graph ({...})");
    }
    if (!gs_json_find(root, "schema", &at) || gs_json_kind_of(at.value) != GS_JSON_TEXT ||
        gs_json_text(&at, &text, err) != GS_OK || strcmp(text, schema) != 0) {
        return gs_fail(err, GS_EPARSE, "%s: schema: is not \"%s\"", root->file, schema);
    }
    size_t count = gs_json_count(root->value);
    for (size_t i = 0; i < count; i++) {
        const char *key = NULL;
        at = gs_json_member(root, i, &key);
        size_t k = 0;
        while (keys[k] != NULL && strcmp(keys[k], key) != 0) {
            k++;
        }
        if (keys[k] == NULL) {
            return gs_json_fail(&at, GS_EPARSE, err,
                                "no such key; known are schema, hosts, switches and links");
        }
    }
    return GS_OK;
}

static gs_status read_graph(reader *in, const gs_json_at *root, gs_error *err)
{
    gs_fabric_graph *graph = in->graph;
    GS_TRY(check_root(root, err));
    GS_TRY(read_names(in, root, "hosts", GS_GRAPH_HOSTS_MAX, err));
    graph->hosts = graph->vertices;
    if (graph->hosts == 0) {
        return gs_fail(err, GS_EPARSE, "%s: hosts: the graph has none", in->file);
    }
    GS_TRY(read_names(in, root, "switches", GS_GRAPH_VERTICES_MAX, err));
    GS_TRY(sort_names(in, err));
    GS_TRY(read_links(in, root, err));
    return find_paths(in, err);
}

gs_status gs_fabric_graph_read(const char *file, gs_arena *arena, const gs_fabric_graph **out,
                               gs_error *err)
{
    reader in = {.file = file,
                 .arena = arena,
                 .names = GS_TAKE(arena, const char *, GS_GRAPH_VERTICES_MAX),
                 .by_name = GS_TAKE(arena, named, GS_GRAPH_VERTICES_MAX),
                 .graph = GS_TAKE(arena, gs_fabric_graph, 1),
                 .links = GS_TAKE(arena, gs_graph_link, GS_GRAPH_LINKS_MAX)};
    if (in.names == NULL || in.by_name == NULL || in.graph == NULL || in.links == NULL) {
        return no_memory(&in, err);
    }
    gs_json_at root;
    GS_TRY(gs_json_read(file, &root, err));
    *in.graph = (gs_fabric_graph){.file = gs_arena_text(arena, file), .links = in.links};
    gs_status status = in.graph->file == NULL ? no_memory(&in, err) : read_graph(&in, &root, err);
    gs_json_free(root.value);
    if (status == GS_OK) {
        *out = in.graph;
    }
    return status;
}
