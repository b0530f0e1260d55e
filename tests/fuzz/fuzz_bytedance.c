/* Any bytes as a trace of operations: refused with a text, or rows that can be replayed or are
 * refused as a job, with steps that are never longer than all of their ops in a row. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "sim/op_what_if.h"
#include "tests/fuzz/fuzz_file.h"
#include "traces/importers/importer.h"

static void check_replay(const gs_op_trace *ops, gs_arena *arena)
{
    gs_op_replay replay;
    gs_op_what_if answer;
    gs_error err = {.code = GS_OK};
    gs_status status = gs_op_replay_make(ops, arena, &replay, &err);
    if (status != GS_OK) {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
        return;
    }
    GS_ASSERT(replay.graph.step_count > 0);
    GS_ASSERT(gs_op_what_if_make(&replay, arena, &answer, &err) == GS_OK);
    for (uint32_t s = 0; s < replay.graph.step_count; s++) {
        uint32_t first = replay.graph.group_first[replay.graph.step_first[s]];
        uint32_t end = replay.graph.group_first[replay.graph.step_first[s + 1]];
        gs_time_ns sum = 0;
        gs_time_ns longest = 0;
        for (uint32_t i = first; i < end; i++) {
            sum += replay.own_ns[i];
            longest = replay.own_ns[i] > longest ? replay.own_ns[i] : longest;
        }
        GS_ASSERT(longest <= answer.step_replayed_ns[s]);
        GS_ASSERT(answer.step_replayed_ns[s] <= sum);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *file = fuzz_file(data, size);
    gs_import_options options = {.format = "bytedance"};
    gs_arena arena;
    gs_imported imported;
    gs_error err = {.code = GS_OK};
    gs_arena_init(&arena);
    gs_status status = gs_import(&file, 1, &options, &arena, &imported, &err);
    if (status == GS_OK) {
        const gs_op_trace *ops = imported.ops;
        GS_ASSERT(ops != NULL && ops->op_count > 0);
        for (uint32_t i = 0; i < ops->op_count; i++) {
            GS_ASSERT(ops->type[i] < ops->type_count);
            GS_ASSERT(ops->duration_ns[i] >= 0);
            GS_ASSERT(ops->dp_rank[i] >= 0 && ops->stage[i] >= 0 && ops->step[i] >= 0);
        }
        check_replay(ops, &arena);
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
