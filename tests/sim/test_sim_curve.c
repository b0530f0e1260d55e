/* Ops that the simulator times as a whole: a measured curve of the link, and blocking ops of the
 * profile. */
#include "tests/small_job.h"
#include "tests/support.h"

/* 1 MB takes 1 ms and 2 MB 1.6 ms: between them the time is linear. */
static const gs_curve_point points[] = {{1000000, 1000000}, {2000000, 1600000}};
static const gs_curve curve = {.collective = "all_reduce",
                               .ranks = 4,
                               .device = "",
                               .points = points,
                               .point_count = 2,
                               .source = "test"};

static gs_sim_result run(small_job *job, gs_record *record, bool shuffle)
{
    return small_job_run(&(gs_sim_config){.scenario = &job->scenario,
                                          .strategy = &job->choice,
                                          .seed = 1,
                                          .record = record,
                                          .shuffle_ties = shuffle});
}

/* One bucket of 1.5 MB in a step of 2 ms compute: 2 ms + 1.3 ms, all of it exposed. */
Test(sim_curve, an_op_takes_the_measured_time_from_the_last_start)
{
    small_job_config config = small_job_default();
    config.units = 1;
    config.unit_elements = 375000;
    config.forward_ns = 2 * GS_NS_PER_MS;
    config.optimizer_ns = 0;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.cluster.nic.curve = &curve;
    gs_record *record = gs_record_create(4, true);
    gs_sim_result result = run(&job, record, false);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_assert_float_eq((double)result.facts.end_ns, 3.3e6, 20);
    cr_assert_not(result.outside_curve);
    /* 4 ranks, each on its own nic, send 2 * 3/4 of 1.5 MB. */
    cr_assert_eq(result.facts.nic_bytes_sent, 4 * INT64_C(2250000));
    gs_step_row row = gs_record_step_at(record, 0);
    cr_assert_float_eq((double)row.exposed_comm_ns, 1.3e6, 5);
    cr_assert_float_eq((double)row.compute_ns, 2e6, 5);
    gs_record_destroy(record);
    small_job_fini(&job);
}

Test(sim_curve, sizes_outside_the_measured_ones_are_said)
{
    small_job_config config = small_job_default();
    config.units = 1;
    config.unit_elements = 100;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.cluster.nic.curve = &curve;
    gs_sim_result result = run(&job, NULL, false);
    cr_assert(result.outside_curve);
    cr_assert_eq(result.below_curve_bytes, 400, "100 elements of 4 bytes");
    cr_assert_eq(result.above_curve_bytes, 0);
    small_job_fini(&job);
}

/* The sum is taken in the ring's order, so that a curve changes the clock and not one bit of the
 * weights. */
Test(sim_curve, weights_are_those_of_the_messages)
{
    small_job_config config = small_job_default();
    config.learns = true;
    config.steps = 8;
    small_job job;
    small_job_init(&job, &config, "bucket=256KiB,first_bucket=256KiB");
    uint64_t by_messages = run(&job, NULL, false).weights_hash;
    job.scenario.cluster.nic.curve = &curve;
    gs_sim_result by_curve = run(&job, NULL, true);
    cr_assert_eq(by_curve.status, GS_OK, "%s", by_curve.error.text);
    cr_assert_eq(by_curve.weights_hash, by_messages);
    small_job_fini(&job);
}

/* Rank 0 comes to the blocking op after 1 ms, rank 1 after 3 ms; its wire time is 0.5 ms: rank 0
 * waits 2 ms, both see 0.5 ms of it exposed, and both go on at 3.5 ms. */
Test(sim_curve, a_blocking_op_waits_for_the_last_and_takes_its_wire_time)
{
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 1;
    config.unit_elements = 16;
    config.nic_latency_ns = 0;
    config.optimizer_ns = 0;
    small_job job;
    small_job_init(&job, &config, NULL);
    static const gs_segment early[] = {{GS_SEGMENT_FORWARD, 0, 1000000},
                                       {GS_SEGMENT_BLOCKING, 0, 0},
                                       {GS_SEGMENT_BACKWARD, 0, 200000},
                                       {GS_SEGMENT_GRADIENT, 0, 0}};
    static const gs_segment late[] = {{GS_SEGMENT_FORWARD, 0, 3000000},
                                      {GS_SEGMENT_BLOCKING, 0, 0},
                                      {GS_SEGMENT_BACKWARD, 0, 200000},
                                      {GS_SEGMENT_GRADIENT, 0, 0}};
    static const gs_profile_step steps[] = {{.segments = early, .segment_count = 4},
                                            {.segments = late, .segment_count = 4}};
    static const gs_profile_rank ranks[] = {{0, &steps[0], 1}, {1, &steps[1], 1}};
    static const gs_profile_blocking blocking[] = {{"all_to_all", 4096, 500000}};
    job.profile.ranks = ranks;
    job.profile.rank_count = 2;
    job.profile.blocking = blocking;
    job.profile.blocking_count = 1;
    gs_record *record = gs_record_create(2, true);
    gs_sim_result result = run(&job, record, false);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    gs_step_row first = gs_record_step_at(record, 0);
    gs_step_row second = gs_record_step_at(record, 1);
    cr_assert_float_eq((double)first.wait_ns, 2e6, 100, "%lld", (long long)first.wait_ns);
    cr_assert_eq(second.wait_ns, 0);
    cr_assert_float_eq((double)first.exposed_comm_ns, 0.5e6, 200);
    cr_assert_float_eq((double)second.exposed_comm_ns, 0.5e6, 200);
    cr_assert_float_eq((double)second.compute_ns, 3.2e6, 10);
    cr_assert_float_eq((double)result.facts.end_ns, 3.7e6, 300);
    gs_record_destroy(record);
    small_job_fini(&job);
}

/* A profile's own input time is the host's: a device that is twice as slow computes 2 x 1 ms and
 * still waits 3 ms. */
Test(sim_curve, input_of_the_profile_is_input_and_no_kernel)
{
    small_job_config config = small_job_default();
    config.ranks = 1;
    config.units = 1;
    config.unit_elements = 16;
    config.optimizer_ns = 0;
    small_job job;
    small_job_init(&job, &config, NULL);
    static const gs_segment segments[] = {{GS_SEGMENT_INPUT, 0, 3000000},
                                          {GS_SEGMENT_FORWARD, 0, 1000000},
                                          {GS_SEGMENT_GRADIENT, 0, 0}};
    static const gs_profile_step step = {.segments = segments, .segment_count = 3};
    static const gs_profile_rank rank = {0, &step, 1};
    job.profile.ranks = &rank;
    job.scenario.noise.straggler =
        (gs_straggler){.kind = GS_STRAGGLER_PERSISTENT, .rank = 0, .factor = 2.0};
    gs_record *record = gs_record_create(1, true);
    gs_sim_result result = run(&job, record, false);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    gs_step_row row = gs_record_step_at(record, 0);
    cr_assert_eq(row.input_ns, 3000000);
    cr_assert_eq(row.compute_ns, 2000000);
    gs_record_destroy(record);
    small_job_fini(&job);
}

/* Twice the steps take no more memory: what a run needs it has after the first ones. */
Test(sim_curve, steady_state_allocates_nothing)
{
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        small_job_config config = small_job_default();
        config.ranks = 8;
        config.ranks_per_node = 4;
        config.learns = true;
        config.forward_ns = GS_NS_PER_MS;
        config.skew_ns = GS_NS_PER_MS;
        config.steps = i == 0 ? 20 : 200;
        small_job job;
        small_job_init(&job, &config, "bucket=tensor");
        job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.2};
        gs_sim_result result = run(&job, NULL, false);
        cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
        bytes[i] = result.memory_bytes;
        small_job_fini(&job);
    }
    cr_assert_eq(bytes[0], bytes[1], "%zu and %zu bytes", bytes[0], bytes[1]);
}
