/* Gradients that are cancelled: what ends with them, what stays, and the rules of asking for it,
 * each with a strategy that breaks it and the exact words it hears. */
#include <criterion/criterion.h>

#include "strategies/world.h"
#include "tests/strategies/probe_host.h"

#define PREFIX "worker 0, step 0, wrong: "

enum { TAG = 5, ALL = PROBE_ELEMENTS };

static const gs_peer self = {GS_WORKER, 0};
static const gs_peer other = {GS_WORKER, 1};
static probe_host host;
static int buckets_told;

static void setup(void)
{
    probe_host_init(&host);
    host.layout.cancels = true;
    buckets_told = 0;
}

static void teardown(void)
{
    probe_host_fini(&host);
}

TestSuite(driver_cancel, .init = setup, .fini = teardown);

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

/* A note comes when the first bucket, [0, 30) of GRAD, has been announced. */
static void run_in_backward(hook *on_note)
{
    host.strategy.message = on_note;
    probe_host_make(&host, self);
    cr_assert(probe_host_step(&host).go);
    probe_host_units(&host, 1);
    probe_host_note(&host, other, TAG);
}

HOOK(cancel)
{
    UNUSED;
    gs_cancel_gradient(world);
}

/* ---------------------------------------------------------------- what it does */

HOOK(cancel_and_take_weights)
{
    UNUSED;
    gs_cancel_gradient(world);
    gs_recv(world, other, TAG, part(GS_PARAM, 0, ALL), 0);
}

Test(driver_cancel, ends_the_pin_at_once)
{
    run_in_backward(cancel_and_take_weights);
    expect_peace();
    cr_expect_eq(host.cancelled, 1, "the host is told once");
}

Test(driver_cancel, leads_to_another_step)
{
    run_in_backward(cancel);
    host.strategy.message = NULL;
    probe_host_backward(&host);
    expect_peace();
}

HOOK(count_and_cancel)
{
    UNUSED;
    if (++buckets_told == 1) {
        gs_cancel_gradient(world);
    }
}

/* One unit can make several buckets ready: here the last to come, of index 0. */
Test(driver_cancel, in_a_bucket_hook_ends_the_announcements)
{
    host.strategy.bucket_ready = count_and_cancel;
    probe_host_make(&host, self);
    cr_assert(probe_host_step(&host).go);
    gs_driver_unit_ready(host.driver, 0, 0);
    gs_driver_unit_ready(host.driver, 0, 1);
    cr_assert_eq(buckets_told, 0);
    gs_driver_unit_ready(host.driver, 0, 2);
    expect_peace();
    cr_expect_eq(buckets_told, 1);
    cr_expect_eq(host.cancelled, 1);
}

HOOK(cancel_and_send_what_was_announced)
{
    UNUSED;
    gs_cancel_gradient(world);
    gs_send(world, other, TAG, part(GS_GRAD, 0, 30), NULL, GS_SEND_LENT);
}

Test(driver_cancel, keeps_what_was_announced)
{
    run_in_backward(cancel_and_send_what_was_announced);
    expect_peace();
}

HOOK(drop_then_cancel)
{
    UNUSED;
    gs_drop(world, part(GS_GRAD, 30, 30)); /* of what is still computed: it is counted, not read */
    gs_cancel_gradient(world);
}

Test(driver_cancel, what_it_was_for_can_be_counted)
{
    run_in_backward(drop_then_cancel);
    expect_peace();
    cr_expect_eq(host.dropped, 30);
}

HOOK(say_drained)
{
    UNUSED;
    gs_cancel_gradient(world);
    gs_drained(world);
}

Test(driver_cancel, lets_an_entity_drain)
{
    host.strategy.quiesce = say_drained;
    probe_host_make(&host, self);
    cr_assert(probe_host_step(&host).go);
    probe_host_quiesce(&host);
    expect_peace();
    cr_expect_eq(host.drained, 1);
}

static gs_plan closed(gs_world *world, void *state, const gs_event *event)
{
    UNUSED;
    return (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1, .closed_buckets = 2};
}

HOOK(cancel_then_open)
{
    UNUSED;
    gs_cancel_gradient(world);
    gs_open_forward(world, 0);
}

Test(driver_cancel, leaves_no_bucket_to_open)
{
    host.layout.gated = true;
    host.strategy.step_begin = closed;
    host.strategy.message = cancel_then_open;
    probe_host_make(&host, self);
    cr_assert(probe_host_step(&host).go);
    probe_host_note(&host, other, TAG);
    expect(PREFIX "open_forward: bucket 0 is not closed: no step under way waits for it");
    cr_expect_eq(host.cancelled, 1);
}

/* ---------------------------------------------------------------- what breaks a rule */

Test(driver_cancel, is_declared)
{
    host.layout.cancels = false;
    run_in_backward(cancel);
    expect(PREFIX "cancel_gradient: the layout does not declare cancels");
    cr_expect_eq(host.cancelled, 0);
}

Test(driver_cancel, needs_a_gradient_under_way)
{
    host.strategy.backward_done = cancel;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    expect(PREFIX "cancel_gradient: no gradient is under way");
}

HOOK(cancel_twice)
{
    UNUSED;
    gs_cancel_gradient(world);
    gs_cancel_gradient(world);
}

Test(driver_cancel, happens_once)
{
    run_in_backward(cancel_twice);
    expect(PREFIX "cancel_gradient: no gradient is under way");
    cr_expect_eq(host.cancelled, 1);
}

Test(driver_cancel, is_for_workers)
{
    host.strategy.message = cancel;
    probe_host_make(&host, (gs_peer){GS_SERVER, 0});
    probe_host_note(&host, other, TAG);
    expect("server 0, step 0, wrong: cancel_gradient: no gradient is under way");
}

HOOK(cancel_and_reduce)
{
    UNUSED;
    gs_cancel_gradient(world);
    gs_all_reduce(world, 0, part(GS_GRAD, 0, 31), 0);
}

Test(driver_cancel, leaves_nothing_beyond_what_was_announced)
{
    run_in_backward(cancel_and_reduce);
    expect(PREFIX "all_reduce: GRAD [0, +31) is not ready: use buckets that were announced before "
                  "it was cancelled");
}

HOOK(cancel_and_overwrite_what_is_sent)
{
    UNUSED;
    gs_send(world, other, TAG, part(GS_GRAD, 0, 30), NULL, GS_SEND_LENT);
    gs_cancel_gradient(world);
}

/* What was sent cannot be taken back, and keeps GRAD until it has left. */
Test(driver_cancel, frees_no_slice_that_is_lent)
{
    run_in_backward(cancel_and_overwrite_what_is_sent);
    expect_peace();
    cr_expect_not(probe_host_step(&host).go);
    expect("worker 0, step 0, wrong: step_begin: GRAD is still lent to a request");
}
