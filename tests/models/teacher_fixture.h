/* Runs of the simulator on data teacher with a small mlp, for tests of what a strategy or a codec
 * does to learning: the accuracy that a run ends with, and how it differs from another's. */
#ifndef GS_TESTS_TEACHER_FIXTURE_H
#define GS_TESTS_TEACHER_FIXTURE_H

#include <criterion/criterion.h>

#include "models/task.h"
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <math.h>

enum { TEACHER_TENSORS = 4, TEACHER_SEEDS = 5 };

/* Of an mlp 32-64-10: the units of the job, so that a bucket is a tensor or all of them. */
static const int64_t teacher_tensors[TEACHER_TENSORS] = {32 * 64, 64, 64 * 10, 10};

static const gs_unit_shape teacher_shapes[TEACHER_TENSORS] = {{64, 32}, {1, 64}, {10, 64}, {1, 10}};

typedef struct teacher {
    gs_arena arena;
    gs_task_config learning;
    gs_dataset dataset;
} teacher;

typedef struct teacher_run {
    const char *strategy, *parameters; /* parameters NULL: its defaults */
    const char *codec;                 /* NULL: none */
    uint32_t ranks;
    int64_t batch, steps;
    double rate, momentum; /* sgd */
    double drop_at;        /* from this share of the steps on a tenth of the rate; 0: never */
    int shards;            /* gs_shard_kind */
    gs_noise_law noise;    /* of compute times */
} teacher_run;

typedef struct teacher_outcome {
    gs_sim_result result;
    double accuracy; /* 0 where it diverged */
    double loss;
} teacher_outcome;

static inline void teacher_say(const gs_field_table *table, void *config, const char *key,
                               const char *value)
{
    gs_error err;
    cr_assert_eq(gs_config_set_text(table, config, key, value, &err), GS_OK, "%s", err.text);
}

static inline void teacher_init(teacher *t)
{
    gs_error err;
    gs_arena_init(&t->arena);
    t->learning = gs_task_config_default();
    gs_task_config *learning = &t->learning;
    learning->model = gs_model_find("mlp");
    gs_config_defaults(learning->model->config_table, learning->model_config);
    teacher_say(learning->model->config_table, learning->model_config, "hidden", "64");
    learning->data.source = gs_data_source_find("teacher");
    gs_config_defaults(learning->data.source->config_table, learning->data.source_config);
    cr_assert_eq(gs_data_load(&learning->data, "", &t->arena, &t->dataset, &err), GS_OK, "%s",
                 err.text);
}

static inline void teacher_fini(teacher *t)
{
    gs_arena_fini(&t->arena);
}

static inline void teacher_evaluate(const teacher *t, const teacher_run *run,
                                    const gs_task_config *learning, const float *weights,
                                    teacher_outcome *out)
{
    gs_arena own;
    gs_error err;
    gs_task *task;
    gs_task_workspace *workspace;
    gs_arena_init(&own);
    gs_task_setup with = {.data_dir = "", .dataset = &t->dataset, .ranks = run->ranks, .seed = 1};
    cr_assert_eq(gs_task_create(learning, &with, &own, &task, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_task_workspace_create(task, run->batch, &own, &workspace, &err), GS_OK);
    if (gs_task_evaluate(workspace, weights, &out->loss, &out->accuracy, &err) != GS_OK) {
        out->accuracy = 0.0;
    }
    gs_arena_fini(&own);
}

static inline void teacher_job(const teacher *t, const teacher_run *run, small_job *job)
{
    int64_t samples = run->steps * run->ranks * run->batch;
    small_job_config config = small_job_default();
    config.ranks = run->ranks;
    config.servers = 1;
    config.units = TEACHER_TENSORS;
    config.learns = true;
    config.forward_ns = GS_NS_PER_MS;
    config.backward_ns = GS_NS_PER_MS / TEACHER_TENSORS;
    config.steps = run->steps;
    small_job_init(job, &config, NULL);
    gs_profile_unit *units = GS_TAKE(&job->arena, gs_profile_unit, TEACHER_TENSORS);
    cr_assert_not_null(units);
    for (int i = 0; i < TEACHER_TENSORS; i++) {
        units[i] = (gs_profile_unit){
            .name = "tensor", .elements = teacher_tensors[i], .shape = teacher_shapes[i]};
    }
    job->profile.units = units;
    small_job_use(job, gs_strategy_find(run->strategy), run->parameters);
    gs_workload *workload = &job->scenario.workload;
    workload->task = t->learning;
    workload->dataset = &t->dataset;
    workload->batch_per_rank = run->batch;
    workload->task.data.shards.kind = run->shards;
    workload->task.optimizer.rate = run->rate;
    workload->task.optimizer.momentum = run->momentum;
    if (run->drop_at > 0.0) {
        workload->task.optimizer.schedule = (gs_schedule){
            .kind = GS_SCHEDULE_STEP,
            .drops = {.count = 1, .values = {(int64_t)((double)samples * run->drop_at)}},
            .drop_factor = 0.1,
            .budget_samples = samples};
    }
    job->scenario.noise.compute = run->noise;
    small_job_code(job, run->codec);
}

static inline teacher_outcome teacher_outcome_of(const teacher *t, const teacher_run *run,
                                                 uint64_t seed)
{
    small_job job;
    gs_error err = {.text = ""};
    teacher_outcome out = {.accuracy = 0.0};
    teacher_job(t, run, &job);
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = seed}, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, &out.result);
    if (out.result.status == GS_OK) {
        size_t count;
        const float *weights = gs_sim_weights(sim, 0, &count);
        teacher_evaluate(t, run, &job.scenario.workload.task, weights, &out);
    } else {
        cr_assert_eq(out.result.status, GS_EDIVERGED, "%s", out.result.error.text);
    }
    gs_sim_destroy(sim);
    small_job_fini(&job);
    return out;
}

typedef struct teacher_sample {
    double values[TEACHER_SEEDS]; /* by seed */
    double mean, spread;          /* standard deviation over seeds */
} teacher_sample;

static inline void teacher_summarise(teacher_sample *sample)
{
    double sum = 0.0;
    double squares = 0.0;
    for (int i = 0; i < TEACHER_SEEDS; i++) {
        sum += sample->values[i];
    }
    sample->mean = sum / TEACHER_SEEDS;
    for (int i = 0; i < TEACHER_SEEDS; i++) {
        squares += pow(sample->values[i] - sample->mean, 2.0);
    }
    sample->spread = sqrt(squares / (TEACHER_SEEDS - 1));
}

/* Accuracies of seeds 1 to 5. All runs of a seed start from the same weights and draw the same
 * samples: differences are between pairs. */
static inline teacher_sample teacher_accuracies(const teacher *t, const teacher_run *run)
{
    teacher_sample sample;
    for (int i = 0; i < TEACHER_SEEDS; i++) {
        sample.values[i] = teacher_outcome_of(t, run, (uint64_t)i + 1).accuracy;
    }
    teacher_summarise(&sample);
    cr_log_info("%s:%s+%s ranks %u rate %g momentum %g: %.4f, spread %.4f", run->strategy,
                run->parameters == NULL ? "" : run->parameters,
                run->codec == NULL ? "none" : run->codec, run->ranks, run->rate, run->momentum,
                sample.mean, sample.spread);
    return sample;
}

/* a - b by seed. */
static inline teacher_sample teacher_gap(const teacher_sample *a, const teacher_sample *b)
{
    teacher_sample gap;
    for (int i = 0; i < TEACHER_SEEDS; i++) {
        gap.values[i] = a->values[i] - b->values[i];
    }
    teacher_summarise(&gap);
    return gap;
}

/* The mean of a - b is at least `least`, and every pair goes the same way. */
static inline void teacher_expect_better(const teacher_sample *a, const teacher_sample *b,
                                         double least, const char *what)
{
    teacher_sample gap = teacher_gap(a, b);
    cr_expect_geq(gap.mean, least, "%s: %.4f, spread %.4f", what, gap.mean, gap.spread);
    for (int i = 0; i < TEACHER_SEEDS; i++) {
        cr_expect_gt(gap.values[i], 0.0, "%s, seed %d: %.4f", what, i + 1, gap.values[i]);
    }
}

/* The mean of a - b is at most `most` from 0. */
static inline void teacher_expect_equal(const teacher_sample *a, const teacher_sample *b,
                                        double most, const char *what)
{
    teacher_sample gap = teacher_gap(a, b);
    cr_expect_leq(fabs(gap.mean), most, "%s: %.4f, spread %.4f", what, gap.mean, gap.spread);
}

#endif
