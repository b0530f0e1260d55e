/* Transfers over varying rates: by hand, and against a walk that knows no periods. */
#include "sim/rate_integral.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdbool.h>

#include "base/rng.h"

/* 1 for 3 ns, 0.5 for 1 ns, 0.25 for 4 ns: 4.5 nominal ns in a period of 8 ns. */
static const gs_rate_point points[] = {{0, 1.0}, {3, 0.5}, {4, 0.25}};
static const gs_rate_trace trace = {.points = points, .point_count = 3, .period_ns = 8};

Test(rate_integral, ticks_are_exact_and_leave_rounded_up)
{
    cr_assert_eq(gs_ticks(7), 7168);
    cr_assert_eq(gs_tick_ns(7168), 7);
    cr_assert_eq(gs_tick_ns(7169), 8);
    cr_assert_eq(gs_tick_ns(1), 1);
    cr_assert_eq(gs_tick_ns(0), 0);
    cr_assert_eq(gs_ticks(GS_TIME_NEVER), GS_TICK_NEVER);
    cr_assert_eq(gs_tick_ns(GS_TICK_NEVER), GS_TIME_NEVER);
    cr_assert_eq(gs_tick_ns(GS_TICK_NEVER - 1), INT64_MAX / 1024 + 1);
}

Test(rate_integral, a_breakpoint_belongs_to_what_follows)
{
    cr_assert_eq(gs_rate_factor(&trace, 0), 1.0);
    cr_assert_eq(gs_rate_factor(&trace, gs_ticks(3) - 1), 1.0);
    cr_assert_eq(gs_rate_factor(&trace, gs_ticks(3)), 0.5);
    cr_assert_eq(gs_rate_factor(&trace, gs_ticks(8) - 1), 0.25);
    cr_assert_eq(gs_rate_factor(&trace, gs_ticks(8)), 1.0);
    cr_assert_eq(gs_rate_factor(&trace, gs_ticks(8000003)), 0.5);
    cr_assert_eq(gs_rate_factor(NULL, 17), 1.0);
}

Test(rate_integral, the_next_change_is_after_now_and_counts_the_wrap)
{
    cr_assert_eq(gs_rate_next_change(&trace, 0), gs_ticks(3));
    cr_assert_eq(gs_rate_next_change(&trace, gs_ticks(3) - 1), gs_ticks(3));
    cr_assert_eq(gs_rate_next_change(&trace, gs_ticks(3)), gs_ticks(4));
    cr_assert_eq(gs_rate_next_change(&trace, gs_ticks(5)), gs_ticks(8));
    cr_assert_eq(gs_rate_next_change(&trace, gs_ticks(800) + 1), gs_ticks(803));
    cr_assert_eq(gs_rate_next_change(NULL, 5), GS_TICK_NEVER);
    const gs_rate_trace flat = {.points = points, .point_count = 1, .period_ns = 8};
    cr_assert_eq(gs_rate_next_change(&flat, 5), GS_TICK_NEVER);
    cr_assert_eq(gs_rate_next_change(&trace, GS_TICK_NEVER - 1), GS_TICK_NEVER);
}

Test(rate_integral, a_constant_rate_is_a_division_rounded_up)
{
    gs_rate_source source = {.bytes_per_tick = 4.0};
    cr_assert_eq(gs_rate_end(&source, 1, 1000, 400.0), 1100);
    cr_assert_eq(gs_rate_end(&source, 1, 1000, 401.0), 1101);
    cr_assert_eq(gs_rate_end(&source, 1, 1000, 0.0), 1000);
    source.bytes_per_tick = 1e-9;
    cr_assert_eq(gs_rate_end(&source, 1, 1000, 1e12), GS_TICK_NEVER);
}

Test(rate_integral, breakpoints_and_periods_are_integrated_exactly)
{
    /* 2 bytes a tick, 2048 a nominal ns. From 0: 4.5 nominal ns a period. */
    gs_rate_source source = {.bytes_per_tick = 2.0, .trace = &trace};
    cr_assert_eq(gs_rate_end(&source, 1, 0, 2048 * 3.0), gs_ticks(3));
    cr_assert_eq(gs_rate_end(&source, 1, 0, 2048 * 3.25), 3 * 1024 + 512);
    cr_assert_eq(gs_rate_end(&source, 1, 0, 2048 * 4.5), gs_ticks(8));
    cr_assert_eq(gs_rate_end(&source, 1, 0, 2048 * (4.5 * 1000000 + 3.5)), gs_ticks(8000004));
    /* From 3.5 ns: 0.25 until 4, 1 until 8, then 1 more at full rate: 9 ns. */
    cr_assert_eq(gs_rate_end(&source, 1, 3 * 1024 + 512, 2048 * 2.25), gs_ticks(9));
    /* From 6 ns, three periods and 0.75: 0.5 until 8, 0.25 in 0.25 ns; 6 + 24 + 2.25. */
    cr_assert_eq(gs_rate_end(&source, 1, gs_ticks(6), 2048 * (3 * 4.5 + 0.75)), gs_ticks(32) + 256);
    cr_assert_eq(gs_rate_end(&source, 1, gs_ticks(6), 1e20), GS_TICK_NEVER);
}

Test(rate_integral, the_slowest_source_rules_at_every_instant)
{
    /* A constant 1.2 bytes a tick caps the first 3 ns of 2 a tick; 1 and 0.5 a tick are below it.
     * A period: 3·1.2 + 1 + 4·0.5 = 6.6 kB-ticks (x 1024). */
    gs_rate_source sources[] = {{.bytes_per_tick = 2.0, .trace = &trace}, {.bytes_per_tick = 1.2}};
    cr_assert_eq(gs_rate_end(sources, 2, 0, 1024 * 3.6 - 0.01), gs_ticks(3));
    cr_assert_eq(gs_rate_end(sources, 2, 0, 1024 * (3.6 + 0.5) - 0.01), 3 * 1024 + 512);
    cr_assert_eq(gs_rate_end(sources, 2, 0, 1024 * (6.6 * 50 + 4.6) - 0.1), gs_ticks(404));
}

static uint32_t draw_count;

static double draw(void)
{
    gs_rng_key key = {.seed = 77003, .purpose = GS_RNG_TEST, .entity = 2};
    return gs_rng_uniform(key, 0, draw_count++);
}

/* The end by walking whole ns from breakpoint to breakpoint, factors found by scanning. */
static long double oracle_end(const gs_rate_source *sources, uint32_t count, gs_tick start,
                              long double bytes)
{
    long double at = start;
    for (gs_tick ns = start / 1024;; ns++) {
        long double rate = (long double)HUGE_VAL;
        for (uint32_t i = 0; i < count; i++) {
            long double factor = 1.0L;
            const gs_rate_trace *varying = sources[i].trace;
            for (uint32_t p = 0; varying != NULL && p < varying->point_count; p++) {
                if (varying->points[p].at_ns <= ns % varying->period_ns) {
                    factor = (long double)varying->points[p].factor;
                }
            }
            rate = fminl(rate, factor * (long double)sources[i].bytes_per_tick);
        }
        long double end = (long double)(ns + 1) * 1024;
        if (bytes <= rate * (end - at)) {
            return at + bytes / rate;
        }
        bytes -= rate * (end - at);
        at = end;
    }
}

Test(rate_integral, equals_a_walk_without_periods_on_random_traces)
{
    enum { CASES = 4000, POINTS_MAX = 6, SOURCES_MAX = 3 };
    for (uint32_t n = 0; n < CASES; n++) {
        gs_rate_point random[SOURCES_MAX][POINTS_MAX];
        gs_rate_trace traces[SOURCES_MAX];
        gs_rate_source sources[SOURCES_MAX];
        uint32_t count = 1 + (uint32_t)(draw() * SOURCES_MAX);
        gs_time_ns shared_ns = draw() < 0.5 ? 40 : 0; /* half of the cases share their period */
        for (uint32_t i = 0; i < count; i++) {
            uint32_t point_count = 1 + (uint32_t)(draw() * POINTS_MAX);
            gs_time_ns at_ns = 0;
            for (uint32_t p = 0; p < point_count; p++) {
                random[i][p] = (gs_rate_point){.at_ns = at_ns, .factor = 0.1 + 1.7 * draw()};
                at_ns += 1 + (gs_time_ns)(draw() * 5);
            }
            traces[i] = (gs_rate_trace){random[i], point_count, shared_ns > 0 ? shared_ns : at_ns};
            sources[i] = (gs_rate_source){.bytes_per_tick = 0.5 + 3.0 * draw(),
                                          .trace = draw() < 0.2 ? NULL : &traces[i]};
        }
        gs_tick start = (gs_tick)(draw() * 100000);
        double bytes = pow(10.0, 6.0 * draw());
        long double expected = oracle_end(sources, count, start, (long double)bytes);
        gs_tick end = gs_rate_end(sources, count, start, bytes);
        /* Rounded up to a tick, and at most a rounding away from the exact time. */
        cr_assert((long double)end > expected - 1e-4L && (long double)end < expected + 1.0001L,
                  "case %u: %lld, expected %.6Lf", n, (long long)end, expected);
    }
}
