/* Which matrices and vectors lie in a slice. */
#include <criterion/criterion.h>

#include "strategies/tensors.h"

/* In parameter order: a layer of 3 x 5 and 3 biases, a vector, a matrix of 4 x 2, one that nobody
 * knows. In walking order, from the end: [0, 5000) unknown, [5000, 5008) 4 x 2, [5008, 5015) the
 * vector, [5015, 5018) the biases, [5018, 5033) 3 x 5. */
static const int64_t elements[] = {18, 7, 8, 5000};
static const gs_unit_shape shapes[] = {{3, 5}, {1, 7}, {4, 2}, {0, 0}};
static const gs_tensors tensors = {4, elements, shapes};

enum { PIECES_MAX = 8 };

static uint32_t pieces_of(const gs_tensors *of, int64_t offset, int64_t length,
                          gs_tensor_piece *out)
{
    uint32_t count = 0;
    gs_tensor_walk walk = gs_tensor_walk_begin(of, offset, length);
    while (gs_tensor_walk_next(&walk, &out[count])) {
        cr_assert_lt(++count, PIECES_MAX);
    }
    return count;
}

static void expect_piece(const gs_tensor_piece *piece, gs_tensor_piece wanted)
{
    cr_expect_eq(piece->unit, wanted.unit);
    cr_expect_eq(piece->offset, wanted.offset);
    cr_expect_eq(piece->length, wanted.length);
    cr_expect_eq(piece->columns, wanted.columns);
}

Test(tensors, a_walk_goes_from_the_last_unit_to_the_first_and_from_vectors_to_their_matrix)
{
    gs_tensor_piece pieces[PIECES_MAX];
    cr_assert_eq(pieces_of(&tensors, 0, 5033, pieces), 5);
    expect_piece(&pieces[0], (gs_tensor_piece){3, 0, 5000, 0});
    expect_piece(&pieces[1], (gs_tensor_piece){2, 5000, 8, 2});
    expect_piece(&pieces[2], (gs_tensor_piece){1, 5008, 7, 7});
    expect_piece(&pieces[3], (gs_tensor_piece){0, 5015, 3, 3});
    expect_piece(&pieces[4], (gs_tensor_piece){0, 5018, 15, 5});
}

Test(tensors, a_slice_cuts_what_lies_on_its_edges)
{
    gs_tensor_piece pieces[PIECES_MAX];
    /* The last 3 of 4 x 2, the vector, the biases, the first 7 of 3 x 5. */
    cr_assert_eq(pieces_of(&tensors, 5005, 20, pieces), 4);
    expect_piece(&pieces[0], (gs_tensor_piece){2, 5005, 3, 2});
    expect_piece(&pieces[3], (gs_tensor_piece){0, 5018, 7, 5});
    /* Less than a row is a vector. */
    cr_assert_eq(pieces_of(&tensors, 5031, 2, pieces), 1);
    expect_piece(&pieces[0], (gs_tensor_piece){0, 5031, 2, 2});
    cr_assert_eq(pieces_of(&tensors, 5008, 0, pieces), 0);
}

Test(tensors, what_is_not_known_is_a_vector_up_to_a_size_and_square_above_it)
{
    const int64_t unknown[] = {4096, 4097};
    gs_tensor_piece pieces[PIECES_MAX];
    gs_tensors of = {2, unknown, NULL};
    cr_assert_eq(pieces_of(&of, 0, 8193, pieces), 2);
    cr_expect_eq(pieces[0].columns, 0);
    cr_expect_eq(pieces[1].columns, 4096);
}

Test(tensors, pieces_tile_every_slice)
{
    for (int64_t offset = 4990; offset < 5033; offset++) {
        for (int64_t length = 0; offset + length <= 5033; length++) {
            int64_t next = offset;
            gs_tensor_walk walk = gs_tensor_walk_begin(&tensors, offset, length);
            for (gs_tensor_piece piece; gs_tensor_walk_next(&walk, &piece);) {
                cr_assert_eq(piece.offset, next);
                cr_assert_gt(piece.length, 0);
                next += piece.length;
            }
            cr_assert_eq(next, offset + length);
        }
    }
}
