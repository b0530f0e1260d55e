#include "live/live_log.h"

#include <criterion/criterion.h>

static gs_layout one_group(void)
{
    return (gs_layout){.communicator_count = 1};
}

static void expect_parts(const gs_step_row *row, const gs_step_row *wanted)
{
    cr_expect_eq(row->step, wanted->step);
    cr_expect_eq(row->rank, wanted->rank);
    cr_expect_eq(row->start_ns, wanted->start_ns, "start of rank %d", wanted->rank);
    cr_expect_eq(row->duration_ns, wanted->duration_ns, "rank %d: %lld", wanted->rank,
                 (long long)row->duration_ns);
    cr_expect_eq(row->compute_ns, wanted->compute_ns, "compute of rank %d: %lld", wanted->rank,
                 (long long)row->compute_ns);
    cr_expect_eq(row->exposed_comm_ns, wanted->exposed_comm_ns, "exposed of rank %d: %lld",
                 wanted->rank, (long long)row->exposed_comm_ns);
    cr_expect_eq(row->wait_ns, wanted->wait_ns, "wait of rank %d: %lld", wanted->rank,
                 (long long)row->wait_ns);
    cr_expect_eq(row->input_ns, wanted->input_ns);
    cr_expect_eq(row->overhead_ns, wanted->overhead_ns, "overhead of rank %d: %lld", wanted->rank,
                 (long long)row->overhead_ns);
    cr_expect_eq(row->bytes_sent, wanted->bytes_sent);
    cr_expect_eq(row->compute_ns + row->exposed_comm_ns + row->wait_ns + row->input_ns +
                     row->overhead_ns,
                 row->duration_ns, "parts add up");
}

static gs_record *rows_of(gs_live_log *log, uint32_t ranks, gs_time_ns *out_end_ns)
{
    gs_error err = {.text = ""};
    gs_layout layout = one_group();
    gs_record *record = gs_record_create(ranks, true);
    cr_assert_not_null(record);
    cr_assert_eq(gs_live_log_rows(log, &layout, ranks, record, out_end_ns, &err), GS_OK, "%s",
                 err.text);
    return record;
}

/* Rank 0 waits 40 ns for input, computes from 140 to 300 and then for rank 1, which comes to the
 * all-reduce at 500; both get it 150 and 160 ns later. Then rank 0 runs its optimizer for 20 ns,
 * rank 1 sends a message for 30. What is left until they drain is overhead. Rank 1's entries come
 * from another process, after all of rank 0's. */
Test(live_log, entries_of_two_processes_become_rows_whose_parts_are_known_by_hand)
{
    const gs_live_entry entries[] = {
        {.act = GS_ACT_STEP, .at_ns = 100},
        {.act = GS_ACT_INPUT, .at_ns = 299, .from_ns = 100, .to_ns = 140},
        {.act = GS_ACT_COMPUTE, .at_ns = 300, .from_ns = 140, .to_ns = 300},
        {.act = GS_ACT_OP_START, .at_ns = 300},
        {.act = GS_ACT_OP_END, .at_ns = 650},
        {.act = GS_ACT_KERNEL, .at_ns = 660, .from_ns = 660, .to_ns = 680},
        {.act = GS_ACT_DRAINED, .at_ns = 700, .amount = 4000},
        {.act = GS_ACT_STEP, .at_ns = 110, .rank = 1},
        {.act = GS_ACT_COMPUTE, .at_ns = 500, .from_ns = 110, .to_ns = 500, .rank = 1},
        {.act = GS_ACT_OP_START, .at_ns = 500, .rank = 1},
        {.act = GS_ACT_OP_END, .at_ns = 660, .rank = 1},
        {.act = GS_ACT_SEND_START, .at_ns = 670, .which = 3, .rank = 1},
        {.act = GS_ACT_SEND_END, .at_ns = 700, .which = 3, .rank = 1},
        {.act = GS_ACT_DRAINED, .at_ns = 730, .amount = 5000, .rank = 1},
    };
    gs_live_log log = {0};
    gs_time_ns end_ns;
    cr_assert(gs_live_log_append(&log, entries, sizeof entries / sizeof *entries));
    gs_record *record = rows_of(&log, 2, &end_ns);
    cr_assert_eq(gs_record_step_count(record), 2);
    gs_step_row first = gs_record_step_at(record, 0), second = gs_record_step_at(record, 1);
    /* Overhead: from 650 to 660 and from 680 to 700. */
    expect_parts(&first, &(gs_step_row){.rank = 0,
                                        .start_ns = 100,
                                        .duration_ns = 600,
                                        .input_ns = 40,
                                        .compute_ns = 160 + 20,
                                        .wait_ns = 200,
                                        .exposed_comm_ns = 150,
                                        .overhead_ns = 30,
                                        .bytes_sent = 4000});
    /* Overhead: from 660 to 670 and from 700 to 730. */
    expect_parts(&second, &(gs_step_row){.rank = 1,
                                         .start_ns = 110,
                                         .duration_ns = 620,
                                         .compute_ns = 390,
                                         .exposed_comm_ns = 160 + 30,
                                         .overhead_ns = 40,
                                         .bytes_sent = 5000});
    cr_expect_eq(end_ns, 730);
    gs_record_destroy(record);
    gs_live_log_fini(&log);
}

/* Two steps of one rank: the second begins where the first ends, and bytes are counted from there
 * on. The op of the first ends in the second; it hides behind compute but for 50 ns. */
Test(live_log, an_op_that_goes_on_over_a_step_is_cut_where_the_step_ends)
{
    const gs_live_entry entries[] = {
        {.act = GS_ACT_STEP, .at_ns = 0},
        {.act = GS_ACT_COMPUTE, .at_ns = 100, .from_ns = 0, .to_ns = 100},
        {.act = GS_ACT_OP_START, .at_ns = 100},
        {.act = GS_ACT_STEP, .at_ns = 110, .amount = 700},
        {.act = GS_ACT_COMPUTE, .at_ns = 210, .from_ns = 110, .to_ns = 210},
        {.act = GS_ACT_OP_END, .at_ns = 260},
        {.act = GS_ACT_DRAINED, .at_ns = 260, .amount = 1000},
    };
    gs_live_log log = {0};
    gs_time_ns end_ns;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        cr_assert(gs_live_log_add(&log, &entries[i]));
    }
    gs_record *record = rows_of(&log, 1, &end_ns);
    cr_assert_eq(gs_record_step_count(record), 2);
    gs_step_row first = gs_record_step_at(record, 0), second = gs_record_step_at(record, 1);
    expect_parts(&first, &(gs_step_row){.duration_ns = 110,
                                        .compute_ns = 100,
                                        .exposed_comm_ns = 10,
                                        .bytes_sent = 700});
    expect_parts(&second, &(gs_step_row){.step = 1,
                                         .start_ns = 110,
                                         .duration_ns = 150,
                                         .compute_ns = 100,
                                         .exposed_comm_ns = 50,
                                         .bytes_sent = 300});
    gs_record_destroy(record);
    gs_live_log_fini(&log);
}

/* The optimizer of the first step goes on for 40 ns after the second has begun, and until 150 the
 * row is that of the first; what is sent meanwhile hides behind it. The last row ends with its own,
 * after the rank has drained. */
Test(live_log, a_row_ends_when_the_optimizer_of_its_step_has)
{
    const gs_live_entry entries[] = {
        {.act = GS_ACT_STEP, .at_ns = 0},
        {.act = GS_ACT_COMPUTE, .at_ns = 100, .from_ns = 0, .to_ns = 100},
        {.act = GS_ACT_KERNEL, .at_ns = 101, .from_ns = 100, .to_ns = 150},
        {.act = GS_ACT_STEP, .at_ns = 110, .from_ns = 150, .amount = 9},
        {.act = GS_ACT_SEND_START, .at_ns = 120},
        {.act = GS_ACT_SEND_END, .at_ns = 140},
        {.act = GS_ACT_COMPUTE, .at_ns = 250, .from_ns = 150, .to_ns = 250},
        {.act = GS_ACT_KERNEL, .at_ns = 251, .from_ns = 250, .to_ns = 300},
        {.act = GS_ACT_DRAINED, .at_ns = 260, .from_ns = 300, .amount = 10},
    };
    gs_live_log log = {0};
    gs_time_ns end_ns;
    cr_assert(gs_live_log_append(&log, entries, sizeof entries / sizeof *entries));
    gs_record *record = rows_of(&log, 1, &end_ns);
    cr_assert_eq(gs_record_step_count(record), 2);
    for (int64_t step = 0; step < 2; step++) {
        gs_step_row row = gs_record_step_at(record, step);
        expect_parts(&row, &(gs_step_row){.step = step,
                                          .start_ns = 150 * step,
                                          .duration_ns = 150,
                                          .compute_ns = 150,
                                          .bytes_sent = step == 0 ? 9 : 1});
    }
    cr_expect_eq(end_ns, 300);
    gs_record_destroy(record);
    gs_live_log_fini(&log);
}

Test(live_log, a_run_that_ended_early_has_the_steps_that_were_whole)
{
    const gs_live_entry entries[] = {
        {.act = GS_ACT_STEP, .at_ns = 0},
        {.act = GS_ACT_COMPUTE, .at_ns = 100, .from_ns = 0, .to_ns = 100},
        {.act = GS_ACT_STEP, .at_ns = 120, .amount = 9},
        {.act = GS_ACT_OP_START, .at_ns = 130},
    };
    gs_live_log log = {0};
    gs_time_ns end_ns;
    cr_assert(gs_live_log_append(&log, entries, sizeof entries / sizeof *entries));
    gs_record *record = rows_of(&log, 1, &end_ns);
    cr_assert_eq(gs_record_step_count(record), 1);
    gs_step_row row = gs_record_step_at(record, 0);
    expect_parts(
        &row,
        &(gs_step_row){.duration_ns = 120, .compute_ns = 100, .overhead_ns = 20, .bytes_sent = 9});
    cr_expect_eq(end_ns, 0);
    gs_record_destroy(record);
    gs_live_log_fini(&log);
}
