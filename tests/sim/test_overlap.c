#include "sim/overlap.h"

#include <criterion/criterion.h>

#include "base/rng.h"
#include "tests/support.h"

enum { LINKS = 3, CHANNELS = 4, STAYS = 40 };

typedef struct stay {
    uint32_t link, channel;
    gs_tick start, end;
} stay;

static uint64_t draw(uint64_t of, uint32_t index, uint32_t below)
{
    return gs_rng_bits((gs_rng_key){11, GS_RNG_TEST, 0}, of, index) % below;
}

/* The first time at which two channels are on one link, by looking at all pairs. */
static gs_tick first_of(const stay *stays, uint32_t count)
{
    gs_tick first = GS_TICK_NEVER;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            const stay *a = &stays[i], *b = &stays[j];
            bool meets = a->link == b->link && a->channel != b->channel && a->start <= b->start &&
                         b->start < a->end && b->start < b->end;
            first = meets && b->start < first ? b->start : first;
        }
    }
    return first;
}

/* Channels go on from where they were, on links drawn anew: no channel overlaps itself. Added in
 * the order of channels, which is not that of time. */
Test(overlap, the_first_meeting_is_found_in_any_order)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_overlap overlap;
    cr_assert(gs_overlap_init(&overlap, LINKS, &arena));
    uint32_t met = 0;
    for (uint64_t number = 0; number < 2000; number++) {
        stay stays[STAYS];
        uint32_t gap = number % 2 == 0 ? 3000 : 60;
        gs_overlap_reset(&overlap);
        for (uint32_t i = 0; i < STAYS; i++) {
            uint32_t channel = i % CHANNELS;
            gs_tick from = i < CHANNELS ? 0 : stays[i - CHANNELS].end;
            stay *added = &stays[i];
            added->channel = channel;
            added->link = (uint32_t)draw(number, 3 * i, LINKS);
            added->start = from + (gs_tick)draw(number, 3 * i + 1, gap);
            added->end = added->start + (gs_tick)draw(number, 3 * i + 2, 8);
        }
        for (uint32_t channel = 0; channel < CHANNELS; channel++) {
            for (uint32_t i = channel; i < STAYS; i += CHANNELS) {
                gs_overlap_add(&overlap, stays[i].link, channel, stays[i].start, stays[i].end);
            }
        }
        gs_tick wanted = first_of(stays, STAYS);
        met += wanted != GS_TICK_NEVER;
        TEST_REQUIRE(overlap.first == wanted, "case %llu", (unsigned long long)number);
    }
    cr_assert(met > 200 && met < 2000, "both kinds of cases occur: %u met", met);
    gs_arena_fini(&arena);
}

Test(overlap, one_that_starts_as_another_ends_does_not_meet_it)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_overlap overlap;
    cr_assert(gs_overlap_init(&overlap, 1, &arena));
    gs_overlap_add(&overlap, 0, 0, 10, 20);
    gs_overlap_add(&overlap, 0, 1, 20, 30);
    gs_overlap_add(&overlap, 0, 2, 15, 15);
    cr_assert_eq(overlap.first, GS_TICK_NEVER);
    gs_overlap_add(&overlap, 0, 1, 30, 31);
    gs_overlap_add(&overlap, 0, 0, 29, 40);
    cr_assert_eq(overlap.first, 29);
    gs_arena_fini(&arena);
}
