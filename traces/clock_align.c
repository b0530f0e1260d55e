#include "traces/clock_align.h"

#include "base/assert.h"

#include <stdlib.h>

/* Ends that stray by less than this agree: the shortest collective of a GPU takes a few times as
 * long. */
static const gs_time_ns AGREE_NS = 20 * GS_NS_PER_US;

static int by_value(const void *left, const void *right)
{
    gs_time_ns a = *(const gs_time_ns *)left;
    gs_time_ns b = *(const gs_time_ns *)right;
    return (a > b) - (a < b);
}

/* Lower middle; sorts values. */
static gs_time_ns median(gs_time_ns *values, uint32_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[(count - 1) / 2];
}

static gs_time_ns apart(gs_time_ns a, gs_time_ns b)
{
    return a > b ? a - b : b - a;
}

static gs_time_ns end_beside_first(const gs_clock_ops *ops, uint32_t op, uint32_t rank)
{
    const gs_time_ns *ends = &ops->ends_ns[(size_t)op * ops->rank_count];
    return ends[rank] - ends[0];
}

/* Offsets, and the median stray of the worst rank. scratch [op_count]. */
static void find_offsets(const gs_clock_ops *ops, gs_time_ns *offsets, gs_time_ns *scratch,
                         gs_clock_alignment *out)
{
    gs_time_ns least = 0;
    gs_time_ns most = 0;
    for (uint32_t r = 1; r < ops->rank_count; r++) {
        for (uint32_t i = 0; i < ops->op_count; i++) {
            scratch[i] = end_beside_first(ops, i, r);
        }
        offsets[r] = median(scratch, ops->op_count);
        for (uint32_t i = 0; i < ops->op_count; i++) {
            scratch[i] = apart(end_beside_first(ops, i, r), offsets[r]);
        }
        gs_time_ns stray = median(scratch, ops->op_count);
        out->stray_ns = stray > out->stray_ns ? stray : out->stray_ns;
        least = offsets[r] < least ? offsets[r] : least;
        most = offsets[r] > most ? offsets[r] : most;
    }
    out->apart_ns = most - least;
}

/* late [rank_count] from aligned starts, and the median spread of arrivals in a collective. */
static gs_time_ns find_late(const gs_clock_ops *ops, const gs_time_ns *offsets, gs_time_ns *late,
                            gs_time_ns *scratch)
{
    gs_time_ns spread = 0;
    for (uint32_t r = 0; r <= ops->rank_count; r++) {
        for (uint32_t i = 0; i < ops->op_count; i++) {
            const gs_time_ns *starts = &ops->starts_ns[(size_t)i * ops->rank_count];
            gs_time_ns first = starts[0] - offsets[0];
            gs_time_ns last = first;
            for (uint32_t k = 1; k < ops->rank_count; k++) {
                gs_time_ns at = starts[k] - offsets[k];
                first = at < first ? at : first;
                last = at > last ? at : last;
            }
            scratch[i] = (r == ops->rank_count ? last : starts[r] - offsets[r]) - first;
        }
        gs_time_ns middle = median(scratch, ops->op_count);
        if (r == ops->rank_count) {
            spread = middle;
        } else {
            late[r] = middle;
        }
    }
    return spread;
}

gs_status gs_clock_align(const gs_clock_ops *ops, gs_arena *arena, gs_clock_alignment *out,
                         gs_error *err)
{
    gs_clock_alignment made = {.op_count = ops->op_count, .rank_count = ops->rank_count};
    GS_ASSERT(ops->rank_count > 0);
    gs_time_ns *offsets = GS_TAKE(arena, gs_time_ns, ops->rank_count);
    gs_time_ns *late = GS_TAKE(arena, gs_time_ns, ops->rank_count);
    gs_time_ns *scratch = calloc((size_t)ops->op_count + 1, sizeof *scratch);
    if (offsets == NULL || late == NULL || scratch == NULL) {
        free(scratch);
        return gs_fail(err, GS_ENOMEM, "no memory to align the clocks of %u ranks",
                       ops->rank_count);
    }
    if (ops->op_count > 0) {
        find_offsets(ops, offsets, scratch, &made);
        gs_time_ns spread = find_late(ops, offsets, late, scratch);
        made.is_aligned = made.stray_ns <= AGREE_NS || made.stray_ns < spread / 4;
        made.late_ns = made.is_aligned ? late : NULL;
    }
    made.offsets_ns = offsets;
    free(scratch);
    *out = made;
    return GS_OK;
}
