#include <criterion/criterion.h>

#include "tests/support.h"
#include "traces/series.h"

Test(series, a_name_is_known_by_one_index)
{
    gs_series series = {0};
    uint32_t norm = 9;
    uint32_t ratio = 9;
    uint32_t again = 9;
    cr_assert_eq(gs_series_find_name(&series, "gradient_norm", &norm), GS_OK);
    cr_assert_eq(gs_series_find_name(&series, "gradient_sparsity_ratio", &ratio), GS_OK);
    cr_assert_eq(gs_series_find_name(&series, "gradient_norm", &again), GS_OK);
    cr_assert_eq(norm, 0);
    cr_assert_eq(ratio, 1);
    cr_assert_eq(again, 0);
    cr_assert_eq(series.name_count, 2);
    gs_series_fini(&series);
}

Test(series, thousands_of_values_stay_in_order)
{
    gs_series series = {0};
    uint32_t name = 0;
    cr_assert_eq(gs_series_find_name(&series, "queue_bytes", &name), GS_OK);
    for (int64_t i = 0; i < 5000; i++) {
        gs_series_point point = {name, 3, 17 * i, (double)i};
        cr_assert_eq(gs_series_add(&series, &point), GS_OK);
    }
    cr_assert_eq(series.point_count, 5000);
    cr_assert_eq(series.points[4711].at_ns, 17 * 4711);
    gs_series_fini(&series);
}

Test(series, a_bin_counts_on_in_place)
{
    gs_series series = {0};
    uint32_t name = 0;
    int64_t first = -1;
    int64_t second = -1;
    cr_assert_eq(gs_series_find_name(&series, "gradient_abs", &name), GS_OK);
    cr_assert_eq(gs_series_add_bin(&series, &(gs_series_bin){name, -1, 0.0, 1.0, 0}, &first),
                 GS_OK);
    cr_assert_eq(gs_series_add_bin(&series, &(gs_series_bin){name, -1, 1.0, 2.0, 5}, &second),
                 GS_OK);
    series.bins[second].count += 2;
    cr_assert_eq(first, 0);
    cr_assert_eq(series.bins[1].count, 7);
    gs_series_fini(&series);
}

Test(series, a_failed_allocation_is_told_and_changes_nothing)
{
    gs_series series = {0};
    uint32_t name = 0;
    int64_t bin = 0;
    test_fail_allocations(0);
    cr_assert_eq(gs_series_find_name(&series, "a", &name), GS_ENOMEM);
    test_fail_allocations(-1);
    cr_assert_eq(series.name_count, 0);
    cr_assert_eq(gs_series_find_name(&series, "a", &name), GS_OK);
    test_fail_allocations(0);
    cr_assert_eq(gs_series_add(&series, &(gs_series_point){name, 0, 1, 2.0}), GS_ENOMEM);
    cr_assert_eq(gs_series_add_bin(&series, &(gs_series_bin){name, 0, 1.0, 2.0, 1}, &bin),
                 GS_ENOMEM);
    test_fail_allocations(-1);
    cr_assert_eq(series.point_count, 0);
    cr_assert_eq(series.bin_count, 0);
    gs_series_fini(&series);
}
