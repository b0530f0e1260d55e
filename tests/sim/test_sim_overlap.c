/* Strategies that choose when gradients travel: Horovod's cycles, and forward passes that do not
 * wait for all weights; times worked out by hand. */
#include <criterion/criterion.h>

#include "sim/sim_parts.h" /* to count what was sent */
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <math.h>
#include <string.h>

static small_job job;
static small_job_config made;

TestSuite(sim_overlap, .timeout = 120);

/* Owner of the run: caller; the job stays until the next one. */
static gs_sim *run(const char *name, const char *text, gs_record *record)
{
    small_job_init(&job, &made, NULL);
    small_job_use(&job, gs_strategy_find(name), text);
    gs_sim_config config = {
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 3, .record = record};
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    cr_assert(sim != NULL, "%s:%s: %s", name, text, err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s:%s: %s", name, text, result.error.text);
    return sim;
}

static void end(gs_sim *sim)
{
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* Step 5 of 10 on rank 0: neither the first nor the last. */
static gs_step_row step_of(const char *name, const char *text)
{
    made.steps = 10;
    gs_record *record = gs_record_create(made.ranks, true);
    end(run(name, text, record));
    gs_step_row row = {.step = -1};
    for (int64_t i = 0; i < gs_record_step_count(record); i++) {
        gs_step_row at = gs_record_step_at(record, i);
        if (at.rank == 0 && at.step == 5) {
            row = at;
        }
    }
    gs_record_destroy(record);
    cr_assert_eq(row.step, 5);
    return row;
}

/* ---------------------------------------------------------------- cycles */

/* Gradients are complete T = 2.3 ms after a step begins, and their sum takes A = 6 (10 us + 1.6 us)
 * once rank 0 has been told and has answered, 20 us. So with the end of a cycle c at which it was
 * told, the next step begins d = 90 us after it, and its own end of a cycle is the first that is
 * T + d after the last: a step takes c ceil((T + d) / c), 3 ms in cycles of 1 ms, 5 ms in cycles of
 * 5 ms. Without cycles it takes T and the sum of the last tensor alone, 6 (10 us + 0.8 us). */
Test(sim_overlap, horovod_takes_whole_cycles)
{
    made = small_job_default();
    made.units = 2;
    made.unit_elements = 1000;
    made.forward_ns = 2000 * GS_NS_PER_US;
    made.backward_ns = 150 * GS_NS_PER_US;
    cr_expect_eq(step_of("horovod", "cycle=1ms").duration_ns, 3 * GS_NS_PER_MS);
    cr_expect_eq(step_of("horovod", "cycle=5ms").duration_ns, 5 * GS_NS_PER_MS);
    gs_step_row plain = step_of("allreduce", "bucket=tensor");
    cr_expect_float_eq((double)plain.duration_ns, 2300e3 + 6 * 10.8e3, 20);
}

/* In one cycle both tensors become ready: 4 ranks send 6 parts each of their sum, three tell rank 0
 * and three are told. Unfused there are two sums. */
Test(sim_overlap, horovod_fuses_what_became_ready_in_a_cycle)
{
    made = small_job_default();
    made.units = 2;
    made.unit_elements = 1000;
    made.forward_ns = 100 * GS_NS_PER_US;
    made.backward_ns = 150 * GS_NS_PER_US;
    gs_sim *sim = run("horovod", "", NULL);
    cr_expect_eq(sim->net.sent, 4 * 6 + 6);
    end(sim);
    sim = run("horovod", "fusion=7999B", NULL);
    cr_expect_eq(sim->net.sent, 2 * 4 * 6 + 6);
    end(sim);
    sim = run("horovod", "fusion=0B,cycle=100us", NULL);
    cr_expect_eq(sim->net.sent, 2 * 4 * 6 + 12, "two cycles");
    end(sim);
}

/* ---------------------------------------------------------------- gates */

enum { FORWARD_US = 6000, BACKWARD_US = 1000 };

/* Two ranks, two layers of 10 MB. The sum of a layer is two messages of 5 MB each way, 8 ms; of
 * half a layer 4 ms. Latencies are 1 us. */
static void two_layers(void)
{
    made = small_job_default();
    made.ranks = 2;
    made.units = 2;
    made.unit_elements = 2500000;
    made.nic_latency_ns = GS_NS_PER_US;
    made.forward_ns = FORWARD_US * GS_NS_PER_US;
    made.backward_ns = BACKWARD_US * GS_NS_PER_US;
}

/* With a barrier: forward 6 ms, backward of the last layer 1 ms, then 16 ms of sums, which hide the
 * 1 ms of the first layer's backward: 23 ms, 15 of them exposed. Without: the last layer is ready
 * first, and half of it goes; then all of the first layer, which is more urgent, then the rest.
 * While that is under way, 4 ms, the first layer's half of the forward pass runs, 3 ms; only the
 * other half and 1 ms of backward stand between two gradients: 16 + 3 + 1 = 20 ms, 12 of them
 * exposed. What rank 0 tells costs a few latencies a part. */
Test(sim_overlap, crossing_the_barrier_hides_the_forward_pass_of_first_layers)
{
    two_layers();
    gs_step_row plain = step_of("allreduce", "bucket=tensor");
    gs_step_row crossed = step_of("cross_barrier", "bucket=5MB,credit=1B");
    cr_expect_float_eq((double)plain.duration_ns, 23e6, 20e3);
    cr_expect_float_eq((double)plain.exposed_comm_ns, 15e6, 20e3);
    cr_expect_float_eq((double)crossed.duration_ns, 20e6, 40e3);
    cr_expect_float_eq((double)(crossed.exposed_comm_ns + crossed.wait_ns + crossed.overhead_ns),
                       12e6, 40e3);
    cr_expect_float_eq((double)crossed.exposed_comm_ns, 12e6, 100e3);
    /* And the updates: a few moves of 20 MB at 1 PB/s. */
    cr_expect_float_eq((double)plain.compute_ns, 8e6, 200);
    cr_expect_float_eq((double)crossed.compute_ns, 8e6, 200);
}

/* A credit of 10 MB lets both halves of the last layer go before the first layer is ready: its
 * weights come last, and nothing of the forward pass can run. */
Test(sim_overlap, a_credit_of_the_gradient_that_is_ready_first_leaves_no_priority)
{
    two_layers();
    gs_step_row row = step_of("cross_barrier", "bucket=5MB,credit=10MB");
    cr_expect_float_eq((double)row.duration_ns, 23e6, 40e3);
}

/* An optimizer of 2 ms in the profile is 1 ms a layer. Rank 1 hears of the last part when the first
 * layer's is on its stream: that part waits 1 ms, and takes 4. The first layer's half of the
 * forward pass ends meanwhile; then come 1 ms for the last layer's optimizer, its half, and 1 ms of
 * backward: 12 + 5 + 1 + 3 + 1 = 22 ms. Were each layer charged with all 2 ms it were 24. */
Test(sim_overlap, an_optimizer_on_a_layer_takes_its_share)
{
    two_layers();
    made.optimizer_ns = 2 * GS_NS_PER_MS;
    gs_step_row row = step_of("cross_barrier", "bucket=5MB,credit=1B");
    cr_expect_float_eq((double)row.duration_ns, 22e6, 40e3);
    cr_expect_float_eq((double)row.compute_ns, 10e6, 10);
}

/* ---------------------------------------------------------------- weights */

/* The same mean of the same gradients; sums in another order. */
static void expect_close(const char *name, const char *text)
{
    gs_sim *one = run(name, text, NULL);
    small_job first = job;
    gs_sim *two = run("allreduce", "", NULL);
    for (uint32_t rank = 0; rank < made.ranks; rank++) {
        size_t count;
        const float *a = gs_sim_weights(one, rank, &count);
        const float *b = gs_sim_weights(two, rank, &count);
        cr_assert_gt(count, 1000);
        for (size_t i = 0; i < count; i++) {
            cr_assert(fabsf(a[i] - b[i]) <= 1e-6F, "%s:%s, rank %u, weight %zu: %g, %g", name, text,
                      rank, i, (double)a[i], (double)b[i]);
        }
    }
    gs_sim_destroy(one);
    small_job_fini(&first);
    end(two);
}

Test(sim_overlap, weights_are_those_of_allreduce)
{
    made = small_job_default();
    made.learns = true;
    made.unit_elements = 4099;
    made.forward_ns = 300 * GS_NS_PER_US;
    made.backward_ns = 100 * GS_NS_PER_US;
    made.skew_ns = 200 * GS_NS_PER_US;
    made.steps = 20;
    expect_close("horovod", "cycle=200us");
    expect_close("horovod", "fusion=0B,cycle=100us");
    expect_close("cross_barrier", "");
    expect_close("cross_barrier", "bucket=3kB,credit=1B");
}

/* ---------------------------------------------------------------- what is refused */

static void expect_refused(const char *text, const char *reason, const char *instead)
{
    gs_error err;
    small_job_init(&job, &made, NULL);
    small_job_use(&job, gs_strategy_find("cross_barrier"), text);
    cr_expect_null(
        gs_sim_create(&(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice}, &err));
    cr_expect_eq(err.code, GS_EINVAL);
    cr_expect_not_null(strstr(err.text, reason), "%s", err.text);
    cr_expect_not_null(strstr(err.text, instead), "%s", err.text);
    small_job_fini(&job);
}

/* 4 units of 1000000 elements of 4 bytes: 2^20 parts of which 4 may not be full hold 3 elements and
 * a bit each, so 4 it is. */
Test(sim_overlap, parts_that_are_too_small_are_refused)
{
    made = small_job_default();
    made.unit_elements = 1000000;
    expect_refused("bucket=3B", "holds no element of 4 bytes", "use bucket=4B or more");
    expect_refused("bucket=4B", "4000000 parts, and 1048576 are the most",
                   "use bucket=16B or more");
    gs_error err;
    gs_layout layout;
    gs_job large;
    small_job_init(&job, &made, NULL);
    small_job_use(&job, gs_strategy_find("cross_barrier"), "bucket=16B");
    cr_assert_eq(gs_scenario_job(&job.scenario, &job.arena, &large, &err), GS_OK);
    cr_expect_eq(job.choice.strategy->layout(job.choice.config, &large, &layout, &err), GS_OK, "%s",
                 err.text);
    small_job_fini(&job);
}
