#include "traces/step_table.h"

#include "base/assert.h"

const char *gs_step_part_name(gs_step_part part)
{
    static const char *const NAMES[GS_STEP_PARTS] = {"time", "compute", "input", "wait", "wire"};
    GS_ASSERT(part < GS_STEP_PARTS);
    return NAMES[part];
}

gs_status gs_step_table_make(const int32_t *ranks, uint32_t rank_count, const int64_t *steps,
                             uint32_t step_count, unsigned recorded, gs_arena *arena,
                             gs_step_table *out, gs_error *err)
{
    gs_step_table made = {
        .ranks = ranks, .rank_count = rank_count, .steps = steps, .step_count = step_count};
    GS_ASSERT(rank_count > 0);
    GS_ASSERT(step_count > 0);
    size_t cells = (size_t)rank_count * step_count;
    for (int p = 0; p < GS_STEP_PARTS; p++) {
        if (p != GS_STEP_TIME && (recorded & 1u << p) == 0) {
            continue;
        }
        made.parts[p] = GS_TAKE(arena, int64_t, cells);
        if (made.parts[p] == NULL) {
            return gs_fail(err, GS_ENOMEM, "no memory for %u steps of %u ranks", step_count,
                           rank_count);
        }
        for (size_t i = 0; i < cells; i++) {
            made.parts[p][i] = GS_STEP_MISSING;
        }
    }
    *out = made;
    return GS_OK;
}

int64_t gs_step_table_get(const gs_step_table *table, gs_step_part part, uint32_t rank_index,
                          uint32_t step_index)
{
    GS_ASSERT(part < GS_STEP_PARTS);
    GS_ASSERT(rank_index < table->rank_count);
    GS_ASSERT(step_index < table->step_count);
    const int64_t *values = table->parts[part];
    return values == NULL ? GS_STEP_MISSING
                          : values[(size_t)step_index * table->rank_count + rank_index];
}
