/* Both special forms of a ring against turns played one by one. */
#include "sim/ring_times.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/rng.h"
#include "tests/support.h"

enum { MEMBERS_MAX = 24 };

typedef struct times {
    gs_tick received[MEMBERS_MAX], left[MEMBERS_MAX];
} times;

typedef struct links {
    gs_tick large[MEMBERS_MAX], small[MEMBERS_MAX], latency[MEMBERS_MAX];
} links;

static uint64_t draw(uint64_t of, uint64_t step, uint32_t below)
{
    return gs_rng_bits((gs_rng_key){7, GS_RNG_TEST, (uint32_t)of}, step, 0) % below;
}

/* Every member sends, then everybody receives. */
static times play(const gs_ring *ring, const links *on, const gs_tick *starts)
{
    times out;
    gs_tick begin[MEMBERS_MAX];
    uint32_t n = ring->members;
    memcpy(begin, starts, n * sizeof *begin);
    for (uint64_t turn = 0; turn < ring->turns; turn++) {
        for (uint32_t i = 0; i < n; i++) {
            uint64_t part = (i + ring->first + 1000 * (uint64_t)n - turn) % n;
            out.left[i] = begin[i] + (part < ring->large ? on->large[i] : on->small[i]);
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t from = (i + n - 1) % n;
            out.received[i] = out.left[from] + on->latency[from];
            begin[i] = out.left[i] > out.received[i] ? out.left[i] : out.received[i];
        }
    }
    return out;
}

static void make_case(uint64_t number, bool equal, gs_ring *ring, links *on, gs_tick *starts)
{
    uint32_t n = 2 + (uint32_t)draw(number, 0, MEMBERS_MAX - 1);
    *ring = (gs_ring){.members = n,
                      .turns = 1 + draw(number, 1, 3 * n),
                      .first = (uint32_t)draw(number, 2, n),
                      .large = (uint32_t)draw(number, 3, n)};
    uint32_t skew = number % 3 == 0 ? 10 : 3000;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t of = equal ? 0 : 3 * i;
        on->small[i] = (gs_tick)draw(number, 10 + of, 50);
        on->large[i] = on->small[i] + (gs_tick)draw(number, 11 + of, 40);
        on->latency[i] = (gs_tick)draw(number, 12 + of, 100);
        starts[i] = (gs_tick)draw(number, 100 + i, skew);
    }
}

static void check(uint64_t number, const gs_ring *ring, const times *wanted, const times *got)
{
    size_t bytes = ring->members * sizeof(gs_tick);
    TEST_REQUIRE(memcmp(wanted->received, got->received, bytes) == 0 &&
                     memcmp(wanted->left, got->left, bytes) == 0,
                 "case %llu: %u members, %llu turns, first part %u, %u large ones",
                 (unsigned long long)number, ring->members, (unsigned long long)ring->turns,
                 ring->first, ring->large);
}

/* 3 members, 2 turns, 10 ticks a part, 5 of latency; member 2 starts 100 late. Its messages leave
 * at 110 and 120. The first one comes to member 0 at 115, which then sends its second one: that
 * leaves at 125 and comes to member 1 at 130. Member 1 waits for nobody late: its second one begins
 * at 15, when the first of member 0 has come, leaves at 25 and comes at 30. */
Test(ring_times, a_late_member_is_waited_for_link_by_link)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_ring_room room = {.arena = &arena};
    gs_ring ring = {.members = 3, .turns = 2, .first = 0, .large = 0};
    const gs_tick starts[3] = {0, 0, 100};
    gs_tick received[3], left[3];
    cr_assert(gs_ring_closed(&ring, (gs_ring_link){10, 10, 5}, starts, &room, received, left));
    cr_assert(left[0] == 125 && left[1] == 25 && left[2] == 120);
    cr_assert(received[0] == 125 && received[1] == 130 && received[2] == 30);
    gs_arena_fini(&arena);
}

Test(ring_times, the_closed_form_is_exact_on_equal_links_with_unequal_parts_and_any_starts)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_ring_room room = {.arena = &arena};
    for (uint64_t number = 0; number < 4000; number++) {
        gs_ring ring;
        links on;
        gs_tick starts[MEMBERS_MAX];
        make_case(number, true, &ring, &on, starts);
        times wanted = play(&ring, &on, starts);
        times got;
        gs_ring_link link = {on.large[0], on.small[0], on.latency[0]};
        cr_assert(gs_ring_closed(&ring, link, starts, &room, got.received, got.left));
        check(number, &ring, &wanted, &got);
    }
    gs_arena_fini(&arena);
}

Test(ring_times, the_recurrence_is_exact_on_any_links)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_ring_room room = {.arena = &arena};
    for (uint64_t number = 0; number < 4000; number++) {
        gs_ring ring;
        links on;
        gs_tick starts[MEMBERS_MAX];
        make_case(number, false, &ring, &on, starts);
        times wanted = play(&ring, &on, starts);
        times got;
        gs_ring_links given = {.large = on.large, .small = on.small, .latency = on.latency};
        cr_assert(gs_ring_recurrence(&ring, &given, starts, &room, got.received, got.left));
        check(number, &ring, &wanted, &got);
    }
    gs_arena_fini(&arena);
}

/* Of a tenth of the latency each: 7 times a tenth is not a whole tick, and is cut. */
static void draw_factors(void *host, uint64_t turn, double *out)
{
    const gs_ring *ring = host;
    for (uint32_t i = 0; i < ring->members; i++) {
        out[i] = 0.1 * (double)draw(i, turn, 128);
    }
}

/* Latencies of 7 times up to 12.7 behind parts of 10: a message would overtake the one before. */
Test(ring_times, with_a_latency_for_each_message_none_overtakes)
{
    enum { N = 7, TURNS = 40 };
    gs_arena arena;
    gs_arena_init(&arena);
    gs_ring_room room = {.arena = &arena};
    gs_ring ring = {.members = N, .turns = TURNS, .first = 3, .large = 2};
    gs_tick large[N], small[N], latency[N], last[N] = {0}, starts[N], received[N], left[N];
    gs_tick begin[N], gone[N], came[N] = {0};
    for (uint32_t i = 0; i < N; i++) {
        large[i] = 12;
        small[i] = 10;
        latency[i] = 7;
        starts[i] = begin[i] = (gs_tick)draw(100 + i, 0, 200);
    }
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        double factors[N] = {0};
        draw_factors(&ring, turn, factors);
        for (uint32_t i = 0; i < N; i++) {
            gone[i] = begin[i] + ((i + 3 + 7 * N - turn) % N < 2 ? 12 : 10);
            gs_tick arrival = gone[i] + (gs_tick)(7.0 * factors[i]);
            came[i] = arrival > came[i] ? arrival : came[i];
        }
        for (uint32_t i = 0; i < N; i++) {
            gs_tick arrival = came[(i + N - 1) % N];
            begin[i] = gone[i] > arrival ? gone[i] : arrival;
        }
    }
    gs_ring_links given = {.large = large,
                           .small = small,
                           .latency = latency,
                           .draw = draw_factors,
                           .host = &ring,
                           .last_arrival = last};
    cr_assert(gs_ring_recurrence(&ring, &given, starts, &room, received, left));
    for (uint32_t i = 0; i < N; i++) {
        cr_assert(left[i] == gone[i] && received[i] == came[(i + N - 1) % N], "member %u", i);
    }
    gs_arena_fini(&arena);
}
