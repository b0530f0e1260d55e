/* PowerSGD in whole runs: that its matrices are the layers', which shows where a gradient has no
 * more ranks than it sends. */
#include "tests/models/teacher_fixture.h"

#include <stdlib.h>
#include <string.h>

static teacher task;

static void setup(void)
{
    teacher_init(&task);
}

static void teardown(void)
{
    teacher_fini(&task);
}

TestSuite(sim_low_rank, .init = setup, .fini = teardown);

enum { RANKS = 2, BATCH = 2, STEPS = 4, FLOATS = 32 * 64 + 64 + 64 * 10 + 10 };

static void weights_of(const char *parameters, const char *codec, float *out)
{
    teacher_run run = {.strategy = "allreduce",
                       .parameters = parameters,
                       .codec = codec,
                       .ranks = RANKS,
                       .batch = BATCH,
                       .steps = STEPS,
                       .rate = 0.3};
    small_job job;
    gs_error err = {.text = ""};
    gs_sim_result result;
    size_t count;
    teacher_job(&task, &run, &job);
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3}, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    const float *weights = gs_sim_weights(sim, 0, &count);
    cr_assert_eq(count, FLOATS);
    memcpy(out, weights, sizeof(float) * FLOATS);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

static double distance(const float *a, const float *b)
{
    double worst = 0.0;
    for (int i = 0; i < FLOATS; i++) {
        worst = fmax(worst, fabs((double)a[i] - (double)b[i]));
    }
    return worst;
}

/* The gradient of a layer's weights is a sum of one outer product a sample, so over 2 x 2 samples
 * it has at most 4 ranks: P and Q of rank 4 say all of it, matrix by matrix, and the biases travel
 * dense. In whatever buckets: matrices of parts of two layers have more ranks than that. What is
 * left is rounding, some 1e-7 of steps that move weights by 0.1. Nine ranks say the same, with five
 * columns that have nothing to say. Two say less. */
Test(sim_low_rank, a_gradient_of_four_samples_is_said_by_four_ranks)
{
    static float dense[FLOATS], coded[FLOATS];
    static const char *const buckets[] = {"bucket=tensor", "first_bucket=1KiB,bucket=4KiB",
                                          "first_bucket=1MiB,bucket=1MiB"};
    for (size_t i = 0; i < sizeof buckets / sizeof *buckets; i++) {
        weights_of(buckets[i], NULL, dense);
        weights_of(buckets[i], "powersgd:rank=4,start_step=0,min_compression=0,feedback=false",
                   coded);
        cr_expect_lt(distance(dense, coded), 2e-6, "%s: %g", buckets[i], distance(dense, coded));
        weights_of(buckets[i], "powersgd:rank=9,start_step=0,min_compression=0,feedback=false",
                   coded);
        cr_expect_lt(distance(dense, coded), 2e-6, "%s: %g", buckets[i], distance(dense, coded));
        weights_of(buckets[i], "powersgd:rank=2,start_step=0,min_compression=0,feedback=false",
                   coded);
        cr_expect_gt(distance(dense, coded), 1e-3, "%s: %g", buckets[i], distance(dense, coded));
    }
}
