/* Many into one, and jobs that meet on a link, through the network of the simulator: times worked
 * out from who shares what. */
#include "tests/sim/net_fixture.h"

#include <math.h>

static net_fixture f;

/* 1 byte per ns each way and 10 us; channels share it, no sockets. */
static void init(uint32_t hosts)
{
    gs_link nic = net_link();
    nic.sockets = GS_SOCKETS_CHANNEL;
    net_init(&f, hosts, &nic, 0);
}

/* Bytes per ns. */
static void set_rate(uint32_t link, double bytes_per_ns)
{
    f.links[link].bytes_per_tick = bytes_per_ns / GS_TICKS_PER_NS;
}

static uint32_t up_of(uint32_t host)
{
    return 2 * host;
}

static uint32_t down_of(uint32_t host)
{
    return 2 * host + 1;
}

static void expect_came(uint32_t message, double expected_ns)
{
    double came_ns = (double)f.messages[message].came / GS_TICKS_PER_NS;
    /* Each message that ends rounds to a tick. */
    TEST_REQUIRE(fabs(came_ns - expected_ns) <= 0.1, "message %u came at %.4f ns, expected %.4f",
                 message, came_ns, expected_ns);
}

/* n S / B, whatever n: all have the same share and come together. */
Test(incast, n_that_push_to_one_take_n_times_as_long)
{
    for (uint32_t workers = 1; workers < NET_HOSTS; workers += 31) {
        init(workers + 1);
        for (uint32_t worker = 1; worker <= workers; worker++) {
            net_send(&f, (net_message){.from = worker, .to = 0, .bytes = 1234567});
        }
        net_run(&f);
        for (uint32_t i = 0; i < workers; i++) {
            expect_came(i, workers * 1234567.0 + 10e3);
        }
        net_fini(&f);
    }
}

/* Sizes S, 2 S, ... n S: all share until the least is through, then all but that, and so on. When
 * the k-th is, so are those before it, and the n - k others have k S too: S (1 + ... + k + k (n -
 * k)).
 */
Test(incast, the_smaller_ones_leave_their_share_to_the_others)
{
    enum { WORKERS = 60 };
    init(WORKERS + 1);
    for (uint32_t k = 1; k <= WORKERS; k++) {
        net_send(&f, (net_message){.from = k, .to = 0, .bytes = 100000 * k});
    }
    net_run(&f);
    for (uint32_t k = 1; k <= WORKERS; k++) {
        double units = k * (k + 1) / 2.0 + k * (WORKERS - k);
        expect_came(k - 1, 1e5 * units + 10e3);
    }
    net_fini(&f);
}

/* n workers push S in k parts to k servers: n S / (k B), as each server takes n S / k. */
Test(incast, shards_divide_it)
{
    enum { WORKERS = 48, PUSHED = 1200000 };
    for (uint32_t servers = 1; servers <= 8; servers *= 2) {
        init(WORKERS + servers);
        for (uint32_t worker = 0; worker < WORKERS; worker++) {
            for (uint32_t server = 0; server < servers; server++) {
                net_send(&f, (net_message){.from = servers + worker,
                                           .to = server,
                                           .bytes = PUSHED / servers});
            }
        }
        net_run(&f);
        for (uint32_t i = 0; i < f.count; i++) {
            expect_came(i, WORKERS * 1.0 * PUSHED / servers + 10e3);
        }
        net_fini(&f);
    }
}

/* Job A sends to host 0 from hosts 1 to 3, job B from host 4, whose own link gives a tenth: B gets
 * that, and A's flows what it leaves, 0.3 each. At 1 ms each of A has sent 300,000 bytes. */
Test(incast, jobs_that_meet_get_their_max_min_share)
{
    init(5);
    set_rate(up_of(4), 0.1);
    for (uint32_t host = 1; host <= 3; host++) {
        net_send(&f, (net_message){.from = host, .to = 0, .stream = 0, .bytes = 300000});
    }
    net_send(&f, (net_message){.from = 4, .to = 0, .stream = 1, .bytes = 250000});
    net_run(&f);
    for (uint32_t i = 0; i < 3; i++) {
        expect_came(i, 1e6 + 10e3);
    }
    expect_came(3, 2.5e6 + 10e3); /* alone it is no faster: its own link is the narrow one */
    net_fini(&f);
}

/* Two jobs on the same pair of hosts are two channels and have half each, though one has more to
 * send: 400,000 and 1,000,000 bytes come at 0.8 and 1.4 ms. A third, over a receiver of 0.25, takes
 * a quarter of the sender's link: 3/8 each for the first two, until 1,066,666.7 ns; from then on
 * 3/4 for the second: 600,000 more. The third: 0.25 throughout. */
Test(incast, a_job_held_back_elsewhere_leaves_its_share)
{
    for (uint32_t jobs = 2; jobs <= 3; jobs++) {
        init(3);
        set_rate(down_of(2), 0.25);
        net_send(&f, (net_message){.from = 0, .to = 1, .stream = 0, .bytes = 400000});
        net_send(&f, (net_message){.from = 0, .to = 1, .stream = 1, .bytes = 1000000});
        if (jobs == 3) {
            net_send(&f, (net_message){.from = 0, .to = 2, .stream = 2, .bytes = 1000000});
        }
        net_run(&f);
        double first_ns = 400000 / (jobs == 2 ? 0.5 : 0.375);
        expect_came(0, first_ns + 10e3);
        expect_came(1, first_ns + 600000 / (jobs == 2 ? 1.0 : 0.75) + 10e3);
        if (jobs == 3) {
            expect_came(2, 4e6 + 10e3);
        }
        net_fini(&f);
    }
}
