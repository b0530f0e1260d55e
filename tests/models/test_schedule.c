#include <criterion/criterion.h>

#include "models/schedule.h"

#include <math.h>

static void expect_factor(const gs_schedule *schedule, int64_t samples, double wanted)
{
    double factor = gs_schedule_factor(schedule, samples);
    cr_expect(fabs(factor - wanted) < 1e-15, "after %lld: %.17g, not %.17g", (long long)samples,
              factor, wanted);
}

Test(schedule, constant_is_one_for_ever)
{
    gs_schedule schedule = {.kind = GS_SCHEDULE_CONSTANT};
    expect_factor(&schedule, 0, 1.0);
    expect_factor(&schedule, INT64_MAX, 1.0);
    cr_expect(gs_schedule_is_constant(&schedule));
    schedule.warmup_samples = 1;
    cr_expect_not(gs_schedule_is_constant(&schedule));
}

Test(schedule, a_warm_up_rises_from_zero_by_the_share_of_its_samples)
{
    gs_schedule schedule = {.kind = GS_SCHEDULE_CONSTANT, .warmup_samples = 80};
    expect_factor(&schedule, 0, 0.0);
    expect_factor(&schedule, 20, 0.25);
    expect_factor(&schedule, 79, 79.0 / 80.0);
    expect_factor(&schedule, 80, 1.0);
}

/* 1000 - 200 samples of decay: at 400 a quarter of the way, at 600 half of it. */
Test(schedule, linear_and_cosine_go_from_the_warm_up_to_the_end)
{
    gs_schedule schedule = {.kind = GS_SCHEDULE_LINEAR, .warmup_samples = 200, .end_samples = 1000};
    expect_factor(&schedule, 100, 0.5);
    expect_factor(&schedule, 200, 1.0);
    expect_factor(&schedule, 400, 0.75);
    expect_factor(&schedule, 600, 0.5);
    expect_factor(&schedule, 1000, 0.0);
    expect_factor(&schedule, 5000, 0.0);
    schedule.kind = GS_SCHEDULE_COSINE;
    expect_factor(&schedule, 100, 0.5);
    expect_factor(&schedule, 200, 1.0);
    expect_factor(&schedule, 400, (1.0 + sqrt(0.5)) / 2.0); /* cos 45 degrees */
    expect_factor(&schedule, 600, 0.5);
    expect_factor(&schedule, 1000, 0.0);
    expect_factor(&schedule, 5000, 0.0);
}

Test(schedule, the_budget_is_the_end_where_none_is_said)
{
    gs_schedule schedule = {.kind = GS_SCHEDULE_LINEAR, .budget_samples = 64};
    expect_factor(&schedule, 16, 0.75);
    schedule.end_samples = 32;
    expect_factor(&schedule, 16, 0.5);
}

Test(schedule, steps_drop_at_the_samples_said)
{
    gs_schedule schedule = {
        .kind = GS_SCHEDULE_STEP, .drops = {.count = 2, .values = {30, 70}}, .drop_factor = 0.25};
    expect_factor(&schedule, 29, 1.0);
    expect_factor(&schedule, 30, 0.25);
    expect_factor(&schedule, 69, 0.25);
    expect_factor(&schedule, 70, 0.0625);
    gs_schedule usual = {.kind = GS_SCHEDULE_STEP, .drop_factor = 0.5, .budget_samples = 100};
    expect_factor(&usual, 49, 1.0);
    expect_factor(&usual, 50, 0.5);
    expect_factor(&usual, 74, 0.5);
    expect_factor(&usual, 75, 0.25);
}

/* A warm-up over the whole of it leaves nothing to decay over. */
Test(schedule, an_end_within_the_warm_up_is_zero_after_it)
{
    gs_schedule schedule = {.kind = GS_SCHEDULE_COSINE, .warmup_samples = 100, .end_samples = 50};
    expect_factor(&schedule, 99, 0.99);
    expect_factor(&schedule, 100, 0.0);
}
