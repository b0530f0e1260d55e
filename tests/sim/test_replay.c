#include <criterion/criterion.h>

#include "live/live.h"
#include "sim/replay.h"
#include "strategies/registry.h"
#include "tests/strategies/probes.h"
#include "tests/support.h"

#include <string.h>

enum { RANKS = 3, STEPS = 4, KINDS = 9, RUNS = 160 };

static probe_job made;

static void setup(void)
{
    probe_job_init(&made, RANKS);
}

static void teardown(void)
{
    probe_job_fini(&made);
}

TestSuite(replay, .init = setup, .fini = teardown, .timeout = 200);

static const gs_strategy *strategy_at(int index)
{
    const gs_strategy *const strategies[KINDS] = {gs_strategy_find("allreduce"),
                                                  &probe_two_stage,
                                                  &probe_push_sum,
                                                  &probe_pair,
                                                  &probe_asp,
                                                  gs_strategy_find("horovod"),
                                                  gs_strategy_find("cross_barrier"),
                                                  gs_strategy_find("k_batch_sync"),
                                                  &probe_signals};
    return strategies[index % KINDS];
}

/* Run `index` of the threaded host: strategies, delays and ways of sending in turn. */
static gs_live *record(int index)
{
    gs_live_config config = gs_live_config_default();
    config.strategy = probe_choose(&made, strategy_at(index));
    config.job = &made.job;
    config.task = made.task;
    config.batch_per_rank = PROBE_BATCH;
    config.budget_steps = STEPS;
    config.delay = (gs_delay)(index / KINDS % GS_DELAY_COUNT);
    config.delay_ns = 20000;
    config.number = index % 2 == 1 ? GS_BF16 : GS_FP32;
    config.rendezvous = index / (KINDS * GS_DELAY_COUNT) % 2 == 1;
    config.delay_seed = (uint64_t)index;
    config.record = true;
    gs_error err;
    gs_live *live = gs_live_create(&config, &err);
    cr_assert(live != NULL, "%s", err.text);
    gs_live_run(live);
    gs_live_result result;
    gs_live_result_get(live, &result);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    return live;
}

static gs_status play(const gs_recording *recording, int index, gs_replay_result *out,
                      gs_error *err)
{
    gs_replay_config config = {.recording = recording,
                               .strategy = probe_choose(&made, strategy_at(index)),
                               .job = &made.job,
                               .task = made.task,
                               .swap_state = index % 2 == 1};
    return gs_replay_run(&config, out, err);
}

/* A recording that a test may change. */
static gs_recording copy_of(const gs_recording *recording)
{
    gs_recording copy;
    gs_error err;
    cr_assert_eq(gs_recording_init(&copy, &recording->about, &err), GS_OK);
    cr_assert_eq(
        gs_recording_set_units(&copy, recording->unit_elements, recording->about.units, &err),
        GS_OK);
    for (size_t i = 0; i < recording->count; i++) {
        gs_input_record record = recording->records[i];
        cr_assert_eq(gs_recording_add(&copy, &record), GS_OK);
    }
    return copy;
}

/* Gradients of which a unit was ready and that never ended. */
static int cancelled_in(const gs_recording *recording)
{
    bool computing[RANKS] = {false};
    int found = 0;
    for (size_t i = 0; i < recording->count; i++) {
        const gs_input_record *record = &recording->records[i];
        if (record->entity.role == GS_WORKER) {
            bool *of = &computing[record->entity.index];
            found += record->kind == GS_INPUT_STEP && *of ? 1 : 0;
            *of = record->kind == GS_INPUT_UNIT ||
                  (*of && record->kind != GS_INPUT_BACKWARD && record->kind != GS_INPUT_STEP);
        }
    }
    return found;
}

Test(replay, threaded_runs_replay_to_the_same_bytes)
{
    int cancelled = 0;
    for (int index = 0; index < RUNS; index++) {
        gs_live *live = record(index);
        const gs_recording *recording = gs_live_recording(live);
        gs_replay_result result;
        gs_error err;
        cr_assert_eq(play(recording, index, &result, &err), GS_OK, "run %d: %s", index, err.text);
        cr_expect_eq(result.weights_hash, recording->about.weights_hash);
        cr_expect_eq(result.records, recording->count);
        cr_expect_neq(result.weights_hash, 0);
        gs_live_result lived;
        gs_live_result_get(live, &lived);
        cr_expect_gt(lived.staleness.count, 0);
        cr_expect_arr_eq(&result.staleness, &lived.staleness, sizeof lived.staleness);
        cancelled += cancelled_in(recording);
        gs_live_destroy(live);
    }
    cr_expect_gt(cancelled, 0);
}

static bool is_arrival(const gs_input_record *record)
{
    return record->kind == GS_INPUT_PART || record->kind == GS_INPUT_MESSAGE ||
           record->kind == GS_INPUT_NOTE;
}

/* The next arrival of the same entity after `first`, or count. */
static size_t next_arrival(const gs_recording *recording, size_t first)
{
    const gs_input_record *records = recording->records;
    for (size_t i = first + 1; i < recording->count; i++) {
        if (is_arrival(&records[i]) &&
            memcmp(&records[i].entity, &records[first].entity, sizeof(gs_peer)) == 0) {
            return i;
        }
    }
    return recording->count;
}

/* What came is exchanged; times stay where they are, so that they still ascend. */
static void swap(gs_recording *recording, size_t a, size_t b)
{
    gs_input_record was = recording->records[a];
    gs_input_record is = recording->records[b];
    recording->records[a] = is;
    recording->records[a].at_ns = was.at_ns;
    recording->records[b] = was;
    recording->records[b].at_ns = is.at_ns;
}

Test(replay, a_swapped_pair_of_arrivals_is_always_detected)
{
    int tries = 0;
    for (int index = 0; index < 2 * KINDS; index++) {
        gs_live *live = record(index);
        const gs_recording *recording = gs_live_recording(live);
        for (size_t i = 0; i < recording->count; i += 7) {
            size_t other = next_arrival(recording, i);
            if (!is_arrival(&recording->records[i]) || other == recording->count) {
                continue;
            }
            gs_recording changed = copy_of(recording);
            swap(&changed, i, other);
            gs_replay_result result;
            gs_error err = {.code = GS_OK};
            cr_expect_eq(play(&changed, index, &result, &err), GS_EMISMATCH,
                         "%s: swap of records %zu and %zu was not seen", strategy_at(index)->name,
                         i, other);
            cr_expect_leq(result.records, other + 1, "seen late: %s", err.text);
            gs_recording_fini(&changed);
            tries++;
        }
        gs_live_destroy(live);
    }
    cr_expect_gt(tries, 50);
}

/* Writes the checks anew, as somebody who edits a recording on purpose would. */
static void forge(gs_recording *recording)
{
    uint32_t checks[RANKS + 1] = {0};
    for (size_t i = 0; i < recording->count; i++) {
        gs_input_record *record = &recording->records[i];
        uint32_t *check = &checks[gs_recording_entity(&recording->about, record->entity)];
        record->check = *check = gs_recording_check(*check, record);
    }
}

/* Two gradients that reach the server in the other order give other weights (momentum and
 * rounding), or their answers come where nobody waits for them: also without the checks. */
Test(replay, a_swap_is_seen_by_what_it_causes_too)
{
    int tries = 0;
    gs_live *live = record(4); /* the server */
    const gs_recording *recording = gs_live_recording(live);
    for (size_t i = 0; i < recording->count; i++) {
        const gs_input_record *record = &recording->records[i];
        size_t other = next_arrival(recording, i);
        if (record->kind != GS_INPUT_MESSAGE || record->entity.role != GS_SERVER ||
            other == recording->count || recording->records[other].kind != GS_INPUT_MESSAGE) {
            continue;
        }
        gs_recording changed = copy_of(recording);
        swap(&changed, i, other);
        forge(&changed);
        gs_replay_result result;
        gs_error err;
        cr_expect_eq(play(&changed, 4, &result, &err), GS_EMISMATCH, "record %zu", i);
        gs_recording_fini(&changed);
        tries++;
    }
    cr_expect_gt(tries, 5);
    gs_live_destroy(live);
}

/* Index of the first record of that kind. */
static size_t first_of(const gs_recording *recording, gs_input_kind kind)
{
    size_t i = 0;
    while (i < recording->count && recording->records[i].kind != kind) {
        i++;
    }
    cr_assert_lt(i, recording->count);
    return i;
}

static void expect_status(gs_recording *changed, int index, gs_status wanted, const char *text)
{
    gs_replay_result result;
    gs_error err = {.code = GS_OK};
    forge(changed);
    cr_expect_eq(play(changed, index, &result, &err), wanted);
    cr_expect(strstr(err.text, text) != NULL, "'%s' is not in '%s'", text, err.text);
}

static void expect_refused(gs_recording *changed, int index, const char *text)
{
    expect_status(changed, index, GS_EMISMATCH, text);
}

Test(replay, an_input_that_cannot_have_happened_is_named)
{
    gs_live *live = record(2);
    const gs_recording *recording = gs_live_recording(live);

    gs_recording changed = copy_of(recording);
    changed.records[first_of(&changed, GS_INPUT_MESSAGE)].sequence = 1000;
    expect_refused(&changed, 2, "comes next on that channel");
    gs_recording_fini(&changed);

    changed = copy_of(recording);
    changed.records[first_of(&changed, GS_INPUT_SENT)].sequence = 1000;
    expect_refused(&changed, 2, "it has no such request outstanding");
    gs_recording_fini(&changed);

    changed = copy_of(recording);
    changed.records[first_of(&changed, GS_INPUT_UNIT)].kind = GS_INPUT_BACKWARD;
    expect_refused(&changed, 2, "its gradient is not complete");
    gs_recording_fini(&changed);

    changed = copy_of(recording);
    changed.records[first_of(&changed, GS_INPUT_BACKWARD)].sequence++;
    expect_refused(&changed, 2, "its gradient is of another number of passes");
    gs_recording_fini(&changed);

    changed = copy_of(recording);
    changed.records[first_of(&changed, GS_INPUT_UNIT)].kind = GS_INPUT_STEP;
    expect_refused(&changed, 2, "it did not ask for a step");
    gs_recording_fini(&changed);

    changed = copy_of(recording);
    changed.count /= 2;
    expect_refused(&changed, 2, "has drained");
    gs_recording_fini(&changed);

    changed = copy_of(recording);
    changed.about.weights_hash ^= 1;
    expect_refused(&changed, 2, "the weights differ");
    gs_recording_fini(&changed);
    gs_live_destroy(live);
}

Test(replay, another_job_or_strategy_is_refused)
{
    gs_live *live = record(2);
    gs_recording changed = copy_of(gs_live_recording(live));
    expect_status(&changed, 3, GS_EINVAL, "the recording is of probe_push_sum, not of probe_pair");
    changed.about.seed++;
    expect_status(&changed, 2, GS_EINVAL, "another job: seed 8, and this one has 7");
    changed.about.seed--;
    changed.unit_elements[0]++;
    expect_status(&changed, 2, GS_EINVAL, "elements of unit 0");
    gs_recording_fini(&changed);
    gs_live_destroy(live);
}

Test(replay, a_recording_replays_from_its_file)
{
    char path[TEST_PATH_BYTES];
    gs_live *live = record(3);
    gs_recording read;
    gs_replay_result result;
    gs_error err;
    test_temp_path(path);
    cr_assert_eq(gs_recording_write(gs_live_recording(live), path, &err), GS_OK, "%s", err.text);
    cr_assert_eq(gs_recording_read(path, &read, &err), GS_OK, "%s", err.text);
    cr_expect_eq(play(&read, 3, &result, &err), GS_OK, "%s", err.text);
    gs_recording_fini(&read);
    gs_live_destroy(live);
}
