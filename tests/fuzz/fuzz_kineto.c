/* Any bytes as a Kineto trace: refused with a text, or a profile that keeps what profile.h
 * promises. */
#include "tests/fuzz/fuzz.h"

#include "base/assert.h"
#include "tests/fuzz/fuzz_file.h"
#include "traces/importers/importer.h"

static void check_step(const gs_profile *profile, const gs_profile_step *step)
{
    gs_time_ns own_ns = 0;
    uint32_t gradients = 0;
    for (uint32_t i = 0; i < step->segment_count; i++) {
        const gs_segment *segment = &step->segments[i];
        GS_ASSERT(segment->duration_ns >= 0);
        own_ns += segment->duration_ns;
        if (segment->kind == GS_SEGMENT_GRADIENT) {
            GS_ASSERT(segment->index < profile->unit_count);
            gradients++;
        } else if (segment->kind == GS_SEGMENT_BLOCKING) {
            GS_ASSERT(segment->index < profile->blocking_count);
        }
    }
    GS_ASSERT(gradients == profile->unit_count);
    GS_ASSERT(own_ns == step->measured_compute_ns + step->measured_input_ns);
    GS_ASSERT(own_ns + step->measured_wait_ns + step->measured_wire_ns == step->measured_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *file = fuzz_file(data, size);
    gs_import_options options = {.format = "kineto"};
    gs_arena arena;
    gs_imported imported;
    gs_error err = {.code = GS_OK};
    gs_arena_init(&arena);
    gs_status status = gs_import(&file, 1, &options, &arena, &imported, &err);
    if (status == GS_OK) {
        const gs_profile *profile = imported.profile;
        GS_ASSERT(profile->rank_count == 1 && profile->ranks[0].step_count > 0);
        for (uint32_t s = 0; s < profile->ranks[0].step_count; s++) {
            check_step(profile, &profile->ranks[0].steps[s]);
        }
    } else {
        GS_ASSERT(status == err.code);
        GS_ASSERT(err.text[0] != '\0');
    }
    gs_arena_fini(&arena);
    return 0;
}
