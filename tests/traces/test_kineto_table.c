#include "tests/traces/kineto_fixture.h"

/* put_pair's jobs, with the clock of rank 1 ahead by `ahead_us`. */
static void put_ahead(int rank, double ahead_us, char path[TEST_PATH_BYTES])
{
    begin_trace(rank, 2);
    put_step(3, ahead_us, 1000);
    put_compute(1, ahead_us + 90, ahead_us + 100, 200);
    if (rank == 0) {
        put_reduce(2, ahead_us + 280, ahead_us + 300, 300, 1000);
        put_compute(3, ahead_us + 320, ahead_us + 600, 100);
    } else {
        put_reduce(2, ahead_us + 540, ahead_us + 550, 50, 1000);
        put_compute(3, ahead_us + 560, ahead_us + 600, 100);
    }
    end_trace(path);
}

/* Rank 1 comes 250 us after rank 0, whatever its clock says: 550 against 300. */
Test(kineto_table, clocks_hours_apart_are_aligned_and_show_who_comes_late)
{
    char paths[2][TEST_PATH_BYTES];
    put_ahead(0, 0.0, paths[0]);
    put_ahead(1, 2.0 * 3600e6, paths[1]);
    const char *files[] = {paths[0], paths[1]};
    import_files(files, 2);
    const gs_step_table *table = imported.step_table;
    cr_assert_not_null(table);
    cr_assert_not_null(table->clocks);
    cr_expect_eq(table->clocks->op_count, 1);
    cr_expect_eq(table->clocks->apart_ns, 7200 * GS_NS_PER_S);
    cr_assert(table->clocks->is_aligned);
    cr_expect_eq(table->clocks->late_ns[0], 0);
    cr_expect_eq(table->clocks->late_ns[1], 250 * GS_NS_PER_US);
    /* put_pair says why: rank 0 waits 230 us, and both see 50 and 40 us of the wire. */
    cr_expect_eq(gs_step_table_get(table, GS_STEP_WAIT, 0, 0), 230 * GS_NS_PER_US);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_WIRE, 0, 0), 50 * GS_NS_PER_US);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_WAIT, 1, 0), 0);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_WIRE, 1, 0), 40 * GS_NS_PER_US);
    cr_expect_eq(gs_step_table_get(table, GS_STEP_TIME, 1, 0), 1000 * GS_NS_PER_US);
    cr_expect_eq(table->steps[0], 3);
    gs_arena_fini(&arena);
}

Test(kineto_table, ranks_without_collectives_have_nothing_to_align_on)
{
    char paths[2][TEST_PATH_BYTES];
    const char *files[] = {paths[0], paths[1]};
    for (int rank = 0; rank < 2; rank++) {
        begin_trace(rank, 2);
        put_step(1, 0, 500);
        put_compute(1, 10, 20, 50 + rank);
        end_trace(paths[rank]);
    }
    import_files(files, 2);
    cr_assert_not_null(imported.step_table->clocks);
    cr_expect_eq(imported.step_table->clocks->op_count, 0);
    cr_expect_not(imported.step_table->clocks->is_aligned);
    gs_arena_fini(&arena);
}

Test(kineto_table, one_rank_has_a_table_and_no_clocks_to_compare)
{
    char path[TEST_PATH_BYTES];
    put_simple(0, 2, 1000, path);
    import_one(path);
    cr_assert_not_null(imported.step_table);
    cr_expect_null(imported.step_table->clocks);
    cr_expect_eq(imported.step_table->rank_count, 1);
    gs_arena_fini(&arena);
}
