/* What compression costs where steps are few, by differences between runs of the same seeds, and
 * how stale gradients are where ranks may run ahead. docs/measured/convergence.md has the numbers;
 * what takes longer is in test_convergence_codecs_long.c and test_convergence_ps_long.c. */
#include "tests/models/teacher_fixture.h"

static teacher task;

static void setup(void)
{
    teacher_init(&task);
}

static void teardown(void)
{
    teacher_fini(&task);
}

TestSuite(convergence_strategies, .init = setup, .fini = teardown, .timeout = 300);

static teacher_sample after_300_steps(const char *codec)
{
    return teacher_accuracies(&task, &(teacher_run){.strategy = "allreduce",
                                                    .codec = codec,
                                                    .ranks = 8,
                                                    .batch = 16,
                                                    .steps = 300,
                                                    .rate = 0.16,
                                                    .momentum = 0.9,
                                                    .drop_at = 0.75});
}

/* Measured 0.7610 and 0.6424, gap 0.119 with a spread of 0.018. */
Test(convergence_strategies, compression_costs_accuracy_where_steps_are_few)
{
    teacher_sample dense = after_300_steps(NULL);
    teacher_sample permille = after_300_steps("topk:ratio=0.001");
    teacher_expect_better(&dense, &permille, 0.08, "dense over 0.1 %");
}

/* Timing alone: exponential compute times of 32 ranks. */
static double staleness(const char *strategy, const char *parameters)
{
    small_job job;
    small_job_config config = small_job_default();
    config.ranks = 32;
    config.servers = 1;
    config.nic_bps = INT64_C(1000000000000000); /* nothing but compute takes time */
    config.nic_latency_ns = 0;
    config.units = 1;
    config.unit_elements = 1024;
    config.forward_ns = 5 * GS_NS_PER_MS;
    config.steps = 100;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, gs_strategy_find(strategy), parameters);
    job.scenario.noise.compute =
        (gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL, .cv = 1.0, .shift = 0.0};
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1});
    small_job_fini(&job);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    return result.facts.staleness_mean;
}

/* Without waiting the mean is n - 1 = 31 less what the first gradients of all ranks lack; where
 * nobody may be ahead each round applies n gradients of the same weights one by one, (n - 1)/2. */
Test(convergence_timing, a_wider_bound_makes_gradients_staler)
{
    const char *const bounds[4] = {"staleness=0", "staleness=1", "staleness=4", "staleness=16"};
    double before = 0.0;
    for (int i = 0; i < 4; i++) {
        double now = staleness("ssp", bounds[i]);
        cr_log_info("%s: %.2f", bounds[i], now);
        cr_expect_gt(now, before + 1.0, "%s", bounds[i]);
        cr_expect(i > 0 || fabs(now - 15.5) < 0.1, "%g", now);
        before = now;
    }
    double asynchronous = staleness("asp", NULL);
    cr_expect_geq(asynchronous, before);
    cr_expect_float_eq(asynchronous, 31.0, 0.5);
}
