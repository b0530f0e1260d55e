#include "traces/node_json.h"

#include <stdio.h>
#include <string.h>

#include "base/config.h"

typedef struct part_config {
    char name[GS_NODE_NAME_BYTES];
    int kind;
    int64_t bandwidth_bps;
} part_config;

typedef struct link_config {
    char from[GS_NODE_NAME_BYTES];
    char to[GS_NODE_NAME_BYTES];
    int kind;
    int64_t count;
    int64_t bandwidth_bps;
} link_config;

static const gs_field part_fields[] = {
    {"name", GS_FIELD_TEXT, GS_FIELD_AT(part_config, name), NULL, 0, 0, NULL,
     "what links call it; GPUs and nics are numbered in the order of the file"},
    {"kind", GS_FIELD_CHOICE, GS_FIELD_AT(part_config, kind), NULL, 0, 0, gs_node_part_names,
     "what it is; bridge: a PCIe switch"},
    {"bandwidth", GS_FIELD_RATE, GS_FIELD_AT(part_config, bandwidth_bps), "0bit/s", 0, 1e15, NULL,
     "of a nic on the network, for people: links.nic says what it gets; 0: not known"},
};

static const gs_field link_fields[] = {
    {"from", GS_FIELD_TEXT, GS_FIELD_AT(link_config, from), NULL, 0, 0, NULL, "a part"},
    {"to", GS_FIELD_TEXT, GS_FIELD_AT(link_config, to), NULL, 0, 0, NULL, "another"},
    {"kind", GS_FIELD_CHOICE, GS_FIELD_AT(link_config, kind), NULL, 0, 0, gs_node_edge_names,
     "over which kind of link"},
    {"count", GS_FIELD_INT, GS_FIELD_AT(link_config, count), "1", 1, 1000, NULL,
     "links that are used as one"},
    {"bandwidth", GS_FIELD_RATE, GS_FIELD_AT(link_config, bandwidth_bps), "0bit/s", 0, 1e15, NULL,
     "of all of them, in each direction; 0: as the scenario or the device says"},
};

static const gs_field_table part_table = {
    .name = "parts[]",
    .struct_bytes = sizeof(part_config),
    .fields = part_fields,
    .field_count = sizeof part_fields / sizeof *part_fields,
};

static const gs_field_table link_table = {
    .name = "links[]",
    .struct_bytes = sizeof(link_config),
    .fields = link_fields,
    .field_count = sizeof link_fields / sizeof *link_fields,
};

/* --- reading ---------------------------------------------------------------------------------- */

static gs_status find_list(const gs_json_at *root, const char *key, uint32_t most, gs_json_at *out,
                           uint32_t *out_count, gs_error *err)
{
    if (!gs_json_find(root, key, out) || gs_json_kind_of(out->value) != GS_JSON_LIST) {
        return gs_fail(err, GS_EPARSE, "%s: %s: is not there, or no list", root->file, key);
    }
    size_t count = gs_json_count(out->value);
    if (count > most) {
        return gs_json_fail(out, GS_ELIMIT, err, "%zu of them; at most %u may be", count, most);
    }
    *out_count = (uint32_t)count;
    return GS_OK;
}

static gs_status read_parts(const gs_json_at *root, gs_arena *arena, gs_node_graph *graph,
                            gs_error *err)
{
    gs_json_at list;
    gs_json_at at;
    GS_TRY(find_list(root, "parts", GS_NODE_PARTS_MAX, &list, &graph->part_count, err));
    graph->parts = GS_TAKE(arena, gs_node_part, graph->part_count);
    if (graph->parts == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", root->file);
    }
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        part_config config;
        gs_config_defaults(&part_table, &config);
        GS_TRY(gs_config_read(&part_table, &config, &at, NULL, err));
        gs_node_part *part = &graph->parts[i];
        *part = (gs_node_part){.kind = (gs_node_part_kind)config.kind,
                               .rate_bps = config.bandwidth_bps};
        snprintf(part->name, sizeof part->name, "%s", config.name);
    }
    return GS_OK;
}

static gs_status find_part(const gs_node_graph *graph, const gs_json_at *link, const char *key,
                           const char *name, uint32_t *out, gs_error *err)
{
    for (uint32_t i = 0; i < graph->part_count; i++) {
        if (strcmp(graph->parts[i].name, name) == 0) {
            *out = i;
            return GS_OK;
        }
    }
    return gs_json_fail(link, GS_EPARSE, err, "%s: \"%s\" is none of the parts", key, name);
}

static gs_status read_links(const gs_json_at *root, gs_arena *arena, gs_node_graph *graph,
                            gs_error *err)
{
    gs_json_at list;
    gs_json_at at;
    GS_TRY(find_list(root, "links", GS_NODE_EDGES_MAX, &list, &graph->edge_count, err));
    graph->edges = GS_TAKE(arena, gs_node_edge, graph->edge_count);
    if (graph->edges == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", root->file);
    }
    for (size_t i = 0; gs_json_walk(&list, i, &at); i++) {
        link_config config;
        gs_config_defaults(&link_table, &config);
        GS_TRY(gs_config_read(&link_table, &config, &at, NULL, err));
        gs_node_edge *edge = &graph->edges[i];
        *edge = (gs_node_edge){.kind = (gs_node_edge_kind)config.kind,
                               .count = (uint32_t)config.count,
                               .rate_bps = config.bandwidth_bps};
        GS_TRY(find_part(graph, &at, "from", config.from, &edge->a, err));
        GS_TRY(find_part(graph, &at, "to", config.to, &edge->b, err));
        if (edge->a == edge->b) {
            return gs_json_fail(&at, GS_EPARSE, err, "joins %s with itself", config.from);
        }
    }
    return GS_OK;
}

gs_status gs_node_json_read(const gs_json_at *root, gs_arena *arena, const gs_node_graph **out,
                            gs_error *err)
{
    gs_json_at schema;
    const char *text = NULL;
    gs_node_graph *graph = GS_TAKE(arena, gs_node_graph, 1);
    char *source = gs_arena_text(arena, root->file);
    if (graph == NULL || source == NULL) {
        return gs_fail(err, GS_ENOMEM, "%s: no memory to read it", root->file);
    }
    graph->source = source;
    if (gs_json_kind_of(root->value) != GS_JSON_OBJECT || !gs_json_find(root, "schema", &schema) ||
        gs_json_text(&schema, &text, NULL) != GS_OK || strcmp(text, GS_NODE_SCHEMA) != 0) {
        return gs_fail(err, GS_EPARSE, "%s: schema: is not \"%s\"", root->file, GS_NODE_SCHEMA);
    }
    GS_TRY(read_parts(root, arena, graph, err));
    GS_TRY(read_links(root, arena, graph, err));
    GS_TRY(gs_node_graph_finish(graph, arena, err));
    *out = graph;
    return GS_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool write_one(const gs_field_table *table, const void *config, gs_json *list)
{
    gs_json *object = gs_json_new_object();
    bool ok = gs_config_write(table, config, object);
    return gs_json_add(list, object) && ok;
}

bool gs_node_json_write(const gs_node_graph *graph, gs_json *into)
{
    gs_json *parts = gs_json_new_list();
    gs_json *links = gs_json_new_list();
    bool ok = gs_json_set(into, "schema", gs_json_new_text(GS_NODE_SCHEMA));
    for (uint32_t i = 0; i < graph->part_count; i++) {
        const gs_node_part *part = &graph->parts[i];
        part_config config = {.kind = (int)part->kind, .bandwidth_bps = part->rate_bps};
        snprintf(config.name, sizeof config.name, "%s", part->name);
        ok = write_one(&part_table, &config, parts) && ok;
    }
    for (uint32_t i = 0; i < graph->edge_count; i++) {
        const gs_node_edge *edge = &graph->edges[i];
        link_config config = {
            .kind = (int)edge->kind, .count = edge->count, .bandwidth_bps = edge->rate_bps};
        snprintf(config.from, sizeof config.from, "%s", graph->parts[edge->a].name);
        snprintf(config.to, sizeof config.to, "%s", graph->parts[edge->b].name);
        ok = write_one(&link_table, &config, links) && ok;
    }
    ok = gs_json_set(into, "parts", parts) && ok;
    return gs_json_set(into, "links", links) && ok;
}
