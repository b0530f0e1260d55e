#include "traces/importers/kineto_table.h"

#include <stdlib.h>

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for the table of steps");
}

/* Starts and ends of all matched collectives. starts, ends [op * rank_count + rank]. */
static void collect_ops(const gs_kineto_joint *joint, uint32_t rank_count, gs_time_ns *starts,
                        gs_time_ns *ends)
{
    size_t first = 0;
    for (uint32_t s = 0; s < joint->step_count; s++) {
        const gs_kineto_joint_step *step = &joint->steps[s];
        for (uint32_t r = 0; r < rank_count; r++) {
            for (uint32_t i = 0; i < step->op_count; i++) {
                const gs_kineto_op *op = &step->steps[r]->ops[i];
                size_t at = (first + step->ids[r][i]) * rank_count + r;
                starts[at] = op->start_ns;
                ends[at] = op->start_ns + op->duration_ns;
            }
        }
        first += step->op_count;
    }
}

static gs_status align(const gs_kineto_joint *joint, uint32_t rank_count, gs_arena *arena,
                       gs_step_table *table, gs_error *err)
{
    size_t ops = 0;
    for (uint32_t s = 0; s < joint->step_count; s++) {
        ops += joint->steps[s].op_count;
    }
    gs_clock_alignment *made = GS_TAKE(arena, gs_clock_alignment, 1);
    gs_time_ns *starts = calloc(ops * rank_count + 1, sizeof *starts);
    gs_time_ns *ends = calloc(ops * rank_count + 1, sizeof *ends);
    gs_status status = GS_OK;
    if (made == NULL || starts == NULL || ends == NULL) {
        status = no_memory(err);
    } else {
        collect_ops(joint, rank_count, starts, ends);
        gs_clock_ops seen = {starts, ends, (uint32_t)ops, rank_count};
        status = gs_clock_align(&seen, arena, made, err);
        table->clocks = made;
    }
    free(starts);
    free(ends);
    return status;
}

gs_status gs_kineto_table_make(const gs_kineto_rank *ranks, const gs_kineto_joint *joint,
                               const gs_profile *profile, gs_arena *arena,
                               const gs_step_table **out, gs_error *err)
{
    gs_step_table *table = GS_TAKE(arena, gs_step_table, 1);
    int32_t *numbers = GS_TAKE(arena, int32_t, profile->rank_count);
    int64_t *steps = GS_TAKE(arena, int64_t, joint->step_count);
    if (table == NULL || numbers == NULL || steps == NULL) {
        return no_memory(err);
    }
    for (uint32_t s = 0; s < joint->step_count; s++) {
        steps[s] = joint->steps[s].steps[0]->number;
    }
    GS_TRY(gs_step_table_make(numbers, profile->rank_count, steps, joint->step_count,
                              (1u << GS_STEP_PARTS) - 1, arena, table, err));
    for (uint32_t r = 0; r < profile->rank_count; r++) {
        numbers[r] = profile->ranks[r].rank;
        for (uint32_t s = 0; s < joint->step_count; s++) {
            const gs_profile_step *from = &profile->ranks[r].steps[s];
            size_t at = (size_t)s * profile->rank_count + r;
            table->parts[GS_STEP_TIME][at] = from->measured_ns;
            table->parts[GS_STEP_COMPUTE][at] = from->measured_compute_ns;
            table->parts[GS_STEP_INPUT][at] = from->measured_input_ns;
            table->parts[GS_STEP_WAIT][at] = from->measured_wait_ns;
            table->parts[GS_STEP_WIRE][at] = from->measured_wire_ns;
        }
    }
    if (profile->rank_count > 1 && ranks[0].has_kernels) {
        GS_TRY(align(joint, profile->rank_count, arena, table, err));
    }
    *out = table;
    return GS_OK;
}
