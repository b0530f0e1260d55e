#include <criterion/criterion.h>

#include "tests/traces/scenario_fixture.h"
#include "tools/explain.h"
#include "tools/explain_words.h"

#include <math.h>
#include <stdlib.h>

static gs_explain explain;

static void setup(void)
{
    scenario_setup();
    explain = (gs_explain){0};
    gs_arena_init(&explain.arena);
}

static void teardown(void)
{
    gs_explain_free(&explain);
    scenario_teardown();
}

TestSuite(explain, .init = setup, .fini = teardown);

static void make(uint32_t seeds)
{
    gs_progress silent = {.mode = GS_PROGRESS_NONE, .told = -1};
    gs_explain_config config = {
        .scenario = &scenario, .seeds = seeds, .jobs = 1, .progress = &silent};
    gs_explain_free(&explain);
    gs_explain_make(&config, &explain);
    cr_assert_null(explain.error, "%s", explain.error);
}

static const gs_explain_cause *cause(const char *key)
{
    for (uint32_t i = 0; i < explain.cause_count; i++) {
        if (strcmp(explain.causes[i].cause->key, key) == 0) {
            return &explain.causes[i];
        }
    }
    cr_assert_fail("no cause %s", key);
    return NULL;
}

static const gs_explain_change *change(const char *key)
{
    for (uint32_t i = 0; i < explain.change_count; i++) {
        if (strcmp(explain.changes[i].change.key, key) == 0) {
            return &explain.changes[i];
        }
    }
    cr_assert_fail("no change %s", key);
    return NULL;
}

static void expect_limit(const char *key)
{
    const char *got = NULL;
    char *text = gs_explain_limit_text(&explain, &got);
    cr_expect_str_eq(got, key, "%s", text);
    free(text);
}

/* Two ranks, nothing hidden: step = C + S / b, with S the gradient (a ring of two sends it once)
 * and b the payload rate of the nic. */
static double setup_closed_form(void)
{
    static const char *const strategy = "allreduce:overlap=false";
    options.strategies = &strategy;
    options.strategy_count = 1;
    cr_assert_eq(READ_DEMO("cluster.nodes.0.ranks=1", "cluster.nodes.0.vector_bandwidth=900TB/s",
                           "cluster.links.nic.latency=0us", "noise.compute.kind=none",
                           "noise.latency.kind=none"),
                 GS_OK, "%s", err.text);
    make(1);
    return 25557032.0 * 4 * 8 / 0.9 / 10.0; /* ns on 0.9 of 10 Gbit/s */
}

Test(explain, break_even_is_where_the_closed_form_has_it)
{
    double wire_ns = setup_closed_form();
    cr_expect_float_eq(explain.actual.mean_ns, explain.ideal.mean_ns + wire_ns, 0.001 * wire_ns);
    /* Two ranks do 2 / (C + S / b), one does 1 / C: even where S / b = C. */
    double factor = wire_ns / explain.ideal.mean_ns;
    cr_assert(explain.has_even);
    cr_expect_eq(explain.unit_ranks, 1);
    cr_expect_eq(explain.even, GS_EVEN_FOUND);
    cr_expect_float_eq(explain.even_factor, factor, 0.01 * factor, "%g, not %g",
                       explain.even_factor, factor);
}

Test(explain, changes_give_what_the_closed_form_says)
{
    double wire_ns = setup_closed_form();
    double compute = explain.ideal.mean_ns;
    double today = compute + wire_ns;
    cr_expect_float_eq(change("link_x2")->gain.value, today / (compute + wire_ns / 2), 0.002);
    cr_expect_float_eq(change("link_x4")->gain.value, today / (compute + wire_ns / 4), 0.002);
    cr_expect_float_eq(change("fp16")->gain.value, today / (compute + wire_ns / 2), 0.002);
    /* Four passes of compute without the optimizer's part of it, which comes once. */
    double four = change("accumulate_4")->same_ns;
    cr_expect_leq(four, compute + wire_ns / 4 + 1.0);
    cr_expect_gt(four, 0.98 * (compute + wire_ns / 4));
    cr_expect(change("bucket_50mib")->tie);
    for (uint32_t i = 1; i < explain.change_count; i++) {
        cr_expect_geq(explain.changes[i - 1].gain.value, explain.changes[i].gain.value);
    }
    cr_expect_float_eq(cause("nic_bandwidth")->removed_ns, wire_ns, 0.001 * wire_ns);
    cr_expect_float_eq(cause("nic_bandwidth")->added_ns, wire_ns - explain.ideal.mean_ns * 0.65,
                       0.15 * wire_ns, "backward hides part of it once gradients come first");
    expect_limit("link");
}

/* ideal + parts + together = step, in both ways, and no part is left out of the sum. */
Test(explain, both_waterfalls_end_at_the_step)
{
    cr_assert_eq(READ_DEMO("noise.straggler.kind=persistent", "noise.straggler.rank=0",
                           "noise.straggler.factor=1.5", "workload.input.time=70ms",
                           "workload.input.workers=1", "cluster.links.nic.bandwidth=1Tbit/s"),
                 GS_OK, "%s", err.text);
    make(2);
    for (int added = 0; added < 2; added++) {
        double sum = explain.ideal.mean_ns + gs_explain_together_ns(&explain, added == 1);
        for (uint32_t i = 0; i < explain.cause_count; i++) {
            sum += added == 1 ? explain.causes[i].added_ns : explain.causes[i].removed_ns;
        }
        cr_expect_float_eq(sum, explain.actual.mean_ns, 1.0);
    }
    /* Rank 0 computes 1.5 x 38 ms, and a batch comes every 70 ms: whichever goes, the other is in
     * the way, so that together they cost less than the sum of each alone. */
    cr_expect_lt(gs_explain_together_ns(&explain, true), 0.0);
    cr_expect_gt(cause("input")->removed_ns, 0.0);
    cr_expect_lt(cause("slow_rank")->removed_ns, 0.01 * explain.actual.mean_ns);
}

/* The card of a node sends the gradients of its 4 ranks, that of a server the weights of its half
 * to 8: 4 gradients each. Ranks that cut on their own make other numbers of steps than the slowest.
 * At the end of 16 steps at most one more exchange is on its way. */
Test(explain, bytes_of_servers_are_of_a_mean_step)
{
    static const char *const names[] = {"asp", "bsp_ps"};
    for (int i = 0; i < 2; i++) {
        options.strategies = &names[i];
        options.strategy_count = 1;
        cr_assert_eq(READ_DEMO("cluster.servers.count=2"), GS_OK, "%s", err.text);
        make(1);
        double ratio = explain.actual.nic_bytes / (4 * 25557032.0 * 4);
        cr_expect(ratio >= 1.0 && ratio <= 1.0 + 1.0 / 16.0, "%s: %g", names[i], ratio);
    }
}

Test(explain, each_limit_is_named)
{
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK);
    make(1);
    expect_limit("link");
    cr_assert_eq(
        READ_DEMO("cluster.links.nic.bandwidth=100Tbit/s", "cluster.links.nic.latency=0us"), GS_OK);
    make(1);
    expect_limit("compute");
    cr_assert_eq(
        READ_DEMO("cluster.links.nic.bandwidth=100Tbit/s", "cluster.links.nic.latency=5ms"), GS_OK);
    make(1);
    expect_limit("latency");
    cr_assert_eq(READ_DEMO("cluster.links.nic.bandwidth=100Tbit/s", "cluster.links.nic.latency=0us",
                           "noise.straggler.kind=persistent", "noise.straggler.rank=3",
                           "noise.straggler.factor=1.5"),
                 GS_OK);
    make(1);
    expect_limit("rank");
    cr_assert_eq(READ_DEMO("cluster.links.nic.bandwidth=100Tbit/s", "workload.input.time=200ms"),
                 GS_OK);
    make(1);
    expect_limit("input");
}

Test(explain, one_rank_has_compute_and_nothing_to_break_even_with)
{
    cr_assert_eq(READ_DEMO("cluster.nodes.0.count=1", "cluster.nodes.0.ranks=1"), GS_OK);
    make(1);
    cr_expect_not(explain.has_even);
    cr_expect_eq(explain.change_count, 0);
    expect_limit("compute");
    char *text = gs_explain_link_text(&explain);
    cr_expect_str_eq(text, "no bytes between ranks: there is no bandwidth to judge");
    free(text);
}

Test(explain, scaling_has_todays_ranks_and_marks_what_lies_beyond)
{
    cr_assert_eq(READ_DEMO("cluster.nodes.0.count=3", "cluster.nodes.0.ranks=1",
                           "cluster.nodes.0.usd_per_hour=3.6"),
                 GS_OK);
    make(2);
    static const uint32_t ranks[] = {1, 2, 3, 4, 8};
    cr_assert_eq(explain.scale_count, 5);
    for (uint32_t i = 0; i < 5; i++) {
        cr_expect_eq(explain.scales[i].ranks, ranks[i]);
        cr_expect_eq(explain.scales[i].extrapolated, ranks[i] > 3);
    }
    const gs_explain_scale *one = &explain.scales[0];
    const gs_explain_scale *three = &explain.scales[2];
    cr_expect_float_eq(one->efficiency, 1.0, 1e-12);
    cr_expect(isnan(one->added_rank));
    cr_expect_float_eq(three->efficiency, three->samples_per_s / (3 * one->samples_per_s), 1e-12);
    cr_expect_float_eq(three->step.mean, explain.actual.mean_ns, 1.0);
    /* 3.6 dollars an hour are 0.001 a second. */
    double more = three->samples_per_s - explain.scales[1].samples_per_s;
    cr_expect_gt(more, 0.0);
    cr_expect_float_eq(three->added_usd, 0.001 / more * 1e6, 1e-9);
}

Test(explain, a_measured_curve_tells_of_its_own_rank_count_only)
{
    static const char curve[] =
        "cluster.links.nic.curve=" GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt";
    cr_assert_eq(READ_DEMO("cluster.nodes.0.count=10", "cluster.nodes.0.ranks=1", curve), GS_OK,
                 "%s", err.text);
    make(1);
    cr_expect_eq(explain.scale_count, 0);
    cr_expect_gt(cause("nic_bandwidth")->removed_ns, 0.0);
    cr_expect(explain.has_even);
}
