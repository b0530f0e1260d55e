/* Codecs whose numbers are summed on their way: payloads that can be added, and matrices of low
 * rank.
 */
#include "traces/wire_parts.h"

#include "models/kernels.h"

#include <string.h>

static gs_low_rank shape_of(const gs_coding_plan *plan, size_t count)
{
    return (gs_low_rank){count, plan->matrix.rows, plan->matrix.columns, plan->matrix.rank};
}

bool gs_wire_code_sum(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    gs_wire_buffer *numbers = wire->boards[op->communicator].came[0];
    size_t count;
    (void)gs_wire_floats(wire, data, data.vector, &count);
    gs_pack_rule rule = gs_wire_rule(wire, op, count);
    return stage == 0 ? gs_wire_pack(wire, data, wire->residual, &rule, numbers)
                      : gs_wire_unpack(wire, data, &rule, GS_UNPACK_PUT, numbers);
}

/* Q of the step before where there is one, in the first elements of the codec's own vector. */
static void start_q(gs_wire *wire, const gs_op_signature *op, const gs_low_rank *shape,
                    gs_slice data, float *q)
{
    size_t count;
    const float *kept = gs_wire_floats(wire, data, wire->own_first, &count);
    size_t numbers = (size_t)(shape->columns * shape->rank);
    bool has_kept = false;
    for (size_t i = 0; numbers <= count && i < numbers && !has_kept; i++) {
        has_kept = kept[i] < 0.0F || kept[i] > 0.0F;
    }
    if (has_kept && wire->coding->config.warm_start) {
        gs_kernel_copy(q, kept, NULL, numbers, 0.0F);
    } else {
        gs_pack_rule rule = gs_wire_rule(wire, op, shape->count);
        gs_low_rank_start(shape, rule.key, rule.step, q);
    }
}

static void keep_q(gs_wire *wire, const gs_low_rank *shape, gs_slice data, const float *q)
{
    size_t count;
    float *kept = gs_wire_floats(wire, data, wire->own_first, &count);
    size_t numbers = (size_t)(shape->columns * shape->rank);
    if (numbers <= count) {
        gs_kernel_copy(kept, q, NULL, numbers, 0.0F);
    }
}

/* The slice becomes g + residual, and stays so until the end. */
static void add_residual(gs_wire *wire, gs_slice data)
{
    size_t count;
    float *m = gs_wire_floats(wire, data, data.vector, &count);
    if (wire->residual != 0) {
        gs_kernel_add(m, gs_wire_floats(wire, data, wire->residual, &count), NULL, count, 0.0F);
    }
}

/* The slice becomes the sum P Q'; the residual what a member's share of it misses of its own. */
static void expand(gs_wire *wire, const gs_wire_board *on, const gs_low_rank *shape, gs_slice data)
{
    size_t count;
    float *m = gs_wire_floats(wire, data, data.vector, &count);
    float *left = wire->residual != 0 ? gs_wire_floats(wire, data, wire->residual, &count) : NULL;
    if (left != NULL) {
        gs_kernel_copy(left, m, NULL, count, 0.0F);
    }
    gs_low_rank_expand(shape, on->out->data, on->came[1][0].data, m);
    if (left != NULL) {
        gs_kernel_axpy(left, m, NULL, count, -1.0F / (float)on->members);
    }
}

/* Floats that stand for a larger slice may be too few to be a matrix: they are the first sum, and
 * the second one is empty. */
static bool code_dense(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    const gs_wire_board *on = &wire->boards[op->communicator];
    size_t count;
    float *m = gs_wire_floats(wire, data, data.vector, &count);
    gs_wire_buffer *sum = on->came[0];
    sum->bytes = count * sizeof(float);
    on->came[1][0].bytes = 0;
    if (!gs_wire_reserve(wire, sum, sum->bytes)) {
        return false;
    }
    if (stage == 0) {
        gs_kernel_copy(sum->data, m, NULL, count, 0.0F);
    } else if (stage == 2) {
        gs_kernel_copy(m, sum->data, NULL, count, 0.0F);
    }
    return true;
}

bool gs_wire_code_low_rank(gs_wire *wire, const gs_op_signature *op, const gs_coding_plan *plan,
                           gs_slice data, uint32_t stage)
{
    if (plan->stage_count == 0) {
        return code_dense(wire, op, data, stage);
    }
    gs_wire_board *on = &wire->boards[op->communicator];
    size_t count;
    const float *m = gs_wire_floats(wire, data, data.vector, &count);
    gs_low_rank shape = shape_of(plan, count);
    gs_wire_buffer *p = &on->came[0][0];
    gs_wire_buffer *q = &on->came[1][0];
    p->bytes = (size_t)(shape.rows * shape.rank) * sizeof(float);
    q->bytes = (size_t)(shape.columns * shape.rank) * sizeof(float);
    if (stage == 0) {
        if (!gs_wire_reserve(wire, p, p->bytes) || !gs_wire_reserve(wire, q, q->bytes)) {
            return false;
        }
        add_residual(wire, data);
        start_q(wire, op, &shape, data, q->data);
        gs_low_rank_left(&shape, m, q->data, p->data);
    } else if (stage == 1) {
        /* Not in place: the sum may still be on its way to a neighbour. */
        if (!gs_wire_reserve(wire, on->out, p->bytes)) {
            return false;
        }
        memcpy(on->out->data, p->data, p->bytes);
        gs_low_rank_orthonormalise(&shape, on->out->data);
        gs_low_rank_right(&shape, m, on->out->data, q->data);
    } else {
        expand(wire, on, &shape, data);
        keep_q(wire, &shape, data, q->data);
    }
    return true;
}
