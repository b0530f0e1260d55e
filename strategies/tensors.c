#include "strategies/tensors.h"

gs_tensor_walk gs_tensor_walk_begin(const gs_tensors *tensors, int64_t offset, int64_t length)
{
    return (gs_tensor_walk){
        .of = *tensors, .from = offset, .to = offset + length, .left = tensors->count};
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The part [begin, end) of a unit as far as it lies in the slice. */
static gs_tensor_piece piece_of(const gs_tensor_walk *walk, uint32_t unit, int64_t begin,
                                int64_t end)
{
    gs_tensor_piece piece = {.unit = unit, .offset = begin < walk->from ? walk->from : begin};
    piece.length = least(end, walk->to) - piece.offset;
    bool is_known = walk->of.shapes != NULL && walk->of.shapes[unit].rows > 0;
    if (walk->in_matrix && is_known) {
        piece.columns = least(walk->of.shapes[unit].columns, piece.length);
    } else if (!walk->in_matrix || piece.length <= GS_TENSOR_VECTOR_MAX) {
        piece.columns = piece.length;
    }
    return piece;
}

/* Of a unit come its vectors first, which stand behind its matrix. */
bool gs_tensor_walk_next(gs_tensor_walk *walk, gs_tensor_piece *out)
{
    while (walk->left > 0 && walk->at < walk->to) {
        uint32_t unit = walk->left - 1;
        int64_t elements = walk->of.elements[unit];
        int64_t matrix = elements;
        if (walk->of.shapes != NULL && walk->of.shapes[unit].rows > 0) {
            gs_unit_shape shape = walk->of.shapes[unit];
            matrix = shape.rows > 1 ? shape.rows * shape.columns : 0;
        }
        int64_t begin = walk->at + (walk->in_matrix ? elements - matrix : 0);
        int64_t end = walk->at + (walk->in_matrix ? elements : elements - matrix);
        gs_tensor_piece piece = piece_of(walk, unit, begin, end);
        if (walk->in_matrix) {
            walk->at += elements;
            walk->left--;
        }
        walk->in_matrix = !walk->in_matrix;
        if (piece.length > 0) {
            *out = piece;
            return true;
        }
    }
    return false;
}
