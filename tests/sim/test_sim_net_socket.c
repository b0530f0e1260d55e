/* Sockets: worked by hand at a byte per ns and 10 us, and against packets. */
#include "tests/sim/net_fixture.h"
#include "tests/sim/packet_oracle.h"

#include "base/rng.h"

static net_fixture f;

static void expect_ns(gs_tick found, double wanted_ns, const char *what, uint32_t message)
{
    double found_ns = (double)found / GS_TICKS_PER_NS;
    TEST_REQUIRE(fabs(found_ns - wanted_ns) <= 1.0, "message %u %s at %.3f ns, not %.3f", message,
                 what, found_ns, wanted_ns);
}

static void expect_came(const double *wanted_ns, uint32_t count)
{
    cr_assert_eq(f.count, count);
    for (uint32_t i = 0; i < count; i++) {
        expect_ns(f.messages[i].came, wanted_ns[i], "came", i);
    }
}

#define EXPECT_CAME(...)                                                                           \
    expect_came((const double[]){__VA_ARGS__},                                                     \
                sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static void init(uint32_t hosts, gs_link nic)
{
    net_init(&f, hosts, &nic, 0);
}

/* ---------------------------------------------------------------- order and shares */

/* As channels of their own the two halve the rate: the short one takes 100 us, the long one goes on
 * alone. */
Test(net_socket, all_streams_of_a_pair_are_one_queue)
{
    static const double sockets[] = {110e3, 160e3};
    static const double channels[] = {160e3, 110e3};
    for (int kind = GS_SOCKETS_CHANNEL; kind <= GS_SOCKETS_PROCESS; kind++) {
        gs_link nic = net_link();
        nic.sockets = kind;
        init(2, nic);
        net_send(&f, (net_message){.from = 0, .to = 1, .stream = 0, .bytes = 100000});
        net_send(&f, (net_message){.from = 0, .to = 1, .stream = NET_STREAMS, .bytes = 50000});
        net_run(&f);
        expect_came(kind == GS_SOCKETS_PROCESS ? sockets : channels, 2);
        net_fini(&f);
    }
}

/* Half of the card to each destination, however much waits for it. */
Test(net_socket, destinations_are_served_in_turn)
{
    init(3, net_link());
    net_send(&f, (net_message){.from = 0, .to = 1, .stream = 0, .bytes = 60000});
    net_send(&f, (net_message){.from = 0, .to = 1, .stream = 1, .bytes = 60000});
    net_send(&f, (net_message){.from = 0, .to = 2, .stream = 0, .bytes = 60000});
    net_run(&f);
    EXPECT_CAME(130e3, 190e3, 130e3);
    net_fini(&f);
}

/* To a receiver at a fifth of the rate goes a fifth; the other destination has the rest. */
Test(net_socket, a_slow_receiver_leaves_the_rest_to_others)
{
    init(3, net_link());
    f.links[2 * 1 + 1].bytes_per_tick /= 5.0;
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 40000});
    net_send(&f, (net_message){.from = 0, .to = 2, .bytes = 160000});
    net_run(&f);
    EXPECT_CAME(210e3, 210e3);
    net_fini(&f);
}

Test(net_socket, a_note_waits_for_its_turn_and_overtakes_nobody)
{
    init(3, net_link());
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 100000});
    net_send(&f, (net_message){.from = 0, .to = 1, .is_note = true});
    net_send(&f, (net_message){.from = 0, .to = 2, .is_note = true});
    net_send(&f, (net_message){.from = 0, .to = 1, .stream = 2, .bytes = 7000});
    net_run(&f);
    EXPECT_CAME(110e3, 110e3, 10e3, 117e3);
    cr_expect_lt(f.messages[0].came, f.messages[1].came);
    net_fini(&f);
}

/* What is coded on the stream goes when it is ready, and nothing waits for it. */
Test(net_socket, a_message_that_is_not_ready_holds_nobody_up)
{
    init(2, net_link());
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 30000, .ready_ns = 500000});
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 20000, .ready_ns = 500000});
    net_send(&f, (net_message){.from = 0, .to = 1, .stream = 1, .bytes = 40000});
    net_send(&f, (net_message){.from = 0, .to = 1, .is_note = true, .at_ns = 400000});
    net_run(&f);
    EXPECT_CAME(540e3, 560e3, 50e3, 410e3);
    net_fini(&f);
}

/* Parts, and notes, of one pair come in the order in which they were asked for, whatever happens at
 * the same time, and however the latency varies. */
Test(net_socket, nothing_overtakes_on_a_socket)
{
    static const gs_noise_law law = {.law = GS_LAW_LOGNORMAL, .cv = 2.0};
    gs_noise_sampler jitter;
    gs_error err;
    cr_assert_eq(gs_noise_sampler_init(&jitter, &law, "noise.latency", &err), GS_OK);
    for (uint32_t run = 0; run < 24; run++) {
        gs_link nic = net_link();
        nic.latency_ns = run % 2 == 0 ? 0 : 20000;
        nic.per_message_ns = run % 3 == 0 ? 0 : 1500;
        nic.window_bytes = run % 4 == 0 ? 0 : 4096;
        nic.queue_bytes = run % 4 == 3 ? 4096 : 0;
        net_init(&f, 3, &nic, 100 + run);
        f.net.latency_noise = run < 12 ? NULL : &jitter;
        for (uint32_t i = 0; i < 300; i++) {
            gs_rng_key key = {run, GS_RNG_DELAY, 0};
            uint64_t bits = gs_rng_bits(key, i, 0);
            uint32_t from = (uint32_t)(bits % 3);
            net_send(&f, (net_message){.from = from,
                                       .to = (from + 1 + (uint32_t)(bits >> 8) % 2) % 3,
                                       .stream = (uint32_t)(bits >> 16) % (NET_STREAMS + 1),
                                       .is_note = (bits >> 24) % 4 == 0,
                                       .bytes = (int64_t)((bits >> 32) % 9000 * (bits >> 28 & 1)),
                                       .at_ns = i * 1000});
        }
        net_run(&f);
        uint32_t next[3][3] = {{0}};
        for (uint32_t i = 0; i < f.came_count; i++) {
            const net_message *came = &f.messages[f.came[i]];
            uint32_t *last = &next[came->from][came->to];
            TEST_REQUIRE(f.came[i] >= *last, "run %u: %u came after %u", run, f.came[i], *last);
            *last = f.came[i];
        }
        net_fini(&f);
    }
}

/* ---------------------------------------------------------------- time per message */

/* One after the other over all destinations, while those before are on the wire. */
Test(net_socket, each_message_costs_its_sender)
{
    gs_link nic = net_link();
    nic.per_message_ns = 20 * GS_NS_PER_US;
    init(3, nic);
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 1000});
    net_send(&f, (net_message){.from = 0, .to = 2, .bytes = 1000});
    net_send(&f, (net_message){.from = 0, .to = 1, .is_note = true});
    net_send(&f, (net_message){.from = 1, .to = 0, .bytes = 1000});
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 1000, .at_ns = 300000});
    net_run(&f);
    EXPECT_CAME(31e3, 51e3, 70e3, 31e3, 331e3);
    net_fini(&f);
}

/* m in a row take per_message + s / rate + (m - 1) max(per_message, s / rate), and the latency. */
Test(net_socket, a_row_of_messages_is_a_pipeline)
{
    static const int64_t sizes[] = {0, 700, 20000, 65000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        gs_link nic = net_link();
        nic.per_message_ns = 20 * GS_NS_PER_US;
        init(2, nic);
        for (int m = 0; m < 25; m++) {
            net_send(&f, (net_message){.from = 0, .to = 1, .bytes = sizes[i]});
        }
        net_run(&f);
        double wire = (double)sizes[i];
        expect_ns(f.messages[24].came, 20e3 + wire + 24.0 * fmax(20e3, wire) + 10e3, "came", 24);
        net_fini(&f);
    }
}

/* ---------------------------------------------------------------- the window */

/* Credit comes in chunks of 10,000 bytes, each a round trip of 2 us after its first byte: the last
 * byte of message i is in the socket with the credit of chunk 0, 3, 13. */
Test(net_socket, a_sender_is_a_window_ahead_at_most)
{
    gs_link nic = net_link();
    nic.latency_ns = 1000;
    nic.window_bytes = 160000;
    init(2, nic);
    for (int i = 0; i < 3; i++) {
        net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 100000});
    }
    net_run(&f);
    EXPECT_CAME(101e3, 201e3, 301e3);
    expect_ns(f.messages[0].left, 0.0, "left", 0);
    expect_ns(f.messages[1].left, 32e3, "left", 1);
    expect_ns(f.messages[2].left, 132e3, "left", 2);
    net_fini(&f);
}

Test(net_socket, without_a_window_a_message_has_left_with_its_last_byte)
{
    init(2, net_link());
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 100000});
    net_send(&f, (net_message){.from = 0, .to = 1, .stream = 1, .bytes = 50000});
    net_run(&f);
    expect_ns(f.messages[0].left, 100e3, "left", 0);
    expect_ns(f.messages[1].left, 150e3, "left", 1);
    net_fini(&f);
}

/* Within the window the card serves both destinations alike, and what the slow receiver does not
 * take yet is on its way: 40,000 bytes each by 80 us, then the rest of the other message. */
Test(net_socket, bytes_queue_before_a_slow_receiver)
{
    gs_link nic = net_link();
    nic.window_bytes = 160000;
    init(3, nic);
    f.links[2 * 1 + 1].bytes_per_tick /= 5.0;
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 40000});
    net_send(&f, (net_message){.from = 0, .to = 2, .bytes = 60000});
    net_run(&f);
    EXPECT_CAME(210e3, 110e3);
    net_fini(&f);
}

/* 64,000 bytes a round trip of 100 us: ten of them, the last one without the wait. And the rate is
 * the link's where a window lasts for a round trip. */
Test(net_socket, a_window_a_round_trip_is_the_most)
{
    static const struct {
        int64_t window_bytes;
        double came_ns;
    } cases[] = {{64000, 9 * 100e3 + 64e3 + 50e3}, {128000, 690e3}, {0, 690e3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gs_link nic = net_link();
        nic.latency_ns = 50 * GS_NS_PER_US;
        nic.window_bytes = cases[i].window_bytes;
        init(2, nic);
        net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 640000});
        net_run(&f);
        EXPECT_CAME(cases[i].came_ns);
        net_fini(&f);
    }
}

/* Three such sockets on one card want 1.92 times of it: they fill each other's waits, and the card
 * never rests until the last one is left. */
Test(net_socket, those_that_wait_for_credit_leave_the_link_to_others)
{
    gs_link nic = net_link();
    nic.latency_ns = 50 * GS_NS_PER_US;
    nic.window_bytes = 64000;
    init(4, nic);
    for (uint32_t to = 1; to < 4; to++) {
        net_send(&f, (net_message){.from = 0, .to = to, .bytes = 640000});
    }
    net_run(&f);
    cr_expect_eq(f.net.entity_bytes[0], 3 * 640000);
    cr_expect_eq(f.net.nic_bytes, 3 * 640000);
    for (uint32_t i = 0; i < 3; i++) {
        expect_ns(f.messages[i].came, 3 * 640e3 + 50e3, "came", i);
    }
    net_fini(&f);
}

/* ---------------------------------------------------------------- memory */

/* Room was asked for one flow; a card that serves 60 destinations has 60. */
Test(net_socket, flows_are_made_as_sockets_need_them)
{
    init(61, net_link());
    for (uint32_t to = 1; to < 61; to++) {
        net_send(&f, (net_message){.from = 0, .to = to, .bytes = 10000});
    }
    net_run(&f);
    for (uint32_t i = 0; i < 60; i++) {
        expect_ns(f.messages[i].came, 600e3 + 10e3, "came", i);
    }
    cr_assert(gs_fairshare_validate(f.net.fairshare));
    net_fini(&f);
}

static void burst(uint32_t hosts)
{
    gs_time_ns now_ns = gs_sim_loop_now_ns(&f.loop);
    for (uint32_t i = 0; i < 400; i++) {
        net_send(&f, (net_message){.from = i % hosts,
                                   .to = (i + 1 + i / hosts % (hosts - 1)) % hosts,
                                   .stream = i % (NET_STREAMS + 1),
                                   .is_note = i % 7 == 0,
                                   .bytes = 1000 * (i % 40),
                                   .at_ns = now_ns + 500 * (i / 2)});
    }
    net_run(&f);
}

Test(net_socket, allocates_nothing_once_it_runs)
{
    gs_link nic = net_link();
    nic.per_message_ns = 300;
    nic.window_bytes = 20000;
    init(5, nic);
    burst(5);
    size_t used_bytes = f.arena.used_bytes;
    for (int i = 0; i < 5; i++) {
        burst(5);
    }
    cr_assert_eq(f.arena.used_bytes, used_bytes);
    net_fini(&f);
}

static void begin_to_60(void)
{
    init(61, net_link());
    for (uint32_t to = 1; to < 61; to++) {
        net_send(&f, (net_message){.from = 0, .to = to, .bytes = 10000});
    }
    cr_assert(gs_sim_net_seal(&f.net, false, 1));
}

/* As far as memory lasts. */
static void run_to_60(void)
{
    gs_sim_event event;
    while (f.came_count < f.count && gs_sim_loop_next(&f.loop, &event)) {
        if (event.kind == GS_SIM_CALL && f.net.part_count == f.net.part_capacity) {
            uint32_t part = gs_sim_net_part(&f.net); /* room for the next one */
            if (part == GS_NO_PART) {
                break;
            }
            gs_sim_net_part_free(&f.net, part);
        }
        net_event(&f, &event);
    }
}

Test(net_socket, without_memory_the_run_ends_and_nothing_breaks)
{
    for (int64_t after = 0; after < 40; after++) {
        begin_to_60();
        test_fail_allocations(after);
        run_to_60();
        test_fail_allocations(-1);
        TEST_REQUIRE(f.came_count == f.count || f.loop.out_of_memory, "after %lld",
                     (long long)after);
        net_fini(&f);
    }
}

/* Blocks of the arena hide which request finds no memory: a table of channels that could not grow
 * was taken for channel 0, whose socket was none. Parts, table, channels and sockets double from
 * 16, 32, 61 and 16 on: 3 + 3 + 0 + 2 requests at least. */
Test(net_socket, the_run_ends_at_whatever_it_asks_memory_for)
{
    int64_t after = 0;
    bool all_came = false;
    for (; !all_came; after++) {
        begin_to_60();
        f.arena.fail_after = after;
        run_to_60();
        all_came = f.came_count == f.count;
        TEST_REQUIRE(all_came != f.loop.out_of_memory, "after %lld", (long long)after);
        net_fini(&f);
    }
    cr_assert_gt(after, 8);
}

/* ---------------------------------------------------------------- packets */

enum { RUNS = 20 };

static oracle net;
static oracle_message packets[ORACLE_MESSAGES];

static double draw(uint64_t run, uint64_t number, double low, double high)
{
    gs_rng_key key = {run, GS_RNG_DELAY, 1};
    return low + (high - low) * gs_rng_uniform(key, number, 0);
}

static uint32_t pick(uint64_t run, uint64_t number, uint32_t count)
{
    uint32_t picked = (uint32_t)draw(run, number, 0.0, count);
    return picked < count ? picked : count - 1;
}

/* A random network with random messages in both; returns how many. Rates of 50 to 200 Mbit/s. */
static uint32_t make_both(uint64_t run, double packet_bytes, const gs_link *nic)
{
    uint32_t hosts = 2 + pick(run, 0, 5);
    init(hosts, *nic);
    memset(&net, 0, sizeof net);
    net.hosts = hosts;
    net.packet_bytes = packet_bytes;
    net.latency_s = (double)nic->latency_ns * 1e-9;
    for (uint32_t host = 0; host < hosts; host++) {
        net.out[host].bytes_per_s = draw(run, 100 + host, 6.25e6, 25e6);
        net.in[host].bytes_per_s = draw(run, 200 + host, 6.25e6, 25e6);
        f.links[2 * host].bytes_per_tick = net.out[host].bytes_per_s / 1e9 / GS_TICKS_PER_NS;
        f.links[2 * host + 1].bytes_per_tick = net.in[host].bytes_per_s / 1e9 / GS_TICKS_PER_NS;
    }
    uint32_t count = 2 + pick(run, 1, 22);
    gs_time_ns at_ns = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t first = 1000 + 10 * i;
        uint32_t from = pick(run, first, hosts);
        uint32_t to = (from + 1 + pick(run, first + 1, hosts - 1)) % hosts;
        int64_t bytes = (int64_t)draw(run, first + 2, 131072.0, 2097152.0);
        at_ns += (gs_time_ns)draw(run, first + 3, 0.0, 60e6) * pick(run, first + 4, 2);
        net_send(&f, (net_message){.from = from,
                                   .to = to,
                                   .stream = i % (NET_STREAMS + 1),
                                   .bytes = bytes,
                                   .at_ns = at_ns});
        packets[i] = (oracle_message){
            .from = from, .to = to, .bytes = (double)bytes, .ready_s = (double)at_ns * 1e-9};
    }
    return count;
}

typedef struct spread {
    double mean, worst; /* of |difference| over the time that packets took */
} spread;

static spread compare(const gs_link *nic, double packet_bytes, double oracle_window_bytes)
{
    spread out = {0.0, 0.0};
    uint32_t total = 0;
    for (uint64_t run = 0; run < RUNS; run++) {
        uint32_t count = make_both(run, packet_bytes, nic);
        net.window_bytes = oracle_window_bytes;
        net_run(&f);
        oracle_run(&net, packets, count);
        for (uint32_t i = 0; i < count; i++) {
            double came_s = (double)f.messages[i].came / GS_TICKS_PER_NS * 1e-9;
            double took_s = packets[i].came_s - packets[i].ready_s;
            double off = fabs(came_s - packets[i].came_s) / took_s;
            out.worst = fmax(out.worst, off);
            out.mean += off;
        }
        total += count;
        net_fini(&f);
    }
    out.mean /= total;
    return out;
}

/* Random networks of 2 to 6 hosts, each card's ends at 50 to 200 Mbit/s, up to 23 messages of 128
 * KiB to 2 MiB. A packet of 9,000 bytes is 7 % of the least message, and comes as a whole. */
Test(net_socket, comes_when_packets_come)
{
    static const struct {
        double packet_bytes, mean, worst;
    } kinds[] = {{1500.0, 0.002, 0.03}, {4500.0, 0.004, 0.035}, {9000.0, 0.007, 0.075}};
    static const int64_t windows[] = {63000, 126000, 378000};
    static const gs_time_ns latencies_ns[] = {0, 200000};
    for (size_t i = 0; i < 3 * 3 * 2; i++) {
        gs_link nic = net_link();
        nic.window_bytes = windows[i % 3];
        nic.latency_ns = latencies_ns[i / 3 % 2];
        double packet_bytes = kinds[i / 6].packet_bytes;
        spread off = compare(&nic, packet_bytes, (double)nic.window_bytes);
        TEST_REQUIRE(off.mean <= kinds[i / 6].mean && off.worst <= kinds[i / 6].worst,
                     "packets of %.0f, window %lld, latency %lld: mean %.4f, worst %.4f",
                     packet_bytes, (long long)nic.window_bytes, (long long)nic.latency_ns, off.mean,
                     off.worst);
    }
}

/* 63,000 bytes a round trip of 10 ms are 50 Mbit/s: credit is what most of them wait for. */
Test(net_socket, comes_when_packets_come_that_wait_for_credit)
{
    gs_link nic = net_link();
    nic.window_bytes = 63000;
    nic.latency_ns = 5 * GS_NS_PER_MS;
    spread off = compare(&nic, 1500.0, 63000.0);
    cr_expect_leq(off.mean, 0.003, "%.4f", off.mean);
    cr_expect_leq(off.worst, 0.025, "%.4f", off.worst);
}

/* Both ends in step are packets whose window is next to nothing: six of them. */
Test(net_socket, without_a_window_comes_when_packets_of_a_small_one_come)
{
    gs_link nic = net_link();
    nic.latency_ns = 0;
    spread off = compare(&nic, 1500.0, 9000.0);
    cr_expect_leq(off.mean, 0.005, "%.4f", off.mean);
    cr_expect_leq(off.worst, 0.07, "%.4f", off.worst);
}
