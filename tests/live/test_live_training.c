/* What ranks announce while they really train beside their communication, over TCP: layers one by
 * one as they become final, so that buckets travel while earlier layers are still being worked out;
 * and the recording plays again to the same bytes. */
#include "live/live.h"
#include "sim/replay.h"
#include "tests/live/forked_crew.h"
#include "tests/small_job.h"

#include <stdlib.h>

enum { RANKS = 2, STEPS = 7, UNITS = 4, BATCH = 256 };

static int64_t accumulation;
static gs_number number;

static int fail(int code, const char *text)
{
    (void)fprintf(stderr, "%d: %s\n", code, text);
    return code;
}

/* Dense layers of 17, 66, 66, 66 and 3 thousand parameters: a unit of the job is
 * a quarter of the model's floats, and so is about one layer. */
static gs_status prepare(small_job *made, gs_job *job, gs_task **task, gs_error *err)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.steps = STEPS;
    config.units = UNITS;
    config.learns = true;
    small_job_init(made, &config, "bucket=tensor");
    gs_workload *workload = &made->scenario.workload;
    gs_task_config *learns = &workload->task;
    workload->batch_per_rank = BATCH;
    workload->accumulation = accumulation;
    workload->number = number;
    GS_TRY(gs_config_set_text(learns->model->config_table, learns->model_config, "hidden",
                              "256/256/256/256", err));
    gs_task_setup setup = {.data_dir = made->scenario.data_dir, .ranks = RANKS, .seed = 1};
    GS_TRY(gs_scenario_job(&made->scenario, &made->arena, job, err));
    job->seed = 1;
    return gs_task_create(learns, &setup, &made->arena, task, err);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Of worker 0: the share of each gradient's time for which its first unit was known before its
 * last, and in how many steps the other worker's numbers came before the gradient was complete. */
static int check_order(const gs_recording *recording)
{
    double shares[STEPS];
    gs_time_ns step_ns = 0, first_ns = 0, last_ns = 0;
    int steps = 0, parts_early = 0, units = 0, parts = 0;
    for (size_t i = 0; i < recording->count; i++) {
        const gs_input_record *record = &recording->records[i];
        if (record->entity.index != 0) {
            continue;
        }
        if (record->kind == GS_INPUT_STEP) {
            step_ns = record->at_ns;
            units = parts = 0;
        } else if (record->kind == GS_INPUT_UNIT) {
            if (record->sequence != (uint64_t)(UNITS - 1 - units)) {
                return fail(20, "units came in another order");
            }
            first_ns = units++ == 0 ? record->at_ns : first_ns;
            last_ns = record->at_ns;
        } else if (record->kind == GS_INPUT_PART) {
            parts++;
        } else if (record->kind == GS_INPUT_BACKWARD) {
            if (units != UNITS || steps == STEPS) {
                return fail(21, "units are missing");
            }
            shares[steps++] = (double)(last_ns - first_ns) / (double)(record->at_ns - step_ns);
            parts_early += parts > 0;
        }
    }
    if (steps != STEPS) {
        return fail(22, "steps are missing");
    }
    qsort(shares, STEPS, sizeof *shares, compare);
    /* Of a pass one third is forward, and the rest is spread over the layers; the first unit is
     * known after the last two of five, so half a pass before the last unit: of two passes a
     * quarter of their time, and machines are busy. Announced at the end, all come within four
     * turns, some microseconds of milliseconds. */
    double least = 0.2 / (double)accumulation;
    if (shares[STEPS / 2] < least) {
        (void)fprintf(stderr, "median share %.3f\n", shares[STEPS / 2]);
        return fail(23, "units came together");
    }
    return parts_early > 0 ? 0 : fail(24, "nothing came while a gradient was computed");
}

static int train(gs_crew *crew)
{
    small_job made;
    gs_job job;
    gs_task *task;
    gs_error err = {.text = ""};
    if (prepare(&made, &job, &task, &err) != GS_OK) {
        return fail(1, err.text);
    }
    gs_live_config config = gs_live_config_default();
    config.strategy = &made.choice;
    config.job = &job;
    config.task = task;
    config.batch_per_rank = BATCH;
    config.number = number;
    config.budget_steps = STEPS;
    config.transport = "tcp";
    config.crew = crew;
    config.scenario = &made.scenario;
    config.record = true;
    config.deadline_ns = 20 * GS_NS_PER_S;
    gs_live *live = gs_live_create(&config, &err);
    int code = live == NULL ? fail(1, err.text) : 0;
    if (live != NULL) {
        gs_live_result result;
        gs_live_run(live);
        gs_live_result_get(live, &result);
        code = result.status == GS_OK ? 0 : fail(2, result.error.text);
        if (code == 0 && gs_crew_self(crew) == 0) {
            gs_replay_config again = {.recording = gs_live_recording(live),
                                      .strategy = &made.choice,
                                      .job = &job,
                                      .task = task,
                                      .scenario = &made.scenario};
            gs_replay_result replayed;
            code = check_order(again.recording);
            code = gs_replay_run(&again, &replayed, &err) == GS_OK ? code : fail(3, err.text);
        }
    }
    gs_live_destroy(live);
    small_job_fini(&made);
    return code;
}

static void expect_all_well(int64_t passes, gs_number precision)
{
    int codes[FORKED_MAX];
    accumulation = passes;
    number = precision;
    forked_run(train, RANKS, 20 * GS_NS_PER_S, codes);
    for (uint32_t i = 0; i < RANKS; i++) {
        cr_expect_eq(codes[i], 0, "process %u: %d", i, codes[i]);
    }
}

TestSuite(live_training, .timeout = 60);

Test(live_training, buckets_travel_while_earlier_layers_are_computed)
{
    expect_all_well(1, GS_FP32);
}

Test(live_training, of_several_passes_the_last_one_announces)
{
    expect_all_well(2, GS_FP32);
}

Test(live_training, in_half_precision_too)
{
    expect_all_well(1, GS_BF16);
}
