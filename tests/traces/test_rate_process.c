/* Rates by chance: their means and time constants against what the processes are defined by. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "traces/rate_process.h"

enum { POINTS = 200000 };

static gs_arena arena;

static gs_rate_trace path_of(const gs_rate_process *process, uint64_t seed, uint32_t link)
{
    gs_rate_trace made;
    cr_assert(gs_rate_process_trace(process, seed, link, POINTS, &arena, &made));
    cr_assert_eq(made.point_count, POINTS);
    cr_assert_eq(made.points[0].at_ns, 0);
    for (uint32_t i = 1; i < POINTS; i++) {
        cr_assert_gt(made.points[i].at_ns, made.points[i - 1].at_ns);
    }
    cr_assert_gt(made.period_ns, made.points[POINTS - 1].at_ns);
    return made;
}

static double length_of(const gs_rate_trace *path, uint32_t i)
{
    gs_time_ns end = i + 1 < path->point_count ? path->points[i + 1].at_ns : path->period_ns;
    return (double)(end - path->points[i].at_ns);
}

/* Over time, not over points. */
static double mean_of(const gs_rate_trace *path)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < path->point_count; i++) {
        sum += path->points[i].factor * length_of(path, i);
    }
    return sum / (double)path->period_ns;
}

/* 100,000 phases of each kind with exponential lengths: their mean is known to 1 / sqrt(100,000) =
 * 0.32 %, tested at 4 of that. Up 8 of 10 s, and 0.25 left: 0.8 + 0.2 * 0.25 = 0.85; a share of
 * time of two such means varies by about p (1 - p) sqrt(2 / 100,000) = 0.0007, its factor by 0.75
 * of that. */
Test(rate_process, markov_is_up_and_low_for_its_mean_times)
{
    gs_rate_process process = {.kind = GS_RATE_MARKOV,
                               .factor = 0.25,
                               .mean_up_ns = 8 * GS_NS_PER_S,
                               .mean_down_ns = 2 * GS_NS_PER_S};
    gs_arena_init(&arena);
    gs_rate_trace path = path_of(&process, 7, 3);
    double up = 0.0;
    double low = 0.0;
    for (uint32_t i = 0; i < POINTS; i++) {
        *(path.points[i].factor > 0.5 ? &up : &low) += length_of(&path, i) / (POINTS / 2);
        cr_assert(i == 0 || path.points[i].factor != path.points[i - 1].factor);
    }
    cr_expect_float_eq(up, 8e9, 4 * 0.0032 * 8e9);
    cr_expect_float_eq(low, 2e9, 4 * 0.0032 * 2e9);
    cr_expect_float_eq(gs_rate_process_mean(&process), 0.85, 1e-12);
    cr_expect_float_eq(mean_of(&path), 0.85, 4 * 0.75 * 0.0007);
    gs_arena_fini(&arena);
}

/* A level keeps exp(-interval / memory) = exp(-0.1) of the one before it. 200,000 levels that
 * remember 10: about 10,000 that are independent, so that the mean is known to sd / 100 = 0.0005,
 * and the correlation to sqrt((1 - 0.905^2) / 200,000) = 0.001. 1 and 0.01 are 10 and 9 sd away. */
Test(rate_process, ar1_has_its_mean_spread_and_memory)
{
    gs_rate_process process = {.kind = GS_RATE_AR1,
                               .mean = 0.5,
                               .sd = 0.05,
                               .interval_ns = 100 * GS_NS_PER_MS,
                               .memory_ns = GS_NS_PER_S};
    gs_arena_init(&arena);
    gs_rate_trace path = path_of(&process, 7, 3);
    double sum = 0.0;
    double squares = 0.0;
    double products = 0.0;
    for (uint32_t i = 1; i < POINTS; i++) {
        double before = path.points[i - 1].factor - 0.5;
        double level = path.points[i].factor - 0.5;
        sum += level;
        squares += level * level;
        products += level * before;
        cr_assert_eq(length_of(&path, i), 1e8);
    }
    cr_expect_float_eq(sum / POINTS, 0.0, 4 * 0.0005);
    cr_expect_float_eq(sqrt(squares / POINTS), 0.05, 0.05 * 0.03);
    cr_expect_float_eq(products / squares, exp(-0.1), 4 * 0.001);
    gs_arena_fini(&arena);
}

/* Four sources that are on for 1 of 4 s: one on in the mean, so that 1 - 0.2 is left. How many are
 * on is binomial: three quarters to the fourth, 31.6 % of the time, none. */
Test(rate_process, background_takes_what_its_sources_take)
{
    gs_rate_process process = {.kind = GS_RATE_ON_OFF,
                               .mean_up_ns = 3 * GS_NS_PER_S,
                               .mean_down_ns = GS_NS_PER_S,
                               .sources = 4,
                               .share = 0.2};
    gs_arena_init(&arena);
    gs_rate_trace path = path_of(&process, 7, 3);
    double idle = 0.0;
    for (uint32_t i = 0; i < POINTS; i++) {
        idle += path.points[i].factor > 0.9 ? length_of(&path, i) / (double)path.period_ns : 0.0;
    }
    cr_expect_float_eq(idle, pow(0.75, 4), 0.01);
    cr_expect_float_eq(gs_rate_process_mean(&process), 0.8, 1e-12);
    cr_expect_float_eq(mean_of(&path), 0.8, 0.005);
    gs_arena_fini(&arena);
}

Test(rate_process, more_sources_than_a_link_has_leave_one_percent)
{
    gs_rate_process process = {.kind = GS_RATE_ON_OFF,
                               .mean_up_ns = 1,
                               .mean_down_ns = GS_NS_PER_S,
                               .sources = 8,
                               .share = 0.5};
    gs_arena_init(&arena);
    gs_rate_trace path = path_of(&process, 7, 3);
    cr_expect_float_eq(path.points[0].factor, 0.01, 1e-12);
    gs_arena_fini(&arena);
}

Test(rate_process, a_flapping_link_carries_next_to_nothing_while_down)
{
    gs_rate_process process = {
        .kind = GS_RATE_FLAP, .mean_up_ns = GS_NS_PER_S, .mean_down_ns = GS_NS_PER_S};
    gs_arena_init(&arena);
    gs_rate_trace path = path_of(&process, 7, 3);
    cr_expect_float_eq(fmin(path.points[0].factor, path.points[1].factor), 1e-6, 1e-18);
    cr_expect_float_eq(mean_of(&path), 0.5, 4 * 0.0012);
    gs_arena_fini(&arena);
}

Test(rate_process, a_path_is_of_its_seed_and_link_alone)
{
    gs_rate_process process = {.kind = GS_RATE_AR1,
                               .mean = 0.5,
                               .sd = 0.05,
                               .interval_ns = 100 * GS_NS_PER_MS,
                               .memory_ns = GS_NS_PER_S};
    gs_arena_init(&arena);
    gs_rate_trace first = path_of(&process, 7, 3);
    gs_rate_trace again = path_of(&process, 7, 3);
    gs_rate_trace seed = path_of(&process, 8, 3);
    gs_rate_trace link = path_of(&process, 7, 4);
    cr_expect_eq(memcmp(first.points, again.points, POINTS * sizeof *first.points), 0);
    cr_expect_neq(memcmp(first.points, seed.points, POINTS * sizeof *first.points), 0);
    cr_expect_neq(memcmp(first.points, link.points, POINTS * sizeof *first.points), 0);
    gs_arena_fini(&arena);
}
