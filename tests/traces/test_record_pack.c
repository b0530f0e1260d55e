#include <criterion/criterion.h>

#include "traces/record.h"

#include <stdlib.h>
#include <string.h>

/* Two ranks, steps of 7 and 11 ns, and one curve row. */
static gs_record *make(bool keep_all)
{
    gs_record *record = gs_record_create(2, keep_all);
    cr_assert_not_null(record);
    for (int32_t rank = 0; rank < 2; rank++) {
        gs_step_row row = {.step = 3, .rank = rank, .start_ns = 100 + rank};
        row.compute_ns = 7 + 4 * rank;
        row.duration_ns = row.compute_ns;
        row.comm_ns = 5;
        row.bytes_sent = 13;
        cr_assert_eq(gs_record_step(record, &row), GS_OK);
    }
    gs_curve_row point = {.step = 4, .time_ns = 111, .samples = 64, .loss = 0.5, .accuracy = 0.25};
    cr_assert_eq(gs_record_curve(record, &point), GS_OK);
    gs_series *series = gs_record_series(record);
    uint32_t name = 0;
    int64_t bin = 0;
    cr_assert_eq(gs_series_find_name(series, "gradient_norm", &name), GS_OK);
    cr_assert_eq(gs_series_find_name(series, "gradient_abs", &name), GS_OK);
    cr_assert_eq(gs_series_add(series, &(gs_series_point){1, 0, 111, 0.125}), GS_OK);
    cr_assert_eq(gs_series_add_bin(series, &(gs_series_bin){1, -1, 0.5, 1.0, 17}, &bin), GS_OK);
    return record;
}

static void compare(const gs_record *a, const gs_record *b)
{
    cr_assert_eq(gs_record_step_count(a), gs_record_step_count(b));
    for (int64_t i = 0; i < gs_record_step_count(a); i++) {
        gs_step_row left = gs_record_step_at(a, i);
        gs_step_row right = gs_record_step_at(b, i);
        cr_assert_eq(left.rank, right.rank);
        cr_assert_eq(left.start_ns, right.start_ns);
        cr_assert_eq(left.duration_ns, right.duration_ns);
        cr_assert_eq(left.bytes_sent, right.bytes_sent);
    }
    cr_assert_eq(gs_record_mean_count(b), 1);
    /* (7 + 11) / 2 */
    cr_assert_float_eq(gs_record_mean_ns(b, 0), 9.0, 1e-12);
    cr_assert_eq(gs_record_rank_total(b, 1).compute_ns, 11);
    cr_assert_eq(gs_record_hideable_ns(b), 10); /* 5 of each */
    cr_assert_eq(gs_record_curve_count(b), 1);
    cr_assert_eq(gs_record_curve_at(b, 0).samples, 64);
    const gs_series *series = gs_record_series_read(b);
    cr_assert_eq(series->name_count, 2);
    cr_assert_str_eq(series->names[1].text, "gradient_abs");
    cr_assert_eq(series->point_count, 1);
    cr_assert_eq(series->points[0].value, 0.125);
    cr_assert_eq(series->bin_count, 1);
    cr_assert_eq(series->bins[0].count, 17);
}

static void round_trip(bool keep_all)
{
    gs_record *record = make(keep_all);
    size_t bytes = gs_record_pack(record, NULL);
    char *packed = malloc(bytes);
    cr_assert_not_null(packed);
    cr_assert_eq(gs_record_pack(record, packed), bytes);
    gs_record *back = gs_record_unpack(packed, bytes);
    cr_assert_not_null(back);
    compare(record, back);
    /* It goes on where the first one was. */
    gs_step_row row = {.step = 4, .rank = 0, .duration_ns = 5, .compute_ns = 5};
    cr_assert_eq(gs_record_step(back, &row), GS_OK);
    cr_assert_eq(gs_record_mean_count(back), 2);
    gs_record_destroy(back);
    gs_record_destroy(record);
    free(packed);
}

Test(record_pack, a_record_of_sums_comes_back_as_it_was)
{
    round_trip(false);
}

Test(record_pack, a_record_of_all_ranks_comes_back_as_it_was)
{
    round_trip(true);
}

Test(record_pack, bytes_that_are_cut_or_too_many_are_refused)
{
    gs_record *record = make(false);
    size_t bytes = gs_record_pack(record, NULL);
    char *packed = calloc(1, bytes + 1);
    cr_assert_not_null(packed);
    gs_record_pack(record, packed);
    for (size_t cut = 0; cut < bytes; cut++) {
        cr_assert_null(gs_record_unpack(packed, cut));
    }
    cr_assert_null(gs_record_unpack(packed, bytes + 1));
    gs_record_destroy(record);
    free(packed);
}
