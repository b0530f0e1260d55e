/* What calibration adds to the simulator: NICs of several speeds, compute that is slower beside
 * communication, and the sizes of messages that were sent. */
#include "tests/small_job.h"
#include "tests/support.h"

static gs_node_group *group_of(small_job *job)
{
    return (gs_node_group *)(uintptr_t)job->scenario.cluster.groups;
}

static gs_sim_result run(small_job *job)
{
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job->scenario, .strategy = &job->choice, .seed = 1});
    TEST_REQUIRE(result.status == GS_OK, "%s", result.error.text);
    return result;
}

/* Four ranks, a ring of six turns, parts of 256 KiB at 10 Gbit/s: 0.2097152 ms each. All six pass
 * each link; the slow one takes four times as long for each. */
Test(sim_calibrated, one_slow_nic_slows_the_ring_as_if_all_were_slow)
{
    static const double turn_ns = 262144.0 * 8.0 / 10.0;
    small_job_config config = small_job_default();
    config.ranks = 4;
    config.nic_latency_ns = 0;
    small_job job;
    small_job_init(&job, &config, "bucket=25MiB,first_bucket=25MiB");
    gs_node_group groups[2] = {*group_of(&job), *group_of(&job)};
    cr_assert_float_eq((double)run(&job).facts.end_ns, 6.0 * turn_ns, 2e4);
    groups[0].count = 3;
    groups[1].count = 1;
    groups[1].nic_scale = 0.25;
    job.scenario.cluster.groups = groups;
    job.scenario.cluster.group_count = 2;
    cr_assert_float_eq((double)run(&job).facts.end_ns, 24.0 * turn_ns, 2e4);
    job.scenario.cluster.group_count = 1;
    small_job_fini(&job);
}

/* Two units, each a bucket of its own. The backward pass of the first parameters begins with the
 * bucket of the last ones on its way: it takes 1.5 times 10 ms. Nothing else changes. */
Test(sim_calibrated, kernels_that_start_beside_communication_take_longer)
{
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 2;
    config.forward_ns = 5 * GS_NS_PER_MS;
    config.backward_ns = 10 * GS_NS_PER_MS;
    small_job job;
    small_job_init(&job, &config, "bucket=tensor");
    gs_time_ns plain_ns = run(&job).facts.end_ns;
    group_of(&job)->overlap_slowdown = 1.5;
    gs_time_ns slowed_ns = run(&job).facts.end_ns;
    cr_assert_eq(slowed_ns - plain_ns, 5 * GS_NS_PER_MS);
    small_job_use(&job, job.choice.strategy, "overlap=false");
    gs_time_ns after_ns = run(&job).facts.end_ns;
    group_of(&job)->overlap_slowdown = 1.0;
    cr_assert_eq(run(&job).facts.end_ns, after_ns, "nothing overlaps, so nothing is slower");
    small_job_fini(&job);
}

/* 1 MiB in one bucket on four ranks travels in parts of 256 KiB; on three, in two sizes of part. */
Test(sim_calibrated, the_sizes_of_messages_are_told)
{
    small_job_config config = small_job_default();
    config.ranks = 4;
    small_job job;
    small_job_init(&job, &config, "bucket=25MiB,first_bucket=25MiB");
    gs_sim_result result = run(&job);
    cr_assert_eq(result.least_message_bytes, 262144);
    cr_assert_eq(result.most_message_bytes, 262144);
    small_job_fini(&job);
    config.ranks = 3;
    small_job_init(&job, &config, "bucket=25MiB,first_bucket=25MiB");
    result = run(&job);
    cr_assert_eq(result.least_message_bytes, 349524, "87381 elements: a third of 262144, down");
    cr_assert_eq(result.most_message_bytes, 349528, "and up");
    small_job_fini(&job);
}
