/* Medians and means of single ranks from step rows. */
#include "traces/rank_values.h"

#include "tests/support.h"

#include <criterion/criterion.h>
#include <math.h>

static gs_step_row row(int64_t step, int32_t rank, gs_time_ns duration_ns, gs_time_ns exposed_ns,
                       gs_time_ns wait_ns)
{
    return (gs_step_row){.step = step,
                         .rank = rank,
                         .duration_ns = duration_ns,
                         .exposed_comm_ns = exposed_ns,
                         .wait_ns = wait_ns};
}

/* Rank 0 did three steps of 5, 1 and 3; rank 2 two of 10 and 20, whose median is 15; rank 1 none.
 */
Test(rank_values, every_rank_has_its_own_median_and_means)
{
    const gs_step_row rows[] = {row(0, 0, 5, 3, 1),
                                row(0, 2, 10, 2, 0),
                                row(1, 0, 1, 0, 1),
                                row(1, 2, 20, 5, 7),
                                row(2, GS_ALL_RANKS, 99, 9, 9),
                                row(2, 0, 3, 3, 2),
                                row(2, 3, 99, 9, 9)};
    gs_rank_values values[3];
    cr_assert_eq(gs_rank_values_of(rows, sizeof rows / sizeof *rows, 3, values), GS_OK);
    cr_assert_eq(values[0].step_p50_ns, 3.0);
    cr_assert_eq(values[0].exposed_comm_ns, 2.0);
    cr_assert_float_eq(values[0].wait_ns, 4.0 / 3.0, 1e-15);
    cr_assert(isnan(values[1].step_p50_ns));
    cr_assert(isnan(values[1].wait_ns));
    cr_assert_eq(values[2].step_p50_ns, 15.0);
    cr_assert_eq(values[2].exposed_comm_ns, 3.5);
    cr_assert_eq(values[2].wait_ns, 3.5);
}

Test(rank_values, rows_of_all_ranks_together_tell_nothing_of_one)
{
    const gs_step_row rows[] = {row(0, GS_ALL_RANKS, 5, 3, 1)};
    gs_rank_values values[2];
    cr_assert_eq(gs_rank_values_of(rows, 1, 2, values), GS_OK);
    cr_assert(isnan(values[0].step_p50_ns));
    cr_assert_eq(gs_rank_values_of(NULL, 0, 2, values), GS_OK);
    cr_assert(isnan(values[1].exposed_comm_ns));
}

Test(rank_values, every_failed_allocation_is_told)
{
    const gs_step_row rows[] = {row(0, 0, 5, 3, 1)};
    gs_rank_values values[1];
    for (int64_t after = 0; after < 2; after++) {
        test_fail_allocations(after);
        gs_status status = gs_rank_values_of(rows, 1, 1, values);
        test_fail_allocations(-1);
        cr_assert_eq(status, GS_ENOMEM);
    }
}
