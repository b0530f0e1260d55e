/* Every value that a scenario refuses, with the whole line that says so. */
#include "tests/traces/scenario_fixture.h"

TestSuite(scenario_errors, .init = scenario_setup, .fini = scenario_teardown);

#define HERE " on the command line: "

typedef struct refusal {
    gs_status code;
    const char *word;
    const char *message;
} refusal;

static void expect_all(const refusal *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        expect_word_refused(cases[i].code, cases[i].word, cases[i].message);
    }
}

#define EXPECT_ALL(cases) expect_all(cases, sizeof(cases) / sizeof(cases)[0])

Test(scenario_errors, of_the_root)
{
    static const refusal cases[] = {
        {GS_EINVAL, "seed=-1",
         "seed" HERE "-1 is out of range; allowed is a whole number, 0..9007199254740992"},
        {GS_EINVAL, "seed=1.5",
         "seed" HERE "the number 1.5 is not a whole number, 0..9007199254740992"},
        {GS_EINVAL, "schema=gradsync.scenario/2",
         "schema" HERE "\"gradsync.scenario/2\" is not one of gradsync.scenario/1; did you mean "
         "gradsync.scenario/1?"},
        {GS_EINVAL, "cluster=4", "cluster" HERE "the number 4 is not an object ({...})"},
    };
    EXPECT_ALL(cases);
}

Test(scenario_errors, of_nodes)
{
    static const refusal cases[] = {
        {GS_EINVAL, "cluster.nodes.0.ranks=0",
         "cluster.nodes[0].ranks" HERE "0 is out of range; allowed is a whole number, 1..65534"},
        {GS_EINVAL, "cluster.nodes.0.count=100000000000000000000",
         "cluster.nodes[0].count" HERE "the number 100000000000000000000 is not a whole number, "
         "1..65534"},
        {GS_EINVAL, "cluster.nodes.0.count=60000",
         "cluster.nodes: hold 240000 ranks together; at most 65534 may be: lower count or ranks"},
        {GS_EINVAL, "cluster.nodes=[]",
         "cluster.nodes" HERE "is empty; a cluster has one kind of node at least"},
        {GS_EINVAL, "cluster.nodes=4",
         "cluster.nodes" HERE "the number 4 is not a list of up to 4096 objects"},
        {GS_EINVAL, "cluster.nodes={}",
         "cluster.nodes" HERE "an object is not a list of up to 4096 objects; write [ {...} ]"},
        {GS_EINVAL, "noise.straggler.factor=30 %",
         "noise.straggler.factor" HERE "\"30 %\" is not a number, 0.001..1000; write 0.3, or 1.3 "
         "for that much more"},
        {GS_EINVAL, "strategies={\"name\": \"allreduce\"}",
         "strategies" HERE "takes a list of 1 to 256 objects, write [ {...} ]; without the key it "
         "is allreduce"},
        {GS_EINVAL, "cluster.nodes=[4]",
         "cluster.nodes[0]" HERE "the number 4 is not an object ({...})"},
        {GS_EINVAL, "cluster.nodes=[{\"name\":\"a\"},{\"name\":\"a\"}]",
         "cluster.nodes[1].name" HERE "\"a\" is the name of cluster.nodes[0] already; give each "
         "kind of node its own"},
        {GS_EINVAL, "cluster.nodes.0.compute_scale=0",
         "cluster.nodes[0].compute_scale" HERE "0 is out of range; allowed is a number, "
         "0.001..1000"},
        {GS_EINVAL, "cluster.nodes.0.compute_scale=fast",
         "cluster.nodes[0].compute_scale" HERE "\"fast\" is not a number, 0.001..1000"},
        {GS_EINVAL, "cluster.nodes.0.vector_bandwidth=1TB",
         "cluster.nodes[0].vector_bandwidth" HERE "\"1TB\" has the unknown unit \"TB\"; rates take "
         "bit/s kbit/s Mbit/s Gbit/s Tbit/s, bps kbps Mbps Gbps Tbps and B/s kB/s MB/s GB/s TB/s "
         "KiB/s MiB/s GiB/s"},
        {GS_EINVAL, "cluster.topology.kind=swich",
         "cluster.topology.kind" HERE
         "\"swich\" is not one of switch, nodes, fat_tree, torus, regions, graph; did you mean "
         "switch?"},
    };
    EXPECT_ALL(cases);
}

Test(scenario_errors, of_links)
{
    static const refusal cases[] = {
        {GS_EINVAL, "cluster.links.nic.bandwidth=10",
         "cluster.links.nic.bandwidth" HERE "\"10\" has no unit; write 10Gbit/s or 10GB/s"},
        {GS_EINVAL, "cluster.links.nic.bandwidth=-10Gbit/s",
         "cluster.links.nic.bandwidth" HERE "\"-10Gbit/s\" is negative; rates are 0 or more"},
        {GS_EINVAL, "cluster.links.nic.bandwidth=0Gbit/s",
         "cluster.links.nic.bandwidth" HERE "0Gbit/s is out of range; allowed is a rate such as "
         "10Gbit/s, 1kbit/s..125TB/s"},
        {GS_EINVAL, "cluster.links.nic.bandwidth=nan",
         "cluster.links.nic.bandwidth" HERE "\"nan\" is not a number with a unit; write 10Gbit/s "
         "or 10GB/s"},
        {GS_EINVAL, "cluster.links.nic.efficiency=1.2",
         "cluster.links.nic.efficiency" HERE "1.2 is out of range; allowed is a ratio such as 0.05 "
         "or \"5 %\", 0.001..1"},
        {GS_EINVAL, "cluster.links.nic.efficiency=0",
         "cluster.links.nic.efficiency" HERE
         "0 is out of range; allowed is a ratio such as 0.05 or "
         "\"5 %\", 0.001..1"},
        {GS_EINVAL, "cluster.links.intra.latency=5",
         "cluster.links.intra.latency" HERE "\"5\" has no unit; write 5us or 5ms"},
        {GS_EINVAL, "cluster.links.nic.class=etherent",
         "cluster.links.nic.class" HERE
         "\"etherent\" is not one of nvlink, pcie, infiniband, roce, "
         "tcp"},
        {GS_EINVAL, "cluster.links.nic.sockets=host",
         "cluster.links.nic.sockets" HERE "\"host\" is not one of channel, process"},
        {GS_EINVAL, "cluster.links.intra.per_message=20",
         "cluster.links.intra.per_message" HERE "\"20\" has no unit; write 20us or 20ms"},
        {GS_EINVAL, "cluster.links.intra.window=4095B",
         "cluster.links.intra.window" HERE "4095B is below the least that a socket has; write 4KiB "
         "or more, or 0B for any"},
        {GS_EINVAL, "cluster.links.nic.queue=1B",
         "cluster.links.nic.queue" HERE "1B is below the least that a card takes; write 4KiB or "
         "more, or 0B for cards that serve sockets in turn"},
        {GS_EINVAL, "cluster.links.nic.loss=1",
         "cluster.links.nic.loss" HERE "1 is out of range; allowed is a ratio such as 0.05 or \"5 "
         "%\", 0..0.5"},
        {GS_EINVAL, "cluster.links.nic.segment=1B",
         "cluster.links.nic.segment" HERE "1B is out of range; allowed is a size such as 25MiB, "
         "64B..1MiB"},
        {GS_ENOTFOUND, "cluster.links.nic.curve=nosuch.txt",
         "cluster.links.nic.curve" HERE "nosuch.txt: no such file"},
        {GS_EINVAL, "cluster.links.nic.curve=" GS_TEST_SOURCE_DIR "/traces/profiles/resnet50.json",
         "cluster.links.nic.curve" HERE "\"" GS_TEST_SOURCE_DIR
         "/traces/profiles/resnet50.json\" (gradsync_layers) holds no all_reduce curve; give the "
         "output of all_reduce_perf"},
        {GS_EINVAL,
         "cluster.links.nic.curve=" GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt",
         "cluster.links.nic.curve" HERE "\"" GS_TEST_SOURCE_DIR
         "/tests/data/all_reduce_10_ranks.txt\" was measured on 10 ranks, here are 8; measure it "
         "on "
         "as many, or remove it"},
        {GS_EINVAL,
         "cluster.links.intra.curve=" GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt",
         "cluster.links.intra.curve" HERE "\"" GS_TEST_SOURCE_DIR
         "/tests/data/all_reduce_10_ranks.txt\" was measured on 10 ranks, here are 4; measure it "
         "on "
         "as many, or remove it"},
    };
    EXPECT_ALL(cases);
}

Test(scenario_errors, of_servers_and_placement)
{
    static const refusal cases[] = {
        {GS_EINVAL, "cluster.servers.at=node:x/0",
         "cluster.servers.at" HERE "\"node:x/0\" is no node of the cluster; write node:NAME/INDEX, "
         "such as node:gpu/0, or several with commas between"},
        {GS_EINVAL, "cluster.servers.at=node:gpu/2",
         "cluster.servers.at" HERE "\"node:gpu/2\" is no node of the cluster; write "
         "node:NAME/INDEX, such as node:gpu/0, or several with commas between"},
        {GS_EINVAL, "cluster.servers.at=node:gpu/1,,node:gpu/0",
         "cluster.servers.at" HERE "\"\" is no node of the cluster; write node:NAME/INDEX, such as "
         "node:gpu/0, or several with commas between"},
        {GS_EINVAL, "cluster.servers.at=gpu/0",
         "cluster.servers.at" HERE "\"gpu/0\" is no node of the cluster; write node:NAME/INDEX, "
         "such as node:gpu/0, or several with commas between"},
        {GS_EINVAL, "cluster.servers.count=65530",
         "cluster.servers.count" HERE "65530 servers and 8 ranks are over 65534 entities; lower "
         "one"},
        {GS_EINVAL, "cluster.placement.order=by_rack",
         "cluster.placement.order" HERE
         "\"by_rack\" is not one of by_node, round_robin, random, list"},
    };
    EXPECT_ALL(cases);
}

Test(scenario_errors, of_the_profile)
{
    static const refusal cases[] = {
        {GS_ENOTFOUND, "workload.profile=resnet51",
         "workload.profile" HERE "no bundled profile \"resnet51\"; did you mean \"resnet50\"? (a "
         "file is written with an ending or a /)"},
        {GS_ENOTFOUND, "workload.profile=no/such.json",
         "workload.profile" HERE "no/such.json: no such file"},
        {GS_EINVAL, "workload.profile=" GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt",
         "workload.profile" HERE "\"" GS_TEST_SOURCE_DIR
         "/tests/data/all_reduce_10_ranks.txt\" (nccl_tests) holds no steps with gradients; give "
         "profiler traces of a job that all-reduces, or a layer table"},
        {GS_EINVAL, "workload.profile=[\"resnet50\",\"resnet50\"]",
         "workload.profile" HERE GS_TEST_SOURCE_DIR "/traces/profiles/resnet50.json: a layer table "
         "is for all ranks; name one file, not 2"},
        {GS_EINVAL, "workload.profile=[]",
         "workload.profile" HERE "a list is not a file name or a list of 1 to 65536 file names"},
        {GS_EINVAL, "workload.profile=[\"\"]",
         "workload.profile[0]" HERE "is empty; give a file or a bundled profile such as resnet50"},
        {GS_EINVAL, "workload.profile=[3]",
         "workload.profile[0]" HERE "the number 3 is not a text"},
        {GS_EINVAL, "workload.profile=3",
         "workload.profile" HERE "the number 3 is not a file name or a list of 1 to 65536 file "
         "names"},
    };
    EXPECT_ALL(cases);
    expect_refused(GS_EINVAL, "{}",
                   "workload.profile: is missing; name a bundled profile (resnet50), give profiler "
                   "traces, or say workload.model to time that model by its FLOPs");
    expect_refused(GS_EINVAL,
                   "{\"workload\":{\"model\":{\"name\":\"mlp\"},\"batch_per_rank\":1000000,"
                   "\"flops_per_s\":1000}}",
                   "workload.flops_per_s: mlp: a forward pass of 1.91e+10 FLOP takes over an hour "
                   "at 1e+03 FLOP/s; raise flops_per_s or lower the batch");
}

/* Two units of 2^62 elements: their sum does not fit 63 bits. */
Test(scenario_errors, of_a_profile_too_large_to_count)
{
    static const char profile[] =
        "{\"schema\":\"gradsync.profile/1\",\"format\":\"kineto\",\"profile\":{\"source\":\"x\","
        "\"world_size\":0,\"element_bytes\":4,\"units\":["
        "{\"name\":\"a\",\"elements\":4611686018427387904,\"wire_ns\":0},"
        "{\"name\":\"b\",\"elements\":4611686018427387904,\"wire_ns\":0}],\"blocking\":[],"
        "\"ranks\":[{\"rank\":0,\"steps\":[{\"measured_ns\":0,\"compute_ns\":0,\"input_ns\":0,"
        "\"wait_ns\":0,\"wire_ns\":0,\"hidden_ns\":0,\"segments\":[[\"gradient\",0],"
        "[\"gradient\",1]]}]}]},\"curves\":[],\"notes\":[]}";
    char path[TEST_PATH_BYTES];
    char word[TEST_PATH_BYTES + 32];
    test_temp_file(path, profile, sizeof profile - 1);
    snprintf(word, sizeof word, "workload.profile=%s", path);
    expect_word_refused(GS_EINVAL, word,
                        "workload.profile" HERE
                        "holds 9.22e+18 elements of gradient; at most 1e+13 may be");
}

Test(scenario_errors, of_the_workload)
{
    static const refusal cases[] = {
        {GS_EINVAL, "workload.budget.samples=1000",
         "workload.budget: says both samples (1000) and steps (100); set one to 0"},
        {GS_EINVAL, "workload.batch_per_rank=0",
         "workload.batch_per_rank" HERE "0 is out of range; allowed is a whole number, 1..1000000"},
        {GS_EINVAL, "workload.dtype=fp8",
         "workload.dtype" HERE "\"fp8\" is not one of fp32, fp16, bf16, fp64"},
        {GS_EINVAL, "workload.target.value=1.5",
         "workload.target.value" HERE "1.5 is out of range; an accuracy is 0..1"},
        {GS_ENOTFOUND, "workload.model.name=mpl",
         "workload.model.name" HERE
         "no model \"mpl\"; did you mean mlp?; there are cnn, gpt, linear, mlp, softmax"},
        {GS_EINVAL, "workload.input.time=2",
         "workload.input.time" HERE "\"2\" has no unit; write 2us or 2ms"},
        {GS_EINVAL, "workload.input={\"workers\":1025,\"prefetch\":1024}",
         "workload.input" HERE
         "1025 workers with 1024 batches each are over 1048576 batches; lower "
         "workers or prefetch"},
        /* 8 ranks, 100 MB: 2 * 25557032 * 4 * 8 bytes a step. */
        {GS_EINVAL, "workload.budget.steps=1000000000000",
         "workload.budget: 1000000000000 steps of 1.64e+09 bytes on the wire are more than "
         "can be counted, 4.61e+18 bytes; lower the steps"},
    };
    EXPECT_ALL(cases);
}

Test(scenario_errors, of_noise)
{
    static const refusal cases[] = {
        {GS_EINVAL, "noise.compute.kind=gama",
         "noise.compute.kind" HERE "\"gama\" is not one of none, lognormal, gamma, "
         "shifted_exponential, pareto, weibull, empirical; did you mean gamma?"},
        {GS_EINVAL, "noise.input.kind=pareto",
         "noise.input" HERE "kind \"pareto\" needs \"cv\" from 0.001 on, such as \"10 %\"; or say "
         "kind \"none\""},
        {GS_EINVAL, "noise.compute={\"kind\":\"gamma\",\"cv\":0.0009}",
         "noise.compute" HERE "kind \"gamma\" needs \"cv\" from 0.001 on, such as \"10 %\"; or say "
         "kind \"none\""},
        {GS_EINVAL, "noise.compute={\"kind\":\"shifted_exponential\",\"cv\":0.1,\"shift\":0.5}",
         "noise.compute" HERE "cv 0.1 does not go with kind \"shifted_exponential\" and shift 0.5: "
         "cv is 1 - shift, 0.001 to 1; say one of them"},
        {GS_EINVAL, "noise.compute={\"kind\":\"shifted_exponential\",\"cv\":2}",
         "noise.compute" HERE "cv 2 does not go with kind \"shifted_exponential\" and shift 0.5: "
         "cv is 1 - shift, 0.001 to 1; say one of them"},
        {GS_EINVAL, "noise.compute.cv=null",
         "noise.compute.cv" HERE "null is not a ratio such as 0.05 or \"5 %\", 0..10"},
        {GS_EINVAL, "noise.input.kind=empirical",
         "noise.input.samples: is missing; kind \"empirical\" needs the factors to draw from, such "
         "as [0.9, 1, 1.3]"},
        {GS_EINVAL, "noise.input.samples=[1,-1]",
         "noise.input.samples[1]" HERE "-1 is out of range; allowed is 1e-15 to 1e15"},
        {GS_EINVAL, "noise.input.samples=[1e-320]",
         "noise.input.samples[0]" HERE "9.99989e-321 is out of range; allowed is 1e-15 to 1e15"},
        {GS_EINVAL, "noise.straggler.mean_up=1ns",
         "noise.straggler.mean_up" HERE "1ns is out of range; allowed is a duration such as 10us, "
         "1ms..32000000s"},
        {GS_EINVAL, "noise.input.samples=[1,\"a\"]",
         "noise.input.samples[1]" HERE "\"a\" is not a number"},
        {GS_EINVAL, "noise.input.samples=4",
         "noise.input.samples" HERE "takes a list of up to 1000000 numbers above 0"},
        {GS_EINVAL, "noise.straggler.rank=8",
         "noise.straggler.rank" HERE "8 is no rank of the cluster; it has 0 to 7, and -1 is every "
         "rank"},
        {GS_EINVAL, "noise.straggler={\"kind\":\"throttle\",\"cool\":0.9}",
         "noise.straggler.cool" HERE "0.9 is not below hot, which is 0.9; lower it"},
        {GS_ENOTFOUND, "noise.bandwidth.trace=nosuch.csv",
         "noise.bandwidth.trace" HERE "nosuch.csv: no such file"},
        {GS_EPARSE,
         "noise.bandwidth.trace=" GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt",
         "noise.bandwidth.trace" HERE GS_TEST_SOURCE_DIR
         "/tests/data/all_reduce_10_ranks.txt: line 21: \"     1048576        262144     float     "
         "sum      -1   2397.\" is not a header; write \"time [s],factor\" or \"time [s],rate "
         "[Gbit/s]\""},
    };
    EXPECT_ALL(cases);
    expect_refused(GS_EINVAL,
                   "{\"cluster\":{\"topology\":{\"kind\":\"switch\"}},\"noise\":{\"bandwidth\":"
                   "{\"link\":\"intra\",\"trace\":\"bw.csv\"}}}",
                   "noise.bandwidth.link: \"intra\" is no link of a switch; say \"nic\", or "
                   "topology kind \"nodes\"");
}

Test(scenario_errors, of_faults)
{
    static const refusal cases[] = {
        {GS_EINVAL, "faults=[{\"at\":\"1s\"}]",
         "faults[0]" HERE "the key \"kind\" is missing; it takes one of slow, crash, hang, "
         "link_down, node_down"},
        {GS_EINVAL, "faults=[{\"at\":\"1s\",\"kind\":\"slow\"}]",
         "faults[0]" HERE "says neither node nor rank; give one of node and rank"},
        {GS_EINVAL, "faults=[{\"at\":\"1s\",\"kind\":\"slow\",\"node\":\"gpu\",\"rank\":2}]",
         "faults[0]" HERE "says both node and rank; give one of node and rank"},
        {GS_EINVAL, "faults=[{\"at\":\"1s\",\"kind\":\"slow\",\"rank\":9}]",
         "faults[0]" HERE "rank 9 is not in the cluster, which has 0 to 7"},
        {GS_EINVAL, "faults=[{\"at\":\"1s\",\"kind\":\"slow\",\"node\":\"gpx\"}]",
         "faults[0]" HERE "no node is called \"gpx\"; the first ones are \"gpu\""},
        {GS_EINVAL, "faults=[{\"at\":\"1s\",\"kind\":\"slow\",\"node\":\"gpu\",\"index\":2}]",
         "faults[0]" HERE "index 2 of node \"gpu\" is not there; it has 0 to 1"},
        {GS_EINVAL, "faults={}",
         "faults" HERE "an object is not a list of up to 100000 objects; write [ {...} ]"},
    };
    EXPECT_ALL(cases);
}

Test(scenario_errors, of_phases)
{
    static const refusal cases[] = {
        {GS_EINVAL, "workload.phases=[{\"from_step\":5}]",
         "workload.phases[0]" HERE "the key \"phase\" is missing; it takes one of normal, warmup, "
         "sparse, critical"},
        {GS_EINVAL, "workload.phases=[{\"from_step\":5,\"phase\":\"cold\"}]",
         "workload.phases[0].phase" HERE "\"cold\" is not one of normal, warmup, sparse, critical"},
        {GS_EINVAL,
         "workload.phases=[{\"from_step\":5,\"phase\":\"sparse\"},{\"from_step\":5,\"phase\":"
         "\"normal\"}]",
         "workload.phases[1].from_step" HERE "5 comes after 5; list phases by ascending step"},
    };
    EXPECT_ALL(cases);
}

Test(scenario_errors, of_evaluate_and_gates)
{
    static const refusal cases[] = {
        {GS_EINVAL, "evaluate.metrics=[\"step_p5\"]",
         "evaluate.metrics[0]" HERE "\"step_p5\" is no metric; did you mean \"step_p50\"?"},
        {GS_EINVAL, "evaluate.metrics=[\"zzz\"]",
         "evaluate.metrics[0]" HERE "\"zzz\" is no metric; see `gradsync list metrics`"},
        {GS_EINVAL, "evaluate.metrics=step_p50",
         "evaluate.metrics" HERE "takes a list of names of metrics; empty: all of them"},
        {GS_EINVAL, "evaluate.seeds=0",
         "evaluate.seeds" HERE "0 is out of range; allowed is a whole number, 1..10000"},
        {GS_EINVAL, "gates=[{\"metric\":\"time_to_targt\"}]",
         "gates[0].metric" HERE "\"time_to_targt\" is no metric; did you mean \"time_to_target\"?"},
        {GS_EINVAL, "live.transport=mpy",
         "live.transport" HERE
         "\"mpy\" is not one of auto, loop, mpi, tcp, nccl; did you mean mpi?"},
    };
    EXPECT_ALL(cases);
}

Test(scenario_errors, of_strategies_in_the_file)
{
    static const refusal cases[] = {
        {GS_EINVAL, "strategies=[]",
         "strategies" HERE "takes a list of 1 to 256 objects; without the key it is allreduce"},
        {GS_EINVAL, "strategies=[\"allreduce\"]",
         "strategies[0]" HERE "takes an object with a name, such as {\"name\": \"allreduce\"}"},
        {GS_ENOTFOUND, "strategies=[{\"name\":\"allreduc\"}]",
         "strategies[0].name" HERE "no strategy \"allreduc\"; did you mean \"allreduce\"?"},
        {GS_ENOTFOUND, "strategies=[{\"name\":\"xyz\"}]",
         "strategies[0].name" HERE "no strategy \"xyz\"; see `gradsync list strategies`"},
        {GS_EINVAL, "strategies=[{\"name\":\"allreduce\",\"bukcet\":\"1MiB\"}]",
         "strategies[0]" HERE "unknown key \"bukcet\"; did you mean \"bucket\"?"},
        {GS_EINVAL, "strategies.1.bucket=10",
         "strategies[1].bucket" HERE "\"10\" has no unit; write 10B or 10MiB"},
        {GS_EINVAL, "strategies.1.bucket=25MiB",
         "strategies: \"allreduce\" stands twice (0 and 1); remove one"},
        {GS_EINVAL, "strategies.0.codec=fp16",
         "strategies[0].codec" HERE "takes an object with a name, such as {\"name\": \"topk\"}"},
        {GS_ENOTFOUND, "strategies.0.codec.name=topkk",
         "strategies[0].codec.name" HERE "no codec \"topkk\"; did you mean \"topk\"?"},
    };
    EXPECT_ALL(cases);
}

static void expect_strategy_refused(gs_status code, const char *word, const char *message)
{
    char expected[sizeof err.text];
    options.strategies = &word;
    options.strategy_count = 1;
    gs_status status = read_file("demo-ethernet");
    snprintf(expected, sizeof expected, "demo-ethernet: strategy \"%s\" on the command line: %s",
             word, message);
    cr_expect_eq(status, code, "%s gives %d", word, status);
    cr_expect_str_eq(err.text, expected);
}

Test(scenario_errors, of_strategies_on_the_command_line)
{
    expect_strategy_refused(GS_ENOTFOUND, "allredcue",
                            "no strategy \"allredcue\"; did you mean \"allreduce\"?");
    expect_strategy_refused(GS_EINVAL, "allreduce:bucket",
                            "\"bucket\" is not KEY=VALUE, such as bucket=25MiB");
    expect_strategy_refused(GS_EINVAL, "allreduce:", "\"\" is not KEY=VALUE, such as bucket=25MiB");
    expect_strategy_refused(GS_EINVAL, "allreduce:bucket,overlap=true",
                            "\"bucket\" is not KEY=VALUE, such as bucket=25MiB");
    expect_strategy_refused(GS_EINVAL, "allreduce:bucket=1MiB,overlap=true,bucket=2MiB",
                            "bucket is given twice; remove one");
    expect_strategy_refused(GS_EINVAL, "allreduce:bucket=1",
                            "allreduce.bucket: \"1\" has no unit; write 1B or 1MiB");
    expect_strategy_refused(GS_EINVAL, "allreduce:bukcet=1MiB",
                            "allreduce: there is no key \"bukcet\"; did you mean bucket? known are "
                            "bucket, first_bucket, accumulation, overlap, algorithm, average");
    expect_strategy_refused(GS_EINVAL, "local_sgd+bf16:period=2",
                            "\"period\" is a parameter of local_sgd, not of bf16; write "
                            "local_sgd:period=2+bf16");
    expect_strategy_refused(GS_EINVAL, "allreduce:bucket=1MiB+topk:ratio=0.1,overlap=false",
                            "\"overlap\" is a parameter of allreduce, not of topk; write "
                            "allreduce:bucket=1MiB,overlap=false+topk");
    expect_strategy_refused(GS_ENOTFOUND, "ring",
                            "no strategy \"ring\": that is an algorithm; write "
                            "allreduce:algorithm=ring");
    expect_strategy_refused(GS_ENOTFOUND, "topk",
                            "no strategy \"topk\": that is a codec; write allreduce+topk");
    expect_strategy_refused(GS_ENOTFOUND, "FedAvg", "no strategy \"FedAvg\": that is local_sgd");
    expect_strategy_refused(GS_ENOTFOUND, "fsdp",
                            "no strategy \"fsdp\": that is not here: gradients and parameters are "
                            "whole on every rank; sharded is ZeRO-1");
    expect_strategy_refused(GS_ENOTFOUND, "ssgd", "no strategy \"ssgd\": that is allreduce");
    expect_strategy_refused(GS_ENOTFOUND, "downpour", "no strategy \"downpour\": that is asp");
    expect_strategy_refused(GS_ENOTFOUND, "allreduce+fp8",
                            "no codec \"fp8\": that is fp8_e4m3 or fp8_e5m2");
    expect_strategy_refused(GS_EINVAL, "local_sgd:H=8",
                            "local_sgd has no H: that is period; see `gradsync show local_sgd`");
    expect_strategy_refused(GS_EINVAL, "allreduce+powersgd:r=4",
                            "powersgd has no r: that is rank; see `gradsync show powersgd`");
    expect_strategy_refused(GS_EINVAL, "allreduce+topk:k=4",
                            "topk has no k: that is ratio; see `gradsync show topk`");
    expect_strategy_refused(GS_ENOTFOUND, "allreduce+signsgd",
                            "no codec \"signsgd\": that is sign");
    expect_strategy_refused(GS_ENOTFOUND, "allreduce+zip",
                            "no codec \"zip\"; see `gradsync list codecs`");
    expect_strategy_refused(GS_EINVAL, "allreduce+fp16:x=1",
                            "fp16 takes no parameters; remove \":x=1\"");
    expect_strategy_refused(GS_EINVAL, "allreduce+topk:ratio",
                            "\"ratio\" is not KEY=VALUE, such as ratio=0.01");
    expect_strategy_refused(GS_EINVAL, "allreduce+topk:ratio=2",
                            "topk.ratio: 2 is out of range; allowed is a ratio such as 0.05 or "
                            "\"5 %\", 1e-09..1");
}

Test(scenario_errors, strategies_of_the_command_line_replace_those_of_the_file)
{
    options.strategies =
        (const char *const[]){"allreduce:overlap=false,bucket=10240KiB", "allreduce"};
    options.strategy_count = 2;
    cr_assert_eq(read_file("demo-ethernet"), GS_OK, "%s", err.text);
    cr_assert_eq(scenario.strategy_count, 2u);
    cr_expect_str_eq(scenario.strategies[0].label, "allreduce:bucket=10MiB,overlap=false",
                     "in the order of the table, exact units");
}

static void expect_combination_refused(const char *word, const char *message)
{
    char expected[sizeof err.text];
    options.strategies = &word;
    options.strategy_count = 1;
    gs_status status = read_file("demo-ethernet");
    snprintf(expected, sizeof expected, "demo-ethernet: strategy \"%s\": %s", word, message);
    cr_expect_eq(status, GS_EINVAL, "%s gives %d", word, status);
    cr_expect_str_eq(err.text, expected);
}

Test(scenario_errors, of_codecs_with_gossip)
{
    expect_combination_refused("sgp+topk",
                               "sgp carries no codec: what it sends must arrive as it is; remove "
                               "+topk, or use allreduce+topk (`gradsync show matrix` has all that "
                               "work)");
    expect_combination_refused("choco+topk",
                               "choco sends to several neighbours, and topk would keep what did "
                               "not get through to one of them; use choco+topk:feedback=false, "
                               "which knows what all have");
    expect_combination_refused("d_psgd+dgc",
                               "d_psgd sends to several neighbours, and dgc would keep what did "
                               "not get through to one of them; use choco+topk:feedback=false, "
                               "which knows what all have");
}
