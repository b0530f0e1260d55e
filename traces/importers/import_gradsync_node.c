/* Importer of a node's inside ("gradsync.node/1"): parts and links as people write them. */
#include "traces/importers/importer.h"

#include <stdlib.h>
#include <string.h>

#include "traces/node_json.h"
#include "traces/whole_file.h"

static int probe(const char *head, size_t head_bytes, const char *file)
{
    (void)file;
    (void)head_bytes; /* head is terminated */
    return strstr(head, "\"" GS_NODE_SCHEMA "\"") != NULL ? 100 : 0;
}

static gs_status read_node(const char *const *files, size_t file_count,
                           const gs_import_options *options, gs_arena *arena, gs_imported *out,
                           gs_error *err)
{
    (void)options;
    char *text = NULL;
    size_t bytes = 0;
    gs_json_at root;
    const gs_node_graph *node = NULL;
    if (file_count != 1) {
        return gs_fail(err, GS_EINVAL, "%s: it is one node's; name one file, not %zu", files[0],
                       file_count);
    }
    GS_TRY(gs_whole_file_read(files[0], GS_JSON_BYTES_MAX, &text, &bytes, err));
    gs_status status = gs_json_parse(text, bytes, files[0], &root, err);
    free(text);
    GS_TRY(status);
    status = gs_node_json_read(&root, arena, &node, err);
    gs_json_free(root.value);
    if (status == GS_OK) {
        *out = (gs_imported){.format = "gradsync_node", .node = node};
    }
    return status;
}

const gs_importer gs_importer_gradsync_node = {
    .name = "gradsync_node",
    .summary = "what is inside a node: GPUs, nics, bridges, sockets and links",
    .source = "gradsync's own, docs/formats.md",
    .probe = probe,
    .read = read_node,
};
