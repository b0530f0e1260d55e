/* Services that take an index, called with one that there is not: each ends the run in one line
 * that names strategy, service and index, and answers something that a hook can go on with. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "strategies/world.h"
#include "tests/strategies/probe_host.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "worker 0, step 0, wrong: "

enum { OWN = GS_OWN };

static const gs_peer worker = {GS_WORKER, 0}, server = {GS_SERVER, 0};
static probe_host host;
static gs_slice answer; /* of the service that was asked last, */
static uint32_t number; /* or a number */
static uint32_t seen;   /* by model_view */
static double seen_weight;

static void setup(void)
{
    probe_host_init(&host);
    host.layout.sends_coded = true;
}

static void teardown(void)
{
    probe_host_fini(&host);
}

TestSuite(driver_indices, .init = setup, .fini = teardown);

#define HOOK(name, call)                                                                           \
    static void name(gs_world *world, void *state, const gs_event *event)                          \
    {                                                                                              \
        (void)state, (void)event;                                                                  \
        call;                                                                                      \
    }

typedef void hook(gs_world *world, void *state, const gs_event *event);

static gs_slice part(uint32_t vector, int64_t offset, int64_t length)
{
    return (gs_slice){vector, offset, length};
}

HOOK(bucket_99, answer = gs_bucket_slice(world, 99))
HOOK(bucket_count, number = gs_bucket_count(world))
HOOK(members_of_2, number = gs_members(world, 2))
HOOK(members_of_all_ones, number = gs_members(world, UINT32_MAX))
HOOK(members_of_0, number = gs_members(world, 0))
HOOK(member_of_2, number = gs_member(world, 2))
HOOK(part_of_2, answer = gs_part(world, 2, part(OWN, 0, 9), 0))
HOOK(part_of_nobody, answer = gs_part(world, 0, part(OWN, 7, 9), 2))
HOOK(part_of_nothing, answer = gs_part(world, 0, part(OWN, INT64_MAX, 9), 1))
HOOK(root_is_nobody, (void)gs_broadcast(world, 1, part(OWN, 0, 9), 2, 0))
HOOK(step_of_minus_1, number = (uint32_t)gs_bits(world, 0, -1, 0))
HOOK(step_too_far, number = (uint32_t)gs_bits(world, 0, INT64_C(1) << GS_RNG_STEP_BITS, 0))
HOOK(shifted, gs_vec(world, GS_VOP_copy, part(OWN, 0, 9), part(OWN, 8, 9), 0.0))
HOOK(shifted_back, gs_code(world, part(OWN, 5, 9), part(OWN, 1, 9)))
HOOK(apart, gs_vec(world, GS_VOP_copy, part(OWN, 0, 9), part(OWN, 9, 9), 0.0))
HOOK(the_same, gs_vec(world, GS_VOP_add, part(OWN, 3, 9), part(OWN, 3, 9), 0.0))
HOOK(timer_for_ever, (void)gs_timer(world, INT64_MAX, 0))

static void run(hook *wrong, const char *text)
{
    answer = part(7, 7, 7);
    number = 7;
    host.strategy.backward_done = wrong;
    probe_host_make(&host, worker);
    probe_host_backward(&host);
    cr_expect_eq(host.failures, text == NULL ? 0 : 1, "%s", text);
    if (text != NULL) {
        cr_expect_eq(host.error.code, GS_ECONTRACT);
        cr_expect_str_eq(host.error.text, text);
        cr_expect_eq(host.vecs, 0);
    }
    teardown();
    setup();
}

/* The probe's job has three buckets, two workers and two communicators of both. */
Test(driver_indices, of_buckets)
{
    run(bucket_99, PREFIX "bucket_slice: no bucket 99 here; there are 3");
    cr_expect_eq(answer.vector, GS_GRAD);
    cr_expect_eq(answer.length, 0);
}

Test(driver_indices, servers_have_no_buckets)
{
    number = 7;
    host.strategy.message = bucket_count;
    probe_host_make(&host, server);
    probe_host_note(&host, worker, 0);
    cr_expect_eq(number, 0);
    cr_expect_eq(host.failures, 0);
    teardown();
    setup();
    host.strategy.message = bucket_99;
    probe_host_make(&host, server);
    probe_host_note(&host, worker, 0);
    cr_expect_str_eq(host.error.text,
                     "server 0, step 0, wrong: bucket_slice: no bucket 99 here; there are 0");
}

Test(driver_indices, of_communicators_and_their_members)
{
    run(members_of_2, PREFIX "members: no communicator 2 here; there are 2");
    cr_expect_eq(number, 1);
    run(members_of_all_ones, PREFIX "members: no communicator 4294967295 here; there are 2");
    run(members_of_0, NULL);
    cr_expect_eq(number, 2);
    run(member_of_2, PREFIX "member: no communicator 2 here; there are 2");
    cr_expect_eq(number, 0);
    run(part_of_2, PREFIX "part: no communicator 2 here; there are 2");
    cr_expect_eq(answer.vector, OWN);
    cr_expect_eq(answer.length, 0);
    run(part_of_nobody, PREFIX "part: no member 2 here; there are 2");
    cr_expect_eq(answer.length, 0);
    run(part_of_nothing, PREFIX "part: no such slice: vector 2, [9223372036854775807, +9)");
    run(root_is_nobody, PREFIX "broadcast: no member 2 here; there are 2");
}

Test(driver_indices, servers_are_members_of_nothing)
{
    host.strategy.message = members_of_0;
    probe_host_make(&host, server);
    probe_host_note(&host, worker, 0);
    cr_expect_eq(number, 1);
    cr_expect_str_eq(host.error.text,
                     "server 0, step 0, wrong: members: no communicator 0 here; there are 0");
}

Test(driver_indices, of_random_numbers)
{
    run(step_of_minus_1,
        PREFIX "bits: step -1; steps are 0 to 2^56 - 1, events and plans have them");
    cr_expect_eq(number, 0);
    run(step_too_far, PREFIX "bits: step 72057594037927936; steps are 0 to 2^56 - 1, events and "
                             "plans have them");
}

/* Hosts copy from one to the other, front to back, or in vectors: a shift by less than the length
 * has no one result. */
Test(driver_indices, of_operands_that_overlap)
{
    run(shifted, PREFIX "vec: [0, +9) and [8, +9) of vector 2 overlap: operands are the same or "
                        "apart");
    run(shifted_back, PREFIX "code: [5, +9) and [1, +9) of vector 2 overlap: operands are the same "
                             "or apart");
    run(apart, NULL);
    run(the_same, NULL);
}

Test(driver_indices, of_time)
{
    run(timer_for_ever, PREFIX "timer: 9223372036854775807 ns from now; no run takes over "
                               "8640000000000000");
}

/* ---------------------------------------------------------------- views and exports */

static void view(const void *state, uint32_t *out_vector, double *out_weight)
{
    (void)state;
    *out_vector = seen;
    *out_weight = seen_weight;
}

static void expect_view(uint32_t vector, double weight, const char *text)
{
    uint32_t shown_vector;
    double shown_weight;
    seen = vector;
    seen_weight = weight;
    host.strategy.model_view = view;
    probe_host_make(&host, worker);
    gs_driver_model_view(host.driver, &shown_vector, &shown_weight);
    cr_expect_eq(host.failures, text == NULL ? 0 : 1);
    cr_expect_eq(shown_vector, text == NULL ? vector : GS_PARAM);
    cr_expect_float_eq(shown_weight, text == NULL ? weight : 1.0, 0.0);
    if (text != NULL) {
        cr_expect_str_eq(host.error.text, text);
    }
    teardown();
    setup();
}

/* The probe's worker has PARAM, GRAD and two of its own. */
Test(driver_indices, of_the_vector_that_is_the_model)
{
    expect_view(99, 1.0, PREFIX "model_view: no vector 99 here; there are 4");
    expect_view(4, 1.0, PREFIX "model_view: no vector 4 here; there are 4");
    expect_view(0, -0.25, PREFIX "model_view: weight -0.25; it is at least 0");
    expect_view(0, (double)INFINITY, PREFIX "model_view: weight inf; it is at least 0");
    expect_view(3, 0.5, NULL);
}

static size_t export_too_much(const void *state, void *out, size_t out_bytes)
{
    (void)state, (void)out;
    return out_bytes + 1;
}

HOOK(drain, gs_drained(world))

Test(driver_indices, of_what_is_exported)
{
    char room[8];
    host.strategy.export_state = export_too_much;
    host.strategy.quiesce = drain;
    probe_host_make(&host, worker);
    probe_host_quiesce(&host);
    cr_assert_eq(host.failures, 0);
    cr_expect_eq(gs_driver_export(host.driver, room, sizeof room), 0);
    cr_expect_str_eq(host.error.text, PREFIX "export_state: 9 bytes in room for 8");
}
