/* Pipelines small enough to be played by hand. */
#include "sim/op_replay.h"

#include "tests/sim/op_fixture.h"

static gs_arena arena;
static gs_op_gather gather = {.file = "small.csv"};
static gs_op_replay replay;
static gs_error err;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_op_gather_fini(&gather);
    gs_arena_fini(&arena);
}

TestSuite(op_replay, .init = setup, .fini = teardown);

/* Makes the replay of what was gathered. */
static gs_status make(void)
{
    static gs_op_trace trace;
    trace = finish(&gather, &arena);
    return gs_op_replay_make(&trace, &arena, &replay, &err);
}

static gs_time_ns step_of(gs_op_select select)
{
    gs_time_ns step_ns[2];
    cr_assert_leq(replay.graph.step_count, 2);
    gs_op_replay_run(&replay, select, step_ns);
    return step_ns[0];
}

/* Copy 1: gather 1, forward 4, backward 14, then the reduction of 5 and the optimizer of 3; the 2
 * ms before the optimizer are launch delay. */
Test(op_replay, a_step_is_replayed_without_its_gaps)
{
    add_step(&gather, TWO_COPIES, 7);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(replay.graph.step_count, 1);
    cr_assert_eq(replay.graph.steps[0], 7);
    cr_assert_eq(replay.recorded_ns[0], 29 * GS_NS_PER_MS);
    cr_assert_eq(step_of(GS_OP_SELECT_ALL), 27 * GS_NS_PER_MS);
    cr_assert_eq(replay.clock_error_count, 0);
}

/* The wait of 6 ms is no part of the reduction: usual are 5 ms. Compute: means of 2 and 4, 10 and
 * 14. Ideal: 1 + 3 + 12 + 5 + 3. */
Test(op_replay, usual_times_are_those_without_waiting)
{
    add_step(&gather, TWO_COPIES, 0);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(replay.usual_ns[GS_OP_FORWARD_COMPUTE], 3 * GS_NS_PER_MS);
    cr_assert_eq(replay.usual_ns[GS_OP_BACKWARD_COMPUTE], 12 * GS_NS_PER_MS);
    cr_assert_eq(replay.usual_ns[GS_OP_GRADS_SCATTER], 5 * GS_NS_PER_MS);
    cr_assert_eq(step_of(GS_OP_SELECT_NONE), 24 * GS_NS_PER_MS);
}

/* Mean against median: of three steps whose reduction takes 5, 5 and 50 ms the usual one is 5; of
 * three whose optimizer takes 3, 3 and 48 ms it is 18. */
Test(op_replay, compute_has_its_mean_and_collectives_their_median)
{
    op_row rows[sizeof TWO_COPIES / sizeof *TWO_COPIES];
    memcpy(rows, TWO_COPIES, sizeof rows);
    add_step(&gather, rows, 0);
    add_step(&gather, rows, 1);
    for (op_row *row = rows; row->type != NULL; row++) {
        row->duration_ms += strcmp(row->type, "grads-reduce-scatter") == 0 ? 45 : 0;
        row->start_ms += strcmp(row->type, "optimizer") == 0 ? 45 : 0;
        row->duration_ms += strcmp(row->type, "optimizer") == 0 ? 45 : 0;
    }
    add_step(&gather, rows, 2);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(replay.graph.step_count, 3);
    cr_assert_eq(replay.usual_ns[GS_OP_GRADS_SCATTER], 5 * GS_NS_PER_MS);
    cr_assert_eq(replay.usual_ns[GS_OP_OPTIMIZER], 18 * GS_NS_PER_MS);
}

/* Played by hand: F0 0-2, over the wire 2-3, stage 1 F0 3-7, receives 7-8, F1 8-12, B0 12-18, B1
 * 18-24, its gradient 24-25, stage 0 B1 25-28. */
Test(op_replay, a_pipeline_passes_micro_batches_on)
{
    add_step(&gather, TWO_STAGES, 0);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(replay.usual_ns[GS_OP_FORWARD_SEND], GS_NS_PER_MS);
    cr_assert_eq(replay.usual_ns[GS_OP_BACKWARD_RECV], GS_NS_PER_MS);
    cr_assert_eq(step_of(GS_OP_SELECT_ALL), 28 * GS_NS_PER_MS);
}

/* Usual: forward (2 + 2 + 4 + 4) / 4 = 3, backward 4.5. Stage 0 F0 0-3, F1 3-6; stage 1 F0 4-7, F1
 * 8-11, B0 11-15.5, B1 15.5-20; stage 0 B0 16.5-21, posts its receive at 21, so B1 22-26.5. */
Test(op_replay, a_receive_is_posted_when_the_micro_batch_before_is_done)
{
    add_step(&gather, TWO_STAGES, 0);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(step_of(GS_OP_SELECT_NONE), 26500 * GS_NS_PER_US);
}

/* Recorded times only in stage 1 (4 and 6): F0 4-8, F1 9-13, B0 13-19, B1 19-25, then 25-26 and
 * 26-30.5. All but those of stage 1 recorded: F0 3-6, F1 7-10, B0 10-14.5, B1 14.5-19, 20-23. */
Test(op_replay, a_stage_can_be_added_or_taken_away)
{
    gs_op_select only = {.share = -1, .dp_rank = -1, .stage = 1};
    gs_op_select without = {.share = -1, .dp_rank = -1, .stage = 1, .others = true};
    add_step(&gather, TWO_STAGES, 0);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(step_of(only), 30500 * GS_NS_PER_US);
    cr_assert_eq(step_of(without), 23 * GS_NS_PER_MS);
}

/* With recorded times and no gap in the record the timeline of the replay is the recorded one; a
 * transfer begins when both sides are there. */
Test(op_replay, the_timeline_of_a_replay_can_be_read)
{
    add_step(&gather, TWO_STAGES, 0);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    step_of(GS_OP_SELECT_ALL);
    for (uint32_t i = 0; i < replay.graph.node_count; i++) {
        gs_op_span span = gs_op_replay_span(&replay, i);
        const op_row *row = &TWO_STAGES[replay.graph.op[i]];
        gs_time_ns end_ms = row->start_ms + row->duration_ms;
        cr_assert_eq(span.end_ns, end_ms * GS_NS_PER_MS, "%s %d of stage %d", row->type,
                     (int)row->sequence, (int)row->stage);
        bool transfers = strstr(row->type, "compute") == NULL;
        cr_assert_eq(span.start_ns,
                     (transfers ? end_ms - 1 : (int64_t)row->start_ms) * GS_NS_PER_MS);
    }
}

Test(op_replay, one_type_of_op_or_some_ranks_can_be_chosen)
{
    bool second[] = {false, true};
    gs_op_select backward = {.share = GS_OP_BACKWARD_COMPUTE, .dp_rank = -1, .stage = -1};
    gs_op_select worker = {.share = -1, .dp_rank = -1, .stage = -1, .workers = second};
    gs_op_select first = {.share = -1, .dp_rank = 0, .stage = -1};
    add_step(&gather, TWO_COPIES, 0);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(step_of(backward), 26 * GS_NS_PER_MS); /* 1 + 3 + 14 + 5 + 3 */
    cr_assert_eq(step_of(worker), 27 * GS_NS_PER_MS);
    cr_assert_eq(step_of(first), 24 * GS_NS_PER_MS); /* its 2 + 10 hide behind the usual 3 + 12 */
}

/* --- what is damaged ------------------------------------------------------------------------- */

static void drop(op_row *rows, size_t index)
{
    size_t at = index;
    for (; rows[at].type != NULL; at++) {
        rows[at] = rows[at + 1];
    }
}

/* Whichever row is missing, the step must not be played as if nothing had been. */
Test(op_replay, a_step_without_one_of_its_ops_is_left_out)
{
    for (size_t i = 0; TWO_STAGES[i].type != NULL; i++) {
        op_row rows[sizeof TWO_STAGES / sizeof *TWO_STAGES];
        memcpy(rows, TWO_STAGES, sizeof rows);
        drop(rows, i);
        add_step(&gather, TWO_STAGES, 3);
        add_step(&gather, rows, 4);
        cr_assert_eq(make(), GS_OK, "%s", err.text);
        cr_assert_eq(replay.graph.step_count, 1, "without row %zu", i);
        cr_assert_eq(replay.graph.left_out_count, 1);
        cr_assert_eq(replay.graph.left_out_step, 4);
        cr_assert_neq(replay.graph.left_out_reason[0], '\0');
    }
}

Test(op_replay, a_collective_that_a_rank_lacks_is_named)
{
    op_row rows[sizeof TWO_COPIES / sizeof *TWO_COPIES];
    memcpy(rows, TWO_COPIES, sizeof rows);
    drop(rows, 8);
    add_step(&gather, rows, 5);
    cr_assert_eq(make(), GS_EMISMATCH);
    cr_assert(strstr(err.text, "small.csv: none of 1 steps can be replayed: step 5: "
                               "grads-reduce-scatter 0 of dp_rank 0 stage 0 has 1 of 2 members"),
              "%s", err.text);
}

Test(op_replay, an_op_that_is_there_twice_is_named)
{
    add_step(&gather, TWO_COPIES, 5);
    add_step(&gather, (op_row[]){{1, 0, "optimizer", 0, 40, 3}, {0}}, 5);
    cr_assert_eq(make(), GS_EMISMATCH);
    cr_assert(strstr(err.text, "dp_rank 1 stage 0 has optimizer 0 twice"), "%s", err.text);
}

Test(op_replay, a_send_from_the_last_stage_is_refused)
{
    add_step(&gather, TWO_STAGES, 5);
    add_step(&gather, (op_row[]){{0, 1, "forward-send", 0, 7, 1}, {0}}, 5);
    cr_assert_eq(make(), GS_EMISMATCH);
    cr_assert(strstr(err.text, "stage 1 of 2 has forward-send"), "%s", err.text);
}

/* Stage 0 computes B0 before F0, but needs stage 1's gradient of it, which needs F0. */
Test(op_replay, ops_that_wait_for_each_other_are_refused)
{
    op_row rows[sizeof TWO_STAGES / sizeof *TWO_STAGES];
    memcpy(rows, TWO_STAGES, sizeof rows);
    rows[5].start_ms = -5;
    add_step(&gather, rows, 5);
    cr_assert_eq(make(), GS_EMISMATCH);
    cr_assert(strstr(err.text, "waits for itself"), "%s", err.text);
}

Test(op_replay, one_rank_of_many_is_refused_with_what_is_missing)
{
    add_step(&gather, (op_row[]){{1, 2, "forward-compute", 0, 0, 2}, {0}}, 0);
    cr_assert_eq(make(), GS_EMISMATCH);
    cr_assert(strstr(err.text, "among them dp_rank 0 stage 0 of 2 dp_ranks and 3 stages"), "%s",
              err.text);
}

Test(op_replay, a_rank_that_lacks_a_step_leaves_the_step_out)
{
    op_row rows[sizeof TWO_COPIES / sizeof *TWO_COPIES];
    memcpy(rows, TWO_COPIES, sizeof rows);
    rows[5] = (op_row){0};
    add_step(&gather, TWO_COPIES, 1);
    add_step(&gather, rows, 2);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(replay.graph.step_count, 1);
    cr_assert_str_eq(replay.graph.left_out_reason, "dp_rank 1 stage 0 has no rows in it");
}

Test(op_replay, unknown_types_and_interleaved_chunks_are_refused)
{
    add_step(&gather, (op_row[]){{0, 0, "expert-all-to-all", 0, 0, 2}, {0}}, 0);
    cr_assert_eq(make(), GS_EUNSUPPORTED);
    cr_assert(strstr(err.text, "\"expert-all-to-all\""), "%s", err.text);
    gs_traced_op op = {.chunk = 1};
    cr_assert_eq(gs_op_gather_type(&gather, "gc", 2, &op.type, &err), GS_OK);
    cr_assert_eq(gs_op_gather_add(&gather, &op, &err), GS_OK);
    cr_assert_eq(make(), GS_EUNSUPPORTED);
    cr_assert(strstr(err.text, "model chunk 1"), "%s", err.text);
}

/* Copy 1's reduction starts at 19, copy 0's ends at 17: clocks 2 ms apart at least. */
Test(op_replay, clocks_that_disagree_a_little_are_counted)
{
    op_row rows[sizeof TWO_COPIES / sizeof *TWO_COPIES];
    memcpy(rows, TWO_COPIES, sizeof rows);
    rows[3].duration_ms = 4;
    add_step(&gather, rows, 0);
    cr_assert_eq(make(), GS_OK, "%s", err.text);
    cr_assert_eq(replay.clock_error_count, 1);
    cr_assert_eq(replay.clock_error_ns, 2 * GS_NS_PER_MS);
}

/* Copy 0 ends its gather at 1 ms, copy 1 starts it two hours later. */
Test(op_replay, clocks_hours_apart_are_refused)
{
    op_row rows[sizeof TWO_COPIES / sizeof *TWO_COPIES];
    memcpy(rows, TWO_COPIES, sizeof rows);
    add_step(&gather, rows, 0);
    for (size_t i = 5; i < 10; i++) {
        rows[i].start_ms += 7200 * INT64_C(1000);
    }
    add_step(&gather, rows, 1);
    cr_assert_eq(make(), GS_EMISMATCH);
    cr_assert(strstr(err.text, "clocks of ranks differ by 7199.999 s"), "%s", err.text);
}

/* The clock of one rank is off in all steps: each step would seem two hours long. */
Test(op_replay, one_clock_that_is_hours_off_in_all_steps_is_refused)
{
    op_row rows[sizeof TWO_COPIES / sizeof *TWO_COPIES];
    memcpy(rows, TWO_COPIES, sizeof rows);
    for (size_t i = 5; i < 10; i++) {
        rows[i].start_ms += 7200 * INT64_C(1000);
    }
    add_step(&gather, rows, 0);
    add_step(&gather, rows, 1);
    cr_assert_eq(make(), GS_EMISMATCH);
    cr_assert(strstr(err.text, "clocks of ranks differ by 7199.999 s"), "%s", err.text);
}

Test(op_replay, times_whose_sum_does_not_fit_are_refused)
{
    add_step(&gather,
             (op_row[]){{0, 0, "forward-compute", 0, 0, INT64_C(1000000000000)},
                        {0, 0, "backward-compute", 0, 0, 1},
                        {0, 0, "gc", 0, 0, 1},
                        {0, 0, "gc", 1, 0, 1},
                        {0, 0, "gc", 2, 0, 1},
                        {0}},
             0);
    cr_assert_eq(make(), GS_ELIMIT);
    cr_assert(strstr(err.text, "are they seconds?"), "%s", err.text);
}

/* Every allocation fails in turn; the answer is GS_ENOMEM and nothing leaks (address sanitizer). */
Test(op_replay, without_memory_it_says_so)
{
    add_step(&gather, TWO_STAGES, 0);
    gs_op_trace trace = finish(&gather, &arena);
    gs_status status = GS_ENOMEM;
    for (int64_t after = 0; status == GS_ENOMEM; after++) {
        gs_arena own;
        gs_arena_init(&own);
        test_fail_allocations(after);
        status = gs_op_replay_make(&trace, &own, &replay, &err);
        test_fail_allocations(-1);
        gs_arena_fini(&own);
        cr_assert_lt(after, 1000);
    }
    cr_assert_eq(status, GS_OK);
}
