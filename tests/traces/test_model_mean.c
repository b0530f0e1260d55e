/* The mean of ranks' models at marks that they reach one after the other. */
#include "traces/model_mean.h"

#include <criterion/criterion.h>

static const float *add(gs_model_means *means, int64_t step, float a, float b, double weight)
{
    const float model[2] = {a, b};
    const float *mean;
    cr_assert_eq(gs_model_means_add(means, step, model, weight, &mean), GS_OK);
    return mean;
}

Test(model_mean, the_last_rank_at_a_mark_completes_it)
{
    gs_model_means means = {.ranks = 3, .elements = 2};
    cr_expect_null(add(&means, 5, 1.0F, 0.0F, 1.0));
    cr_expect_null(add(&means, 5, 2.0F, 0.0F, 1.0));
    const float *mean = add(&means, 5, 6.0F, 3.0F, 1.0);
    cr_assert_not_null(mean);
    cr_expect_eq(mean[0], 3.0F);
    cr_expect_eq(mean[1], 1.0F);
    cr_expect_eq(means.count, 0u);
    gs_model_means_fini(&means);
}

Test(model_mean, a_fast_rank_may_be_marks_ahead)
{
    gs_model_means means = {.ranks = 2, .elements = 2};
    cr_expect_null(add(&means, 5, 1.0F, 1.0F, 1.0));
    cr_expect_null(add(&means, 10, 3.0F, 3.0F, 1.0));
    cr_expect_null(add(&means, 15, 5.0F, 5.0F, 1.0));
    for (int64_t step = 5; step <= 15; step += 5) {
        const float *mean = add(&means, step, 0.0F, 1.0F, 1.0);
        cr_assert_not_null(mean);
        cr_expect_eq(mean[0], (float)(step / 5 * 2 - 1) / 2.0F); /* 1, 3 and 5, over two */
    }
    gs_model_means_fini(&means);
}

/* Push-sum: (3 · 1 + 1 · 5) / 4 = 2. */
Test(model_mean, models_count_by_their_weights)
{
    gs_model_means means = {.ranks = 2, .elements = 2};
    cr_expect_null(add(&means, 1, 1.0F, 0.0F, 3.0));
    const float *mean = add(&means, 1, 5.0F, 0.0F, 1.0);
    cr_assert_not_null(mean);
    cr_expect_eq(mean[0], 2.0F);
    const float one[2] = {1.0F, 0.0F}, other[2] = {5.0F, 0.0F};
    float now[2];
    gs_model_mean((const float *const[]){one, other}, (const double[]){3.0, 1.0}, 2, 2, now);
    cr_expect_eq(now[0], 2.0F);
    gs_model_means_fini(&means);
}

Test(model_mean, what_is_left_open_is_freed)
{
    gs_model_means means = {.ranks = 2, .elements = 2};
    cr_expect_null(add(&means, 1, 1.0F, 0.0F, 1.0));
    gs_model_means_fini(&means);
}
