/* cluster.topology, regions, wan and placement: what they resolve to, and what is refused. */
#include "tests/traces/scenario_fixture.h"

#include <stdlib.h>

/* The error without where the key was said. */
static const char *plain_error(void)
{
    static const char here[] = " on the command line";
    char *at = strstr(err.text, here);
    if (at != NULL) {
        memmove(at, at + strlen(here), strlen(at + strlen(here)) + 1);
    }
    return err.text;
}

TestSuite(scenario_topology, .init = scenario_setup, .fini = scenario_teardown);

static const gs_fabric *fabric(void)
{
    return &scenario.cluster.topology;
}

static double gbytes_of(const gs_node_graph *graph, uint32_t edge)
{
    return (double)graph->edges[edge].rate_bps / 8e9;
}

/* Is there a note that holds this? */
static bool noted(const char *text)
{
    for (uint32_t i = 0; i < scenario.note_count; i++) {
        if (strstr(scenario.notes[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

/* The demo has 2 nodes of 4 A100. */

Test(scenario_topology, a_node_file_gives_nics_and_rates_and_says_what_it_lacks)
{
    char word[TEST_PATH_BYTES + 64];
    snprintf(word, sizeof word, "cluster.topology.node_file=%s",
             test_data_path("traces/nccl_topo_xml/aws_p4d-24xl-topo.xml"));
    cr_assert_eq(READ_DEMO(word), GS_OK, "%s", err.text);
    cr_expect_eq(fabric()->nics, 4);
    cr_assert_not_null(fabric()->insides);
    cr_expect_eq(fabric()->insides[0]->gpu_count, 8);
    cr_expect(noted("nothing of NVLinks"));
    /* Every rate stands in the file. */
    cr_expect_not(noted("is assumed"));
}

Test(scenario_topology, rates_that_a_matrix_lacks_come_from_the_device)
{
    char word[TEST_PATH_BYTES + 64];
    snprintf(word, sizeof word, "cluster.topology.node_file=%s",
             test_data_path("traces/nvidia_smi_topo/8x_a100_nv12.txt"));
    cr_assert_eq(READ_DEMO(word), GS_OK, "%s", err.text);
    const gs_node_graph *node = fabric()->insides[0];
    /* Sockets, then 8 PCIe links, then 8 bundles of 12 NVLinks: nobody says the sockets' rate,
     * which is assumed and noted; an A100's PCIe has 32 GB/s, of which 3/4; its NVLink 20 GB/s. */
    cr_expect_float_eq(gbytes_of(node, 0), 10.0, 1e-9);
    cr_expect_float_eq(gbytes_of(node, 1), 24.0, 1e-9);
    cr_expect_float_eq(gbytes_of(node, 9), 240.0, 1e-9);
    cr_expect(noted("cluster.topology.sockets_bandwidth: neither the file nor the device says it; "
                    "80 Gbit/s a link is assumed"));
    cr_assert_eq(READ_DEMO(word, "cluster.topology.sockets_bandwidth=22GB/s",
                           "cluster.topology.nvlink_bandwidth=25GB/s",
                           "cluster.topology.pcie_bandwidth=30GB/s"),
                 GS_OK, "%s", err.text);
    node = fabric()->insides[0];
    cr_expect_float_eq(gbytes_of(node, 0), 22.0, 1e-9);
    cr_expect_float_eq(gbytes_of(node, 1), 30.0, 1e-9);
    cr_expect_float_eq(gbytes_of(node, 9), 300.0, 1e-9);
    cr_expect_not(noted("is assumed"));
}

Test(scenario_topology, what_does_not_fit_is_refused)
{
    static const char *const cases[][3] = {
        {"cluster.topology.nics=2", "cluster.topology.nic_of_rank=[0,2]",
         "cluster.topology.nic_of_rank: 2 is none of the 2 nics of a node, which are 0 to 1"},
        {"cluster.topology.kind=fat_tree",
         "cluster.topology={\"kind\":\"fat_tree\",\"leaf_nodes\":4,\"pod_nodes\":6}",
         "cluster.topology.pod_nodes: 6 is no multiple of leaf_nodes, 4; a pod has whole leaves"},
        {"cluster.topology.kind=torus", "cluster.topology.dims=[]",
         "cluster.topology.dims: has 0 dimensions; a torus has 1 to 4, such as [4, 4, 4]"},
        {"cluster.topology.kind=torus", "cluster.topology.dims=[1]",
         "cluster.topology.dims: make 1 places for 2 nodes and 0 servers; make as many"},
        {"cluster.topology={\"kind\":\"torus\",\"dims\":[2]}", "cluster.topology.nics=2",
         "cluster.topology.nics: 2, but with kind \"torus\" a node's links are its nic; write 1"},
        {"cluster.nodes.0.count=64", "cluster.topology={\"kind\":\"torus\",\"dims\":[64]}",
         "cluster.topology: routes of up to 32 links (0 of them inside nodes); at most 24 may be: "
         "make it smaller, or the insides simpler"},
        {"cluster.topology.kind=graph", "seed=1",
         "cluster.topology.graph_file: is empty; kind \"graph\" needs a file of hosts, switches "
         "and "
         "links"},
        {"cluster.topology.kind=regions", "seed=1",
         "cluster.regions: hold 0 nodes together, cluster.nodes has 2; make them equal"},
        {"cluster.topology.kind=regions", "cluster.regions=[{\"name\":\"a\"},{\"name\":\"a\"}]",
         "cluster.regions: \"a\" names none, or two regions; give each its own name"},
        {"cluster.topology.kind=regions", "cluster.regions=[{\"name\":\"a\"},{\"name\":\"b\"}]",
         "cluster.wan: nothing joins \"a\" and \"b\"; say the link between them"},
        {"cluster.placement.order=list", "seed=1",
         "cluster.placement.slots: takes a list of the 8 slots, each once, [0, 1, ...]"},
        {"cluster.placement.ring_order=[0,1,2]", "seed=1",
         "cluster.placement.ring_order: takes a list of the 8 ranks, each "
         "once, "
         "[0, 1, ...]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[sizeof err.text];
        gs_status status = READ_DEMO(cases[i][0], cases[i][1]);
        snprintf(expected, sizeof expected, "demo-ethernet: %s", cases[i][2]);
        cr_expect_eq(status, GS_EINVAL, "%s", cases[i][2]);
        cr_expect_str_eq(plain_error(), expected);
    }
    cr_expect_eq(READ_DEMO("cluster.topology.inside=mesh", "cluster.nodes.0.ranks=65"), GS_ELIMIT);
    cr_expect_str_eq(
        plain_error(),
        "demo-ethernet: cluster.topology.inside: a mesh of 65 ranks; a node may have 64");
}

#define REGIONS "cluster.regions=[{\"name\":\"a\"},{\"name\":\"b\"}]"
#define KIND    "cluster.topology.kind=regions"

Test(scenario_topology, links_of_regions_are_checked_one_by_one)
{
    static const char *const cases[][2] = {
        {"cluster.wan=[{\"from\":\"a\",\"to\":\"c\",\"bandwidth\":\"1Gbit/s\"}]",
         "cluster.wan[0]: \"a\" and \"c\" are not two of cluster.regions"},
        {"cluster.wan=[{\"from\":\"a\",\"to\":\"a\",\"bandwidth\":\"1Gbit/s\"}]",
         "cluster.wan[0]: \"a\" and \"a\" are not two of cluster.regions"},
        {"cluster.wan=[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":\"1Gbit/s\"},{\"from\":\"a\","
         "\"to\":\"b\",\"bandwidth\":\"2Gbit/s\"}]",
         "cluster.wan[1]: the link from \"a\" to \"b\" is there already; one entry a direction"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[sizeof err.text];
        cr_expect_eq(READ_DEMO(KIND, REGIONS, cases[i][0]), GS_EINVAL);
        snprintf(expected, sizeof expected, "demo-ethernet: %s", cases[i][1]);
        cr_expect_str_eq(plain_error(), expected);
    }
    cr_expect_eq(READ_DEMO(KIND, REGIONS,
                           "cluster.wan=[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":\"0bit/s\"}]"),
                 GS_EINVAL);
    cr_expect(strstr(plain_error(), "cluster.wan[0].bandwidth: ") != NULL, "%s", err.text);
    /* The way back is the same where nobody says it. */
    cr_assert_eq(READ_DEMO(KIND, REGIONS,
                           "cluster.wan=[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":\"1Gbit/s\","
                           "\"latency\":\"9ms\"}]"),
                 GS_OK, "%s", err.text);
    cr_expect_eq(fabric()->wan[2].bandwidth_bps, 1000000000);
    cr_expect_eq(fabric()->wan[2].latency_ns, 9000000);
}

Test(scenario_topology, the_order_of_rings_is_said_with_the_place_of_each_rank)
{
    cr_assert_eq(READ_DEMO("cluster.placement.ring_order=[7,0,6,1,5,2,4,3]"), GS_OK, "%s",
                 err.text);
    static const uint32_t wanted[] = {7, 0, 6, 1, 5, 2, 4, 3, /* places: */ 1, 3, 5, 7, 6, 4, 2, 0};
    cr_assert_arr_eq(scenario.cluster.ring_order, wanted, sizeof wanted);
    cr_assert_eq(READ_DEMO("cluster.placement.ring_order=[]"), GS_OK, "%s", err.text);
    cr_assert_null(scenario.cluster.ring_order);
}

Test(scenario_topology, slots_are_a_permutation)
{
    static const char *const cases[][2] = {
        {"cluster.placement.slots=[0,1,2,3,4,5,6,6]",
         "cluster.placement.slots[7]: "
         "6 is there already; each of the slots 0 to 7 stands there once"},
        {"cluster.placement.slots=[0,1,2,3,4,5,6,8]",
         "cluster.placement.slots[7]: "
         "8 is none; each of the slots 0 to 7 stands there once"},
        {"cluster.placement.ring_order=[0,1,2,3,4,5,5,7]",
         "cluster.placement.ring_order[6]: "
         "5 is there already; each of the ranks 0 to 7 stands there once"},
        {"cluster.placement.ring_order=[-1,1,2,3,4,5,6,7]",
         "cluster.placement.ring_order[0]: "
         "-1 is none; each of the ranks 0 to 7 stands there once"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[sizeof err.text];
        cr_expect_eq(READ_DEMO("cluster.placement.order=list", cases[i][0]), GS_EINVAL);
        snprintf(expected, sizeof expected, "demo-ethernet: %s", cases[i][1]);
        cr_expect_str_eq(plain_error(), expected);
    }
}

Test(scenario_topology, keys_that_the_kind_does_not_look_at_are_noted)
{
    static const struct {
        const char *words[2];
        const char *note;
    } cases[] = {
        {{"cluster.topology.dims=[2]", "seed=1"},
         "cluster.topology: dims has no effect: kind is not torus"},
        {{"cluster.topology.spines=2", "cluster.topology.rails=true"},
         "cluster.topology: rails, spines have no effect: kind is not fat_tree"},
        {{"cluster.topology.kind=switch", "cluster.topology.nics=4"},
         "cluster.topology: nics has no effect: kind \"switch\" has no nodes, a nic for every "
         "rank"},
        {{"cluster.topology.sockets=4", "seed=1"},
         "cluster.topology: sockets has no effect: inside is not pcie"},
        {{"cluster.topology.nvlink_bandwidth=1GB/s", "seed=1"},
         "cluster.topology: nvlink_bandwidth has no effect: there is no node_file"},
        {{"cluster.topology.kind=fat_tree", "cluster.topology.cores=2"},
         "cluster.topology: cores has no effect: pod_nodes is 0: there are two levels"},
        {{REGIONS, "seed=1"},
         "cluster: regions and wan have no effect: topology.kind is not regions"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(READ_DEMO(cases[i].words[0], cases[i].words[1]), GS_OK, "%s", err.text);
        cr_expect(noted(cases[i].note), "%s", cases[i].note);
    }
}

Test(scenario_topology, what_is_resolved_reads_back_the_same)
{
    cr_assert_eq(READ_DEMO(KIND, REGIONS,
                           "cluster.wan=[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":\"1Gbit/s\"}]",
                           "cluster.placement={\"order\":\"list\",\"slots\":[7,6,5,4,3,2,1,0]}",
                           "cluster.topology.nics=3", "cluster.topology.nic_of_rank=[2,0]"),
                 GS_OK, "%s", err.text);
    char *first = gs_json_write(scenario.resolved, true);
    uint64_t hash = scenario.config_hash;
    options.override_count = 0;
    cr_assert_eq(read_text(first), GS_OK, "%s", err.text);
    char *again = gs_json_write(scenario.resolved, true);
    cr_expect_str_eq(again, first);
    cr_expect_eq(scenario.config_hash, hash);
    cr_expect_eq(gs_scenario_node_of(&scenario, 0), 1);
    free(first);
    free(again);
}

Test(scenario_topology, what_if_rates_are_others_leaves_the_scenario_as_it_was)
{
    cr_assert_eq(READ_DEMO(KIND, REGIONS, "cluster.topology.inside=mesh",
                           "cluster.links.intra.bandwidth=3Gbit/s",
                           "cluster.wan=[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":\"2Gbit/s\","
                           "\"latency\":\"9ms\"}]"),
                 GS_OK, "%s", err.text);
    gs_fabric copy = *fabric();
    cr_assert(gs_fabric_scale_inside(&copy, 1, 2.0, INT64_C(1000000000000), &arena));
    cr_assert(gs_fabric_scale_between(&copy, 1e6, INT64_C(1000000000000), &arena));
    cr_assert(gs_fabric_drop_latency(&copy, &arena));
    cr_expect_eq(copy.insides[0]->edges[0].rate_bps, INT64_C(6000000000));
    cr_expect_eq(copy.wan[1].bandwidth_bps, INT64_C(1000000000000)); /* the most */
    cr_expect_eq(copy.wan[1].latency_ns, 0);
    cr_expect_eq(fabric()->insides[0]->edges[0].rate_bps, INT64_C(3000000000));
    cr_expect_eq(fabric()->wan[1].bandwidth_bps, INT64_C(2000000000));
    cr_expect_eq(fabric()->wan[1].latency_ns, 9000000);
}

Test(scenario_topology, crooked_graphs_are_refused_with_file_and_key)
{
    static const struct {
        gs_status code;
        const char *text, *message;
    } cases[] = {
        {GS_EPARSE, "{\"hosts\":[\"a\"]}", "schema: is not \"gradsync.graph/1\""},
        {GS_EPARSE, "{\"schema\":\"gradsync.graph/1\",\"hosts\":[]}", "hosts: the graph has none"},
        {GS_EPARSE, "{\"schema\":\"gradsync.graph/1\",\"hosts\":[\"a\",\"b\"],\"links\":[]}",
         "links: no way leads from \"b\" to \"a\""},
        {GS_EPARSE,
         "{\"schema\":\"gradsync.graph/1\",\"hosts\":[\"a\",\"b\"],\"links\":[{\"from\":\"a\","
         "\"to\":\"b\",\"bandwidth\":\"1Gbit/s\",\"both\":false}]}",
         "links: no way leads from \"b\" to \"a\""},
        {GS_EPARSE,
         "{\"schema\":\"gradsync.graph/1\",\"hosts\":[\"a\",\"b\"],\"links\":[{\"from\":\"a\","
         "\"to\":\"c\",\"bandwidth\":\"1Gbit/s\"}]}",
         "links[0]: to: \"c\" is no host or switch of this file"},
        {GS_EPARSE,
         "{\"schema\":\"gradsync.graph/1\",\"hosts\":[\"a\",\"b\"],\"links\":[{\"from\":\"a\","
         "\"to\":\"b\",\"bandwidth\":\"1Gbit/s\"},{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":"
         "\"1Gbit/s\"}]}",
         "links: two lead from \"b\" to \"a\"; write one with the sum of their rates"},
        {GS_EPARSE,
         "{\"schema\":\"gradsync.graph/1\",\"hosts\":[\"a\"],\"switches\":[\"a\"],\"links\":[]}",
         "\"a\" is there twice among hosts and switches; give each its own name"},
        {GS_EPARSE, "{\"schema\":\"gradsync.graph/1\",\"hosts\":[\"a\"],\"links\":[],\"nodes\":[]}",
         "nodes: no such key; known are schema, hosts, switches and links"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[sizeof err.text];
        const gs_fabric_graph *graph = NULL;
        test_temp_file(file, cases[i].text, strlen(cases[i].text));
        gs_status status = gs_fabric_graph_read(file, &arena, &graph, &err);
        snprintf(expected, sizeof expected, "%.300s: %s", file, cases[i].message);
        cr_expect_eq(status, cases[i].code, "%s", cases[i].message);
        cr_expect_str_eq(err.text, expected);
    }
    static const char zero[] = "{\"schema\":\"gradsync.graph/1\",\"hosts\":[\"a\",\"b\"],\"links\":"
                               "[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":\"0bit/s\"}]}";
    const gs_fabric_graph *graph = NULL;
    test_temp_file(file, zero, strlen(zero));
    cr_expect_eq(gs_fabric_graph_read(file, &arena, &graph, &err), GS_EINVAL);
    cr_expect(strstr(err.text, "links[0].bandwidth: 0bit/s is out of range") != NULL, "%s",
              err.text);
}
