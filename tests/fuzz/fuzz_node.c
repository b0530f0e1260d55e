/* Any bytes as each of the formats of a node's inside: refused with a text, or a node whose paths
 * lead from their start to their end. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "tests/fuzz/fuzz_file.h"
#include "traces/importers/importer.h"

static void check_path(const gs_node_graph *node, uint32_t from, uint32_t to,
                       const gs_node_path *path)
{
    uint32_t at = from;
    GS_ASSERT(path->count <= GS_NODE_PATH_MAX);
    for (uint32_t i = 0; i < path->count; i++) {
        GS_ASSERT(path->hops[i] / 2 < node->edge_count);
        const gs_node_edge *edge = &node->edges[path->hops[i] / 2];
        bool back = path->hops[i] % 2 == 1;
        GS_ASSERT((back ? edge->b : edge->a) == at);
        at = back ? edge->a : edge->b;
    }
    GS_ASSERT(at == to);
}

static void check_node(const gs_node_graph *node)
{
    GS_ASSERT(node != NULL && node->gpu_count > 0 && node->gpu_count <= GS_NODE_GPUS_MAX);
    for (uint32_t i = 0; i < node->edge_count; i++) {
        GS_ASSERT(node->edges[i].rate_bps >= 0 && node->edges[i].count > 0);
    }
    for (uint32_t gpu = 0; gpu < node->gpu_count; gpu++) {
        for (uint32_t other = 0; other < node->gpu_count; other++) {
            check_path(node, node->gpus[gpu], node->gpus[other],
                       &node->between[gpu * node->gpu_count + other]);
        }
        for (uint32_t nic = 0; nic < node->nic_count; nic++) {
            check_path(node, node->gpus[gpu], node->nics[nic],
                       &node->to_nic[gpu * node->nic_count + nic]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const formats[] = {"nccl_topo", "smi_topo", "gradsync_node"};
    const char *file = fuzz_file(data, size);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        gs_import_options options = {.format = formats[i]};
        gs_arena arena;
        gs_imported imported;
        gs_error err = {.code = GS_OK};
        gs_arena_init(&arena);
        gs_status status = gs_import(&file, 1, &options, &arena, &imported, &err);
        if (status == GS_OK) {
            check_node(imported.node);
        } else {
            GS_ASSERT(status == err.code);
            GS_ASSERT(err.text[0] != '\0');
        }
        gs_arena_fini(&arena);
    }
    return 0;
}
