/* Precision, scaling and averaging in whole jobs: what is equal to the bit, and what the usual
 * mistakes cost. */
#include "tests/small_job.h"
#include "tests/support.h"

#include "sim/sim_parts.h" /* to look at gradients */

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { RANKS = 4, COUNT_MAX = 16384 };

static small_job job;
static float weights[3][COUNT_MAX];
static size_t count;

static void begin_ranks(const char *strategy_text, uint32_t ranks, int64_t steps)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.learns = true;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 200 * GS_NS_PER_US;
    config.steps = steps;
    small_job_init(&job, &config, strategy_text);
}

static void begin(const char *strategy_text, int64_t steps)
{
    begin_ranks(strategy_text, RANKS, steps);
}

static void end(void)
{
    small_job_fini(&job);
}

static gs_optimizer_config *optimizer(void)
{
    return &job.scenario.workload.task.optimizer;
}

static void use_number(gs_number number)
{
    job.scenario.workload.number = number;
    job.scenario.workload.element_bytes = number == GS_FP32 ? 4 : 2;
}

/* Runs the job; out [COUNT_MAX]: the weights of rank 0, if it ended well. */
static gs_sim_result run(float *out)
{
    gs_error err;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3}, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    if (result.status == GS_OK) {
        const float *first = gs_sim_weights(sim, 0, &count);
        cr_assert(count <= COUNT_MAX);
        memcpy(out, first, count * sizeof *out);
        for (uint32_t rank = 1; rank < RANKS; rank++) {
            size_t same;
            cr_assert_eq(memcmp(gs_sim_weights(sim, rank, &same), first, count * sizeof *first), 0,
                         "rank %u differs", rank);
        }
    }
    gs_sim_destroy(sim);
    return result;
}

static double norm_of_difference(const float *a, const float *b)
{
    double square = 0.0;
    for (size_t i = 0; i < count; i++) {
        double apart = (double)a[i] - (double)b[i];
        square += apart * apart;
    }
    return sqrt(square);
}

static double largest_difference(const float *a, const float *b)
{
    double worst = 0.0;
    for (size_t i = 0; i < count; i++) {
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    }
    return worst;
}

/* Largest element of any rank's first gradient. */
static double largest_gradient(void)
{
    gs_error err;
    double largest = 0.0;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3}, &err);
    gs_task_workspace *workspace;
    const gs_task *task = sim->task;
    int64_t batch = job.scenario.workload.batch_per_rank;
    count = gs_task_parameter_count(task);
    cr_assert_eq(gs_task_workspace_create(task, batch, &job.arena, &workspace, &err), GS_OK);
    gs_task_init(task, weights[0]);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        gs_task_request request = {.rank = rank,
                                   .first_sample = gs_task_position(task, rank, 0, batch),
                                   .sample_count = batch};
        double loss;
        cr_assert_eq(gs_task_gradient(workspace, &request, weights[0], weights[1], &loss, &err),
                     GS_OK);
        for (size_t i = 0; i < count; i++) {
            largest = fmax(largest, fabs((double)weights[1][i]));
        }
    }
    gs_sim_destroy(sim);
    return largest;
}

/* ---------------------------------------------------------------- half precision */

/* Scaled so that every rank's own gradient fits fp16, up to 60,000 of 65,504: a quarter of each
 * does too, and so does any sum of four quarters. The sum of four wholes does not, and the weights
 * become infinite. */
Test(sim_precision, dividing_after_the_sum_overflows_where_dividing_before_does_not)
{
    begin("average=before", 3);
    use_number(GS_FP16);
    optimizer()->rate = 0.01;
    double scale = 60000.0 / largest_gradient();
    optimizer()->loss_scale = scale;
    gs_sim_result before = run(weights[0]);
    cr_expect_eq(before.status, GS_OK, "%s", before.error.text);
    end();
    begin("average=after", 3);
    use_number(GS_FP16);
    optimizer()->rate = 0.01;
    optimizer()->loss_scale = scale;
    gs_sim_result after = run(weights[1]);
    cr_expect_eq(after.status, GS_EDIVERGED);
    cr_expect(strstr(after.error.text, "step 0: worker ") == after.error.text &&
                  strstr(after.error.text, ": what it applied to its weights is not finite; every "
                                           "rank's gradient was finite, their sum was not: "),
              "%s", after.error.text);
    /* In fp32 the order does not matter. */
    use_number(GS_FP32);
    cr_expect_eq(run(weights[1]).status, GS_OK);
    cr_expect_lt(largest_difference(weights[0], weights[1]), 1e-4);
    end();
}

/* The sum of sixteen is too large with the first scales: updates are left out until it fits, on
 * all ranks at once. */
Test(sim_precision, a_dynamic_loss_scale_finds_one_that_fits)
{
    enum { MANY = 16, STEPS = 12 };
    begin_ranks("average=after", MANY, STEPS);
    use_number(GS_FP16);
    optimizer()->loss_scale = GS_LOSS_SCALE_DYNAMIC;
    gs_error err;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3}, &err);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    const gs_entity_memory *first = &sim->entities[0].memory;
    int64_t skipped = STEPS - first->updates[GS_PARAM];
    cr_expect(skipped >= 1 && skipped <= 6, "%lld", (long long)skipped);
    for (uint32_t rank = 0; rank < MANY; rank++) {
        const gs_entity_memory *memory = &sim->entities[rank].memory;
        cr_expect_eq(memory->updates[GS_PARAM], first->updates[GS_PARAM]);
        cr_expect_eq(gs_entity_memory_hash(memory, GS_PARAM, 0),
                     gs_entity_memory_hash(first, GS_PARAM, 0));
    }
    gs_sim_destroy(sim);
    end();
}

/* Powers of two round nothing: in fp32 a scaled run has the bits of one that is not. */
Test(sim_precision, a_loss_scale_that_is_a_power_of_two_changes_no_bit_of_fp32)
{
    begin(NULL, 6);
    cr_assert_eq(run(weights[0]).status, GS_OK);
    optimizer()->loss_scale = 1024.0;
    cr_assert_eq(run(weights[1]).status, GS_OK);
    cr_expect_eq(memcmp(weights[0], weights[1], count * sizeof **weights), 0);
    end();
}

/* In the ring of four ranks each element is rounded four times: when it is computed and at three
 * sums, each time by at most 2^-8 of the number in bf16 and 2^-11 in fp16, and in either direction.
 * So far off is the first step, relative to its length, and bf16 eight times as far as fp16. */
Test(sim_precision, fewer_bits_are_farther_from_full_precision)
{
    static float start[COUNT_MAX];
    double apart[2];
    begin(NULL, 1);
    optimizer()->momentum = 0.0;
    (void)largest_gradient();
    memcpy(start, weights[0], count * sizeof *start);
    cr_assert_eq(run(weights[0]).status, GS_OK);
    double moved = norm_of_difference(weights[0], start);
    for (int i = 0; i < 2; i++) {
        use_number(i == 0 ? GS_FP16 : GS_BF16);
        optimizer()->loss_scale = 1024.0; /* so that fp16 has no subnormals to lose */
        cr_assert_eq(run(weights[1]).status, GS_OK);
        apart[i] = norm_of_difference(weights[0], weights[1]) / moved;
    }
    cr_expect(apart[0] > 0x1p-13 && apart[0] < 0x1p-10, "fp16: %g", apart[0]);
    cr_expect(apart[1] > 0x1p-10 && apart[1] < 0x1p-7, "bf16: %g", apart[1]);
    cr_expect(apart[1] / apart[0] > 6.0 && apart[1] / apart[0] < 10.0, "%g", apart[1] / apart[0]);
    end();
}

Test(sim_precision, a_measured_curve_rounds_as_the_messages_do)
{
    static const gs_curve_point points[] = {{1000, 1000000}, {2000000, 1600000}};
    static const gs_curve curve = {.collective = "all_reduce",
                                   .ranks = RANKS,
                                   .device = "",
                                   .points = points,
                                   .point_count = 2,
                                   .source = "test"};
    uint64_t hashes[GS_NUMBER_COUNT];
    for (gs_number number = GS_FP32; number <= GS_BF16; number++) {
        begin("bucket=256KiB,first_bucket=256KiB", 4);
        use_number(number);
        hashes[number] = run(weights[0]).weights_hash;
        job.scenario.cluster.nic.curve = &curve;
        cr_expect_eq(run(weights[1]).weights_hash, hashes[number], "number %d", (int)number);
        end();
    }
    cr_expect(hashes[GS_FP32] != hashes[GS_FP16] && hashes[GS_FP16] != hashes[GS_BF16]);
}

/* ---------------------------------------------------------------- accumulation */

/* Weights and their test loss after so many steps of 128 samples. Pass p of rank r takes [(4 p + r)
 * b, + b): four passes of 8 are, over all ranks, the samples of one of 32. */
static double run_accumulated(int64_t accumulation, double rate, int64_t steps, float *out)
{
    begin(NULL, steps);
    job.scenario.workload.batch_per_rank = 32 / accumulation;
    job.scenario.workload.accumulation = accumulation;
    optimizer()->rate = rate;
    gs_error err;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3}, &err);
    gs_task_workspace *workspace;
    double loss, accuracy;
    gs_sim_result result = run(out);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_assert_eq(result.steps, steps);
    cr_assert_eq(gs_task_workspace_create(sim->task, 32, &job.arena, &workspace, &err), GS_OK);
    cr_assert_eq(gs_task_evaluate(workspace, out, &loss, &accuracy, &err), GS_OK);
    gs_sim_destroy(sim);
    end();
    return loss;
}

Test(sim_precision, accumulating_four_micro_batches_is_one_that_is_four_times_as_large)
{
    (void)run_accumulated(1, 0.05, 10, weights[0]);
    (void)run_accumulated(4, 0.05, 10, weights[1]);
    double worst = largest_difference(weights[0], weights[1]);
    cr_expect(worst > 0.0 && worst < 1e-6, "%g", worst);
}

/* Who divides the mean by the passes once more learns at a quarter of the rate, who forgets to
 * divide at four times of it. Neither fails: after one step they have moved a quarter as far and
 * four times as far, and later they have learned less. */
Test(sim_precision, dividing_twice_or_never_moves_weights_by_another_length)
{
    static float start[COUNT_MAX];
    begin(NULL, 1);
    (void)largest_gradient();
    memcpy(start, weights[0], sizeof start);
    end();
    (void)run_accumulated(4, 0.2, 1, weights[0]);
    (void)run_accumulated(4, 0.2 / 4, 1, weights[1]);
    (void)run_accumulated(4, 0.2 * 4, 1, weights[2]);
    double moved = norm_of_difference(weights[0], start);
    cr_expect_float_eq(norm_of_difference(weights[1], start) / moved, 0.25, 1e-4);
    cr_expect_float_eq(norm_of_difference(weights[2], start) / moved, 4.0, 1e-4);
    double right = run_accumulated(4, 0.2, 40, weights[0]);
    double twice = run_accumulated(4, 0.2 / 4, 40, weights[1]);
    double never = run_accumulated(4, 0.2 * 4, 40, weights[2]);
    /* Measured: 0.187, 0.370 and 0.237. */
    cr_expect(twice > 1.5 * right, "%g, not %g", twice, right);
    cr_expect(never > 1.1 * right, "%g, not %g", never, right);
}
