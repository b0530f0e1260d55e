#include "tools/sweep/dimensions.h"

#include "tools/sweep/grid.h"

#include <criterion/criterion.h>
#include <math.h>

static gs_arena arena;
static gs_error err;
static gs_dimensions all;

static void init(void)
{
    gs_arena_init(&arena);
    all = (gs_dimensions){.count = 0};
}

static void fini(void)
{
    gs_arena_fini(&arena);
}

TestSuite(sweep_dimensions, .init = init, .fini = fini);

/* The dimension of a word. */
static const gs_dimension *read(const char *word)
{
    static const char *const strategies[] = {"allreduce", "asp"};
    all.count = 0;
    cr_assert(gs_dimension_is_word(word), "%s", word);
    cr_assert_eq(gs_dimension_add_word(&all, word, strategies, 2, &arena, &err), GS_OK, "%s",
                 err.text);
    return &all.list[0];
}

static void expect_texts(const gs_dimension *dimension, const char *const *texts, uint32_t count)
{
    cr_assert_eq(dimension->count, count, "%s has %u values", dimension->key, dimension->count);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_str_eq(dimension->values[i].text, texts[i], "%s: value %u", dimension->key, i);
    }
}

#define EXPECT_TEXTS(dimension, ...)                                                               \
    expect_texts((dimension), (const char *const[]){__VA_ARGS__},                                  \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

Test(sweep_dimensions, only_lists_ranges_and_own_keys_are_dimensions)
{
    static const char *const words[] = {"a.b=1,2",           "a.b=1..3",    "a.b=1..3MiB:5:log",
                                        "a.b=\"x\",3",       "a.b=[1],[2]", "strategy=asp",
                                        "strategy.period=4", "years=3"};
    static const char *const others[] = {"a.b=1",       "a.b=[1,2]",     "a.b={\"x\":1,\"y\":2}",
                                         "a.b=\"x,y\"", "a.b=../c.json", "a.b=x..y",
                                         "a",           "a.b="};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        cr_expect(gs_dimension_is_word(words[i]), "%s", words[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cr_expect_not(gs_dimension_is_word(others[i]), "%s", others[i]);
    }
}

Test(sweep_dimensions, a_list_is_cut_at_commas_outside_of_brackets_and_quotes)
{
    EXPECT_TEXTS(read("a.b=[1,2],{\"x\":[3,4]},\"5,\\\"6\",7"), "[1,2]", "{\"x\":[3,4]}",
                 "\"5,\\\"6\"", "7");
    EXPECT_TEXTS(read("strategy=local_sgd:period=2,overlap=false,asp,allreduce+topk:ratio=1%,x=2"),
                 "local_sgd:period=2,overlap=false", "asp", "allreduce+topk:ratio=1%,x=2");
    EXPECT_TEXTS(read("strategy=all"), "allreduce", "asp");
}

Test(sweep_dimensions, values_are_numbers_in_base_units)
{
    const gs_dimension *rates = read("a.b=1Gbit/s,2.5GB/s");
    cr_expect_str_eq(rates->unit, "bit/s");
    cr_expect_float_eq(rates->values[0].number, 1e9, 0.0);
    cr_expect_float_eq(rates->values[1].number, 20e9, 0.0, "2.5 GB/s are 20 Gbit/s");
    cr_expect_str_eq(read("a.b=10us,1.5ms")->unit, "ns");
    cr_expect_float_eq(all.list[0].values[1].number, 1.5e6, 0.0);
    cr_expect_str_eq(read("a.b=25MiB,1kB")->unit, "bytes");
    cr_expect_float_eq(all.list[0].values[0].number, 25.0 * 1048576, 0.0);
    cr_expect_float_eq(read("a.b=5 %,0.25")->values[0].number, 0.05, 1e-15);
    cr_expect(isnan(read("a.b=none,lognormal")->values[0].number));
    cr_expect_not(gs_dimension_is_numeric(&all.list[0], 1));
    cr_expect_not(gs_dimension_is_numeric(read("a.b=1,x,3"), 1));
    cr_expect(gs_dimension_is_numeric(read("a.b=1,2,3"), 3));
    cr_expect_not(gs_dimension_is_numeric(&all.list[0], 4));
}

Test(sweep_dimensions, a_range_has_its_ends_and_even_steps_or_ratios)
{
    EXPECT_TEXTS(read("a.b=1..5us:5"), "1us", "2us", "3us", "4us", "5us");
    /* Ratios of 10^(1/3) = 2.1544 and its square 4.6416, to four digits. */
    EXPECT_TEXTS(read("a.b=1..10Gbit/s:4:log"), "1Gbit/s", "2154Mbit/s", "4642Mbit/s", "10Gbit/s");
    EXPECT_TEXTS(read("a.b=512KiB..2MiB:3:log"), "512KiB", "1MiB", "2MiB");
    EXPECT_TEXTS(read("a.b=0.1..0.2:3"), "0.1", "0.15", "0.2");
    EXPECT_TEXTS(read("a.b=0..10%:3"), "0", "0.05", "0.1");
    EXPECT_TEXTS(read("years=2..5"), "2", "3", "4", "5");
    /* Keys that take whole numbers get such, each once: 1, 1.26 -> 1, 1.59 -> 2, 2. */
    EXPECT_TEXTS(read("cluster.nodes.0.count=1..2:4:log"), "1", "2");
    EXPECT_TEXTS(read("cluster.nodes.0.count=2..16:4:log"), "2", "4", "8", "16");
    /* Others do not: compute_scale is real. */
    EXPECT_TEXTS(read("cluster.nodes.0.compute_scale=1..2:3"), "1", "1.5", "2");
}

Test(sweep_dimensions, choices_are_told_from_what_a_job_meets)
{
    cr_expect(gs_dimension_is_choice(read("strategy=asp")));
    cr_expect(gs_dimension_is_choice(read("strategy.period=1,2")));
    cr_expect(gs_dimension_is_choice(read("workload.optimizer.rate=0.1,0.2")));
    cr_expect(gs_dimension_is_choice(read("workload.batch_per_rank=16,32")));
    cr_expect_not(gs_dimension_is_choice(read("cluster.links.nic.bandwidth=1Gbit/s,2Gbit/s")));
    cr_expect_not(gs_dimension_is_choice(read("noise.compute.cv=0.1,0.2")));
    cr_expect_not(gs_dimension_is_choice(read("years=1")));
}

Test(sweep_dimensions, a_scenarios_own_parameters_belong_to_one_strategy)
{
    static const char *const ratios[] = {"\"1%\"", "0.1"};
    const gs_scenario_dimension own = {
        .path = "strategies[2].codec.ratio", .values = ratios, .count = 2};
    cr_assert_eq(gs_dimension_add_own(&all, &own, &arena, &err), GS_OK, "%s", err.text);
    cr_expect_eq(all.list[0].kind, GS_DIMENSION_PARAMETER);
    cr_expect_str_eq(all.list[0].key, "strategy.ratio");
    cr_expect_eq(all.list[0].owner, 2);
    EXPECT_TEXTS(&all.list[0], "1%", "0.1");
    const gs_scenario_dimension name = {.path = "strategies[0].name", .values = ratios, .count = 2};
    cr_expect_eq(gs_dimension_add_own(&all, &name, &arena, &err), GS_EINVAL);
}

static void expect_with(const char *strategy, const char *key, const char *value,
                        const char *expected)
{
    bool ok = false;
    const char *text = gs_strategy_with(strategy, key, value, &arena, &ok);
    cr_assert(ok);
    if (expected == NULL) {
        cr_expect_null(text, "%s %s", strategy, key);
    } else {
        cr_assert_not_null(text, "%s %s", strategy, key);
        cr_expect_str_eq(text, expected);
    }
}

Test(sweep_dimensions, a_parameter_is_set_where_it_belongs)
{
    expect_with("local_sgd", "period", "4", "local_sgd:period=4");
    expect_with("local_sgd:period=2", "period", "4", "local_sgd:period=4");
    expect_with("allreduce:bucket=1MiB,overlap=false", "bucket", "2MiB",
                "allreduce:overlap=false,bucket=2MiB");
    expect_with("allreduce+topk", "ratio", "1%", "allreduce+topk:ratio=1%");
    expect_with("allreduce:bucket=1MiB+topk:ratio=5%", "ratio", "1%",
                "allreduce:bucket=1MiB+topk:ratio=1%");
    expect_with("allreduce+topk", "bucket", "2MiB", "allreduce:bucket=2MiB+topk");
    expect_with("allreduce", "period", "4", NULL);
    expect_with("no_such", "period", "4", NULL);
}
