/* Local updates on bowls of one weight, where everything can be worked out on paper. */
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 8 /* of small_job.h: all rows of a rank */, ROWS_MAX = 2 * BATCH };

static small_job job;
static gs_dataset bowl;
static float inputs[ROWS_MAX], targets[ROWS_MAX];
static uint32_t split[ROWS_MAX];

/* Rank i has rows +-sqrt(a_i) with answers that lie on b_i: its loss is a_i (w - b_i)^2 / 2, and
 * the bias of the model stays at 0. */
static void make_bowls(const double a[2], const double b[2], double rate, int64_t steps)
{
    for (int r = 0; r < ROWS_MAX; r++) {
        double value = sqrt(a[r / BATCH]) * (r % 2 == 0 ? 1.0 : -1.0);
        inputs[r] = (float)value;
        targets[r] = (float)(value * b[r / BATCH]);
        split[r] = (uint32_t)r;
    }
    bowl = (gs_dataset){
        .shape = {.input = {1, 1, 1}, .kind = GS_ANSWER_REAL, .answer_count = 1, .answer_width = 1},
        .row_count = ROWS_MAX,
        .train_count = ROWS_MAX,
        .inputs = inputs,
        .input_stride = 1,
        .targets = targets,
        .answer_stride = 1,
        .split = split,
    };
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 1;
    config.unit_elements = 2; /* the weight and the bias */
    config.learns = true;
    config.forward_ns = GS_NS_PER_MS;
    config.steps = steps;
    small_job_init(&job, &config, NULL);
    gs_task_config *task = &job.scenario.workload.task;
    task->model = gs_model_find("linear");
    gs_config_defaults(task->model->config_table, task->model_config);
    task->data.source = gs_data_source_find("quadratic");
    gs_config_defaults(task->data.source->config_table, task->data.source_config);
    task->data.shards.kind = GS_SHARDS_LABEL;
    task->optimizer.rate = rate;
    task->optimizer.momentum = 0.0;
    job.scenario.workload.dataset = &bowl;
}

/* The weight at the end, and at the start where there are no steps. */
static double weight_after(const char *name, const char *parameters, int64_t steps)
{
    gs_error err;
    job.scenario.workload.budget_steps = steps;
    small_job_use(&job, gs_strategy_find(name), parameters);
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1}, &err);
    cr_assert_not_null(sim, "%s", err.text);
    size_t count;
    double start = (double)gs_sim_weights(sim, 0, &count)[0];
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s: %s", name, result.error.text);
    double end = (double)gs_sim_weights(sim, 0, &count)[0];
    cr_assert_eq(count, 2);
    gs_sim_destroy(sim);
    return steps > 0 ? end : start;
}

/* ---------------------------------------------------------------- what ranks agree on */

/* Row 13 of the project's table: curvatures 1 and 0.1, lowest points 0 and 1, rate 0.5. H exact
 * steps bring rank i nearer to b_i by c_i = 1 - (1 - rate a_i)^H, and the mean stands still where
 * sum c_i (b_i - x) = 0: at the optimum 1 / 11 for H = 1, and away from it for more. Rounds enough
 * for what is left, at most 0.725 of it a round for H = 1, to be below the last digit. */
Test(sim_local_rules, exact_local_steps_are_biased_by_how_many_they_are)
{
    const int64_t periods[4] = {1, 4, 16, 64};
    const int64_t rounds[4] = {60, 30, 20, 10};
    const double published[4] = {0.09091, 0.16518, 0.35893, 0.49044};
    const double a[2] = {1.0, 0.1};
    make_bowls(a, (double[2]){0.0, 1.0}, 0.5, 1);
    for (int i = 0; i < 4; i++) {
        char parameters[32];
        snprintf(parameters, sizeof parameters, "period=%d", (int)periods[i]);
        double c_0 = 1.0 - pow(1.0 - 0.5 * a[0], (double)periods[i]);
        double c_1 = 1.0 - pow(1.0 - 0.5 * a[1], (double)periods[i]);
        double found = weight_after("local_sgd", parameters, rounds[i] * periods[i]);
        cr_expect_float_eq(found, c_1 / (c_0 + c_1), 1e-6, "%d: %g", (int)periods[i], found);
        cr_expect_float_eq(found, published[i], 1e-5, "%d: %g", (int)periods[i], found);
    }
    small_job_fini(&job);
}

/* By the recurrence in words: what a rank sent is replaced by the mean of what all sent, and what
 * it learned since stays. Period 3, delay 2: sent after 3 and 6, used after 5 and, the second, when
 * the run ends after 7; then all take the mean. */
Test(sim_local_rules, a_late_mean_keeps_the_steps_since)
{
    double x[2] = {0.0, 0.0};
    double sent[2];
    make_bowls((double[2]){1.0, 0.1}, (double[2]){0.0, 1.0}, 0.5, 1);
    x[0] = x[1] = weight_after("local_sgd", "period=1", 0);
    const int64_t steps = 7;
    double mean = 0.0;
    for (int64_t k = 1; k <= steps; k++) {
        x[0] -= 0.5 * 1.0 * (x[0] - 0.0);
        x[1] -= 0.5 * 0.1 * (x[1] - 1.0);
        if (k == 5 || k == 7) {
            x[0] += mean - sent[0];
            x[1] += mean - sent[1];
        }
        if (k % 3 == 0) {
            memcpy(sent, x, sizeof sent);
            mean = (x[0] + x[1]) / 2.0;
        }
    }
    double found = weight_after("dasgd", "period=3,delay=2", steps);
    cr_expect_float_eq(found, (x[0] + x[1]) / 2.0, 1e-6, "%g", found);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- outer optimizers by hand */

/* Both ranks on one bowl, two steps a period, each of which leaves sqrt(1/2) of how far x is: a
 * period halves it. From 1, after two periods:
 * slowmo, beta 1/2, alpha 0.8: delta -1/2, m -1/2, z 1 - 0.4 = 0.6; delta -0.3, m -0.55, z 0.16;
 * bmuf, momentum 1/2, rate 0.8, of whole steps: -0.4, z 0.6; -0.2 - 0.24 = -0.44, z 0.16; looking
 *   ahead: W 0.6, start 0.6 - 0.2 = 0.4; -0.2 - 0.16 = -0.36, W 0.24, start 0.24 - 0.18 = 0.06;
 * diloco: m -0.5, z 1 + 0.7 (-0.5 - 0.45) = 0.335; delta -0.1675, m -0.6175, z 0.335 + 0.7
 *   (-0.1675 - 0.55575) = -0.171275;
 * easgd, alpha 1/4: x 0.5 + 0.125, z 1 - 0.25; x 0.3125, z 0.75 - (0.75 - 0.3125) / 2 = 0.53125;
 * overlap_local_sgd, alpha 0.6, momentum 1/2, after three: x 0.5 + 0.3, z 1; x 0.4, z 1 - 0.4 / 2 =
 *   0.8, x 0.4 + 0.24; x 0.32, m -0.1 - 0.16, z 0.54, x 0.32 + 0.6 0.22 = 0.452;
 * cocod: nothing to mix, 0.25. co2, beta 1/2, alpha 0.8, penalty 2, after three: what is a period
 *   late is -1/4, -1/4, ...: z 1; m -0.25, z 0.8; m -0.375, z 0.5.
 * streaming_diloco in two fragments of a period of 4, the bias being the first: the weight leaves
 *   after 4 steps and is used after 5, half of it: (0.5^2.5 + 0.5^2) / 2; then a step. */
Test(sim_local_rules, outer_steps_are_those_of_their_sources)
{
    const struct {
        const char *name, *parameters;
        int64_t steps;
        double expected;
    } runs[] = {
        {"local_sgd", "period=2", 4, 0.25},
        {"slowmo", "period=2,beta=0.5,alpha=0.8", 4, 0.16},
        {"bmuf", "period=2,momentum=0.5,rate=0.8,nesterov=false", 4, 0.16},
        {"bmuf", "period=2,momentum=0.5,rate=0.8", 4, 0.06},
        {"diloco", "period=2", 4, -0.171275},
        {"easgd", "period=2,alpha=0.25", 4, 0.53125},
        {"overlap_local_sgd", "period=2,momentum=0.5", 6, 0.452},
        {"cocod", "period=2", 4, 0.25},
        {"co2", "period=2,beta=0.5,alpha=0.8,penalty=2", 6, 0.5},
        {"streaming_diloco", "period=4,fragments=2,delay=1,momentum=0,rate=1", 6,
         (0.17677670 + 0.25) / 2.0 * 0.70710678},
        {"hier_avg", "inside=2,between=4", 4, 0.25},
    };
    make_bowls((double[2]){1.0, 1.0}, (double[2]){2.385, 2.385}, 1.0 - sqrt(0.5), 1);
    double start = weight_after("local_sgd", "period=1", 0) - 2.385;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        double end = weight_after(runs[i].name, runs[i].parameters, runs[i].steps) - 2.385;
        cr_expect_float_eq(end / start, runs[i].expected, 2e-6, "%s:%s: %.8f", runs[i].name,
                           runs[i].parameters, end / start);
    }
    small_job_fini(&job);
}

/* One inner step a period, of s = rate times curvature: m' = 0.9 m - s z, z' = z + 0.7 (0.9 m' - s
 * z). Its characteristic polynomial t^2 - (1.9 - 1.33 s) t + 0.9 - 0.63 s has a root at -1 for s =
 * 3.8 / 1.96 = 1.9388: where plain descent still comes to rest, up to s = 2, diloco does not. At s
 * = 1.97 the root is -1.0461, and 1.0461^200 = 8,200, while 0.97^200 = 0.0023. At 1.9 the roots are
 * -0.9775 and 0.3505: 0.9775^200 = 0.011. */
Test(sim_local_rules, outer_momentum_lowers_the_limit_of_the_inner_rate)
{
    const double curvature[2] = {1.0, 1.0};
    const double lowest[2] = {2.385, 2.385};
    make_bowls(curvature, lowest, 1.97, 1);
    double start = weight_after("local_sgd", "period=1", 0) - 2.385;
    double plain = weight_after("diloco", "period=1,rate=1,momentum=0", 200) - 2.385;
    double outer = weight_after("diloco", "period=1", 200) - 2.385;
    cr_expect_lt(fabs(plain / start), 0.003, "%g", plain / start);
    cr_expect_gt(fabs(outer / start), 1000.0, "%g", outer / start);
    small_job_fini(&job);
    make_bowls(curvature, lowest, 1.9, 1);
    outer = weight_after("diloco", "period=1", 200) - 2.385;
    cr_expect_lt(fabs(outer / start), 0.03, "%g", outer / start);
    small_job_fini(&job);
}
