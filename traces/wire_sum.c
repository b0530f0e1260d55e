/* Codecs whose numbers are summed on their way: payloads that can be added, and matrices of low
 * rank.
 */
#include "traces/wire_parts.h"

#include "models/kernels.h"

#include <string.h>

bool gs_wire_code_sum(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    gs_wire_buffer *numbers = wire->boards[op->communicator - wire->first_line].came[0];
    size_t count;
    (void)gs_wire_floats(wire, data, data.vector, &count);
    gs_pack_rule rule = gs_wire_rule(wire, op, count);
    return stage == 0 ? gs_wire_pack(wire, data, wire->residual, &rule, numbers)
                      : gs_wire_unpack(wire, data, &rule, GS_UNPACK_PUT, numbers);
}

/* ---------------------------------------------------------------- low rank */

/* One piece of a slice, and where its numbers are. A piece that travels dense is its own P. */
typedef struct tensor {
    gs_low_rank shape; /* rank 0: dense */
    uint32_t number;   /* of its unit */
    float *m;
    float *residual;     /* NULL: without feedback */
    float *kept;         /* Q of the step before, in the first floats of as many as it has */
    float *p, *base, *q; /* base: P orthonormal */
} tensor;

typedef struct tensor_walk {
    gs_tensor_walk pieces;
    float *m, *residual, *kept; /* ends of the slice in these vectors */
    size_t p_count, q_count;    /* floats of the pieces so far */
} tensor_walk;

static float *end_of(const gs_wire *wire, gs_slice data, uint32_t vector)
{
    size_t count;
    float *first = gs_wire_floats(wire, data, vector, &count);
    return first + count;
}

static tensor_walk walk_begin(const gs_wire *wire, gs_slice data)
{
    gs_coded_slice slice = gs_wire_coded(wire, data);
    return (tensor_walk){
        .pieces = gs_tensor_walk_begin(&slice.tensors, slice.offset, slice.elements),
        .m = end_of(wire, data, data.vector),
        .residual = wire->residual != 0 ? end_of(wire, data, wire->residual) : NULL,
        .kept = end_of(wire, data, wire->own_first),
    };
}

static bool walk_next(tensor_walk *walk, const gs_wire *wire, const gs_op_signature *op,
                      tensor *out)
{
    gs_tensor_piece piece;
    if (!gs_tensor_walk_next(&walk->pieces, &piece)) {
        return false;
    }
    const gs_wire_board *on = &wire->boards[op->communicator - wire->first_line];
    gs_codec_matrix matrix = gs_coding_matrix_of(wire->coding, &piece, op->step);
    ptrdiff_t before_end = piece.offset + piece.length - walk->pieces.from;
    *out = (tensor){
        .shape = {(size_t)piece.length, matrix.rows, matrix.columns, matrix.rank},
        .number = piece.unit,
        .m = walk->m - before_end,
        .residual = walk->residual != NULL ? walk->residual - before_end : NULL,
        .kept = walk->kept - before_end,
        .p = on->came[0][0].data + walk->p_count,
        .base = on->out->data + walk->p_count,
        .q = on->came[1][0].data + walk->q_count,
    };
    bool is_dense = matrix.rank == 0;
    walk->p_count += (size_t)(is_dense ? piece.length : matrix.rows * matrix.rank);
    walk->q_count += (size_t)(is_dense ? 0 : matrix.columns * matrix.rank);
    return true;
}

static size_t numbers_of_q(const tensor *t)
{
    return (size_t)(t->shape.columns * t->shape.rank);
}

/* From Q of the step before where it was kept. */
static void start_q(const gs_wire *wire, const gs_op_signature *op, const tensor *t)
{
    gs_pack_rule rule = gs_wire_rule(wire, op, t->shape.count);
    gs_low_rank_start(&t->shape, rule.key, rule.step, t->number, t->q);
    if (wire->coding->config.warm_start && numbers_of_q(t) <= t->shape.count) {
        gs_low_rank_warm(&t->shape, t->kept, t->q);
    }
}

/* The piece becomes g + residual, and stays so until the end. */
static void to_left(const gs_wire *wire, const gs_op_signature *op, const tensor *t)
{
    if (t->residual != NULL) {
        gs_kernel_add(t->m, t->residual, NULL, t->shape.count, 0.0F);
    }
    if (t->shape.rank == 0) {
        gs_kernel_copy(t->p, t->m, NULL, t->shape.count, 0.0F);
    } else {
        start_q(wire, op, t);
        gs_low_rank_left(&t->shape, t->m, t->q, t->p);
    }
}

static void to_right(const tensor *t)
{
    if (t->shape.rank > 0) {
        gs_low_rank_orthonormalise(&t->shape, t->base);
        gs_low_rank_right(&t->shape, t->m, t->base, t->q);
    }
}

/* The piece becomes the sum P Q'; the residual what a member's share of it misses of its own. */
static void expand(const gs_wire_board *on, const tensor *t)
{
    size_t count = t->shape.count;
    if (t->residual != NULL) {
        gs_kernel_copy(t->residual, t->m, NULL, count, 0.0F);
    }
    gs_low_rank_expand(&t->shape, t->base, t->q, t->m);
    if (t->residual != NULL) {
        gs_kernel_axpy(t->residual, t->m, NULL, count, -1.0F / (float)on->members);
    }
    if (numbers_of_q(t) <= count) {
        gs_kernel_copy(t->kept, t->q, NULL, numbers_of_q(t), 0.0F);
    }
}

static void from_sums(const gs_wire_board *on, const tensor *t)
{
    if (t->shape.rank > 0) {
        expand(on, t);
        return;
    }
    gs_kernel_copy(t->m, t->p, NULL, t->shape.count, 0.0F);
    if (t->residual != NULL) {
        memset(t->residual, 0, t->shape.count * sizeof *t->residual);
    }
}

/* Floats that stand for a larger slice may be too few to be a matrix: they are the first sum, and
 * the second one is empty. */
static bool reserve(gs_wire *wire, const gs_op_signature *op, gs_slice data)
{
    gs_wire_board *on = &wire->boards[op->communicator - wire->first_line];
    gs_coded_slice slice = gs_wire_coded(wire, data);
    gs_coding_plan plan = gs_coding_plan_of(wire->coding, &slice, on->members, op->step);
    bool is_dense = plan.stage_count == 0;
    gs_wire_buffer *p = &on->came[0][0];
    gs_wire_buffer *q = &on->came[1][0];
    p->bytes = sizeof(float) * (size_t)(is_dense ? slice.elements : plan.stages[0].units);
    q->bytes = sizeof(float) * (size_t)(is_dense ? 0 : plan.stages[1].units);
    return gs_wire_reserve(wire, p, p->bytes + sizeof(float)) && /* none is empty */
           gs_wire_reserve(wire, q, q->bytes + sizeof(float)) &&
           gs_wire_reserve(wire, on->out, p->bytes + sizeof(float));
}

bool gs_wire_code_low_rank(gs_wire *wire, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    gs_wire_board *on = &wire->boards[op->communicator - wire->first_line];
    if (stage == 0 && !reserve(wire, op, data)) {
        return false;
    }
    if (stage == 1) {
        /* Not in place: the sum may still be on its way to a neighbour. */
        memcpy(on->out->data, on->came[0][0].data, on->came[0][0].bytes);
    }
    tensor_walk walk = walk_begin(wire, data);
    for (tensor t; walk_next(&walk, wire, op, &t);) {
        if (stage == 0) {
            to_left(wire, op, &t);
        } else if (stage == 1) {
            to_right(&t);
        } else {
            from_sums(on, &t);
        }
    }
    return true;
}
