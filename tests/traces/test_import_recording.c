#include <criterion/criterion.h>

#include "base/json.h"
#include "tests/traces/scenario_fixture.h"
#include "traces/importers/importer.h"
#include "traces/importers/profile_json.h"
#include "traces/recording.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 2, UNITS = 2 };

static gs_recording made;
static gs_imported imported;
static char path[TEST_PATH_BYTES];

static void add(uint16_t rank, gs_input_kind kind, int64_t at_ns, uint64_t sequence)
{
    gs_input_record record = {
        .at_ns = at_ns, .sequence = sequence, .entity = {GS_WORKER, rank}, .kind = (uint8_t)kind};
    cr_assert_eq(gs_recording_add(&made, &record), GS_OK);
}

static void setup(void)
{
    static const int64_t elements[UNITS] = {300, 50};
    gs_recording_about about = {.strategy = "asp",
                                .seed = 1,
                                .elements = 350,
                                .batch_per_rank = 16,
                                .budget_steps = 2,
                                .ranks = RANKS,
                                .servers = 3,
                                .number = GS_BF16};
    scenario_setup();
    cr_assert_eq(gs_recording_init(&made, &about, &err), GS_OK);
    cr_assert_eq(gs_recording_set_units(&made, elements, UNITS, &err), GS_OK);
}

static void teardown(void)
{
    gs_recording_fini(&made);
    scenario_teardown();
}

TestSuite(import_recording, .init = setup, .fini = teardown);

/* A step of one pass: 3 us until unit 1 is ready, 2 us until unit 0, 1 us more. */
static void add_step(uint16_t rank, int64_t at_ns)
{
    add(rank, GS_INPUT_STEP, at_ns, 0);
    add(rank, GS_INPUT_UNIT, at_ns + 3000, 1);
    add(rank, GS_INPUT_UNIT, at_ns + 5000, 0);
    add(rank, GS_INPUT_BACKWARD, at_ns + 6000, 1);
}

static gs_status import_made(void)
{
    const char *name = path;
    test_temp_path(path);
    cr_assert_eq(gs_recording_write(&made, path, &err), GS_OK, "%s", err.text);
    return gs_import(&name, 1, NULL, &arena, &imported, &err);
}

static void expect_segments(const gs_profile_step *step, gs_time_ns forward_ns)
{
    const gs_segment wanted[] = {{GS_SEGMENT_FORWARD, 0, forward_ns},
                                 {GS_SEGMENT_GRADIENT, 1, 0},
                                 {GS_SEGMENT_BACKWARD, 0, 2000},
                                 {GS_SEGMENT_GRADIENT, 0, 0},
                                 {GS_SEGMENT_BACKWARD, 0, 1000}};
    cr_assert_eq(step->segment_count, 5);
    for (size_t i = 0; i < 5; i++) {
        cr_expect_eq(step->segments[i].kind, wanted[i].kind);
        cr_expect_eq(step->segments[i].index, wanted[i].index);
        cr_expect_eq(step->segments[i].duration_ns, wanted[i].duration_ns);
    }
}

Test(import_recording, every_rank_has_its_own_steps)
{
    gs_input_record of_server = {.at_ns = 10, .entity = {GS_SERVER, 2}, .kind = GS_INPUT_START};
    cr_assert_eq(gs_recording_add(&made, &of_server), GS_OK);
    add_step(0, 1000);
    add_step(0, 20000);
    add_step(1, 30000);
    cr_assert_eq(import_made(), GS_OK, "%s", err.text);
    const gs_profile *profile = imported.profile;
    cr_expect_str_eq(imported.format, "recording");
    cr_expect_str_eq(profile->source, "recording of asp on 2 ranks");
    cr_expect_eq(profile->world_size, RANKS);
    cr_expect_eq(profile->element_bytes, 2);
    cr_expect_eq(profile->batch, 16);
    cr_expect(profile->is_of_run);
    cr_assert_eq(profile->unit_count, UNITS);
    cr_expect_eq(profile->units[0].elements, 300);
    cr_expect_eq(profile->units[1].elements, 50);
    cr_assert_eq(profile->rank_count, RANKS);
    cr_assert_eq(profile->ranks[0].step_count, 2);
    cr_assert_eq(profile->ranks[1].step_count, 1);
    expect_segments(&profile->ranks[0].steps[1], 3000);
    expect_segments(&profile->ranks[1].steps[0], 3000);
    cr_expect_str_eq(profile->run_of, "asp");
    /* Rank 0 asked at 1000 and at 20000 ns, and its first pass took 3 + 2 + 1 us; nobody knows when
     * its last step ended, nor when rank 1's only one did. */
    cr_expect_eq(profile->ranks[0].steps[0].measured_ns, 19000);
    cr_expect_eq(profile->ranks[0].steps[0].measured_compute_ns, 6000);
    cr_expect_eq(profile->ranks[0].steps[0].measured_wait_ns, 13000);
    cr_expect_eq(profile->ranks[0].steps[1].measured_ns, 0);
    cr_expect_eq(profile->ranks[1].steps[0].measured_ns, 0);
    cr_expect_eq(profile->note_count, 0);
}

/* Three passes of 6 us each: the last one begins 12 us after the step. */
Test(import_recording, a_step_of_several_passes_is_one_of_them)
{
    add(0, GS_INPUT_STEP, 1000, 0);
    add(0, GS_INPUT_UNIT, 1000 + 15000, 1);
    add(0, GS_INPUT_UNIT, 1000 + 17000, 0);
    add(0, GS_INPUT_BACKWARD, 1000 + 18000, 3);
    add_step(1, 30000);
    cr_assert_eq(import_made(), GS_OK, "%s", err.text);
    expect_segments(&imported.profile->ranks[0].steps[0], 3000);
}

/* Asked again where the pass ended, at 7000 and 12000, when nothing of the step had come: the next
 * step is the one asked for at 20000, so the first took 20000 - 1000 ns, 6000 of them computing. */
Test(import_recording, a_step_lasts_until_the_next_one_that_computes)
{
    add_step(0, 1000);
    add(0, GS_INPUT_STEP, 7001, 0);
    add(0, GS_INPUT_STEP, 12000, 0);
    add_step(0, 20000);
    add(0, GS_INPUT_STEP, 26001, 0);
    add_step(1, 30000);
    cr_assert_eq(import_made(), GS_OK, "%s", err.text);
    cr_assert_eq(imported.profile->ranks[0].step_count, 2);
    cr_expect_eq(imported.profile->ranks[0].steps[0].measured_ns, 19000);
    cr_expect_eq(imported.profile->ranks[0].steps[0].measured_compute_ns, 6000);
    cr_expect_eq(imported.profile->ranks[0].steps[0].measured_wait_ns, 13000);
    cr_expect_eq(imported.profile->ranks[0].steps[1].measured_ns, 0);
    cr_expect_eq(imported.note_count, 0);
}

static void expect_optimizer(const char *origin, bool wanted)
{
    cr_assert_eq(gs_recording_set_origin(&made, origin, &err), GS_OK);
    cr_assert_eq(import_made(), GS_OK, "%s", err.text);
    const gs_profile_step *step = &imported.profile->ranks[0].steps[0];
    const gs_segment *last = &step->segments[step->segment_count - 1];
    cr_expect_eq(last->kind == GS_SEGMENT_OPTIMIZER, wanted, "%s", origin);
    cr_expect_eq(last->duration_ns, wanted ? 0 : 1000);
}

/* A profile's optimizer that takes no time is none; one without an optimizer has it counted by its
 * bytes. The last segment of add_step's is 1 us of the backward pass. */
Test(import_recording, the_optimizer_of_replayed_durations_is_in_them)
{
    add_step(0, 1000);
    add_step(1, 30000);
    expect_optimizer("{\"scenario\": {\"live\": {\"compute\": \"replay\"}}}", true);
    expect_optimizer("{\"scenario\": {\"live\": {\"compute\": \"train\"}}}", false);
    expect_optimizer("{\"strategy\": \"asp\"}", false);
}

Test(import_recording, cancelled_gradients_are_left_out_and_told)
{
    add(0, GS_INPUT_STEP, 1000, 0);
    add(0, GS_INPUT_UNIT, 9000, 1);
    add_step(0, 20000);
    add(0, GS_INPUT_STEP, 40000, 0); /* the strategy did not go */
    add_step(0, 50000);
    add_step(1, 70000);
    cr_assert_eq(import_made(), GS_OK, "%s", err.text);
    cr_assert_eq(imported.profile->ranks[0].step_count, 2);
    expect_segments(&imported.profile->ranks[0].steps[0], 3000);
    cr_assert_eq(imported.note_count, 1);
    cr_expect_str_eq(imported.notes[0], "rank 0: 1 steps whose gradient was cancelled are left "
                                        "out, which are the long ones");
}

static void expect_no_import(gs_status wanted, const char *text)
{
    cr_expect_eq(import_made(), wanted);
    cr_expect(strstr(err.text, text) != NULL, "'%s' is not in '%s'", text, err.text);
}

Test(import_recording, a_rank_without_a_step_is_named)
{
    add_step(0, 1000);
    expect_no_import(GS_EPARSE, "rank 1 has ended no step");
}

Test(import_recording, a_unit_that_is_ready_twice_is_named)
{
    add(0, GS_INPUT_STEP, 1000, 0);
    add(0, GS_INPUT_UNIT, 2000, 1);
    add(0, GS_INPUT_UNIT, 3000, 1);
    add(0, GS_INPUT_BACKWARD, 4000, 1);
    add_step(1, 5000);
    expect_no_import(GS_EPARSE, "record 2: rank 0 has no such unit to be ready with");
}

Test(import_recording, an_end_without_all_units_is_named)
{
    add(0, GS_INPUT_STEP, 1000, 0);
    add(0, GS_INPUT_UNIT, 2000, 1);
    add(0, GS_INPUT_BACKWARD, 4000, 1);
    add_step(1, 5000);
    expect_no_import(GS_EPARSE, "record 2: rank 0 ends a step that is not complete");
}

Test(import_recording, steps_that_wait_for_the_network_are_refused)
{
    add_step(0, 1000);
    add_step(1, 20000);
    made.about.gated = 1;
    expect_no_import(GS_EINVAL, "forward passes of asp wait for what it sends");
}

Test(import_recording, two_files_are_refused)
{
    add_step(0, 1000);
    add_step(1, 20000);
    cr_assert_eq(import_made(), GS_OK);
    const char *twice[] = {path, path};
    cr_expect_eq(gs_import(twice, 2, NULL, &arena, &imported, &err), GS_EMISMATCH);
    cr_expect(strstr(err.text, "name one file") != NULL, "%s", err.text);
}

static char *json_of(void)
{
    gs_json *object = gs_json_new_object();
    cr_assert_eq(gs_trace_import_json(&imported, object), GS_OK);
    char *text = gs_json_write(object, false);
    gs_json_free(object);
    cr_assert_not_null(text);
    return text;
}

Test(import_recording, its_profile_comes_back_from_our_own_form)
{
    char copy[TEST_PATH_BYTES];
    const char *name = copy;
    add_step(0, 1000);
    add_step(1, 20000);
    cr_assert_eq(import_made(), GS_OK);
    char *first = json_of();
    test_temp_file(copy, first, strlen(first));
    cr_assert_eq(gs_import(&name, 1, NULL, &arena, &imported, &err), GS_OK, "%s", err.text);
    cr_expect(imported.profile->is_of_run);
    char *second = json_of();
    cr_expect_str_eq(strstr(first, "\"profile\":"), strstr(second, "\"profile\":"));
    cr_expect_eq(imported.profile->ranks[1].steps[0].segments[0].duration_ns, 3000);
    free(first);
    free(second);
}

/* What made ranks slow is in the durations; the noise of messages is not. */
Test(import_recording, a_scenario_does_not_apply_noise_of_computing_again)
{
    char word[TEST_PATH_BYTES + 32];
    add_step(0, 1000);
    add_step(1, 20000);
    cr_assert_eq(import_made(), GS_OK);
    (void)snprintf(word, sizeof word, "workload.profile=%s", path);
    gs_status status = READ_DEMO(word, "noise.compute.kind=lognormal", "noise.compute.cv=0.1",
                                 "noise.straggler.kind=persistent", "noise.straggler.rank=1",
                                 "noise.straggler.factor=3", "noise.latency.kind=lognormal",
                                 "noise.latency.cv=0.1", "workload.input.time=2ms",
                                 "cluster.nodes[0].compute_scale=2");
    cr_assert_eq(status, GS_OK, "%s", err.text);
    cr_expect_eq(scenario.noise.compute.law, GS_LAW_NONE);
    cr_expect_eq(scenario.noise.straggler.kind, GS_STRAGGLER_NONE);
    cr_expect_eq(scenario.noise.latency.law, GS_LAW_LOGNORMAL);
    cr_expect_eq(scenario.workload.input.time_ns, 0);
    cr_expect_float_eq(scenario.cluster.groups[0].compute_scale, 1.0, 0.0);
    uint32_t told = 0;
    for (uint32_t i = 0; i < scenario.note_count; i++) {
        cr_expect(strstr(scenario.notes[i], "no effect") == NULL ||
                      strstr(scenario.notes[i], "noise") == NULL,
                  "%s", scenario.notes[i]);
        told += strstr(scenario.notes[i], "the scenario's are left out") != NULL ? 1 : 0;
    }
    cr_expect_eq(told, 1);
}
