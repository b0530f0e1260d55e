/* Runs at the end of what can be counted: they say so, and nothing overflows. */
#include "sim/tick.h"
#include "tests/small_job.h"
#include "tests/support.h"

#include <string.h>

static gs_sim_result run(small_job *job)
{
    return small_job_run(
        &(gs_sim_config){.scenario = &job->scenario, .strategy = &job->choice, .seed = 1});
}

static void refuses_the_time(small_job *job)
{
    gs_sim_result result = run(job);
    cr_assert_eq(result.status, GS_ELIMIT);
    cr_assert_str_eq(result.error.text,
                     "allreduce: step 0: the run has over 100 days of simulated time, the most "
                     "there can be; give it fewer steps, or look for a rate or a time that was not "
                     "meant");
    small_job_fini(job);
}

/* 100 d = 100 * 86,400 s = 8.64e15 ns = 8.84736e18 ticks, below 2^63 = 9.22e18. */
Test(sim_limits, times_saturate_at_the_end)
{
    cr_assert_eq(GS_TIME_END, INT64_C(8640000000000000));
    cr_assert_eq(GS_TICK_END, INT64_C(8847360000000000000));
    cr_assert_eq(gs_ticks(GS_TIME_END - 1), GS_TICK_END - 1024);
    cr_assert_eq(gs_ticks(INT64_MAX - 1), GS_TICK_END);
    cr_assert_eq(gs_tick_after(5, 7), 12);
    cr_assert_eq(gs_tick_after(GS_TICK_END - 1, 1), GS_TICK_END);
    cr_assert_eq(gs_tick_after(GS_TICK_NEVER, 1), GS_TICK_END);
    cr_assert_eq(gs_tick_after(1, GS_TICK_NEVER), GS_TICK_END);
    cr_assert_eq(gs_time_after(GS_TIME_END - 2, 1), GS_TIME_END - 1);
    cr_assert_eq(gs_time_after(GS_TIME_END, INT64_MAX), GS_TIME_END);
    cr_assert_eq(gs_tick_of(2.9), 2);
    cr_assert_eq(gs_tick_of(1e300), GS_TICK_END);
    cr_assert_eq(gs_time_of(1e300), GS_TIME_END);
}

/* A ring of 4 sends 2 * 3/4 of 1 MiB: 1.26e7 bits, 146 days at 1 bit/s. */
Test(sim_limits, a_link_that_is_too_slow_ends_the_run)
{
    small_job_config config = small_job_default();
    config.ranks = 4;
    config.nic_bps = 1;
    small_job job;
    small_job_init(&job, &config, NULL);
    refuses_the_time(&job);
}

/* The same over a nic that two ranks share: the naive sum takes 2 MiB of one node and gives as
 * much. */
Test(sim_limits, a_shared_link_that_is_too_slow_ends_the_run)
{
    small_job_config config = small_job_default();
    config.ranks = 4;
    config.ranks_per_node = 2;
    config.nic_bps = 1;
    small_job job;
    small_job_init(&job, &config, "algorithm=naive");
    refuses_the_time(&job);
}

Test(sim_limits, a_computation_of_146_years_ends_the_run)
{
    small_job_config config = small_job_default();
    config.forward_ns = INT64_MAX / 2;
    config.backward_ns = INT64_MAX / 2;
    small_job job;
    small_job_init(&job, &config, NULL);
    refuses_the_time(&job);
}

/* Nothing comes after the last optimizer: the stream itself has to say that time is over. */
Test(sim_limits, an_optimizer_of_146_years_ends_the_run)
{
    small_job_config config = small_job_default();
    config.ranks = 1;
    config.optimizer_ns = INT64_MAX / 2;
    small_job job;
    small_job_init(&job, &config, NULL);
    gs_sim_result result = run(&job);
    cr_assert_eq(result.status, GS_ELIMIT);
    small_job_fini(&job);
}

/* 2^45 steps of 2^16 passes on 4 ranks are 2^63 passes: one more than fits. */
Test(sim_limits, progress_of_an_endless_budget_is_no_overflow)
{
    small_job_config config = small_job_default();
    config.ranks = 4;
    config.steps = INT64_C(1) << 45;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.workload.accumulation = 65536;
    gs_error err;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1}, &err);
    cr_assert(gs_sim_run(sim, 10));
    cr_assert(gs_sim_progress(sim) >= 0.0 && gs_sim_progress(sim) < 1e-9);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* A pass that takes no time, 65536 times in one step: each used to take a frame of the stack. */
Test(sim_limits, many_passes_that_take_no_time_need_no_stack)
{
    small_job_config config = small_job_default();
    config.ranks = 1;
    small_job job;
    small_job_init(&job, &config, "accumulation=65536");
    gs_sim_result result = run(&job);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_assert_eq(result.facts.samples_per_step, 65536 * job.scenario.workload.batch_per_rank);
    small_job_fini(&job);
}

/* Rank 0 has a blocking op that rank 1 has not: rank 0 waits in it, rank 1 for rank 0's part. */
Test(sim_limits, a_blocking_op_that_a_rank_never_comes_to_is_named)
{
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 1;
    config.unit_elements = 16;
    small_job job;
    small_job_init(&job, &config, NULL);
    static const gs_segment with[] = {{GS_SEGMENT_BLOCKING, 0, 0}, {GS_SEGMENT_GRADIENT, 0, 0}};
    static const gs_segment without[] = {{GS_SEGMENT_GRADIENT, 0, 0}};
    static const gs_profile_step steps[] = {{.segments = with, .segment_count = 2},
                                            {.segments = without, .segment_count = 1}};
    static const gs_profile_rank ranks[] = {{0, &steps[0], 1}, {1, &steps[1], 1}};
    static const gs_profile_blocking blocking[] = {{"all_to_all", 4096, 500000}};
    job.profile.ranks = ranks;
    job.profile.rank_count = 2;
    job.profile.blocking = blocking;
    job.profile.blocking_count = 1;
    gs_sim_result result = run(&job);
    cr_assert_eq(result.status, GS_EDEADLOCK);
    cr_assert_str_eq(result.error.text,
                     "allreduce: 2 of 2 wait and nothing is on its way: worker 0, step 0, waits in "
                     "blocking op 0 (all_to_all), to which 1 of 2 ranks came; worker 1, step 0, "
                     "waits for all_reduce 0 (label 0, communicator 0), which waits for worker 0");
    small_job_fini(&job);
}
