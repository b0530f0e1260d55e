#include <criterion/criterion.h>

#include <string.h>

#include "traces/layer_table.h"

static gs_arena arena;
static gs_layer_table table;
static gs_error err;

static void setup(void)
{
    gs_arena_init(&arena);
    err = (gs_error){0};
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(layer_table, .init = setup, .fini = teardown);

static gs_status read_text(const char *text)
{
    gs_json_at document;
    cr_assert_eq(gs_json_parse(text, strlen(text), "t.json", &document, &err), GS_OK, "%s",
                 err.text);
    gs_status status = gs_layer_table_read(&document, &arena, &table, &err);
    gs_json_free(document.value);
    return status;
}

#define HEAD "{\"schema\":\"gradsync.layers/1\",\"name\":\"tiny\","

Test(layer_table, measured_totals_are_split_by_flops_and_sum_up_exactly)
{
    /* FLOPs 10, 0, 20 in layers 0, 1, 2: backward 100 ns ends layer 2 at 20/30 of it, 66 ns, and
     * layer 0 at 100 ns; layer 1 takes no time. */
    cr_assert_eq(read_text(HEAD
                           "\"times\":{\"forward\":\"40ns\",\"backward\":\"100ns\","
                           "\"optimizer\":\"7ns\"},"
                           "\"tensors\":["
                           "{\"name\":\"a.w\",\"elements\":3,\"forward_flops\":10,\"layer\":0},"
                           "{\"name\":\"a.b\",\"elements\":1,\"layer\":0},"
                           "{\"name\":\"norm\",\"elements\":2,\"layer\":1},"
                           "{\"name\":\"product\",\"elements\":0,\"forward_flops\":5,\"layer\":2},"
                           "{\"name\":\"c.w\",\"elements\":5,\"forward_flops\":15,\"layer\":2}]}"),
                 GS_OK, "%s", err.text);
    gs_profile profile;
    cr_assert_eq(gs_layer_table_profile(&table, &arena, &profile, &err), GS_OK);
    cr_expect_eq(profile.unit_count, 4u, "work without parameters is no unit");
    cr_expect_str_eq(profile.units[3].name, "c.w");
    cr_expect_eq(profile.units[3].elements, 5);
    cr_expect_eq(profile.element_bytes, 4);
    static const gs_segment expected[] = {
        {GS_SEGMENT_FORWARD, 0, 40}, {GS_SEGMENT_BACKWARD, 0, 66}, {GS_SEGMENT_GRADIENT, 3, 0},
        {GS_SEGMENT_GRADIENT, 2, 0}, {GS_SEGMENT_BACKWARD, 0, 34}, {GS_SEGMENT_GRADIENT, 1, 0},
        {GS_SEGMENT_GRADIENT, 0, 0}, {GS_SEGMENT_OPTIMIZER, 0, 7},
    };
    const gs_profile_step *step = &profile.ranks[0].steps[0];
    cr_assert_eq(step->segment_count, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < step->segment_count; i++) {
        cr_expect_eq(step->segments[i].kind, expected[i].kind, "segment %u", i);
        cr_expect_eq(step->segments[i].index, expected[i].index, "segment %u", i);
        cr_expect_eq(step->segments[i].duration_ns, expected[i].duration_ns, "segment %u", i);
    }
}

Test(layer_table, a_device_rate_times_forward_once_and_backward_twice)
{
    /* 3 samples x 1000 FLOP at 1e12 FLOP/s: 3 ns forward, 6 ns backward. */
    cr_assert_eq(read_text(HEAD
                           "\"batch\":3,\"times\":{\"flops_per_s\":1e12},\"tensors\":["
                           "{\"name\":\"a\",\"elements\":3,\"forward_flops\":1000,\"layer\":0}]}"),
                 GS_OK, "%s", err.text);
    gs_profile profile;
    cr_assert_eq(gs_layer_table_profile(&table, &arena, &profile, &err), GS_OK);
    const gs_profile_step *step = &profile.ranks[0].steps[0];
    cr_assert_eq(step->segment_count, 3u);
    cr_expect_eq(step->segments[0].duration_ns, 3);
    cr_expect_eq(step->segments[1].duration_ns, 6);
    cr_expect_eq(step->segments[2].kind, GS_SEGMENT_GRADIENT);
}

Test(layer_table, a_rate_that_makes_a_step_last_over_an_hour_is_refused)
{
    cr_assert_eq(read_text(HEAD
                           "\"batch\":3,\"times\":{\"flops_per_s\":1e-3},\"tensors\":["
                           "{\"name\":\"a\",\"elements\":3,\"forward_flops\":1000,\"layer\":0}]}"),
                 GS_OK);
    gs_profile profile;
    cr_expect_eq(gs_layer_table_profile(&table, &arena, &profile, &err), GS_EINVAL);
    cr_expect_str_eq(err.text, "tiny: a forward pass of 3e+03 FLOP takes over an hour at 0.001 "
                               "FLOP/s; raise flops_per_s or lower the batch");
}

static void expect_refusal(const char *text, const char *message)
{
    cr_expect_eq(read_text(text), GS_EINVAL, "%s", message);
    cr_expect_str_eq(err.text, message);
}

#define ROW "{\"name\":\"a\",\"elements\":3,\"layer\":1}"

Test(layer_table, what_is_wrong_is_named_with_its_place)
{
    expect_refusal(HEAD "\"times\":{},\"tensors\":[" ROW "]}",
                   "t.json: times: says no time at all; give forward, backward and optimizer as "
                   "measured, or flops_per_s and batch");
    expect_refusal(HEAD "\"batch\":1,\"times\":{\"forward\":\"1ms\",\"flops_per_s\":1},"
                        "\"tensors\":[" ROW "]}",
                   "t.json: times: says both durations and flops_per_s; give forward, backward "
                   "and optimizer as measured, or flops_per_s and batch");
    expect_refusal(HEAD "\"times\":{\"flops_per_s\":1},\"tensors\":[" ROW "]}",
                   "t.json: times: flops_per_s needs the batch it is for; add \"batch\" beside "
                   "times");
    expect_refusal(HEAD "\"times\":{\"forward\":\"1ms\"}}",
                   "t.json: \"tensors\" is missing; list the tensors in forward order");
    expect_refusal(HEAD "\"times\":{\"forward\":\"1ms\"},\"tensors\":[]}",
                   "t.json: tensors: must be a list of 1 to 1000000 tensors");
    expect_refusal(HEAD "\"times\":{\"forward\":\"1ms\"},\"tensors\":[" ROW ","
                        "{\"name\":\"b\",\"elements\":3,\"layer\":0}]}",
                   "t.json: tensors[1]: layer 0 comes after layer 1; list tensors in forward "
                   "order");
    expect_refusal(HEAD "\"times\":{\"forward\":\"1ms\"},\"tensors\":["
                        "{\"name\":\"b\",\"elements\":0,\"layer\":0}]}",
                   "t.json: tensors[0]: has neither elements nor forward_flops; remove it");
    expect_refusal(HEAD "\"times\":{\"forward\":\"1ms\"},\"tensors\":["
                        "{\"name\":\"b\",\"elements\":0,\"forward_flops\":1,\"layer\":0}]}",
                   "t.json: tensors: hold 0 elements together; 1 to 10000000000000 may be");
    expect_refusal(HEAD "\"times\":{\"fwd\":\"1ms\"},\"tensors\":[" ROW "]}",
                   "t.json: times: unknown key \"fwd\"; known are forward, backward, optimizer, "
                   "flops_per_s, source");
}

#define TIMES "\"times\":{\"forward\":\"60ns\",\"backward\":\"120ns\"},"

/* Two blocks and an end: FLOPs 10 + 20 in layers 0 and 1, 0 in layer 2, 30 in layer 3. */
#define BLOCKS                                                                                     \
    "\"tensors\":["                                                                                \
    "{\"name\":\"a\",\"elements\":1,\"forward_flops\":10,\"layer\":0,\"activations\":7},"          \
    "{\"name\":\"b\",\"elements\":1,\"forward_flops\":20,\"layer\":1,\"activations\":5,"           \
    "\"boundary\":4},"                                                                             \
    "{\"name\":\"c\",\"elements\":1,\"layer\":2,\"activations\":3,\"boundary\":3},"                \
    "{\"name\":\"d\",\"elements\":1,\"forward_flops\":30,\"layer\":3,\"activations\":6}]}"

Test(layer_table, activations_are_all_those_of_rows_and_checkpointing_keeps_the_boundaries)
{
    cr_assert_eq(read_text(HEAD TIMES BLOCKS), GS_OK, "%s", err.text);
    gs_layer_activations sum = gs_layer_table_activations(&table, false);
    cr_expect_eq(sum.all, 7 + 5 + 3 + 6);
    cr_expect_eq(sum.kept, 4 + 3);
    cr_expect_eq(sum.block_max, 7 + 5 - 4, "the first block makes 8 beside its output, the end 6");
    cr_expect_eq(sum.scores, 0);
}

Test(layer_table, a_fused_attention_keeps_no_scores)
{
    cr_assert_eq(
        read_text(
            HEAD TIMES
            "\"tensors\":["
            "{\"name\":\"a\",\"elements\":1,\"forward_flops\":10,\"layer\":0,\"activations\":7},"
            "{\"name\":\"h.0.scores\",\"elements\":0,\"forward_flops\":1,\"layer\":1,"
            "\"activations\":50},"
            "{\"name\":\"underscores\",\"elements\":0,\"forward_flops\":1,\"layer\":2,"
            "\"activations\":4,"
            "\"boundary\":3}]}"),
        GS_OK, "%s", err.text);
    gs_layer_activations plain = gs_layer_table_activations(&table, false);
    gs_layer_activations fused = gs_layer_table_activations(&table, true);
    cr_expect_eq(plain.all, 7 + 50 + 4);
    cr_expect_eq(plain.block_max, 7 + 50 + 4 - 3);
    cr_expect_eq(fused.all, 7 + 4);
    cr_expect_eq(fused.block_max, 7 + 4 - 3);
    cr_expect_eq(fused.kept, plain.kept);
    cr_expect_eq(fused.scores, 50, "what it would keep otherwise");
}

Test(layer_table, checkpointing_runs_a_block_again_before_its_last_layer_goes_backward)
{
    /* Of 60 FLOPs, forward 60 ns and backward 120 ns: the end takes 30 ns again and 60 ns back; c
     * nothing; the first block 30 ns again, then 40 ns for b and 20 ns for a. */
    cr_assert_eq(read_text(HEAD TIMES BLOCKS), GS_OK, "%s", err.text);
    table.recompute = true;
    gs_profile profile;
    cr_assert_eq(gs_layer_table_profile(&table, &arena, &profile, &err), GS_OK);
    static const gs_segment expected[] = {
        {GS_SEGMENT_FORWARD, 0, 60},       {GS_SEGMENT_BACKWARD, 0, 30 + 60},
        {GS_SEGMENT_GRADIENT, 3, 0},       {GS_SEGMENT_GRADIENT, 2, 0},
        {GS_SEGMENT_BACKWARD, 0, 30 + 40}, {GS_SEGMENT_GRADIENT, 1, 0},
        {GS_SEGMENT_BACKWARD, 0, 20},      {GS_SEGMENT_GRADIENT, 0, 0},
    };
    const gs_profile_step *step = &profile.ranks[0].steps[0];
    cr_assert_eq(step->segment_count, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < step->segment_count; i++) {
        cr_expect_eq(step->segments[i].kind, expected[i].kind, "segment %u", i);
        cr_expect_eq(step->segments[i].index, expected[i].index, "segment %u", i);
        cr_expect_eq(step->segments[i].duration_ns, expected[i].duration_ns, "segment %u", i);
    }
}

Test(layer_table, without_times_gradients_come_in_order_and_nothing_takes_time)
{
    cr_assert_eq(read_text(HEAD BLOCKS), GS_OK, "%s", err.text);
    cr_expect_not(gs_layer_table_is_timed(&table));
    cr_expect_eq(gs_layer_table_flops(&table), 60.0);
    gs_profile profile;
    cr_assert_eq(gs_layer_table_profile(&table, &arena, &profile, &err), GS_OK);
    const gs_profile_step *step = &profile.ranks[0].steps[0];
    cr_assert_eq(step->segment_count, 4u, "gradients only");
    cr_expect_eq(step->segments[0].index, 3u);
}

Test(layer_table, a_boundary_ends_a_layer_and_keeps_no_more_than_its_block_makes)
{
    expect_refusal(HEAD "\"tensors\":["
                        "{\"name\":\"a\",\"elements\":3,\"layer\":1,\"activations\":2,"
                        "\"boundary\":2}," ROW "]}",
                   "t.json: tensors[0]: has a boundary inside layer 1; put it at the layer's last "
                   "row");
    expect_refusal(HEAD "\"tensors\":["
                        "{\"name\":\"a\",\"elements\":3,\"layer\":1,\"activations\":2,"
                        "\"boundary\":3}]}",
                   "t.json: tensors[0]: keeps 3 elements of a block that makes 2 activations");
    expect_refusal(HEAD "\"tensors\":["
                        "{\"name\":\"a\",\"elements\":3,\"layer\":1,\"activations\":9e12},"
                        "{\"name\":\"b\",\"elements\":3,\"layer\":1,\"activations\":9e12}]}",
                   "t.json: tensors: leave 1.8e+13 activations together; at most 10000000000000 "
                   "may be");
}

Test(layer_table, rows_divide_the_elements_and_reach_the_profile)
{
    gs_profile profile;
    cr_assert_eq(read_text(HEAD "\"tensors\":["
                                "{\"name\":\"a\",\"elements\":12,\"rows\":3,\"layer\":1},"
                                "{\"name\":\"b\",\"elements\":5,\"rows\":1,\"layer\":1},"
                                "{\"name\":\"c\",\"elements\":7,\"layer\":2}]}"),
                 GS_OK, "%s", err.text);
    cr_assert_eq(gs_layer_table_profile(&table, &arena, &profile, &err), GS_OK);
    cr_expect(profile.units[0].shape.rows == 3 && profile.units[0].shape.columns == 4);
    cr_expect(profile.units[1].shape.rows == 1 && profile.units[1].shape.columns == 5);
    cr_expect_eq(profile.units[2].shape.rows, 0);
    expect_refusal(HEAD "\"tensors\":["
                        "{\"name\":\"a\",\"elements\":12,\"rows\":5,\"layer\":1}]}",
                   "t.json: tensors[0]: has 5 rows, which do not divide its 12 elements; give the "
                   "first number of its shape, or 1 for a vector");
}

Test(layer_table, running_out_of_memory_is_reported_at_every_request)
{
    static const char text[] = HEAD "\"times\":{\"forward\":\"1ms\"},\"tensors\":[" ROW "]}";
    int64_t allowed = 0;
    for (;; allowed++) {
        gs_arena_fini(&arena);
        arena.fail_after = allowed;
        gs_profile profile;
        gs_status status = read_text(text);
        if (status == GS_OK) {
            status = gs_layer_table_profile(&table, &arena, &profile, &err);
        }
        if (status == GS_OK) {
            break;
        }
        cr_assert_eq(status, GS_ENOMEM);
    }
    cr_expect_eq(allowed, 9, "name, source, rows, one row's name and five of the profile");
}
