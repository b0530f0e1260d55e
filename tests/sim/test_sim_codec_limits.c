/* What can be worked out on paper about coded all-reduces, in whole runs: where gathering the
 * largest elements takes as long as a dense ring, what never moves without error feedback, and what
 * a sum in half precision costs. */
#include "tests/small_job.h"
#include "tests/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static small_job job;
static gs_arena arena;
static gs_error err;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(sim_codec_limits, .init = setup, .fini = teardown);

/* ---------------------------------------------------------------- break-even */

enum { ELEMENTS = 1 << 20 };

/* One all-reduce of all elements over links without latency. */
static gs_time_ns duration(uint32_t ranks, const char *codec)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.nic_latency_ns = 0;
    config.units = 1;
    config.unit_elements = ELEMENTS;
    small_job_init(&job, &config, "first_bucket=1GiB,bucket=1GiB");
    small_job_code(&job, codec);
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1});
    small_job_fini(&job);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    return result.facts.end_ns;
}

/* A rank sends 2 (n - 1)/n d 4 bytes in a ring, and (n - 1) k 8 where each of k elements travels
 * with its index to all: equal at k/d = 1/n. What encoding takes is 1e-5 of it: the vector units of
 * small jobs move 1e15 bytes a second. */
Test(sim_codec_limits, gathering_the_largest_takes_as_long_as_a_ring_at_one_in_n)
{
    const uint32_t sizes[3] = {4, 8, 16};
    for (int i = 0; i < 3; i++) {
        gs_time_ns dense = duration(sizes[i], NULL);
        double low = 0.0;
        double high = 1.0;
        for (int turn = 0; turn < 14; turn++) {
            char codec[48];
            double ratio = (low + high) / 2.0;
            snprintf(codec, sizeof codec, "topk:ratio=%.9f", ratio);
            *(duration(sizes[i], codec) < dense ? &low : &high) = ratio;
        }
        cr_expect_float_eq(low * sizes[i], 1.0, 0.01, "%u ranks: %g", sizes[i], low);
    }
}

/* ---------------------------------------------------------------- two workers */

/* Half the squared error of w1 x1 + w2 x2 + b, with x = (M, 1) on one rank and (-M, 1) on the other
 * and targets that leave both the same error r at the start: gradients r (M, 1, 1) and r (-M, 1,
 * 1), of which the largest element is always the first, and the mean of those is 0. */
static const float largest = 7.5F;
static float inputs[6], targets[3];
static const uint32_t split[3] = {0, 1, 2};
static gs_dataset dataset;
static float start[3]; /* w1, w2, b */

static void begin_two_workers(int64_t steps, const char *codec)
{
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 1;
    config.unit_elements = 3;
    config.learns = true;
    config.steps = steps;
    small_job_init(&job, &config, NULL);
    small_job_code(&job, codec);
    gs_workload *workload = &job.scenario.workload;
    workload->dataset = &dataset;
    workload->batch_per_rank = 1;
    workload->task.model = gs_model_find("linear");
    workload->task.data.source = gs_data_source_find("quadratic");
    workload->task.data.shards.kind = GS_SHARDS_LABEL; /* a row a rank */
    workload->task.optimizer.rate = 0.01;
    workload->task.optimizer.momentum = 0.0;
}

static void make_dataset(void)
{
    memcpy(inputs, (float[6]){largest, 1.0F, -largest, 1.0F, 0.0F, 1.0F}, sizeof inputs);
    dataset = (gs_dataset){
        .shape = {.input = {1, 1, 2}, .kind = GS_ANSWER_REAL, .answer_count = 1, .answer_width = 1},
        .row_count = 3,
        .train_count = 2,
        .test_count = 1,
        .inputs = inputs,
        .input_stride = 2,
        .targets = targets,
        .answer_stride = 1,
        .split = split};
    gs_task *task;
    begin_two_workers(1, NULL);
    gs_task_setup with = {.data_dir = "", .dataset = &dataset, .ranks = 2, .seed = 1};
    cr_assert_eq(gs_task_create(&job.scenario.workload.task, &with, &arena, &task, &err), GS_OK,
                 "%s", err.text);
    gs_task_init(task, start);
    small_job_fini(&job);
    targets[0] = largest * start[0] + 4.0F;
    targets[1] = -largest * start[0] + 4.0F;
    targets[2] = 4.0F;
}

static void two_workers(int64_t steps, const char *codec, float out[3])
{
    begin_two_workers(steps, codec);
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1}, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    size_t count;
    const float *weights = gs_sim_weights(sim, 0, &count);
    cr_assert_eq(count, 3);
    memcpy(out, weights, 3 * sizeof *out);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* Without feedback the second weight and the bias never move. With it they gather r a step on each
 * rank while r M is sent: after the 8th step 8 r is more than 7.5 r, and not after the 7th. All of
 * it is sent at once, so that the weight moves by rate x 8 r. The first element, which had
 * to wait, is 2 r M after the 9th step and goes before the bias, which goes after the 10th. */
Test(sim_codec_limits, the_largest_alone_never_moves_what_all_agree_on)
{
    float end[3];
    make_dataset();
    two_workers(1000, "topk:ratio=0.3,feedback=false", end);
    cr_expect(end[1] == start[1] && end[2] == start[2]);
    two_workers(7, "topk:ratio=0.3", end);
    cr_expect(end[1] == start[1] && end[2] == start[2]);
    two_workers(8, "topk:ratio=0.3", end);
    double error = (double)start[1] - 4.0;
    cr_expect_float_eq(end[1] - start[1], -0.01 * 8.0 * error, 1e-4);
    cr_expect_eq(end[2], start[2]);
    two_workers(9, "topk:ratio=0.3", end);
    cr_expect_eq(end[2], start[2]);
    two_workers(10, "topk:ratio=0.3", end);
    cr_expect_neq(end[2], start[2]);
    two_workers(3000, "topk:ratio=0.3", end);
    cr_expect_float_eq(end[1] + end[2], 4.0, 0.05);
}

/* ---------------------------------------------------------------- half precision */

/* The bowl's gradients at the start are over 65504 / 8 and below 65504: 8 of them added are too
 * large for fp16, their mean is not. */
static gs_status half_sum(const char *strategy, const char *codec, char *text, size_t bytes)
{
    small_job_config config = small_job_default();
    config.ranks = 8;
    config.units = 1;
    config.unit_elements = 2;
    config.learns = true;
    config.steps = 50;
    small_job_init(&job, &config, strategy);
    small_job_code(&job, codec);
    gs_task_config *task = &job.scenario.workload.task;
    task->model = gs_model_find("linear");
    task->data.source = gs_data_source_find("quadratic");
    gs_config_defaults(task->data.source->config_table, task->data.source_config);
    const gs_field_table *table = task->data.source->config_table;
    void *bowl = task->data.source_config;
    cr_assert_eq(gs_config_set_text(table, bowl, "dimension", "1", &err), GS_OK);
    cr_assert_eq(gs_config_set_text(table, bowl, "curvature_max", "20000", &err), GS_OK);
    task->optimizer.rate = 1e-5;
    task->optimizer.momentum = 0.0;
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1});
    small_job_fini(&job);
    snprintf(text, bytes, "%s", result.error.text);
    return result.status;
}

Test(sim_codec_limits, a_half_precision_sum_overflows_where_the_mean_would_not)
{
    char text[512];
    cr_expect_eq(half_sum("average=before", "fp16", text, sizeof text), GS_OK, "%s", text);
    cr_expect_eq(half_sum("average=after", "bf16", text, sizeof text), GS_OK, "%s", text);
    cr_expect_eq(half_sum("average=after", NULL, text, sizeof text), GS_OK, "%s", text);
    cr_expect_eq(half_sum("average=after", "fp16", text, sizeof text), GS_EDIVERGED);
    cr_log_info("%s", text);
}
