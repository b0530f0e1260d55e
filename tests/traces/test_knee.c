#include "traces/stats/knee.h"

#include <criterion/criterion.h>
#include <math.h>

enum { POINTS = 9, SEEDS = 8 };

/* 1, 2, 4, ... 256 */
static const double doubles[POINTS] = {1, 2, 4, 8, 16, 32, 64, 128, 256};

/* Places lie 1/256 of ln(128 / 2) apart: a factor of 1.017. */
static const double place_factor = 1.017;

Test(knee, two_powers_that_meet_are_told_where_they_meet)
{
    /* x up to 16, then 16 (x / 16)^0.25. */
    double y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        y[i] = doubles[i] <= 16 ? doubles[i] : 16 * pow(doubles[i] / 16, 0.25);
    }
    gs_knee knee;
    cr_assert_eq(gs_knee_of(doubles, y, POINTS, 1, true, &knee), GS_OK);
    cr_assert(knee.found);
    cr_expect(knee.at > 16 / place_factor && knee.at < 16 * place_factor, "%g", knee.at);
    cr_expect_float_eq(knee.before, 1.0, 0.01);
    cr_expect_float_eq(knee.after, 0.25, 0.01);
    cr_expect(knee.low <= knee.at && knee.at <= knee.high);
    /* Points that lie on two lines lie on them without any one of them; only the point at the knee
     * itself is more than a place's width of news. */
    cr_expect(knee.low > 8 && knee.high < 32, "%g %g", knee.low, knee.high);
}

Test(knee, a_smooth_bend_has_its_middle_in_the_interval)
{
    /* ln(x + 16) is ln 16 + 0 * ln x far below 16 and ln x far above: the lines it nears meet at
     * 16. Two lines fit it about as well a little to either side. */
    double y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        y[i] = doubles[i] + 16;
    }
    gs_knee knee;
    cr_assert_eq(gs_knee_of(doubles, y, POINTS, 1, true, &knee), GS_OK);
    cr_assert(knee.found);
    cr_expect(knee.low <= 16 && 16 <= knee.high, "%g %g", knee.low, knee.high);
    cr_expect(knee.low > 8 && knee.high < 32, "%g %g", knee.low, knee.high);
}

Test(knee, a_power_and_a_slight_bend_have_none)
{
    double y[POINTS];
    gs_knee knee;
    for (int i = 0; i < POINTS; i++) {
        y[i] = 3 * pow(doubles[i], 0.7);
    }
    cr_assert_eq(gs_knee_of(doubles, y, POINTS, 1, true, &knee), GS_OK);
    cr_expect_not(knee.found);
    for (int i = 0; i < POINTS; i++) {
        y[i] = doubles[i] <= 16 ? 1.0 : pow(doubles[i] / 16, 0.05);
    }
    cr_assert_eq(gs_knee_of(doubles, y, POINTS, 1, true, &knee), GS_OK);
    cr_expect_not(knee.found, "a bend of 0.05 is below the least one of 0.1");
}

Test(knee, over_x_itself_slopes_are_growths)
{
    /* Halves every 2 years until year 4, then stays. */
    double x[POINTS];
    double y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        x[i] = i;
        y[i] = i <= 4 ? pow(0.5, i / 2.0) : 0.25;
    }
    gs_knee knee;
    cr_assert_eq(gs_knee_of(x, y, POINTS, 1, false, &knee), GS_OK);
    cr_assert(knee.found);
    cr_expect_float_eq(knee.at, 4.0, 6.0 / 256);
    cr_expect_float_eq(knee.before, log(0.5) / 2, 0.01);
    cr_expect_float_eq(knee.after, 0.0, 0.01);
}

/* Deviations of seed i at point p, the same in every run: multiples of the golden ratio, in (-1,
 * 1). */
static double deviation(int p, int i)
{
    double x = (p * SEEDS + i + 1) * 0.6180339887498949;
    return 2 * (x - floor(x)) - 1;
}

Test(knee, seeds_that_differ_widen_the_interval_around_the_true_knee)
{
    double y[POINTS][SEEDS];
    double width[2];
    for (int noise = 0; noise < 2; noise++) {
        for (int p = 0; p < POINTS; p++) {
            for (int i = 0; i < SEEDS; i++) {
                double exact = doubles[p] <= 16 ? 1.0 : doubles[p] / 16;
                y[p][i] = exact * exp((noise == 0 ? 0.01 : 0.2) * deviation(p, i));
            }
        }
        gs_knee knee;
        cr_assert_eq(gs_knee_of(doubles, &y[0][0], POINTS, SEEDS, true, &knee), GS_OK);
        cr_assert(knee.found);
        cr_expect(knee.low <= 16 && 16 <= knee.high, "%g %g", knee.low, knee.high);
        width[noise] = log(knee.high / knee.low);
    }
    cr_expect_gt(width[1], width[0]);
}

Test(knee, points_where_a_seed_did_not_arrive_are_left_out)
{
    double y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        y[i] = doubles[i] <= 16 ? 1.0 : doubles[i] / 16;
    }
    y[0] = (double)INFINITY;
    gs_knee knee;
    cr_assert_eq(gs_knee_of(doubles, y, POINTS, 1, true, &knee), GS_OK);
    cr_expect(knee.found);
    y[1] = (double)NAN;
    y[8] = -1.0;
    cr_assert_eq(gs_knee_of(doubles, y, POINTS, 1, true, &knee), GS_OK);
    cr_expect(knee.found, "6 points are left: 4 to 128");
    y[2] = 0.0;
    cr_assert_eq(gs_knee_of(doubles, y, POINTS, 1, true, &knee), GS_OK);
    cr_expect_not(knee.found, "5 points are too few");
    cr_assert_eq(gs_knee_of(doubles, y, 0, 1, true, &knee), GS_OK);
    cr_expect_not(knee.found);
}
