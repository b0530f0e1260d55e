/* Any bytes as a CSV of steps: refused with a text, or a table that can be judged. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "tests/fuzz/fuzz_file.h"
#include "traces/importers/importer.h"
#include "traces/slow_rank.h"

static void judge(const gs_step_table *table, gs_arena *arena)
{
    gs_slow_report report;
    GS_ASSERT(table->rank_count > 0 && table->step_count > 0);
    /* What the judgement costs grows with the cells; the reader is what is tested here. */
    if ((size_t)table->rank_count * table->step_count > 4096) {
        return;
    }
    GS_ASSERT(gs_slow_judge(table, arena, &report, NULL) == GS_OK);
    GS_ASSERT(report.named_count <= report.rank_count);
    for (uint32_t i = 0; i < report.named_count; i++) {
        const gs_slow_rank *rank = &report.ranks[report.named[i]];
        GS_ASSERT(rank->delay_p50 > 0 && rank->delay_p95 >= rank->delay_p50);
        GS_ASSERT(rank->late_ratio > 0.0 && rank->late_ratio <= 1.0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *file = fuzz_file(data, size);
    gs_import_options options = {.format = "step_csv", .time_unit = "ms"};
    gs_arena arena;
    gs_imported imported;
    gs_error err = {.code = GS_OK};
    gs_arena_init(&arena);
    gs_status status = gs_import(&file, 1, &options, &arena, &imported, &err);
    if (status == GS_OK) {
        GS_ASSERT(imported.step_table != NULL);
        judge(imported.step_table, &arena);
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
