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

/* ---------------------------------------------------------------- what encoding is booked as */

/* The only step of rank 0 of two, whose codec moves so many bytes an element either way. */
static gs_step_row coded_step(double bytes)
{
    gs_record *record = gs_record_create(2, true);
    small_job_config config = small_job_default();
    config.ranks = 2;
    config.units = 1;
    config.unit_elements = 1000000;
    small_job_init(&job, &config, "first_bucket=1GiB,bucket=1GiB");
    small_job_code(&job, "topk:ratio=0.1");
    job.choice.coding.measured_encode_bytes = bytes;
    job.choice.coding.measured_decode_bytes = 0.25 * bytes;
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 1, .record = record});
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    gs_step_row row = gs_record_step_at(record, 0);
    gs_record_destroy(record);
    small_job_fini(&job);
    return row;
}

/* A million elements at a megabyte a ns: each byte of an element takes 1 ns, so that 8e6 more are 8
 * ms more of encoding, and a quarter of it for each of two payloads. The bytes on the wire are the
 * same. */
Test(sim_codec_limits, encoding_is_overhead_and_no_communication)
{
    gs_step_row fast = coded_step(1.0);
    gs_step_row slow = coded_step(8e6 + 1.0);
    cr_expect_eq(slow.overhead_ns - fast.overhead_ns, 12 * GS_NS_PER_MS, "%lld and %lld ns",
                 (long long)slow.overhead_ns, (long long)fast.overhead_ns);
    cr_expect_eq(slow.exposed_comm_ns, fast.exposed_comm_ns);
    cr_expect_eq(slow.comm_ns, fast.comm_ns);
    cr_expect_gt(fast.exposed_comm_ns, 0);
    cr_expect_eq(slow.duration_ns - fast.duration_ns, 12 * GS_NS_PER_MS);
}

/* ---------------------------------------------------------------- two workers */

/* Half the squared error of w1 x1 + w2 x2 + b, with x = (M, 1) on one rank and (-M, 1) on the other
 * and targets that leave both the same error r at the start: gradients r (M, 1, 1) and r (-M, 1,
 * 1), of which the largest element is always the first, and the mean of those is 0. */
#define LARGEST 7.5F
static float targets[4]; /* 0 until told */
static gs_dataset dataset;
static float start[3]; /* w1, w2, b */

/* Each has a row of the dataset. */
static void begin_workers(uint32_t ranks, int64_t steps, const char *codec)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.units = 1;
    config.unit_elements = dataset.input_stride + 1;
    config.learns = true;
    config.steps = steps;
    small_job_init(&job, &config, NULL);
    small_job_code(&job, codec);
    gs_workload *workload = &job.scenario.workload;
    workload->dataset = &dataset;
    workload->batch_per_rank = 1;
    workload->task.model = gs_model_find("linear");
    workload->task.data.source = gs_data_source_find("quadratic");
    workload->task.data.shards.kind = GS_SHARDS_LABEL;
    workload->task.optimizer.rate = 0.01;
    workload->task.optimizer.momentum = 0.0;
}

/* The last row is to test with. */
static void make_dataset(int64_t train, int64_t width, const float *rows)
{
    static const uint32_t split[4] = {0, 1, 2, 3};
    dataset = (gs_dataset){.shape = {.input = {1, 1, width},
                                     .kind = GS_ANSWER_REAL,
                                     .answer_count = 1,
                                     .answer_width = 1},
                           .row_count = train + 1,
                           .train_count = train,
                           .test_count = 1,
                           .inputs = rows,
                           .input_stride = width,
                           .targets = targets,
                           .answer_stride = 1,
                           .split = split};
}

static void make_two_rows(void)
{
    static const float rows[6] = {LARGEST, 1.0F, -LARGEST, 1.0F, 0.0F, 1.0F};
    make_dataset(2, 2, rows);
    gs_task *task;
    begin_workers(2, 1, NULL);
    gs_task_setup with = {.data_dir = "", .dataset = &dataset, .ranks = 2, .seed = 1};
    cr_assert_eq(gs_task_create(&job.scenario.workload.task, &with, &arena, &task, &err), GS_OK,
                 "%s", err.text);
    gs_task_init(task, start);
    small_job_fini(&job);
    targets[0] = LARGEST * start[0] + 4.0F;
    targets[1] = -LARGEST * start[0] + 4.0F;
    targets[2] = 4.0F;
}

static void two_workers(int64_t steps, const char *codec, float out[3])
{
    begin_workers(2, steps, codec);
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
    make_two_rows();
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
    cr_expect_not_null(strstr(text, "average before the sum"), "%s", text);
}

/* ---------------------------------------------------------------- three workers */

/* Beznosikov et al., On Biased Compression for Distributed Learning (arXiv 2002.12410), example 1,
 * without its ridge: rows (-3, 2, 2), (2, -3, 2) and (2, 2, -3), answers 0. The largest element of
 * rank i's gradient is always that of place i, -3 times its error. Where all weights are t and the
 * bias is 0 every error is t, and a step without feedback multiplies t by 1 + rate. */
static gs_sim_result three_workers(const char *codec, bool watched)
{
    static const float rows[12] = {-3, 2, 2, 2, -3, 2, 2, 2, -3, 1, 1, 1};
    make_dataset(3, 3, rows);
    begin_workers(3, 2000, codec);
    job.scenario.workload.task.optimizer.rate = 0.1;
    gs_record *record = watched ? gs_record_create(3, false) : NULL;
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 1, .record = record});
    gs_record_destroy(record);
    small_job_fini(&job);
    return result;
}

/* From a t of about 1 to the end of floats: ln 1e38 / ln 1.1 = 918 steps. */
Test(sim_codec_limits, the_largest_alone_can_point_away_from_the_minimum)
{
    cr_expect_eq(three_workers(NULL, false).status, GS_OK);
    cr_expect_eq(three_workers("topk:ratio=0.25", false).status, GS_OK);
    gs_sim_result result = three_workers("topk:ratio=0.25,feedback=false", false);
    cr_expect_eq(result.status, GS_EDIVERGED);
    cr_expect_not_null(strstr(result.error.text, "try feedback=true"), "%s", result.error.text);
    result = three_workers("topk:ratio=0.25,feedback=false", true);
    cr_expect_not_null(strstr(result.error.text, "updates pointed away"), "%s", result.error.text);
    cr_expect(result.steps >= 850 && result.steps <= 950, "%lld", (long long)result.steps);
}
