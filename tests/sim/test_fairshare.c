/* Max-min rates: worked by hand, against a second solver, and feasible at every instant. */
#include "sim/fairshare.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rng.h"

static gs_arena arena;

static gs_fairshare *network(const double *capacities, uint32_t link_count, uint32_t flow_count)
{
    gs_arena_init(&arena);
    gs_fairshare *fairshare = gs_fairshare_create(link_count, flow_count, &arena);
    cr_assert_not_null(fairshare);
    for (uint32_t link = 0; link < link_count; link++) {
        gs_fairshare_set_capacity(fairshare, link, capacities[link]);
    }
    return fairshare;
}

static void add(gs_fairshare *fairshare, uint32_t flow, uint32_t first, uint32_t second)
{
    gs_fairshare_add(fairshare, flow, (uint32_t[]){first, second}, first == second ? 1 : 2);
}

static void expect_rate(const gs_fairshare *fairshare, uint32_t flow, double expected)
{
    double rate = gs_fairshare_rate(fairshare, flow);
    cr_assert(fabs(rate - expected) <= 1e-12 * expected, "flow %u: %.17g, expected %.17g", flow,
              rate, expected);
}

/* The old rate in the list of changes, or -1. */
static double old_rate(const gs_fairshare *fairshare, uint32_t flow)
{
    for (uint32_t i = 0; i < fairshare->change_count; i++) {
        if (fairshare->changes[i].flow == flow) {
            return fairshare->changes[i].old_rate;
        }
    }
    return -1.0;
}

Test(fairshare, more_room_leaves_the_rates_as_they_are)
{
    gs_fairshare *fairshare = network((double[]){7.3, 2.9, 5.1}, 3, 2);
    add(fairshare, 0, 0, 1);
    add(fairshare, 1, 0, 2);
    cr_assert(gs_fairshare_reserve(fairshare, 5, &arena));
    cr_assert(gs_fairshare_validate(fairshare));
    expect_rate(fairshare, 0, 2.9);
    expect_rate(fairshare, 1, 4.4);
    for (uint32_t flow = 2; flow < 5; flow++) {
        add(fairshare, flow, 1, 2);
    }
    /* Four on the link of 2.9. */
    expect_rate(fairshare, 4, 0.725);
    expect_rate(fairshare, 1, 5.1 - 3 * 0.725);
    gs_fairshare_remove(fairshare, 0);
    cr_assert(gs_fairshare_validate(fairshare));
    expect_rate(fairshare, 4, 2.9 / 3.0);
    gs_arena_fini(&arena);
}

Test(fairshare, a_flow_alone_gets_its_narrowest_link_exactly)
{
    gs_fairshare *fairshare = network((double[]){7.3, 2.9, 5.1}, 3, 2);
    gs_fairshare_add(fairshare, 1, (uint32_t[]){0, 1, 2}, 3);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 2.9);
    cr_assert_eq(gs_fairshare_load(fairshare, 0), 2.9);
    cr_assert_eq(fairshare->change_count, 1);
    cr_assert_eq(fairshare->changes[0].flow, 1);
    cr_assert_eq(fairshare->changes[0].old_rate, 0.0);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_fairshare_remove(fairshare, 1);
    cr_assert_eq(fairshare->change_count, 0);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 0.0);
    cr_assert_eq(gs_fairshare_load(fairshare, 2), 0.0);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
}

Test(fairshare, what_a_held_back_flow_leaves_goes_to_the_others)
{
    /* Links A 10, B 4. Flow 0 on A and B, 1 on A, 2 on B: B is the narrowest at 4/2 = 2, so that 0
     * and 2 get 2, and 1 gets what is left on A, 8. */
    gs_fairshare *fairshare = network((double[]){10, 4}, 2, 3);
    add(fairshare, 1, 0, 0);
    expect_rate(fairshare, 1, 10);
    add(fairshare, 0, 0, 1); /* 4 for it on B, the other 6 on A */
    expect_rate(fairshare, 0, 4);
    expect_rate(fairshare, 1, 6);
    cr_assert_eq(old_rate(fairshare, 1), 10);
    add(fairshare, 2, 1, 1);
    expect_rate(fairshare, 0, 2);
    expect_rate(fairshare, 1, 8);
    expect_rate(fairshare, 2, 2);
    cr_assert_eq(fairshare->change_count, 3);
    cr_assert_eq(old_rate(fairshare, 0), 4);
    cr_assert_eq(old_rate(fairshare, 2), 0);
    /* A falls to 3: 0 and 1 share it, 1.5 each; 2 takes the other 2.5 of B. */
    gs_fairshare_set_capacity(fairshare, 0, 3);
    expect_rate(fairshare, 0, 1.5);
    expect_rate(fairshare, 1, 1.5);
    expect_rate(fairshare, 2, 2.5);
    gs_fairshare_remove(fairshare, 1); /* A is 0's alone: B is the narrow one again */
    expect_rate(fairshare, 0, 2);
    expect_rate(fairshare, 2, 2);
    cr_assert_eq(fairshare->change_count, 2);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
}

Test(fairshare, only_the_flows_that_an_event_concerns_are_in_the_list)
{
    /* Two pairs on links of 6 and 8 that never meet, and a link 1 that only flow 4 uses. */
    gs_fairshare *fairshare = network((double[]){6, 1, 8}, 3, 5);
    add(fairshare, 0, 0, 0);
    add(fairshare, 2, 2, 2);
    add(fairshare, 3, 2, 2);
    cr_assert_eq(fairshare->change_count, 2); /* 2 and 3 */
    add(fairshare, 4, 1, 2);                  /* 1 for it; 3.5 for 2 and 3 */
    cr_assert_eq(fairshare->change_count, 3);
    expect_rate(fairshare, 3, 3.5);
    expect_rate(fairshare, 4, 1);
    gs_fairshare_set_capacity(fairshare, 0, 12);
    cr_assert_eq(fairshare->change_count, 1);
    cr_assert_eq(old_rate(fairshare, 0), 6);
    gs_fairshare_set_capacity(fairshare, 0, 12); /* nothing new */
    cr_assert_eq(fairshare->change_count, 0);
    /* Link 1 to 8/3 and beyond: 4 is held back on link 2 from then on. */
    gs_fairshare_set_capacity(fairshare, 1, 5);
    expect_rate(fairshare, 4, 8.0 / 3);
    cr_assert_eq(fairshare->change_count, 3);
    gs_fairshare_set_capacity(fairshare, 1, 6); /* wider still: nobody gains */
    cr_assert_eq(fairshare->change_count, 0);
    gs_arena_fini(&arena);
}

Test(fairshare, a_chain_of_levels_is_filled_to_its_end)
{
    /* Links of 1, 3, 9, 27 and flow k on links k and k+1, flow 3 on the last alone.
     * Link 0 gives flow 0 all of its 1; link 1 (3 - 1 = 2) gives flow 1 2; link 2 (9 - 2 = 7) gives
     * flow 2 7; link 3 leaves 27 - 7 = 20. */
    gs_fairshare *fairshare = network((double[]){1, 3, 9, 27}, 4, 4);
    add(fairshare, 3, 3, 3);
    add(fairshare, 2, 2, 3);
    add(fairshare, 1, 1, 2);
    add(fairshare, 0, 0, 1);
    expect_rate(fairshare, 0, 1);
    expect_rate(fairshare, 1, 2);
    expect_rate(fairshare, 2, 7);
    expect_rate(fairshare, 3, 20);
    /* Link 0 to 2: 0 and 1 share link 1 at 1.5, 7.5, 19.5; every flow moves. */
    gs_fairshare_set_capacity(fairshare, 0, 2);
    expect_rate(fairshare, 0, 1.5);
    expect_rate(fairshare, 1, 1.5);
    expect_rate(fairshare, 2, 7.5);
    expect_rate(fairshare, 3, 19.5);
    cr_assert_eq(fairshare->change_count, 4);
    gs_arena_fini(&arena);
}

Test(fairshare, flows_on_a_dead_link_stand_still_and_recover)
{
    gs_fairshare *fairshare = network((double[]){0, 5}, 2, 2);
    add(fairshare, 0, 0, 1);
    cr_assert_eq(gs_fairshare_rate(fairshare, 0), 0.0);
    cr_assert_eq(fairshare->change_count, 0); /* from 0 to 0 */
    add(fairshare, 1, 1, 1);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 5.0);
    gs_fairshare_set_capacity(fairshare, 0, 2);
    cr_assert_eq(gs_fairshare_rate(fairshare, 0), 2.0);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 3.0);
    gs_fairshare_set_capacity(fairshare, 1, 0);
    cr_assert_eq(gs_fairshare_rate(fairshare, 0), 0.0);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 0.0);
    cr_assert_eq(fairshare->change_count, 2);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
}

Test(fairshare, creation_without_memory_gives_null_at_every_request)
{
    int64_t failed = 0;
    for (int64_t n = 0;; n++) {
        gs_arena_init(&arena);
        arena.fail_after = n;
        gs_fairshare *fairshare = gs_fairshare_create(5, 7, &arena);
        gs_arena_fini(&arena);
        if (fairshare != NULL) {
            break;
        }
        failed++;
    }
    cr_assert_eq(failed, 8); /* two structs and six arrays */
}

Test(fairshare, validate_sees_wrong_rates)
{
    gs_fairshare *fairshare = network((double[]){4}, 1, 2);
    add(fairshare, 0, 0, 0);
    add(fairshare, 1, 0, 0);
    cr_assert(gs_fairshare_validate(fairshare));
    fairshare->flows[0].rate = 1.5; /* feasible, but the link is not full */
    fairshare->links[0].load = 3.5;
    cr_assert_not(gs_fairshare_validate(fairshare));
    fairshare->flows[1].rate = 2.5; /* full, but flow 0 is not a largest there */
    fairshare->links[0].load = 4.0;
    cr_assert_not(gs_fairshare_validate(fairshare));
    fairshare->flows[0].rate = 2.5; /* over capacity */
    fairshare->links[0].load = 5.0;
    cr_assert_not(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
}

/* The second solver: progressive filling of the whole network from its routes, nothing shared with
 * the one under test. */
enum { LINKS_MAX = 12, FLOWS_MAX = 20, EVENTS = 24, NETWORKS = 10000 };

typedef struct oracle {
    uint32_t link_count, flow_count;
    double capacities[LINKS_MAX];
    uint32_t route_counts[FLOWS_MAX]; /* 0: closed */
    uint32_t routes[FLOWS_MAX][GS_ROUTE_MAX];
    double rates[FLOWS_MAX];
} oracle;

static bool crosses(const oracle *net, uint32_t flow, uint32_t link)
{
    for (uint32_t hop = 0; hop < net->route_counts[flow]; hop++) {
        if (net->routes[flow][hop] == link) {
            return true;
        }
    }
    return false;
}

static void oracle_solve(oracle *net)
{
    double left[LINKS_MAX];
    uint32_t users[LINKS_MAX] = {0};
    bool fixed[FLOWS_MAX];
    uint32_t open = 0;
    memcpy(left, net->capacities, sizeof left);
    for (uint32_t flow = 0; flow < net->flow_count; flow++) {
        net->rates[flow] = 0.0;
        fixed[flow] = net->route_counts[flow] == 0;
        open += !fixed[flow];
        for (uint32_t hop = 0; hop < net->route_counts[flow]; hop++) {
            users[net->routes[flow][hop]]++;
        }
    }
    while (open > 0) {
        uint32_t narrowest = LINKS_MAX;
        for (uint32_t link = 0; link < net->link_count; link++) {
            if (users[link] > 0 &&
                (narrowest == LINKS_MAX ||
                 left[link] / users[link] < left[narrowest] / users[narrowest])) {
                narrowest = link;
            }
        }
        double level = left[narrowest] / users[narrowest];
        for (uint32_t flow = 0; flow < net->flow_count; flow++) {
            if (fixed[flow] || !crosses(net, flow, narrowest)) {
                continue;
            }
            fixed[flow] = true;
            open--;
            net->rates[flow] = level;
            for (uint32_t hop = 0; hop < net->route_counts[flow]; hop++) {
                uint32_t link = net->routes[flow][hop];
                users[link]--;
                left[link] = fmax(left[link] - level, 0.0);
            }
        }
    }
}

static uint32_t draw_count; /* of the one stream all cases are made from */

static uint32_t draw(uint32_t bound)
{
    gs_rng_key key = {.seed = 20250117, .purpose = GS_RNG_TEST, .entity = 1};
    return (uint32_t)(gs_rng_uniform(key, 0, draw_count++) * bound);
}

/* Every second network has small whole capacities, so that ties abound; the others span four
 * decades. */
static double draw_capacity(bool ties)
{
    return ties ? (double)draw(4) : pow(10.0, 1e-6 * draw(4000000));
}

static void draw_route(oracle *net, uint32_t flow)
{
    uint32_t most = net->link_count < GS_ROUTE_MAX ? net->link_count : GS_ROUTE_MAX;
    uint32_t wanted = 1 + draw(draw(3) == 0 ? most : most < 3 ? most : 3);
    net->route_counts[flow] = 0;
    while (net->route_counts[flow] < wanted) {
        uint32_t link = draw(net->link_count);
        if (!crosses(net, flow, link)) {
            net->routes[flow][net->route_counts[flow]++] = link;
        }
    }
}

/* One arrival, departure or change of capacity, in both networks. */
static void random_event(gs_fairshare *fairshare, oracle *net, bool ties)
{
    uint32_t flow = draw(net->flow_count);
    if (draw(5) == 0) {
        uint32_t link = draw(net->link_count);
        net->capacities[link] = draw_capacity(ties);
        gs_fairshare_set_capacity(fairshare, link, net->capacities[link]);
    } else if (net->route_counts[flow] == 0) {
        draw_route(net, flow);
        gs_fairshare_add(fairshare, flow, net->routes[flow], net->route_counts[flow]);
    } else {
        net->route_counts[flow] = 0;
        gs_fairshare_remove(fairshare, flow);
    }
}

static void expect_equal(const gs_fairshare *fairshare, const oracle *net, uint32_t network_index)
{
    for (uint32_t flow = 0; flow < net->flow_count; flow++) {
        double rate = gs_fairshare_rate(fairshare, flow);
        if (!(fabs(rate - net->rates[flow]) <= 1e-9 * net->rates[flow])) {
            cr_assert_fail("network %u flow %u: %.17g, oracle %.17g", network_index, flow, rate,
                           net->rates[flow]);
        }
    }
}

/* The list names each flow whose rate differs from before, once, with its rate of before. */
static void expect_changes(const gs_fairshare *fairshare, const double *before, uint32_t flow_count,
                           const oracle *net)
{
    uint32_t expected = 0;
    for (uint32_t flow = 0; flow < flow_count; flow++) {
        bool changed =
            net->route_counts[flow] > 0 && gs_fairshare_rate(fairshare, flow) != before[flow];
        expected += changed;
        if (changed && old_rate(fairshare, flow) != before[flow]) {
            cr_assert_fail("flow %u is not in the list with its old rate %.17g", flow,
                           before[flow]);
        }
    }
    cr_assert_eq(fairshare->change_count, expected);
}

Test(fairshare, equals_progressive_filling_of_the_whole_after_every_event)
{
    for (uint32_t n = 0; n < NETWORKS; n++) {
        bool ties = n % 2 == 0;
        oracle net = {.link_count = 1 + draw(LINKS_MAX), .flow_count = 2 + draw(FLOWS_MAX - 1)};
        for (uint32_t link = 0; link < net.link_count; link++) {
            net.capacities[link] = draw_capacity(ties);
        }
        gs_fairshare *fairshare = network(net.capacities, net.link_count, net.flow_count);
        for (uint32_t event = 0; event < EVENTS; event++) {
            double before[FLOWS_MAX];
            for (uint32_t flow = 0; flow < net.flow_count; flow++) {
                before[flow] = gs_fairshare_rate(fairshare, flow);
            }
            random_event(fairshare, &net, ties);
            oracle_solve(&net);
            expect_equal(fairshare, &net, n);
            expect_changes(fairshare, before, net.flow_count, &net);
            if (!gs_fairshare_validate(fairshare)) {
                cr_assert_fail("network %u, event %u: not max-min", n, event);
            }
        }
        gs_arena_fini(&arena);
    }
}

Test(fairshare, a_long_life_leaves_no_drift)
{
    /* 200,000 arrivals and departures on links that are never empty: sums stay sums. */
    enum { LINKS = 6, FLOWS = 16 };
    gs_fairshare *fairshare =
        network((double[]){1.1, 2.3, 3.7, 5.3, 8.9, 1000.3}, LINKS, FLOWS + 1);
    oracle net = {.link_count = LINKS, .flow_count = FLOWS};
    for (uint32_t link = 0; link < LINKS; link++) {
        net.capacities[link] = fairshare->links[link].capacity;
    }
    for (uint32_t event = 0; event < 200000; event++) {
        uint32_t flow = draw(FLOWS);
        if (net.route_counts[flow] == 0) {
            net.route_counts[flow] = 2;
            net.routes[flow][0] = draw(LINKS - 1);
            net.routes[flow][1] = LINKS - 1; /* wide: nobody's bottleneck */
            gs_fairshare_add(fairshare, flow, net.routes[flow], 2);
        } else {
            net.route_counts[flow] = 0;
            gs_fairshare_remove(fairshare, flow);
        }
    }
    oracle_solve(&net);
    expect_equal(fairshare, &net, 0);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
}
