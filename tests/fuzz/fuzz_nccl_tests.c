/* Any bytes as nccl-tests output: refused with a text, or curves that can be asked for times. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "tests/fuzz/fuzz_file.h"
#include "traces/importers/importer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *file = fuzz_file(data, size);
    gs_import_options options = {.format = "nccl_tests", .collective = "all_reduce"};
    gs_arena arena;
    gs_imported imported;
    gs_error err = {.code = GS_OK};
    gs_arena_init(&arena);
    gs_status status = gs_import(&file, 1, &options, &arena, &imported, &err);
    if (status == GS_OK) {
        GS_ASSERT(imported.curve_count > 0);
        for (uint32_t c = 0; c < imported.curve_count; c++) {
            const gs_curve *curve = &imported.curves[c];
            GS_ASSERT(curve->point_count > 0 && curve->ranks >= 0 && curve->hosts >= 0);
            for (uint32_t i = 0; i < curve->point_count; i++) {
                bool outside = true;
                GS_ASSERT(curve->points[i].time_ns > 0);
                GS_ASSERT(i == 0 || curve->points[i - 1].bytes < curve->points[i].bytes);
                GS_ASSERT(gs_curve_time(curve, curve->points[i].bytes, &outside) ==
                          curve->points[i].time_ns);
                GS_ASSERT(!outside);
            }
            GS_ASSERT(gs_curve_rate_bps(curve) >= 0);
        }
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
