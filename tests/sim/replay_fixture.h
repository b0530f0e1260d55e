/* Recordings of every strategy of the registry on threads, played again: for a few recordings of
 * each, and for many. */
#ifndef GS_TESTS_SIM_REPLAY_FIXTURE_H
#define GS_TESTS_SIM_REPLAY_FIXTURE_H

#include <criterion/criterion.h>

#include "live/live.h"
#include "sim/replay.h"
#include "strategies/codec.h"
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "traces/compose.h"

#include <string.h>

enum { REPLAY_RANKS = 4, REPLAY_SERVERS = 2, REPLAY_STEPS = 4 };

typedef struct replay_run {
    small_job made;
    gs_arena arena;
    gs_job job;
    gs_task *task;
} replay_run;

/* What gradients are coded with, and of what numbers they are: in turn. */
static const struct {
    const char *codec; /* left out where the strategy does not carry it */
    gs_number number;
    int64_t accumulation;
} replay_turns[] = {{NULL, GS_FP32, 1},
                    {NULL, GS_FP16, 1},
                    {"topk:ratio=0.05", GS_FP32, 1},
                    {NULL, GS_FP32, 2},
                    {"qsgd:bits=4", GS_FP32, 1}};
enum { REPLAY_TURNS = sizeof replay_turns / sizeof *replay_turns };

static inline bool replay_composes(replay_run *run)
{
    gs_layout layout;
    gs_error err;
    gs_composition parts = {.strategy = run->made.choice.strategy,
                            .job = &run->job,
                            .layout = &layout,
                            .coding = &run->made.choice.coding,
                            .optimizer = &run->made.scenario.workload.task.optimizer};
    return run->made.choice.strategy->layout(run->made.choice.config, &run->job, &layout, &err) ==
               GS_OK &&
           gs_compose(&parts, &err) == GS_FIT_YES;
}

/* Unit 0 is as large as three others, and first among the gradients of rank 0 instead of last:
 * buckets are others after the first step. Owner of what is new: the run. */
static inline void replay_disorder(small_job *made)
{
    uint32_t rank_count = made->profile.rank_count;
    gs_profile_rank *ranks = GS_TAKE(&made->arena, gs_profile_rank, rank_count);
    const gs_profile_step *from = &made->profile.ranks[0].steps[0];
    gs_segment *segments = GS_TAKE(&made->arena, gs_segment, from->segment_count);
    gs_profile_step *step = GS_TAKE(&made->arena, gs_profile_step, 1);
    cr_assert(ranks != NULL && segments != NULL && step != NULL);
    memcpy(ranks, made->profile.ranks, rank_count * sizeof *ranks);
    memcpy(segments, from->segments, from->segment_count * sizeof *segments);
    uint32_t first = 0, last = from->segment_count - 1;
    while (segments[first].kind != GS_SEGMENT_GRADIENT) {
        first++;
    }
    while (segments[last].kind != GS_SEGMENT_GRADIENT) {
        last--;
    }
    uint32_t unit = segments[first].index;
    segments[first].index = segments[last].index;
    segments[last].index = unit;
    gs_profile_unit *units = GS_TAKE(&made->arena, gs_profile_unit, made->profile.unit_count);
    cr_assert_not_null(units);
    memcpy(units, made->profile.units, made->profile.unit_count * sizeof *units);
    units[0].elements *= 3;
    made->profile.units = units;
    *step = *from;
    step->segments = segments;
    ranks[0].steps = step;
    made->profile.ranks = ranks;
}

static inline void replay_open(replay_run *run, const gs_strategy *strategy, const char *parameters,
                               uint32_t turn)
{
    small_job_config config = small_job_default();
    config.ranks = REPLAY_RANKS;
    config.servers = REPLAY_SERVERS;
    config.learns = true;
    config.units = 5;
    config.unit_elements = 2063;
    config.forward_ns = 30 * GS_NS_PER_US;
    config.backward_ns = 10 * GS_NS_PER_US;
    config.skew_ns = 100 * GS_NS_PER_US;
    config.steps = REPLAY_STEPS;
    small_job_init(&run->made, &config, NULL);
    replay_disorder(&run->made);
    small_job_use(&run->made, strategy, parameters);
    gs_workload *workload = &run->made.scenario.workload;
    workload->number = replay_turns[turn].number;
    workload->element_bytes = workload->number == GS_FP16 ? 2 : 4;
    workload->accumulation = replay_turns[turn].accumulation;
    if (workload->number == GS_FP16) {
        workload->task.optimizer.loss_scale = 128.0;
    }
    gs_error err;
    gs_arena_init(&run->arena);
    cr_assert_eq(gs_scenario_job(&run->made.scenario, &run->arena, &run->job, &err), GS_OK);
    gs_task_setup with = {
        .data_dir = GS_TEST_SOURCE_DIR, .ranks = run->job.ranks, .seed = run->job.seed};
    cr_assert_eq(gs_task_create(&workload->task, &with, &run->arena, &run->task, &err), GS_OK, "%s",
                 err.text);
    if (replay_turns[turn].codec != NULL) {
        small_job_code(&run->made, replay_turns[turn].codec);
        if (!replay_composes(run)) {
            small_job_code(&run->made, NULL);
        }
    }
}

static inline void replay_close(replay_run *run)
{
    gs_arena_fini(&run->arena);
    small_job_fini(&run->made);
}

/* Recording `index`: delays and ways of sending in turn, real training and durations that pass. */
static inline gs_live *replay_record(const replay_run *run, uint32_t index)
{
    const gs_workload *workload = &run->made.scenario.workload;
    gs_live_config config = gs_live_config_default();
    config.strategy = &run->made.choice;
    config.job = &run->job;
    config.task = run->task;
    config.batch_per_rank = workload->batch_per_rank;
    config.number = workload->number;
    config.budget_steps = REPLAY_STEPS;
    config.delay = (gs_delay)(index % GS_DELAY_COUNT);
    config.delay_ns = 20 * GS_NS_PER_US;
    config.rendezvous = index / GS_DELAY_COUNT % 2 == 1;
    config.delay_seed = index;
    config.deadline_ns = 60 * GS_NS_PER_S;
    config.record = true;
    config.compute = index % 3 == 2 ? GS_COMPUTE_SLEEP : GS_COMPUTE_TRAIN;
    config.scenario = &run->made.scenario;
    gs_error err;
    gs_live *live = gs_live_create(&config, &err);
    cr_assert(live != NULL, "%s", err.text);
    gs_live_run(live);
    gs_live_result result;
    gs_live_result_get(live, &result);
    cr_assert_eq(result.status, GS_OK, "%s, recording %u: %s", config.strategy->label, index,
                 result.error.text);
    return live;
}

static inline void replay_expect_same(const replay_run *run, const gs_live *live, uint32_t index)
{
    const gs_recording *recording = gs_live_recording(live);
    gs_replay_config config = {.recording = recording,
                               .strategy = &run->made.choice,
                               .job = &run->job,
                               .task = run->task,
                               .scenario = &run->made.scenario,
                               .swap_state = index % 2 == 1};
    const char *name = run->made.choice.label;
    gs_replay_result result;
    gs_error err = {.text = ""};
    cr_assert_eq(gs_replay_run(&config, &result, &err), GS_OK, "%s, recording %u: %s", name, index,
                 err.text);
    gs_live_result lived;
    gs_live_result_get(live, &lived);
    cr_expect_neq(lived.weights_hash, 0);
    cr_expect_eq(result.weights_hash, lived.weights_hash, "%s, recording %u", name, index);
    cr_expect_eq(result.records, recording->count);
    cr_expect_arr_eq(&result.staleness, &lived.staleness, sizeof lived.staleness);
}

/* So many recordings of a strategy; returns how many different models they ended with, as far as
 * those next to each other differ, of the first kind of gradients. */
static inline uint32_t replay_strategy(const gs_strategy *strategy, const char *parameters,
                                       uint32_t recordings)
{
    uint32_t differ = 0;
    uint64_t before = 0;
    for (uint32_t index = 0; index < recordings; index++) {
        uint32_t turn = index % REPLAY_TURNS;
        replay_run run;
        replay_open(&run, strategy, parameters, turn);
        gs_live *live = replay_record(&run, index);
        replay_expect_same(&run, live, index);
        gs_live_result result;
        gs_live_result_get(live, &result);
        if (turn == 0) {
            differ += before != 0 && result.weights_hash != before ? 1 : 0;
            before = result.weights_hash;
        }
        gs_live_destroy(live);
        replay_close(&run);
    }
    return differ;
}

#endif
