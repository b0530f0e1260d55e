/* Where ranks stop at a step that all share, each has ended it before it drains. */
#include <criterion/criterion.h>

#include "strategies/world.h"
#include "tests/strategies/probe_host.h"

static probe_host host;

static void setup(void)
{
    probe_host_init(&host);
    host.layout.cut = GS_CUT_COMMON;
}

static void teardown(void)
{
    probe_host_fini(&host);
}

TestSuite(driver_end, .init = setup, .fini = teardown);

static void end_nothing(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state, (void)event;
}

static void end_the_step(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    gs_end_step(world);
}

static void drain(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    gs_drained(world);
}

static void drain_after(void (*backward_done)(gs_world *, void *, const gs_event *))
{
    host.strategy.quiesce = drain;
    host.strategy.backward_done = backward_done;
    probe_host_make(&host, (gs_peer){GS_WORKER, 0});
    probe_host_backward(&host);
    gs_driver_quiesce(host.driver, 1, 1);
}

Test(driver_end, a_step_that_began_ends_before_the_cut)
{
    drain_after(end_nothing);
    cr_assert_eq(host.failures, 1, "%d failures", host.failures);
    cr_expect_eq(host.error.code, GS_ECONTRACT);
    cr_expect_str_eq(host.error.text,
                     "worker 0, step 0, wrong: drained: 1 steps began and 0 ended; end each by the "
                     "last apply of it, or by end_step");
}

Test(driver_end, steps_that_ended_may_be_drained)
{
    drain_after(end_the_step);
    cr_expect_eq(host.failures, 0, "%s", host.error.text);
}
