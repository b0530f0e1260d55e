#include "traces/clock_align.h"

#include <criterion/criterion.h>

enum { OPS = 5, RANKS = 3 };

static gs_arena arena;
static gs_error err;
static gs_time_ns starts[OPS * RANKS];
static gs_time_ns ends[OPS * RANKS];

static const gs_time_ns HOUR = 3600 * GS_NS_PER_S;

/* An op a 10 ms, 2 ms on the wire. Rank 2 comes 3 ms after rank 0, rank 1 1 ms; clocks of ranks 1
 * and 2 are 5 h ahead and 2 h behind. */
static gs_clock_alignment align(gs_time_ns stray_ns)
{
    static const gs_time_ns LATE[RANKS] = {0, GS_NS_PER_MS, 3 * GS_NS_PER_MS};
    for (int i = 0; i < OPS; i++) {
        gs_time_ns begin = i * 10 * GS_NS_PER_MS;
        const gs_time_ns clocks[RANKS] = {0, 5 * HOUR, -2 * HOUR};
        for (int r = 0; r < RANKS; r++) {
            starts[i * RANKS + r] = begin + LATE[r] + clocks[r];
            ends[i * RANKS + r] =
                begin + 5 * GS_NS_PER_MS + clocks[r] + (r == 1 ? i * stray_ns : 0);
        }
    }
    gs_clock_ops ops = {starts, ends, OPS, RANKS};
    gs_clock_alignment out;
    gs_arena_init(&arena);
    cr_assert_eq(gs_clock_align(&ops, &arena, &out, &err), GS_OK, "%s", err.text);
    return out;
}

Test(clock_align, clocks_hours_apart_are_aligned_on_the_ends_of_collectives)
{
    gs_clock_alignment out = align(0);
    cr_assert(out.is_aligned);
    cr_expect_eq(out.offsets_ns[0], 0);
    cr_expect_eq(out.offsets_ns[1], 5 * HOUR);
    cr_expect_eq(out.offsets_ns[2], -2 * HOUR);
    cr_expect_eq(out.apart_ns, 7 * HOUR);
    cr_expect_eq(out.stray_ns, 0);
    cr_expect_eq(out.late_ns[0], 0);
    cr_expect_eq(out.late_ns[1], GS_NS_PER_MS);
    cr_expect_eq(out.late_ns[2], 3 * GS_NS_PER_MS);
    gs_arena_fini(&arena);
}

/* Ends of rank 1 drift by 4 ms an op: 0, 4, 8, 12, 16; about their median 8 they stray by 8, 4, 0,
 * 4, 8, whose median is 4 ms: more than a quarter of how far arrivals lie apart. */
Test(clock_align, ends_that_stray_more_than_arrivals_align_nothing)
{
    gs_clock_alignment out = align(4 * GS_NS_PER_MS);
    cr_expect_eq(out.stray_ns, 4 * GS_NS_PER_MS);
    cr_expect_not(out.is_aligned);
    cr_expect_null(out.late_ns);
    gs_arena_fini(&arena);
}

Test(clock_align, without_collectives_there_is_nothing_to_align_on)
{
    gs_clock_ops ops = {starts, ends, 0, RANKS};
    gs_clock_alignment out;
    gs_arena_init(&arena);
    cr_assert_eq(gs_clock_align(&ops, &arena, &out, &err), GS_OK);
    cr_expect_eq(out.op_count, 0);
    cr_expect_not(out.is_aligned);
    gs_arena_fini(&arena);
}
