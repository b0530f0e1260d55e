#include "traces/versions.h"

#include <criterion/criterion.h>

enum { PARAM, GRAD, OWN, VECTORS, ELEMENTS = 100 };

static gs_arena arena;
static gs_versions versions;

static void setup(void)
{
    gs_arena_init(&arena);
    cr_assert(gs_versions_init(&versions, VECTORS, ELEMENTS, &arena));
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(versions, .init = setup, .fini = teardown);

static int64_t oldest(uint32_t vector)
{
    return gs_versions_oldest(&versions, vector, 0, ELEMENTS);
}

static int64_t apply_whole(uint32_t param, uint32_t grad)
{
    return gs_versions_apply(&versions, param, grad, 0, ELEMENTS);
}

Test(versions, a_gradient_is_as_stale_as_updates_came_between)
{
    gs_versions_copy(&versions, GRAD, PARAM); /* taken at version 0 */
    cr_expect_eq(apply_whole(PARAM, GRAD), 0);
    cr_expect_eq(oldest(PARAM), 1);
    gs_versions_put(&versions, GRAD, 0, ELEMENTS, 0); /* another one of version 0 comes */
    cr_expect_eq(apply_whole(PARAM, GRAD), 1);
    gs_versions_put(&versions, GRAD, 0, ELEMENTS, 0);
    cr_expect_eq(apply_whole(PARAM, GRAD), 2);
    cr_expect_eq(oldest(PARAM), 3);
}

Test(versions, a_sum_is_as_old_as_its_oldest_part)
{
    gs_versions_put(&versions, PARAM, 0, ELEMENTS, 9);
    gs_versions_add(&versions, OWN, 0, ELEMENTS, 7);
    gs_versions_add(&versions, OWN, 0, ELEMENTS, 4);
    gs_versions_add(&versions, OWN, 0, ELEMENTS, 8);
    cr_expect_eq(oldest(OWN), 4);
    cr_expect_eq(apply_whole(PARAM, OWN), 5);
    /* What was applied is spent: the next sum begins anew, and does not know of the old parts. */
    gs_versions_add(&versions, OWN, 0, ELEMENTS, 8);
    cr_expect_eq(oldest(OWN), 8);
}

Test(versions, weights_that_are_mixed_keep_their_own_count)
{
    gs_versions_put(&versions, PARAM, 0, ELEMENTS, 9);
    gs_versions_add(&versions, PARAM, 0, ELEMENTS, 2);
    cr_expect_eq(oldest(PARAM), 9);
    gs_versions_put(&versions, PARAM, 0, ELEMENTS, 2); /* replaced they are others */
    cr_expect_eq(oldest(PARAM), 2);
}

Test(versions, zeros_are_no_gradient)
{
    cr_expect_eq(apply_whole(PARAM, GRAD), -1);
    cr_expect_eq(oldest(PARAM), 1); /* an update it is */
}

/* Two servers hold half of the weights each; the first has made 5 updates, the second 9. */
Test(versions, parts_of_a_vector_have_versions_of_their_own)
{
    gs_versions_put(&versions, PARAM, 0, 50, 5);
    gs_versions_put(&versions, PARAM, 50, 50, 9);
    gs_versions_copy(&versions, GRAD, PARAM);
    cr_expect_eq(gs_versions_oldest(&versions, GRAD, 0, 50), 5);
    cr_expect_eq(gs_versions_oldest(&versions, GRAD, 50, 50), 9);
    cr_expect_eq(gs_versions_oldest(&versions, GRAD, 49, 2), 5);
    cr_expect_eq(apply_whole(PARAM, GRAD), 0);
    gs_versions_put(&versions, GRAD, 0, 50, 5);
    gs_versions_put(&versions, GRAD, 50, 50, 3);
    cr_expect_eq(apply_whole(PARAM, GRAD), 7); /* 10 - 3, not 6 - 3 */
}

/* A server applies the halves of two gradients one after the other. */
Test(versions, a_part_of_a_gradient_is_applied_for_itself)
{
    gs_versions_put(&versions, GRAD, 0, ELEMENTS, 0);
    cr_expect_eq(gs_versions_apply(&versions, PARAM, GRAD, 0, 50), 0);
    cr_expect_eq(gs_versions_oldest(&versions, PARAM, 0, 50), 1);
    cr_expect_eq(gs_versions_oldest(&versions, PARAM, 50, 50), 0);
    gs_versions_add(&versions, GRAD, 0, ELEMENTS, 1); /* to what is spent, and to what is not */
    cr_expect_eq(gs_versions_oldest(&versions, GRAD, 0, 50), 1);
    cr_expect_eq(gs_versions_oldest(&versions, GRAD, 50, 50), 0);
    cr_expect_eq(gs_versions_apply(&versions, PARAM, GRAD, 0, 50), 0);
    cr_expect_eq(gs_versions_apply(&versions, PARAM, GRAD, 50, 50), 0);
    cr_expect_eq(gs_versions_apply(&versions, PARAM, GRAD, 50, 50), 1);
    cr_expect_eq(gs_versions_apply(&versions, PARAM, GRAD, 50, 0), -1);
    cr_expect_eq(oldest(PARAM), 2);
}

/* Every element against an array of them: any piece may split, be covered or meet its neighbour. */
Test(versions, pieces_say_what_single_elements_say)
{
    int64_t plain[ELEMENTS];
    uint32_t state = 12345;
    for (int i = 0; i < ELEMENTS; i++) {
        plain[i] = GS_NO_VERSION;
    }
    for (int turn = 0; turn < 3000; turn++) {
        state = state * 1664525U + 1013904223U;
        int64_t offset = (state >> 8) % ELEMENTS;
        int64_t length = 1 + (state >> 16) % (ELEMENTS - offset);
        int64_t version = (state >> 4) % 6;
        bool add = (state >> 30) != 0;
        int64_t least = GS_NO_VERSION;
        for (int64_t i = offset; i < offset + length; i++) {
            plain[i] = add && plain[i] < version ? plain[i] : version;
            least = plain[i] < least ? plain[i] : least;
        }
        if (add) {
            gs_versions_add(&versions, OWN, offset, length, version);
        } else {
            gs_versions_put(&versions, OWN, offset, length, version);
        }
        cr_assert_eq(gs_versions_oldest(&versions, OWN, offset, length), least);
        for (int64_t i = 0; i < ELEMENTS; i++) {
            cr_assert_eq(gs_versions_oldest(&versions, OWN, i, 1), plain[i], "turn %d, element %d",
                         turn, (int)i);
        }
    }
}
