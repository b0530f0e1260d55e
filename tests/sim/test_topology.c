/* Routes of every kind of topology, and times over them. Links carry 1 byte a ns (8 Gbit/s) and
 * latencies are 10 us unless said otherwise, so that n bytes alone on a route take n ns + 10 us. */
#include <criterion/criterion.h>

#include <stdio.h>

#include "sim/tick.h"
#include "strategies/registry.h"
#include "tests/sim/net_fixture.h"
#include "tests/small_job.h"
#include "tests/support.h"
#include "traces/scenario/scenario.h"

enum { MB = 1000000, LATENCY_NS = 10000, TEXT_BYTES = 4096 };

static gs_arena arena;
static gs_scenario scenario;
static gs_error err;
static net_fixture net;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_scenario_free(&scenario);
    gs_arena_fini(&arena);
}

TestSuite(topology, .init = setup, .fini = teardown);

/* A cluster of `nodes` nodes with `ranks` ranks each; `topology` and `more` are JSON members. */
static void read_cluster(int nodes, int ranks, const char *topology, const char *more)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text,
             "{\"schema\":\"gradsync.scenario/1\",\"cluster\":{\"topology\":{%s},"
             "\"nodes\":[{\"count\":%d,\"ranks\":%d}],\"links\":{"
             "\"nic\":{\"bandwidth\":\"8Gbit/s\",\"latency\":\"10us\"},"
             "\"intra\":{\"bandwidth\":\"8Gbit/s\",\"latency\":\"10us\"}}%s},"
             "\"workload\":{\"profile\":\"resnet50\"},\"strategies\":[{\"name\":\"allreduce\"}]}",
             topology, nodes, ranks, more);
    gs_scenario_options options = {.data_dir = GS_TEST_SOURCE_DIR, .text = text};
    gs_scenario_free(&scenario);
    cr_assert_eq(gs_scenario_read("cluster.json", &options, &arena, &scenario, &err), GS_OK, "%s",
                 err.text);
}

static const gs_topology *topology_of(void)
{
    const gs_topology *made =
        gs_topology_create(&scenario, (uint32_t)scenario.cluster.servers, 1, &arena);
    cr_assert_not_null(made);
    return made;
}

/* Bytes per ns. */
static double rate_of(const gs_topology *topology, uint32_t link)
{
    return topology->links[link].bytes_per_tick * GS_TICKS_PER_NS;
}

/* Every pair has a route of distinct links that are there. */
static void check_routes(const gs_topology *topology)
{
    for (uint32_t from = 0; from < topology->entities; from++) {
        for (uint32_t to = 0; to < topology->entities; to++) {
            if (from == to) {
                continue;
            }
            gs_route route = gs_topology_route(topology, from, to, 3);
            TEST_REQUIRE(route.link_count >= 1, "%u to %u has no links", from, to);
            for (uint32_t i = 0; i < route.link_count; i++) {
                TEST_REQUIRE(route.links[i] < topology->link_count &&
                                 rate_of(topology, route.links[i]) > 0.0,
                             "%u to %u: hop %u is link %u", from, to, i, route.links[i]);
                for (uint32_t k = 0; k < i; k++) {
                    TEST_REQUIRE(route.links[k] != route.links[i], "%u to %u takes link %u twice",
                                 from, to, route.links[i]);
                }
            }
        }
    }
}

/* Sends `bytes` from each to each at 0 and returns when the last has come, ns. pairs [2 count]. */
static double time_of(const uint32_t *pairs, uint32_t count, int64_t bytes)
{
    net_init_on(&net, &scenario);
    for (uint32_t i = 0; i < count; i++) {
        net_send(&net, (net_message){.from = pairs[2 * i],
                                     .to = pairs[2 * i + 1],
                                     .stream = NET_STREAMS,
                                     .bytes = bytes});
    }
    net_run(&net);
    gs_tick last = 0;
    for (uint32_t i = 0; i < count; i++) {
        last = net.messages[i].came > last ? net.messages[i].came : last;
    }
    net_fini(&net);
    return (double)last / GS_TICKS_PER_NS;
}

/* --- several nics --------------------------------------------------------------------------- */

Test(topology, ranks_deal_the_nics_of_their_node)
{
    read_cluster(2, 4, "\"nics\":2", "");
    const gs_topology *topology = topology_of();
    cr_assert_eq(gs_topology_nic_count(topology), 4);
    static const uint32_t nics[] = {0, 1, 0, 1, 2, 3, 2, 3};
    for (uint32_t rank = 0; rank < 8; rank++) {
        cr_expect_eq(gs_topology_nic(topology, rank), nics[rank], "rank %u", rank);
    }
    check_routes(topology);
    /* Ranks 0 and 2 share a nic, 0 and 1 do not. */
    static const uint32_t apart[] = {0, 4, 1, 5};
    static const uint32_t together[] = {0, 4, 2, 5};
    cr_expect_float_eq(time_of(apart, 2, MB), MB + LATENCY_NS, 1.0);
    cr_expect_float_eq(time_of(together, 2, MB), 2 * MB + LATENCY_NS, 1.0);
}

Test(topology, a_list_says_which_nic_a_rank_uses)
{
    read_cluster(1, 6, "\"nics\":3,\"nic_of_rank\":[2,2,0,1]", "");
    const gs_topology *topology = topology_of();
    static const uint32_t nics[] = {2, 2, 0, 1, 2, 2};
    for (uint32_t rank = 0; rank < 6; rank++) {
        cr_expect_eq(gs_topology_nic(topology, rank), nics[rank], "rank %u", rank);
    }
}

/* --- inside nodes --------------------------------------------------------------------------- */

Test(topology, a_mesh_has_a_link_for_every_pair_each_way)
{
    read_cluster(1, 4, "\"inside\":\"mesh\"", "");
    const gs_topology *topology = topology_of();
    check_routes(topology);
    gs_route route = gs_topology_route(topology, 1, 3, 0);
    cr_expect_eq(route.link_count, 1);
    cr_expect_not(route.over_nic);
    /* Three flows out of one rank: on three links at once, where a port would be shared. */
    static const uint32_t pairs[] = {0, 1, 0, 2, 0, 3, 3, 0};
    cr_expect_float_eq(time_of(pairs, 4, MB), MB + LATENCY_NS, 1.0);
    read_cluster(1, 4, "\"inside\":\"switch\"", "");
    cr_expect_float_eq(time_of(pairs, 4, MB), 3 * MB + LATENCY_NS, 1.0);
}

/* 8 ranks below 4 bridges below 2 sockets; the link between sockets has half the rate of the
 * others.
 */
static const char tree[] = "\"inside\":\"pcie\",\"bridge_ranks\":2,\"sockets\":2,\"nics\":4,"
                           "\"sockets_bandwidth\":\"4Gbit/s\"";

Test(topology, a_pcie_tree_shares_bridges_and_the_link_between_sockets)
{
    read_cluster(2, 8, tree, "");
    const gs_topology *topology = topology_of();
    check_routes(topology);
    /* Below one bridge: up and down. Below another of the socket: two bridges' links more. On the
     * other socket: the link between them too. */
    cr_expect_eq(gs_topology_route(topology, 0, 1, 0).link_count, 2);
    cr_expect_eq(gs_topology_route(topology, 0, 2, 0).link_count, 4);
    cr_expect_eq(gs_topology_route(topology, 0, 4, 0).link_count, 5);
    static const uint32_t below_one_bridge[] = {0, 1, 1, 0};
    static const uint32_t up_one_bridge[] = {0, 2, 1, 3};
    static const uint32_t between_sockets[] = {0, 4, 2, 6};
    cr_expect_float_eq(time_of(below_one_bridge, 2, MB), MB + LATENCY_NS, 1.0);
    cr_expect_float_eq(time_of(up_one_bridge, 2, MB), 2 * MB + LATENCY_NS, 1.0);
    /* Two flows over 0.5 bytes/ns. */
    cr_expect_float_eq(time_of(between_sockets, 2, MB), 4 * MB + LATENCY_NS, 1.0);
}

Test(topology, a_rank_of_a_tree_goes_out_over_the_nic_below_its_bridge)
{
    read_cluster(2, 8, tree, "");
    const gs_topology *topology = topology_of();
    for (uint32_t rank = 0; rank < 16; rank++) {
        cr_expect_eq(gs_topology_nic(topology, rank), rank / 2, "rank %u", rank);
    }
    /* Rank, bridge, nic, up; and the same down. */
    gs_route route = gs_topology_route(topology, 0, 9, 0);
    cr_expect_eq(route.link_count, 6);
    cr_expect(route.over_nic);
    /* What comes in for rank 0 shares its link with what rank 1 sends it. */
    static const uint32_t pairs[] = {8, 0, 1, 0};
    cr_expect_float_eq(time_of(pairs, 2, MB), 2 * MB + LATENCY_NS, 1.0);
}

Test(topology, the_inside_of_a_file_is_shared_as_it_says)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "\"node_file\":\"%s\"",
             test_data_path("traces/nccl_topo_xml/aws_p4d-24xl-topo.xml"));
    read_cluster(2, 8, text, "");
    const gs_topology *topology = topology_of();
    check_routes(topology);
    /* Two GPUs and a nic below each bridge, two bridges below each socket. PCIe of 8 GT/s x16 has
     * 12 bytes/ns, Skylake's sockets 10: below a bridge each flow has 12, two from socket to socket
     * 5 each, and two out over the nic of the bridge half of its 1. */
    static const uint32_t below_one_bridge[] = {0, 1, 1, 0};
    static const uint32_t between_sockets[] = {0, 4, 2, 6};
    static const uint32_t out[] = {0, 8, 1, 10};
    static const uint32_t out_apart[] = {0, 8, 2, 10};
    cr_expect_float_eq(time_of(below_one_bridge, 2, 12 * MB), MB + LATENCY_NS, 1.0);
    cr_expect_float_eq(time_of(between_sockets, 2, 5 * MB), MB + LATENCY_NS, 1.0);
    cr_expect_float_eq(time_of(out, 2, MB), 2 * MB + LATENCY_NS, 1.0);
    cr_expect_float_eq(time_of(out_apart, 2, MB), MB + LATENCY_NS, 1.0);
}

/* --- fat trees ------------------------------------------------------------------------------ */

Test(topology, what_shares_a_leaf_stays_there)
{
    read_cluster(8, 1, "\"kind\":\"fat_tree\",\"leaf_nodes\":4", "");
    const gs_topology *topology = topology_of();
    check_routes(topology);
    cr_expect_eq(gs_topology_route(topology, 0, 3, 0).link_count, 2);
    cr_expect_eq(gs_topology_route(topology, 0, 4, 0).link_count, 4);
    /* 4 nics a leaf and no oversubscription: 4 uplinks of a nic's rate each way and leaf. */
    cr_expect_eq(topology->link_count - topology->fabric_first, 2 * 2 * 4);
    cr_expect_float_eq(rate_of(topology, topology->fabric_first), 1.0, 1e-12);
}

Test(topology, oversubscription_divides_what_crosses)
{
    /* 4 nodes a leaf, all send across; oversubscribed k, uplinks together have 4 / k. One spine, so
     * that no hash matters. */
    static const uint32_t pairs[] = {0, 4, 1, 5, 2, 6, 3, 7};
    for (int k = 1; k <= 8; k *= 2) {
        char text[128];
        snprintf(text, sizeof text,
                 "\"kind\":\"fat_tree\",\"leaf_nodes\":4,\"spines\":1,\"oversubscription\":%d", k);
        read_cluster(8, 1, text, "");
        cr_expect_float_eq(time_of(pairs, 4, MB), (double)k * MB + LATENCY_NS, 2.0, "k = %d", k);
    }
}

Test(topology, rails_keep_equal_nics_on_one_leaf)
{
    read_cluster(4, 4,
                 "\"kind\":\"fat_tree\",\"leaf_nodes\":4,\"nics\":4,\"rails\":true,"
                 "\"oversubscription\":4",
                 "");
    const gs_topology *topology = topology_of();
    check_routes(topology);
    /* Rank r of a node is on rail r mod 4. */
    cr_expect_eq(gs_topology_route(topology, 1, 5, 0).link_count, 2);
    cr_expect_eq(gs_topology_route(topology, 1, 6, 0).link_count, 4);
    /* A ring of nodes on each rail at full rate, whatever the oversubscription... */
    uint32_t along[32];
    uint32_t across[32];
    for (uint32_t rank = 0; rank < 16; rank++) {
        along[2 * rank] = across[2 * rank] = rank;
        along[2 * rank + 1] = (rank + 4) % 16;
        across[2 * rank + 1] = (rank + 4) % 16 / 4 * 4 + (rank + 1) % 4;
    }
    cr_expect_float_eq(time_of(along, 16, MB), MB + LATENCY_NS, 1.0);
    /* ... and a quarter of it between rails: 4 nics of a leaf over one uplink of a nic's rate. */
    cr_expect_float_eq(time_of(across, 16, MB), 4 * MB + LATENCY_NS, 2.0);
}

Test(topology, three_levels_pass_cores_between_pods_only)
{
    /* Pods of 2 leaves of 2 nodes; 2 spines a pod; each spine reaches 2 cores. */
    read_cluster(
        8, 1, "\"kind\":\"fat_tree\",\"leaf_nodes\":2,\"pod_nodes\":4,\"hop_latency\":\"1us\"", "");
    const gs_topology *topology = topology_of();
    check_routes(topology);
    cr_expect_eq(topology->tree.spines, 2);
    cr_expect_eq(topology->tree.cores, 2);
    /* 4 leaves x 2 spines and 2 pods x 2 spines x 2 cores, both ways. */
    cr_expect_eq(topology->link_count - topology->fabric_first, 2 * (8 + 8));
    gs_route leaf = gs_topology_route(topology, 0, 1, 0);
    gs_route pod = gs_topology_route(topology, 0, 2, 0);
    gs_route between = gs_topology_route(topology, 0, 4, 0);
    cr_expect_eq(leaf.link_count, 2);
    cr_expect_eq(pod.link_count, 4);
    cr_expect_eq(between.link_count, 6);
    /* One, three and five switches: 0, 2 and 4 hops after the first. */
    cr_expect_eq(leaf.latency_ns, LATENCY_NS);
    cr_expect_eq(pod.latency_ns, LATENCY_NS + 2000);
    cr_expect_eq(between.latency_ns, LATENCY_NS + 4000);
}

Test(topology, cores_oversubscribe_what_leaves_a_pod)
{
    read_cluster(8, 1,
                 "\"kind\":\"fat_tree\",\"leaf_nodes\":2,\"pod_nodes\":4,\"spines\":1,\"cores\":1,"
                 "\"core_oversubscription\":2",
                 "");
    /* One spine a pod with links of 2 nics to each of 2 leaves, and one of 2 nics to its core. */
    static const uint32_t inside[] = {0, 2, 1, 3};
    static const uint32_t between[] = {0, 4, 1, 5, 2, 6, 3, 7};
    cr_expect_float_eq(time_of(inside, 2, MB), MB + LATENCY_NS, 1.0);
    cr_expect_float_eq(time_of(between, 4, MB), 2 * MB + LATENCY_NS, 2.0);
}

Test(topology, d_mod_k_spreads_the_ports_of_a_leaf)
{
    /* Leaf 0's nodes send to leaf 1's in any order: receivers' ports are 0 to 7, one a spine. */
    read_cluster(16, 1, "\"kind\":\"fat_tree\",\"leaf_nodes\":8,\"routing\":\"d_mod_k\"", "");
    for (uint32_t shift = 0; shift < 8; shift++) {
        uint32_t pairs[16];
        for (uint32_t i = 0; i < 8; i++) {
            pairs[2 * i] = i;
            pairs[2 * i + 1] = 8 + (5 * i + shift) % 8;
        }
        cr_expect_float_eq(time_of(pairs, 8, MB), MB + LATENCY_NS, 1.0, "shift %u", shift);
    }
}

/* E of the fullest of `bins` bins with `balls` balls: P(all <= k) is balls! / bins^balls times the
 * coefficient of x^balls in (sum over i <= k of x^i / i!)^bins. */
static double fullest_of(uint32_t balls, uint32_t bins)
{
    enum { BALLS_MAX = 64 };
    double mean = 0.0;
    double scale = 1.0;
    GS_ASSERT(balls < BALLS_MAX);
    for (uint32_t i = 1; i <= balls; i++) {
        scale *= (double)i / bins;
    }
    for (uint32_t k = 0; k < balls; k++) {
        double polynomial[BALLS_MAX] = {1.0};
        for (uint32_t bin = 0; bin < bins; bin++) {
            double next[BALLS_MAX] = {0.0};
            for (uint32_t have = 0; have <= balls; have++) {
                double term = 1.0;
                for (uint32_t i = 0; i <= k && have + i <= balls; i++) {
                    next[have + i] += polynomial[have] * term;
                    term /= i + 1.0;
                }
            }
            memcpy(polynomial, next, sizeof next);
        }
        mean += 1.0 - scale * polynomial[balls];
    }
    return mean;
}

Test(topology, hashed_flows_meet_as_often_as_chance_has_it)
{
    /* 64 leaves of 16 nodes send to the next leaf, each node to a node of its own: 16 flows over 16
     * uplinks. The fullest uplink of a leaf has 3.08 of them in the mean; over 64 leaves and 16
     * permutations the mean is known to 0.02 (its deviation is about 0.7 a leaf). */
    enum { LEAVES = 64, NODES = 16, DRAWS = 16 };
    read_cluster(LEAVES * NODES, 1, "\"kind\":\"fat_tree\",\"leaf_nodes\":16", "");
    const gs_topology *topology = topology_of();
    double sum = 0.0;
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
            uint32_t flows[NODES] = {0};
            uint32_t fullest = 0;
            for (uint32_t i = 0; i < NODES; i++) {
                uint32_t to = (leaf + 1) % LEAVES * NODES + (i + draw) % NODES;
                gs_route route = gs_topology_route(topology, leaf * NODES + i, to, draw);
                uint32_t spine = (route.links[1] - topology->fabric_first) / 2 % NODES;
                flows[spine]++;
                fullest = flows[spine] > fullest ? flows[spine] : fullest;
            }
            sum += fullest;
        }
    }
    double expected = fullest_of(NODES, NODES);
    cr_expect_float_eq(expected, 3.08, 0.01, "%g", expected);
    cr_expect_float_eq(sum / (LEAVES * DRAWS), expected, 0.08, "%g", sum / (LEAVES * DRAWS));
}

Test(topology, streams_of_one_pair_take_paths_of_their_own)
{
    read_cluster(32, 1, "\"kind\":\"fat_tree\",\"leaf_nodes\":16", "");
    const gs_topology *topology = topology_of();
    uint32_t used = 0;
    for (uint32_t stream = 0; stream < 64; stream++) {
        gs_route route = gs_topology_route(topology, 0, 16, stream);
        used |= 1U << ((route.links[1] - topology->fabric_first) / 2 % 16);
        gs_route again = gs_topology_route(topology, 0, 16, stream);
        cr_assert_eq(route.links[1], again.links[1]);
    }
    /* 64 draws miss one of 16 spines with probability 16 (15/16)^64 = 0.26; most are met. */
    cr_expect_gt(__builtin_popcount(used), 12);
}

/* --- tori ----------------------------------------------------------------------------------- */

Test(topology, a_torus_goes_the_shorter_way_round_each_dimension)
{
    read_cluster(60, 1, "\"kind\":\"torus\",\"dims\":[3,4,5],\"hop_latency\":\"1us\"", "");
    const gs_topology *topology = topology_of();
    static const uint32_t dims[] = {3, 4, 5};
    check_routes(topology);
    cr_assert_eq(topology->link_count, topology->fabric_first + 60 * 6);
    for (uint32_t from = 0; from < 60; from++) {
        for (uint32_t to = 0; to < 60; to++) {
            uint32_t hops = 0;
            uint32_t a = from;
            uint32_t b = to;
            for (int i = 0; i < 3; i++) {
                uint32_t up = (b % dims[i] + dims[i] - a % dims[i]) % dims[i];
                hops += up < dims[i] - up ? up : dims[i] - up;
                a /= dims[i];
                b /= dims[i];
            }
            if (from != to) {
                gs_route route = gs_topology_route(topology, from, to, 0);
                TEST_REQUIRE(route.link_count == hops, "%u to %u: %u links, not %u", from, to,
                             route.link_count, hops);
                TEST_REQUIRE(route.latency_ns == LATENCY_NS + (hops - 1) * 1000,
                             "%u to %u: latency %lld", from, to, (long long)route.latency_ns);
            }
        }
    }
}

Test(topology, the_bisection_of_a_torus_limits_what_crosses_it)
{
    /* 8 x 4: every node sends to the one half round the long dimension: 4 hops, of which even
     * places go up and odd ones down. Links of the dimension: 32 each way; 16 flows of 4 hops each
     * way make 64 hops over 32 links, the same on each: 2 flows a link. */
    read_cluster(32, 1, "\"kind\":\"torus\",\"dims\":[8,4]", "");
    uint32_t pairs[64];
    for (uint32_t node = 0; node < 32; node++) {
        pairs[2 * node] = node;
        pairs[2 * node + 1] = node / 8 * 8 + (node + 4) % 8;
    }
    cr_expect_float_eq(time_of(pairs, 32, MB), 2 * MB + LATENCY_NS, 2.0);
}

Test(topology, neighbours_of_a_torus_do_not_meet)
{
    /* All nodes send to all their neighbours at once: a link each. In a dimension of two there is
     * one neighbour, and one link to it. */
    read_cluster(24, 1, "\"kind\":\"torus\",\"dims\":[2,3,4]", "");
    uint32_t pairs[240];
    uint32_t count = 0;
    for (uint32_t node = 0; node < 24; node++) {
        uint32_t x = node % 2;
        uint32_t y = node / 2 % 3;
        uint32_t z = node / 6;
        uint32_t next[] = {node - x + (x + 1) % 2, node + 2 * ((y + 1) % 3) - 2 * y,
                           node + 2 * ((y + 2) % 3) - 2 * y, node + 6 * ((z + 1) % 4) - 6 * z,
                           node + 6 * ((z + 3) % 4) - 6 * z};
        for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
            pairs[count++] = node;
            pairs[count++] = next[i];
        }
    }
    cr_expect_float_eq(time_of(pairs, count / 2, MB), MB + LATENCY_NS, 1.0);
}

/* --- regions and graphs --------------------------------------------------------------------- */

Test(topology, regions_share_one_link_each_way_and_the_ways_may_differ)
{
    read_cluster(6, 1, "\"kind\":\"regions\"",
                 ",\"regions\":[{\"name\":\"a\",\"nodes\":4},{\"name\":\"b\",\"nodes\":2}],"
                 "\"wan\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":\"4Gbit/s\",\"latency\":"
                 "\"40ms\"},{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":\"800Mbit/s\",\"latency\":"
                 "\"60ms\"}],\"servers\":{\"count\":1}");
    check_routes(topology_of());
    static const uint32_t inside[] = {0, 1};
    static const uint32_t there[] = {0, 4, 1, 5};
    static const uint32_t back[] = {4, 0, 5, 1};
    static const uint32_t to_server[] = {4, 6};
    static const uint32_t beside_server[] = {0, 6};
    cr_expect_float_eq(time_of(inside, 1, MB), MB + LATENCY_NS, 1.0);
    /* Two flows over 0.5 bytes/ns, then 40 ms; back over 0.1 bytes/ns, then 60 ms. */
    cr_expect_float_eq(time_of(there, 2, MB), 4.0 * MB + LATENCY_NS + 40e6, 2.0);
    cr_expect_float_eq(time_of(back, 2, MB), 20.0 * MB + LATENCY_NS + 60e6, 2.0);
    /* Servers are in the first region. */
    cr_expect_float_eq(time_of(to_server, 1, MB), 10.0 * MB + LATENCY_NS + 60e6, 2.0);
    cr_expect_float_eq(time_of(beside_server, 1, MB), MB + LATENCY_NS, 2.0);
}

Test(topology, a_graph_takes_its_shortest_paths)
{
    char file[TEST_PATH_BYTES];
    char text[TEXT_BYTES];
    /* a - s - b, and a - t - u - b with more rate: two links count less than three. From c only u
     * leads on; of s and u, both one link from b, links say which. */
    static const char graph[] =
        "{\"schema\":\"gradsync.graph/1\",\"hosts\":[\"a\",\"b\",\"c\"],"
        "\"switches\":[\"s\",\"t\",\"u\"],\"links\":["
        "{\"from\":\"a\",\"to\":\"t\",\"bandwidth\":\"80Gbit/s\"},"
        "{\"from\":\"a\",\"to\":\"s\",\"bandwidth\":\"8Gbit/s\",\"latency\":\"3us\"},"
        "{\"from\":\"s\",\"to\":\"b\",\"bandwidth\":\"4Gbit/"
        "s\",\"latency\":\"2us\",\"both\":false},"
        "{\"from\":\"b\",\"to\":\"s\",\"bandwidth\":\"2Gbit/"
        "s\",\"latency\":\"4us\",\"both\":false},"
        "{\"from\":\"t\",\"to\":\"u\",\"bandwidth\":\"80Gbit/s\"},"
        "{\"from\":\"u\",\"to\":\"b\",\"bandwidth\":\"80Gbit/s\"},"
        "{\"from\":\"c\",\"to\":\"u\",\"bandwidth\":\"8Gbit/s\"}]}";
    test_temp_file(file, graph, strlen(graph));
    snprintf(text, sizeof text, "\"kind\":\"graph\",\"graph_file\":\"%s\"", file);
    read_cluster(3, 1, text, "");
    check_routes(topology_of());
    static const uint32_t there[] = {0, 1};
    static const uint32_t back[] = {1, 0};
    static const uint32_t far[] = {0, 2};
    cr_expect_float_eq(time_of(there, 1, MB), 2.0 * MB + LATENCY_NS + 5000, 2.0);
    cr_expect_float_eq(time_of(back, 1, MB), 4.0 * MB + LATENCY_NS + 7000, 2.0);
    cr_expect_float_eq(time_of(far, 1, MB), MB + LATENCY_NS, 2.0);
}

/* --- placement ------------------------------------------------------------------------------ */

/* Two nodes of two ranks, two nics each; three servers on nodes 1, 0 and 1. */
Test(topology, servers_stand_on_the_nodes_of_the_list_in_turn)
{
    read_cluster(2, 2, "\"kind\":\"nodes\",\"nics\":2",
                 ",\"servers\":{\"count\":3,\"at\":\"node:nodes0/1,node:nodes0/0\"}");
    const gs_topology *topology = topology_of();
    check_routes(topology);
    cr_assert_eq(topology->nodes, 2u);
    cr_assert_eq(gs_topology_nic_count(topology), 4u);
    /* Entities 4 to 6; server k has nic k modulo 2 of its node. */
    cr_expect_eq(gs_topology_nic(topology, 4), 2u);
    cr_expect_eq(gs_topology_nic(topology, 5), 1u);
    cr_expect_eq(gs_topology_nic(topology, 6), 2u);
    gs_route inside = gs_topology_route(topology, 2, 4, 0);
    cr_expect(!inside.over_nic && inside.link_count == 2);
    cr_expect_eq(inside.links[0], 2u * 2);     /* out of the port of rank 2, */
    cr_expect_eq(inside.links[1], 2u * 4 + 1); /* into that of the server */
    gs_route over = gs_topology_route(topology, 0, 4, 0);
    cr_expect(over.over_nic && over.link_count == 2);
    cr_expect_eq(over.links[1], topology->nic_first + 2 * 2 + 1);
    cr_expect(!gs_topology_route(topology, 4, 6, 0).over_nic); /* on one node */
    cr_expect(gs_topology_route(topology, 4, 5, 0).over_nic);
}

Test(topology, ranks_in_turn_are_far_apart)
{
    read_cluster(4, 2, "\"kind\":\"nodes\"", ",\"placement\":{\"order\":\"round_robin\"}");
    for (uint32_t rank = 0; rank < 8; rank++) {
        cr_expect_eq(gs_scenario_node_of(&scenario, rank), rank % 4, "rank %u", rank);
    }
    const gs_topology *topology = topology_of();
    check_routes(topology);
    cr_expect(gs_topology_route(topology, 0, 1, 0).over_nic);
    cr_expect_not(gs_topology_route(topology, 0, 4, 0).over_nic);
}

Test(topology, a_list_places_each_rank)
{
    read_cluster(3, 2, "\"kind\":\"nodes\"",
                 ",\"placement\":{\"order\":\"list\",\"slots\":[5,0,1,4,2,3]}");
    static const uint32_t nodes[] = {2, 0, 0, 2, 1, 1};
    for (uint32_t rank = 0; rank < 6; rank++) {
        cr_expect_eq(gs_scenario_node_of(&scenario, rank), nodes[rank], "rank %u", rank);
    }
}

Test(topology, chance_places_ranks_evenly_and_the_same_for_a_seed)
{
    /* Rank 0 is on node k of 8 with probability 1/8: in 400 seeds 50 times, with a deviation of
     * sqrt(400 x 1/8 x 7/8) = 6.6. */
    uint32_t times[8] = {0};
    for (int seed = 0; seed < 400; seed++) {
        char text[128];
        uint32_t slots = 0;
        snprintf(text, sizeof text, ",\"placement\":{\"order\":\"random\",\"seed\":%d}", seed);
        read_cluster(8, 2, "\"kind\":\"nodes\"", text);
        for (uint32_t rank = 0; rank < 16; rank++) {
            slots |= 1U << scenario.cluster.slot_of[rank];
        }
        TEST_REQUIRE(slots == 0xffff, "seed %d: %x", seed, slots);
        times[gs_scenario_node_of(&scenario, 0)]++;
    }
    for (int node = 0; node < 8; node++) {
        cr_expect(times[node] >= 24 && times[node] <= 76, "node %d: %u times", node, times[node]);
    }
    read_cluster(8, 2, "\"kind\":\"nodes\"", ",\"placement\":{\"order\":\"random\",\"seed\":3}");
    const uint32_t *first = scenario.cluster.slot_of;
    read_cluster(8, 2, "\"kind\":\"nodes\"", ",\"placement\":{\"order\":\"random\",\"seed\":3}");
    cr_expect_arr_eq(first, scenario.cluster.slot_of, 16 * sizeof *first);
}

/* --- the whole simulator -------------------------------------------------------------------- */

static gs_sim_result run_job(const char *strategy, int64_t nics)
{
    small_job_config config = small_job_default();
    config.ranks = 16;
    config.ranks_per_node = 4;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.cluster.topology.nics = nics;
    small_job_use(&job, gs_strategy_find(strategy), NULL);
    gs_sim_config sim = {.scenario = &job.scenario, .strategy = &job.choice, .seed = 1};
    gs_sim_result result = small_job_run(&sim);
    small_job_fini(&job);
    return result;
}

Test(topology, hierarchical_sends_its_share_over_every_nic)
{
    /* 1 MiB over 4 nodes of 4 ranks: between nodes each rank's ring sends 2 x 3/4 of a quarter. One
     * nic a node carries four of them, a nic a rank one: 1 / ppn of the bytes per nic. */
    double all = 2.0 * 0.75 * (1 << 20);
    gs_sim_result one = run_job("hierarchical", 1);
    gs_sim_result four = run_job("hierarchical", 4);
    cr_expect_eq(one.facts.nic_count, 4);
    cr_expect_eq(four.facts.nic_count, 16);
    cr_expect_float_eq((double)one.facts.nic_bytes_sent / one.facts.nic_count, all, 1.0);
    cr_expect_float_eq((double)four.facts.nic_bytes_sent / four.facts.nic_count, all / 4, 1.0);
}

Test(topology, without_memory_there_is_none)
{
    read_cluster(4, 4, "\"kind\":\"regions\",\"inside\":\"pcie\"",
                 ",\"regions\":[{\"name\":\"a\",\"nodes\":2},{\"name\":\"b\",\"nodes\":2}],"
                 "\"wan\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":\"1Gbit/s\"}]");
    const gs_topology *made = NULL;
    int64_t after = 0;
    for (; made == NULL && after < 100; after++) {
        gs_arena scarce;
        gs_arena_init(&scarce);
        scarce.fail_after = after;
        made = gs_topology_create(&scenario, 0, 1, &scarce);
        gs_arena_fini(&scarce);
    }
    /* Itself, groups, nics of a group, regions, links. */
    cr_expect_eq(after, 6);
}

/* --- size ----------------------------------------------------------------------------------- */

Test(topology, links_of_many_ranks_grow_with_them)
{
    /* 32,768 ranks on a rail fat tree: 8 uplinks for 8 nics, 16 bytes a link. */
    read_cluster(4096, 8,
                 "\"kind\":\"fat_tree\",\"leaf_nodes\":32,\"pod_nodes\":512,\"nics\":8,"
                 "\"rails\":true",
                 "");
    const gs_topology *topology = topology_of();
    /* Ports 2, nics 2, leaf to spine 2, spine to core 2: no more than 8 links a rank. */
    cr_expect_eq(topology->link_count, 8U * 32768);
    gs_route route = gs_topology_route(topology, 0, 32767, 0);
    cr_expect_eq(route.link_count, 6);
}
