#include "tests/frozen/frozen.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/rng.h"
#include "tools/message.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 20261130 };

/* What varies. Each half is a Latin hypercube: every level of every one comes as often as the
 * others, and which levels meet is drawn. */
typedef enum axis {
    AXIS_BANDWIDTH,
    AXIS_SHAPE,
    AXIS_PROFILE,
    AXIS_JITTER,
    AXIS_STRAGGLER,
    AXIS_CHANGE,
    AXIS_SHARDS,
    AXIS_TASK,
    AXIS_TARGET,
    AXES
} axis;

typedef struct shape {
    uint32_t nodes, ranks; /* of a node */
} shape;

static const shape shapes[] = {{4, 1}, {2, 2}, {3, 2}, {2, 4}, {4, 2},
                               {8, 1}, {3, 4}, {2, 8}, {4, 4}, {16, 1}};

/* Whose clock: bundled layer tables. sample_ms and megabytes only place what changes in mid-run
 * among the steps, so that they need not be exact: of an A100 in fp32. */
typedef struct clock_of {
    const char *profile;
    double pass_ms, sample_ms; /* a step takes the first, and the second for each sample */
    double megabytes;          /* of gradient */
} clock_of;

static const clock_of clocks[] = {{"resnet50", 38.0, 0.0, 102.0},
                                  {"vgg16", 0.0, 12.0, 553.0},
                                  {"bert_large", 0.0, 130.0, 1340.0},
                                  {"gpt2", 0.0, 100.0, 498.0}};

static const double jitters[] = {0.01, 0.05, 0.15, 0.4};

typedef enum straggler { NO_STRAGGLER, PERSISTENT, TRANSIENT_ONE, TRANSIENT_ALL } straggler;
typedef enum change { NO_CHANGE, LINK_MARKOV, LINK_AR1, LINK_ON_OFF, LINK_FLAP } change;

/* Half of them are alike. */
static const char *const shards[] = {"\"shards\": \"iid\"", "\"shards\": \"iid\"",
                                     "\"shards\": \"dirichlet\", \"alpha\": 0.5",
                                     "\"shards\": \"unequal\", \"size_ratio\": 3"};

enum { TARGETS = 3 };

/* What learns; three quarters are the first. The accuracies were chosen once so that plain
 * all-reduce needs FROZEN_STEPS_MIN to FROZEN_STEPS_MAX steps (test_targets_long.c). */
typedef struct task {
    const char *model, *data;
    double rate, targets[TARGETS];
} task;

static const task tasks[] = {
    {"\"name\": \"mlp\"", "\"name\": \"digits\"", 0.05, {0.92, 0.94, 0.95}},
    {"\"name\": \"softmax\"", "\"name\": \"mixture\", \"spread\": 0.3", 0.1, {0.88, 0.89, 0.9}},
    {"\"name\": \"mlp\", \"hidden\": [64]",
     "\"name\": \"teacher\", \"train\": 8192, \"test\": 1024",
     0.1,
     {0.6, 0.65, 0.68}},
    {"\"name\": \"mlp\", \"hidden\": [64, 64]",
     "\"name\": \"mixture\", \"spread\": 0.4",
     0.05,
     {0.7, 0.72, 0.73}}};
enum { TASKS = sizeof tasks / sizeof *tasks, OTHER_TASKS = TASKS - 1 };

/* --- draws ------------------------------------------------------------------------------------ */

/* Uniform in (0, 1): a function of the place alone. */
static double draw(uint32_t index, axis of, uint32_t what)
{
    gs_rng_key key = {SEED, GS_RNG_TEST, index};
    return gs_rng_uniform(key, (uint64_t)of, what);
}

/* Place 0 to FROZEN_HALF - 1 of a scenario along an axis: the rank of its draw in its half. */
static uint32_t place(uint32_t index, axis of)
{
    uint32_t first = index / FROZEN_HALF * FROZEN_HALF;
    double own = draw(index, of, 0);
    uint32_t before = 0;
    for (uint32_t i = first; i < first + FROZEN_HALF; i++) {
        before += draw(i, of, 0) < own ? 1 : 0;
    }
    return before;
}

/* 0 to levels - 1, each as often as the others where they divide FROZEN_HALF. */
static uint32_t level(uint32_t index, axis of, size_t levels)
{
    return place(index, of) * (uint32_t)levels / FROZEN_HALF;
}

/* --- one scenario ----------------------------------------------------------------------------- */

typedef struct frozen_job {
    uint32_t index;
    shape shape;
    const clock_of *clock;
    const task *task;
    uint32_t batch; /* of a rank */
    uint32_t bandwidth_mbps;
    uint32_t step_ms; /* of plain all-reduce, about */
} frozen_job;

#define LEVEL(index, of, list) (&(list)[level(index, of, sizeof(list) / sizeof *(list))])

static frozen_job job_of(uint32_t index)
{
    frozen_job out = {.index = index};
    /* 1 to 400 Gbit/s, evenly by logarithm, whole Mbit/s. */
    double share = (place(index, AXIS_BANDWIDTH) + draw(index, AXIS_BANDWIDTH, 1)) / FROZEN_HALF;
    out.bandwidth_mbps = (uint32_t)lround(1000.0 * pow(400.0, share));
    out.shape = *LEVEL(index, AXIS_SHAPE, shapes);
    out.clock = LEVEL(index, AXIS_PROFILE, clocks);
    uint32_t at = place(index, AXIS_TASK);
    out.task = &tasks[at < FROZEN_HALF * 3 / 4 ? 0 : 1 + at % OTHER_TASKS];
    uint32_t ranks = out.shape.nodes * out.shape.ranks;
    out.batch = ranks <= 4 ? 16 : ranks <= 8 ? 8 : 4;
    double wire_ms = 2.0 * 8.0 * out.clock->megabytes * 1000.0 / out.bandwidth_mbps;
    out.step_ms = (uint32_t)lround(out.clock->pass_ms + out.batch * out.clock->sample_ms + wire_ms);
    return out;
}

static void put_cluster(const frozen_job *job, FILE *out)
{
    /* Below 25 Gbit/s a cloud's Ethernet, above that RDMA. */
    bool is_tcp = job->bandwidth_mbps < 25000;
    fprintf(out,
            "  \"cluster\": {\n"
            "    \"topology\": {\"kind\": \"nodes\"},\n"
            "    \"nodes\": [{\"name\": \"gpu\", \"count\": %" PRIu32 ", \"ranks\": %" PRIu32
            ", \"device\": \"A100-SXM4-80GB\", \"vector_bandwidth\": \"1TB/s\"}],\n"
            "    \"links\": {\n"
            "      \"nic\": {\"class\": \"%s\", \"bandwidth\": \"%" PRIu32
            "Mbit/s\", \"latency\": \"%s\", \"efficiency\": 0.9},\n"
            "      \"intra\": {\"class\": \"nvlink\", \"bandwidth\": \"200GB/s\", "
            "\"latency\": \"5us\"}\n"
            "    }\n"
            "  },\n",
            job->shape.nodes, job->shape.ranks, is_tcp ? "tcp" : "roce", job->bandwidth_mbps,
            is_tcp ? "30us" : "5us");
}

static void put_workload(const frozen_job *job, FILE *out)
{
    fprintf(out,
            "  \"workload\": {\n"
            "    \"profile\": \"%s\",\n"
            "    \"model\": {%s},\n"
            "    \"data\": {%s, %s},\n"
            "    \"optimizer\": {\"name\": \"sgd\", \"rate\": %g, \"momentum\": 0.9},\n"
            "    \"batch_per_rank\": %" PRIu32 ",\n"
            "    \"real_gradients\": true,\n"
            "    \"target\": {\"metric\": \"accuracy\", \"value\": %g},\n"
            "    \"budget\": {\"steps\": %d}\n"
            "  },\n",
            job->clock->profile, job->task->model, job->task->data,
            *LEVEL(job->index, AXIS_SHARDS, shards), job->task->rate, job->batch,
            job->task->targets[level(job->index, AXIS_TARGET, TARGETS)], FROZEN_BUDGET_STEPS);
}

/* Hundredths, from low to high. */
static double between(const frozen_job *job, axis of, uint32_t what, double low, double high)
{
    return (double)lround(100.0 * (low + (high - low) * draw(job->index, of, what))) / 100.0;
}

static void put_straggler(const frozen_job *job, FILE *out)
{
    uint32_t kind = level(job->index, AXIS_STRAGGLER, TRANSIENT_ALL + 1);
    uint32_t ranks = job->shape.nodes * job->shape.ranks;
    int64_t rank = (int64_t)(ranks * draw(job->index, AXIS_STRAGGLER, 1));
    double factor = between(job, AXIS_STRAGGLER, 2, 1.3, 3.0);
    if (kind == NO_STRAGGLER) {
        return;
    }
    if (kind == PERSISTENT) {
        fprintf(out,
                ",\n    \"straggler\": {\"kind\": \"persistent\", \"rank\": %" PRId64
                ", \"factor\": %g}",
                rank, factor);
        return;
    }
    /* Slow for about 4 steps of 20. */
    fprintf(out,
            ",\n    \"straggler\": {\"kind\": \"markov\", \"rank\": %" PRId64
            ", \"factor\": %g, \"mean_up\": \"%" PRIu32 "ms\", \"mean_down\": \"%" PRIu32 "ms\"}",
            kind == TRANSIENT_ONE ? rank : -1, factor, 16 * job->step_ms, 4 * job->step_ms);
}

/* Conditions that change in mid-run, over tens of steps. */
static void put_change(const frozen_job *job, FILE *out)
{
    uint32_t kind = level(job->index, AXIS_CHANGE, LINK_FLAP + 1);
    double part = between(job, AXIS_CHANGE, 1, 0.1, 0.5);
    if (kind == LINK_MARKOV) {
        fprintf(
            out,
            ",\n    \"bandwidth\": {\"kind\": \"markov\", \"factor\": %g, \"mean_up\": \"%" PRIu32
            "ms\", \"mean_down\": \"%" PRIu32 "ms\"}",
            part, 30 * job->step_ms, 15 * job->step_ms);
    } else if (kind == LINK_AR1) {
        fprintf(out,
                ",\n    \"bandwidth\": {\"kind\": \"ar1\", \"mean\": 0.6, \"sd\": 0.25, "
                "\"interval\": \"%" PRIu32 "ms\", \"memory\": \"%" PRIu32 "ms\"}",
                job->step_ms, 20 * job->step_ms);
    } else if (kind == LINK_ON_OFF) {
        fprintf(out,
                ",\n    \"bandwidth\": {\"kind\": \"on_off\", \"sources\": 4, \"share\": 0.2, "
                "\"mean_up\": \"%" PRIu32 "ms\", \"mean_down\": \"%" PRIu32 "ms\"}",
                10 * job->step_ms, 10 * job->step_ms);
    } else if (kind == LINK_FLAP) {
        /* One of the cards is down for a step in 20. */
        fprintf(out,
                ",\n    \"bandwidth\": {\"kind\": \"flap\", \"mean_up\": \"%" PRIu32
                "ms\", \"mean_down\": \"%" PRIu32 "ms\"}",
                20 * job->shape.nodes * job->step_ms, job->step_ms);
    }
}

static void put_noise(const frozen_job *job, FILE *out)
{
    fprintf(out,
            "  \"noise\": {\n"
            "    \"compute\": {\"kind\": \"lognormal\", \"cv\": %g},\n"
            "    \"latency\": {\"kind\": \"lognormal\", \"cv\": 0.2}",
            *LEVEL(job->index, AXIS_JITTER, jitters));
    put_straggler(job, out);
    put_change(job, out);
    fputs("\n  },\n", out);
}

void frozen_name(uint32_t index, char out[FROZEN_NAME_BYTES])
{
    GS_ASSERT(index < FROZEN_COUNT);
    snprintf(out, FROZEN_NAME_BYTES, "%s_%02" PRIu32, index < FROZEN_HALF ? "tuning" : "held_out",
             index % FROZEN_HALF);
}

char *frozen_text(uint32_t index)
{
    char name[FROZEN_NAME_BYTES];
    char *text = NULL;
    size_t length = 0;
    frozen_job job = job_of(index);
    frozen_name(index, name);
    FILE *out = gs_need(open_memstream(&text, &length));
    fprintf(out,
            "{\n  \"schema\": \"gradsync.scenario/1\",\n  \"$comment\": \"%s of the frozen "
            "benchmark\",\n  \"seed\": 1,\n",
            name);
    put_cluster(&job, out);
    put_workload(&job, out);
    put_noise(&job, out);
    fputs("  \"evaluate\": {\"seeds\": 5, \"every\": 2}\n}\n", out);
    if (fclose(out) != 0) {
        gs_need(NULL);
    }
    return gs_need(text);
}

uint64_t frozen_hash(void)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < FROZEN_COUNT; i++) {
        char name[FROZEN_NAME_BYTES];
        char *text = frozen_text(i);
        frozen_name(i, name);
        hash = gs_hash(hash, name, strlen(name) + 1);
        hash = gs_hash(hash, text, strlen(text) + 1);
        free(text);
    }
    return hash;
}
