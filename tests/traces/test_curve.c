#include "traces/curve.h"

#include <criterion/criterion.h>

static const gs_curve_point POINTS[] = {{100, 1000}, {200, 1500}, {400, 1400}, {1000, 4400}};
static const gs_curve CURVE = {.collective = "all_reduce", .points = POINTS, .point_count = 4};

static gs_time_ns time_at(const gs_curve *curve, int64_t bytes, bool outside_expected)
{
    bool outside = !outside_expected;
    gs_time_ns time_ns = gs_curve_time(curve, bytes, &outside);
    cr_assert_eq(outside, outside_expected, "%lld", (long long)bytes);
    return time_ns;
}

Test(curve, measured_sizes_have_their_measured_times)
{
    for (uint32_t i = 0; i < CURVE.point_count; i++) {
        cr_assert_eq(time_at(&CURVE, POINTS[i].bytes, false), POINTS[i].time_ns);
    }
}

/* 1000 + 50 / 100 * 500; 1500 - 50 / 200 * 100; 1400 + 1 / 600 * 3000 = 1405. */
Test(curve, between_sizes_time_is_linear_also_where_it_falls)
{
    cr_assert_eq(time_at(&CURVE, 150, false), 1250);
    cr_assert_eq(time_at(&CURVE, 250, false), 1475);
    cr_assert_eq(time_at(&CURVE, 401, false), 1405);
}

/* Slope of the last two points: 3000 ns for 600 bytes, 5 ns a byte. */
Test(curve, outside_the_measured_sizes_the_answer_says_so)
{
    cr_assert_eq(time_at(&CURVE, 0, true), 1000);
    cr_assert_eq(time_at(&CURVE, 99, true), 1000);
    cr_assert_eq(time_at(&CURVE, 2000, true), 9400);
    cr_assert_eq(time_at(&CURVE, INT64_MAX, true), GS_TIME_NEVER);
}

Test(curve, a_falling_end_is_not_carried_on_below_its_last_time)
{
    static const gs_curve_point FALLING[] = {{100, 1000}, {200, 900}};
    const gs_curve curve = {.points = FALLING, .point_count = 2};
    cr_assert_eq(time_at(&curve, 100000, true), 900);
}

Test(curve, one_point_is_carried_on_in_proportion)
{
    const gs_curve curve = {.points = POINTS, .point_count = 1};
    cr_assert_eq(time_at(&curve, 250, true), 2500);
    cr_assert_eq(time_at(&curve, 50, true), 1000);
    cr_assert_eq(gs_curve_rate_bps(&curve), 800000000); /* 800 bit in 1000 ns */
}

/* From the first size of at least a quarter of 1000 on: 600 bytes more in 3000 ns, 1.6 Gbit/s. */
Test(curve, the_rate_is_the_slope_at_the_large_end)
{
    cr_assert_eq(gs_curve_rate_bps(&CURVE), 1600000000);
}
