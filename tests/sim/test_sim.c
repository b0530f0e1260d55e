/* Whole runs: where the time goes, what may not change the weights, and how a run ends that cannot
 * go on. */
#include "strategies/registry.h"
#include "strategies/world.h"
#include "tests/small_job.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

static gs_sim_result run_with(small_job *job, gs_sim_config config)
{
    config.scenario = &job->scenario;
    config.strategy = &job->choice;
    return small_job_run(&config);
}

static small_job_config learning(uint32_t ranks)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.learns = true;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.steps = 12;
    return config;
}

/* ---------------------------------------------------------------- accounting */

/* 4 units of 1 MB; forward 1 ms, backward 1 ms a unit; ring of 2 at 1.25 GB/s: 2 (10 us + 0.4 ms) =
 * 0.82 ms a bucket. Each bucket but the last hides behind the next backward; the last shows:
 * compute 5 ms, exposed 0.82 ms, and the optimizer's 0.5 ms at the start of the next step. */
Test(sim, hides_all_buckets_but_the_last)
{
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.unit_elements = 250000;
    config.forward_ns = GS_NS_PER_MS;
    config.backward_ns = GS_NS_PER_MS;
    config.optimizer_ns = GS_NS_PER_MS / 2;
    config.steps = 3;
    small_job job;
    small_job_init(&job, &config, "bucket=tensor");
    gs_record *record = gs_record_create(2, true);
    gs_sim_result result = run_with(&job, (gs_sim_config){.record = record});
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_assert_eq(gs_record_step_count(record), 6);
    gs_step_row row = gs_record_step_at(record, 2); /* step 1 of rank 0 */
    cr_assert_eq(row.step, 1);
    cr_assert_float_eq((double)row.compute_ns, 5.5e6, 10);
    cr_assert_float_eq((double)row.exposed_comm_ns, 0.82e6, 100);
    cr_assert_float_eq((double)row.comm_ns, 4 * 0.82e6, 400);
    cr_assert_eq(row.wait_ns, 0);
    cr_assert_float_eq((double)row.duration_ns, 6.32e6, 200);
    cr_assert_eq(row.bytes_sent, 4000000);
    /* Three of four buckets are hidden, and 5 ms of compute could hide all four. */
    double values[64];
    bool censored;
    cr_assert_eq(gs_record_metrics(record, &result.facts, values, &censored), GS_OK);
    cr_assert_float_eq(values[gs_metric_find("overlap_efficiency_ratio")], 0.75, 1e-3);
    gs_record_destroy(record);
    small_job_fini(&job);
}

/* Rank 1 computes 2 ms longer before its only gradient: rank 0 waits these 2 ms, then both see the
 * op. */
Test(sim, tells_wait_from_wire)
{
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 1;
    config.unit_elements = 250000;
    config.forward_ns = GS_NS_PER_MS;
    config.optimizer_ns = 0;
    config.skew_ns = 2 * GS_NS_PER_MS; /* golden ratio: rank 0 by 0, rank 1 by 0.618 of it */
    small_job job;
    small_job_init(&job, &config, NULL);
    gs_record *record = gs_record_create(2, true);
    gs_sim_result result = run_with(&job, (gs_sim_config){.record = record});
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    double late = 0.6180339887498949 * 2e6;
    gs_step_row first = gs_record_step_at(record, 0);
    gs_step_row second = gs_record_step_at(record, 1);
    cr_assert_float_eq((double)first.wait_ns, late, 10, "%lld", (long long)first.wait_ns);
    cr_assert_eq(second.wait_ns, 0);
    cr_assert_float_eq((double)first.exposed_comm_ns, 0.81e6, 100);
    cr_assert_float_eq((double)second.exposed_comm_ns, 0.82e6, 100);
    gs_record_destroy(record);
    small_job_fini(&job);
}

/* A push of 1 MB takes 0.8 ms, and so does the answer, which comes 10 us later: both are
 * communication. Between them lie the push's own 10 us and the server's update: that is wait. */
Test(sim, waits_for_a_server_only_while_nothing_travels)
{
    small_job_config config = small_job_default();
    config.ranks = 1;
    config.servers = 1;
    config.units = 1;
    config.unit_elements = 250000;
    config.forward_ns = GS_NS_PER_MS;
    config.optimizer_ns = 0;
    config.steps = 3;
    small_job job;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, gs_strategy_find("asp"), NULL);
    gs_record *record = gs_record_create(1, true);
    gs_sim_result result = run_with(&job, (gs_sim_config){.record = record});
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_expect_eq(result.facts.nic_count, 2u, "the rank's and the server's");
    gs_step_row row = gs_record_step_at(record, 1);
    cr_expect_float_eq((double)row.exposed_comm_ns, 1.61e6, 200, "%lld",
                       (long long)row.exposed_comm_ns);
    cr_expect_eq(row.comm_ns, row.exposed_comm_ns);
    cr_expect_geq(row.wait_ns, 10 * GS_NS_PER_US);
    cr_expect_lt(row.wait_ns, 100 * GS_NS_PER_US);
    gs_record_destroy(record);
    small_job_fini(&job);
}

/* STRATEGIES row 15: one rank f times slower in a compute-bound job leaves 1/f of the throughput,
 * whatever n. */
Test(sim, one_slow_rank_sets_the_pace_of_all)
{
    for (uint32_t ranks = 2; ranks <= 64; ranks *= 2) {
        small_job_config config = small_job_default();
        config.ranks = ranks;
        config.units = 1;
        config.unit_elements = 64;
        config.nic_latency_ns = 0;
        config.forward_ns = 100 * GS_NS_PER_MS;
        config.optimizer_ns = 0;
        config.steps = 10;
        small_job job;
        small_job_init(&job, &config, NULL);
        gs_time_ns even = run_with(&job, (gs_sim_config){.seed = 1}).facts.end_ns;
        job.scenario.noise.straggler =
            (gs_straggler){.kind = GS_STRAGGLER_PERSISTENT, .rank = ranks / 2, .factor = 1.25};
        gs_time_ns slow = run_with(&job, (gs_sim_config){.seed = 1}).facts.end_ns;
        TEST_REQUIRE(fabs((double)even / (double)slow - 0.8) < 1e-4, "%u ranks: %f", ranks,
                     (double)even / (double)slow);
        small_job_fini(&job);
    }
}

Test(sim, input_that_is_too_slow_is_seen_as_input)
{
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 1;
    config.unit_elements = 64;
    config.forward_ns = GS_NS_PER_MS;
    config.optimizer_ns = 0;
    config.steps = 50;
    small_job job;
    small_job_init(&job, &config, NULL);
    /* Two workers, 10 ms a batch: a batch every 5 ms, of which about 1 ms is computed. */
    job.scenario.workload.input = (gs_input_stage){10 * GS_NS_PER_MS, 2, 2};
    gs_record *record = gs_record_create(2, false);
    gs_sim_result result = run_with(&job, (gs_sim_config){.record = record});
    gs_step_row total = gs_record_rank_total(record, 0);
    cr_assert_float_eq((double)result.facts.end_ns / 50.0, 5e6, 0.2e6);
    cr_assert((double)total.input_ns > 3.5e6 * 50, "%lld", (long long)total.input_ns);
    gs_record_destroy(record);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- what may not change the weights
 */

Test(sim, weights_do_not_depend_on_timing)
{
    small_job_config config = learning(4);
    small_job job;
    small_job_init(&job, &config, "bucket=128KiB");
    gs_sim_result calm = run_with(&job, (gs_sim_config){.seed = 3});
    cr_assert_eq(calm.status, GS_OK, "%s", calm.error.text);
    cr_assert_neq(calm.weights_hash, 0);
    for (uint64_t tie = 0; tie < 4; tie++) {
        job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5};
        job.scenario.noise.latency = (gs_noise_law){.law = GS_LAW_GAMMA, .cv = (double)tie};
        gs_sim_result wild = run_with(&job, (gs_sim_config){.seed = 3,
                                                            .shuffle_ties = tie % 2 == 1,
                                                            .late_ns = (gs_time_ns)tie * 700000,
                                                            .swap_state = tie >= 2,
                                                            .share_always = tie == 3});
        cr_assert_eq(wild.status, GS_OK, "%s", wild.error.text);
        cr_assert_eq(wild.weights_hash, calm.weights_hash);
        cr_assert_neq(wild.facts.end_ns, calm.facts.end_ns);
    }
    small_job_fini(&job);
}

Test(sim, all_replicas_end_equal)
{
    small_job_config config = learning(3);
    small_job job;
    small_job_init(&job, &config, NULL);
    gs_error err;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1}, &err);
    while (gs_sim_run(sim, 100)) {
    }
    size_t count, other_count;
    const float *first = gs_sim_weights(sim, 0, &count);
    cr_assert(count > 1000);
    for (uint32_t rank = 1; rank < 3; rank++) {
        const float *other = gs_sim_weights(sim, rank, &other_count);
        cr_assert_eq(memcmp(first, other, count * sizeof *first), 0);
    }
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* N ranks with b samples each take, step by step, the samples that one rank with N b takes. */
Test(sim, ranks_times_batch_equals_one_rank_with_all)
{
    small_job_config config = learning(4);
    config.steps = 40;
    small_job many, one;
    small_job_init(&many, &config, NULL);
    config.ranks = 1;
    small_job_init(&one, &config, NULL);
    one.scenario.workload.batch_per_rank *= 4;
    gs_error err;
    gs_sim_config of_many = {.scenario = &many.scenario, .strategy = &many.choice, .seed = 5};
    gs_sim_config of_one = {.scenario = &one.scenario, .strategy = &one.choice, .seed = 5};
    gs_sim *a = gs_sim_create(&of_many, &err);
    gs_sim *b = gs_sim_create(&of_one, &err);
    while (gs_sim_run(a, 1000)) {
    }
    while (gs_sim_run(b, 1000)) {
    }
    size_t count, same_count;
    const float *x = gs_sim_weights(a, 2, &count);
    const float *y = gs_sim_weights(b, 0, &same_count);
    cr_assert_eq(count, same_count);
    double worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
    }
    cr_assert(worst > 0.0 && worst < 1e-5, "%g", worst);
    gs_sim_destroy(a);
    gs_sim_destroy(b);
    small_job_fini(&many);
    small_job_fini(&one);
}

Test(sim, accumulation_takes_the_samples_of_as_many_passes)
{
    small_job_config config = learning(2);
    small_job job;
    small_job_init(&job, &config, "accumulation=3");
    gs_sim_result result = run_with(&job, (gs_sim_config){.seed = 1});
    /* 12 passes of the budget are 4 steps of 3. */
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_assert_eq(result.steps, 4);
    cr_assert_eq(result.facts.samples_per_step, 2 * 3 * 8);
    small_job_fini(&job);
}

Test(sim, same_seed_same_rows_and_another_seed_others)
{
    small_job_config config = learning(3);
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.2};
    gs_sim_result first = run_with(&job, (gs_sim_config){.seed = 1});
    gs_sim_result again = run_with(&job, (gs_sim_config){.seed = 1});
    gs_sim_result other = run_with(&job, (gs_sim_config){.seed = 2});
    cr_assert_eq(first.result_hash, again.result_hash);
    cr_assert_neq(first.result_hash, other.result_hash);
    small_job_fini(&job);
}

/* The law of one purpose never moves the draws of another. */
Test(sim, network_noise_leaves_compute_draws_alone)
{
    small_job_config config = small_job_default();
    config.forward_ns = 5 * GS_NS_PER_MS;
    config.steps = 20;
    gs_time_ns compute[2];
    for (int noisy = 0; noisy < 2; noisy++) {
        small_job job;
        small_job_init(&job, &config, NULL);
        job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.3};
        job.scenario.noise.latency =
            (gs_noise_law){.law = noisy != 0 ? GS_LAW_PARETO : GS_LAW_NONE, .cv = 2.0};
        gs_record *record = gs_record_create(4, false);
        (void)run_with(&job, (gs_sim_config){.seed = 9, .record = record});
        compute[noisy] = gs_record_rank_total(record, 3).compute_ns;
        gs_record_destroy(record);
        small_job_fini(&job);
    }
    cr_assert_eq(compute[0], compute[1]);
}

/* ---------------------------------------------------------------- rebuilt buckets and capacity
 * over time */

/* DDP rebuilds once; with equal units in reverse order nothing changes, and nothing may break. */
Test(sim, rates_that_change_are_integrated)
{
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 1;
    config.unit_elements = 2500000; /* 10 MB: 5 MB a message, 4 ms at 1.25 GB/s */
    config.nic_latency_ns = 0;
    config.optimizer_ns = 0;
    static const gs_rate_point points[] = {{0, 1.0}, {2000000, 0.5}};
    for (int shared = 0; shared < 2; shared++) {
        small_job job;
        small_job_init(&job, &config, NULL);
        job.scenario.cluster.nic.trace = (gs_rate_trace){points, 2, INT64_C(1000000000)};
        gs_sim_result result = run_with(&job, (gs_sim_config){.share_always = shared == 1});
        /* The first message: 2 ms at full rate, then 2.5 MB at half: 4 ms; the second 8 ms: 14 ms.
         */
        cr_assert_float_eq((double)result.facts.end_ns, 14e6, 100.0, "%lld",
                           (long long)result.facts.end_ns);
        small_job_fini(&job);
    }
}

/* ---------------------------------------------------------------- runs that cannot go on */

typedef struct odd_state {
    uint32_t pending;
} odd_state;

static gs_status odd_layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config;
    (void)job;
    (void)err;
    *out = (gs_layout){.state_bytes = {sizeof(odd_state)},
                       .outstanding_max = {4},
                       .communicator_count = 2,
                       .ordered = true,
                       .buckets = {1 << 20, 1 << 20},
                       .cut = GS_CUT_COMMON};
    return GS_OK;
}

static void odd_init(gs_world *world, void *state)
{
    (void)world;
    (void)state;
}

static gs_plan odd_begin(gs_world *world, void *state, const gs_event *event)
{
    (void)world;
    (void)state;
    return (gs_plan){.go = event->step == 0, .at = GS_PARAM, .micro_steps = 1};
}

static void nothing(gs_world *world, void *state, const gs_event *event)
{
    (void)world;
    (void)state;
    (void)event;
}

/* Worker 2 never joins. */
static void all_but_one(gs_world *world, void *state, const gs_event *event)
{
    (void)state;
    (void)event;
    if (gs_self(world).index != 2) {
        (void)gs_all_reduce(world, 0, (gs_slice){GS_GRAD, 0, 100}, 7);
    }
}

/* Worker 1 asks for something else. */
static void another_label(gs_world *world, void *state, const gs_event *event)
{
    (void)state;
    (void)event;
    (void)gs_all_reduce(world, 0, (gs_slice){GS_GRAD, 0, 100}, gs_self(world).index == 1 ? 8 : 7);
}

/* Two communicators; worker 3 takes them the other way round. */
static void another_order(gs_world *world, void *state, const gs_event *event)
{
    (void)state;
    (void)event;
    uint32_t first = gs_self(world).index == 3 ? 1 : 0;
    (void)gs_all_reduce(world, first, (gs_slice){GS_GRAD, 0, 100}, 7);
    (void)gs_all_reduce(world, 1 - first, (gs_slice){GS_GRAD, 100, 100}, 7);
}

/* tenant: another job on the same nics, or NULL. */
static gs_sim_result run_odd_beside(const gs_tenant *tenant,
                                    void (*at_the_end)(gs_world *, void *, const gs_event *))
{
    gs_strategy odd = {.struct_bytes = sizeof(gs_strategy),
                       .name = "odd",
                       .layout = odd_layout,
                       .init = odd_init,
                       .step_begin = odd_begin,
                       .bucket_ready = nothing,
                       .backward_done = at_the_end,
                       .op_done = nothing,
                       .quiesce = nothing};
    small_job_config config = small_job_default();
    config.steps = 5;
    small_job job;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, &odd, NULL);
    job.scenario.cluster.tenants = tenant;
    job.scenario.cluster.tenant_count = tenant == NULL ? 0 : 1;
    gs_sim_result result = run_with(&job, (gs_sim_config){.seed = 1});
    small_job_fini(&job);
    return result;
}

static gs_sim_result run_odd(void (*at_the_end)(gs_world *, void *, const gs_event *))
{
    return run_odd_beside(NULL, at_the_end);
}

Test(sim, another_job_that_goes_on_for_ever_hides_no_deadlock)
{
    gs_tenant tenant = {.flows = 2, .bytes = 1000, .from = -1, .to = -1};
    gs_sim_result result = run_odd_beside(&tenant, all_but_one);
    cr_assert_eq(result.status, GS_EDEADLOCK);
    cr_assert_str_eq(result.error.text, run_odd(all_but_one).error.text);
}

Test(sim, a_rank_that_does_not_join_is_a_deadlock_that_names_who_waits)
{
    gs_sim_result result = run_odd(all_but_one);
    cr_assert_eq(result.status, GS_EDEADLOCK);
    cr_assert_str_eq(result.error.text,
                     "odd: 4 of 4 wait and nothing is on its way: worker 0, step 0, waits for "
                     "all_reduce 0 (label 7, communicator 0), which waits for worker 3; worker 1, "
                     "step 0, waits for all_reduce 0 (label 7, communicator 0), which waits for "
                     "worker 0; worker 2, step 0, waits for a release of its strategy");
}

Test(sim, ranks_that_ask_for_different_ops_are_named)
{
    gs_sim_result result = run_odd(another_label);
    cr_assert_eq(result.status, GS_EMISMATCH);
    cr_assert_str_eq(result.error.text,
                     "worker 1, step 0: all_reduce 0 of communicator 0 has label 8 and 100 "
                     "elements, that of worker 0 label 7 and 100; all ranks must issue the same "
                     "collectives in the same order");
}

Test(sim, an_order_over_communicators_that_was_promised_is_checked)
{
    gs_sim_result result = run_odd(another_order);
    cr_assert_eq(result.status, GS_EMISMATCH);
    cr_assert_str_eq(result.error.text,
                     "worker 3, step 0: its collective 0 goes to communicator 1, that of worker 0 "
                     "to communicator 0; a strategy that declares one order over all communicators "
                     "must keep it on every rank");
}

/* Worker 0 notes something to worker 1 and drains, and so do all others: nobody is left to take it.
 */
static void note_at_the_end(gs_world *world, void *state, const gs_event *event)
{
    (void)state;
    (void)event;
    if (gs_self(world).index == 0) {
        gs_note(world, (gs_peer){GS_WORKER, 1}, 3, NULL);
    }
    gs_drained(world);
}

static void only_end(gs_world *world, void *state, const gs_event *event)
{
    (void)state;
    (void)event;
    gs_end_step(world);
}

static gs_status lossy_layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)odd_layout(config, job, out, err);
    out->point_to_point = true;
    return GS_OK;
}

static gs_plan always_begin(gs_world *world, void *state, const gs_event *event)
{
    (void)world;
    (void)state;
    (void)event;
    return (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1};
}

Test(sim, what_is_on_its_way_when_all_have_drained_is_lost_and_said)
{
    gs_strategy lossy = {.struct_bytes = sizeof(gs_strategy),
                         .name = "lossy",
                         .layout = lossy_layout,
                         .init = odd_init,
                         .step_begin = always_begin,
                         .bucket_ready = nothing,
                         .backward_done = only_end,
                         .quiesce = note_at_the_end};
    small_job_config config = small_job_default();
    small_job job;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, &lossy, NULL);
    gs_sim_result result = run_with(&job, (gs_sim_config){.seed = 1});
    cr_assert_eq(result.status, GS_ECONTRACT);
    cr_assert_str_eq(result.error.text,
                     "lossy: everybody has drained and 1 messages are still on their way; count "
                     "messages in the final notes");
    small_job_fini(&job);
}

Test(sim, an_interrupted_run_says_so)
{
    small_job_config config = small_job_default();
    config.steps = 1000;
    small_job job;
    small_job_init(&job, &config, NULL);
    gs_error err;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1}, &err);
    cr_assert(gs_sim_run(sim, 500));
    gs_sim_interrupt(sim);
    cr_assert(!gs_sim_run(sim, 500));
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_EINTERRUPTED);
    cr_assert(gs_sim_progress(sim) > 0.0 && gs_sim_progress(sim) < 1.0);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}
