/* Rules of a forward pass that begins before all weights are new: for each a strategy that breaks
 * it, and the exact words it hears. */
#include <criterion/criterion.h>

#include "strategies/world.h"
#include "tests/strategies/probe_host.h"

#define PREFIX "worker 0, step 0, wrong: "

enum { OWN = GS_OWN, TAG = 5 };

static const gs_peer self = {GS_WORKER, 0};
static const gs_peer other = {GS_WORKER, 1};
static probe_host host;
static gs_plan step_plan;

static void setup(void)
{
    probe_host_init(&host);
    host.layout.gated = true;
    host.layout.applies_slices = true;
}

static void teardown(void)
{
    probe_host_fini(&host);
}

TestSuite(driver_gates, .init = setup, .fini = teardown);

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

static gs_plan planned(gs_world *world, void *state, const gs_event *event)
{
    UNUSED;
    return step_plan;
}

static void refuse_plan(gs_plan plan)
{
    step_plan = plan;
    host.strategy.step_begin = planned;
    probe_host_make(&host, self);
    cr_expect_not(probe_host_step(&host).go);
}

/* Buckets [0, 30) and [30, 50) of a step are closed; a note makes the strategy do what is wrong. */
static void run_in_gated_forward(hook *wrong)
{
    host.strategy.message = wrong;
    host.strategy.step_begin = planned;
    step_plan = (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1, .closed_buckets = 2};
    probe_host_make(&host, self);
    cr_assert(probe_host_step(&host).go);
    probe_host_note(&host, other, TAG);
}

Test(driver_gates, closed_buckets_are_declared)
{
    host.layout.gated = false;
    refuse_plan((gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1, .closed_buckets = 1});
    expect(PREFIX "step_begin: the layout does not declare gated");
}

Test(driver_gates, no_more_buckets_are_closed_than_there_are)
{
    refuse_plan((gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1, .closed_buckets = 4});
    expect(PREFIX "step_begin: 4 of 3 buckets are closed");
}

HOOK(update_what_is_closed)
{
    UNUSED;
    gs_all_reduce(world, 0, part(GS_GRAD, 0, 30), 0);
    gs_apply_slice(world, part(GS_PARAM, 30, 20), GS_GRAD, 1.0, false);
}

Test(driver_gates, weights_the_forward_pass_has_not_come_to_may_be_written)
{
    run_in_gated_forward(update_what_is_closed);
    expect_peace();
    cr_expect_eq(host.applied, 20);
}

HOOK(update_one_element_more)
{
    UNUSED;
    gs_apply_slice(world, part(GS_PARAM, 30, 21), OWN, 1.0, false);
}

Test(driver_gates, weights_that_are_open_are_pinned)
{
    run_in_gated_forward(update_one_element_more);
    expect(PREFIX "apply: vector 0 is pinned until backward_done: the gradient is taken there");
}

HOOK(read_one_gradient_more)
{
    UNUSED;
    gs_all_reduce(world, 0, part(GS_GRAD, 20, 31), 0);
}

Test(driver_gates, the_last_gradient_is_kept_as_far_as_buckets_are_closed)
{
    run_in_gated_forward(read_one_gradient_more);
    expect(PREFIX "all_reduce: GRAD [20, +31) is not ready: use buckets that were announced");
}

HOOK(open_and_update)
{
    UNUSED;
    gs_open_forward(world, 1);
    gs_apply_slice(world, part(GS_PARAM, 0, 30), GS_GRAD, 1.0, false);
    gs_apply_slice(world, part(GS_PARAM, 30, 1), OWN, 1.0, false);
}

Test(driver_gates, what_was_opened_is_pinned)
{
    run_in_gated_forward(open_and_update);
    expect(PREFIX "apply: vector 0 is pinned until backward_done: the gradient is taken there");
    cr_expect_eq(host.open_from, 1);
    cr_expect_eq(host.applied, 30);
}

HOOK(open_the_last)
{
    UNUSED;
    gs_open_forward(world, 2);
}

Test(driver_gates, a_bucket_is_opened_once)
{
    run_in_gated_forward(open_the_last);
    expect(PREFIX "open_forward: bucket 2 is not closed: no step under way waits for it");
}

HOOK(open_all)
{
    UNUSED;
    gs_open_forward(world, 0);
}

Test(driver_gates, only_a_step_that_left_buckets_closed_opens_them)
{
    host.strategy.backward_done = open_all;
    probe_host_make(&host, self);
    probe_host_backward(&host);
    expect(PREFIX "open_forward: bucket 0 is not closed: no step under way waits for it");
}

HOOK(open_what_is_reduced)
{
    UNUSED;
    gs_all_reduce(world, 0, part(GS_GRAD, 0, 30), 0);
    gs_open_forward(world, 1);
    gs_open_forward(world, 0);
}

Test(driver_gates, a_gradient_under_way_keeps_its_bucket_closed)
{
    run_in_gated_forward(open_what_is_reduced);
    expect(PREFIX "open_forward: GRAD is still lent to a request");
    cr_expect_eq(host.open_from, 1);
}

HOOK(open_what_is_received)
{
    UNUSED;
    gs_recv(world, other, TAG, part(GS_PARAM, 40, 2), 0);
    gs_open_forward(world, 1);
}

Test(driver_gates, weights_that_are_still_to_come_are_not_opened)
{
    run_in_gated_forward(open_what_is_received);
    expect(PREFIX "open_forward: vector 0 [30, +20) is lent to request 1");
}
