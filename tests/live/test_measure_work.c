/* Rates of vector operations and codecs: every codec can be measured, and what is measured is the
 * time that the product's kernels take. */
#include "live/measure_work.h"

#include "live/live_net.h"
#include "models/codec_kernels.h"
#include "models/kernels.h"
#include "tests/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static gs_arena arena;
static gs_error err;

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(measure_work, .init = setup, .fini = teardown);

static void expect_rate(gs_estimate bps, const char *what)
{
    cr_expect_gt(bps.low, 0.0, "%s", what);
    cr_expect_leq(bps.low, bps.value, "%s", what);
    cr_expect_leq(bps.value, bps.high, "%s", what);
}

Test(measure_work, every_codec_can_be_measured)
{
    for (uint32_t i = 0; i < gs_codec_count(); i++) {
        gs_coding coding = {.codec = gs_codec_at(i)};
        gs_codec_rates rates;
        gs_config_defaults(coding.codec->config, &coding.config);
        gs_status status = gs_measure_codec(&coding, 100003, &arena, &rates, &err);
        cr_assert_eq(status, GS_OK, "%s: %s", coding.codec->name, err.text);
        expect_rate(rates.encode_bps, coding.codec->name);
        expect_rate(rates.decode_bps, coding.codec->name);
    }
}

/* The fastest of ten calls, timed by hand, is no slower than the interval's end says, but for what
 * ten calls may miss of the fastest of fifteen; and the median no faster than that. */
Test(measure_work, a_rate_is_that_of_the_kernel)
{
    enum { COUNT = 300007 };
    gs_estimate bps;
    float *a = calloc(COUNT, sizeof *a);
    float *b = calloc(COUNT, sizeof *b);
    cr_assert(a != NULL && b != NULL);
    double least_ns = 1e18;
    for (int i = 0; i < 10; i++) {
        gs_time_ns start = gs_live_clock();
        gs_kernel_add(a, b, NULL, COUNT, 0.0F);
        double time_ns = (double)(gs_live_clock() - start);
        least_ns = time_ns < least_ns ? time_ns : least_ns;
    }
    cr_assert_eq(gs_measure_vector(COUNT, &arena, &bps, &err), GS_OK);
    /* Two operands are read and one is written. */
    double by_hand_bps = 3.0 * 32.0 * COUNT * 1e9 / least_ns;
    cr_expect_lt(bps.value, 2.0 * by_hand_bps);
    cr_expect_gt(bps.high, by_hand_bps / 20.0, "measured %g, by hand %g", bps.high, by_hand_bps);
    free(a);
    free(b);
}

Test(measure_work, a_slice_that_travels_dense_has_no_rate)
{
    gs_coding coding = {.codec = gs_codec_find("powersgd")};
    gs_codec_rates rates;
    gs_config_defaults(coding.codec->config, &coding.config);
    cr_expect_eq(gs_measure_codec(&coding, 1, &arena, &rates, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "a slice of 1 elements is no matrix that shrinks: it travels dense");
}

Test(measure_work, no_memory_is_an_error)
{
    gs_coding coding = {.codec = gs_codec_find("topk")};
    gs_codec_rates rates;
    gs_estimate bps;
    gs_config_defaults(coding.codec->config, &coding.config);
    for (int64_t fails = 0; fails < 4; fails++) {
        gs_arena_fini(&arena);
        arena.fail_after = fails;
        cr_expect_eq(gs_measure_codec(&coding, 1000, &arena, &rates, &err), GS_ENOMEM);
    }
    arena.fail_after = 1;
    cr_expect_eq(gs_measure_vector(1000, &arena, &bps, &err), GS_ENOMEM);
}
