/* What a test bed of four hosts was predicted to do, and did: namespaces with token buckets of 200
 * Mbit/s at both ends of each card and one connection a pair, rings and halving-doublings of 1 and
 * 4 MiB without computation. Payload got 0.992 of the nominal rate. */
#include "tests/sim/net_fixture.h"

#include <math.h>

enum { HOSTS = 4, STEPS_MAX = 6, MIB = 1048576 };

static net_fixture f;

typedef enum collective { RING, HALVING_DOUBLING } collective;

/* Each rank begins a step when what it sent in the one before has left, and what it waited for has
 * come, which may be early. */
static struct program {
    collective kind;
    int64_t bytes;
    uint32_t steps;
    bool started[HOSTS];
    uint32_t at[HOSTS]; /* step under way */
    bool left[HOSTS][STEPS_MAX], came[HOSTS][STEPS_MAX];
    uint32_t step_of[NET_MESSAGES]; /* of a message */
} program;

static void send_step(uint32_t rank, gs_time_ns at_ns)
{
    uint32_t step = program.at[rank];
    net_message message = {.from = rank, .at_ns = at_ns};
    if (program.kind == RING) {
        message.to = (rank + 1) % HOSTS;
        message.bytes = program.bytes / HOSTS;
    } else { /* halves with the far partner, quarters with the near one, and back */
        bool is_far = step == 0 || step == 3;
        message.to = rank ^ (is_far ? 2U : 1U);
        message.bytes = program.bytes / (is_far ? 2 : 4);
    }
    program.step_of[net_send(&f, message)] = step;
}

static void go_on(uint32_t rank)
{
    uint32_t *at = &program.at[rank];
    while (program.started[rank] && *at < program.steps && program.came[rank][*at] &&
           program.left[rank][*at]) {
        if (++*at < program.steps) {
            send_step(rank, 0);
        }
    }
}

static void on_ask(net_fixture *fixture, uint32_t index)
{
    uint32_t rank = fixture->messages[index].from;
    program.started[rank] = true;
    go_on(rank);
}

static void on_left(net_fixture *fixture, uint32_t index)
{
    uint32_t rank = fixture->messages[index].from;
    program.left[rank][program.step_of[index]] = true;
    go_on(rank);
}

static void on_come(net_fixture *fixture, uint32_t index)
{
    uint32_t rank = fixture->messages[index].to;
    program.came[rank][program.step_of[index]] = true;
    go_on(rank);
}

typedef enum trouble { EQUAL, LATE_RANK, DROP, SLOW_HOST } trouble;

static const double LATE_S = 0.1;
/* 200 to 50 Mbit/s "at 20 ms": tc takes 3 to 5 ms more. */
static const double DROP_S = 0.023;

static gs_link plain_link(void)
{
    return (gs_link){
        .bandwidth_bps = INT64_C(200000000), .efficiency = 0.992, .sockets = GS_SOCKETS_PROCESS};
}

/* When all ranks have all of it. */
static double run_s(const gs_link *nic, trouble with, collective kind, int64_t bytes)
{
    gs_rate_point points[] = {{0, 1.0}, {(gs_time_ns)(DROP_S * 1e9), 0.25}};
    gs_rate_trace drop = {points, 2, 1000 * GS_NS_PER_S};
    program = (struct program){.kind = kind, .bytes = bytes, .steps = kind == RING ? 6 : 4};
    net_init(&f, HOSTS, nic, 0);
    for (uint32_t link = 0; link < 2 * HOSTS; link++) {
        f.links[link].trace = with == DROP ? &drop : NULL;
        f.links[link].bytes_per_tick *= with == SLOW_HOST && link / 2 == 1 ? 0.25 : 1.0;
    }
    f.on_ask = on_ask;
    f.on_left = on_left;
    f.on_come = on_come;
    for (uint32_t rank = 0; rank < HOSTS; rank++) {
        send_step(rank, with == LATE_RANK && rank == 1 ? (gs_time_ns)(LATE_S * 1e9) : 0);
    }
    net_run(&f);
    for (uint32_t rank = 0; rank < HOSTS; rank++) {
        TEST_REQUIRE(program.at[rank] == program.steps, "rank %u hangs", rank);
    }
    double end_s = (double)f.loop.now / GS_TICKS_PER_NS * 1e-9;
    net_fini(&f);
    return end_s;
}

static void expect_s(double found_s, double wanted_s, double tolerance_ratio, const char *what,
                     size_t row)
{
    TEST_REQUIRE(fabs(found_s - wanted_s) <= tolerance_ratio * wanted_s,
                 "row %zu takes %.5f s, %s %.5f", row, found_s, what, wanted_s);
}

/* Without latency and cost per message. Let u be the time of all bytes over one card. Either
 * collective sends 1.5 u; after the drop what is left takes four times as long. A host at a quarter
 * is in every step of the ring: 6 u. In the doubling its partners share its card: it has the far
 * one's half and the near one's quarter after 3 u, and sends its own quarters by 5 u; the near
 * one's quarter of the sum comes, beside the far one's half, by 6 u, and its own half goes last:
 * 8 u. */
Test(sim_testbed, bytes_take_what_they_take_by_hand)
{
    gs_link nic = plain_link();
    for (int64_t mib = 1; mib <= 4; mib += 3) {
        double u = (double)(mib * MIB) / (0.992 * 25e6);
        double drop = DROP_S + 4.0 * (1.5 * u - DROP_S);
        for (int i = RING; i <= HALVING_DOUBLING; i++) {
            collective kind = (collective)i;
            expect_s(run_s(&nic, EQUAL, kind, mib * MIB), 1.5 * u, 1e-6, "by hand", 0);
            expect_s(run_s(&nic, DROP, kind, mib * MIB), drop, 1e-6, "by hand", 1);
        }
        expect_s(run_s(&nic, LATE_RANK, RING, mib * MIB), LATE_S + 1.5 * u, 1e-6, "by hand", 2);
        expect_s(run_s(&nic, SLOW_HOST, RING, mib * MIB), 6.0 * u, 1e-6, "by hand", 3);
        expect_s(run_s(&nic, SLOW_HOST, HALVING_DOUBLING, mib * MIB), 8.0 * u, 1e-6, "by hand", 4);
    }
}

static const struct {
    trouble with;
    collective kind;
    int64_t mib;
    double predicted_s, measured_s;
} rows[] = {
    {EQUAL, RING, 1, 0.0641, 0.0636},
    {EQUAL, RING, 4, 0.2564, 0.2559},
    {EQUAL, HALVING_DOUBLING, 1, 0.0641, 0.0641},
    {EQUAL, HALVING_DOUBLING, 4, 0.2564, 0.2561},
    {LATE_RANK, RING, 1, 0.1641, 0.1639},
    {LATE_RANK, RING, 4, 0.3564, 0.3562},
    {LATE_RANK, HALVING_DOUBLING, 1, 0.1793, 0.1737},
    {LATE_RANK, HALVING_DOUBLING, 4, 0.3958, 0.3908},
    {DROP, RING, 1, 0.1865, 0.1834},
    {DROP, RING, 4, 0.9460, 0.9456},
    {DROP, HALVING_DOUBLING, 1, 0.1865, 0.1854},
    {DROP, HALVING_DOUBLING, 4, 0.9460, 0.9460},
    {SLOW_HOST, RING, 1, 0.2540, 0.2625},
    {SLOW_HOST, RING, 4, 1.0159, 1.0355},
    {SLOW_HOST, HALVING_DOUBLING, 1, 0.3383, 0.3461},
    {SLOW_HOST, HALVING_DOUBLING, 4, 1.3535, 1.3799},
};

/* The bed's sockets begin with 64 KiB to send and 128 KiB to receive, and grow to 256 KiB each
 * while they are used: 192 KiB for 1 MiB, twice as much for 4 MiB. It matters where a rank is late
 * to a halving-doubling: what it sends first has left so far ahead that the next goes beside it. */
Test(sim_testbed, takes_what_the_bed_was_predicted_to_take_and_about_what_it_took)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gs_link nic = plain_link();
        nic.latency_ns = 30 * GS_NS_PER_US;
        nic.per_message_ns = 50 * GS_NS_PER_US;
        nic.window_bytes = rows[i].mib == 1 ? 192 * 1024 : 384 * 1024;
        double found_s = run_s(&nic, rows[i].with, rows[i].kind, rows[i].mib * MIB);
        expect_s(found_s, rows[i].predicted_s, 0.01, "predicted", i);
        expect_s(found_s, rows[i].measured_s, 0.04, "measured", i);
    }
}

/* As the bed's cards are: one queue each. 22 frames of a socket in its buffer, 14 in its card: of
 * 256 KiB and of 128 KiB at 9780 bytes a frame (docs/testbed.md). A slow host then takes longer
 * than its rate says, as it did. */
Test(sim_testbed, with_cards_that_are_queues_takes_what_the_bed_took)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        gs_link nic = plain_link();
        nic.window_bytes = INT64_C(22) * 8948;
        nic.queue_bytes = INT64_C(14) * 8948;
        double found_s = run_s(&nic, rows[i].with, rows[i].kind, rows[i].mib * MIB);
        expect_s(found_s, rows[i].measured_s, 0.02, "measured", i);
    }
}
