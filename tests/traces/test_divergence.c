/* What is said of planted divergences, case by case, and of none that the evidence does not show.
 */
#include "models/optimizer.h"
#include "traces/divergence.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

static gs_divergence seen;
static char text[GS_DIVERGENCE_TEXT_BYTES];

static void setup(void)
{
    seen = (gs_divergence){.number = GS_FP32,
                           .ranks = 8,
                           .accumulation = 4,
                           .loss_scale = 1.0,
                           .rate = 0.25,
                           .gradient_max = 2.5,
                           .applied_max = 2.5};
}

TestSuite(divergence, .init = setup);

static const char *cause(void)
{
    return gs_divergence_cause(&seen, text);
}

static bool says(const char *part)
{
    return strstr(cause(), part) != NULL;
}

/* 8 x 10000 = 80000 > 65504. */
Test(divergence, of_finite_gradients_whose_sum_fp16_does_not_hold)
{
    seen.number = GS_FP16;
    seen.gradient_max = 10000.0;
    seen.applied_max = (double)INFINITY;
    cr_expect_str_eq(cause(), "every rank's gradient was finite, their sum was not: 8 ranks x "
                              "1e+04 is over 65504, the most that fp16 holds; average before the "
                              "sum, or use a smaller loss_scale or bf16");
    seen.gradient_max = 8000.0; /* 64000 fits: it was something else */
    cr_expect_not(says("sum was not"));
    seen.gradient_max = 10000.0;
    seen.number = GS_BF16;
    cr_expect_not(says("sum was not"));
    seen.number = GS_FP32;
    cr_expect_not(says("sum was not"));
}

static gs_coding coding;

static void use_codec(const char *name)
{
    coding = (gs_coding){.codec = gs_codec_find(name)};
    gs_config_defaults(coding.codec->config, &coding.config);
    seen.coding = &coding;
}

/* Numbers are fp32 and what travels is not. */
Test(divergence, of_sums_that_a_codec_makes_in_fp16)
{
    use_codec("fp16");
    seen.gradient_max = 10000.0;
    seen.applied_max = (double)INFINITY;
    cr_expect(says("their sum was not: 8 ranks x 1e+04 is over 65504"));
    seen.gradient_max = 70000.0;
    cr_expect_str_eq(cause(), "a gradient was 7e+04, and it travels as fp16, which holds 65504 at "
                              "most; use bf16, or optimizer.clip");
    use_codec("bf16");
    cr_expect(says("nothing that was measured"));
}

Test(divergence, of_gradients_that_were_scaled_too_far)
{
    seen.number = GS_FP16;
    seen.gradient_max = (double)INFINITY;
    seen.loss_scale = 1024.0;
    cr_expect_str_eq(cause(),
                     "a gradient was over 65504, the most that fp16 holds, before anything was "
                     "summed, and it was multiplied by loss_scale 1024; use a smaller one or "
                     "dynamic");
    seen.loss_scale = 1.0;
    cr_expect(says("before anything was summed or scaled; use bf16, or a loss_scale below 1 or "
                   "dynamic"));
    seen.number = GS_BF16;
    cr_expect(says("nothing that was measured"));
}

/* 7 updates late: sin(pi / 30) = 0.1045. */
Test(divergence, of_stale_gradients)
{
    seen.facts.applied_gradients = 100;
    seen.facts.staleness_mean = 7.0;
    cr_expect_str_eq(cause(), "gradients were applied 7 updates (mean) after their weights were "
                              "read; with such a delay a quadratic loss is stable up to 0.1 of the "
                              "rate that it is stable with at once: divide optimizer.rate 0.25 by "
                              "the 8 ranks");
    seen.facts.staleness_mean = 0.0;
    cr_expect_not(says("after their weights"));
}

/* Limits with momentum 0.9 as in tests/models/test_convergence.c: 0.1, 0.051249 and 0.013942 of
 * 3.8. Without it sin(pi / 10) = 0.309. */
Test(divergence, of_stale_gradients_with_momentum)
{
    seen.facts.applied_gradients = 100;
    seen.momentum = 0.9;
    seen.facts.staleness_mean = 8.0;
    cr_expect_str_eq(cause(), "gradients were applied 8 updates (mean) after their weights were "
                              "read; with such a delay and momentum 0.9 a quadratic loss is stable "
                              "up to 0.0037 of the rate that it is stable with at once: divide "
                              "optimizer.rate 0.25 by the 8 ranks, or leave momentum out");
    seen.facts.staleness_mean = 2.0;
    cr_expect(says("up to 0.013 of"));
    seen.facts.staleness_mean = 1.0;
    cr_expect(says("up to 0.026 of"));
    seen.momentum = 0.0;
    seen.facts.staleness_mean = 2.0;
    cr_expect(says("up to 0.31 of"));
}

static void lose(double before, double after)
{
    gs_loss_trail_add(&seen.trail, before);
    gs_loss_trail_add(&seen.trail, after);
}

Test(divergence, of_a_codec_that_has_no_feedback)
{
    use_codec("topk");
    coding.config.feedback = false;
    lose(1.0, 100.0);
    cr_expect_str_eq(cause(), "the loss of a rank rose from 1 to 100 and its gradients were "
                              "finite: optimizer.rate 0.25 is too large, or what topk leaves out "
                              "is missing, which is lost without feedback: try feedback=true");
    seen.facts.fidelity_steps = 5;
    seen.facts.fidelity_cosine = 0.2; /* not away from it: a rate, then */
    cr_expect(says("suspects, likeliest first: the codec topk, optimizer.rate 0.25"));
    seen.facts.fidelity_cosine = -0.9;
    cr_expect_str_eq(cause(), "updates pointed away from where the mean gradient points (cosine "
                              "-0.9): topk leaves out a part of every gradient, which is lost "
                              "without feedback; use feedback=true");
    use_codec("sign"); /* a vote has nothing to feed back */
    cr_expect_not(says("without feedback"));
    use_codec("qsgd"); /* is right in the mean */
    cr_expect_not(says("without feedback"));
}

/* What a plain run has not comes first; of the strategy only weights, and only those above their
 * defaults: a smaller one pulls less, and bounds of staleness show in how stale gradients are. */
Test(divergence, of_what_is_unusual_before_the_rate)
{
    static const char rise[] =
        "the loss of a rank rose from 1 to 100 and its gradients were finite; "
        "suspects, likeliest first: ";
    double lambda = 1e6;
    static const gs_field fields[] = {
        {"lambda", GS_FIELD_REAL, 0, sizeof(double), "0.04", 0, 1e9, NULL, "a weight"}};
    const gs_field_table table = {"late", sizeof(double), fields, 1};
    const gs_strategy strategy = {.config = &table};
    seen.strategy = &strategy;
    seen.config = &lambda;
    seen.facts.applied_gradients = 100;
    seen.facts.staleness_mean = 7.0;
    lose(1.0, 100.0);
    cr_expect(says(rise));
    cr_expect(says("first: late.lambda 1000000 (default 0.04), gradients 7 updates old (mean), "
                   "optimizer.rate 0.25"),
              "%s", text);
    use_codec("qsgd");
    coding.config.bits = 2;
    cr_expect(says("updates old (mean), qsgd.bits 2 (default 8), optimizer.rate"), "%s", text);
    lambda = 0.01;
    cr_expect(says("after their weights were read"));
    seen.facts.staleness_mean = 0.0;
    cr_expect(says("first: qsgd.bits 2 (default 8), optimizer.rate 0.25"), "%s", text);
    seen.trail = (gs_loss_trail){0};
    cr_expect_str_eq(cause(), "nothing that was measured shows the cause; suspects, likeliest "
                              "first: qsgd.bits 2 (default 8), optimizer.rate 0.25");
    seen.coding = NULL;
    cr_expect(says("try a rate smaller"));
}

/* 1 of 100 is sent. */
Test(divergence, of_what_waits_for_its_turn_and_a_rate)
{
    use_codec("randomk");
    cr_expect(says("nothing that was measured"));
    lose(1.0, 100.0);
    cr_expect_str_eq(cause(), "the loss of a rank rose from 1 to 100 and its gradients were "
                              "finite: with randomk at ratio 0.01 an element waits 100 steps "
                              "(mean) and comes all at once, which takes a larger ratio, or a rate "
                              "below optimizer.rate 0.25");
    use_codec("dgc");
    cr_expect(says("waits 1e+03 steps"));
    use_codec("ef_sign");
    cr_expect_not(says("waits"));
}

Test(divergence, of_a_sum_that_was_not_divided)
{
    seen.facts.fidelity_steps = 2;
    seen.facts.fidelity_cosine = 0.9999;
    seen.facts.fidelity_length = 8.01;
    cr_expect_str_eq(cause(),
                     "the applied update is 8.01 times the mean gradient: a sum over ranks "
                     "that was not divided; average, or divide optimizer.rate 0.25 by 8");
    seen.facts.fidelity_length = 3.99;
    cr_expect(says("over the passes of a step"));
    seen.facts.fidelity_length = 32.0;
    cr_expect(says("over ranks and the passes"));
    seen.facts.fidelity_length = 5.0; /* a sum of nothing there is */
    cr_expect_not(says("not divided"));
    seen.facts.fidelity_length = 8.0;
    seen.facts.fidelity_cosine = 0.5; /* as long, but not the same */
    cr_expect_not(says("not divided"));
    seen.facts.fidelity_cosine = 1.0;
    seen.accumulation = 1;
    seen.ranks = 1;
    seen.facts.fidelity_length = 1.0;
    cr_expect_not(says("not divided"));
}

Test(divergence, of_a_rate_that_is_too_large)
{
    static const double losses[] = {2.0, 1.0, 1.5, 3.0, 8.0, 9.0};
    for (int i = 0; i < 6; i++) {
        cr_expect_not(says("too large"), "after %d", i);
        gs_loss_trail_add(&seen.trail, losses[i]);
    }
    cr_expect_str_eq(cause(), "the loss of a rank rose from 1 to 9 in its last 4 steps and its "
                              "gradients were finite: optimizer.rate 0.25 is likely too large");
    gs_loss_trail_add(&seen.trail, 8.5);
    cr_expect_not(says("too large"));
    gs_loss_trail_add(&seen.trail, 1e6); /* once, but how much */
    cr_expect(says("from 8.5 to 1e+06 in its last step and its"));
    /* What overflows then follows from it. */
    seen.number = GS_FP16;
    seen.gradient_max = 60000.0;
    seen.applied_max = (double)INFINITY;
    cr_expect(says("too large"));
}

Test(divergence, of_which_nothing_is_known)
{
    cr_expect_str_eq(cause(), "nothing that was measured shows the cause; try a rate smaller than "
                              "optimizer.rate 0.25 first");
}

Test(divergence, the_largest_magnitude_is_that_of_all_numbers)
{
    float floats[37] = {0.0F};
    cr_expect_eq(gs_largest_magnitude(floats, 37), 0.0);
    cr_expect_eq(gs_largest_magnitude(floats, 0), 0.0);
    floats[36] = -3.5F;
    floats[3] = 2.0F;
    cr_expect_eq(gs_largest_magnitude(floats, 37), 3.5);
    floats[7] = -FLT_MAX;
    cr_expect_eq(gs_largest_magnitude(floats, 37), (double)FLT_MAX);
    floats[7] = (float)NAN;
    cr_expect(isinf(gs_largest_magnitude(floats, 37)));
    floats[7] = -(float)INFINITY;
    cr_expect(isinf(gs_largest_magnitude(floats, 37)));
}
