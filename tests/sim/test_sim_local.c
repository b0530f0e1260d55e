/* Local updates in whole runs: what their rules come to on real gradients. */
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FLOATS_MAX = 100000 };

static small_job job;
static float first[FLOATS_MAX], second[FLOATS_MAX];

static small_job_config learning(uint32_t ranks, int64_t steps)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.learns = true;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.steps = steps;
    return config;
}

/* Weights of a rank after a run. */
static size_t train(const char *name, const char *parameters, uint32_t rank, float *out)
{
    gs_error err;
    small_job_use(&job, gs_strategy_find(name), parameters);
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){
            .scenario = &job.scenario, .strategy = &job.choice, .seed = 3, .swap_state = true},
        &err);
    cr_assert_not_null(sim, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s: %s", name, result.error.text);
    size_t count;
    const float *weights = gs_sim_weights(sim, rank, &count);
    cr_assert_leq(count, (size_t)FLOATS_MAX);
    memcpy(out, weights, count * sizeof *out);
    gs_sim_destroy(sim);
    return count;
}

static double apart(size_t count)
{
    double worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        worst = fmax(worst, fabs((double)first[i] - (double)second[i]));
    }
    return worst;
}

/* ---------------------------------------------------------------- what is plain SGD */

/* Averaging x - rate g_i over ranks gives x - rate mean g: with a period of one, plain averaging is
 * synchronous SGD, and heavy ball, which is linear too, changes nothing in that. So it is for
 * easgd with alpha 1 / ranks only once its centre has caught up, which is a period late; for co2,
 * cocod and dasgd with a delay never; for adam never, for its steps are not linear in gradients;
 * and for outer optimizers with momentum, or a rate other than 1, never. */
Test(sim_local, with_a_period_of_one_plain_averaging_is_synchronous_sgd)
{
    static const char *const plain[][2] = {
        {"local_sgd", "period=1"},
        {"post_local", "period=1,start=7"},
        {"slowmo", "period=1,beta=0"},
        {"bmuf", "period=1,momentum=0"},
        {"diloco", "period=1,momentum=0,rate=1"},
        {"streaming_diloco", "period=1,fragments=1,delay=0,alpha=0,momentum=0,rate=1"},
        {"dasgd", "period=1,delay=0"},
        {"adacomm", "period=1"},
        {"hier_avg", "inside=1,between=1"},
    };
    for (int momentum = 0; momentum < 2; momentum++) {
        small_job_config config = learning(4, 30);
        config.ranks_per_node = 2;
        small_job_init(&job, &config, NULL);
        job.scenario.workload.task.optimizer.momentum = momentum * 0.9;
        size_t count = train("allreduce", NULL, 0, first);
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
            train(plain[i][0], plain[i][1], 3, second);
            cr_expect_lt(apart(count), 1e-6, "%s %s momentum %d: %g", plain[i][0], plain[i][1],
                         momentum, apart(count));
        }
        train("local_sgd", "period=2", 3, second);
        cr_expect_gt(apart(count), 1e-4);
        train("diloco", "period=1", 3, second);
        cr_expect_gt(apart(count), 1e-4);
        train("easgd", "period=1", 3, second);
        cr_expect_gt(apart(count), 1e-4);
        train("co2", "period=1", 3, second);
        cr_expect_gt(apart(count), 1e-4);
        small_job_fini(&job);
    }
}

/* Ends in the middle of a period, and with an average on its way. */
Test(sim_local, all_ranks_end_with_the_same_model)
{
    static const char *const runs[][2] = {
        {"local_sgd", "period=4"},
        {"post_local", "period=4,start=3"},
        {"adacomm", "period=4,interval=5"},
        {"slowmo", "period=4"},
        {"bmuf", "period=4"},
        {"diloco", "period=4"},
        {"streaming_diloco", "period=6,fragments=3,delay=1"},
        {"easgd", "period=4"},
        {"cocod", "period=4"},
        {"dasgd", "period=4,delay=3"},
        {"co2", "period=4"},
        {"hier_avg", "inside=2,between=4"},
        {"hier_avg", "inside=4,between=8,delay=1"},
        {"hier_avg", "inside=4,between=20,delay=3"},
    };
    small_job_config config = learning(6, 22);
    config.ranks_per_node = 2;
    small_job_init(&job, &config, NULL);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        size_t count = train(runs[i][0], runs[i][1], 0, first);
        train(runs[i][0], runs[i][1], 5, second);
        cr_expect_eq(memcmp(first, second, count * sizeof *first), 0, "%s", runs[i][0]);
    }
    small_job_fini(&job);
}
