#include "tests/traces/scenario_fixture.h"

#include <stdlib.h>

TestSuite(scenario, .init = scenario_setup, .fini = scenario_teardown);

#define MODEL_ONLY "{\"workload\":{\"model\":{\"name\":\"mlp\"}}}"

static char *resolved_text(void)
{
    char *text = gs_json_write(scenario.resolved, true);
    cr_assert_not_null(text);
    return text;
}

Test(scenario, the_bundled_demo_reads_and_can_run)
{
    cr_assert_eq(read_file("demo-ethernet"), GS_OK, "%s", err.text);
    cr_expect_str_eq(scenario.name, "demo-ethernet");
    cr_expect_eq(scenario.ranks, 8u);
    cr_expect_eq(scenario.nodes, 2u);
    cr_expect_eq(scenario.cluster.nic.bandwidth_bps, INT64_C(10000000000));
    cr_expect_eq(scenario.cluster.nic.latency_ns, 30000);
    cr_expect_eq(scenario.cluster.intra.bandwidth_bps, INT64_C(1600000000000), "200 GB/s");
    cr_expect_eq(scenario.workload.profile->unit_count, 161u);
    cr_expect_eq(scenario.workload.budget_steps, 100);
    cr_expect_eq(scenario.strategy_count, 4u);
    cr_expect_eq(scenario.note_count, 0u);
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_OK, "%s", err.text);
}

Test(scenario, labels_say_only_what_differs_from_the_defaults)
{
    cr_assert_eq(read_file("demo-ethernet"), GS_OK, "%s", err.text);
    cr_expect_str_eq(scenario.strategies[0].label, "allreduce");
    cr_expect_str_eq(scenario.strategies[1].label, "allreduce:bucket=tensor");
    cr_expect_str_eq(scenario.strategies[2].label, "allreduce:overlap=false");
    cr_expect_str_eq(scenario.strategies[3].label, "allreduce:accumulation=4");
    cr_expect_str_eq(scenario.strategies[0].algorithm, "ring", "what auto stands for");
    cr_expect(strstr(scenario.strategies[1].params_json, "\"first_bucket\":\"1MiB\"") != NULL,
              "parameters are complete: %s", scenario.strategies[1].params_json);
}

Test(scenario, a_model_without_a_profile_is_timed_by_its_flops)
{
    cr_assert_eq(read_text(MODEL_ONLY), GS_OK, "%s", err.text);
    /* mlp on digits, 64-128-10, biases counted: (2 * 64 + 1) * 128 + (2 * 128 + 1) * 10 = 19,082
     * FLOP a sample, batch 32, 1e12 FLOP/s: 610.624 ns forward, rounded up, twice that backward. */
    const gs_profile *profile = scenario.workload.profile;
    cr_assert_eq(profile->unit_count, 2u);
    cr_expect_eq(profile->units[0].elements, 64 * 128 + 128);
    cr_expect_eq(profile->units[1].elements, 128 * 10 + 10);
    const gs_profile_step *step = &profile->ranks[0].steps[0];
    gs_time_ns sum_ns = 0;
    for (uint32_t i = 0; i < step->segment_count; i++) {
        sum_ns += step->segments[i].duration_ns;
    }
    cr_expect_eq(step->segments[0].duration_ns, 611);
    cr_expect_eq(sum_ns, 3 * 611);
}

Test(scenario, every_key_has_a_default)
{
    cr_assert_eq(read_text(MODEL_ONLY), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.seed, 1u);
    cr_expect_eq(scenario.ranks, 8u);
    cr_expect_eq(scenario.nodes, 1u);
    cr_expect_str_eq(scenario.cluster.groups[0].name, "nodes0");
    cr_expect_eq(scenario.workload.budget_steps, 100);
    cr_expect_eq(scenario.seeds, 10);
    cr_expect_eq(scenario.noise.compute.law, GS_LAW_NONE);
    cr_expect_eq(scenario.strategy_count, 1u);
    cr_expect_not(scenario.workload.real_gradients);
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_OK, "%s", err.text);
}

/* Reads text that was resolved; its file is in the same folder as the relative names in it. */
static void expect_same_again(const char *text, uint64_t hash)
{
    cr_assert_eq(read_text(text), GS_OK, "%s", err.text);
    char *again = resolved_text();
    cr_expect_str_eq(again, text);
    cr_expect_eq(scenario.config_hash, hash);
    free(again);
}

Test(scenario, the_resolved_file_resolves_to_itself)
{
    static const char *const files[] = {"demo-ethernet",
                                        GS_TEST_SOURCE_DIR "/tests/data/every_section.json"};
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(read_file(files[i]), GS_OK, "%s", err.text);
        uint64_t hash = scenario.config_hash;
        char *text = resolved_text();
        expect_same_again(text, hash);
        free(text);
    }
}

Test(scenario, every_section_parses_and_is_refused_for_a_run)
{
    cr_assert_eq(read_file(GS_TEST_SOURCE_DIR "/tests/data/every_section.json"), GS_OK, "%s",
                 err.text);
    cr_expect_str_eq(scenario.name, "every_section");
    cr_expect_eq(scenario.ranks, 10u);
    cr_expect_eq(scenario.workload.element_bytes, 2);
    cr_expect_eq(scenario.workload.task.optimizer.rate, 0.1, "a sweep checks its first value");
    cr_expect_eq(scenario.workload.budget_steps, 313, "200,000 / (64 * 10) rounded up");
    cr_expect_eq(scenario.cluster.nic.curve->ranks, 10);
    cr_expect_eq(scenario.cluster.nic.trace.point_count, 3u);
    cr_expect_float_eq(scenario.cluster.nic.trace.points[1].factor, 0.5, 0.0);
    cr_expect_eq(scenario.evaluate_every, 25);
    cr_expect_float_eq(scenario.noise.latency.cv, 0.3, 1e-15, "1 - shift");
    /* 0.9, 1.0 and 1.7 have the mean 1.2. */
    cr_expect_float_eq(scenario.noise.input.samples[2], 1.7 / 1.2, 1e-15);
    cr_assert_gt(scenario.note_count, 0u);
    cr_expect_str_eq(scenario.notes[0],
                     "workload.profile: recorded with gradients of 4 bytes an element, sent are 2 "
                     "(dtype fp16)");
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_EUNSUPPORTED);
    cr_expect_str_eq(err.text,
                     GS_TEST_SOURCE_DIR "/tests/data/every_section.json: workload.optimizer.rate: "
                                        "has several values; `gradsync sweep` runs them all, "
                                        "others take one");
}

Test(scenario, values_of_a_sweep_are_told_as_they_were_written)
{
    cr_assert_eq(READ_DEMO("workload.model.hidden=[{\"sweep\":[32,64]},16]",
                           "noise.compute={\"sweep\":[{\"kind\":\"none\"}]}"),
                 GS_OK, "%s", err.text);
    cr_assert_eq(scenario.dimension_count, 2u);
    const gs_scenario_dimension *hidden = &scenario.dimensions[0];
    const gs_scenario_dimension *noise = &scenario.dimensions[1];
    cr_expect_str_eq(hidden->path, "workload.model.hidden[0]");
    cr_assert_eq(hidden->count, 2u);
    cr_expect_str_eq(hidden->values[0], "32");
    cr_expect_str_eq(hidden->values[1], "64");
    cr_expect_str_eq(noise->path, "noise.compute");
    cr_assert_eq(noise->count, 1u);
    cr_expect_str_eq(noise->values[0], "{\"kind\":\"none\"}");
}

Test(scenario, sweeps_of_strategies_that_the_command_line_replaces_do_not_count)
{
    static const char *const strategies[] = {"allreduce"};
    options.strategies = strategies;
    options.strategy_count = 1;
    gs_status status =
        READ_DEMO("strategies=[{\"name\":\"local_sgd\",\"period\":{\"sweep\":[2,4]}}]");
    options.strategy_count = 0;
    cr_assert_eq(status, GS_OK, "%s", err.text);
    cr_expect_eq(scenario.dimension_count, 0u);
    cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_OK, "%s", err.text);
}

Test(scenario, a_path_names_a_field_of_its_section)
{
    const gs_field *count = gs_scenario_field("cluster.nodes.0.count");
    cr_assert_not_null(count);
    cr_expect_eq(count->kind, GS_FIELD_INT);
    cr_expect_eq(gs_scenario_field("cluster.nodes[12].count"), count);
    cr_expect_eq(gs_scenario_field("cluster.links.nic.bandwidth")->kind, GS_FIELD_RATE);
    cr_expect_eq(gs_scenario_field("seed")->kind, GS_FIELD_INT);
    cr_expect_null(gs_scenario_field("cluster.nodes.count"));
    cr_expect_null(gs_scenario_field("cluster.links.nic.width"));
    cr_expect_null(gs_scenario_field("workload.model.hidden"));
}

Test(scenario, each_section_without_an_engine_refuses_a_run_by_name)
{
    static const struct {
        const char *word, *message;
    } cases[] = {
        {"faults=[{\"at\":\"1s\",\"kind\":\"slow\",\"rank\":2}]",
         "faults: not supported yet; remove it"},
        {"cluster.links.nic.bandwidth={\"sweep\":[\"1Gbit/s\",\"2Gbit/s\"]}",
         "cluster.links.nic.bandwidth: has several values; `gradsync sweep` runs them all, others "
         "take one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[256];
        cr_assert_eq(READ_DEMO(cases[i].word), GS_OK, "%s", err.text);
        snprintf(expected, sizeof expected, "demo-ethernet: %s", cases[i].message);
        cr_expect_eq(gs_scenario_runnable(&scenario, &err), GS_EUNSUPPORTED, "%s", expected);
        cr_expect_str_eq(err.text, expected);
    }
}

Test(scenario, the_hash_is_of_what_a_run_depends_on_beside_strategy_and_seed)
{
    cr_assert_eq(read_file("demo-ethernet"), GS_OK, "%s", err.text);
    uint64_t hash = scenario.config_hash;
    static const char *const same[] = {"seed=2", "strategies.0.bucket=10MiB", "evaluate.seeds=3",
                                       "workload.phases=[]",
                                       "cluster.links.nic.bandwidth=1.25GB/s"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        cr_assert_eq(READ_DEMO(same[i]), GS_OK, "%s", err.text);
        cr_expect_eq(scenario.config_hash, hash, "%s", same[i]);
    }
    static const char *const other[] = {"cluster.links.nic.bandwidth=11Gbit/s",
                                        "workload.batch_per_rank=17",
                                        "noise.compute.cv=0.013",
                                        "evaluate.every=3",
                                        "workload.phases=[{\"from_step\":0,\"phase\":\"normal\"}]",
                                        "evaluate.stop=target",
                                        "faults=[{\"at\":\"1s\",\"kind\":\"slow\",\"rank\":2}]"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        cr_assert_eq(READ_DEMO(other[i]), GS_OK, "%s", err.text);
        cr_expect_neq(scenario.config_hash, hash, "%s", other[i]);
    }
}

Test(scenario, the_job_knows_the_phases_that_the_user_names)
{
    gs_job job;
    cr_assert_eq(READ_DEMO("workload.phases=[{\"from_step\":3,\"phase\":\"sparse\"},"
                           "{\"from_step\":7,\"phase\":\"critical\"}]"),
                 GS_OK, "%s", err.text);
    cr_assert_eq(gs_scenario_job(&scenario, &arena, &job, &err), GS_OK, "%s", err.text);
    cr_assert_eq(job.phase_count, 2);
    cr_expect_eq(job.phases[0].from_step, 3);
    cr_expect_eq(job.phases[0].phase, GS_PHASE_SPARSE);
    cr_expect_eq(job.phases[1].from_step, 7);
    cr_expect_eq(job.phases[1].phase, GS_PHASE_CRITICAL);
}

Test(scenario, a_run_stops_only_at_a_target_that_is_there)
{
    cr_assert_eq(READ_DEMO("evaluate.stop=target"), GS_OK, "%s", err.text);
    cr_expect(scenario.stops_at_target);
    cr_assert_eq(READ_DEMO("evaluate.stop=target", "workload.target.value=0"), GS_EINVAL);
    cr_expect_not_null(strstr(err.text, "evaluate.stop on the command line: \"target\" has none to "
                                        "stop at; set workload.target.value, or write "
                                        "\"budget\""),
                       "%s", err.text);
}

static uint64_t hash_with_trace(const char *csv)
{
    char trace[TEST_PATH_BYTES];
    char word[TEST_PATH_BYTES + 32];
    test_temp_file(trace, csv, strlen(csv));
    snprintf(word, sizeof word, "noise.bandwidth.trace=%s", trace);
    cr_assert_eq(READ_DEMO(word), GS_OK, "%s", err.text);
    return scenario.config_hash;
}

Test(scenario, the_hash_is_of_the_contents_of_files_not_of_their_names)
{
    uint64_t hash = hash_with_trace("time [s],factor\n0,0.5\n");
    cr_expect_eq(hash_with_trace("time [s],factor\n0,0.5\n"), hash, "the same under another name");
    cr_expect_neq(hash_with_trace("time [s],factor\n0,0.6\n"), hash);
}

Test(scenario, a_launchers_ranks_make_the_cluster_fit)
{
    static const struct {
        int64_t ranks;
        uint32_t nodes;
    } cases[] = {{4, 1}, {8, 2}, {12, 3}, {3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        options.ranks = cases[i].ranks;
        cr_assert_eq(read_file("demo-ethernet"), GS_OK, "%s", err.text);
        cr_expect_eq(scenario.ranks, (uint32_t)cases[i].ranks);
        cr_expect_eq(scenario.nodes, cases[i].nodes);
    }
    options.ranks = 6;
    cr_expect_eq(read_file("demo-ethernet"), GS_EINVAL);
    cr_expect_str_eq(err.text, "demo-ethernet: cluster.nodes: hold 8 ranks in nodes of 4, the "
                               "launcher started 6; start as many, or say another count and ranks");
}

Test(scenario, ranks_are_numbered_node_by_node_in_file_order)
{
    cr_assert_eq(read_file(GS_TEST_SOURCE_DIR "/tests/data/every_section.json"), GS_OK, "%s",
                 err.text);
    static const uint32_t nodes[] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2};
    for (uint32_t rank = 0; rank < 10; rank++) {
        cr_expect_eq(gs_scenario_node_of(&scenario, rank), nodes[rank], "rank %u", rank);
        cr_expect_str_eq(gs_scenario_group_of(&scenario, rank)->name, rank < 8 ? "fast" : "old");
    }
}

Test(scenario, the_job_is_the_profile_seen_by_strategies)
{
    cr_assert_eq(read_file("demo-ethernet"), GS_OK, "%s", err.text);
    gs_job job;
    cr_assert_eq(gs_scenario_job(&scenario, &arena, &job, &err), GS_OK);
    cr_expect_eq(job.ranks, 8u);
    cr_expect_eq(job.elements, 25557032);
    cr_expect_eq(job.element_bytes, 4);
    cr_expect_eq(job.unit_count, 161u);
    cr_expect_eq(job.unit_elements[0], 64 * 3 * 7 * 7, "conv1 comes first");
    cr_expect_eq(job.seed, 1u);
}

/* cv = 1 - shift: said as either, it is the same law; a resolved file says both. */
Test(scenario, a_shifted_exponential_takes_its_cv_or_its_shift)
{
    cr_assert_eq(READ_DEMO("noise.compute={\"kind\":\"shifted_exponential\",\"cv\":0.25}"), GS_OK,
                 "%s", err.text);
    cr_expect_eq(scenario.noise.compute.shift, 0.75);
    cr_expect_eq(scenario.noise.compute.cv, 0.25);
    cr_assert_eq(READ_DEMO("noise.compute={\"kind\":\"shifted_exponential\",\"shift\":0.75}"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.noise.compute.cv, 0.25);
    cr_assert_eq(
        READ_DEMO("noise.compute={\"kind\":\"shifted_exponential\",\"cv\":0.25,\"shift\":0.75}"),
        GS_OK, "%s", err.text);
}

Test(scenario, a_target_without_real_gradients_is_a_note)
{
    cr_assert_eq(READ_DEMO("workload.real_gradients=false"), GS_OK, "%s", err.text);
    cr_assert_eq(scenario.note_count, 1u);
    cr_expect_str_eq(scenario.notes[0], "workload.target: there is no accuracy to reach while "
                                        "real_gradients is false");
}

/* By powersgd's default the first 10 steps are dense: a run of 11 has one that is not. Of dgc 3
 * stages of 4 steps are 12. */
Test(scenario, a_warm_up_as_long_as_the_run_is_a_note)
{
    const char *low_rank =
        "strategies=[{\"name\":\"allreduce\",\"codec\":{\"name\":\"powersgd\"}}]";
    cr_assert_eq(READ_DEMO("workload.budget.steps=11", low_rank), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u);
    cr_assert_eq(READ_DEMO("workload.budget.steps=10", low_rank), GS_OK, "%s", err.text);
    cr_assert_eq(scenario.note_count, 1u);
    cr_expect_str_eq(
        scenario.notes[0],
        "strategy \"allreduce+powersgd\": powersgd warms up for 10 steps and the run has "
        "10, so that it never sends as little as it would; use a smaller start_step, or "
        "raise workload.budget.steps");
    cr_assert_eq(READ_DEMO("workload.budget.steps=12",
                           "strategies=[{\"name\":\"allreduce\",\"codec\":{\"name\":\"dgc\","
                           "\"warmup\":3,\"warmup_steps\":4}}]"),
                 GS_OK, "%s", err.text);
    cr_assert_eq(scenario.note_count, 1u);
    cr_expect_not_null(strstr(scenario.notes[0], "dgc warms up for 12 steps and the run has 12"));
    cr_expect_not_null(strstr(scenario.notes[0], "use a smaller warmup_steps"));
}

/* The demo's rate is 0.1. What keeps a length needs no note, nor does a rate that fits a vote. */
Test(scenario, a_vote_at_a_rate_for_gradients_is_a_note)
{
    const char *vote = "strategies=[{\"name\":\"allreduce\",\"codec\":{\"name\":\"sign\"}}]";
    cr_assert_eq(READ_DEMO(vote), GS_OK, "%s", err.text);
    cr_assert_eq(scenario.note_count, 1u);
    cr_expect_str_eq(scenario.notes[0],
                     "strategy \"allreduce+sign\": a vote says no length, each weight gets a "
                     "gradient of 1 or -1, and workload.optimizer.rate=0.1 is for gradients; try "
                     "rates near 0.001, or +sign:scale=mean");
    cr_assert_eq(READ_DEMO("workload.optimizer.rate=0.001", vote), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u);
    cr_assert_eq(READ_DEMO("strategies=[{\"name\":\"allreduce\",\"codec\":{\"name\":\"sign\","
                           "\"scale\":\"mean\"}}]"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u);
}

Test(scenario, the_bundled_resnet50_is_the_published_one)
{
    cr_assert_eq(read_file("demo-ethernet"), GS_OK, "%s", err.text);
    gs_json_at theirs;
    gs_json_at tensors;
    gs_json_at tensor;
    gs_json_at value;
    const char *text = NULL;
    cr_assert_eq(gs_json_read(test_data_path("workloads/resnet50.json"), &theirs, &err), GS_OK);
    cr_assert(gs_json_find(&theirs, "tensors", &tensors));
    const gs_profile *profile = scenario.workload.profile;
    cr_assert_eq(gs_json_count(tensors.value), profile->unit_count);
    for (size_t i = 0; gs_json_walk(&tensors, i, &tensor); i++) {
        int64_t elements = 0;
        cr_assert(gs_json_find(&tensor, "name", &value));
        cr_assert_eq(gs_json_text(&value, &text, &err), GS_OK);
        cr_expect_str_eq(profile->units[i].name, text);
        cr_assert(gs_json_find(&tensor, "elements", &value));
        cr_assert_eq(gs_json_int(&value, &elements, &err), GS_OK);
        cr_expect_eq(profile->units[i].elements, elements, "%s", text);
    }
    gs_json_free(theirs.value);
}

Test(scenario, recorded_ranks_play_on_another_number_of_ranks_with_a_note)
{
    char word[TEST_PATH_BYTES + 32];
    snprintf(word, sizeof word, "workload.profile=%s",
             test_data_path("traces/kineto/resnet_ddp_rank0_of_2.json.gz"));
    cr_assert_eq(READ_DEMO(word), GS_OK, "%s", err.text);
    cr_assert_geq(scenario.note_count, 1u);
    cr_expect_str_eq(scenario.notes[0], "workload.profile: recorded on 2 ranks, here are 8; every "
                                        "rank plays the one recorded");
}
