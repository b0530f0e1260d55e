/* Rules made from NCCL's model, from MPICH's defaults and from measured tables. */
#include "traces/tuning.h"

#include "base/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static gs_arena arena;

static void set_up(void)
{
    gs_arena_init(&arena);
}

static void tear_down(void)
{
    gs_arena_fini(&arena);
}

TestSuite(tuning, .init = set_up, .fini = tear_down);

static const gs_communicator ALL = {.kinds = 0};

static gs_choice choice_of(const gs_rule_list *list, gs_collective_kind kind, int64_t bytes)
{
    gs_selection selection = {list->items, list->count};
    return gs_selection_choose(&selection, &ALL, 3, kind, bytes);
}

static gs_nccl_machine machine_of(uint32_t nodes, uint32_t node_ranks, bool nvls)
{
    gs_nccl_machine machine = {.ranks = nodes * node_ranks,
                               .nodes = nodes,
                               .generation = GS_NCCL_HOPPER,
                               .nvls = nvls,
                               .channels = 16};
    for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
        machine.graphs[a] = (gs_nccl_graph){8, 46.35, 24.5};
    }
    return machine;
}

static gs_nccl_model model_of(const gs_nccl_machine *machine)
{
    gs_nccl_settings settings = gs_nccl_settings_default();
    gs_nccl_model model;
    gs_nccl_model_init(&model, machine, &settings);
    return model;
}

/* The i-th of many sizes from 1 B to 64 GiB, dense in the logarithm, and both sides of each power
 * of two. */
static int64_t size_at(uint32_t i)
{
    if (i < 108) {
        return (INT64_C(1) << (1 + i / 3)) - 1 + i % 3;
    }
    return (int64_t)exp2(36.0 * gs_rng_uniform((gs_rng_key){4711, GS_RNG_TEST, 0}, 0, i));
}

/* The least time of what ranks can do by sending, looked for one by one. */
static void expect_choice(const gs_nccl_model *model, const gs_rule_list *list, int64_t bytes)
{
    double best = HUGE_VAL;
    gs_nccl_algorithm algorithm = GS_NCCL_ALGORITHM_COUNT;
    gs_nccl_protocol protocol = GS_NCCL_PROTOCOL_COUNT;
    for (int a = 0; a < GS_NCCL_ALGORITHM_COUNT; a++) {
        for (int p = 0; p < GS_NCCL_PROTOCOL_COUNT; p++) {
            double time = gs_nccl_time_us(model, GS_NCCL_ALL_REDUCE, (gs_nccl_algorithm)a,
                                          (gs_nccl_protocol)p, bytes);
            if (gs_nccl_program((gs_nccl_algorithm)a, GS_ALL_REDUCE) != NULL && time >= 0.0 &&
                time < best) {
                best = time;
                algorithm = (gs_nccl_algorithm)a;
                protocol = (gs_nccl_protocol)p;
            }
        }
    }
    uint32_t channels = gs_nccl_channels(model, algorithm, protocol, bytes);
    int64_t piece = gs_nccl_piece_bytes(model, algorithm, protocol, bytes);
    /* Rings go 5 ways, pairs of trees one. */
    uint32_t rings = algorithm == GS_NCCL_TREE ? 1 : channels < 5 ? channels : 5;
    gs_choice got = choice_of(list, GS_ALL_REDUCE, bytes);
    if (got.program != gs_nccl_program(algorithm, GS_ALL_REDUCE) || got.rings != rings ||
        got.piece_bytes != piece * channels) {
        cr_assert_fail("%u nodes, %lld B: %s with %u rings in pieces of %lld B", model->nodes,
                       (long long)bytes, got.program->name, got.rings, (long long)got.piece_bytes);
    }
}

Test(tuning, rules_say_for_every_size_what_the_model_chooses)
{
    static const uint32_t nodes[] = {1, 2, 4, 16};
    for (size_t m = 0; m < sizeof nodes / sizeof *nodes; m++) {
        gs_nccl_machine machine = machine_of(nodes[m], 8, true);
        gs_nccl_model model = model_of(&machine);
        gs_rule_list list = {.arena = &arena};
        cr_assert(gs_tuning_by_nccl(&model, 5, GS_ALL_REDUCE, 3, &list));
        for (uint32_t i = 0; i < 4000; i++) {
            expect_choice(&model, &list, size_at(i));
        }
    }
}

/* Where the switch would win, ranks do what is best of the rest. */
Test(tuning, what_a_switch_does_is_no_rule)
{
    gs_nccl_machine machine = machine_of(1, 8, true);
    gs_nccl_model model = model_of(&machine);
    gs_nccl_algorithm a = GS_NCCL_ALGORITHM_COUNT;
    gs_nccl_protocol p = GS_NCCL_PROTOCOL_COUNT;
    cr_assert(gs_nccl_choose(&model, GS_NCCL_ALL_REDUCE, INT64_C(1) << 28, &a, &p));
    cr_assert_eq(a, GS_NCCL_NVLS);
    gs_rule_list list = {.arena = &arena};
    cr_assert(gs_tuning_by_nccl(&model, 5, GS_ALL_REDUCE, 3, &list));
    cr_assert_str_eq(choice_of(&list, GS_ALL_REDUCE, INT64_C(1) << 28).program->name, "ring");
}

/* Straight lines between the points: the curve is the model to the ns that it is rounded to. */
Test(tuning, the_curve_of_the_model_is_the_model_at_every_size)
{
    gs_nccl_machine machine = machine_of(4, 8, true);
    gs_nccl_model model = model_of(&machine);
    const gs_curve *curve = gs_tuning_nccl_curve(&model, &arena);
    cr_assert_not_null(curve);
    cr_assert_lt(curve->point_count, 100);
    for (uint32_t i = 0; i < 4000; i++) {
        int64_t bytes = size_at(i);
        gs_nccl_algorithm a = GS_NCCL_ALGORITHM_COUNT;
        gs_nccl_protocol p = GS_NCCL_PROTOCOL_COUNT;
        bool outside;
        cr_assert(gs_nccl_choose(&model, GS_NCCL_ALL_REDUCE, bytes, &a, &p));
        double expected = 1e3 * gs_nccl_time_us(&model, GS_NCCL_ALL_REDUCE, a, p, bytes);
        double got = (double)gs_curve_time(curve, bytes, &outside);
        if (fabs(got - expected) > 2.0) {
            cr_assert_fail("%lld B: %.3f ns, the model says %.3f", (long long)bytes, got, expected);
        }
    }
}

/* 2,048 B, 80 KiB (of 6 ranks) and 512 KiB (of 8) are the documented defaults. */
Test(tuning, mpich_switches_at_its_defaults)
{
    gs_rule_list list = {.arena = &arena};
    cr_assert(gs_tuning_by_mpich(6, GS_ALL_REDUCE, 3, &list));
    cr_assert(gs_tuning_by_mpich(6, GS_ALL_GATHER, 3, &list));
    cr_assert_str_eq(choice_of(&list, GS_ALL_REDUCE, 2048).program->name, "recursive_doubling");
    cr_assert_str_eq(choice_of(&list, GS_ALL_REDUCE, 2049).program->name, "halving_doubling");
    cr_assert_str_eq(choice_of(&list, GS_ALL_GATHER, 81919).program->name, "bruck_all_gather");
    cr_assert_str_eq(choice_of(&list, GS_ALL_GATHER, 81920).program->name, "ring_all_gather");
    gs_rule_list eight = {.arena = &arena};
    cr_assert(gs_tuning_by_mpich(8, GS_ALL_GATHER, 3, &eight));
    cr_assert(gs_tuning_by_mpich(8, GS_BROADCAST, 3, &eight));
    cr_assert_str_eq(choice_of(&eight, GS_ALL_GATHER, 524287).program->name, "bruck_all_gather");
    cr_assert_str_eq(choice_of(&eight, GS_ALL_GATHER, 524288).program->name, "ring_all_gather");
    cr_assert_eq(eight.items[eight.count - 1].up_to_bytes, 12287);
}

/* 20 us + s/1 GB/s against 50 us + s/4 GB/s: equal at 30,000 ns / (1 - 1/4) = 40,000 B, which both
 * take 60 us. In whole ns, rounded up, 40,001 B take 60,001 ns both, and a tie goes to the first.
 */
Test(tuning, the_faster_of_two_tables_wins_on_its_side_of_the_crossing)
{
    static const gs_curve_point slow[] = {{1000, 21000}, {1000000, 1020000}};
    static const gs_curve_point fast[] = {{1000, 50250}, {500000, 175000}, {1000000, 300000}};
    gs_curve curves[] = {{.points = slow, .point_count = 2}, {.points = fast, .point_count = 3}};
    gs_tuning_table tables[] = {
        {{.program = gs_collective_find("naive"), .rings = 1}, &curves[0]},
        {{.program = gs_collective_find("ring"), .rings = 2, .piece_bytes = 65536}, &curves[1]}};
    gs_rule_list list = {.arena = &arena};
    cr_assert(gs_tuning_by_tables(tables, 2, 3, &list));
    cr_assert_eq(list.count, 2);
    cr_assert_eq(list.items[0].up_to_bytes, 40001);
    cr_assert_str_eq(choice_of(&list, GS_ALL_REDUCE, 40001).program->name, "naive");
    gs_choice large = choice_of(&list, GS_ALL_REDUCE, INT64_C(1) << 50);
    cr_assert_str_eq(large.program->name, "ring");
    cr_assert(large.rings == 2 && large.piece_bytes == 65536);
}
