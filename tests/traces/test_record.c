/* The record of a run: adding up, order, totals. */
#include "traces/record.h"

#include "tests/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>

/* Parts that differ in every field, so that a swapped pair shows. */
static gs_step_row row_of(int64_t step, int32_t rank, gs_time_ns start_ns, gs_time_ns scale)
{
    return (gs_step_row){.step = step,
                         .rank = rank,
                         .start_ns = start_ns,
                         .duration_ns = 101 * scale, /* 61 + 23 + 11 + 5 + 1 */
                         .compute_ns = 61 * scale,
                         .comm_ns = 47 * scale,
                         .exposed_comm_ns = 23 * scale,
                         .wait_ns = 11 * scale,
                         .input_ns = 5 * scale,
                         .overhead_ns = 1 * scale,
                         .bytes_sent = 1009 * scale};
}

static void add(gs_record *record, int64_t step, int32_t rank, gs_time_ns start_ns,
                gs_time_ns scale)
{
    gs_step_row row = row_of(step, rank, start_ns, scale);
    cr_assert_eq(gs_record_step(record, &row), GS_OK);
}

static void assert_row(gs_step_row row, int64_t step, int32_t rank, gs_time_ns start_ns,
                       gs_time_ns scale)
{
    gs_step_row wanted = row_of(step, rank, start_ns, scale);
    cr_assert_eq(row.step, wanted.step);
    cr_assert_eq(row.rank, wanted.rank);
    cr_assert_eq(row.start_ns, wanted.start_ns);
    cr_assert_eq(row.duration_ns, wanted.duration_ns);
    cr_assert_eq(row.compute_ns, wanted.compute_ns);
    cr_assert_eq(row.comm_ns, wanted.comm_ns);
    cr_assert_eq(row.exposed_comm_ns, wanted.exposed_comm_ns);
    cr_assert_eq(row.wait_ns, wanted.wait_ns);
    cr_assert_eq(row.input_ns, wanted.input_ns);
    cr_assert_eq(row.overhead_ns, wanted.overhead_ns);
    cr_assert_eq(row.bytes_sent, wanted.bytes_sent);
}

Test(record, ranks_are_added_up_into_one_row_a_step)
{
    gs_record *record = gs_record_create(3, false);
    add(record, 0, 2, 70, 1);
    add(record, 0, 0, 50, 2);
    add(record, 1, 0, 300, 4);
    add(record, 0, 1, 60, 8);
    cr_assert_eq(gs_record_step_count(record), 2);
    assert_row(gs_record_step_at(record, 0), 0, GS_ALL_RANKS, 50, 11); /* 1 + 2 + 8 */
    assert_row(gs_record_step_at(record, 1), 1, GS_ALL_RANKS, 300, 4);
    gs_record_destroy(record);
}

Test(record, kept_ranks_come_by_step_then_rank_whatever_the_order_of_arrival)
{
    gs_record *record = gs_record_create(2, true);
    add(record, 0, 1, 5, 1);
    add(record, 1, 1, 500, 2);
    add(record, 0, 0, 3, 3);
    assert_row(gs_record_step_at(record, 0), 0, 0, 3, 3); /* read between writes */
    add(record, 2, 1, 900, 4);
    add(record, 1, 0, 400, 5);
    cr_assert_eq(gs_record_step_count(record), 5);
    assert_row(gs_record_step_at(record, 1), 0, 1, 5, 1);
    assert_row(gs_record_step_at(record, 2), 1, 0, 400, 5);
    assert_row(gs_record_step_at(record, 3), 1, 1, 500, 2);
    assert_row(gs_record_step_at(record, 4), 2, 1, 900, 4);
    gs_record_destroy(record);
}

Test(record, a_late_rank_fills_in_a_step_that_others_skipped)
{
    gs_record *record = gs_record_create(2, false);
    add(record, 0, 0, 1, 1);
    add(record, 7, 0, 2, 2);
    add(record, 3, 1, 3, 4);
    cr_assert_eq(gs_record_step_count(record), 3);
    cr_assert_eq(gs_record_step_at(record, 1).step, 3);
    cr_assert_eq(gs_record_step_at(record, 2).step, 7);
    gs_record_destroy(record);
}

Test(record, means_are_over_the_ranks_that_did_the_step_and_do_not_depend_on_what_is_kept)
{
    for (int keep = 0; keep < 2; keep++) {
        gs_record *record = gs_record_create(3, keep == 1);
        add(record, 0, 2, 0, 1);
        add(record, 0, 0, 0, 2);
        add(record, 0, 1, 0, 6);
        add(record, 1, 1, 0, 7);
        cr_assert_eq(gs_record_mean_count(record), 2);
        cr_assert_eq(gs_record_mean_ns(record, 0), 303.0); /* 101 (1 + 2 + 6) / 3 */
        cr_assert_eq(gs_record_mean_ns(record, 1), 707.0);
        gs_record_destroy(record);
    }
}

Test(record, totals_of_a_rank_count_its_steps_and_keep_its_first_start)
{
    gs_record *record = gs_record_create(2, false);
    add(record, 4, 1, 1000, 3);
    add(record, 0, 0, 20, 1);
    add(record, 5, 1, 2000, 10);
    assert_row(gs_record_rank_total(record, 1), 2, 1, 1000, 13);
    assert_row(gs_record_rank_total(record, 0), 1, 0, 20, 1);
    gs_record_destroy(record);
}

Test(record, ten_thousand_steps_stay_in_order_and_sum_up)
{
    gs_record *record = gs_record_create(2, true);
    for (int64_t step = 0; step < 10000; step++) {
        add(record, step, 1, 2 * step, 1);
    }
    for (int64_t step = 0; step < 10000; step++) {
        add(record, step, 0, 2 * step + 1, 1);
    }
    cr_assert_eq(gs_record_step_count(record), 20000);
    assert_row(gs_record_step_at(record, 14690), 7345, 0, 14691, 1);
    assert_row(gs_record_step_at(record, 14691), 7345, 1, 14690, 1);
    cr_assert_eq(gs_record_rank_total(record, 0).duration_ns, 1010000);
    gs_record_destroy(record);
}

Test(record, curve_rows_are_kept_as_they_came)
{
    gs_record *record = gs_record_create(1, false);
    cr_assert_eq(gs_record_curve_count(record), 0);
    gs_curve_row first = {
        .step = 0, .time_ns = 0, .samples = 0, .loss = 2.3, .accuracy = (double)NAN};
    gs_curve_row second = {
        .step = 20, .time_ns = 977, .samples = 1280, .loss = 0.4, .accuracy = 0.91};
    cr_assert_eq(gs_record_curve(record, &first), GS_OK);
    cr_assert_eq(gs_record_curve(record, &second), GS_OK);
    cr_assert_eq(gs_record_curve_count(record), 2);
    cr_assert(isnan(gs_record_curve_at(record, 0).accuracy));
    cr_assert_eq(gs_record_curve_at(record, 1).samples, 1280);
    cr_assert_eq(gs_record_curve_at(record, 1).accuracy, 0.91);
    gs_record_destroy(record);
}

Test(record, parts_that_miss_a_nanosecond_are_a_programmer_error, .signal = SIGABRT)
{
    gs_record *record = gs_record_create(1, false);
    gs_step_row row = row_of(0, 0, 0, 1);
    row.wait_ns--;
    cr_assert_eq(gs_record_step(record, &row), GS_OK);
}

Test(record, a_step_twice_on_one_rank_is_a_programmer_error, .signal = SIGABRT)
{
    gs_record *record = gs_record_create(1, false);
    add(record, 3, 0, 0, 1);
    add(record, 3, 0, 0, 1);
}

/* 200 steps make each array grow twice; after a failure the record is as before, so each row is in
 * exactly once when the call is repeated. */
Test(record, a_failed_allocation_is_told_and_the_row_can_be_added_again)
{
    for (int64_t after = 0; after < 3; after++) {
        test_fail_allocations(after);
        gs_record *none = gs_record_create(2, true);
        test_fail_allocations(-1);
        cr_assert_null(none);
    }
    gs_record *record = gs_record_create(1, true);
    int64_t failures = 0;
    for (int64_t step = 0; step < 200; step++) {
        gs_step_row row = row_of(step, 0, step, 1);
        gs_curve_row point = {.step = step, .samples = 64 * step};
        for (int64_t after = 0; after < 2; after++) {
            test_fail_allocations(after);
            gs_status status = gs_record_step(record, &row);
            test_fail_allocations(-1);
            failures += status != GS_OK;
            if (status == GS_OK) {
                break;
            }
            cr_assert_eq(status, GS_ENOMEM);
        }
        if (gs_record_step_count(record) == step) {
            cr_assert_eq(gs_record_step(record, &row), GS_OK);
        }
        test_fail_allocations(0);
        gs_status status = gs_record_curve(record, &point);
        test_fail_allocations(-1);
        if (status != GS_OK) {
            cr_assert_eq(status, GS_ENOMEM);
            cr_assert_eq(gs_record_curve(record, &point), GS_OK);
        }
    }
    cr_assert_geq(failures, 4);
    cr_assert_eq(gs_record_step_count(record), 200);
    cr_assert_eq(gs_record_curve_count(record), 200);
    cr_assert_eq(gs_record_rank_total(record, 0).duration_ns, 101 * 200);
    gs_record_destroy(record);
}

Test(record, destroying_nothing_is_allowed)
{
    gs_record_destroy(NULL);
}
