/* When hooks come: completion on a later turn, order on a communicator, matching, release. */
#include <criterion/criterion.h>

#include "strategies/world.h"
#include "tests/strategies/probe_host.h"

#include <string.h>

enum { OWN = GS_OWN, TAG = 5, WHOLE_RUN = 7, ALL = PROBE_ELEMENTS, SEEN_MAX = 32 };

static const gs_peer self = {GS_WORKER, 0};
static const gs_peer other = {GS_WORKER, 1};
static probe_host host;
static gs_event seen[SEEN_MAX]; /* op_done and message, in order */
static int seen_count;

static void keep(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state;
    cr_assert_lt(seen_count, SEEN_MAX);
    seen[seen_count++] = *event;
}

static void setup(void)
{
    probe_host_init(&host);
    host.strategy.op_done = keep;
    host.strategy.message = keep;
    seen_count = 0;
}

static void teardown(void)
{
    cr_expect_eq(host.failures, 0, "%s", host.error.text);
    probe_host_fini(&host);
}

TestSuite(driver_turns, .init = setup, .fini = teardown);

#define HOOK(name) static void name(gs_world *world, void *state, const gs_event *event)
#define UNUSED     (void)world, (void)state, (void)event

static gs_slice part(uint32_t vector, int64_t offset, int64_t length)
{
    return (gs_slice){vector, offset, length};
}

static void arrive(uint32_t communicator, uint32_t member)
{
    gs_driver_part(host.driver, 0, gs_driver_inbox(host.driver, communicator, 0, member));
}

/* ---------------------------------------------------------------- collectives */

HOOK(reduce_twice)
{
    UNUSED;
    gs_all_reduce(world, 0, part(GS_GRAD, 0, 30), 100);
    gs_all_reduce(world, 0, part(GS_GRAD, 30, 30), 200);
}

/* Naive sum at member 0 of 3: both parts of member 1 come before the first one of member 2, so the
 * second request has its parts first but for one; it ends second all the same. */
Test(driver_turns, requests_on_one_communicator_end_in_issue_order)
{
    host.job.ranks = 3;
    host.layout.communicators[0].all_reduce = host.layout.communicators[1].all_reduce = "naive";
    host.strategy.backward_done = reduce_twice;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    arrive(0, 1);
    arrive(0, 1);
    cr_expect_eq(host.parts_sent, 0);
    arrive(0, 2);
    cr_expect_eq(host.parts_sent, 2, "the sum goes back to both");
    arrive(0, 2);
    cr_expect_eq(host.parts_sent, 2, "the second request has not started");
    cr_expect_eq(host.slot_count, 1);
    probe_host_sent(&host);
    cr_expect_eq(host.parts_sent, 4, "it starts, and everything is there");
    cr_expect_eq(seen_count, 1);
    probe_host_sent(&host);
    cr_assert_eq(seen_count, 2);
    cr_expect_eq(seen[0].cookie, 100);
    cr_expect_eq(seen[1].cookie, 200);
    cr_expect_eq(seen[0].op, 1);
    cr_expect_eq(seen[1].op, 2);
}

HOOK(reduce_on_both)
{
    UNUSED;
    gs_all_reduce(world, 0, part(GS_GRAD, 0, 30), 100);
    gs_all_reduce(world, 1, part(GS_GRAD, 30, 30), 200);
}

/* A ring of 2 sends, adds, sends, puts: two parts come to each. */
Test(driver_turns, communicators_overlap)
{
    host.strategy.backward_done = reduce_on_both;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    arrive(1, 1);
    arrive(1, 1);
    probe_host_sent(&host);
    cr_assert_eq(seen_count, 1);
    cr_expect_eq(seen[0].cookie, 200, "the other communicator still waits");
    arrive(0, 1);
    arrive(0, 1);
    probe_host_sent(&host);
    cr_assert_eq(seen_count, 2);
    cr_expect_eq(seen[1].cookie, 100);
}

Test(driver_turns, one_rank_reduces_on_a_later_turn)
{
    host.job.ranks = 1;
    host.strategy.backward_done = reduce_on_both;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    cr_expect_eq(seen_count, 0);
    cr_expect_eq(host.parts_sent, 0);
    probe_host_sent(&host);
    probe_host_sent(&host);
    cr_expect_eq(seen_count, 2);
}

HOOK(reduce_nothing)
{
    UNUSED;
    gs_all_reduce(world, 0, part(GS_GRAD, 60, 0), 9);
}

Test(driver_turns, an_empty_collective_waits_for_its_members_and_for_a_later_turn)
{
    host.strategy.backward_done = reduce_nothing;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    cr_expect_eq(host.parts_sent, 1);
    arrive(0, 1);
    arrive(0, 1);
    cr_expect_eq(seen_count, 0);
    probe_host_sent(&host);
    cr_expect_eq(seen_count, 1);
}

/* The last bucket may be reduced before backward_done: its op_done comes in between. */
HOOK(reduce_bucket)
{
    (void)state;
    gs_all_reduce(world, 0, event->slice, event->bucket);
}

Test(driver_turns, a_collective_may_end_before_backward_is_done)
{
    host.strategy.bucket_ready = reduce_bucket;
    host.strategy.backward_done = keep;
    host.job.ranks = 1;
    probe_host_make(&host, self);
    cr_assert(probe_host_step(&host).go);
    probe_host_units(&host, 3);
    for (int i = 0; i < 3; i++) {
        probe_host_sent(&host);
    }
    gs_driver_backward_done(host.driver, 0, 2.5);
    cr_assert_eq(seen_count, 4);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(seen[i].cookie, i);
    }
    cr_expect_eq(seen[3].loss, 2.5);
}

/* ---------------------------------------------------------------- messages */

HOOK(send_nothing)
{
    UNUSED;
    gs_send(world, other, TAG, part(OWN, 0, 0), NULL, 0);
}

Test(driver_turns, an_empty_send_ends_on_a_later_turn)
{
    host.strategy.backward_done = send_nothing;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    cr_expect_eq(seen_count, 0);
    probe_host_sent(&host);
    cr_expect_eq(seen_count, 1);
}

HOOK(send_a_copy)
{
    UNUSED;
    gs_send(world, other, TAG, part(OWN, 0, 1), NULL, GS_SEND_COPY);
}

Test(driver_turns, the_sender_of_a_copy_is_told_when_it_has_left)
{
    host.strategy.backward_done = send_a_copy;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    probe_host_sent(&host);
    cr_assert_eq(seen_count, 1);
    cr_expect_eq(seen[0].op, 1);
}

HOOK(receive_all)
{
    UNUSED;
    gs_recv(world, other, TAG, part(OWN, 0, ALL), 33);
}

Test(driver_turns, a_receive_that_finds_its_message_ends_on_a_later_turn)
{
    host.strategy.backward_done = receive_all;
    probe_host_make(&host, self);
    probe_host_message(&host, other, TAG, ALL);
    cr_expect_eq(seen_count, 0);
    probe_host_backward(&host);
    cr_expect_eq(seen_count, 0);
    probe_host_sent(&host);
    cr_assert_eq(seen_count, 1);
    cr_expect_eq(seen[0].cookie, 33);
    cr_expect_eq(seen[0].slice.length, ALL);
    cr_expect_eq(seen[0].from.index, 1);
    cr_expect_not(seen[0].is_note);
}

static void listen_for_the_run(gs_world *world, void *state)
{
    (void)state;
    gs_recv(world, (gs_peer){GS_WORKER, GS_ANY}, WHOLE_RUN, part(OWN, 0, 1), 77);
}

HOOK(send_one)
{
    UNUSED;
    gs_send(world, other, TAG, part(OWN, 10, 1), NULL, 0);
}

/* Four requests may be outstanding. One is a receive that stays; a hundred sends go through the
 * others, and the receive is found in the end. */
Test(driver_turns, a_receive_for_the_whole_run_does_not_stand_in_the_way)
{
    host.strategy.init = listen_for_the_run;
    host.strategy.backward_done = send_one;
    host.strategy.op_done = send_one; /* each send is followed by the next one */
    probe_host_make(&host, self);
    probe_host_backward(&host);
    for (int i = 0; i < 100; i++) {
        probe_host_sent(&host);
    }
    cr_expect_eq(gs_driver_ops_issued(host.driver), 102);
    probe_host_message(&host, other, WHOLE_RUN, 1);
    cr_assert_eq(seen_count, 1);
    cr_expect_eq(seen[0].cookie, 77);
    cr_expect_eq(seen[0].op, 1);
}

static void post_three(gs_world *world, void *state)
{
    (void)state;
    gs_recv(world, (gs_peer){GS_WORKER, 2}, TAG, part(OWN, 0, 1), 1);
    gs_recv(world, (gs_peer){GS_WORKER, GS_ANY}, TAG, part(OWN, 1, 1), 2);
    gs_recv(world, other, TAG, part(OWN, 2, 1), 3);
}

/* From worker 1 the receive of any worker comes first (posted before), then its own. */
Test(driver_turns, the_oldest_receive_that_fits_takes_the_message)
{
    host.job.ranks = 3;
    host.strategy.init = post_three;
    probe_host_make(&host, self);
    probe_host_message(&host, other, TAG, 1);
    probe_host_message(&host, other, TAG + 1, 1);
    probe_host_message(&host, other, TAG, 1);
    probe_host_message(&host, (gs_peer){GS_WORKER, 2}, TAG, 1);
    cr_assert_eq(seen_count, 3);
    cr_expect_eq(seen[0].cookie, 2);
    cr_expect_eq(seen[1].cookie, 3);
    cr_expect_eq(seen[2].cookie, 1);
}

static int64_t expected_count, received_count;
static bool note_came;

/* Ends on counters: what the final note says, and what came. */
HOOK(count_and_drain)
{
    (void)state;
    if (event->is_note) {
        note_came = true;
        expected_count = 1;
    } else {
        received_count++;
    }
    if (note_came && received_count == expected_count) {
        gs_drained(world);
    }
}

Test(driver_turns, a_final_note_may_come_before_the_last_message)
{
    expected_count = received_count = 0;
    note_came = false;
    host.strategy.init = listen_for_the_run;
    host.strategy.message = count_and_drain;
    probe_host_make(&host, self);
    probe_host_quiesce(&host);
    probe_host_note(&host, other, TAG);
    cr_expect_eq(host.drained, 0);
    probe_host_message(&host, other, WHOLE_RUN, 1);
    cr_expect_eq(host.drained, 1);
}

/* ---------------------------------------------------------------- timers */

HOOK(set_two_timers)
{
    UNUSED;
    gs_timer(world, 0, 41);
    gs_timer(world, 2385, 42);
}

Test(driver_turns, a_timer_ends_on_a_later_turn_with_its_cookie)
{
    host.strategy.backward_done = set_two_timers;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    cr_expect_eq(seen_count, 0);
    cr_expect_eq(host.timer_ns, 2385);
    char text[200];
    cr_expect(gs_driver_waits_for(host.driver, text, sizeof text));
    cr_expect_str_eq(text, "worker 0, step 0, waits for timer 1 (cookie 41)");
    probe_host_sent(&host);
    probe_host_sent(&host);
    cr_assert_eq(seen_count, 2);
    cr_expect_eq(seen[0].cookie, 41);
    cr_expect_eq(seen[1].cookie, 42);
    cr_expect_eq(seen[1].op, 2);
}

/* ---------------------------------------------------------------- steps */

static int steps_asked;

static gs_plan release_and_hold(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    steps_asked++;
    gs_release(world);
    return (gs_plan){.go = false};
}

HOOK(release_twice)
{
    UNUSED;
    gs_release(world);
    gs_release(world);
}

Test(driver_turns, a_release_inside_step_begin_has_no_effect)
{
    steps_asked = 0;
    host.strategy.step_begin = release_and_hold;
    probe_host_make(&host, self);
    for (int i = 1; i <= 3; i++) {
        cr_expect_not(probe_host_step(&host).go);
        cr_expect_eq(steps_asked, i);
        cr_expect_eq(host.wakes, 0);
    }
}

Test(driver_turns, a_release_wakes_a_held_worker_once)
{
    host.strategy.step_begin = release_and_hold;
    host.strategy.message = release_twice;
    probe_host_make(&host, self);
    probe_host_note(&host, other, TAG);
    cr_expect_eq(host.wakes, 0, "it is not held");
    (void)probe_host_step(&host);
    probe_host_note(&host, other, TAG);
    probe_host_note(&host, other, TAG);
    cr_expect_eq(host.wakes, 1);
    (void)probe_host_step(&host);
    probe_host_note(&host, other, TAG);
    cr_expect_eq(host.wakes, 2, "held again");
}

static uint32_t buckets_seen[8];
static int bucket_count;

HOOK(keep_bucket)
{
    (void)world, (void)state;
    buckets_seen[bucket_count++] = event->bucket;
}

/* Units 0 and 1 are buckets 2 and 1; both wait for unit 2, which is bucket 0. */
Test(driver_turns, buckets_are_launched_in_index_order)
{
    bucket_count = 0;
    host.strategy.bucket_ready = keep_bucket;
    probe_host_make(&host, self);
    cr_assert(probe_host_step(&host).go);
    gs_driver_unit_ready(host.driver, 0, 0);
    gs_driver_unit_ready(host.driver, 0, 1);
    cr_expect_eq(bucket_count, 0);
    gs_driver_unit_ready(host.driver, 0, 2);
    cr_assert_eq(bucket_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(buckets_seen[i], i);
    }
}

Test(driver_turns, after_quiesce_no_step_begins)
{
    probe_host_make(&host, self);
    probe_host_quiesce(&host);
    cr_expect_not(probe_host_step(&host).go);
}

Test(driver_turns, what_an_entity_waits_for_is_said)
{
    char text[200];
    host.strategy.backward_done = reduce_twice;
    probe_host_make(&host, self);
    cr_expect_not(gs_driver_waits_for(host.driver, text, sizeof text));
    probe_host_backward(&host);
    cr_expect(gs_driver_waits_for(host.driver, text, sizeof text));
    cr_expect_str_eq(text, "worker 0, step 0, waits for all_reduce 0 (label 100, communicator 0), "
                           "which waits for worker 1");
    arrive(0, 1);
    arrive(0, 1);
    probe_host_sent(&host);
    arrive(0, 1);
    arrive(0, 1);
    probe_host_sent(&host);
}

static gs_plan leave_one_closed(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state, (void)event;
    return (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1, .closed_buckets = 1};
}

HOOK(open_all)
{
    UNUSED;
    gs_open_forward(world, 0);
}

Test(driver_turns, who_waits_for_weights_that_nobody_opens_says_so)
{
    char text[200];
    host.layout.gated = true;
    host.strategy.step_begin = leave_one_closed;
    host.strategy.message = open_all;
    probe_host_make(&host, self);
    host.open_from = 9;
    cr_assert(probe_host_step(&host).go);
    cr_expect(gs_driver_waits_for(host.driver, text, sizeof text));
    cr_expect_str_eq(text, "worker 0, step 0, waits for an open_forward of its strategy");
    probe_host_note(&host, other, TAG);
    cr_expect_eq(host.open_from, 0);
    cr_expect_not(gs_driver_waits_for(host.driver, text, sizeof text));
    probe_host_units(&host, 3);
    gs_driver_backward_done(host.driver, 0, 0.0);
}

/* The state moves before every hook: its bytes stay, its address does not. */
static void *last_address;

HOOK(remember)
{
    (void)world, (void)event;
    int *count = state;
    cr_expect_eq(*count, seen_count);
    cr_expect_neq(state, last_address);
    last_address = state;
    (*count)++;
    seen_count++;
}

Test(driver_turns, the_state_moves_before_every_hook)
{
    last_address = NULL;
    host.strategy.message = remember;
    probe_host_make(&host, self);
    for (int i = 0; i < 5; i++) {
        probe_host_note(&host, other, TAG);
    }
    cr_expect_eq(seen_count, 5);
}
