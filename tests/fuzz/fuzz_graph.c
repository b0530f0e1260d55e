/* Any bytes as a graph of hosts and switches: refused with a text, or every two hosts are joined.
 */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "tests/fuzz/fuzz_file.h"
#include "traces/fabric_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *file = fuzz_file(data, size);
    const gs_fabric_graph *graph = NULL;
    gs_arena arena;
    gs_error err = {.code = GS_OK};
    gs_arena_init(&arena);
    gs_status status = gs_fabric_graph_read(file, &arena, &graph, &err);
    if (status != GS_OK) {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
        gs_arena_fini(&arena);
        return 0;
    }
    GS_ASSERT(graph->hosts > 0 && graph->hosts <= graph->vertices);
    for (uint32_t from = 0; from < graph->hosts; from++) {
        for (uint32_t to = 0; to < graph->hosts; to++) {
            uint32_t links = 0;
            for (uint32_t at = from; at != to; links++) {
                uint32_t link = graph->next[(size_t)to * graph->vertices + at];
                GS_ASSERT(link < graph->link_count && graph->links[link].from == at);
                GS_ASSERT(graph->links[link].bandwidth_bps > 0);
                at = graph->links[link].to;
            }
            GS_ASSERT(links <= graph->links_max);
        }
    }
    gs_arena_fini(&arena);
    return 0;
}
