#include "tools/sweep/halving.h"

#include <criterion/criterion.h>
#include <math.h>

Test(sweep_halving, rungs_double_their_seeds_until_one_point_could_be_left)
{
    uint32_t seeds[GS_RUNGS_MAX];
    /* 8 points, 4, 2, 1: three rungs below the last, which has all 10 seeds: 10/8, 10/4, 10/2, up.
     */
    cr_assert_eq(gs_halving_rungs(8, 10, seeds), 4u);
    cr_expect_eq(seeds[0], 2u);
    cr_expect_eq(seeds[1], 3u);
    cr_expect_eq(seeds[2], 5u);
    cr_expect_eq(seeds[3], 10u);
    /* As few seeds as there are bound the rungs: 3 have two. */
    cr_assert_eq(gs_halving_rungs(1000, 3, seeds), 2u);
    cr_expect_eq(seeds[0], 2u);
    cr_expect_eq(seeds[1], 3u);
    cr_expect_eq(gs_halving_rungs(1000, 1, seeds), 1u);
    cr_expect_eq(gs_halving_rungs(1, 100, seeds), 1u);
    cr_expect_eq(seeds[0], 100u);
    cr_expect_eq(gs_halving_rungs(UINT32_MAX, UINT32_MAX, seeds), (uint32_t)GS_RUNGS_MAX);
}

Test(sweep_halving, what_did_not_arrive_comes_last_and_equal_ones_keep_their_order)
{
    gs_halved points[] = {
        {.point = 0, .score = 7.0},  {.point = 1, .missing = 1, .score = 1.0},
        {.point = 2, .score = 3.0},  {.point = 3, .score = 3.0},
        {.point = 4, .missing = 3},  {.point = 5, .missing = 3},
        {.point = 6, .score = 11.0},
    };
    static const uint32_t order[] = {2, 3, 0, 6, 1, 4, 5};
    cr_assert_eq(gs_halving_keep(points, 7), 4u, "half of 7, up");
    for (int i = 0; i < 7; i++) {
        cr_expect_eq(points[i].point, order[i], "place %d", i);
    }
    cr_expect_eq(gs_halving_keep(points, 1), 1u);
    cr_expect_eq(gs_halving_keep(points, 0), 0u);
}
