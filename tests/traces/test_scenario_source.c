#include "tests/traces/scenario_fixture.h"

#include <stdlib.h>

TestSuite(scenario_source, .init = scenario_setup, .fini = scenario_teardown);

/* A scenario file that extends another one by name. */
static gs_status read_over(const char *base, const char *text_of_top)
{
    char base_file[TEST_PATH_BYTES];
    char text[4 * TEST_PATH_BYTES];
    test_temp_file(base_file, base, strlen(base));
    const char *slash = strrchr(base_file, '/');
    snprintf(text, sizeof text, "{\"extends\":\".%s\"%s%s", slash, text_of_top[0] == '}' ? "" : ",",
             text_of_top);
    return read_text(text);
}

Test(scenario_source, a_file_extends_a_bundled_scenario)
{
    cr_assert_eq(read_text("{\"extends\":\"demo-ethernet\",\"cluster\":{\"links\":{\"nic\":"
                           "{\"bandwidth\":\"25Gbit/s\"}}}}"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.cluster.nic.bandwidth_bps, INT64_C(25000000000));
    cr_expect_eq(scenario.cluster.nic.latency_ns, 30000, "what is not said is inherited");
}

Test(scenario_source, objects_merge_and_lists_replace)
{
    cr_assert_eq(read_over("{\"workload\":{\"model\":{\"name\":\"mlp\",\"hidden\":[8,8]},"
                           "\"batch_per_rank\":4},\"cluster\":{\"nodes\":[{\"count\":2},"
                           "{\"count\":3}]}}",
                           "\"workload\":{\"model\":{\"hidden\":[16]}},"
                           "\"cluster\":{\"nodes\":[{\"ranks\":2}]}}"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.workload.batch_per_rank, 4);
    cr_expect_eq(scenario.cluster.group_count, 1u);
    cr_expect_eq(scenario.nodes, 1u, "the element of the list is new, not merged");
    cr_expect_eq(scenario.workload.profile->units[0].elements, 64 * 16 + 16);
}

Test(scenario_source, an_error_names_the_file_that_said_it)
{
    char expected[2 * TEST_PATH_BYTES];
    cr_expect_eq(read_over("{\"seed\":-1}", "}"), GS_EINVAL);
    cr_expect(strstr(err.text, file) == NULL, "the base is to blame: %s", err.text);
    cr_expect(strstr(err.text, ": seed: -1 is out of range") != NULL, "%s", err.text);
    cr_expect_eq(read_over("{\"seed\":-1}", "\"seed\":-2}"), GS_EINVAL);
    snprintf(expected, sizeof expected,
             "%s: seed: -2 is out of range; allowed is a whole number, 0..9007199254740992", file);
    cr_expect_str_eq(err.text, expected);
    cr_expect_eq(read_over("{\"sede\":1}", "}"), GS_EINVAL);
    cr_expect(strstr(err.text, file) == NULL, "the base is to blame: %s", err.text);
}

Test(scenario_source, names_of_files_belong_to_the_file_that_says_them)
{
    /* The base lies in tests/data, beside bandwidth.csv; the file that extends it does not. */
    cr_assert_eq(
        read_text("{\"extends\":\"" GS_TEST_SOURCE_DIR "/tests/data/every_section.json\"}"), GS_OK,
        "%s", err.text);
    cr_expect_eq(scenario.cluster.nic.trace.point_count, 3u);
    cr_expect_str_eq(scenario.cluster.nic.curve_file,
                     GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt");
}

Test(scenario_source, a_chain_that_leads_back_is_refused)
{
    char first[TEST_PATH_BYTES];
    char second[TEST_PATH_BYTES];
    char text[2 * TEST_PATH_BYTES];
    char expected[4 * TEST_PATH_BYTES];
    test_temp_path(first);
    snprintf(text, sizeof text, "{\"extends\":\"%s\"}", first);
    test_temp_file(second, text, strlen(text));
    snprintf(text, sizeof text, "{\"extends\":\"%s\"}", second);
    FILE *out = fopen(first, "w");
    cr_assert_not_null(out);
    fputs(text, out);
    fclose(out);
    cr_expect_eq(read_file(first), GS_EINVAL);
    snprintf(expected, sizeof expected,
             "%s: extends: \"%s\" leads back to %s; a chain of extends must end", second, first,
             first);
    cr_expect(strncmp(err.text, expected, sizeof err.text - 1) == 0, "%s", err.text);
}

Test(scenario_source, what_cannot_be_extended_is_named)
{
    expect_refused(GS_EINVAL, "{\"extends\":\"-\"}",
                   "extends: \"-\" is no scenario to extend; give a file or a bundled name");
    expect_refused(GS_EINVAL, "{\"extends\":3}", "extends: the number 3 is not a text");
    expect_refused(GS_ENOTFOUND, "{\"extends\":\"demo-ethernt\"}",
                   "extends: no bundled scenario \"demo-ethernt\"; did you mean \"demo-ethernet\"? "
                   "(a file is written with an ending or a /)");
}

Test(scenario_source, what_is_no_scenario_is_refused)
{
    expect_refused(GS_EINVAL, "[1]", "is a list, not an object ({...}) that describes a scenario");
    cr_expect_eq(read_text("{"), GS_EPARSE);
    cr_expect(strstr(err.text, ": line 1, column 2: ") != NULL, "%s", err.text);
    cr_expect_eq(read_file("no/such.json"), GS_ENOTFOUND);
    cr_expect(strncmp(err.text, "no/such.json: ", 14) == 0, "%s", err.text);
    cr_expect_eq(read_file("demo-ethernt"), GS_ENOTFOUND);
    cr_expect_str_eq(err.text, "no bundled scenario \"demo-ethernt\"; did you mean "
                               "\"demo-ethernet\"? (a file is written with an ending or a /)");
}

Test(scenario_source, a_users_own_folder_of_scenarios_comes_first)
{
    options.user_dir = GS_TEST_SOURCE_DIR "/tests/data";
    cr_assert_eq(read_file("every_section"), GS_OK, "%s", err.text);
    cr_expect_str_eq(scenario.name, "every_section");
    cr_expect_eq(read_file("demo-ethernet"), GS_OK, "the bundled ones are still there");
}

Test(scenario_source, words_of_the_command_line_override)
{
    cr_assert_eq(READ_DEMO("cluster.links.nic.bandwidth=25Gbit/s", "cluster.nodes.0.count=4",
                           "cluster.nodes[0].ranks=2", "workload.dtype=fp16",
                           "noise.straggler={\"kind\":\"persistent\",\"rank\":3}", "seed=5"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.cluster.nic.bandwidth_bps, INT64_C(25000000000));
    cr_expect_eq(scenario.nodes, 4u);
    cr_expect_eq(scenario.ranks, 8u);
    cr_expect_eq(scenario.workload.element_bytes, 2);
    cr_expect_eq(scenario.noise.straggler.rank, 3);
    cr_expect_eq(scenario.seed, 5u);
}

Test(scenario_source, a_word_makes_the_objects_it_needs)
{
    options.overrides = (const char *const[]){"workload.model.name=softmax"};
    options.override_count = 1;
    cr_assert_eq(read_text("{}"), GS_OK, "%s", err.text);
    cr_expect_str_eq(scenario.workload.task.model->name, "softmax");
}

Test(scenario_source, the_later_of_two_words_stands)
{
    cr_assert_eq(READ_DEMO("seed=5", "seed=6"), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.seed, 6u);
}

Test(scenario_source, a_wrong_word_is_refused_with_its_cure)
{
    expect_word_refused(GS_EINVAL, "nonsense",
                        "\"nonsense\" on the command line is not KEY=VALUE, such as "
                        "cluster.links.nic.bandwidth=25Gbit/s");
    expect_word_refused(GS_EINVAL, "=3",
                        "\"=3\" on the command line is not KEY=VALUE, such as "
                        "cluster.links.nic.bandwidth=25Gbit/s");
    expect_word_refused(GS_EINVAL, "extends=foo",
                        "extends on the command line: only a file may extend; name \"foo\" as the "
                        "scenario");
    expect_word_refused(GS_EINVAL, "cluster.nodes.1.count=6",
                        "cluster.nodes.1.count on the command line: \"1\" is no index of "
                        "cluster.nodes, a list of 1; count from 0");
    expect_word_refused(GS_EINVAL, "cluster.nodes.x=6",
                        "cluster.nodes.x on the command line: \"x\" is no index of cluster.nodes, "
                        "a list of 1; count from 0");
    expect_word_refused(
        GS_EINVAL, "seed.x=4",
        "seed.x on the command line: seed is the number 1, which has no part \"x\"");
    static const char *const bad_keys[] = {
        "cluster..x", "cluster.", ".x", "cluster.nodes[0", "cluster.nodes[0]x", "cluster.nodes[]"};
    for (size_t i = 0; i < sizeof bad_keys / sizeof bad_keys[0]; i++) {
        char word[64];
        char message[256];
        snprintf(word, sizeof word, "%s=4", bad_keys[i]);
        snprintf(message, sizeof message,
                 "%s on the command line: write the key as parts with dots between them, such as "
                 "cluster.nodes.0.count",
                 bad_keys[i]);
        expect_word_refused(GS_EINVAL, word, message);
    }
}

Test(scenario_source, an_unknown_key_names_the_nearest_one_in_the_whole_tree)
{
    expect_word_refused(GS_EINVAL, "cluster.bandwith=10Gbit/s",
                        "unknown key \"cluster.bandwith\" on the command line; did you mean "
                        "\"cluster.links.nic.bandwidth\"?");
    expect_word_refused(GS_EINVAL, "workload.input.worker=3",
                        "unknown key \"workload.input.worker\" on the command line; did you mean "
                        "\"workload.input.workers\"?");
    expect_word_refused(GS_EINVAL, "ranks=3",
                        "unknown key \"ranks\" on the command line; did you mean "
                        "\"cluster.nodes.0.ranks\"?");
    expect_word_refused(GS_EINVAL, "cluster.links.ethernet.bandwidth=1Gbit/s",
                        "unknown key \"cluster.links.ethernet\" on the command line; known there "
                        "are nic, intra");
    expect_refused(
        GS_EINVAL, "{\"cluster\":{\"nodes\":[{},{\"rank\":3}]}}",
        "unknown key \"cluster.nodes[1].rank\"; did you mean \"cluster.nodes[1].ranks\"?");
    expect_refused(GS_EINVAL, "{\"gates\":[{\"metrik\":\"x\"}]}",
                   "unknown key \"gates[0].metrik\"; did you mean \"gates[0].metric\"?");
}

Test(scenario_source, comments_are_ignored_everywhere)
{
    cr_expect_eq(read_text("{\"$comment\":{\"sweep\":[1]},\"cluster\":{\"$comment\":[1],"
                           "\"nodes\":[{\"$comment\":3}],\"links\":{\"nic\":{\"$comment\":null}}},"
                           "\"workload\":{\"$comment\":1,\"model\":{\"$comment\":1,"
                           "\"name\":\"mlp\"}},\"noise\":{\"$comment\":1},"
                           "\"strategies\":[{\"$comment\":1,\"name\":\"allreduce\"}]}"),
                 GS_OK, "%s", err.text);
    cr_expect_null(scenario.unsupported);
}

Test(scenario_source, a_sweep_must_be_a_list_of_values_and_nothing_else)
{
    expect_word_refused(GS_EINVAL, "seed={\"sweep\":[]}",
                        "seed.sweep on the command line: takes a list of one value or more");
    expect_word_refused(GS_EINVAL, "seed={\"sweep\":4}",
                        "seed.sweep on the command line: takes a list of one value or more");
    expect_word_refused(GS_EINVAL, "seed={\"sweep\":[1],\"x\":2}",
                        "seed on the command line: a sweep has no other keys; write {\"sweep\": "
                        "[4, 8]}");
    expect_word_refused(GS_EINVAL, "seed={\"sweep\":[{\"sweep\":[1]}]}",
                        "seed.sweep[0] on the command line: a sweep cannot stand in a sweep");
    expect_word_refused(GS_EINVAL, "seed={\"sweep\":[\"a\",2]}",
                        "seed on the command line: \"a\" is not a whole number, "
                        "0..9007199254740992");
}

Test(scenario_source, a_sweep_inside_a_list_is_found_and_written_back)
{
    cr_assert_eq(READ_DEMO("workload.model.hidden=[{\"sweep\":[32,64]},16]"), GS_OK, "%s",
                 err.text);
    cr_expect_str_eq(scenario.unsupported, "workload.model.hidden[0]: has several values; "
                                           "`gradsync sweep` runs them all, others take one");
    char *text = gs_json_write(scenario.resolved, false);
    cr_expect(strstr(text, "\"hidden\":[{\"sweep\":[32,64]},16]") != NULL, "%s", text);
    free(text);
}
