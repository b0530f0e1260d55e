/* Planted links are found again, within the interval, through noise that only makes times longer.
 */
#include "base/rng.h"
#include "tests/support.h"
#include "traces/link_fit.h"

#include <criterion/criterion.h>
#include <math.h>

enum { SIZES = 6, POINTS = 2 * SIZES, REPEATS = 9, TRIALS = 100 };

typedef struct planted {
    double latency_ns, per_message_ns, rate_bps;
} planted;

static const int64_t sizes[SIZES] = {4, 3000, 48000, 190000, 760000, 2000000};

/* Draw `index` of normal(0, 1), by Box and Muller. */
static double normal(uint32_t trial, uint32_t index)
{
    gs_rng_key key = {7, GS_RNG_TEST, trial};
    double radius = sqrt(-2.0 * log(gs_rng_uniform(key, index, 0)));
    return radius * cos(6.283185307179586 * gs_rng_uniform(key, index, 1));
}

/* Times by hand, message by message: made one after the other, each sent once it is made and the
 * one before it has left, and there a latency later. */
static double exact_ns(const planted *link, gs_link_pattern pattern, uint32_t messages,
                       int64_t bytes)
{
    double wire_ns = (double)bytes * 8.0e9 / link->rate_bps;
    if (pattern == GS_LINK_PING_PONG) {
        return 2.0 * messages * (link->per_message_ns + wire_ns + link->latency_ns);
    }
    double made = 0.0, left = 0.0;
    for (uint32_t i = 0; i < messages; i++) {
        made += link->per_message_ns;
        left = fmax(made, left) + wire_ns;
    }
    return left + link->latency_ns + link->per_message_ns + link->latency_ns;
}

typedef struct bench {
    gs_link_point points[POINTS];
    double times[POINTS][REPEATS];
} bench;

/* Each repeat is off by `sd` of itself and 500 ns; every tenth is late by up to twice its time. */
static void measure(bench *out, const planted *link, uint32_t trial, double sd)
{
    for (uint32_t i = 0; i < POINTS; i++) {
        gs_link_point *point = &out->points[i];
        *point = (gs_link_point){
            .pattern = i < SIZES ? GS_LINK_PING_PONG : GS_LINK_STREAM,
            .messages = i < SIZES                   ? 3
                        : sizes[i % SIZES] < 100000 ? 32
                                                    : 4,
            .bytes = sizes[i % SIZES],
            .times_ns = out->times[i],
            .repeats = REPEATS,
        };
        double exact = exact_ns(link, point->pattern, point->messages, point->bytes);
        for (uint32_t r = 0; r < REPEATS; r++) {
            uint32_t index = (i * REPEATS + r) * 3;
            double late = gs_rng_uniform((gs_rng_key){7, GS_RNG_TEST, trial}, index, 2);
            out->times[i][r] = exact * (1.0 + sd * normal(trial, index)) +
                               (sd > 0.0 ? 500.0 * normal(trial, index + 1) : 0.0) +
                               (sd > 0.0 && late < 0.1 ? 20.0 * late * exact : 0.0);
        }
    }
}

static gs_link_fit fit(bench *of)
{
    gs_arena arena;
    gs_error err;
    gs_link_fit out;
    gs_arena_init(&arena);
    gs_status status = gs_link_fit_of(of->points, POINTS, &arena, &out, &err);
    cr_assert_eq(status, GS_OK, "%s", err.text);
    gs_arena_fini(&arena);
    return out;
}

static bool holds(gs_estimate estimate, double value)
{
    cr_assert_leq(estimate.low, estimate.value);
    cr_assert_leq(estimate.value, estimate.high);
    return estimate.low <= value && value <= estimate.high;
}

Test(link_fit, a_link_without_noise_is_found_exactly)
{
    static const planted links[] = {
        {30e3, 5e3, 1e9}, {300e3, 40e3, 200e6}, {0.0, 20e3, 50e6}, {1e3, 0.0, 80e9}};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        bench of;
        measure(&of, &links[i], 0, 0.0);
        gs_link_fit found = fit(&of);
        cr_expect_float_eq(found.latency_ns.value, links[i].latency_ns, 0.01);
        cr_expect_float_eq(found.per_message_ns.value, links[i].per_message_ns, 0.01);
        cr_expect_float_eq(found.rate_bps.value / links[i].rate_bps, 1.0, 1e-9);
        cr_expect_lt(fabs(found.misfit_ratio), 1e-6);
    }
}

Test(link_fit, planted_links_lie_within_the_interval_in_95_of_100)
{
    static const planted links[] = {{60e3, 25e3, 200e6}, {300e3, 8e3, 100e6}, {15e3, 12e3, 10e9}};
    for (size_t l = 0; l < sizeof links / sizeof *links; l++) {
        int latency = 0, per_message = 0, rate = 0;
        for (uint32_t trial = 0; trial < TRIALS; trial++) {
            bench of;
            measure(&of, &links[l], trial, 0.01);
            gs_link_fit found = fit(&of);
            latency += holds(found.latency_ns, links[l].latency_ns);
            per_message += holds(found.per_message_ns, links[l].per_message_ns);
            rate += holds(found.rate_bps, links[l].rate_bps);
            /* 1 % of noise in 9 repeats is 0.4 % of a median, and six sizes measure the rate. */
            cr_expect_float_eq(found.rate_bps.value / links[l].rate_bps, 1.0, 0.01);
        }
        cr_expect_geq(latency, 95, "link %zu: latency in %d", l, latency);
        cr_expect_geq(per_message, 95, "link %zu: cost per message in %d", l, per_message);
        cr_expect_geq(rate, 95, "link %zu: rate in %d", l, rate);
    }
}

Test(link_fit, intervals_are_not_so_wide_that_they_say_nothing)
{
    static const planted link = {60e3, 25e3, 200e6};
    bench of;
    measure(&of, &link, 3, 0.01);
    gs_link_fit found = fit(&of);
    cr_expect_lt(found.rate_bps.high / found.rate_bps.low, 1.03);
    cr_expect_lt(found.latency_ns.high - found.latency_ns.low, 0.3 * link.latency_ns);
    cr_expect_lt(found.per_message_ns.high - found.per_message_ns.low, 0.3 * link.per_message_ns);
}

Test(link_fit, late_repeats_are_left_out_and_counted)
{
    static const planted link = {60e3, 25e3, 200e6};
    bench of;
    measure(&of, &link, 0, 0.0);
    of.times[2][1] *= 3.0;
    of.times[9][0] *= 1.5;
    gs_link_fit found = fit(&of);
    cr_expect_eq(found.rejected, 2);
    cr_expect_eq(found.kept, POINTS * REPEATS - 2);
    cr_expect_float_eq(found.latency_ns.value, link.latency_ns, 0.01);
}

Test(link_fit, a_size_that_no_line_goes_through_shows_and_widens_the_intervals)
{
    static const planted link = {60e3, 25e3, 200e6};
    bench straight, bent;
    measure(&straight, &link, 1, 0.01);
    measure(&bent, &link, 1, 0.01);
    for (uint32_t r = 0; r < REPEATS; r++) {
        bent.times[3][r] *= 1.3; /* a protocol that is slow for 190 kB only */
    }
    gs_link_fit found = fit(&bent);
    gs_link_fit good = fit(&straight);
    cr_expect_gt(fabs(found.misfit_ratio), 0.15);
    cr_expect_gt(found.latency_ns.high - found.latency_ns.low,
                 2.0 * (good.latency_ns.high - good.latency_ns.low));
}

/* As a token bucket does it: its first 10 kB go at once, so that long messages seem to have hardly
 * any latency (0.3 ms less the 0.4 ms that the bucket saves), and short ones have all of it. */
Test(link_fit, where_short_messages_do_not_fit_long_ones_decide)
{
    static const planted link = {300e3, 0.0, 198.4e6};
    static const double saved_ns = 10000.0 * 8.0e9 / 198.4e6;
    bench of;
    measure(&of, &link, 2, 0.003);
    for (uint32_t i = 0; i < POINTS; i++) {
        double times =
            of.points[i].pattern == GS_LINK_PING_PONG ? 2.0 * of.points[i].messages : 1.0;
        for (uint32_t r = 0; r < REPEATS && of.points[i].bytes > 10000; r++) {
            of.times[i][r] -= times * saved_ns;
        }
    }
    gs_link_fit found = fit(&of);
    cr_expect_float_eq(found.rate_bps.value / link.rate_bps, 1.0, 0.005, "%g",
                       found.rate_bps.value);
    cr_expect_lt(found.latency_ns.value + found.per_message_ns.value, 150e3);
    cr_expect_gt(fabs(found.misfit_ratio), 0.3);
}

Test(link_fit, no_number_comes_out_negative)
{
    /* No latency at all, and noise: a plain fit would be negative in half of the trials. */
    static const planted link = {0.0, 30e3, 200e6};
    for (uint32_t trial = 0; trial < 20; trial++) {
        bench of;
        measure(&of, &link, trial, 0.01);
        gs_link_fit found = fit(&of);
        cr_expect_geq(found.latency_ns.low, 0.0);
        cr_expect_lt(found.latency_ns.value, 5e3);
    }
}

Test(link_fit, what_cannot_be_fitted_is_refused)
{
    gs_arena arena;
    gs_error err;
    gs_link_fit out;
    bench of;
    static const planted link = {60e3, 25e3, 200e6};
    gs_arena_init(&arena);
    measure(&of, &link, 0, 0.0);
    cr_expect_eq(gs_link_fit_of(of.points, 2, &arena, &out, &err), GS_EINVAL);
    static const planted without_end = {60e3, 25e3, 1e18};
    measure(&of, &without_end, 0, 0.0);
    cr_expect_eq(gs_link_fit_of(of.points, POINTS, &arena, &out, &err), GS_EINVAL);
    cr_expect_str_eq(err.text,
                     "times of messages do not grow with their size; measure larger ones");
    gs_arena_fini(&arena);
}

Test(link_fit, what_a_point_takes_is_the_planted_time)
{
    static const planted link = {60e3, 25e3, 200e6};
    bench of;
    measure(&of, &link, 0, 0.0);
    gs_link_fit found = fit(&of);
    for (uint32_t i = 0; i < POINTS; i++) {
        double exact =
            exact_ns(&link, of.points[i].pattern, of.points[i].messages, of.points[i].bytes);
        cr_expect_float_eq(gs_link_fit_ns(&found, &of.points[i]) / exact, 1.0, 1e-9);
    }
}

/* 197 kB drain in 7.88 ms at 200 Mbit/s, and 191 and 203 kB in 7.64 and 8.12 ms: more than ten
 * round trips of 0.17 ms. Of 0.39 MB, half would not have had to wait. */
Test(link_fit, a_window_is_what_drains_after_the_last_byte_has_left)
{
    gs_estimate window = {0.0, 0.0, 0.0};
    gs_link_ahead seen = {.ahead_ns = {7.88e6, 7.64e6, 8.12e6},
                          .rate_bps = {200e6, 200e6, 200e6},
                          .round_trip_ns = 170e3,
                          .stream_bytes = 4000000};
    cr_assert(gs_link_window_of(&seen, &window));
    cr_expect_float_eq(window.value, 197e3, 1e-6);
    cr_expect_float_eq(window.low, 191e3, 1e-6);
    cr_expect_float_eq(window.high, 203e3, 1e-6);
    gs_estimate written = window;
    seen.stream_bytes = 390000;
    cr_expect_not(gs_link_window_of(&seen, &window));
    seen.stream_bytes = 4000000;
    seen.ahead_ns = (gs_estimate){1.8e6, 1.6e6, 2.0e6};
    cr_expect_not(gs_link_window_of(&seen, &window));
    cr_expect_float_eq(window.value, written.value, 0.0);
}
