/* What messages cost beside their bytes, worked by hand on hosts whose nics carry 1 byte a ns, 10
 * us apart: a round trip is 20 us. */
#include <criterion/criterion.h>

#include "tests/sim/net_fixture.h"

#include <math.h>

enum { US = 1000, SEGMENT = 1460 };

static net_fixture f;

static gs_link channel_link(void)
{
    gs_link link = net_link();
    link.sockets = GS_SOCKETS_CHANNEL;
    return link;
}

static gs_link tcp_link(gs_time_ns latency_ns)
{
    gs_link link = channel_link();
    link.class_index = GS_LINK_TCP;
    link.segment_bytes = SEGMENT;
    link.latency_ns = latency_ns;
    link.idle_ns = 200 * GS_NS_PER_MS;
    return link;
}

static uint32_t send(uint32_t to, uint32_t stream, gs_time_ns at_ns, int64_t bytes)
{
    return net_send(&f, (net_message){.to = to, .stream = stream, .bytes = bytes, .at_ns = at_ns});
}

/* In ns, to a thousandth. */
static void expect(uint32_t message, double left_ns, double came_ns)
{
    double left = (double)f.messages[message].left / GS_TICKS_PER_NS;
    double came = (double)f.messages[message].came / GS_TICKS_PER_NS;
    TEST_REQUIRE(fabs(left - left_ns) <= 0.01, "message %u left at %.3f ns, not %.3f", message,
                 left, left_ns);
    TEST_REQUIRE(fabs(came - came_ns) <= 0.01, "message %u came at %.3f ns, not %.3f", message,
                 came, came_ns);
}

Test(sim_net_cost, each_message_costs_its_channel_before_it_begins)
{
    gs_link link = channel_link();
    link.per_message_ns = 3 * US;
    net_init(&f, 3, &link, 0);
    uint32_t first = send(1, NET_STREAMS, 0, 1000);
    uint32_t second = send(1, NET_STREAMS, 0, 1000);
    net_run(&f);
    expect(first, 4 * US, 14 * US);
    expect(second, 8 * US, 18 * US); /* 3 more after the first has left, and 1 of bytes */
    net_fini(&f);
}

Test(sim_net_cost, channels_cost_side_by_side_and_share_the_wire)
{
    gs_link link = channel_link();
    link.per_message_ns = 3 * US;
    net_init(&f, 3, &link, 0);
    uint32_t first = send(1, 0, 0, 1000);
    uint32_t second = send(2, 1, 0, 1000);
    net_run(&f);
    expect(first, 5 * US, 15 * US); /* both begin at 3, at half the rate */
    expect(second, 5 * US, 15 * US);
    net_fini(&f);
}

/* ---------------------------------------------------------------- rendezvous */

Test(sim_net_cost, a_large_message_asks_first_and_a_small_one_does_not)
{
    gs_link link = channel_link();
    link.eager_bytes = 1000;
    net_init(&f, 3, &link, 0);
    uint32_t eager = send(1, NET_STREAMS, 0, 1000);
    uint32_t larger = send(2, NET_STREAMS, 0, 1001);
    uint32_t next = send(2, NET_STREAMS, 0, 2000);
    net_run(&f);
    expect(eager, 1 * US, 11 * US);
    expect(larger, 21 * US + 1, 31 * US + 1); /* a round trip, then its bytes */
    expect(next, 23 * US + 1, 33 * US + 1);   /* asked at 0 too: its turn comes at 21.001 */
    net_fini(&f);
}

/* The receiver comes to a message of stream 0 from host 0 whenever host 2 asks for something. */
static void receiver_comes(net_fixture *fixture, uint32_t message)
{
    if (fixture->messages[message].from == 2) {
        gs_sim_net_await(&fixture->net, gs_sim_net_channel(&fixture->net, 0, 1, 0));
    }
}

Test(sim_net_cost, a_collective_waits_for_its_receiver)
{
    gs_link link = channel_link();
    link.eager_bytes = 1000;
    net_init(&f, 3, &link, 0);
    f.on_ask = receiver_comes;
    uint32_t early = send(1, 0, 5 * US, 2000);
    uint32_t late = send(1, 0, 5 * US, 2000);
    (void)net_send(&f, (net_message){.from = 2, .to = 0, .is_note = true, .at_ns = 0});
    (void)net_send(&f, (net_message){.from = 2, .to = 0, .is_note = true, .at_ns = 50 * US});
    net_run(&f);
    /* The first: asked at 5, answered at 25, as the receiver was there. The second: the receiver
     * comes at 50, its word at 60. */
    expect(early, 27 * US, 37 * US);
    expect(late, 62 * US, 72 * US);
    net_fini(&f);
}

/* ---------------------------------------------------------------- loss */

/* Mathis: 1460 B / 20 us x sqrt(1.5) / sqrt(p); 1 % gives 0.894 B/ns, 4 % half of that. */
static double mathis(double loss)
{
    return SEGMENT / 20000.0 * sqrt(1.5) / sqrt(loss);
}

Test(sim_net_cost, loss_caps_a_connection)
{
    gs_link link = tcp_link(10 * US);
    link.loss = 0.01;
    net_init(&f, 3, &link, 0);
    uint32_t message = send(1, NET_STREAMS, 0, 1000000);
    net_run(&f);
    double left = 1e6 / mathis(0.01);
    cr_assert(left > 1.1e6 && left < 1.2e6);
    expect(message, left, left + 10 * US);
    net_fini(&f);
}

Test(sim_net_cost, connections_that_lose_packets_share_what_the_link_has)
{
    gs_link link = tcp_link(10 * US);
    link.loss = 0.04;
    net_init(&f, 4, &link, 0);
    double own = mathis(0.04); /* 0.447 B/ns: two fit, three do not */
    uint32_t first = send(1, 0, 0, 300000);
    uint32_t second = send(2, 1, 0, 300000);
    uint32_t third = send(3, 2, 600000, 300000);
    net_run(&f);
    /* To 600 us the two have own each, then a third each; 300,000 - own * 600,000 bytes are left.
     * After these the third has own. */
    double left = 300000 - own * 600000;
    double alone_from = 600000 + 3 * left;
    cr_assert(left > 0.0);
    expect(first, alone_from, alone_from + 10 * US);
    expect(second, alone_from, alone_from + 10 * US);
    double end = alone_from + (300000 - left) / own;
    expect(third, end, end + 10 * US);
    net_fini(&f);
}

Test(sim_net_cost, a_class_that_is_not_tcp_has_neither_loss_nor_slow_start)
{
    gs_link link = tcp_link(10 * US);
    link.class_index = GS_LINK_ROCE;
    link.loss = 0.1;
    link.initial_window = 10;
    net_init(&f, 2, &link, 0);
    uint32_t message = send(1, NET_STREAMS, 0, 100000);
    net_run(&f);
    expect(message, 100 * US, 110 * US);
    net_fini(&f);
}

/* ---------------------------------------------------------------- slow start */

/* Windows of 14,600 bytes, 29,200, 58,400 a round trip of 100 us; the fourth is above the 100,000
 * that fill it. */
Test(sim_net_cost, a_connection_that_was_idle_sends_a_window_a_round_trip)
{
    static const struct {
        int64_t bytes;
        double left_ns; /* begin of the round of its last byte, and what it sends there */
    } cases[] = {
        {1000, 1000.0},
        {14600, 14600.0},
        {14601, 100000.0 + 1.0},
        {60000, 200000.0 + 60000 - 14600 - 29200},
        {200000, 300000.0 + 200000 - 14600 - 29200 - 58400}, /* and the fourth goes on and on */
        {900000, 300000.0 + 900000 - 14600 - 29200 - 58400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gs_link link = tcp_link(50 * US);
        link.initial_window = 10;
        net_init(&f, 2, &link, 0);
        uint32_t message = send(1, NET_STREAMS, 0, cases[i].bytes);
        net_run(&f);
        expect(message, cases[i].left_ns, cases[i].left_ns + 50 * US);
        net_fini(&f);
    }
}

Test(sim_net_cost, a_connection_stays_open_until_it_is_idle)
{
    gs_link link = tcp_link(50 * US);
    link.initial_window = 10;
    net_init(&f, 2, &link, 0);
    uint32_t cold = send(1, NET_STREAMS, 0, 60000);
    uint32_t warm = send(1, NET_STREAMS, 1000 * US, 60000);
    uint32_t again = send(1, NET_STREAMS, 400000 * US, 60000);
    net_run(&f);
    expect(cold, 216200, 266200); /* as above */
    /* Its window has grown to 14,600 + 60,000 bytes. */
    expect(warm, 1060 * US, 1110 * US);
    expect(again, 400000 * US + 216200.0, 400000 * US + 266200.0);
    net_fini(&f);
}

Test(sim_net_cost, a_socket_starts_slowly_too)
{
    gs_link link = tcp_link(50 * US);
    link.initial_window = 10;
    link.sockets = GS_SOCKETS_PROCESS;
    net_init(&f, 2, &link, 0);
    uint32_t cold = send(1, 0, 0, 60000);
    uint32_t behind = send(1, 1, 0, 60000); /* of another stream, the same connection */
    net_run(&f);
    expect(cold, 216200, 266200);
    expect(behind, 276200, 326200);
    net_fini(&f);
}

/* ---------------------------------------------------------------- copies */

/* When the last of so many chunks is through three stages, one chunk at a time in each. */
static double pipeline(const double rates[3], double chunk, uint32_t chunks)
{
    double through[3] = {0.0, 0.0, 0.0};
    for (uint32_t i = 0; i < chunks; i++) {
        double before = 0.0;
        for (int stage = 0; stage < 3; stage++) {
            double begins = before > through[stage] ? before : through[stage];
            before = through[stage] = begins + chunk / rates[stage];
        }
    }
    return through[2];
}

static void init_staged(int64_t staging_bps, int64_t chunk_bytes)
{
    static gs_scenario scenario;
    static gs_node_group group;
    group =
        (gs_node_group){.count = 2, .ranks = 1, .nic_scale = 1.0, .gpudirect = GS_GPUDIRECT_OFF};
    scenario = (gs_scenario){.ranks = 2, .nodes = 2};
    scenario.cluster.topology.kind = GS_TOPOLOGY_SWITCH;
    scenario.cluster.groups = &group;
    scenario.cluster.group_count = 1;
    scenario.cluster.nic = channel_link();
    scenario.cluster.nic.staging_bps = staging_bps;
    scenario.cluster.nic.staging_chunk_bytes = chunk_bytes;
    net_init_on(&f, &scenario);
}

/* A copy out, the wire of 1 byte a ns, a copy in: as a pipeline of chunks, and 10 us of latency. */
Test(sim_net_cost, without_gpudirect_chunks_are_copied_on_both_sides)
{
    static const int64_t rates[] = {16, 8, 4}; /* Gbit/s: 2, 1 and 0.5 bytes a ns */
    static const uint32_t chunks[] = {1, 2, 17};
    for (size_t i = 0; i < 9; i++) {
        double copy = (double)rates[i / 3] / 8.0;
        init_staged(rates[i / 3] * 1000000000, 4096);
        uint32_t message = send(1, NET_STREAMS, 0, 4096 * (int64_t)chunks[i % 3]);
        net_run(&f);
        double came = pipeline((double[]){copy, 1.0, copy}, 4096.0, chunks[i % 3]);
        double slowest = copy < 1.0 ? copy : 1.0;
        expect(message, 4096.0 * chunks[i % 3] / slowest, came + 10 * US);
        net_fini(&f);
    }
}

Test(sim_net_cost, a_message_below_a_chunk_is_copied_as_a_whole)
{
    init_staged(INT64_C(16000000000), 4096);
    uint32_t message = send(1, NET_STREAMS, 0, 1000);
    net_run(&f);
    /* 500 ns out, 1,000 on the wire, 500 in. */
    expect(message, 1000, 2000 + 10 * US);
    net_fini(&f);
}
