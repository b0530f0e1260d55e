/* gs_dot and gs_agree through the driver: what comes of them, the words of each rule that is
 * broken, and agreements of many members whose notes come in any order. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "strategies/world.h"
#include "tests/strategies/probe_host.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "worker 0, step 0, wrong: "

enum { OWN = GS_OWN, ALL = PROBE_ELEMENTS, LABEL = 7 };

static const gs_peer self = {GS_WORKER, 0};
static const gs_peer other = {GS_WORKER, 1};
static const double values[GS_AGREE_VALUES] = {1.5, -0.0, 4.0};
static probe_host host;
static gs_event heard; /* op_done last */
static int heard_count;

static void keep(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state;
    heard = *event;
    heard_count++;
}

static void setup(void)
{
    probe_host_init(&host);
    host.layout.communicators[0].kinds = 1U << GS_ALL_REDUCE | GS_AGREES;
    host.strategy.op_done = keep;
    heard_count = 0;
}

static void teardown(void)
{
    probe_host_fini(&host);
}

TestSuite(driver_signals, .init = setup, .fini = teardown);

#define HOOK(name, body)                                                                           \
    static void name(gs_world *world, void *state, const gs_event *event)                          \
    {                                                                                              \
        (void)state, (void)event;                                                                  \
        body;                                                                                      \
    }

typedef void hook(gs_world *world, void *state, const gs_event *event);

static gs_slice part(uint32_t vector, int64_t offset, int64_t length)
{
    return (gs_slice){vector, offset, length};
}

static void expect(gs_status code, const char *text)
{
    cr_assert_eq(host.failures, 1, "%d failures", host.failures);
    cr_expect_eq(host.error.code, code);
    cr_expect_str_eq(host.error.text, text);
}

static void run_after_backward(hook *asks)
{
    host.strategy.backward_done = asks;
    probe_host_make(&host, self);
    probe_host_backward(&host);
}

/* It comes when the first bucket, [0, 30) of GRAD, is ready. */
static void run_in_backward(hook *asks)
{
    host.strategy.bucket_ready = asks;
    probe_host_make(&host, self);
    (void)probe_host_step(&host);
    probe_host_units(&host, 1);
}

/* ---------------------------------------------------------------- sums of products */

HOOK(dot, gs_dot(world, part(GS_GRAD, 0, 30), part(OWN, 0, 30), LABEL))

Test(driver_signals, a_sum_of_products_comes_on_a_later_turn)
{
    host.product = 12.25;
    run_in_backward(dot);
    cr_assert_eq(host.failures, 0, "%s", host.error.text);
    cr_expect_eq(heard_count, 0);
    probe_host_sent(&host);
    cr_expect_eq(heard_count, 1);
    cr_expect_eq(heard.cookie, LABEL);
    cr_expect_eq(heard.scalar, 12.25);
}

HOOK(dot_early, gs_dot(world, part(GS_GRAD, 0, 31), part(OWN, 0, 31), 0))

Test(driver_signals, a_sum_of_products_takes_announced_buckets_only)
{
    run_in_backward(dot_early);
    expect(GS_ECONTRACT, PREFIX "dot: GRAD [0, +31) is not ready: use buckets that were announced");
}

HOOK(dot_uneven, gs_dot(world, part(OWN, 0, 30), part(OWN, 30, 29), 0))

Test(driver_signals, a_sum_of_products_has_equal_lengths)
{
    run_after_backward(dot_uneven);
    expect(GS_ECONTRACT, PREFIX "dot: lengths 30 and 29 differ");
}

HOOK(dot_lent, gs_recv(world, other, 1, part(OWN, 5, 1), 0);
     gs_dot(world, part(OWN, 0, 9), part(GS_PARAM, 0, 9), 0))

Test(driver_signals, a_sum_of_products_reads_nothing_that_is_received_into)
{
    run_after_backward(dot_lent);
    expect(GS_ECONTRACT, PREFIX "dot: vector 2 [0, +9) is lent to request 1");
}

HOOK(dot_twice, gs_dot(world, part(OWN, 0, 9), part(OWN, 0, 9), 0);
     gs_vec(world, GS_VOP_scale, part(OWN, 0, 9), part(OWN, 0, 9), 2.0))

Test(driver_signals, a_sum_of_products_lends_nothing)
{
    run_after_backward(dot_twice);
    cr_expect_eq(host.failures, 0, "%s", host.error.text);
    cr_expect_eq(host.vecs, 1);
}

HOOK(dot_and_leave, gs_dot(world, part(OWN, 0, 9), part(OWN, 0, 9), 4); gs_end_step(world))
HOOK(leave, gs_drained(world))

Test(driver_signals, nobody_drains_before_a_sum_of_products_has_come)
{
    host.strategy.quiesce = leave;
    run_after_backward(dot_and_leave);
    probe_host_quiesce(&host);
    expect(GS_ECONTRACT, "worker 0, step 1, wrong: drained: not yet: dot 1 (cookie 4)");
}

/* ---------------------------------------------------------------- agreements of two */

HOOK(agree, gs_agree(world, 0, GS_AGREE_SUM, values, LABEL))

Test(driver_signals, two_members_exchange_one_note)
{
    run_after_backward(agree);
    cr_assert_eq(host.notes_sent, 1);
    cr_expect_eq(host.last_note.to.index, 1);
    cr_expect_eq(heard_count, 0);
    probe_host_voice(&host, other, 0, GS_AGREE_SUM, (double[]){0.25, -0.0, -4.0}, LABEL);
    cr_expect_eq(heard_count, 1);
    cr_expect_eq(heard.cookie, LABEL);
    cr_expect_eq(heard.agreed[0], 1.75);
    cr_expect(!signbit(heard.agreed[1]), "there is one zero");
    cr_expect(!signbit(heard.agreed[2]) && heard.agreed[2] == 0.0);
    cr_expect_eq(host.notes_sent, 1);
}

Test(driver_signals, a_note_that_comes_first_is_kept)
{
    host.strategy.backward_done = agree;
    probe_host_make(&host, self);
    probe_host_voice(&host, other, 0, GS_AGREE_SUM, values, LABEL);
    probe_host_backward(&host);
    cr_expect_eq(heard_count, 0, "completion comes on a later turn");
    probe_host_sent(&host);
    cr_expect_eq(heard_count, 1);
    cr_expect_eq(heard.agreed[2], 8.0);
}

static void expect_two(gs_agree_kind kind, const double theirs[3], const double wanted[3])
{
    probe_host_voice(&host, other, 0, kind, theirs, LABEL);
    for (int i = 0; i < GS_AGREE_VALUES; i++) {
        bool both_nan = isnan(wanted[i]) && isnan(heard.agreed[i]);
        cr_expect(both_nan || wanted[i] == heard.agreed[i], "%d: %g", i, heard.agreed[i]);
    }
}

static const double with_nan[GS_AGREE_VALUES] = {(double)NAN, 2.0, (double)NAN};

HOOK(sum_nan, gs_agree(world, 0, GS_AGREE_SUM, with_nan, LABEL))
HOOK(min_nan, gs_agree(world, 0, GS_AGREE_MIN, with_nan, LABEL))
HOOK(max_nan, gs_agree(world, 0, GS_AGREE_MAX, with_nan, LABEL))

Test(driver_signals, a_nan_makes_a_sum_nan)
{
    run_after_backward(sum_nan);
    expect_two(GS_AGREE_SUM, (double[]){1.0, 3.0, (double)NAN},
               (double[]){(double)NAN, 5.0, (double)NAN});
}

Test(driver_signals, min_leaves_a_nan_out)
{
    run_after_backward(min_nan);
    expect_two(GS_AGREE_MIN, (double[]){1.0, 3.0, (double)NAN}, (double[]){1.0, 2.0, (double)NAN});
}

Test(driver_signals, max_leaves_a_nan_out)
{
    run_after_backward(max_nan);
    expect_two(GS_AGREE_MAX, (double[]){1.0, 3.0, (double)NAN}, (double[]){1.0, 3.0, (double)NAN});
}

Test(driver_signals, members_that_ask_for_another_label_end_the_run)
{
    run_after_backward(agree);
    probe_host_voice(&host, other, 0, GS_AGREE_SUM, values, LABEL + 1);
    expect(GS_EMISMATCH,
           PREFIX "agree (sum, label 7, communicator 0): worker 1 asks for sum with label 8; ranks "
                  "must ask for the same agreements in the same order");
}

Test(driver_signals, members_that_ask_for_another_kind_end_the_run)
{
    run_after_backward(agree);
    probe_host_voice(&host, other, 0, GS_AGREE_MAX, values, LABEL);
    expect(GS_EMISMATCH,
           PREFIX "agree (sum, label 7, communicator 0): worker 1 asks for max with label 7; ranks "
                  "must ask for the same agreements in the same order");
}

Test(driver_signals, a_note_that_nobody_waits_for_ends_the_run)
{
    run_after_backward(agree);
    probe_host_voice(&host, self, 0, GS_AGREE_SUM, values, LABEL); /* of oneself */
    expect(GS_EMISMATCH,
           PREFIX "a note of an agreement on communicator 0 came from worker 0, which "
                  "nobody here waits for; ranks must have the same layout");
}

Test(driver_signals, nor_one_on_a_communicator_that_does_not_agree)
{
    run_after_backward(agree);
    probe_host_voice(&host, other, 1, GS_AGREE_SUM, values, LABEL);
    expect(GS_EMISMATCH,
           PREFIX "a note of an agreement on communicator 1 came from worker 1, which "
                  "nobody here waits for; ranks must have the same layout");
}

Test(driver_signals, a_second_note_before_the_first_is_used_is_too_many)
{
    probe_host_make(&host, self);
    probe_host_voice(&host, other, 0, GS_AGREE_SUM, values, LABEL);
    probe_host_voice(&host, other, 0, GS_AGREE_SUM, values, LABEL);
    expect(GS_EMISMATCH,
           PREFIX "a note of an agreement on communicator 0 came from worker 1, which "
                  "nobody here waits for; ranks must have the same layout");
}

HOOK(agree_undeclared, gs_agree(world, 1, GS_AGREE_SUM, values, 0))

Test(driver_signals, agreements_are_declared)
{
    run_after_backward(agree_undeclared);
    expect(GS_ECONTRACT, PREFIX "agree: the layout does not declare it for communicator 1");
}

HOOK(agree_nowhere, gs_agree(world, 2, GS_AGREE_SUM, values, 0))

Test(driver_signals, agreements_have_a_communicator)
{
    run_after_backward(agree_nowhere);
    expect(GS_ECONTRACT, PREFIX "agree: no communicator 2 here; there are 2");
}

HOOK(agree_oddly, gs_agree(world, 0, GS_AGREE_KINDS, values, 0))

Test(driver_signals, agreements_have_three_kinds)
{
    run_after_backward(agree_oddly);
    expect(GS_ECONTRACT, PREFIX "agree: no kind 3; there are 3");
}

HOOK(note_reserved, gs_note(world, other, GS_TAGS_MAX, NULL))
HOOK(send_reserved, gs_send(world, other, GS_TAGS_MAX, part(OWN, 0, 1), NULL, 0))
HOOK(recv_reserved, gs_recv(world, other, 0xffff, part(OWN, 0, 1), 0))
HOOK(note_highest, gs_note(world, other, GS_TAGS_MAX - 1, NULL))

Test(driver_signals, tags_of_agreements_are_reserved)
{
    static hook *const wrong[] = {note_reserved, send_reserved, recv_reserved};
    static const char *const texts[] = {"note: tag 65504", "send: tag 65504", "recv: tag 65535"};
    for (int i = 0; i < 3; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, PREFIX "%s is reserved; tags are 0 to 65503", texts[i]);
        run_after_backward(wrong[i]);
        expect(GS_ECONTRACT, text);
        teardown();
        setup();
    }
    run_after_backward(note_highest);
    cr_expect_eq(host.failures, 0, "%s", host.error.text);
}

Test(driver_signals, who_waits_for_an_agreement_says_for_whom)
{
    run_after_backward(agree);
    char text[160];
    cr_assert(gs_driver_waits_for(host.driver, text, sizeof text));
    cr_expect_str_eq(text, "worker 0, step 0, waits for agree 1 (sum, label 7, communicator 0), "
                           "which waits for worker 1");
}

HOOK(agree_and_leave, gs_agree(world, 0, GS_AGREE_SUM, values, 4); gs_end_step(world))
HOOK(end, gs_end_step(world))

Test(driver_signals, nobody_drains_in_an_agreement)
{
    host.strategy.quiesce = leave;
    run_after_backward(agree_and_leave);
    probe_host_quiesce(&host);
    expect(GS_ECONTRACT, "worker 0, step 1, wrong: drained: not yet: agree 1 (sum, label 4, "
                         "communicator 0)");
}

Test(driver_signals, nobody_drains_where_another_asks_for_an_agreement)
{
    host.strategy.quiesce = leave;
    run_after_backward(end);
    probe_host_voice(&host, other, 0, GS_AGREE_SUM, values, 4);
    probe_host_quiesce(&host);
    expect(GS_ECONTRACT, "worker 0, step 1, wrong: drained: not yet: worker 1 asked for an "
                         "agreement, this one did not");
}

/* ---------------------------------------------------------------- phases */

static gs_phase phase_begun;

static gs_plan note_phase(gs_world *world, void *state, const gs_event *event)
{
    (void)state;
    phase_begun = event->phase;
    return gs_plan_at(world, GS_PARAM);
}

Test(driver_signals, a_step_knows_the_phase_that_the_user_named)
{
    static const gs_phase_from phases[] = {
        {1, GS_PHASE_WARMUP}, {3, GS_PHASE_CRITICAL}, {4, GS_PHASE_SPARSE}};
    static const gs_phase wanted[] = {GS_PHASE_NORMAL,   GS_PHASE_WARMUP, GS_PHASE_WARMUP,
                                      GS_PHASE_CRITICAL, GS_PHASE_SPARSE, GS_PHASE_SPARSE};
    host.job.phases = phases;
    host.job.phase_count = 3;
    host.strategy.step_begin = note_phase;
    host.strategy.backward_done = end;
    probe_host_make(&host, self);
    for (int step = 0; step < 6; step++) {
        probe_host_backward(&host);
        cr_expect_eq(phase_begun, wanted[step], "step %d", step);
    }
}
