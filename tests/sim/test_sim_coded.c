/* Coded all-reduces in whole runs: what arrives, how many bytes it takes, and that all ranks end
 * with the same bits. */
#include "sim/sim_parts.h" /* to count bytes */
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

enum { RANKS_MAX = 8 };

/* Every codec, those that cannot be added by both paths. dgc brings its own momentum. */
static const char *const codecs[] = {
    "bf16",
    "dgc:ratio=0.05,warmup=0",
    "ef_sign",
    "ef_sign:path=two_phase",
    "fp16",
    "fp8_e4m3",
    "fp8_e5m2:path=two_phase",
    "int4",
    "int4:path=two_phase",
    "int8",
    "int8:path=two_phase",
    "onebit",
    "onebit:path=two_phase",
    "powersgd:start_step=0",
    "powersgd:start_step=2,rank=3",
    "qsgd",
    "qsgd:bits=2,path=two_phase",
    "randomk:ratio=0.1",
    "sign",
    "sign:path=two_phase",
    "sign:scale=mean",
    "terngrad",
    "terngrad:path=two_phase",
    "topk:ratio=0.01",
    "topk:ratio=0.01,path=two_phase",
};

static small_job_config coded_job(uint32_t ranks, bool learns)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.units = 3;
    config.unit_elements = 3204; /* together near the 9,610 floats of the mlp, so that most slices
                                    of the job are as many floats */
    config.unit_rows = 36;       /* x 89, for codecs that look at matrices */
    config.learns = learns;
    config.steps = 4;
    config.backward_ns = 50 * GS_NS_PER_US;
    return config;
}

static gs_sim *run(small_job *job, gs_sim_result *out)
{
    gs_error err = {.text = ""};
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){
            .scenario = &job->scenario, .strategy = &job->choice, .seed = 1, .swap_state = true},
        &err);
    cr_assert_not_null(sim, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, out);
    cr_assert_eq(out->status, GS_OK, "%s", out->error.text);
    return sim;
}

static void expect_equal_replicas(const gs_sim *sim, uint32_t ranks, const char *codec)
{
    size_t count;
    const float *first = gs_sim_weights(sim, 0, &count);
    for (size_t i = 0; i < count; i++) {
        cr_assert(isfinite(first[i]), "%s of %u ranks", codec, ranks);
    }
    for (uint32_t rank = 1; rank < ranks; rank++) {
        cr_expect_eq(memcmp(first, gs_sim_weights(sim, rank, &count), count * sizeof *first), 0,
                     "%s of %u ranks: rank %u ends elsewhere", codec, ranks, rank);
    }
}

/* Sizes that the data decides are told as expected; others are counted exactly, up to the division
 * by the ranks in each step. */
static void expect_bytes(const gs_sim *sim, const small_job *job, uint32_t ranks, const char *codec)
{
    const gs_strategy_choice *choice = &job->choice;
    int64_t sent = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        sent += sim->net.entity_bytes[rank];
    }
    int64_t told = choice->strategy->wire_bytes(choice->config, &sim->job, &choice->coding);
    double steps = 4.0 * ranks;
    bool varies = choice->coding.codec == gs_codec_find("dgc");
    double slack = varies ? 0.35 * (double)told : 1.0;
    cr_expect(fabs((double)sent / steps - (double)told) <= slack,
              "%s of %u ranks: %.1f bytes a rank and step, told were %lld", codec, ranks,
              (double)sent / steps, (long long)told);
}

Test(sim_coded, all_ranks_end_equal_and_send_the_bytes_they_say)
{
    const uint32_t sizes[] = {1, 2, 3, 8};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
            small_job_config config = coded_job(sizes[s], true);
            small_job job;
            gs_sim_result result;
            small_job_init(&job, &config, "bucket=tensor");
            job.scenario.workload.task.optimizer.momentum = 0.0;
            small_job_code(&job, codecs[i]);
            gs_sim *sim = run(&job, &result);
            expect_equal_replicas(sim, sizes[s], codecs[i]);
            expect_bytes(sim, &job, sizes[s], codecs[i]);
            gs_sim_destroy(sim);
            small_job_fini(&job);
        }
    }
}

/* Averages before and after the step from which powersgd codes, of strategies whose averages come
 * after other numbers of steps. */
Test(sim_coded, averages_that_warm_up_send_the_bytes_that_are_told)
{
    static const char *const names[][2] = {{"local_sgd", "period=1"},
                                           {"local_sgd", "period=2"},
                                           {"post_local", "start=3,period=1"},
                                           {"hier_avg", "inside=1,between=2"},
                                           {"streaming_diloco", "period=2,fragments=2,delay=0"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        small_job_config config = coded_job(4, false);
        small_job job;
        gs_sim_result result;
        small_job_init(&job, &config, NULL);
        small_job_use(&job, gs_strategy_find(names[i][0]), names[i][1]);
        small_job_code(&job, "powersgd:start_step=2,rank=1");
        gs_sim *sim = run(&job, &result);
        expect_bytes(sim, &job, 4, names[i][0]);
        gs_sim_destroy(sim);
        small_job_fini(&job);
    }
}

/* A run without gradients has the times and bytes of one with them, where sizes are known. */
Test(sim_coded, timing_alone_takes_the_same_time)
{
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        if (strncmp(codecs[i], "dgc", 3) == 0) {
            continue;
        }
        int64_t ends[2];
        for (int learns = 0; learns < 2; learns++) {
            small_job_config config = coded_job(4, learns == 1);
            small_job job;
            gs_sim_result result;
            small_job_init(&job, &config, NULL);
            small_job_code(&job, codecs[i]);
            gs_sim_destroy(run(&job, &result));
            ends[learns] = result.facts.end_ns;
            small_job_fini(&job);
        }
        cr_expect_eq(ends[0], ends[1], "%s: %lld and %lld ns", codecs[i], (long long)ends[0],
                     (long long)ends[1]);
    }
}

/* Largest difference of two runs' weights. */
static double distance(const char *codec, const char *other)
{
    static float kept[200000];
    double worst = 0.0;
    for (int turn = 0; turn < 2; turn++) {
        small_job_config config = coded_job(4, true);
        small_job job;
        gs_sim_result result;
        size_t count;
        small_job_init(&job, &config, NULL);
        small_job_code(&job, turn == 0 ? codec : other);
        gs_sim *sim = run(&job, &result);
        const float *weights = gs_sim_weights(sim, 0, &count);
        cr_assert(count < sizeof kept / sizeof *kept);
        for (size_t i = 0; turn == 1 && i < count; i++) {
            worst = fmax(worst, fabs((double)weights[i] - (double)kept[i]));
        }
        memcpy(kept, weights, count * sizeof *kept);
        gs_sim_destroy(sim);
        small_job_fini(&job);
    }
    return worst;
}

/* What loses nothing is dense all-reduce in another order of additions. */
Test(sim_coded, codecs_that_lose_nothing_are_plain_sgd)
{
    cr_expect_lt(distance(NULL, "topk:ratio=1"), 1e-6);
    cr_expect_lt(distance(NULL, "topk:ratio=1,path=two_phase"), 1e-6);
    cr_expect_lt(distance(NULL, "randomk:ratio=1"), 1e-6);
    cr_expect_gt(distance(NULL, "topk:ratio=0.5"), 1e-6);
}

/* The optimizer's momentum is 0.9. Where all is sent, the mean of the ranks' velocities is the
 * velocity of the mean, and the optimizer must not have one on top of it. A codec without a
 * momentum leaves it where it was. */
Test(sim_coded, the_momentum_of_a_codec_takes_the_place_of_the_optimizers)
{
    cr_expect_lt(distance(NULL, "dgc:ratio=1"), 1e-6);
    cr_expect_lt(distance("dgc:ratio=1", "dgc:ratio=1,momentum=0.9"), 1e-12);
    cr_expect_lt(distance(NULL, "dgc:ratio=1,momentum=0"), 1e-6);
    cr_expect_gt(distance(NULL, "dgc:ratio=1,momentum=0.5"), 1e-4);
}

/* 16 bits lose little in four steps, 8 bits somewhat more, and neither nothing. */
Test(sim_coded, fewer_bits_lose_more)
{
    double half = distance(NULL, "fp16");
    double brain = distance(NULL, "bf16");
    double two = distance(NULL, "qsgd:bits=2");
    cr_expect(half > 0.0 && half < brain && brain < two, "%g %g %g", half, brain, two);
}
