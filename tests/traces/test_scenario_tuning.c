/* cluster.tuning and cluster.nccl: how NCCL's model sees a scenario's cluster, whose times count,
 * and what is refused or without effect. */
#include "tests/traces/scenario_fixture.h"

#include <math.h>

TestSuite(scenario_tuning, .init = scenario_setup, .fini = scenario_teardown);

#define H100_NODES "cluster.nodes=[{\"count\": 4, \"ranks\": 8, \"device\": \"H100\"}]"
#define NVLINK     "cluster.links.intra.bandwidth=370.8GB/s"
#define NIC        "cluster.links.nic.bandwidth=400Gbit/s"
#define WHOLE      "cluster.links.nic.efficiency=1"
#define CURVE      GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt"
#define TEN_RANKS  "cluster.nodes=[{\"ranks\": 4, \"count\": 2}, {\"ranks\": 2}]"

static gs_nccl_machine machine_of(uint32_t members, uint32_t inner)
{
    gs_nccl_machine machine = {.ranks = 0};
    cr_assert(gs_scenario_nccl_machine(&scenario, members, inner, &machine));
    return machine;
}

/* 18 NVLinks of 20.6 GB/s leave a GPU, 8 nics of 50 GB/s a node: the ring is bound by NVLink, 18
 * channels of one link each, which NCCL lays twice. Heads of the switch share what enters a node.
 */
Test(scenario_tuning, channels_are_as_many_links_as_the_rate_holds)
{
    cr_assert_eq(READ_DEMO(H100_NODES, NVLINK, NIC, WHOLE, "cluster.topology.nics=8"), GS_OK, "%s",
                 err.text);
    gs_nccl_machine machine = machine_of(32, 8);
    cr_assert(machine.nodes == 4 && machine.generation == GS_NCCL_HOPPER && machine.nvls);
    cr_assert_eq(machine.graphs[GS_NCCL_RING].channels, 18);
    cr_assert_float_eq(machine.graphs[GS_NCCL_RING].intra_gbps, 20.6, 1e-9);
    cr_assert_eq(machine.channels, 36);
    cr_assert_eq(machine.graphs[GS_NCCL_NVLS].channels, 8);
    cr_assert_float_eq(machine.graphs[GS_NCCL_NVLS].intra_gbps, 46.35, 1e-9);
    cr_assert_float_eq(machine.graphs[GS_NCCL_NVLS_TREE].inter_gbps, 50.0, 1e-9);
}

/* One nic of 400 Gbit/s: 50 GB/s are 2 channels of 25; a group of 4 such nodes' first ranks. */
Test(scenario_tuning, a_nic_bounds_what_nvlink_could)
{
    cr_assert_eq(READ_DEMO(H100_NODES, NVLINK, NIC, WHOLE), GS_OK, "%s", err.text);
    gs_nccl_machine machine = machine_of(32, 8);
    cr_assert_eq(machine.graphs[GS_NCCL_RING].channels, 2);
    cr_assert_float_eq(machine.graphs[GS_NCCL_RING].inter_gbps, 25.0, 1e-9);
    machine = machine_of(4, 1);
    cr_assert(machine.nodes == 4 && !machine.nvls, "one rank a node has no use for the switch");
    gs_nccl_machine none;
    cr_assert_not(gs_scenario_nccl_machine(&scenario, 1, 1, &none));
}

Test(scenario_tuning, users_say_what_they_know_better)
{
    cr_assert_eq(READ_DEMO(H100_NODES, "cluster.nccl.channels=8",
                           "cluster.nccl.channel_rate=24GB/s", "cluster.nccl.nvls=no",
                           "cluster.nccl.generation=blackwell", "cluster.nccl.cpu=amd",
                           "cluster.nccl.max_ctas=12"),
                 GS_OK, "%s", err.text);
    gs_nccl_machine machine = machine_of(32, 8);
    cr_assert(machine.generation == GS_NCCL_BLACKWELL && !machine.nvls);
    cr_assert_eq(machine.cpu, GS_NCCL_AMD);
    cr_assert_eq(machine.graphs[GS_NCCL_TREE].channels, 8);
    cr_assert_float_eq(machine.graphs[GS_NCCL_TREE].inter_gbps, 24.0, 1e-9);
    cr_assert_eq(machine.channels, 12, "8 channels laid twice, at most 12");
}

/* 8 A100 on one node, 12 channels of 20 GB/s, only rings of Simple: 56 us + 1 GB / 137.142857 GB/s
 * (tests/traces/test_nccl_model.c) = 56 + 7,291.67 us. */
Test(scenario_tuning, the_model_may_time_all_reduces)
{
    cr_assert_eq(READ_DEMO("cluster.nodes=[{\"ranks\": 8, \"device\": \"A100-40GB\"}]",
                           "cluster.links.intra.bandwidth=240GB/s",
                           "cluster.links.intra.efficiency=1", "cluster.nccl.times=model",
                           "cluster.nccl.algo=ring", "cluster.nccl.proto=Simple"),
                 GS_OK, "%s", err.text);
    const gs_curve *curve = scenario.cluster.intra.curve;
    bool outside;
    cr_assert_not_null(curve);
    cr_assert_float_eq((double)gs_curve_time(curve, 1000000000, &outside), 56000.0 + 7291666.67,
                       2.0, "points are whole ns, rounded up");
    cr_assert_null(scenario.cluster.nic.curve);
}

Test(scenario_tuning, a_measured_curve_counts_more_than_the_model)
{
    cr_assert_eq(READ_DEMO(TEN_RANKS, "cluster.links.nic.curve=" CURVE, "cluster.nccl.times=model"),
                 GS_OK, "%s", err.text);
    cr_assert_str_eq(scenario.cluster.nic.curve->source, CURVE);
    cr_assert_str_eq(scenario.notes[0],
                     "cluster.nccl.times: model has no effect: the curve of cluster.links.nic is "
                     "measured, which counts more");
}

/* The rules of the user come first, then those of what is followed: here two tables of one curve,
 * of which the first is never slower. */
Test(scenario_tuning, measured_tables_become_rules)
{
    cr_assert_eq(READ_DEMO(TEN_RANKS, "cluster.tuning.follow=measured",
                           "cluster.tuning.measured=[{\"algorithm\": \"naive\", \"curve\": \"" CURVE
                           "\"}, {\"algorithm\": \"ring\", \"rings\": 2, \"curve\": \"" CURVE
                           "\"}]"),
                 GS_OK, "%s", err.text);
    const gs_selection *selection = &scenario.strategies[0].selection;
    cr_assert_eq(selection->rule_count, 1);
    cr_assert_str_eq(selection->rules[0].choice.program->name, "naive");
    cr_assert_eq(selection->rules[0].up_to_bytes, INT64_MAX);
}

/* MPICH alone would halve and double at 64 KiB; what the user leaves open it decides. */
Test(scenario_tuning, a_rule_of_the_user_comes_before_what_is_followed)
{
    static const gs_communicator all = {.kinds = 0};
    cr_assert_eq(READ_DEMO("cluster.tuning.follow=mpich",
                           "cluster.collectives=[{\"kind\": \"all_reduce\", \"up_to\": "
                           "\"64KiB\", \"algorithm\": \"naive\"}]"),
                 GS_OK, "%s", err.text);
    const gs_selection *selection = &scenario.strategies[0].selection;
    gs_choice small = gs_selection_choose(selection, &all, 0, GS_ALL_REDUCE, 65536);
    gs_choice large = gs_selection_choose(selection, &all, 0, GS_ALL_REDUCE, 65537);
    cr_assert_str_eq(small.program->name, "naive");
    cr_assert_str_eq(large.program->name, "halving_doubling");
}

Test(scenario_tuning, what_cannot_be_is_refused)
{
    expect_word_refused(GS_EINVAL, "cluster.nccl.proto=LL64",
                        "cluster.nccl.proto on the command line: NCCL_PROTO=\"LL64\": \"LL64\" is "
                        "none of LL, LL128, Simple; did you mean LL?");
    expect_word_refused(GS_EINVAL, "cluster.nccl.nthreads=100",
                        "cluster.nccl.nthreads on the command line: 100: NCCL would take its most "
                        "instead; write a multiple of 32 from 64 on, or 0");
    expect_word_refused(GS_EINVAL, "cluster.nccl.buffsize=7B",
                        "cluster.nccl.buffsize on the command line: 7B leaves no room for the 8 "
                        "steps of a channel; write 32KiB or more, or 0B");
    expect_word_refused(GS_EINVAL, "cluster.nccl={\"min_ctas\": 9, \"max_ctas\": 8}",
                        "cluster.nccl.min_ctas on the command line: 9 is over max_ctas, 8; lower "
                        "it");
    expect_word_refused(GS_EINVAL, "cluster.nccl={\"times\": \"model\", \"algo\": \"pat\"}",
                        "cluster.nccl on the command line: algo and proto leave NCCL nothing to do "
                        "an all-reduce by on this machine; allow ring or tree");
    expect_word_refused(GS_EINVAL, "cluster.tuning.follow=measured",
                        "cluster.tuning.measured: is empty, and algorithm=auto is to follow it; "
                        "list {algorithm, curve} for each algorithm measured");
    expect_word_refused(GS_EINVAL,
                        "cluster.tuning.measured=[{\"algorithm\": \"rign\", \"curve\": \"x\"}]",
                        "cluster.tuning.measured[0].algorithm on the command line: \"rign\" is no "
                        "algorithm of all-reduce; did you mean ring?");
    expect_word_refused(
        GS_EINVAL, "cluster.tuning.measured=[{\"algorithm\": \"ring\", \"curve\": \"" CURVE "\"}]",
        "cluster.tuning.measured[0].curve on the command line: \"" CURVE
        "\" holds no all_reduce on 8 ranks; measure it on as many");
}

static void expect_note(const char *word, const char *note)
{
    cr_assert_eq(READ_DEMO(word), GS_OK, "%s: %s", word, err.text);
    cr_expect_gt(scenario.note_count, 0, "%s", word);
    cr_expect_str_eq(scenario.note_count > 0 ? scenario.notes[0] : "", note);
}

Test(scenario_tuning, settings_without_effect_are_named)
{
    expect_note("cluster.nccl.buffsize=1MiB",
                "cluster.nccl: buffsize has no effect: nothing follows NCCL's model; say "
                "cluster.tuning.follow=nccl or cluster.nccl.times=model");
    expect_note(
        "cluster.nccl={\"times\": \"model\", \"nsocks_perthread\": 4}",
        "cluster.nccl: nsocks_perthread has no effect: not modelled; cluster.links.nic says "
        "what TCP gives");
    expect_note("cluster.nccl={\"times\": \"model\", \"nthreads\": 128}",
                "cluster.nccl: nthreads has no effect: NCCL's estimate of a time does not depend "
                "on it");
    options.strategies = (const char *const[]){"allreduce:algorithm=ring"};
    options.strategy_count = 1;
    expect_note("cluster.tuning.follow=nccl",
                "cluster.tuning: follow has no effect: no strategy leaves the algorithm open "
                "(algorithm=auto)");
}

/* MPICH's short all-reduces are recursive doublings, where both of a pair add what is rounded on
 * its way: fp32 has the same bits on both, real 16-bit numbers have not. */
Test(scenario_tuning, real_numbers_of_16_bits_have_equal_bits_on_all_ranks)
{
    static const char *const types[] = {"workload.dtype=fp32", "workload.dtype=bf16"};
    for (int half = 0; half < 2; half++) {
        cr_assert_eq(READ_DEMO("cluster.tuning.follow=mpich",
                               "strategies=[{\"name\": \"allreduce\", \"algorithm\": \"auto\"}]",
                               "workload.real_gradients=true", types[half]),
                     GS_OK, "%s", err.text);
        const gs_selection *rules = &scenario.strategies[0].selection;
        bool mutual = false;
        cr_assert_gt(rules->rule_count, 0);
        for (uint32_t i = 0; i < rules->rule_count; i++) {
            mutual = mutual || rules->rules[i].choice.program->is_mutual;
        }
        cr_expect_eq(mutual, half == 0, "%s", types[half]);
    }
}
