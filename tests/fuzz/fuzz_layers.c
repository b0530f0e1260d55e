/* Any bytes as a layer table: refused with a text, or a profile in which each unit becomes ready
 * once. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "tests/fuzz/fuzz_file.h"
#include "traces/importers/importer.h"

static void check(const gs_profile *profile)
{
    GS_ASSERT(profile->unit_count > 0 && profile->rank_count > 0);
    for (uint32_t rank = 0; rank < profile->rank_count; rank++) {
        for (uint32_t s = 0; s < profile->ranks[rank].step_count; s++) {
            const gs_profile_step *step = &profile->ranks[rank].steps[s];
            uint32_t ready = 0;
            for (uint32_t i = 0; i < step->segment_count; i++) {
                GS_ASSERT(step->segments[i].duration_ns >= 0);
                ready += step->segments[i].kind == GS_SEGMENT_GRADIENT ? 1 : 0;
            }
            GS_ASSERT(ready == profile->unit_count);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gs_arena arena;
    gs_imported imported;
    gs_error err = {.code = GS_OK};
    const char *file = fuzz_file(data, size);
    gs_import_options options = {.format = "gradsync_layers"};
    gs_arena_init(&arena);
    gs_status status = gs_import(&file, 1, &options, &arena, &imported, &err);
    if (status == GS_OK) {
        check(imported.profile);
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
