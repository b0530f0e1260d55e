/* Cards that are queues: worked by hand at a byte per ns, and against packets. */
#include "tests/sim/net_fixture.h"
#include "tests/sim/queue_oracle.h"

#include "base/rng.h"

static net_fixture f;

static void expect_ns(gs_tick found, double wanted_ns, const char *what, uint32_t message)
{
    double found_ns = (double)found / GS_TICKS_PER_NS;
    TEST_REQUIRE(fabs(found_ns - wanted_ns) <= 1.0, "message %u %s at %.3f ns, not %.3f", message,
                 what, found_ns, wanted_ns);
}

/* Chunks of 10,000 bytes, no latency. */
static gs_link queue_link(int64_t queue_bytes)
{
    gs_link nic = net_link();
    nic.latency_ns = 0;
    nic.window_bytes = 160000;
    nic.queue_bytes = queue_bytes;
    return nic;
}

/* ---------------------------------------------------------------- by hand */

/* A receiver at half the rate takes a chunk in 20 us. Of one sender they come from 0 us on every 10
 * us, eight of them; of the other at 45 and 55 us. In the order in which they come its last one is
 * the eighth of ten: 160 us. Where the receiver serves both in turn it has a quarter of a byte per
 * ns from 45 us on: 125 us. */
Test(net_queue, who_came_first_is_served_first)
{
    static const int64_t queues[] = {160000, 0};
    static const double came_ns[] = {160e3, 125e3};
    for (int i = 0; i < 2; i++) {
        gs_link nic = queue_link(queues[i]);
        net_init(&f, 3, &nic, 0);
        f.links[2 * 2 + 1].bytes_per_tick /= 2.0;
        net_send(&f, (net_message){.from = 0, .to = 2, .bytes = 80000});
        net_send(&f, (net_message){.from = 1, .to = 2, .bytes = 20000, .at_ns = 45000});
        net_run(&f);
        expect_ns(f.messages[0].came, 200e3, "came", 0);
        expect_ns(f.messages[1].came, came_ns[i], "came", 1);
        net_fini(&f);
    }
}

/* The card has 30,000 bytes of the first destination, three chunks, when the message to the second
 * one comes at 5 us; a chunk more of the first joins behind it each time that one has gone. So the
 * second's two chunks go at 30 and 40 us. */
Test(net_queue, a_card_takes_so_much_of_a_socket)
{
    gs_link nic = queue_link(30000);
    net_init(&f, 3, &nic, 0);
    net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 100000});
    net_send(&f, (net_message){.from = 0, .to = 2, .bytes = 20000, .at_ns = 5000});
    net_run(&f);
    expect_ns(f.messages[0].came, 120e3, "came", 0);
    expect_ns(f.messages[1].came, 50e3, "came", 1);
    net_fini(&f);
}

/* The window is full with the first message. The second one, six chunks, is in the socket with the
 * credit of the sixth: that is at the receiver's from 50 us on, and acknowledged at once. Where the
 * receiver sends too, since 5 us, the news is behind what its card holds: 5,000 bytes of a chunk
 * and two chunks, 25 us; the last of them is under way to the sender's queue until then, and goes
 * on as fast. */
Test(net_queue, acknowledgements_wait_in_the_queue_of_the_way_back)
{
    static const double left_ns[] = {50e3, 75e3};
    for (int both = 0; both < 2; both++) {
        gs_link nic = queue_link(30000);
        net_init(&f, 2, &nic, 0);
        net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 160000});
        net_send(&f, (net_message){.from = 0, .to = 1, .bytes = 60000});
        if (both == 1) {
            net_send(&f, (net_message){.from = 1, .to = 0, .bytes = 100000, .at_ns = 5000});
        }
        net_run(&f);
        expect_ns(f.messages[0].left, 0.0, "left", 0);
        expect_ns(f.messages[1].left, left_ns[both], "left", 1);
        expect_ns(f.messages[1].came, 220e3, "came", 1);
        net_fini(&f);
    }
}

/* What the test bed does with a ring over two fast and two slow hosts. The last of the fast ones
 * fills the queue before the first slow one, whose acknowledgements from the other slow one come
 * through it: 320,000 bytes at half a byte per ns are longer than a window lasts. In turn the slow
 * card is never idle. */
Test(net_queue, a_full_queue_holds_up_what_its_host_sends)
{
    double took_ns[2];
    for (int i = 0; i < 2; i++) {
        gs_link nic = queue_link(i == 0 ? 0 : 80000);
        net_init(&f, 4, &nic, 0);
        for (uint32_t link = 4; link < 8; link++) {
            f.links[link].bytes_per_tick /= 2.0;
        }
        for (uint32_t host = 0; host < 4; host++) {
            net_send(&f, (net_message){.from = host, .to = (host + 1) % 4, .bytes = 1000000});
        }
        net_run(&f);
        took_ns[i] = (double)f.loop.now / GS_TICKS_PER_NS;
        net_fini(&f);
    }
    cr_expect_float_eq(took_ns[0], 2e6, 1.0, "%.0f", took_ns[0]);
    cr_expect_gt(took_ns[1], 2.2e6, "%.0f", took_ns[1]);
}

/* ---------------------------------------------------------------- memory */

static void burst(void)
{
    gs_time_ns now_ns = gs_sim_loop_now_ns(&f.loop);
    for (uint32_t i = 0; i < 300; i++) {
        net_send(&f, (net_message){.from = i % 5,
                                   .to = (i + 1 + i / 5 % 4) % 5,
                                   .stream = i % (NET_STREAMS + 1),
                                   .is_note = i % 7 == 0,
                                   .bytes = 1000 * (i % 40),
                                   .at_ns = now_ns + 500 * (i / 2)});
    }
    net_run(&f);
}

Test(net_queue, allocates_nothing_once_it_runs)
{
    gs_link nic = queue_link(12000);
    net_init(&f, 5, &nic, 0);
    burst();
    size_t used_bytes = f.arena.used_bytes;
    for (int i = 0; i < 5; i++) {
        burst();
    }
    cr_assert_eq(f.arena.used_bytes, used_bytes);
    net_fini(&f);
}

Test(net_queue, without_memory_the_run_ends_and_nothing_breaks)
{
    uint32_t ended_early = 0;
    for (int64_t after = 0; after < 40; after++) {
        gs_link nic = queue_link(40000);
        net_init(&f, 40, &nic, 0);
        for (uint32_t to = 1; to < 40; to++) {
            net_send(&f, (net_message){.from = 0, .to = to, .bytes = 100000});
        }
        cr_assert(gs_sim_net_seal(&f.net, false, 1));
        test_fail_allocations(after);
        gs_sim_event event;
        while (f.came_count < f.count && gs_sim_loop_next(&f.loop, &event)) {
            net_event(&f, &event);
            if (f.net.part_count == f.net.part_capacity && f.net.free_part == GS_NO_PART) {
                uint32_t part = gs_sim_net_part(&f.net); /* room for the next one */
                if (part == GS_NO_PART) {
                    break;
                }
                gs_sim_net_part_free(&f.net, part);
            }
        }
        test_fail_allocations(-1);
        TEST_REQUIRE(f.came_count == f.count || f.loop.out_of_memory, "after %lld",
                     (long long)after);
        ended_early += f.loop.out_of_memory ? 1 : 0;
        net_fini(&f);
    }
    cr_expect(ended_early > 0 && ended_early < 40, "%u", ended_early);
}

/* ---------------------------------------------------------------- packets */

enum { RUNS = 30 };

static queue_oracle net;
static queue_message packets[QUEUE_MESSAGES];

static double draw(uint64_t run, uint64_t number, double low, double high)
{
    gs_rng_key key = {run, GS_RNG_DELAY, 2};
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
    uint32_t hosts = 2 + pick(run, 0, QUEUE_HOSTS - 1);
    net_init(&f, hosts, nic, 0);
    memset(&net, 0, sizeof net);
    net.hosts = hosts;
    net.packet_bytes = packet_bytes;
    net.window_bytes = (double)nic->window_bytes;
    net.card_bytes = (double)nic->queue_bytes;
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
        packets[i] = (queue_message){
            .from = from, .to = to, .bytes = (double)bytes, .ready_s = (double)at_ns * 1e-9};
    }
    return count;
}

typedef struct spread {
    double mean;     /* of |difference| over the time that packets took, of messages */
    double worst;    /* of |difference| of the last one of a run over the run */
    double run_mean; /* of the difference of the last one over the run */
} spread;

static spread compare(const gs_link *nic, double packet_bytes)
{
    spread out = {0.0, 0.0, 0.0};
    uint32_t total = 0;
    for (uint64_t run = 0; run < RUNS; run++) {
        uint32_t count = make_both(run, packet_bytes, nic);
        net_run(&f);
        queue_run(&net, packets, count);
        double last_s = 0.0, wanted_last_s = 0.0;
        for (uint32_t i = 0; i < count; i++) {
            double came_s = (double)f.messages[i].came / GS_TICKS_PER_NS * 1e-9;
            double took_s = packets[i].came_s - (double)f.messages[i].at_ns * 1e-9;
            out.mean += fabs(came_s - packets[i].came_s) / took_s;
            last_s = fmax(last_s, came_s);
            wanted_last_s = fmax(wanted_last_s, packets[i].came_s);
        }
        double off = last_s / wanted_last_s - 1.0;
        out.worst = fmax(out.worst, fabs(off));
        out.run_mean += off / RUNS;
        total += count;
        net_fini(&f);
    }
    out.mean /= total;
    return out;
}

/* Random networks of 2 to 6 hosts, each card's ends at 50 to 200 Mbit/s, up to 23 messages of 128
 * KiB to 2 MiB. Who is a chunk ahead in a queue stays ahead of all that is behind it, so that a few
 * messages come in another order than packets let them. */
Test(net_queue, comes_when_packets_come)
{
    static const int64_t windows[] = {126000, 252000, 504000};
    static const int64_t queues[] = {30000, 120000};
    static const double sizes[] = {1500.0, 9000.0};
    for (int i = 0; i < 2 * 3 * 2; i++) {
        gs_link nic = queue_link(queues[i / 3 % 2]);
        nic.window_bytes = windows[i % 3];
        spread off = compare(&nic, sizes[i / 6]);
        TEST_REQUIRE(off.mean <= 0.013 && off.worst <= 0.03 && fabs(off.run_mean) <= 0.005,
                     "packets of %.0f, window %lld, queue %lld: mean %.4f, runs %.4f, worst %.4f",
                     sizes[i / 6], (long long)nic.window_bytes, (long long)nic.queue_bytes,
                     off.mean, off.run_mean, off.worst);
    }
}
