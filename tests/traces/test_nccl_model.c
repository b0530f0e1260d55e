/* NCCL's tuning model against values worked out by hand from the formulae and constants of
 * src/graph/tuning.cc, version 2.30.7. */
#include <criterion/criterion.h>

#include "traces/nccl_model.h"

#include <math.h>
#include <string.h>

static gs_nccl_machine machine_of(uint32_t nodes, uint32_t node_ranks, int generation,
                                  gs_nccl_graph graph)
{
    gs_nccl_machine machine = {.ranks = nodes * node_ranks,
                               .nodes = nodes,
                               .generation = generation,
                               .cpu = GS_NCCL_INTEL,
                               .channels = graph.channels};
    for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
        machine.graphs[a] = graph;
    }
    return machine;
}

/* 8 A100: 12 NVLinks of 20 GB/s each way are 12 channels. */
static gs_nccl_machine eight_a100(void)
{
    return machine_of(1, 8, GS_NCCL_AMPERE, (gs_nccl_graph){12, 20.0, 20.0});
}

static gs_nccl_model make(const gs_nccl_machine *machine)
{
    gs_nccl_settings settings = gs_nccl_settings_default();
    gs_nccl_model model;
    gs_nccl_model_init(&model, machine, &settings);
    return model;
}

static void expect_latencies(const gs_nccl_model *model, gs_nccl_algorithm algorithm, double ll,
                             double ll128, double simple)
{
    const double *got = model->latency_us[GS_NCCL_ALL_REDUCE][algorithm];
    cr_expect_float_eq(got[GS_NCCL_LL], ll, 1e-9, "LL %.12g", got[GS_NCCL_LL]);
    cr_expect_float_eq(got[GS_NCCL_LL128], ll128, 1e-9, "LL128 %.12g", got[GS_NCCL_LL128]);
    cr_expect_float_eq(got[GS_NCCL_SIMPLE], simple, 1e-9, "Simple %.12g", got[GS_NCCL_SIMPLE]);
}

static void expect_rates(const gs_nccl_model *model, gs_nccl_algorithm algorithm, double ll,
                         double ll128, double simple)
{
    const double *got = model->rate_gbps[GS_NCCL_ALL_REDUCE][algorithm];
    cr_expect_float_eq(got[GS_NCCL_LL], ll, 1e-3, "LL %.12g", got[GS_NCCL_LL]);
    cr_expect_float_eq(got[GS_NCCL_LL128], ll128, 1e-3, "LL128 %.12g", got[GS_NCCL_LL128]);
    cr_expect_float_eq(got[GS_NCCL_SIMPLE], simple, 1e-3, "Simple %.12g", got[GS_NCCL_SIMPLE]);
}

/* The published golden vectors: all-reduce, 8 GPUs on one node over NVLink, no latency of the
 * network. Ring: base + 14 steps (6.6 + 14 x 0.6, 14 + 14 x 1.9, 8.4 + 14 x 3.4); tree: base + 2 x
 * 7 steps (6.8 + 14 x 0.6, 14 + 14 x 1.25, 8.4 + 14 x 4). */
Test(nccl_model, eight_gpus_of_a_node_have_the_latencies_of_the_golden_vectors)
{
    gs_nccl_machine machine = eight_a100();
    gs_nccl_model model = make(&machine);
    expect_latencies(&model, GS_NCCL_RING, 15.0, 40.6, 56.0);
    expect_latencies(&model, GS_NCCL_TREE, 15.2, 31.5, 64.4);
}

/* Links carry 240 GB/s. Ring, times 8/14: LL half of it, capped at 87.7; LL128 0.92 of it, below 12
 * x 20; all. Tree: 0.92 of it, below 12 x 24, is 220.8; x 0.85 x 0.5; LL / 3.8, LL128 x 7/9. */
Test(nccl_model, rates_of_eight_a100_are_those_of_the_formulae)
{
    gs_nccl_machine machine = eight_a100();
    gs_nccl_model model = make(&machine);
    expect_rates(&model, GS_NCCL_RING, 87.7 * 8 / 14, 220.8 * 8 / 14, 240.0 * 8 / 14);
    expect_rates(&model, GS_NCCL_TREE, 220.8 / 3.8 * 0.425, 220.8 * 7 / 9 * 0.425, 220.8 * 0.425);
    machine.split_tree = true;
    model = make(&machine);
    expect_rates(&model, GS_NCCL_TREE, 220.8 / 3.8 * 0.5, 220.8 * 7 / 9 * 0.5, 220.8 * 0.5);
}

/* 4 nodes of 8: 62 steps, 6 of them between nodes. A step inside takes no less than what posting to
 * the network takes: 1 us (Intel), 2 us (AMD), three times that with Simple. */
Test(nccl_model, rings_over_nodes_pay_for_posting_to_the_network)
{
    gs_nccl_machine machine = machine_of(4, 8, GS_NCCL_HOPPER, (gs_nccl_graph){8, 50.0, 48.5});
    gs_nccl_model model = make(&machine);
    expect_latencies(&model, GS_NCCL_RING, 6.6 + 56 * 1.0 + 6 * 2.7, 14.0 + 56 * 1.9 + 6 * 4.0,
                     8.4 + 56 * 3.4 + 6 * 14.0);
    machine.cpu = GS_NCCL_AMD;
    model = make(&machine);
    expect_latencies(&model, GS_NCCL_RING, 6.6 + 56 * 2.0 + 6 * 2.7, 14.0 + 56 * 2.0 + 6 * 4.0,
                     8.4 + 56 * 6.0 + 6 * 14.0);
}

/* Two levels over 4 nodes; what a plug-in reports (1.5 us) comes on top, twice with Simple, which
 * flushes. */
Test(nccl_model, trees_over_nodes_climb_and_descend_by_levels)
{
    gs_nccl_machine machine = machine_of(4, 8, GS_NCCL_HOPPER, (gs_nccl_graph){8, 50.0, 48.5});
    machine.net_latency_us = 1.5;
    gs_nccl_model model = make(&machine);
    expect_latencies(&model, GS_NCCL_TREE, 6.8 + 2 * (7 * 0.6 + 2 * 6.5),
                     14.0 + 2 * (7 * 1.25 + 2 * 10.0), 8.4 + 2 * (7 * 4.0 + 2 * 17.0));
}

/* On three nodes and more the rate between nodes counts: 8 x 48.5 = 388 GB/s. Ring, times 32/62:
 * LL by the row of Intel, 20.4, or of AMD, 19; LL128 capped at 8 x 36.7. Tree: 0.92 x 388 = 356.96
 * is over 8 x 36 = 288; LL within 20.4; LL128 120/128 of 288 is over 8 x 29. */
Test(nccl_model, on_four_nodes_the_network_and_the_processor_bound_rates)
{
    gs_nccl_machine machine = machine_of(4, 8, GS_NCCL_HOPPER, (gs_nccl_graph){8, 50.0, 48.5});
    gs_nccl_model model = make(&machine);
    expect_rates(&model, GS_NCCL_RING, 20.4 * 32 / 62, 293.6 * 32 / 62, 388.0 * 32 / 62);
    expect_rates(&model, GS_NCCL_TREE, 20.4 * 0.425, 232.0 * 0.425, 288.0 * 0.425);
    machine.cpu = GS_NCCL_AMD;
    model = make(&machine);
    expect_rates(&model, GS_NCCL_RING, 19.0 * 32 / 62, 293.6 * 32 / 62, 388.0 * 32 / 62);
}

/* Two nodes are reckoned by the rate inside of nodes: 8 x 50 = 400. */
Test(nccl_model, on_two_nodes_the_rate_inside_counts)
{
    gs_nccl_machine machine = machine_of(2, 8, GS_NCCL_HOPPER, (gs_nccl_graph){8, 50.0, 48.5});
    gs_nccl_model model = make(&machine);
    expect_rates(&model, GS_NCCL_RING, 39.0 * 16 / 30, 293.6 * 16 / 30, 400.0 * 16 / 30);
}

/* One rank a node: each of the 6 steps takes the tree's 5, 8.5 and 14 us. PAT, by default only
 * there: 8 + 2 levels x 14 / 3.5 + 4 ranks x 2.8, at 0.75 of 8 x 24. */
Test(nccl_model, with_one_rank_a_node_nothing_hides_the_network)
{
    gs_nccl_machine machine = machine_of(4, 1, GS_NCCL_AMPERE, (gs_nccl_graph){8, 25.0, 24.0});
    gs_nccl_model model = make(&machine);
    expect_latencies(&model, GS_NCCL_RING, 6.6 + 6 * 5.0, 14.0 + 6 * 8.5, 8.4 + 6 * 14.0);
    cr_assert_float_eq(model.latency_us[GS_NCCL_ALL_GATHER][GS_NCCL_PAT][GS_NCCL_SIMPLE],
                       8.0 + 2 * 4.0 + 4 * 2.8, 1e-9);
    cr_assert_float_eq(model.rate_gbps[GS_NCCL_ALL_GATHER][GS_NCCL_PAT][GS_NCCL_SIMPLE], 144.0,
                       1e-9);
    cr_assert_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_PAT][GS_NCCL_SIMPLE], 0.0);
    machine = machine_of(4, 2, GS_NCCL_AMPERE, (gs_nccl_graph){8, 25.0, 24.0});
    model = make(&machine);
    cr_assert_eq(model.rate_gbps[GS_NCCL_ALL_GATHER][GS_NCCL_PAT][GS_NCCL_SIMPLE], 0.0,
                 "with two ranks a node NCCL does not");
}

/* 8 H100 on a switch that sums: 8 channels of 60 x 0.85 x 7/8, twice in an all-reduce, is 714, x
 * 8/14; 25 us. All-gather: 7/8 instead of twice, and size over time is what links carry. */
Test(nccl_model, a_switch_that_sums_does_in_one_step)
{
    gs_nccl_machine machine = machine_of(1, 8, GS_NCCL_HOPPER, (gs_nccl_graph){8, 60.0, 60.0});
    gs_nccl_model model = make(&machine);
    cr_assert_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_NVLS][GS_NCCL_SIMPLE], 0.0);
    machine.nvls = true;
    model = make(&machine);
    cr_assert_float_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_NVLS][GS_NCCL_SIMPLE], 408.0,
                       1e-9);
    cr_assert_float_eq(model.latency_us[GS_NCCL_ALL_REDUCE][GS_NCCL_NVLS][GS_NCCL_SIMPLE], 25.0,
                       1e-9);
    cr_assert_float_eq(model.rate_gbps[GS_NCCL_ALL_GATHER][GS_NCCL_NVLS][GS_NCCL_SIMPLE],
                       8 * 60.0 * 0.85 * 7 / 8 * 7 / 8, 1e-9);
    cr_assert_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_NVLS_TREE][GS_NCCL_SIMPLE], 0.0,
                 "one node has no tree of switches");
}

/* Over 4 nodes: 25 + 2 x 2 levels x 20.9; a channel gets the least of 60 x 0.85 x 7/8 x 2 = 89.25,
 * 48.5 of the network, 45.5 by the cap. Over 2 the network counts twice: 97; the cap is 57.7. */
Test(nccl_model, switches_that_sum_are_joined_by_a_tree)
{
    gs_nccl_machine machine = machine_of(4, 8, GS_NCCL_HOPPER, (gs_nccl_graph){8, 60.0, 48.5});
    machine.nvls = true;
    gs_nccl_model model = make(&machine);
    cr_assert_float_eq(model.latency_us[GS_NCCL_ALL_REDUCE][GS_NCCL_NVLS_TREE][GS_NCCL_SIMPLE],
                       108.6, 1e-9);
    cr_assert_float_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_NVLS_TREE][GS_NCCL_SIMPLE],
                       8 * 45.5 * 32 / 62, 1e-9);
    machine = machine_of(2, 8, GS_NCCL_HOPPER, (gs_nccl_graph){8, 60.0, 48.5});
    machine.nvls = true;
    model = make(&machine);
    cr_assert_float_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_NVLS_TREE][GS_NCCL_SIMPLE],
                       8 * 57.7 * 16 / 30, 1e-9);
}

/* 1 MiB is 64 B x 2^14: LL and Simple keep 0.5 of the tree's rate; 512 MiB, 2^23, keeps all. */
Test(nccl_model, medium_sizes_cost_a_tree_a_part_of_its_rate)
{
    gs_nccl_machine machine = eight_a100();
    gs_nccl_model model = make(&machine);
    double mib = 1048576.0;
    cr_assert_float_eq(
        gs_nccl_time_us(&model, GS_NCCL_ALL_REDUCE, GS_NCCL_TREE, GS_NCCL_SIMPLE, INT64_C(1) << 20),
        64.4 + mib / (1000 * 93.84 * 0.5), 1e-9);
    cr_assert_float_eq(
        gs_nccl_time_us(&model, GS_NCCL_ALL_REDUCE, GS_NCCL_TREE, GS_NCCL_SIMPLE, INT64_C(1) << 29),
        64.4 + 512 * mib / (1000 * 93.84), 1e-6);
    cr_assert_float_eq(gs_nccl_time_us(&model, GS_NCCL_ALL_REDUCE, GS_NCCL_TREE, GS_NCCL_LL, 60),
                       15.2 + 60 / (1000 * 220.8 / 3.8 * 0.425), 1e-9,
                       "below 64 B nothing is corrected");
}

/* 8 channels x 32 ranks x 64 B = 16 KiB: from there on a ring over nodes has its plateau, 1.4 times
 * the latency, and 1.9 times before Ampere. 282.8 us: see the ring over nodes above. */
Test(nccl_model, a_ring_over_nodes_has_a_plateau)
{
    gs_nccl_machine machine = machine_of(4, 8, GS_NCCL_HOPPER, (gs_nccl_graph){8, 50.0, 48.5});
    gs_nccl_model model = make(&machine);
    double rate = 388.0 * 32 / 62;
    cr_assert_float_eq(
        gs_nccl_time_us(&model, GS_NCCL_ALL_REDUCE, GS_NCCL_RING, GS_NCCL_SIMPLE, 16383),
        (282.8 + 16383 / (1000 * rate)), 1e-9);
    cr_assert_float_eq(
        gs_nccl_time_us(&model, GS_NCCL_ALL_REDUCE, GS_NCCL_RING, GS_NCCL_SIMPLE, 16384),
        (1.4 * 282.8 + 16384 / (1000 * rate)), 1e-9);
    machine.generation = GS_NCCL_VOLTA;
    model = make(&machine);
    cr_assert_float_eq(
        gs_nccl_time_us(&model, GS_NCCL_ALL_REDUCE, GS_NCCL_RING, GS_NCCL_SIMPLE, 16384),
        (1.9 * 282.8 + 16384 / (1000 * rate)), 1e-9);
}

/* Smallest time: 4 KiB in 15.08 (ring, LL) or 15.37 us (tree, LL); 1 GiB at 137.1 GB/s (ring,
 * Simple). Between: ring LL128 has 15.4 us less latency than Simple and 8 % less rate. */
Test(nccl_model, small_ops_take_latency_and_large_ones_rate)
{
    gs_nccl_machine machine = eight_a100();
    gs_nccl_model model = make(&machine);
    gs_nccl_algorithm algorithm = GS_NCCL_ALGORITHM_COUNT;
    gs_nccl_protocol protocol = GS_NCCL_PROTOCOL_COUNT;
    cr_assert(gs_nccl_choose(&model, GS_NCCL_ALL_REDUCE, 4096, &algorithm, &protocol));
    cr_assert(algorithm == GS_NCCL_RING && protocol == GS_NCCL_LL);
    cr_assert(gs_nccl_choose(&model, GS_NCCL_ALL_REDUCE, INT64_C(16) << 20, &algorithm, &protocol));
    cr_assert(algorithm == GS_NCCL_RING && protocol == GS_NCCL_LL128);
    cr_assert(gs_nccl_choose(&model, GS_NCCL_ALL_REDUCE, INT64_C(1) << 30, &algorithm, &protocol));
    cr_assert(algorithm == GS_NCCL_RING && protocol == GS_NCCL_SIMPLE);
}

Test(nccl_model, ll128_needs_nvlink_and_a_near_nic)
{
    gs_nccl_machine machine = eight_a100();
    machine.pcie = true;
    gs_nccl_model model = make(&machine);
    cr_assert_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_RING][GS_NCCL_LL128], 0.0);
    machine = machine_of(2, 8, GS_NCCL_AMPERE, (gs_nccl_graph){8, 25.0, 24.0});
    machine.far_nic = true;
    model = make(&machine);
    cr_assert_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_RING][GS_NCCL_LL128], 0.0);
    gs_nccl_settings forced = gs_nccl_settings_default();
    cr_assert_eq(gs_nccl_protocols_read("LL128", &forced, NULL), GS_OK);
    gs_nccl_model_init(&model, &machine, &forced);
    cr_assert_gt(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_RING][GS_NCCL_LL128], 0.0);
    cr_assert_eq(model.rate_gbps[GS_NCCL_ALL_REDUCE][GS_NCCL_RING][GS_NCCL_SIMPLE], 0.0);
}

/* LL: 512 threads of 8 B x 8 ranks each are 32 KiB a channel of a ring; Simple: 512 x 64 B; so 100
 * kB feed 3. A tree's LL: 512 x 8 B. */
Test(nccl_model, small_ops_use_fewer_channels)
{
    gs_nccl_machine machine = eight_a100();
    gs_nccl_model model = make(&machine);
    cr_assert_eq(gs_nccl_channels(&model, GS_NCCL_RING, GS_NCCL_LL, 100000), 3);
    cr_assert_eq(gs_nccl_channels(&model, GS_NCCL_RING, GS_NCCL_SIMPLE, 100000), 3);
    cr_assert_eq(gs_nccl_channels(&model, GS_NCCL_TREE, GS_NCCL_LL, 10000), 2);
    cr_assert_eq(gs_nccl_channels(&model, GS_NCCL_TREE, GS_NCCL_LL, 0), 1);
    cr_assert_eq(gs_nccl_channels(&model, GS_NCCL_RING, GS_NCCL_SIMPLE, INT64_C(1) << 40), 12);
    gs_nccl_settings fewer = gs_nccl_settings_default();
    fewer.threads = 64;
    gs_nccl_model_init(&model, &machine, &fewer);
    cr_assert_eq(gs_nccl_channels(&model, GS_NCCL_RING, GS_NCCL_SIMPLE, 12288), 3);
}

Test(nccl_model, lists_name_what_is_allowed_for_all_or_one_function)
{
    gs_nccl_settings settings = gs_nccl_settings_default();
    cr_assert_eq(gs_nccl_algorithms_read("ring,Tree;AllReduce:^RING", &settings, NULL), GS_OK);
    cr_assert(settings.algorithms[GS_NCCL_ALL_GATHER][GS_NCCL_RING]);
    cr_assert_not(settings.algorithms[GS_NCCL_ALL_GATHER][GS_NCCL_PAT]);
    cr_assert_not(settings.algorithms[GS_NCCL_ALL_REDUCE][GS_NCCL_RING]);
    cr_assert(settings.algorithms[GS_NCCL_ALL_REDUCE][GS_NCCL_NVLS]);
    cr_assert_eq(gs_nccl_protocols_read("^LL128", &settings, NULL), GS_OK);
    cr_assert_eq(settings.protocols[GS_NCCL_BROADCAST][GS_NCCL_LL128], 0);
    cr_assert_eq(settings.protocols[GS_NCCL_BROADCAST][GS_NCCL_LL], 1);
}

static void expect_refused(const char *text, const char *reason)
{
    gs_nccl_settings settings = gs_nccl_settings_default();
    gs_error err = {0};
    cr_assert_eq(gs_nccl_algorithms_read(text, &settings, &err), GS_EINVAL, "%s", text);
    cr_expect(strstr(err.text, reason) != NULL, "%s: %s", text, err.text);
}

Test(nccl_model, lists_with_words_that_nobody_knows_are_refused)
{
    expect_refused("rign", "did you mean ring?");
    expect_refused("ring,,tree", "\"\" is none of tree, ring");
    expect_refused("^", "\"\" is none of tree, ring");
    expect_refused("allredcue:ring", "did you mean AllReduce?");
    expect_refused("ring;tree", "only the first list may stand without a function");
    expect_refused("collnetdirect", "not modelled");
}

Test(nccl_model, devices_have_generations)
{
    cr_assert_eq(gs_nccl_generation_of("NVIDIA H100 80GB HBM3"), GS_NCCL_HOPPER);
    cr_assert_eq(gs_nccl_generation_of("RTX-4090"), GS_NCCL_AMPERE, "8.9 is below 9.0");
    cr_assert_eq(gs_nccl_generation_of("MI300X"), -1);
}
