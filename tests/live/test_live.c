#include <criterion/criterion.h>

#include "live/live.h"
#include "strategies/registry.h"
#include "strategies/world.h"
#include "tests/strategies/probes.h"

#include <string.h>

enum { RANKS = 3, STEPS = 3 };

static probe_job made;
static gs_live_config config;
static gs_live_result result;

static void prepare(const gs_strategy *strategy)
{
    config = gs_live_config_default();
    config.strategy = probe_choose(&made, strategy);
    config.job = &made.job;
    config.task = made.task;
    config.batch_per_rank = PROBE_BATCH;
    config.budget_steps = STEPS;
    config.deadline_ns = 150 * GS_NS_PER_MS;
}

static void setup(void)
{
    probe_job_init(&made, RANKS);
}

static void teardown(void)
{
    probe_job_fini(&made);
}

TestSuite(live, .init = setup, .fini = teardown, .timeout = 60);

static gs_live *run(void)
{
    gs_error err;
    gs_live *live = gs_live_create(&config, &err);
    cr_assert(live != NULL, "%s", err.text);
    gs_live_run(live);
    gs_live_result_get(live, &result);
    return live;
}

static void expect_end(gs_status status, const char *text)
{
    gs_live_destroy(run());
    cr_expect_eq(result.status, status, "%s", result.error.text);
    cr_expect(strstr(result.error.text, text) != NULL, "'%s' is not in '%s'", text,
              result.error.text);
}

/* ---------------------------------------------------------------- strategies that go wrong */

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)settings, (void)job, (void)err;
    *out = (gs_layout){.state_bytes = {16},
                       .outstanding_max = {8},
                       .communicator_count = 1,
                       .point_to_point = true};
    return GS_OK;
}

static gs_plan go_once(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state;
    return (gs_plan){.go = event->step == 0, .at = GS_PARAM, .micro_steps = 1};
}

static gs_strategy wrong(void (*backward_done)(gs_world *, void *, const gs_event *))
{
    return (gs_strategy){.struct_bytes = sizeof(gs_strategy),
                         .name = "wrong",
                         .layout = layout,
                         .init = probe_no_init,
                         .step_begin = go_once,
                         .bucket_ready = probe_ignore,
                         .backward_done = backward_done,
                         .op_done = probe_ignore,
                         .message = probe_ignore,
                         .quiesce = probe_ignore};
}

static void two_of_three_reduce(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    if (gs_self(world).index != 1) {
        gs_all_reduce(world, 0, probe_whole(world, GS_GRAD), 42);
    }
}

Test(live, a_deadlock_ends_by_the_deadline_and_says_who_waits_for_whom)
{
    gs_strategy strategy = wrong(two_of_three_reduce);
    prepare(&strategy);
    gs_time_ns before = gs_live_clock();
    expect_end(GS_EDEADLOCK, "nothing has moved for 0.15 s; worker 0, step 0, waits for all_reduce "
                             "0 (label 42, communicator 0), which waits for worker 2");
    cr_expect(strstr(result.error.text, "worker 1, step 0, waits for a release of its strategy") !=
                  NULL,
              "%s", result.error.text);
    cr_expect_lt(gs_live_clock() - before, 5 * GS_NS_PER_S);
}

/* Equal sizes: only the label tells that the buckets are swapped. */
static void swapped_labels(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    uint64_t label = gs_self(world).index == 2 ? 1 : 0;
    gs_all_reduce(world, 0, (gs_slice){GS_GRAD, 0, 8}, label);
    gs_all_reduce(world, 0, (gs_slice){GS_GRAD, 8, 8}, 1 - label);
}

Test(live, ranks_that_disagree_are_told_apart_by_what_each_part_carries)
{
    gs_strategy strategy = wrong(swapped_labels);
    prepare(&strategy);
    expect_end(GS_EMISMATCH, "ranks must issue the same requests in the same order");
}

static void break_a_rule(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    gs_drained(world);
}

Test(live, a_broken_rule_ends_the_run)
{
    gs_strategy strategy = wrong(break_a_rule);
    prepare(&strategy);
    expect_end(GS_ECONTRACT, "step 0, wrong: drained: nobody asked for it");
}

/* Worker 0 sends worker 1 a note when it is told to stop; worker 1 drains at once. */
static gs_plan go(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)state, (void)event;
    return (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1};
}

static void only_end(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    gs_end_step(world);
}

static void note_and_drain(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    if (gs_self(world).index == 0) {
        gs_note(world, (gs_peer){GS_WORKER, 1}, 9, NULL);
    }
    gs_drained(world);
}

Test(live, a_message_that_comes_after_the_end_is_never_lost_in_silence)
{
    gs_strategy strategy = wrong(only_end);
    strategy.step_begin = go;
    strategy.quiesce = note_and_drain;
    prepare(&strategy);
    for (int i = 0; i < 20; i++) {
        gs_live_destroy(run());
        /* Where the note comes first, worker 1 hears it and all is well. */
        cr_expect(result.status == GS_OK || result.status == GS_ECONTRACT, "%s", result.error.text);
    }
    config.delay = GS_DELAY_SKEWED; /* 0 to 1 is slow: it comes last */
    config.delay_ns = 4 * GS_NS_PER_MS;
    expect_end(GS_ECONTRACT, "came after this entity had drained");
}

/* A worker that begins its next step on the server's reply alone. Its state: does it wait? The
 * server is probe_asp's. */
static gs_plan hasty_step(gs_world *world, void *state, const gs_event *event)
{
    (void)world, (void)event;
    return (gs_plan){.go = !*(bool *)state, .at = GS_PARAM, .micro_steps = 1};
}

static void hasty_backward(gs_world *world, void *state, const gs_event *event)
{
    (void)event;
    *(bool *)state = true;
    gs_recv(world, (gs_peer){GS_SERVER, 0}, 1, probe_whole(world, GS_PARAM), 0);
    gs_send(world, (gs_peer){GS_SERVER, 0}, 0, probe_whole(world, GS_GRAD), NULL, 0);
}

static void hasty_op_done(gs_world *world, void *state, const gs_event *event)
{
    if (gs_self(world).role == GS_SERVER) {
        probe_asp.op_done(world, state, event);
    }
}

static void hasty_message(gs_world *world, void *state, const gs_event *event)
{
    if (gs_self(world).role == GS_SERVER) {
        probe_asp.message(world, state, event);
        return;
    }
    *(bool *)state = false;
    gs_release(world);
}

/* The reply can overtake the completion of the send that caused it; where completions are prompt
 * nobody sees it. */
Test(live, late_completions_find_a_worker_that_does_not_wait_for_its_send)
{
    gs_strategy strategy = probe_asp;
    strategy.step_begin = hasty_step;
    strategy.backward_done = hasty_backward;
    strategy.op_done = hasty_op_done;
    strategy.message = hasty_message;
    prepare(&strategy);
    config.budget_steps = 50;
    config.delay = GS_DELAY_LATE;
    config.delay_ns = 2 * GS_NS_PER_MS;
    expect_end(GS_ECONTRACT, "step_begin: GRAD is still lent to a request");
}

/* ---------------------------------------------------------------- sizes and modes */

static const int64_t large[] = {700001, 299, 1000003, 50};

static void expect_equal_weights(void)
{
    gs_live *live = run();
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    size_t count;
    const float *first = gs_live_weights(live, 0, &count);
    cr_expect_eq(count, made.count);
    for (uint32_t rank = 1; rank < RANKS; rank++) {
        cr_expect_eq(memcmp(first, gs_live_weights(live, rank, &count), count * sizeof *first), 0);
    }
    gs_live_destroy(live);
}

Test(live, a_job_larger_than_its_model_trains_it)
{
    probe_job_fini(&made);
    probe_job_init_sized(&made, RANKS, large, 4);
    prepare(gs_strategy_find("allreduce"));
    expect_equal_weights();
    config.rendezvous = true;
    expect_equal_weights();
}

static void add_shifted(gs_world *world, void *state, const gs_event *event)
{
    (void)state, (void)event;
    for (int64_t i = 0; i < 1000; i++) { /* 2410 floats in 1700353 elements: 705.5 each */
        gs_vec(world, GS_VOP_add, (gs_slice){GS_PARAM, 0, 800}, (gs_slice){GS_GRAD, i, 800}, 0.0);
    }
}

Test(live, slices_that_would_pair_unequal_floats_are_refused)
{
    probe_job_fini(&made);
    probe_job_init_sized(&made, RANKS, large, 4);
    gs_strategy strategy = wrong(add_shifted);
    prepare(&strategy);
    expect_end(GS_EUNSUPPORTED, "two slices of one length hold different numbers of floats");
}

Test(live, without_a_task_only_times_and_messages_are_left)
{
    const gs_strategy *const strategies[] = {gs_strategy_find("allreduce"),
                                             &probe_asp,
                                             &probe_push_sum,
                                             &probe_pair,
                                             &probe_two_stage,
                                             &probe_signals};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        for (int rendezvous = 0; rendezvous < 2; rendezvous++) {
            prepare(strategies[i]);
            config.task = NULL;
            config.rendezvous = rendezvous == 1;
            gs_live_destroy(run());
            cr_expect_eq(result.status, GS_OK, "%s: %s", strategies[i]->name, result.error.text);
            cr_expect_eq(result.weights_hash, 0);
            cr_expect_geq(result.gradients, RANKS * STEPS);
        }
    }
}

Test(live, one_rank_runs_alone)
{
    probe_job_fini(&made);
    probe_job_init(&made, 1);
    const gs_strategy *const strategies[] = {gs_strategy_find("allreduce"),
                                             &probe_asp,
                                             &probe_push_sum,
                                             &probe_pair,
                                             &probe_two_stage,
                                             &probe_signals};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        prepare(strategies[i]);
        gs_live_destroy(run());
        cr_expect_eq(result.status, GS_OK, "%s: %s", strategies[i]->name, result.error.text);
        cr_expect_eq(result.gradients, STEPS);
    }
}

Test(live, what_cannot_run_is_refused_before_it_starts)
{
    gs_error err;
    made.job.servers = 0;
    prepare(&probe_asp);
    cr_expect_null(gs_live_create(&config, &err));
    cr_expect_eq(err.code, GS_EINVAL);
    cr_expect_str_eq(err.text, "probe_asp needs 1 servers and the job offers 0");
    prepare(gs_strategy_find("allreduce"));
    config.transport = "pigeon";
    cr_expect_null(gs_live_create(&config, &err));
    cr_expect_str_eq(err.text, "no transport pigeon here");
}

Test(live, a_loss_that_is_not_finite_ends_the_run)
{
    gs_strategy strategy = *gs_strategy_find("allreduce");
    gs_task_config task = gs_task_config_default();
    task.optimizer.rate = 1e30;
    gs_error err;
    gs_task_setup setup = {.data_dir = GS_TEST_SOURCE_DIR, .ranks = made.job.ranks, .seed = 7};
    cr_assert_eq(gs_task_create(&task, &setup, &made.arena, &made.task, &err), GS_OK);
    const int64_t whole[] = {(int64_t)gs_task_parameter_count(made.task)};
    made.job.elements = whole[0];
    made.job.unit_elements = whole;
    made.job.unit_count = 1;
    prepare(&strategy);
    config.budget_steps = 50;
    expect_end(GS_EDIVERGED, "is not finite");
}
