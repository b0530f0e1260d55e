/* Scenarios that carry what was measured: rates of codecs, and where values come from. */
#include "tests/traces/scenario_fixture.h"

#include <stdlib.h>

#define CODECS(list) "cluster.codecs=[" list "]"
#define TOPK                                                                                       \
    "strategies=[{\"name\": \"allreduce\", \"codec\": {\"name\": \"topk\", \"ratio\": 0.1}}]"
#define VECTOR       "cluster.nodes.0.vector_bandwidth=400Gbit/s"
#define ENTRY(name)  "{\"name\": \"" name "\", \"encode\": \"8Gbit/s\", \"decode\": \"16Gbit/s\"}"
#define SLOWER(name) "{\"name\": \"" name "\", \"encode\": \"4Gbit/s\", \"decode\": \"4Gbit/s\"}"

TestSuite(scenario_calibration, .init = scenario_setup, .fini = scenario_teardown);

/* 8 Gbit/s are 0.25 G elements of 32 bits a second, in which memory of 400 Gbit/s moves 50 GB: 200
 * bytes an element. */
Test(scenario_calibration, rates_of_codecs_become_traffic_at_the_rate_of_the_memory)
{
    cr_assert_eq(READ_DEMO(TOPK, VECTOR, CODECS(ENTRY("topk"))), GS_OK, "%s", err.text);
    const gs_coding *coding = &scenario.strategies[0].coding;
    cr_expect_float_eq(coding->measured_encode_bytes, 200.0, 1e-9);
    cr_expect_float_eq(coding->measured_decode_bytes, 100.0, 1e-9);
    cr_expect_float_eq(gs_coding_encode_work(coding, 1, true).bytes, 200.0, 1e-9);
    cr_expect_float_eq(gs_coding_decode_work(coding, 1).bytes, 100.0, 1e-9);
    cr_expect_eq(gs_coding_encode_work(coding, 1, true).least_ns, 0); /* its kernels are in it */
    cr_expect_not(gs_coding_is_assumed(coding));
    /* All members' payloads are decoded in the end. */
    gs_coded_slice slice = {.elements = 1000};
    gs_coding_plan plan = gs_coding_plan_of(coding, &slice, 4, 0);
    cr_expect_float_eq(gs_coding_work_of(coding, &plan, 4, 1000, 0).bytes, 200e3, 1e-6);
    cr_expect_float_eq(gs_coding_work_of(coding, &plan, 4, 1000, plan.stage_count).bytes, 400e3,
                       1e-6);
}

Test(scenario_calibration, without_a_measurement_the_codec_says_what_it_costs)
{
    cr_assert_eq(READ_DEMO(TOPK, CODECS(ENTRY("fp16"))), GS_OK, "%s", err.text);
    const gs_coding *coding = &scenario.strategies[0].coding;
    cr_expect_float_eq(coding->measured_encode_bytes, 0.0, 0.0);
    cr_expect(gs_coding_is_assumed(coding));
    cr_expect_float_eq(gs_coding_encode_work(coding, 1, true).bytes,
                       coding->codec->encode_bytes + GS_FEEDBACK_BYTES, 1e-9);
    cr_expect_float_eq(gs_coding_encode_work(coding, 1, false).bytes, coding->codec->encode_bytes,
                       1e-9);
    /* Each of its kernels takes 10 us to start, as do the two of error feedback; not so on a
     * processor. */
    uint32_t kernels = coding->codec->encode_kernels;
    cr_expect_eq(gs_coding_encode_work(coding, 1, false).least_ns, 10000 * kernels);
    cr_expect_eq(gs_coding_encode_work(coding, 1, true).least_ns, 10000 * (kernels + 2));
    cr_assert_eq(READ_DEMO(TOPK, "cluster.nodes.0.device=CPU"), GS_OK, "%s", err.text);
    cr_expect_eq(gs_coding_encode_work(&scenario.strategies[0].coding, 1, true).least_ns, 0);
}

Test(scenario_calibration, a_measurement_with_parameters_is_of_these_only)
{
    cr_assert_eq(READ_DEMO(TOPK, VECTOR, CODECS(SLOWER("topk") ", " ENTRY("topk:ratio=10%"))),
                 GS_OK, "%s", err.text);
    cr_expect_float_eq(scenario.strategies[0].coding.measured_encode_bytes, 200.0, 1e-9);
    cr_assert_eq(READ_DEMO(TOPK, VECTOR, CODECS(SLOWER("topk") ", " ENTRY("topk:ratio=5%"))), GS_OK,
                 "%s", err.text);
    cr_expect_float_eq(scenario.strategies[0].coding.measured_encode_bytes, 400.0, 1e-9);
}

Test(scenario_calibration, wrong_codecs_are_refused)
{
    cr_expect_eq(READ_DEMO(CODECS(ENTRY("topq"))), GS_ENOTFOUND);
    cr_expect_str_eq(err.text,
                     "demo-ethernet: cluster.codecs[0].name on the command line: no codec "
                     "\"topq\"; did you mean \"topk\"?");
    cr_expect_eq(READ_DEMO(CODECS(ENTRY("none"))), GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "demo-ethernet: cluster.codecs[0].name on the command line: \"none\" "
                     "codes nothing; remove it");
    cr_expect_eq(READ_DEMO(CODECS(ENTRY("topk") ", " ENTRY("topk"))), GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "demo-ethernet: cluster.codecs[1].name on the command line: \"topk\" "
                     "is that of cluster.codecs[0] already; remove one");
}

#define CALIBRATION                                                                                \
    "calibration={\"when\": \"2026-11-30T01:02:03Z\", \"transport\": \"tcp\", \"message_bytes\": " \
    "[4, 3000], \"hosts\": [\"a\", \"b\"], \"values\": [{\"key\": "                                \
    "\"cluster.links.nic.bandwidth\", \"value\": \"198Mbit/s\", \"low\": \"197Mbit/s\", "          \
    "\"high\": \"199Mbit/s\", \"count\": 84}], \"notes\": [\"odd\"]}"

Test(scenario_calibration, where_values_come_from_is_kept_and_changes_no_run)
{
    cr_assert_eq(READ_DEMO(VECTOR), GS_OK, "%s", err.text);
    uint64_t hash = scenario.config_hash;
    cr_assert_eq(READ_DEMO(VECTOR, CALIBRATION), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.config_hash, hash);
    const gs_calibration *calibration = &scenario.calibration;
    cr_expect_eq(calibration->message_bytes.count, 2);
    cr_expect_eq(calibration->message_bytes.values[1], 3000);
    cr_expect_eq(calibration->host_count, 2);
    cr_expect_str_eq(calibration->hosts[1], "b");
    cr_expect_eq(calibration->values[0].count, 84);
    cr_expect_str_eq(calibration->notes[0], "odd");
    char *text = gs_json_write(scenario.resolved, true);
    cr_assert_not_null(text);
    options.override_count = 0;
    cr_assert_eq(read_text(text), GS_OK, "%s", err.text);
    char *again = gs_json_write(scenario.resolved, true);
    cr_expect_str_eq(again, text);
    cr_expect_eq(scenario.config_hash, hash);
    free(text);
    free(again);
}

Test(scenario_calibration, a_scenario_that_was_not_calibrated_says_nothing_of_it)
{
    cr_assert_eq(READ_DEMO(VECTOR), GS_OK, "%s", err.text);
    gs_json_at root = {.value = scenario.resolved};
    gs_json_at part;
    cr_expect_not(gs_json_find(&root, "calibration", &part));
    cr_expect_eq(scenario.calibration.message_bytes.count, 0);
}

Test(scenario_calibration, sizes_that_do_not_ascend_are_refused)
{
    expect_word_refused(GS_EINVAL, "calibration={\"when\": \"today\", \"message_bytes\": [4, 4]}",
                        "calibration.message_bytes on the command line: 4 does not lie above 4; "
                        "sizes ascend");
}

static bool is_noted(const char *part)
{
    bool found = false;
    for (uint32_t i = 0; i < scenario.note_count && !found; i++) {
        found = strstr(scenario.notes[i], part) != NULL;
    }
    return found;
}

Test(scenario_calibration, shapes_that_are_not_known_are_noted_where_a_codec_looks_at_them)
{
    static const char layers[] =
        "{\"schema\": \"gradsync.layers/1\", \"name\": \"t\", \"times\": {\"forward\": \"1ms\"}, "
        "\"tensors\": [{\"name\": \"a\", \"elements\": 8192, \"layer\": 0}, "
        "{\"name\": \"b\", \"elements\": 10, \"rows\": 1, \"layer\": 1}]}";
    static const char powersgd[] =
        "strategies=[{\"name\": \"allreduce\", \"codec\": {\"name\": \"powersgd\"}}]";
    char path[TEST_PATH_BYTES], word[TEST_PATH_BYTES + 32];
    test_temp_file(path, layers, strlen(layers));
    snprintf(word, sizeof word, "workload.profile=%s", path);
    cr_assert_eq(READ_DEMO(powersgd, word), GS_OK, "%s", err.text);
    cr_expect(is_noted("the shapes of 1 of 2 tensors are not known, which powersgd looks at"));
    cr_assert_eq(READ_DEMO(TOPK, word), GS_OK, "%s", err.text);
    cr_expect_not(is_noted("shapes"));
    cr_assert_eq(READ_DEMO(powersgd), GS_OK, "%s", err.text);
    cr_expect_not(is_noted("shapes"));
}
