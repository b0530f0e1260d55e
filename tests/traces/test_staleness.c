#include "traces/staleness.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static gs_staleness staleness;

Test(staleness, of_nothing_is_no_number)
{
    cr_expect(isnan(gs_staleness_mean(&staleness)));
    cr_expect(isnan(gs_staleness_quantile(&staleness, 0.95)));
}

/* 0, 1, ..., 19: mean 9.5; 19 of 20 are not above 18. */
Test(staleness, of_small_numbers_is_exact)
{
    for (int64_t i = 0; i < 20; i++) {
        gs_staleness_add(&staleness, i);
    }
    cr_expect_eq(gs_staleness_mean(&staleness), 9.5);
    cr_expect_eq(gs_staleness_quantile(&staleness, 0.95), 18.0);
    cr_expect_eq(gs_staleness_quantile(&staleness, 1.0), 19.0);
    cr_expect_eq(staleness.max, 19);
}

/* 1000 lies in [960, 1024), an eighth of [512, 1024). */
Test(staleness, of_large_numbers_is_known_to_an_eighth)
{
    gs_staleness_add(&staleness, 1000);
    gs_staleness_add(&staleness, 5000);
    cr_expect_eq(gs_staleness_quantile(&staleness, 0.5), 1023.0);
    cr_expect_eq(gs_staleness_quantile(&staleness, 1.0), 5000.0); /* never above the largest */
    gs_staleness_add(&staleness, INT64_MAX);
    cr_expect_eq(staleness.counts[GS_STALENESS_BINS - 1], 1);
}

Test(staleness, of_several_entities_adds_up)
{
    gs_staleness more = {0};
    gs_staleness_add(&staleness, 2);
    gs_staleness_add(&more, 4);
    gs_staleness_add(&more, 70);
    gs_staleness_merge(&staleness, &more);
    cr_expect_eq(staleness.count, 3);
    cr_expect_eq(staleness.max, 70);
    cr_expect_float_eq(gs_staleness_mean(&staleness), 76.0 / 3.0, 1e-12);
}

/* 64, 71: in [64, 72); 72 begins the next bin. */
Test(staleness, is_stored_as_the_bins_that_hold_something)
{
    gs_series series = {0};
    gs_staleness_add(&staleness, 3);
    gs_staleness_add(&staleness, 64);
    gs_staleness_add(&staleness, 71);
    gs_staleness_add(&staleness, 72);
    cr_assert_eq(gs_staleness_store(&staleness, &series), GS_OK);
    cr_assert_eq(series.bin_count, 3);
    cr_expect_str_eq(series.names[0].text, "staleness");
    static const struct {
        double low, high;
        int64_t count;
    } wanted[] = {{3.0, 4.0, 1}, {64.0, 72.0, 2}, {72.0, 80.0, 1}};
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(series.bins[i].low, wanted[i].low);
        cr_expect_eq(series.bins[i].high, wanted[i].high);
        cr_expect_eq(series.bins[i].count, wanted[i].count);
    }
    gs_series_fini(&series);
}
