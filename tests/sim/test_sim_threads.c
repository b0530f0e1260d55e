/* Threads compute the gradients of a run, and nobody can tell: the same bytes with any number of
 * them, which for an asynchronous server are also those of a loop without any simulator. */
#include "traces/noise.h"
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/strategies/probes.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { BATCH = 8 /* of small_job */ };

static small_job job;
static gs_arena arena;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
    small_job_fini(&job);
}

TestSuite(sim_threads, .init = setup, .fini = teardown, .timeout = 120);

static gs_sim *run(uint32_t threads, bool late, gs_record *record)
{
    gs_sim_config config = {.scenario = &job.scenario,
                            .strategy = &job.choice,
                            .seed = 3,
                            .record = record,
                            .late_ns = late ? 100 * GS_NS_PER_US : 0,
                            .threads = threads,
                            .threads_always = true};
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    return sim;
}

static gs_sim_result result_of(uint32_t threads, bool late)
{
    gs_record *record = gs_record_create(job.scenario.ranks, true);
    cr_assert_not_null(record);
    gs_sim *sim = run(threads, late, record);
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    gs_sim_destroy(sim);
    gs_record_destroy(record);
    return result;
}

static void learn(uint32_t ranks, int64_t steps)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.learns = true;
    config.servers = 1;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.skew_ns = GS_NS_PER_MS;
    config.steps = steps;
    small_job_init(&job, &config, "accumulation=2");
}

Test(sim_threads, change_no_bit_of_any_strategy)
{
    const gs_strategy *const strategies[] = {
        NULL, &probe_asp, &probe_pair, &probe_push_sum, &probe_two_stage, &probe_signals};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        learn(6, 10);
        job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.3};
        if (strategies[i] != NULL) {
            small_job_use(&job, strategies[i], NULL);
        }
        for (int late = 0; late < 2; late++) {
            gs_sim_result one = result_of(1, late == 1);
            cr_assert_eq(one.status, GS_OK, "%s", one.error.text);
            for (uint32_t threads = 2; threads <= 8; threads *= 2) {
                gs_sim_result more = result_of(threads, late == 1);
                cr_expect_eq(more.result_hash, one.result_hash, "%s, %u threads", job.choice.label,
                             threads);
                cr_expect_eq(more.weights_hash, one.weights_hash);
            }
        }
        small_job_fini(&job);
    }
}

/* A rate that sends the weights beyond all floats within a few steps. */
Test(sim_threads, a_loss_that_is_not_finite_ends_the_run_with_the_same_words)
{
    learn(4, 200);
    job.scenario.workload.task.optimizer.rate = 1e30;
    gs_sim_result one = result_of(0, false);
    cr_assert_eq(one.status, GS_EDIVERGED, "%s", one.error.text);
    for (uint32_t threads = 2; threads <= 8; threads *= 2) {
        gs_sim_result more = result_of(threads, false);
        cr_expect_eq(more.status, GS_EDIVERGED);
        cr_expect_str_eq(more.error.text, one.error.text);
        cr_expect_eq(more.result_hash, one.result_hash);
    }
}

Test(sim_threads, a_run_may_end_while_gradients_are_on_their_way)
{
    learn(8, 50);
    gs_error err;
    gs_sim *sim = gs_sim_create(&(gs_sim_config){.scenario = &job.scenario,
                                                 .strategy = &job.choice,
                                                 .threads = 3,
                                                 .threads_always = true},
                                &err);
    cr_assert(sim != NULL, "%s", err.text);
    cr_assert(gs_sim_run(sim, 8)); /* every rank has begun its first step, none has a unit */
    gs_sim_interrupt(sim);
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_expect_eq(result.status, GS_EINTERRUPTED);
    gs_sim_destroy(sim);
}

/* ---------------------------------------------------------------- an asynchronous server, alone */

enum { ASP_RANKS = 32, ASP_STEPS = 5, ASP_SEED = 3 };
static const gs_time_ns asp_pass_ns = 5000000000; /* so long that the network has no say */

typedef struct alone {
    gs_task *task;
    size_t bytes; /* of a vector */
    float *model, *state, *gradient[ASP_RANKS], *pulled[ASP_RANKS];
    gs_time_ns finish_ns[ASP_RANKS]; /* of the gradient under way; GS_TIME_NEVER: none is */
    int64_t steps[ASP_RANKS];        /* begun */
    gs_compute_noise *noise;
    gs_task_workspace *workspace;
} alone;

static void make_alone(alone *a)
{
    gs_error err;
    gs_task_setup setup = {.data_dir = job.scenario.data_dir, .ranks = ASP_RANKS, .seed = ASP_SEED};
    cr_assert_eq(gs_task_create(&job.scenario.workload.task, &setup, &arena, &a->task, &err),
                 GS_OK);
    cr_assert_eq(gs_task_workspace_create(a->task, BATCH, &arena, &a->workspace, &err), GS_OK);
    cr_assert_eq(
        gs_compute_noise_create(&job.scenario.noise, ASP_SEED, ASP_RANKS, &arena, &a->noise, &err),
        GS_OK);
    size_t count = gs_task_parameter_count(a->task);
    a->bytes = count * sizeof(float);
    a->model = GS_TAKE(&arena, float, count);
    a->state = GS_TAKE(&arena, float, gs_task_state_floats(a->task));
    gs_task_init(a->task, a->model);
    for (int rank = 0; rank < ASP_RANKS; rank++) {
        a->gradient[rank] = GS_TAKE(&arena, float, count);
        a->pulled[rank] = GS_TAKE(&arena, float, count);
        memcpy(a->pulled[rank], a->model, a->bytes);
    }
}

static void begin(alone *a, uint32_t rank, gs_time_ns now)
{
    int64_t step = a->steps[rank]++;
    double factor = gs_compute_noise_factor(a->noise, rank, (uint64_t)step, now);
    a->finish_ns[rank] = now + (gs_time_ns)((double)asp_pass_ns * factor + 0.5);
    gs_task_request request = {.first_sample = (step * ASP_RANKS + rank) * BATCH,
                               .sample_count = BATCH};
    double loss;
    gs_error err;
    cr_assert_eq(
        gs_task_gradient(a->workspace, &request, a->pulled[rank], a->gradient[rank], &loss, &err),
        GS_OK);
}

static uint32_t next_of(const alone *a)
{
    uint32_t next = 0;
    for (uint32_t rank = 1; rank < ASP_RANKS; rank++) {
        next = a->finish_ns[rank] < a->finish_ns[next] ? rank : next;
    }
    return next;
}

/* Who is done pushes, the server applies, who pushed pulls and begins anew; once the budget is
 * reached nobody begins, and what is under way still counts. */
static void learn_alone(alone *a)
{
    int64_t ended = 0;
    for (uint32_t rank = 0; rank < ASP_RANKS; rank++) {
        begin(a, rank, 0);
    }
    for (uint32_t rank = next_of(a); a->finish_ns[rank] < GS_TIME_NEVER; rank = next_of(a)) {
        gs_time_ns now = a->finish_ns[rank];
        a->finish_ns[rank] = GS_TIME_NEVER;
        /* Messages take some 10 ns in all: the order is one of computing times alone. */
        cr_assert_gt(a->finish_ns[next_of(a)] - now, 1000 * ASP_STEPS);
        gs_optimizer_update update = {.parameters = a->model,
                                      .gradient = a->gradient[rank],
                                      .state = a->state,
                                      .count = a->bytes / sizeof(float),
                                      .rate_scale = 1.0};
        cr_assert(gs_task_apply(a->task, &update));
        memcpy(a->pulled[rank], a->model, a->bytes);
        if (++ended < ASP_RANKS * ASP_STEPS) {
            begin(a, rank, now);
        }
    }
    cr_assert_gt(ended, ASP_RANKS * ASP_STEPS);
}

Test(sim_threads, an_asynchronous_run_of_32_ranks_is_a_loop_over_an_event_list)
{
    small_job_config config = small_job_default();
    config.ranks = ASP_RANKS;
    config.learns = true;
    config.servers = 1;
    config.units = 1;
    config.nic_bps = INT64_C(8000000000000000);
    config.nic_latency_ns = 1;
    config.forward_ns = asp_pass_ns;
    config.steps = ASP_STEPS;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, &probe_asp, NULL);
    job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_PARETO, .cv = 0.5};
    alone reference = {0};
    make_alone(&reference);
    learn_alone(&reference);
    for (uint32_t threads = 1; threads <= 8; threads *= 8) {
        gs_sim *sim = run(threads, false, NULL);
        gs_sim_result result;
        gs_sim_result_get(sim, &result);
        cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
        for (uint32_t rank = 0; rank < ASP_RANKS; rank++) {
            size_t count;
            const float *weights = gs_sim_weights(sim, rank, &count);
            cr_assert_eq(count * sizeof(float), reference.bytes);
            cr_expect_arr_eq(weights, reference.pulled[rank], reference.bytes,
                             "%u threads, rank %u", threads, rank);
        }
        gs_sim_destroy(sim);
    }
}
