#include <criterion/criterion.h>

#include "tools/run_wire.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static gs_outcome make(void)
{
    gs_outcome outcome = {.started = true, .status = GS_RUN_OK, .wall_ns = 17};
    outcome.values = calloc(gs_metric_count(), sizeof *outcome.values);
    cr_assert_not_null(outcome.values);
    outcome.values[1] = 0.75;
    outcome.record = gs_record_create(1, false);
    cr_assert_not_null(outcome.record);
    gs_step_row row = {.step = 0, .rank = 0, .duration_ns = 11, .compute_ns = 11};
    cr_assert_eq(gs_record_step(outcome.record, &row), GS_OK);
    outcome.result.result_hash = 0x1234;
    return outcome;
}

Test(run_wire, an_outcome_comes_through_a_pipe_after_progress)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    gs_outcome sent = make();
    cr_assert(gs_wire_send_progress(ends[1], 0.25));
    cr_assert(gs_wire_send_progress(ends[1], 0.5));
    cr_assert(gs_wire_send_outcome(ends[1], &sent));
    close(ends[1]);
    gs_wire wire = {0};
    gs_outcome got = {0};
    while (gs_wire_receive(&wire, ends[0], &got)) {
    }
    cr_assert(wire.has_outcome);
    cr_assert_float_eq(wire.share, 0.5, 0.0);
    cr_assert_eq(got.wall_ns, 17);
    cr_assert_eq(got.result.result_hash, 0x1234);
    cr_assert_float_eq(got.values[1], 0.75, 0.0);
    cr_assert_eq(gs_record_step_at(got.record, 0).duration_ns, 11);
    gs_wire_fini(&wire);
    gs_outcome_fini(&got);
    gs_outcome_fini(&sent);
    close(ends[0]);
}

Test(run_wire, a_sender_that_dies_in_the_middle_leaves_no_outcome)
{
    int from[2];
    int to[2];
    static char bytes[65536];
    cr_assert_eq(pipe(from), 0);
    gs_outcome sent = make();
    cr_assert(gs_wire_send_outcome(from[1], &sent));
    ssize_t length = read(from[0], bytes, sizeof bytes);
    cr_assert_gt(length, 1);
    cr_assert_eq(pipe(to), 0);
    cr_assert_eq(write(to[1], bytes, (size_t)length - 1), length - 1);
    close(to[1]);
    gs_wire wire = {0};
    gs_outcome got = {0};
    while (gs_wire_receive(&wire, to[0], &got)) {
    }
    cr_assert_not(wire.has_outcome);
    cr_assert_not(got.started);
    gs_wire_fini(&wire);
    gs_outcome_fini(&sent);
}
