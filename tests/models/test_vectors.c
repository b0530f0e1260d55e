#include <criterion/criterion.h>

#include "models/vectors.h"

static gs_arena arena;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(vectors, .init = setup, .fini = teardown);

Test(vectors, slices_that_tile_the_job_tile_the_floats)
{
    /* 7e9 elements on 9610 floats, cut at odd places: each slice ends where the last one started.
     */
    const int64_t elements = INT64_C(7000000000);
    const int64_t cuts[6] = {0, 1, INT64_C(728408), INT64_C(3333333333), elements - 1, elements};
    gs_vectors vectors;
    cr_assert(gs_vectors_init(&vectors, 2, 9610, elements, &arena));
    const float *next = vectors.data + 2 * 9610; /* vector 1 */
    for (int i = 0; i < 5; i++) {
        size_t count = 0;
        const float *slice = gs_vectors_slice(&vectors, 1, cuts[i], cuts[i + 1] - cuts[i], &count);
        next -= count;
        cr_expect_eq(slice, next, "slice %d", i);
    }
    cr_expect_eq(next, vectors.data + 9610);
}

Test(vectors, a_slice_maps_by_its_share)
{
    gs_vectors vectors;
    cr_assert(gs_vectors_init(&vectors, 1, 10, 4, &arena));
    size_t count = 0;
    /* elements 1 and 2 of 4: floor(10 / 4) = 2 to floor(30 / 4) = 7 before the end */
    cr_expect_eq(gs_vectors_slice(&vectors, 0, 1, 2, &count), vectors.data + 10 - 7);
    cr_expect_eq(count, 5);
}

Test(vectors, sizes_beyond_64_bits_in_the_product_are_exact)
{
    /* floor(e * 1000003 / (2^62 - 1)) for e = 2^62 - 2 is 1000002: the last element is the first
     * float. */
    gs_vectors vectors;
    const int64_t elements = (INT64_C(1) << 62) - 1;
    cr_assert(gs_vectors_init(&vectors, 1, 1000003, elements, &arena));
    size_t count = 0;
    cr_expect_eq(gs_vectors_slice(&vectors, 0, elements - 1, 1, &count), vectors.data);
    cr_expect_eq(count, 1);
}

Test(vectors, timing_only_sets_have_no_floats)
{
    gs_vectors vectors;
    size_t count = 7;
    cr_assert(gs_vectors_init(&vectors, 3, 0, 100, &arena));
    cr_expect_null(gs_vectors_slice(&vectors, 2, 10, 20, &count));
    cr_expect_eq(count, 0);
}

Test(vectors, no_memory_is_said)
{
    gs_vectors vectors;
    arena.fail_after = 0;
    cr_expect_not(gs_vectors_init(&vectors, 1, 10, 10, &arena));
}
