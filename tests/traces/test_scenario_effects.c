/* What is said and changes nothing is named in a note; what is not said, or is the default, is not.
 */
#include "tests/traces/scenario_fixture.h"

#include <stdlib.h>
#include <string.h>

TestSuite(scenario_effects, .init = scenario_setup, .fini = scenario_teardown);

#define CURVE     "cluster.links.nic.curve=" GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt"
#define TEN_RANKS "cluster.nodes=[{\"ranks\": 4, \"count\": 2}, {\"ranks\": 2}]"

/* The notes are exactly these, in this order. */
static void expect_notes(const char *const *notes, size_t count)
{
    for (size_t i = 0; i < count && i < scenario.note_count; i++) {
        cr_expect_str_eq(scenario.notes[i], notes[i]);
    }
    cr_expect_eq(scenario.note_count, count, "%u notes, the first \"%s\"", scenario.note_count,
                 scenario.note_count == 0 ? "" : scenario.notes[0]);
}

#define EXPECT_NOTES(...)                                                                          \
    expect_notes((const char *const[]){__VA_ARGS__},                                               \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* The demo with one word has this note and no other. */
static void expect_note(const char *word, const char *note)
{
    cr_assert_eq(READ_DEMO(word), GS_OK, "%s: %s", word, err.text);
    EXPECT_NOTES(note);
}

Test(scenario_effects, keys_of_a_straggler_of_no_kind)
{
    expect_note("noise.straggler={\"rank\": 3, \"factor\": 1.3}",
                "noise.straggler: rank, factor have no effect: kind is none; say persistent, "
                "drift, markov or throttle");
    expect_note("noise.straggler.factor=1.5",
                "noise.straggler: factor has no effect: kind is none; say persistent, drift, "
                "markov or throttle");
    expect_note("noise.straggler={\"kind\": \"persistent\", \"mean_up\": \"1s\"}",
                "noise.straggler: mean_up has no effect: kind is not markov");
    expect_note("noise.straggler={\"kind\": \"markov\", \"drift_per_hour\": 1}",
                "noise.straggler: drift_per_hour has no effect: kind is not drift");
    expect_note("noise.straggler={\"kind\": \"drift\", \"hot\": 0.8}",
                "noise.straggler: hot has no effect: kind is not throttle");
}

Test(scenario_effects, a_straggler_that_is_faster)
{
    expect_note("noise.straggler={\"kind\": \"persistent\", \"factor\": 0.5}",
                "noise.straggler.factor: 0.5 makes a rank faster, not slower");
}

Test(scenario_effects, laws_that_do_not_look_at_a_key)
{
    expect_note("noise.compute={\"cv\": 0.1}",
                "noise.compute: cv has no effect: kind is none; say lognormal or another law");
    expect_note("noise.compute.shift=0.2",
                "noise.compute: shift has no effect: kind is not shifted_exponential");
    expect_note("noise.compute.samples=[1, 2]",
                "noise.compute: samples has no effect: kind is not empirical");
    expect_note("noise.input={\"kind\": \"lognormal\", \"cv\": 0.1}",
                "noise.input: kind has no effect: there is no loader; say workload.input.time");
}

Test(scenario_effects, a_loader_that_is_not_there)
{
    expect_note("workload.input.workers=4",
                "workload.input: workers has no effect: time is 0s, there is no loader");
    cr_assert_eq(READ_DEMO("workload.input.workers=4", "workload.input.time=1ms"), GS_OK, "%s",
                 err.text);
    cr_expect_eq(scenario.note_count, 0u);
}

Test(scenario_effects, keys_of_another_optimizer)
{
    expect_note("workload.optimizer.beta1=0.8",
                "workload.optimizer: beta1 has no effect: they are of adam and adamw");
    expect_note("workload.optimizer={\"name\": \"lars\", \"nesterov\": true}",
                "workload.optimizer: nesterov has no effect: only sgd looks ahead");
    expect_note("workload.optimizer={\"momentum\": 0, \"nesterov\": true}",
                "workload.optimizer: nesterov has no effect: momentum is 0");
    expect_note("workload.optimizer={\"name\": \"adam\", \"momentum\": 0.5}",
                "workload.optimizer: momentum has no effect: adam has beta1 in its place");
    expect_note("workload.optimizer.trust=0.02",
                "workload.optimizer: trust has no effect: it is of lars");
    expect_note("workload.optimizer.drop_factor=0.5",
                "workload.optimizer: drop_factor has no effect: schedule is not step");
    expect_note("workload.optimizer.schedule_samples=1000",
                "workload.optimizer: schedule_samples has no effect: schedule is constant");
    expect_note("workload.optimizer={\"schedule\": \"step\", \"drop_samples\": [100], "
                "\"schedule_samples\": 1000}",
                "workload.optimizer: schedule_samples has no effect: drop_samples says where the "
                "rate drops");
    cr_assert_eq(READ_DEMO("workload.optimizer={\"name\": \"adamw\", \"beta2\": 0.99, "
                           "\"schedule\": \"cosine\", \"warmup_samples\": 100, \"clip\": 1}"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u);
}

Test(scenario_effects, keys_that_are_kept)
{
    expect_note("evaluate.alpha=0.01", "evaluate: alpha has no effect: it is kept and not used "
                                       "yet; intervals are of 95 %");
    expect_note("evaluate.metrics=[\"step_p50\"]",
                "evaluate: metrics has no effect: it is kept and not used yet; all metrics are "
                "stored");
    expect_note("workload.flops_per_s=1e13",
                "workload: flops_per_s has no effect: the profile gives the times");
    expect_note("noise.bandwidth.factor=0.2",
                "noise.bandwidth: factor has no effect: kind is trace, which has no such part");
    expect_note("noise.bandwidth={\"kind\": \"ar1\", \"sources\": 2}",
                "noise.bandwidth: sources has no effect: kind is ar1, which has no such part");
}

Test(scenario_effects, a_curve_replaces_what_the_link_says)
{
    cr_assert_eq(READ_DEMO(CURVE, TEN_RANKS), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u, "the demo's own rates stand below the curve");
    cr_assert_eq(READ_DEMO(CURVE, TEN_RANKS, "cluster.links.nic.bandwidth=10Gbit/s",
                           "cluster.links.intra.latency=4us", "noise.latency.kind=gamma",
                           "noise.bandwidth.trace=" GS_TEST_SOURCE_DIR "/tests/data/bandwidth.csv"),
                 GS_OK, "%s", err.text);
    EXPECT_NOTES("cluster.links.nic: bandwidth has no effect: the curve of this link gives the "
                 "times",
                 "cluster.links.intra: latency has no effect: the curve of nic times the whole "
                 "all-reduce",
                 "noise.latency: kind has no effect: a measured curve gives the times, no single "
                 "message is sent",
                 "noise.bandwidth: trace has no effect: a measured curve gives the times, whatever "
                 "the rate");
}

Test(scenario_effects, a_curve_replaces_the_algorithm)
{
    static const char *const strategies[] = {"allreduce", "allreduce:algorithm=naive"};
    options.strategies = strategies;
    options.strategy_count = 2;
    cr_assert_eq(READ_DEMO(CURVE, TEN_RANKS), GS_OK, "%s", err.text);
    EXPECT_NOTES("strategy allreduce:algorithm=naive: algorithm has no effect: the curve gives the "
                 "time of an all-reduce, whatever its algorithm");
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u, "without a curve it has one");
}

Test(scenario_effects, links_that_nothing_goes_over)
{
    expect_note("cluster.nodes=[{\"ranks\": 4}]",
                "cluster.links.nic: efficiency has no effect: all ranks are on one node, nothing "
                "leaves it");
    expect_note("cluster={\"topology\": {\"kind\": \"switch\"}, \"links\": {\"intra\": "
                "{\"bandwidth\": \"1GB/s\"}}}",
                "cluster.links.intra: bandwidth has no effect: topology kind \"switch\" has a nic "
                "for every rank and no links inside nodes");
}

Test(scenario_effects, what_only_sockets_of_processes_have)
{
    expect_note("cluster.links.nic.window=256KiB",
                "cluster.links.nic: window has no effect: sockets is channel; say process");
    expect_note("cluster.links.nic.queue=8KiB",
                "cluster.links.nic: queue has no effect: sockets is channel; say process");
    cr_assert_eq(READ_DEMO("cluster.links.nic.sockets=process", "cluster.links.nic.queue=8KiB"),
                 GS_OK, "%s", err.text);
    cr_assert_eq(scenario.note_count, 1u);
    cr_expect_str_eq(scenario.notes[0],
                     "cluster.links.nic: queue has no effect: there is no window; say one");
    cr_assert_eq(READ_DEMO("cluster.links.nic.sockets=process", "cluster.links.nic.window=4KiB",
                           "cluster.links.nic.queue=8KiB", "cluster.links.nic.per_message=3us"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u);
    cr_expect_eq(scenario.cluster.nic.sockets, (int)GS_SOCKETS_PROCESS);
    cr_expect_eq(scenario.cluster.nic.window_bytes, 4096);
    cr_expect_eq(scenario.cluster.nic.queue_bytes, 8192);
    cr_expect_eq(scenario.cluster.nic.per_message_ns, 3000);
    cr_expect_eq(scenario.cluster.intra.sockets, (int)GS_SOCKETS_CHANNEL);
}

Test(scenario_effects, what_only_tcp_has)
{
    expect_note("cluster.links.intra.loss=0.01",
                "cluster.links.intra: loss has no effect: class is not tcp");
    expect_note("cluster.links.nic.segment=9000B",
                "cluster.links.nic: segment has no effect: there is neither loss nor an "
                "initial_window");
    expect_note("cluster.links.nic.idle=1s",
                "cluster.links.nic: idle has no effect: there is no initial_window; say one");
    cr_assert_eq(READ_DEMO("cluster.links.nic.loss=0.1%", "cluster.links.nic.initial_window=10",
                           "cluster.links.nic.segment=9000B", "cluster.links.nic.idle=1s",
                           "cluster.links.nic.eager=64KiB", "cluster.links.intra.per_message=3us"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u);
    cr_expect_float_eq(scenario.cluster.nic.loss, 0.001, 1e-15);
    cr_expect_eq(scenario.cluster.nic.eager_bytes, 65536);
    cr_expect_eq(scenario.cluster.intra.per_message_ns, 3000);
}

Test(scenario_effects, copies_are_where_a_node_has_no_gpudirect)
{
    expect_note("cluster.links.nic.staging_chunk=1MiB",
                "cluster.links.nic: staging_chunk has no effect: gpudirect is on in all of "
                "cluster.nodes");
    cr_assert_eq(READ_DEMO("cluster.nodes=[{\"count\":2,\"gpudirect\":\"off\"}]",
                           "cluster.links.nic.staging_chunk=1MiB"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u);
    cr_expect_eq(scenario.cluster.groups[0].gpudirect, (int)GS_GPUDIRECT_OFF);
    cr_expect_eq(scenario.cluster.nic.staging_bps, INT64_C(96000000000));
}

/* 65,536 B: what waits for its receiver would hold up what is behind it in the socket. */
Test(scenario_effects, what_is_not_modelled_together_is_refused)
{
    cr_expect_eq(READ_DEMO("cluster.links.nic.sockets=process", "cluster.links.nic.eager=64KiB"),
                 GS_EINVAL);
    cr_expect_not_null(
        strstr(err.text,
               "cluster.links.nic.eager on the command line: 65536B with sockets \"process\": "
               "rendezvous is modelled for each channel on its own; say "
               "sockets \"channel\", or 0B"),
        "%s", err.text);
    cr_expect_eq(READ_DEMO("cluster.nodes=[{\"count\":2,\"gpudirect\":\"off\"}]",
                           "cluster.links.nic.sockets=process", "cluster.links.nic.window=64KiB"),
                 GS_EINVAL);
    cr_expect_not_null(strstr(err.text, "cluster.nodes[0].gpudirect on the command line: \"off\" "
                                        "with cluster.links.nic.window 65536B: copies are modelled "
                                        "without windows; say window 0B, or gpudirect \"on\""),
                       "%s", err.text);
    cr_expect_eq(READ_DEMO("cluster.links.nic.sockets=process", "cluster.links.nic.eager=0B",
                           "cluster.links.nic.window=64KiB"),
                 GS_OK, "%s", err.text);
}

/* all_reduce_10_ranks.txt was measured on 3 hosts. */
Test(scenario_effects, a_curve_of_several_hosts_is_none_of_one_node)
{
    cr_expect_eq(READ_DEMO("cluster.links.intra.curve=" GS_TEST_SOURCE_DIR
                           "/tests/data/all_reduce_10_ranks.txt",
                           "cluster.nodes=[{\"ranks\": 10}]"),
                 GS_EINVAL);
    cr_expect_str_eq(err.text, "demo-ethernet: cluster.links.intra.curve on the command line: "
                               "\"" GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt\" was "
                               "measured on 10 ranks of 3 hosts, here they are on 1 node; give a "
                               "curve of one host, or say as many nodes");
    cr_expect_eq(READ_DEMO(CURVE, "cluster.nodes=[{\"ranks\": 5, \"count\": 2}]"), GS_OK, "%s",
                 err.text);
    EXPECT_NOTES("cluster.links.nic.curve: measured on 3 hosts, here are 2 nodes");
}

Test(scenario_effects, a_curve_of_one_host_is_none_of_a_network)
{
    char curve[TEST_PATH_BYTES + 32];
    snprintf(curve, sizeof curve, "cluster.links.nic.curve=%s",
             test_data_path("traces/nccl_tests/a100_sxm4_8gpu_1node_allreduce.log"));
    cr_expect_eq(READ_DEMO(curve), GS_EINVAL);
    cr_expect(strstr(err.text, "was measured on 8 ranks of 1 host, here they are on 2 nodes; "
                               "measure it over the nodes, or remove it") != NULL,
              "%s", err.text);
    snprintf(curve, sizeof curve, "cluster.links.intra.curve=%s",
             test_data_path("traces/nccl_tests/a100_sxm4_8gpu_1node_allreduce.log"));
    cr_assert_eq(READ_DEMO(curve, "cluster.nodes=[{\"ranks\": 8, \"count\": 2}]"), GS_OK, "%s",
                 err.text);
    EXPECT_NOTES("cluster.links.intra: curve has no effect: it is used where one node holds all "
                 "ranks; measure over the nodes and say cluster.links.nic.curve");
}

/* Buckets of a recorded job, 4 and 8 MB, and an op that blocks. */
static const char RECORDED[] =
    "{\"schema\": \"gradsync.profile/1\", \"format\": \"made up\", \"notes\": [], \"profile\": {"
    "\"source\": \"made up\", \"world_size\": 8, \"element_bytes\": 4, \"batch\": 64,"
    "\"units\": [{\"name\": \"a\", \"elements\": 1000000, \"wire_ns\": 5},"
    " {\"name\": \"b\", \"elements\": 2000000, \"wire_ns\": 5}],"
    "\"blocking\": [{\"name\": \"broadcast\", \"bytes\": 2000, \"wire_ns\": 7}],"
    "\"ranks\": [{\"rank\": 0, \"steps\": [{\"measured_ns\": 0, \"compute_ns\": 0, \"input_ns\": 0,"
    " \"wait_ns\": 0, \"wire_ns\": 0, \"hidden_ns\": 0, \"segments\": [[\"blocking\", 0],"
    " [\"backward\", 1000], [\"gradient\", 1], [\"gradient\", 0]]}]}]}}";

Test(scenario_effects, recorded_buckets_are_not_split_and_blocking_ops_keep_their_time)
{
    static const char *const strategies[] = {"allreduce", "allreduce:bucket=tensor",
                                             "allreduce:bucket=9MB", "allreduce:bucket=5MB"};
    char path[TEST_PATH_BYTES];
    char word[TEST_PATH_BYTES + 32];
    test_temp_file(path, RECORDED, sizeof RECORDED - 1);
    snprintf(word, sizeof word, "workload.profile=%s", path);
    options.strategies = strategies;
    options.strategy_count = 4;
    cr_assert_eq(READ_DEMO(word, "workload.batch_per_rank=64"), GS_OK, "%s", err.text);
    EXPECT_NOTES("workload.profile: 1 blocking op a step (2 kB in all) keeps the recorded wire "
                 "time, whatever the network",
                 "strategy allreduce:bucket=tensor: the profile has 2 recorded buckets of 4 MB to "
                 "8 MB: smaller ones cannot be tried",
                 "strategy allreduce:bucket=5MB: the profile has 2 recorded buckets of 4 MB to 8 "
                 "MB: smaller ones cannot be tried");
    options.strategy_count = 1;
    cr_assert_eq(READ_DEMO(word, "workload.batch_per_rank=16"), GS_OK, "%s", err.text);
    cr_assert_eq(scenario.note_count, 2u);
    cr_expect_str_eq(scenario.notes[1], "workload.batch_per_rank: the profile timed a batch of 64; "
                                        "its times stay, samples/s counts 16");
}

Test(scenario_effects, a_batch_that_the_profile_does_not_state)
{
    expect_note("workload.batch_per_rank=64",
                "workload.batch_per_rank: the profile does not say the batch of the timed step; "
                "its times stay, samples/s counts 64");
}

Test(scenario_effects, a_resolved_file_says_everything_and_is_not_blamed_for_it)
{
    cr_assert_eq(read_text("{\"workload\":{\"model\":{\"name\":\"mlp\"}}}"), GS_OK, "%s", err.text);
    char *text = gs_json_write(scenario.resolved, true);
    cr_assert_eq(read_text(text), GS_OK, "%s", err.text);
    cr_expect_eq(scenario.note_count, 0u, "%s", scenario.note_count > 0 ? scenario.notes[0] : "");
    free(text);
}

Test(scenario_effects, a_warm_up_that_nothing_lets_end)
{
    /* The demo: 100 steps of 16 samples of 8 ranks. */
    expect_note("workload.optimizer={\"warmup_samples\": 12800}",
                "workload.optimizer: warmup_samples: the rate never reaches 0.1: the warm-up takes "
                "12800 samples, the budget ends after 12800");
    expect_note("workload.optimizer={\"schedule\": \"cosine\", \"warmup_samples\": 2000, "
                "\"schedule_samples\": 1000}",
                "workload.optimizer: warmup_samples: the rate never reaches 0.1: the warm-up takes "
                "2000 samples, schedule_samples ends after 1000");
    cr_assert_eq(READ_DEMO("workload.optimizer={\"warmup_samples\": 12799}"), GS_OK, "%s",
                 err.text);
    cr_expect_eq(scenario.note_count, 0u);
}
