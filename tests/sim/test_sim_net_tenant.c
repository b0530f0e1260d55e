/* Other jobs on the same fabric, worked by hand: links carry 1 byte a ns, 10 us apart. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>

#include "sim/sim_net_tenant.h"
#include "tests/sim/net_fixture.h"

enum { MB = 1000000, TEXT_BYTES = 2048 };

static gs_arena arena;
static gs_scenario scenario;
static gs_error err;
static net_fixture f;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_scenario_free(&scenario);
    gs_arena_fini(&arena);
}

TestSuite(sim_net_tenant, .init = setup, .fini = teardown);

static gs_status read_tenants(const char *topology, const char *tenants)
{
    static char text[TEXT_BYTES];
    snprintf(text, sizeof text,
             "{\"schema\":\"gradsync.scenario/1\",\"cluster\":{\"topology\":{%s},"
             "\"nodes\":[{\"count\":4,\"ranks\":1}],\"tenants\":[%s],\"links\":{"
             "\"nic\":{\"bandwidth\":\"8Gbit/s\",\"latency\":\"10us\"}}},"
             "\"workload\":{\"profile\":\"resnet50\"},\"strategies\":[{\"name\":\"allreduce\"}]}",
             topology, tenants);
    gs_scenario_options options = {.data_dir = GS_TEST_SOURCE_DIR, .text = text};
    gs_scenario_free(&scenario);
    return gs_scenario_read("cluster.json", &options, &arena, &scenario, &err);
}

static void start(const char *topology, const char *tenants)
{
    cr_assert_eq(read_tenants(topology, tenants), GS_OK, "%s", err.text);
    net_init_on(&f, &scenario);
}

/* ns that a message of ours from rank 0 takes to leave, to a thousandth. */
static double leaves(uint32_t to, uint32_t stream, gs_time_ns at_ns, int64_t bytes)
{
    uint32_t message = net_send(
        &f, (net_message){.from = 0, .to = to, .stream = stream, .bytes = bytes, .at_ns = at_ns});
    net_run(&f);
    double left = (double)f.messages[message].left / GS_TICKS_PER_NS;
    net_fini(&f);
    return left - (double)at_ns;
}

static void expect(double ns, double wanted_ns)
{
    cr_assert(fabs(ns - wanted_ns) <= 1.0, "%.3f ns, not %.3f", ns, wanted_ns);
}

static const char nodes[] = "\"kind\":\"nodes\"";

Test(sim_net_tenant, one_of_ours_and_one_of_theirs_have_half_of_a_link_each)
{
    start(nodes, "{\"from\":0,\"to\":2,\"size\":\"1MB\"}");
    expect(leaves(1, 0, 0, MB), 2.0 * MB);
    start(nodes, "{\"from\":0,\"to\":2,\"size\":\"1MB\",\"flows\":3}");
    expect(leaves(1, 0, 0, MB), 4.0 * MB);
    start(nodes, "{\"from\":3,\"to\":2,\"size\":\"1MB\"}"); /* elsewhere */
    expect(leaves(1, 0, 0, MB), 1.0 * MB);
}

/* 1 MB a period of 4 ms: beside us it takes 2 ms, in which we send 1 MB, and in the other 2 ms we
 * send 2 MB. */
Test(sim_net_tenant, a_period_leaves_the_rest_of_the_time)
{
    start(nodes, "{\"from\":0,\"to\":2,\"size\":\"1MB\",\"period\":\"4ms\"}");
    cr_assert_eq(f.net.tenant_count, 1u);
    gs_time_ns first_ns = gs_tick_ns(f.net.tenants[0].first);
    cr_assert(first_ns >= 0 && first_ns < 4 * MB);
    expect(leaves(1, 0, first_ns, 9 * (int64_t)MB), 12.0 * MB);
}

Test(sim_net_tenant, an_incast_comes_from_anywhere_to_one_place)
{
    /* Four of theirs and ours come in over one link. */
    start(nodes, "{\"pattern\":\"incast\",\"to\":1,\"flows\":4,\"size\":\"1GB\"}");
    for (uint32_t i = 0; i < 4; i++) {
        const gs_route *route = &f.net.tenants[i].route;
        cr_assert_eq(route->links[route->link_count - 1], f.topology.nic_first + 2 * 1 + 1);
    }
    expect(leaves(1, 0, 0, MB), 5.0 * MB);
}

Test(sim_net_tenant, hosts_of_its_own_are_on_the_fabric_and_not_on_our_nics)
{
    start(nodes, "{\"hosts\":2,\"from\":0,\"to\":1,\"flows\":9,\"size\":\"1MB\"}");
    cr_assert_eq(f.topology.nodes, 6u);
    expect(leaves(1, 0, 0, MB), 1.0 * MB);
}

static bool meets(const gs_route *a, const gs_route *b)
{
    for (uint32_t i = 0; i < a->link_count; i++) {
        for (uint32_t k = 0; k < b->link_count; k++) {
            if (a->links[i] == b->links[k]) {
                return true;
            }
        }
    }
    return false;
}

/* Leaves of two nodes and two spines, links of a nic's rate. Ours goes from node 0 to 2, theirs
 * from 1 to 3: over other nics and the same leaves, over one spine by chance. */
Test(sim_net_tenant, on_a_fat_tree_flows_that_ecmp_sends_over_one_link_share_it)
{
    uint32_t met = 0;
    for (uint32_t stream = 0; stream <= NET_STREAMS; stream++) {
        start("\"kind\":\"fat_tree\",\"leaf_nodes\":2", "{\"from\":1,\"to\":3,\"size\":\"1GB\"}");
        gs_route ours = gs_topology_route(&f.topology, 0, 2, stream);
        bool is_met = meets(&ours, &f.net.tenants[0].route);
        met += is_met ? 1 : 0;
        expect(leaves(2, stream, 0, MB), is_met ? 2.0 * MB : 1.0 * MB);
    }
    cr_assert(met > 0 && met <= NET_STREAMS, "%u of %u meet", met, NET_STREAMS + 1);
}

Test(sim_net_tenant, places_by_chance_are_on_two_nodes_and_the_same_in_every_run)
{
    static gs_route before[50];
    for (int run = 0; run < 2; run++) {
        start(nodes, "{\"flows\":50,\"seed\":7}");
        for (uint32_t i = 0; i < 50; i++) {
            const gs_route *route = &f.net.tenants[i].route;
            cr_assert_eq(route->link_count, 2u); /* up one nic, down another */
            cr_assert_neq(route->links[0] / 2, route->links[1] / 2);
            cr_assert(run == 0 || (before[i].links[0] == route->links[0] &&
                                   before[i].links[1] == route->links[1]));
            before[i] = *route;
        }
        net_fini(&f);
    }
}

Test(sim_net_tenant, what_is_not_there_is_refused)
{
    static const struct {
        const char *tenants, *text;
    } cases[] = {
        {"{\"hosts\":1}", "cluster.json: cluster.tenants[0].hosts: 1 leaves it one host, and flows "
                          "go between two; give it 2 or more"},
        {"{\"from\":4}", "cluster.json: cluster.tenants[0].from: 4 is none of its 4 ranks, which "
                         "are 0 to 3; -1: by chance"},
        {"{},{\"hosts\":3,\"to\":3}", "cluster.json: cluster.tenants[1].to: 3 is none of its 3 "
                                      "hosts, which are 0 to 2; -1: by chance"},
        {"{\"from\":2,\"to\":2}", "cluster.json: cluster.tenants[0].to: 2 is on the node of from, "
                                  "2; flows go between nodes"},
        {"{\"pattern\":\"incast\",\"from\":2}",
         "cluster.json: cluster.tenants[0].from: 2 with pattern \"incast\", which comes from "
         "anywhere; say \"pairs\", or -1"},
        {"{\"hosts\":65534}", "cluster.json: cluster.tenants: make 65538 places with ranks and "
                              "servers, and 1 flows; at most 65534 and 65536 may be: lower hosts "
                              "or flows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(read_tenants(nodes, cases[i].tenants), GS_EINVAL);
        cr_expect_str_eq(err.text, cases[i].text);
    }
}
