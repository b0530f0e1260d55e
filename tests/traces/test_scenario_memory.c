/* A scenario whose memory runs out at every possible place is refused in peace. */
#include "tests/traces/scenario_fixture.h"

TestSuite(scenario_memory, .init = scenario_setup, .fini = scenario_teardown, .timeout = 120);

static const char LAYERS[] =
    "{\"schema\":\"gradsync.layers/1\",\"name\":\"tiny\",\"times\":{\"forward\":\"1ms\"},"
    "\"tensors\":[{\"name\":\"a\",\"elements\":3,\"layer\":0}]}";

static char words[4][TEST_PATH_BYTES + 64];
static const char *word_list[] = {words[0], words[1], words[2], words[3]};

/* A scenario with a base, files, a sweep, notes and two strategies, all of them small. */
static void write_files(void)
{
    char layers[TEST_PATH_BYTES];
    char trace[TEST_PATH_BYTES];
    char base[TEST_PATH_BYTES];
    char text[2 * TEST_PATH_BYTES];
    test_temp_file(layers, LAYERS, sizeof LAYERS - 1);
    test_temp_file(trace, "time [s],factor\n0,1\n", 20);
    static const char BASE[] = "{\"noise\":{\"input\":{\"kind\":\"empirical\",\"samples\":[1,2]}},"
                               "\"workload\":{\"dtype\":\"fp16\"}}";
    test_temp_file(base, BASE, sizeof BASE - 1);
    snprintf(text, sizeof text,
             "{\"extends\":\"%s\",\"faults\":[{\"at\":\"1s\",\"kind\":\"hang\",\"rank\":1}],"
             "\"evaluate\":{\"metrics\":[\"step_p50\"]},\"gates\":[{\"metric\":\"step_p50\"}],"
             "\"strategies\":[{\"name\":\"allreduce\"},{\"name\":\"allreduce\",\"overlap\":false,"
             "\"codec\":{\"name\":\"fp16\"}}]}",
             base);
    test_temp_file(file, text, strlen(text));
    snprintf(words[0], sizeof words[0], "workload.profile=%s", layers);
    snprintf(words[1], sizeof words[1], "noise.bandwidth.trace=%s", trace);
    snprintf(words[2], sizeof words[2], "seed={\"sweep\":[1,2]}");
    snprintf(words[3], sizeof words[3], "cluster.nodes=[{\"ranks\":2}]");
    options.overrides = word_list;
    options.override_count = 4;
}

Test(scenario_memory, the_arena_may_fail_at_every_request)
{
    write_files();
    cr_assert_eq(read_file(file), GS_OK, "%s", err.text);
    uint32_t notes = scenario.note_count;
    cr_assert_gt(notes, 0u);
    for (int64_t allowed = 0;; allowed++) {
        TEST_REQUIRE(allowed < 10000, "it never succeeds");
        gs_scenario_free(&scenario);
        gs_arena_fini(&arena);
        arena.fail_after = allowed;
        gs_status status = read_file(file);
        arena.fail_after = -1;
        if (status == GS_OK && allowed > 0 && scenario.note_count == notes &&
            strstr(scenario.unsupported, "sweep") != NULL) {
            break;
        }
        /* Notes and reasons may be lost on the way; nothing else may. */
        TEST_REQUIRE(status == GS_ENOMEM || status == GS_OK, "request %lld gives %d: %s",
                     (long long)allowed, status, err.text);
    }
}

Test(scenario_memory, the_heap_may_fail_at_every_request)
{
    write_files();
    cr_assert_eq(read_file(file), GS_OK, "%s", err.text);
    uint32_t notes = scenario.note_count;
    for (int64_t allowed = 0;; allowed++) {
        TEST_REQUIRE(allowed < 100000, "it never succeeds");
        gs_scenario_free(&scenario);
        gs_arena_fini(&arena);
        test_fail_allocations(allowed);
        gs_status status = read_file(file);
        test_fail_allocations(-1);
        if (status == GS_OK && scenario.note_count == notes) {
            break;
        }
        TEST_REQUIRE(status == GS_ENOMEM || status == GS_OK, "request %lld gives %d: %s",
                     (long long)allowed, status, err.text);
    }
}
