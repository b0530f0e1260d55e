/* Max-min rates: worked by hand, against a second solver, and feasible at every instant. */
#include "sim/fairshare_parts.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/rng.h"
#include "tests/sim/fairshare_oracle.h"

enum { EVENTS = 24, NETWORKS = 10000 };

static gs_arena arena;

static gs_fairshare *network(const double *capacities, uint32_t link_count, uint32_t flow_count)
{
    gs_arena_init(&arena);
    gs_fairshare *fairshare = gs_fairshare_create(link_count, flow_count, ROUTE_MAX, &arena);
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

static bool has_moved(const gs_fairshare *fairshare, uint32_t flow)
{
    for (uint32_t i = 0; i < fairshare->moved_count; i++) {
        if (fairshare->moved[i].flow == flow) {
            return true;
        }
    }
    return false;
}

static bool is_levelled(const gs_fairshare *fairshare, uint32_t link)
{
    for (uint32_t i = 0; i < fairshare->levelled_count; i++) {
        if (fairshare->levelled[i] == link) {
            return true;
        }
    }
    return false;
}

/* Flows that the last event says to look at. */
static uint32_t count_told(const gs_fairshare *fairshare)
{
    uint32_t count = 0;
    for (uint32_t flow = 0; flow < fairshare->flow_capacity; flow++) {
        count += fairshare->route_counts[flow] > 0 &&
                 (has_moved(fairshare, flow) ||
                  is_levelled(fairshare, gs_fairshare_bottleneck(fairshare, flow)));
    }
    return count;
}

Test(fairshare, more_room_leaves_the_rates_as_they_are)
{
    gs_fairshare *fairshare = network((double[]){7.3, 2.9, 5.1}, 3, 2);
    add(fairshare, 0, 0, 1);
    add(fairshare, 1, 0, 2);
    cr_assert(gs_fairshare_reserve(fairshare, 3, 5, ROUTE_MAX, &arena));
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

Test(fairshare, another_link_leaves_the_rates_as_they_are)
{
    gs_fairshare *fairshare = network((double[]){7.3, 2.9, 5.1}, 3, 3);
    add(fairshare, 0, 0, 1);
    add(fairshare, 1, 0, 2);
    cr_assert(gs_fairshare_reserve(fairshare, 5, 3, ROUTE_MAX, &arena));
    cr_assert(gs_fairshare_validate(fairshare));
    expect_rate(fairshare, 0, 2.9);
    expect_rate(fairshare, 1, 4.4);
    gs_fairshare_set_capacity(fairshare, 4, 1.1);
    cr_assert_eq(gs_fairshare_rate(fairshare, 2), 0.0); /* closed as before */
    add(fairshare, 2, 0, 4);
    /* The new link holds flow 2; 7.3 - 2.9 - 1.1 is left on link 0. */
    expect_rate(fairshare, 2, 1.1);
    expect_rate(fairshare, 1, 3.3);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
}

Test(fairshare, a_flow_alone_gets_its_narrowest_link_exactly)
{
    gs_fairshare *fairshare = network((double[]){7.3, 2.9, 5.1}, 3, 2);
    gs_fairshare_add(fairshare, 1, (uint32_t[]){0, 1, 2}, 3);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 2.9);
    cr_assert_eq(gs_fairshare_load(fairshare, 0), 2.9);
    cr_assert_eq(gs_fairshare_bottleneck(fairshare, 1), 1);
    cr_assert_eq(fairshare->moved_count, 1);
    cr_assert_eq(fairshare->moved[0].flow, 1);
    cr_assert_eq(fairshare->moved[0].from, 3); /* none */
    cr_assert_eq(fairshare->levelled_count, 0);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_fairshare_remove(fairshare, 1);
    cr_assert_eq(count_told(fairshare), 0);
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
    cr_assert_eq(fairshare->moved_count, 1); /* 0 is new; A still holds 1, at another level */
    cr_assert(is_levelled(fairshare, 0));
    add(fairshare, 2, 1, 1);
    expect_rate(fairshare, 0, 2);
    expect_rate(fairshare, 1, 8);
    expect_rate(fairshare, 2, 2);
    cr_assert_eq(count_told(fairshare), 3);
    cr_assert(!has_moved(fairshare, 0) && has_moved(fairshare, 2));
    /* A falls to 3: 0 and 1 share it, 1.5 each; 2 takes the other 2.5 of B. */
    gs_fairshare_set_capacity(fairshare, 0, 3);
    expect_rate(fairshare, 0, 1.5);
    expect_rate(fairshare, 1, 1.5);
    expect_rate(fairshare, 2, 2.5);
    cr_assert_eq(fairshare->moved_count, 1);
    cr_assert_eq(fairshare->moved[0].flow, 0);
    cr_assert_eq(fairshare->moved[0].from, 1);
    gs_fairshare_remove(fairshare, 1); /* A is 0's alone: B is the narrow one again */
    expect_rate(fairshare, 0, 2);
    expect_rate(fairshare, 2, 2);
    cr_assert_eq(count_told(fairshare), 2);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
}

Test(fairshare, only_the_flows_that_an_event_concerns_are_told_of)
{
    /* Two pairs on links of 6 and 8 that never meet, and a link 1 that only flow 4 uses. */
    gs_fairshare *fairshare = network((double[]){6, 1, 8}, 3, 5);
    add(fairshare, 0, 0, 0);
    add(fairshare, 2, 2, 2);
    add(fairshare, 3, 2, 2);
    cr_assert_eq(count_told(fairshare), 2); /* 2 and 3 */
    add(fairshare, 4, 1, 2);                /* 1 for it; 3.5 for 2 and 3 */
    cr_assert_eq(count_told(fairshare), 3);
    expect_rate(fairshare, 3, 3.5);
    expect_rate(fairshare, 4, 1);
    gs_fairshare_set_capacity(fairshare, 0, 12);
    cr_assert_eq(count_told(fairshare), 1);
    cr_assert_eq(fairshare->levelled[0], 0);
    gs_fairshare_set_capacity(fairshare, 0, 12); /* nothing new */
    cr_assert_eq(count_told(fairshare), 0);
    /* Link 1 to 8/3 and beyond: 4 is held back on link 2 from then on. */
    gs_fairshare_set_capacity(fairshare, 1, 5);
    expect_rate(fairshare, 4, 8.0 / 3);
    cr_assert_eq(count_told(fairshare), 3);
    gs_fairshare_set_capacity(fairshare, 1, 6); /* wider still: nobody gains */
    cr_assert_eq(count_told(fairshare), 0);
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
    cr_assert_eq(count_told(fairshare), 4);
    gs_arena_fini(&arena);
}

Test(fairshare, flows_on_a_dead_link_stand_still_and_recover)
{
    gs_fairshare *fairshare = network((double[]){0, 5}, 2, 2);
    add(fairshare, 0, 0, 1);
    cr_assert_eq(gs_fairshare_rate(fairshare, 0), 0.0);
    add(fairshare, 1, 1, 1);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 5.0);
    gs_fairshare_set_capacity(fairshare, 0, 2);
    cr_assert_eq(gs_fairshare_rate(fairshare, 0), 2.0);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 3.0);
    gs_fairshare_set_capacity(fairshare, 1, 0);
    cr_assert_eq(gs_fairshare_rate(fairshare, 0), 0.0);
    cr_assert_eq(gs_fairshare_rate(fairshare, 1), 0.0);
    cr_assert_eq(count_told(fairshare), 2);
    cr_assert(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
}

Test(fairshare, creation_without_memory_gives_null_at_every_request)
{
    int64_t failed = 0;
    for (int64_t n = 0;; n++) {
        gs_arena_init(&arena);
        arena.fail_after = n;
        gs_fairshare *fairshare = gs_fairshare_create(5, 7, 3, &arena);
        gs_arena_fini(&arena);
        if (fairshare != NULL) {
            break;
        }
        failed++;
    }
    cr_assert_eq(failed, 15); /* two structs and thirteen arrays */
}

Test(fairshare, validate_sees_wrong_rates)
{
    /* Flow 0 on A 4 and B 9, flow 1 on A, flow 2 on B: 2, 2 and 7. */
    gs_fairshare *fairshare = network((double[]){4, 9}, 2, 3);
    add(fairshare, 0, 0, 1);
    add(fairshare, 1, 0, 0);
    add(fairshare, 2, 1, 1);
    cr_assert(gs_fairshare_validate(fairshare));
    fairshare->levels[0] = 1.5; /* feasible, but A is not full */
    cr_assert_not(gs_fairshare_validate(fairshare));
    fairshare->levels[0] = 2.5; /* over capacity */
    cr_assert_not(gs_fairshare_validate(fairshare));
    fairshare->levels[0] = 2.0;
    cr_assert(gs_fairshare_validate(fairshare));
    fairshare->codes[0] = 2; /* B is full, but flow 2 is faster there */
    fairshare->links[0].held_count--;
    fairshare->links[1].held_count++;
    fairshare->levels[2] = 4.5;
    fairshare->levels[0] = 2.5;
    cr_assert_not(gs_fairshare_validate(fairshare));
    gs_arena_fini(&arena);
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
    uint32_t most = net->link_count < ROUTE_MAX ? net->link_count : ROUTE_MAX;
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

typedef struct state {
    double rates[FLOWS_MAX];
    uint32_t bottlenecks[FLOWS_MAX];
    double levels[LINKS_MAX];
} state;

static void note_state(const gs_fairshare *fairshare, state *out)
{
    for (uint32_t flow = 0; flow < fairshare->flow_capacity; flow++) {
        out->rates[flow] = gs_fairshare_rate(fairshare, flow);
        out->bottlenecks[flow] = gs_fairshare_bottleneck(fairshare, flow);
    }
    for (uint32_t link = 0; link < fairshare->link_count; link++) {
        out->levels[link] = gs_fairshare_level(fairshare, link);
    }
}

/* Moved are exactly the open flows with another bottleneck, once, with the one before; levelled are
 * links with another level; and no rate changes without either. */
static void expect_told(const gs_fairshare *fairshare, const state *before)
{
    uint32_t moved = 0;
    for (uint32_t flow = 0; flow < fairshare->flow_capacity; flow++) {
        if (fairshare->route_counts[flow] == 0) {
            continue;
        }
        uint32_t bottleneck = gs_fairshare_bottleneck(fairshare, flow);
        bool has_other = bottleneck != before->bottlenecks[flow];
        moved += has_other;
        bool is_told = has_moved(fairshare, flow) || is_levelled(fairshare, bottleneck);
        if (has_moved(fairshare, flow) != has_other ||
            (!is_told && gs_fairshare_rate(fairshare, flow) != before->rates[flow])) {
            cr_assert_fail("flow %u: its new rate or bottleneck is not told", flow);
        }
    }
    cr_assert_eq(fairshare->moved_count, moved);
    for (uint32_t i = 0; i < moved; i++) {
        gs_fairshare_move move = fairshare->moved[i];
        cr_assert_eq(move.from, before->bottlenecks[move.flow]);
    }
    for (uint32_t i = 0; i < fairshare->levelled_count; i++) {
        uint32_t link = fairshare->levelled[i];
        cr_assert_neq(gs_fairshare_level(fairshare, link), before->levels[link]);
    }
}

Test(fairshare, equals_progressive_filling_of_the_whole_after_every_event)
{
    for (uint32_t n = 0; n < NETWORKS; n++) {
        bool ties = n % 2 == 0;
        oracle net = {.link_count = 1 + draw(12), .flow_count = 2 + draw(19)};
        for (uint32_t link = 0; link < net.link_count; link++) {
            net.capacities[link] = draw_capacity(ties);
        }
        gs_fairshare *fairshare = network(net.capacities, net.link_count, net.flow_count);
        for (uint32_t event = 0; event < EVENTS; event++) {
            state before;
            note_state(fairshare, &before);
            random_event(fairshare, &net, ties);
            oracle_solve(&net);
            expect_equal(fairshare, &net, n);
            expect_told(fairshare, &before);
            if (!gs_fairshare_validate(fairshare)) {
                cr_assert_fail("network %u, event %u: not max-min", n, event);
            }
        }
        gs_arena_fini(&arena);
    }
}

/* Crowds: a flow from one of many hosts goes to one of two servers, over none to two links of a
 * fabric that has room for most, and sometimes over the other server's link too. */
enum { SERVERS = 2, FABRIC = 4, CROWDS = 60, CROWD_EVENTS = 400 };

/* In every second crowd whole numbers, and shares that are equal. */
static double draw_crowd_capacity(uint32_t link, bool ties)
{
    if (ties) {
        return link < SERVERS ? 8.0 + 8.0 * draw(2) : link < FABRIC ? 16.0 : 1.0 + draw(2);
    }
    double factor = 0.5 + 1e-6 * draw(1000000);
    return factor * (link < SERVERS ? 10.0 : link < FABRIC ? 30.0 : 3.0);
}

static void draw_crowd_route(oracle *net, uint32_t flow)
{
    uint32_t *route = net->routes[flow];
    uint32_t server = draw(SERVERS);
    uint32_t count = 0;
    route[count++] = FABRIC + draw(LINKS_MAX - FABRIC);
    route[count++] = server;
    for (uint32_t link = SERVERS; link < FABRIC; link++) {
        if (draw(2) == 0) {
            route[count++] = link;
        }
    }
    if (draw(60) == 0) {
        route[count++] = (server + 1) % SERVERS;
    }
    net->route_counts[flow] = count;
}

static void crowd_event(gs_fairshare *fairshare, oracle *net, bool ties)
{
    uint32_t flow = draw(net->flow_count);
    while (net->route_counts[flow] != 0 && draw(3) != 0) { /* three of four are open, about */
        flow = draw(net->flow_count);
    }
    if (draw(8) == 0) {
        uint32_t link = draw(2) == 0 ? draw(SERVERS) : draw(LINKS_MAX);
        net->capacities[link] = draw_crowd_capacity(link, ties);
        gs_fairshare_set_capacity(fairshare, link, net->capacities[link]);
    } else if (net->route_counts[flow] == 0) {
        draw_crowd_route(net, flow);
        gs_fairshare_add(fairshare, flow, net->routes[flow], net->route_counts[flow]);
    } else {
        net->route_counts[flow] = 0;
        gs_fairshare_remove(fairshare, flow);
    }
}

/* More than a tenth of the events find an elastic link and leave one. */
Test(fairshare, equals_progressive_filling_where_crowds_rise_and_fall_together)
{
    uint32_t elastic_events = 0;
    for (uint32_t n = 0; n < CROWDS; n++) {
        bool ties = n % 2 == 0;
        oracle net = {.link_count = LINKS_MAX, .flow_count = FLOWS_MAX};
        for (uint32_t link = 0; link < LINKS_MAX; link++) {
            net.capacities[link] = draw_crowd_capacity(link, ties);
        }
        gs_fairshare *fairshare = network(net.capacities, net.link_count, net.flow_count);
        for (uint32_t event = 0; event < CROWD_EVENTS; event++) {
            state before;
            note_state(fairshare, &before);
            uint32_t elastic_before = fairshare->work->elastic_count;
            crowd_event(fairshare, &net, ties);
            elastic_events += elastic_before > 0 && fairshare->work->elastic_count > 0;
            oracle_solve(&net);
            expect_equal(fairshare, &net, n);
            expect_told(fairshare, &before);
            if (!gs_fairshare_validate(fairshare)) {
                cr_assert_fail("crowd %u, event %u: not max-min", n, event);
            }
        }
        gs_arena_fini(&arena);
    }
    cr_assert_gt(elastic_events, CROWDS * CROWD_EVENTS / 10);
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
