/* For each rule of the contract a strategy that breaks it, and the exact words it hears. */
#include <criterion/criterion.h>

#include "strategies/world.h"
#include "tests/strategies/probe_host.h"

#include <stdio.h>

#define PREFIX "worker 0, step 0, wrong: "

enum { OWN = GS_OWN, TAG = 5, ALL = PROBE_ELEMENTS };

static const gs_peer self = {GS_WORKER, 0};
static const gs_peer other = {GS_WORKER, 1};
static const gs_peer server = {GS_SERVER, 0};
static probe_host host;

static void setup(void)
{
    probe_host_init(&host);
}

static void teardown(void)
{
    probe_host_fini(&host);
}

TestSuite(driver_rules, .init = setup, .fini = teardown);

/* A hook of a wrong strategy. Buckets are [0, 30), [30, 50), [50, 60) of GRAD: one a unit, from the
 * last unit on. */
#define HOOK(name) static void name(gs_world *world, void *state, const gs_event *event)
#define UNUSED     (void)world, (void)state, (void)event

typedef void hook(gs_world *world, void *state, const gs_event *event);

static gs_slice part(uint32_t vector, int64_t offset, int64_t length)
{
    return (gs_slice){vector, offset, length};
}

static void expect(const char *text)
{
    cr_assert_eq(host.failures, 1, "%d failures", host.failures);
    cr_expect_eq(host.error.code, GS_ECONTRACT);
    cr_expect_str_eq(host.error.text, text);
}

static void expect_peace(void)
{
    cr_expect_eq(host.failures, 0, "%s", host.error.text);
}

/* The hook comes at the end of a backward pass. */
static void run_after_backward(hook *wrong)
{
    host.strategy.backward_done = wrong;
    probe_host_make(&host, self);
    probe_host_backward(&host);
}

/* It comes when the first bucket is ready. */
static void run_in_backward(hook *wrong)
{
    host.strategy.bucket_ready = wrong;
    probe_host_make(&host, self);
    (void)probe_host_step(&host);
    probe_host_units(&host, 1);
}

/* ---------------------------------------------------------------- pins and gradients */

HOOK(copy_to_param)
{
    UNUSED;
    gs_vec(world, GS_VOP_copy, part(GS_PARAM, 0, ALL), part(OWN, 0, ALL), 0.0);
}

Test(driver_rules, the_vector_of_the_gradient_is_pinned)
{
    run_in_backward(copy_to_param);
    expect(PREFIX "vec: vector 0 is pinned until backward_done: the gradient is taken there");
    cr_expect_eq(host.vecs, 0);
}

HOOK(receive_into_param)
{
    UNUSED;
    gs_recv(world, other, TAG, part(GS_PARAM, 7, 1), 0);
}

Test(driver_rules, a_pinned_vector_takes_no_message_either)
{
    run_in_backward(receive_into_param);
    expect(PREFIX "recv: vector 0 is pinned until backward_done: the gradient is taken there");
}

HOOK(apply_early)
{
    UNUSED;
    gs_apply(world, GS_PARAM, OWN, 1.0, true);
}

Test(driver_rules, the_optimizer_waits_for_the_pin)
{
    run_in_backward(apply_early);
    expect(PREFIX "apply: vector 0 is pinned until backward_done: the gradient is taken there");
}

Test(driver_rules, the_pin_ends_with_backward_done)
{
    run_after_backward(copy_to_param);
    expect_peace();
    cr_expect_eq(host.vecs, 1);
}

HOOK(send_all_gradients)
{
    UNUSED;
    gs_send(world, other, TAG, part(GS_GRAD, 0, ALL), NULL, 0);
}

Test(driver_rules, gradients_are_used_once_their_bucket_is_ready)
{
    run_in_backward(send_all_gradients);
    expect(PREFIX "send: GRAD [0, +60) is not ready: use buckets that were announced");
}

HOOK(reduce_what_is_ready)
{
    UNUSED;
    gs_all_reduce(world, 0, part(GS_GRAD, 0, 30), 0);
}

Test(driver_rules, what_was_announced_may_travel_in_backward)
{
    run_in_backward(reduce_what_is_ready);
    expect_peace();
}

HOOK(reduce_one_element_more)
{
    UNUSED;
    gs_all_reduce(world, 0, part(GS_GRAD, 0, 31), 0);
}

Test(driver_rules, one_element_of_the_next_bucket_is_too_much)
{
    run_in_backward(reduce_one_element_more);
    expect(PREFIX "all_reduce: GRAD [0, +31) is not ready: use buckets that were announced");
}

/* ---------------------------------------------------------------- lending */

HOOK(send_then_write)
{
    UNUSED;
    gs_send(world, other, TAG, part(GS_GRAD, 0, ALL), NULL, 0);
    gs_vec(world, GS_VOP_scale, part(GS_GRAD, 59, 1), part(GS_GRAD, 59, 1), 0.5);
}

Test(driver_rules, a_lent_slice_is_not_written)
{
    run_after_backward(send_then_write);
    expect(PREFIX "vec: vector 1 [59, +1) is lent to request 1");
}

HOOK(send_twice_and_write_beside)
{
    UNUSED;
    gs_send(world, other, TAG, part(OWN, 10, 20), NULL, 0);
    gs_send(world, server, TAG, part(OWN, 10, 20), NULL, 0);
    gs_vec(world, GS_VOP_copy, part(OWN, 0, 10), part(OWN, 10, 10), 0.0);
    gs_vec(world, GS_VOP_copy, part(OWN, 30, 30), part(OWN, 0, 30), 0.0);
    gs_vec(world, GS_VOP_copy, part(OWN, 20, 0), part(OWN, 20, 0), 0.0); /* nothing is written */
}

Test(driver_rules, what_is_sent_may_be_read_and_its_neighbours_written)
{
    run_after_backward(send_twice_and_write_beside);
    expect_peace();
    cr_expect_eq(host.vecs, 3);
}

HOOK(read_what_is_received)
{
    UNUSED;
    gs_recv(world, other, TAG, part(OWN, 0, ALL), 0);
    gs_vec(world, GS_VOP_copy, part(GS_PARAM, 0, 1), part(OWN, 0, 1), 0.0);
}

Test(driver_rules, what_is_received_into_is_not_even_read)
{
    run_after_backward(read_what_is_received);
    expect(PREFIX "vec: vector 2 [0, +1) is lent to request 1");
}

HOOK(reply_live)
{
    UNUSED;
    gs_send(world, other, TAG, part(GS_PARAM, 0, ALL), NULL, 0);
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
}

HOOK(reply_copy)
{
    UNUSED;
    gs_send(world, other, TAG, part(GS_PARAM, 0, ALL), NULL, GS_SEND_COPY);
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
}

Test(driver_rules, a_server_that_lends_its_live_parameters_cannot_go_on)
{
    host.strategy.message = reply_live;
    probe_host_make(&host, server);
    probe_host_note(&host, other, TAG);
    expect("server 0, step 0, wrong: apply: vector 0 [0, +60) is lent to request 1");
}

Test(driver_rules, a_server_that_sends_a_copy_goes_on)
{
    host.strategy.message = reply_copy;
    probe_host_make(&host, server);
    probe_host_note(&host, other, TAG);
    expect_peace();
    cr_expect_eq(gs_driver_step(host.driver), 1);
}

Test(driver_rules, copies_have_a_bound)
{
    host.strategy.message = reply_copy;
    probe_host_make(&host, server);
    probe_host_note(&host, other, TAG);
    probe_host_sent(&host); /* it has left: one more may go */
    probe_host_note(&host, other, TAG);
    expect_peace();
    probe_host_note(&host, other, TAG);
    expect("server 0, step 2, wrong: send: more than the declared 1 copies are on their way");
}

HOOK(post_five)
{
    UNUSED;
    for (uint16_t tag = 0; tag < 5; tag++) {
        gs_recv(world, other, tag, part(OWN, tag, 1), 0);
    }
}

Test(driver_rules, requests_have_a_bound)
{
    run_after_backward(post_five);
    expect(PREFIX "more than the declared 4 requests are outstanding");
}

/* ---------------------------------------------------------------- steps */

static gs_plan step_plan;

static gs_plan planned(gs_world *world, void *state, const gs_event *event)
{
    UNUSED;
    return step_plan;
}

static void run_plan(gs_plan plan)
{
    step_plan = plan;
    host.strategy.step_begin = planned;
    probe_host_make(&host, self);
    cr_expect_not(probe_host_step(&host).go);
}

Test(driver_rules, the_gradient_is_not_taken_at_the_gradient)
{
    run_plan((gs_plan){.go = true, .at = GS_GRAD, .micro_steps = 1});
    expect(PREFIX "step_begin: the gradient cannot be taken at vector 1");
}

Test(driver_rules, samples_of_a_plan_are_within_the_declared_bound)
{
    host.job.batch = 8; /* 16 of both workers in a pass */
    host.layout.samples_max = 12;
    run_plan((gs_plan){.go = true, .micro_steps = 1, .samples = 13});
    expect(PREFIX "step_begin: 13 samples behind 0: at most 12 of the 16 of all workers");
}

Test(driver_rules, samples_of_a_plan_are_those_of_one_pass)
{
    host.job.batch = 8;
    host.layout.samples_max = 12;
    run_plan((gs_plan){.go = true, .micro_steps = 1, .samples = 7, .samples_before = 10});
    expect(PREFIX "step_begin: 7 samples behind 10: at most 12 of the 16 of all workers");
}

Test(driver_rules, a_dummy_has_no_samples)
{
    host.job.batch = 8;
    host.layout.samples_max = 12;
    run_plan((gs_plan){.go = true, .micro_steps = 1, .samples = 1, .dummy = true});
    expect(PREFIX "step_begin: 1 samples behind 0 of a dummy: at most 12 of the 16 of all workers");
}

Test(driver_rules, the_gradient_is_not_taken_at_a_vector_that_is_not_there)
{
    run_plan((gs_plan){.go = true, .at = 4, .micro_steps = 1});
    expect(PREFIX "step_begin: the gradient cannot be taken at vector 4");
}

Test(driver_rules, a_step_has_a_micro_step_and_not_one_without_end)
{
    run_plan((gs_plan){.go = true, .at = GS_PARAM});
    expect(PREFIX "step_begin: 0 micro-steps; a step has 1 to 65536");
    teardown();
    setup();
    run_plan((gs_plan){.go = true, .at = GS_PARAM, .micro_steps = UINT32_C(4000000000)});
    expect(PREFIX "step_begin: 4000000000 micro-steps; a step has 1 to 65536");
}

static gs_plan note_and_hold(gs_world *world, void *state, const gs_event *event)
{
    UNUSED;
    gs_note(world, other, TAG, NULL);
    return (gs_plan){.go = false};
}

Test(driver_rules, a_hold_has_no_side_effects)
{
    host.strategy.step_begin = note_and_hold;
    probe_host_make(&host, self);
    (void)probe_host_step(&host);
    expect(PREFIX "step_begin: a hold must not call services");
}

Test(driver_rules, grad_is_free_at_the_start_of_a_step)
{
    run_after_backward(send_all_gradients);
    expect_peace();
    cr_expect_not(probe_host_step(&host).go);
    expect(PREFIX "step_begin: GRAD is still lent to a request");
}

HOOK(send_nothing)
{
    UNUSED;
    gs_send(world, other, TAG, part(GS_GRAD, 20, 0), NULL, 0);
}

Test(driver_rules, an_empty_slice_lends_nothing)
{
    run_after_backward(send_nothing);
    cr_expect(probe_host_step(&host).go);
    expect_peace();
}

Test(driver_rules, the_gradient_is_not_taken_where_a_message_may_come)
{
    run_after_backward(receive_into_param);
    expect_peace();
    cr_expect_not(probe_host_step(&host).go);
    expect(PREFIX "step_begin: vector 0 [0, +60) is lent to request 1");
}

HOOK(apply_twice)
{
    UNUSED;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
}

Test(driver_rules, a_step_ends_once)
{
    run_after_backward(apply_twice);
    expect("worker 0, step 1, wrong: apply: no step has begun that could end");
}

HOOK(end_step)
{
    UNUSED;
    gs_end_step(world);
}

Test(driver_rules, a_step_whose_update_was_made_elsewhere_ends_too)
{
    run_after_backward(end_step);
    expect_peace();
    cr_expect_eq(gs_driver_step(host.driver), 1);
    cr_expect_eq(host.steps_ended, 1);
    cr_expect_eq(host.applied, 0);
}

HOOK(end_twice)
{
    UNUSED;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    gs_end_step(world);
}

Test(driver_rules, a_step_ends_once_whichever_way)
{
    run_after_backward(end_twice);
    expect("worker 0, step 1, wrong: end_step: no step has begun that could end");
}

HOOK(apply_shares)
{
    UNUSED;
    gs_apply_slice(world, part(GS_PARAM, 5, 20), GS_GRAD, 1.0, false);
    gs_apply_slice(world, part(GS_PARAM, 25, 7), GS_GRAD, 1.0, true);
}

Test(driver_rules, a_slice_of_a_vector_is_updated_where_the_layout_says_so)
{
    host.layout.applies_slices = true;
    run_after_backward(apply_shares);
    expect_peace();
    cr_expect_eq(host.applied, 27);
    cr_expect_eq(gs_driver_step(host.driver), 1);
}

Test(driver_rules, slices_for_the_optimizer_are_declared)
{
    run_after_backward(apply_shares);
    expect(PREFIX "apply: the layout does not declare applies_slices");
}

HOOK(drop_a_share)
{
    UNUSED;
    gs_drop(world, part(GS_GRAD, 3, 11));
}

Test(driver_rules, what_is_not_used_is_counted)
{
    run_after_backward(drop_a_share);
    expect_peace();
    cr_expect_eq(host.dropped, 11);
}

/* ---------------------------------------------------------------- names and sizes */

HOOK(reduce_elsewhere)
{
    UNUSED;
    gs_all_reduce(world, 2, part(GS_GRAD, 0, ALL), 0);
}

Test(driver_rules, a_communicator_is_declared)
{
    run_after_backward(reduce_elsewhere);
    expect(PREFIX "all_reduce: no communicator 2 here; there are 2");
}

Test(driver_rules, servers_are_in_no_communicator)
{
    host.strategy.message = reduce_what_is_ready;
    probe_host_make(&host, server);
    probe_host_note(&host, other, TAG);
    expect("server 0, step 0, wrong: all_reduce: no communicator 0 here; there are 0");
}

HOOK(send_to_nobody)
{
    UNUSED;
    gs_send(world, (gs_peer){GS_WORKER, 2}, TAG, part(OWN, 0, 1), NULL, 0);
}

Test(driver_rules, a_peer_exists)
{
    run_after_backward(send_to_nobody);
    expect(PREFIX "send: no such peer: role 0, index 2");
}

HOOK(send_to_any)
{
    UNUSED;
    gs_send(world, (gs_peer){GS_WORKER, GS_ANY}, TAG, part(OWN, 0, 1), NULL, 0);
}

Test(driver_rules, nothing_is_sent_to_anybody)
{
    run_after_backward(send_to_any);
    expect(PREFIX "send: no such peer: role 0, index 65535");
}

Test(driver_rules, point_to_point_is_declared)
{
    host.layout.point_to_point = false;
    run_after_backward(send_all_gradients);
    expect(PREFIX "send: the layout does not declare point_to_point");
}

HOOK(use_an_operation_beyond)
{
    UNUSED;
    gs_vec(world, GS_VOP_COUNT, part(OWN, 0, 1), part(OWN, 0, 1), 0.0);
}

/* Hosts index tables of kernels and costs by it. */
Test(driver_rules, a_vector_operation_that_there_is_not_ends_the_run)
{
    run_after_backward(use_an_operation_beyond);
    char text[160];
    (void)snprintf(text, sizeof text, PREFIX "vec: no vector operation %d", GS_VOP_COUNT);
    expect(text);
    cr_expect_eq(host.vecs, 0);
}

HOOK(use_a_slice_beyond)
{
    UNUSED;
    gs_vec(world, GS_VOP_scale, part(OWN, 60, 1), part(OWN, 60, 1), 1.0);
}

Test(driver_rules, a_slice_lies_in_its_vector)
{
    run_after_backward(use_a_slice_beyond);
    expect(PREFIX "vec: no such slice: vector 2, [60, +1)");
}

HOOK(add_unequal)
{
    UNUSED;
    gs_vec(world, GS_VOP_add, part(OWN, 0, 10), part(GS_GRAD, 0, 11), 1.0);
}

Test(driver_rules, operands_are_equally_long)
{
    run_after_backward(add_unequal);
    expect(PREFIX "vec: lengths 10 and 11 differ");
}

HOOK(receive_all)
{
    UNUSED;
    gs_recv(world, other, TAG, part(OWN, 0, ALL), 0);
}

Test(driver_rules, a_message_fits_its_receive)
{
    run_after_backward(receive_all);
    probe_host_message(&host, other, TAG, 10);
    expect(PREFIX "recv: 10 elements came with tag 5 where 60 were expected");
}

Test(driver_rules, a_message_that_waited_fits_its_receive)
{
    host.strategy.backward_done = receive_all;
    probe_host_make(&host, self);
    probe_host_message(&host, other, TAG, 10);
    probe_host_backward(&host);
    expect(PREFIX "recv: 10 elements came with tag 5 where 60 were expected");
}

Test(driver_rules, who_is_sent_messages_has_a_hook_for_them)
{
    host.strategy.message = NULL;
    probe_host_make(&host, self);
    probe_host_note(&host, other, TAG);
    expect(PREFIX "an event came for which the strategy has no hook");
}

Test(driver_rules, ranks_issue_the_same_collectives)
{
    run_after_backward(reduce_what_is_ready);
    host.other_op = true;
    gs_driver_part(host.driver, 0, gs_driver_inbox(host.driver, 0, 0, 1));
    cr_assert_eq(host.failures, 1);
    cr_expect_eq(host.error.code, GS_EMISMATCH);
    cr_expect_str_eq(host.error.text, PREFIX
                     "all_reduce 0 (label 0, communicator 0, 30 elements): worker 1 sent a part of "
                     "another request; ranks must issue the same requests in the same order");
}

/* ---------------------------------------------------------------- the end */

HOOK(drain)
{
    UNUSED;
    gs_drained(world);
}

Test(driver_rules, nobody_drains_unasked)
{
    run_after_backward(drain);
    expect(PREFIX "drained: nobody asked for it (quiesce comes first)");
}

static void run_drain(hook *before)
{
    host.strategy.quiesce = drain;
    run_after_backward(before);
    expect_peace();
    probe_host_quiesce(&host);
}

Test(driver_rules, who_drains_has_nothing_on_its_way)
{
    run_drain(send_all_gradients);
    expect(PREFIX "drained: not yet: send 1 to worker 1 with tag 5");
}

HOOK(send_a_copy)
{
    UNUSED;
    gs_send(world, server, TAG, part(OWN, 0, 1), NULL, GS_SEND_COPY);
}

Test(driver_rules, a_copy_on_its_way_counts)
{
    run_drain(send_a_copy);
    expect(PREFIX "drained: not yet: send 1 to server 0 with tag 5");
}

HOOK(reduce_labelled)
{
    UNUSED;
    gs_all_reduce(world, 1, part(GS_GRAD, 0, ALL), 17);
}

Test(driver_rules, a_collective_on_its_way_counts)
{
    run_drain(reduce_labelled);
    expect(PREFIX "drained: not yet: all_reduce 0 (label 17, communicator 1)");
}

HOOK(set_a_timer)
{
    UNUSED;
    gs_timer(world, 1500, 23);
}

Test(driver_rules, a_timer_on_its_way_counts)
{
    run_drain(set_a_timer);
    expect(PREFIX "drained: not yet: timer 1 (cookie 23)");
}

HOOK(set_a_timer_back)
{
    UNUSED;
    gs_timer(world, -1, 23);
}

Test(driver_rules, a_timer_ends_in_the_future)
{
    run_after_backward(set_a_timer_back);
    expect(PREFIX "timer: -1 ns from now is in the past");
}

HOOK(set_five_timers)
{
    UNUSED;
    for (uint64_t cookie = 0; cookie < 5; cookie++) {
        gs_timer(world, 10, cookie);
    }
}

Test(driver_rules, timers_are_among_the_declared_requests)
{
    run_after_backward(set_five_timers);
    expect(PREFIX "more than the declared 4 requests are outstanding");
}

Test(driver_rules, receives_for_the_whole_run_may_stay)
{
    run_drain(receive_all);
    expect_peace();
    cr_expect_eq(host.drained, 1);
}

Test(driver_rules, a_message_nobody_received_counts)
{
    host.strategy.quiesce = drain;
    probe_host_make(&host, self);
    probe_host_message(&host, other, TAG, 10);
    probe_host_quiesce(&host);
    expect(PREFIX "drained: not yet: a message of worker 1 with tag 5 was never received");
}

Test(driver_rules, a_message_whose_hook_is_still_to_come_counts)
{
    host.strategy.quiesce = drain;
    host.strategy.backward_done = receive_all;
    probe_host_make(&host, self);
    probe_host_message(&host, other, TAG, ALL);
    probe_host_backward(&host);
    probe_host_quiesce(&host);
    expect(PREFIX "drained: not yet: recv 1 from worker 1 with tag 5");
}

Test(driver_rules, nobody_drains_while_a_gradient_is_computed)
{
    host.strategy.quiesce = drain;
    probe_host_make(&host, self);
    (void)probe_host_step(&host);
    probe_host_quiesce(&host);
    expect(PREFIX "drained: not yet: a gradient is being computed");
}

HOOK(drain_and_note)
{
    UNUSED;
    gs_drained(world);
    gs_note(world, other, TAG, NULL);
}

Test(driver_rules, no_service_after_drained)
{
    host.strategy.quiesce = drain_and_note;
    probe_host_make(&host, self);
    probe_host_quiesce(&host);
    expect(PREFIX "note: the entity has drained");
    cr_expect_eq(host.notes_sent, 0);
}

/* A strategy that ends on the first final note: a note may overtake the last data message. */
HOOK(drain_on_a_note)
{
    UNUSED;
    if (event->is_note) {
        gs_drained(world);
    }
}

Test(driver_rules, who_ends_on_a_flag_misses_the_last_message)
{
    host.strategy.message = drain_on_a_note;
    probe_host_make(&host, self);
    probe_host_quiesce(&host);
    probe_host_note(&host, other, TAG);
    expect_peace();
    cr_expect_eq(host.drained, 1);
    probe_host_message(&host, other, TAG, 10);
    expect(PREFIX "a message of worker 1 with tag 5 came after this entity had drained; count "
                  "messages in the final notes");
}

Test(driver_rules, the_first_error_stays_and_nothing_happens_after_it)
{
    run_after_backward(drain);
    host.strategy.message = copy_to_param;
    probe_host_note(&host, other, TAG);
    probe_host_quiesce(&host);
    expect(PREFIX "drained: nobody asked for it (quiesce comes first)");
    cr_expect(gs_driver_has_failed(host.driver));
    cr_expect_eq(host.vecs, 0);
}

HOOK(code_own)
{
    UNUSED;
    gs_code(world, part(OWN, 0, 10), part(GS_GRAD, 0, 10));
}

HOOK(code_other_length)
{
    UNUSED;
    gs_code(world, part(OWN, 0, 9), part(GS_GRAD, 0, 10));
}

HOOK(code_into_what_is_lent)
{
    UNUSED;
    gs_send(world, other, TAG, part(OWN, 9, 1), NULL, 0);
    code_own(world, state, event);
}

Test(driver_rules, code_is_declared_fits_and_writes)
{
    run_after_backward(code_own);
    expect(PREFIX "code: the layout does not declare sends_coded");
    teardown();
    setup();
    host.layout.sends_coded = true;
    run_after_backward(code_other_length);
    expect(PREFIX "code: lengths 9 and 10 differ");
    teardown();
    setup();
    host.layout.sends_coded = true;
    run_after_backward(code_into_what_is_lent);
    expect(PREFIX "code: vector 2 [0, +10) is lent to request 1");
}

/* Peers have what was sent: a copy. */
Test(driver_rules, code_without_a_codec_is_a_copy)
{
    host.layout.sends_coded = true;
    run_after_backward(code_own);
    expect_peace();
    cr_expect_eq(host.vecs, 1);
}
