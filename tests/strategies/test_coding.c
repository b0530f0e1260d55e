/* What coded all-reduces send, from sizes and shapes alone. */
#include <criterion/criterion.h>

#include "strategies/coding.h"

#include <string.h>

static gs_coding coding_of(const char *name, const char *key, const char *value)
{
    gs_coding coding = {.codec = gs_codec_find(name)};
    gs_error err;
    gs_config_defaults(coding.codec->config, &coding.config);
    cr_assert_eq(gs_config_set_text(coding.codec->config, &coding.config, key, value, &err), GS_OK,
                 "%s", err.text);
    return coding;
}

enum { LATE = 1000 };

/* 100 x 200 and its 100 biases, 8 x 3, a gain of 50; rank 4. Of the first, P has 100 x 4 and Q 200
 * x 4 numbers. (8 + 3) x 3 x 2 = 66 are more than 24: 8 x 3 stays dense, as the vectors do. */
static const int64_t elements[] = {20100, 24, 50};
static const gs_unit_shape shapes[] = {{100, 200}, {8, 3}, {1, 50}};

Test(coding, matrices_of_a_bucket_travel_in_two_sums_and_the_rest_in_the_first)
{
    gs_coding coding = coding_of("powersgd", "rank", "4");
    gs_coded_slice slice = {{3, elements, shapes}, 0, 20174};
    gs_coding_plan plan = gs_coding_plan_of(&coding, &slice, 8, LATE);
    cr_assert_eq(plan.stage_count, 2);
    cr_expect_eq(plan.stages[0].units, 400 + 174);
    cr_expect_eq(plan.stages[1].units, 800);
    cr_expect_eq(plan.stages[0].unit_bytes, 4);
    cr_expect(plan.matrices == 1 && plan.dense_pieces == 3 && plan.dense_elements == 174);
    /* 2 (n - 1) times each number, of 8 members. */
    cr_expect_eq(gs_coding_group_bytes(&coding, &slice, 4, 8, LATE), 14 * 4 * (574 + 800));
    /* A slice without a matrix travels as it is, in numbers of the job. */
    slice.elements = 74;
    cr_expect_eq(gs_coding_plan_of(&coding, &slice, 8, LATE).stage_count, 0);
    cr_expect_eq(gs_coding_group_bytes(&coding, &slice, 2, 8, LATE), 14 * 2 * 74);
}

/* Step 0 to 4 are dense, 14 x 4 B x 20174; from 5 on matrices: 14 x 4 B x (574 + 800). */
Test(coding, a_series_counts_each_step_as_it_is)
{
    gs_coding coding = coding_of("powersgd", "start_step", "5");
    coding.config.rank = 4;
    gs_coded_slice slice = {{3, elements, shapes}, 0, 20174};
    const double dense = 14 * 4 * 20174, coded = 14 * 4 * (574 + 800);
    cr_expect_eq(gs_coding_series_bytes(&coding, &slice, 4, 8, (gs_coding_series){0, 1, 12}),
                 5 * dense + 7 * coded);
    /* Steps 2, 4, 6, 8; and 1, 5. */
    cr_expect_eq(gs_coding_series_bytes(&coding, &slice, 4, 8, (gs_coding_series){2, 2, 4}),
                 2 * dense + 2 * coded);
    cr_expect_eq(gs_coding_series_bytes(&coding, &slice, 4, 8, (gs_coding_series){1, 4, 2}),
                 dense + coded);
    cr_expect_eq(gs_coding_series_bytes(&coding, &slice, 4, 8, (gs_coding_series){9, 1, 0}), 0.0);
}

/* 3 stages of 4 steps, so that sizes change at 4, 8 and 12. */
Test(coding, stages_of_a_warm_up_are_where_sizes_change)
{
    gs_codec_config config = {.ratio = 0.01, .warmup = 3, .warmup_steps = 4, .start_step = 6};
    const int64_t step[] = {0, 3, 4, 6, 8, 11, 12};
    const int64_t until[] = {4, 4, 6, 8, 12, 12, INT64_MAX};
    for (int i = 0; i < 7; i++) {
        cr_expect_eq(gs_codec_same_until(&config, step[i]), until[i], "step %d", (int)step[i]);
    }
}

Test(coding, everything_is_dense_before_the_first_step)
{
    gs_coding coding = coding_of("powersgd", "start_step", "5");
    gs_coded_slice slice = {{3, elements, shapes}, 0, 20174};
    cr_expect_eq(gs_coding_plan_of(&coding, &slice, 8, 4).stage_count, 0);
    cr_expect_eq(gs_coding_plan_of(&coding, &slice, 8, 5).stage_count, 2);
}

/* A bucket of one rank of a node of two: the second half holds rows 0 to 50 of the matrix, the last
 * of which is not whole. */
Test(coding, a_part_of_a_matrix_is_a_matrix_of_fewer_rows)
{
    gs_coding coding = coding_of("powersgd", "rank", "1");
    gs_coded_slice slice = {{3, elements, shapes}, 10087, 10087};
    gs_coding_plan plan = gs_coding_plan_of(&coding, &slice, 4, LATE);
    cr_expect_eq(plan.stages[0].units, 51); /* ceil(10087 / 200) */
    cr_expect_eq(plan.stages[1].units, 200);
}

/* As PyTorch's hook: for each matrix a product for P, for Q and back, and Gram-Schmidt of r columns
 * before the first two in 6 r - 4 kernels. Here r is 4 and there is one matrix; three pieces travel
 * dense, one copy there and one back; and two kernels of feedback. */
Test(coding, work_is_passes_over_memory_or_the_kernels_that_do_them)
{
    gs_coding coding = coding_of("powersgd", "rank", "4");
    gs_coded_slice slice = {{3, elements, shapes}, 0, 20174};
    gs_coding_plan plan = gs_coding_plan_of(&coding, &slice, 8, LATE);
    coding.kernel_ns = 7;
    const gs_time_ns kernels[3] = {21 + 3 + 2, 21, 1 + 3};
    const double bytes[3] = {(8.0 + 20.0) * 20174 + 8.0 * 174, 8.0 * 20174,
                             4.0 * 20174 + 8.0 * 174};
    for (uint32_t stage = 0; stage < 3; stage++) {
        gs_coding_work work = gs_coding_work_of(&coding, &plan, 8, slice.elements, stage);
        cr_expect_eq(work.least_ns, 7 * kernels[stage], "stage %u", stage);
        cr_expect_float_eq(work.bytes, bytes[stage], 1e-6, "stage %u", stage);
    }
    /* What was measured has all of it. */
    coding.measured_encode_bytes = 30.0;
    coding.measured_decode_bytes = 10.0;
    for (uint32_t stage = 0; stage < 3; stage++) {
        gs_coding_work work = gs_coding_work_of(&coding, &plan, 8, slice.elements, stage);
        cr_expect_eq(work.least_ns, 0);
        cr_expect_float_eq(work.bytes, (stage < 2 ? 30.0 : 10.0) * 20174, 1e-6);
    }
}

/* Payloads that are gathered are decoded one by one; parts that are exchanged are payloads of their
 * own, encoded and decoded one by one, and their sum once more. */
Test(coding, kernels_are_started_for_each_payload)
{
    gs_coding coding = coding_of("topk", "feedback", "false");
    gs_coded_slice slice = {.elements = 1000};
    const uint32_t encode = coding.codec->encode_kernels, decode = coding.codec->decode_kernels;
    coding.kernel_ns = 3;
    gs_coding_plan plan = gs_coding_plan_of(&coding, &slice, 5, LATE);
    cr_expect_eq(gs_coding_work_of(&coding, &plan, 5, 1000, 0).least_ns, 3 * encode);
    cr_expect_eq(gs_coding_work_of(&coding, &plan, 5, 1000, 1).least_ns, 3 * 5 * decode);
    coding.config.path = GS_PATH_TWO_PHASE;
    plan = gs_coding_plan_of(&coding, &slice, 5, LATE);
    cr_expect_eq(gs_coding_work_of(&coding, &plan, 5, 1000, 0).least_ns, 3 * 5 * encode);
    cr_expect_eq(gs_coding_work_of(&coding, &plan, 5, 1000, 1).least_ns, 3 * (5 * decode + encode));
    cr_expect_eq(gs_coding_work_of(&coding, &plan, 5, 1000, 2).least_ns, 3 * 5 * decode);
}
