/* When flows end: worked by hand, and against every flow's bytes counted at every event. */
#include "sim/fluid.h"

#include <criterion/criterion.h>

#include "base/rng.h"
#include "tests/sim/fairshare_oracle.h"

static gs_arena arena;
static gs_tick told[FLOWS_MAX]; /* ends that are waited for; GS_TICK_NEVER: none */

static gs_fluid *network(const double *capacities, uint32_t link_count, uint32_t flow_count)
{
    gs_arena_init(&arena);
    gs_fluid *fluid = gs_fluid_create(link_count, flow_count, ROUTE_MAX, &arena);
    cr_assert_not_null(fluid);
    for (uint32_t link = 0; link < link_count; link++) {
        gs_fluid_set_capacity(fluid, 0, link, capacities[link]);
    }
    for (uint32_t flow = 0; flow < FLOWS_MAX; flow++) {
        told[flow] = GS_TICK_NEVER;
    }
    return fluid;
}

static void take_news(const gs_fluid *fluid)
{
    for (uint32_t i = 0; i < fluid->news_count; i++) {
        told[fluid->news[i].flow] = fluid->news[i].end;
    }
}

static void begin(gs_fluid *fluid, gs_tick now, uint32_t flow, uint32_t link, double bytes)
{
    gs_fluid_begin(fluid, now, flow, &link, 1, bytes, flow);
    take_news(fluid);
}

static void end(gs_fluid *fluid, gs_tick now, uint32_t flow)
{
    told[flow] = GS_TICK_NEVER;
    gs_fluid_end(fluid, now, flow);
    take_news(fluid);
}

/* The flow that ends first; FLOWS_MAX: none. */
static uint32_t first_told(void)
{
    uint32_t first = FLOWS_MAX;
    for (uint32_t flow = 0; flow < FLOWS_MAX; flow++) {
        if (told[flow] < GS_TICK_NEVER && (first == FLOWS_MAX || told[flow] < told[first])) {
            first = flow;
        }
    }
    return first;
}

Test(fluid, what_one_leaves_speeds_up_the_other)
{
    /* 1 byte a tick; 1,000 and 500 bytes. Half each, so that 500 are through at 1,000; the other
     * has 500 left then, alone. */
    gs_fluid *fluid = network((double[]){1.0}, 1, 2);
    begin(fluid, 0, 0, 0, 1000.0);
    cr_assert_eq(told[0], 1000);
    begin(fluid, 0, 1, 0, 500.0);
    cr_assert_eq(told[0], GS_TICK_NEVER); /* the first one only is waited for */
    cr_assert_eq(told[1], 1000);
    end(fluid, 1000, 1);
    cr_assert_eq(told[0], 1500);
    gs_arena_fini(&arena);
}

Test(fluid, capacity_moves_the_end_and_at_none_there_is_none)
{
    /* 3 bytes a tick and 900 bytes; at 100, 600 are left: at 0 they stay, from 500 on at 1 a tick
     * they take 600. */
    gs_fluid *fluid = network((double[]){3.0}, 1, 1);
    begin(fluid, 0, 0, 0, 900.0);
    cr_assert_eq(told[0], 300);
    gs_fluid_set_capacity(fluid, 100, 0, 0.0);
    take_news(fluid);
    cr_assert_eq(told[0], GS_TICK_NEVER);
    gs_fluid_set_capacity(fluid, 500, 0, 1.0);
    take_news(fluid);
    cr_assert_eq(told[0], 1100);
    gs_arena_fini(&arena);
}

Test(fluid, a_flow_goes_on_with_other_bytes_in_its_place)
{
    /* Two at half a byte a tick. The first one ends at 200 and goes on with 30: until 260. None
     * takes no time, a hundredth of a byte at least one tick. */
    gs_fluid *fluid = network((double[]){1.0}, 1, 2);
    begin(fluid, 0, 0, 0, 100.0);
    begin(fluid, 0, 1, 0, 1000.0);
    cr_assert_eq(told[0], 200);
    gs_fluid_next(fluid, 200, 0, 30.0, 0);
    take_news(fluid);
    cr_assert_eq(told[0], 260);
    gs_fluid_next(fluid, 260, 0, 0.0, 0);
    cr_assert_eq(fluid->news_count, 1);
    take_news(fluid);
    cr_assert_eq(told[0], 260);
    gs_fluid_next(fluid, 260, 0, 0.01, 0);
    take_news(fluid);
    cr_assert_eq(told[0], 261);
    end(fluid, 261, 0);
    /* The other one has carried 130 by 260, and half a byte since: 869.5 are left. */
    cr_assert_eq(told[1], 261 + 870);
    gs_arena_fini(&arena);
}

Test(fluid, equal_ones_end_in_their_order)
{
    gs_fluid *fluid = network((double[]){1.0}, 1, 3);
    uint32_t link = 0;
    for (uint32_t flow = 0; flow < 3; flow++) {
        gs_fluid_begin(fluid, 0, flow, &link, 1, 10.0, (uint64_t[]){7, 3, 5}[flow]);
        take_news(fluid);
    }
    static const uint32_t expected[] = {1, 2, 0};
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t first = first_told();
        cr_assert_eq(first, expected[i]);
        cr_assert_eq(told[first], 30);
        end(fluid, 30, first);
    }
    gs_arena_fini(&arena);
}

Test(fluid, equal_ones_end_together_between_two_ticks)
{
    /* 31 bytes at a third of 0.9 a tick: 103.3 ticks. The first one to end leaves the others a
     * tenth of a byte each, which is no reason to end later. */
    gs_fluid *fluid = network((double[]){0.9}, 1, 3);
    for (uint32_t flow = 0; flow < 3; flow++) {
        begin(fluid, 0, flow, 0, 31.0);
    }
    for (uint32_t flow = 0; flow < 3; flow++) {
        cr_assert_eq(first_told(), flow);
        cr_assert_eq(told[flow], 103);
        end(fluid, 103, flow);
    }
    gs_arena_fini(&arena);
}

Test(fluid, a_flow_that_others_do_not_wait_for_may_be_closed)
{
    gs_fluid *fluid = network((double[]){1.0}, 1, 2);
    begin(fluid, 0, 0, 0, 100.0);
    begin(fluid, 0, 1, 0, 1000.0);
    end(fluid, 100, 1); /* 50 of the first are left */
    cr_assert_eq(told[0], 150);
    gs_arena_fini(&arena);
}

Test(fluid, a_clock_that_was_set_back_still_tells_the_time)
{
    /* 2 bytes a tick. Ten flows of 2^42 + 10 k; at 2^43 each has carried a fifth of that, more than
     * 2^40. One of 1,000 comes, is 11th, and ends 5,500 later; in the meantime each has carried
     * 1,000. Then the ten end one after the other: flow 0 has 2^42 - 2^44 / 10 - 1,000 left, at a
     * fifth of a byte a tick; flow k needs 10 more than k - 1, at 2 / (10 - k). */
    gs_fluid *fluid = network((double[]){2.0}, 1, 11);
    for (uint32_t flow = 10; flow-- > 0;) {
        begin(fluid, 0, flow, 0, 0x1p42 + 10.0 * flow);
    }
    gs_tick now = INT64_C(1) << 43;
    begin(fluid, now, 10, 0, 1000.0);
    now += 5500;
    cr_assert_eq(told[10], now);
    end(fluid, now, 10);
    double expected = (double)now + (0x1p42 - 0x1p44 / 10.0 - 1000.0) * 5.0;
    for (uint32_t flow = 0; flow < 10; flow++) {
        cr_assert_eq(first_told(), flow);
        cr_assert_leq(fabs((double)told[flow] - expected), 2.0 + flow);
        end(fluid, told[flow], flow);
        expected += 10.0 / (2.0 / (9.0 - flow));
    }
    gs_arena_fini(&arena);
}

Test(fluid, more_room_leaves_the_ends_as_they_are)
{
    gs_fluid *fluid = network((double[]){1.0}, 1, 2);
    begin(fluid, 0, 0, 0, 100.0);
    begin(fluid, 0, 1, 0, 150.0);
    cr_assert(gs_fluid_reserve(fluid, 1, 3, ROUTE_MAX + 1, &arena));
    begin(fluid, 60, 2, 0, 1000.0);
    /* At 60 flow 0 has 70 left: 210 more at a third. Flow 1 has 50 then: 100 at a half. */
    cr_assert_eq(told[0], 270);
    end(fluid, 270, 0);
    cr_assert_eq(told[1], 370);
    gs_arena_fini(&arena);
}

Test(fluid, another_link_leaves_the_ends_as_they_are)
{
    gs_fluid *fluid = network((double[]){1.0}, 1, 2);
    begin(fluid, 0, 0, 0, 100.0);
    cr_assert(gs_fluid_reserve(fluid, 2, 2, ROUTE_MAX, &arena));
    gs_fluid_set_capacity(fluid, 0, 1, 0.25);
    /* Flow 1 is held to a quarter by the new link, and leaves 3/4 to flow 0, which has 50 left. */
    gs_fluid_begin(fluid, 50, 1, (uint32_t[]){0, 1}, 2, 100.0, 1);
    take_news(fluid);
    cr_assert_eq(told[0], 117); /* 50 + 66.7 */
    cr_assert_eq(told[1], 450);
    gs_arena_fini(&arena);
}

Test(fluid, creation_without_memory_gives_null_at_every_request)
{
    int64_t failed = 0;
    for (int64_t n = 0;; n++) {
        gs_arena_init(&arena);
        arena.fail_after = n;
        gs_fluid *fluid = gs_fluid_create(5, 7, 3, &arena);
        gs_arena_fini(&arena);
        if (fluid != NULL) {
            break;
        }
        failed++;
    }
    cr_assert_eq(failed, 20); /* 15 of fair sharing, one struct and four arrays */
}

/* ---------------------------------------------------------------- the plain count */

enum { NETWORKS = 300, EVENTS = 150, LINKS = 12, FLOWS = 24 };

static uint32_t draw_count;

static uint32_t draw(uint32_t bound)
{
    gs_rng_key key = {.seed = 20261130, .purpose = GS_RNG_TEST, .entity = 2};
    return (uint32_t)(gs_rng_uniform(key, 0, draw_count++) * bound);
}

typedef struct plain {
    oracle net;
    double bytes[FLOWS_MAX]; /* left */
    gs_tick now;
} plain;

static void pass(plain *count, gs_tick now)
{
    for (uint32_t flow = 0; flow < count->net.flow_count; flow++) {
        count->bytes[flow] -= count->net.rates[flow] * (double)(now - count->now);
    }
    count->now = now;
}

/* Less than a tick and a half of it is left, or was too much: what rounding to ticks leaves, and
 * what that does to others that end with it. */
static bool is_through(const plain *count, uint32_t flow)
{
    return fabs(count->bytes[flow]) <= 1.5 * count->net.rates[flow] + 1e-9;
}

static void expect_end(const plain *count, uint32_t ended, uint32_t network_index)
{
    if (!is_through(count, ended)) {
        cr_assert_fail("network %u: flow %u ends with %g bytes at %g a tick", network_index, ended,
                       count->bytes[ended], count->net.rates[ended]);
    }
    for (uint32_t flow = 0; flow < count->net.flow_count; flow++) {
        if (count->net.route_counts[flow] > 0 && count->bytes[flow] < 0.0 &&
            !is_through(count, flow)) {
            cr_assert_fail("network %u: flow %u should have ended before", network_index, flow);
        }
    }
}

static void open_flow(gs_fluid *fluid, plain *count, uint32_t flow)
{
    oracle *net = &count->net;
    net->route_counts[flow] = 0;
    uint32_t wanted = 1 + draw(3);
    while (net->route_counts[flow] < wanted) {
        uint32_t link = draw(net->link_count);
        if (!crosses(net, flow, link)) {
            net->routes[flow][net->route_counts[flow]++] = link;
        }
    }
    /* Some sizes are equal, so that flows end together. */
    count->bytes[flow] = draw(3) == 0 ? 1000.0 : 1.0 + 1e-3 * draw(100000000);
    gs_fluid_begin(fluid, count->now, flow, net->routes[flow], wanted, count->bytes[flow],
                   draw(1000));
}

static void random_event(gs_fluid *fluid, plain *count)
{
    oracle *net = &count->net;
    uint32_t flow = draw(net->flow_count);
    if (net->route_counts[flow] == 0) {
        open_flow(fluid, count, flow);
    } else if (draw(3) == 0) {
        count->bytes[flow] = 1.0 + draw(5000);
        told[flow] = GS_TICK_NEVER;
        gs_fluid_next(fluid, count->now, flow, count->bytes[flow], draw(1000));
    } else {
        uint32_t link = draw(net->link_count);
        net->capacities[link] = 0.25 * draw(40);
        gs_fluid_set_capacity(fluid, count->now, link, net->capacities[link]);
    }
}

Test(fluid, equals_every_flows_bytes_counted_at_every_event)
{
    uint32_t ends = 0;
    for (uint32_t n = 0; n < NETWORKS; n++) {
        plain count = {
            .net = {.link_count = 3 + draw(LINKS - 2), .flow_count = 2 + draw(FLOWS - 1)}};
        for (uint32_t link = 0; link < count.net.link_count; link++) {
            count.net.capacities[link] = 0.25 * (1 + draw(40));
        }
        gs_fluid *fluid = network(count.net.capacities, count.net.link_count, count.net.flow_count);
        for (uint32_t event = 0; event < EVENTS; event++) {
            uint32_t first = first_told();
            gs_tick scripted = count.now + 1 + draw(draw(10) == 0 ? 100000000 : 3000);
            if (first < FLOWS_MAX && told[first] <= scripted) {
                pass(&count, told[first]);
                expect_end(&count, first, n);
                ends++;
                count.net.route_counts[first] = 0;
                end(fluid, count.now, first);
            } else {
                pass(&count, scripted);
                random_event(fluid, &count);
            }
            take_news(fluid);
            oracle_solve(&count.net);
        }
        gs_arena_fini(&arena);
    }
    cr_assert_gt(ends, NETWORKS * EVENTS / 5);
}
