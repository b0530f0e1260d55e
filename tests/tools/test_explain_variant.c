#include <criterion/criterion.h>

#include "tests/traces/scenario_fixture.h"
#include "tools/explain_change.h"
#include "tools/explain_measure.h"

TestSuite(explain_variant, .init = scenario_setup, .fini = scenario_teardown);

static gs_measure measure(const gs_scenario *variant)
{
    gs_run_plan plan = {.scenario = variant};
    gs_outcome outcome;
    gs_measure out;
    gs_run_one(&plan, 0, variant->seed, &outcome);
    gs_measure_make(&outcome, 1, &arena, &out);
    gs_outcome_fini(&outcome);
    cr_assert_null(out.error, "%s", out.error);
    return out;
}

static gs_scenario *base_of(int64_t steps)
{
    return gs_variant_base(&scenario, 0, steps, &arena);
}

static uint32_t cause_index(const char *key)
{
    for (uint32_t i = 0; i < gs_cause_count(); i++) {
        if (strcmp(gs_cause_at(i)->key, key) == 0) {
            return i;
        }
    }
    cr_assert_fail("no cause %s", key);
    return 0;
}

/* Every kernel of the profile's only rank and step. */
static double profile_ns(void)
{
    const gs_profile_step *step = &scenario.workload.profile->ranks[0].steps[0];
    double sum = 0.0;
    for (uint32_t i = 0; i < step->segment_count; i++) {
        sum += (double)step->segments[i].duration_ns;
    }
    return sum;
}

Test(explain_variant, without_any_cause_a_step_is_what_the_fastest_rank_computes)
{
    cr_assert_eq(READ_DEMO("cluster.nodes=[{\"name\":\"a\",\"count\":1,\"ranks\":2,"
                           "\"compute_scale\":1.5},{\"name\":\"b\",\"ranks\":2}]",
                           "workload.input.time=100ms", "noise.straggler.kind=persistent",
                           "noise.straggler.rank=2", "noise.straggler.factor=3",
                           "noise.compute.cv=0.3"),
                 GS_OK, "%s", err.text);
    unsigned every = (1U << gs_cause_count()) - 1U;
    gs_measure ideal = measure(gs_variant_without(base_of(5), every, &arena));
    cr_expect_float_eq(ideal.mean_ns, profile_ns(), 1e-6 * ideal.mean_ns, "%.0f, not %.0f",
                       ideal.mean_ns, profile_ns());
    cr_expect_float_eq(ideal.compute_ns, ideal.mean_ns, 2.0);
}

/* A cause that a word of the command line can take away, too. */
static void expect_same(const char *key, const char *word)
{
    const char *words[] = {"workload.input.time=60ms",
                           "workload.input.workers=1",
                           "noise.straggler.kind=persistent",
                           "noise.straggler.rank=2",
                           "noise.straggler.factor=1.3",
                           "noise.compute.cv=0.1",
                           "cluster.links.nic.bandwidth=100Gbit/s",
                           word};
    cr_assert_eq(read_demo(words, 7), GS_OK, "%s", err.text);
    gs_measure removed = measure(gs_variant_without(base_of(9), 1U << cause_index(key), &arena));
    gs_measure with_it = measure(base_of(9));
    cr_assert_eq(read_demo(words, 8), GS_OK, "%s", err.text);
    gs_measure said = measure(base_of(9));
    cr_expect_float_eq(removed.mean_ns, said.mean_ns, 0.0, "%s: %g, %g", key, removed.mean_ns,
                       said.mean_ns);
    cr_expect_neq(with_it.mean_ns, said.mean_ns, "%s changes nothing", key);
}

Test(explain_variant, taking_a_cause_away_is_simulating_the_scenario_without_it)
{
    expect_same("input", "workload.input.time=0ms");
    expect_same("slow_rank", "noise.straggler.kind=none");
    expect_same("compute_noise", "noise.compute.kind=none");
    expect_same("network_noise", "noise.latency.kind=none");
    expect_same("latency",
                "cluster.links={\"nic\":{\"class\":\"tcp\",\"bandwidth\":\"100Gbit/s\","
                "\"efficiency\":0.9,\"latency\":\"0us\"},\"intra\":{\"class\":\"nvlink\","
                "\"bandwidth\":\"200GB/s\",\"latency\":\"0us\"}}");
}

/* What a message costs its sender is latency, a window that holds bytes up is bandwidth. At 100
 * Gbit/s and 30 us a window of 64 KiB lets 64 KiB go in 60 us: 8.7 Gbit/s. */
Test(explain_variant, sockets_cost_latency_and_bandwidth)
{
    static const char *const base[] = {
        "cluster.links.nic.bandwidth=100Gbit/s", "cluster.links.nic.sockets=process",
        "cluster.links.nic.per_message=40us",    "cluster.links.nic.window=64KiB",
        "cluster.links.nic.latency=0us",         "cluster.links.intra.latency=0us",
        "cluster.links.nic.per_message=0us"};
    cr_assert_eq(read_demo(base, 4), GS_OK, "%s", err.text);
    double all = measure(base_of(9)).mean_ns;
    double no_latency =
        measure(gs_variant_without(base_of(9), 1U << cause_index("latency"), &arena)).mean_ns;
    double no_bytes =
        measure(gs_variant_without(base_of(9), 1U << cause_index("nic_bandwidth"), &arena)).mean_ns;
    cr_assert_eq(read_demo(base, 7), GS_OK, "%s", err.text);
    cr_expect_float_eq(no_latency, measure(base_of(9)).mean_ns, 0.0);
    cr_expect_lt(no_latency, 0.9 * all);
    cr_expect_lt(no_bytes, 0.9 * all);
}

Test(explain_variant, the_parts_of_a_mean_step_add_up_to_it)
{
    cr_assert_eq(READ_DEMO("workload.input.time=60ms", "workload.input.workers=1",
                           "noise.compute.cv=0.2", "cluster.links.nic.bandwidth=100Gbit/s"),
                 GS_OK);
    gs_measure step = measure(base_of(7));
    double sum =
        step.compute_ns + step.exposed_ns + step.wait_ns + step.input_ns + step.overhead_ns;
    cr_expect_float_eq(sum, step.mean_ns, 1e-9 * step.mean_ns);
    cr_expect_gt(step.input_ns, 0.0);
    cr_expect_gt(step.exposed_ns, 0.0);
}

/* Bulk-synchronous and compute-bound: the step is the slow rank's, whatever the number of ranks. */
Test(explain_variant, one_slow_rank_leaves_one_over_its_factor)
{
    static const int others[] = {1, 2, 7, 31, 63};
    static const double factors[] = {1.05, 1.2, 1.4, 2.0};
    for (size_t n = 0; n < sizeof others / sizeof *others; n++) {
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            char nodes[200];
            snprintf(nodes, sizeof nodes,
                     "cluster.nodes=[{\"name\":\"slow\",\"ranks\":1,\"compute_scale\":%g},"
                     "{\"name\":\"fast\",\"count\":%d,\"ranks\":1}]",
                     factors[f], others[n]);
            cr_assert_eq(READ_DEMO("cluster.topology.kind=switch", nodes,
                                   "cluster.links.nic.bandwidth=900Tbit/s",
                                   "cluster.links.nic.latency=0us", "noise.compute.kind=none"),
                         GS_OK, "%s", err.text);
            unsigned every = (1U << gs_cause_count()) - 1U;
            gs_measure ideal = measure(gs_variant_without(base_of(3), every, &arena));
            gs_measure actual = measure(base_of(3));
            double efficiency = ideal.mean_ns / actual.mean_ns;
            cr_expect_float_eq(efficiency, 1.0 / factors[f], 0.01 / factors[f],
                               "%g of %d others: %g", factors[f], others[n], efficiency);
        }
    }
}

Test(explain_variant, communication_alone_is_what_a_ring_of_its_bytes_takes)
{
    cr_assert_eq(READ_DEMO("cluster.links.nic.latency=0us", "cluster.links.intra.latency=0us",
                           "cluster.links.nic.bandwidth=1Gbit/s"),
                 GS_OK);
    gs_measure alone = measure(gs_variant_communication(base_of(4), &arena));
    /* 2 * 7 / 8 of the gradient leaves each node, at 0.9 of 1 Gbit/s; each of the three buckets
     * pays for the parts that fill the ring first, some bytes in a hundred thousand. */
    double bytes = 1.75 * 25557032 * 4;
    cr_expect_float_eq(alone.mean_ns, bytes * 8 / 0.9, 0.001 * bytes * 8 / 0.9, "%g",
                       alone.mean_ns);
    cr_expect_float_eq(alone.nic_bytes, bytes, 200.0, "%g", alone.nic_bytes);
}

Test(explain_variant, a_strategy_that_accumulates_gets_its_steps)
{
    const char *accumulating = "allreduce:accumulation=4";
    options.strategies = &accumulating;
    options.strategy_count = 1;
    cr_assert_eq(READ_DEMO("workload.accumulation=3"), GS_OK, "%s", err.text);
    /* 5 steps of 4 passes are 20 passes; a budget counts steps of the workload's 3. */
    cr_expect_eq(base_of(5)->workload.budget_steps, 7);
    cr_expect_float_eq(measure(base_of(6)).samples_per_step, 8 * 4 * 16, 0.0);
}

Test(explain_variant, more_ranks_repeat_the_nodes_and_fewer_lose_the_straggler)
{
    cr_assert_eq(READ_DEMO("cluster.nodes=[{\"name\":\"a\",\"count\":1,\"ranks\":4,"
                           "\"usd_per_hour\":8},{\"name\":\"b\",\"ranks\":3,\"compute_scale\":1.6,"
                           "\"usd_per_hour\":6}]",
                           "noise.straggler.kind=persistent", "noise.straggler.rank=1",
                           "noise.straggler.factor=1.3"),
                 GS_OK, "%s", err.text);
    gs_scenario *more = gs_variant_ranks(base_of(3), 16, &arena);
    cr_expect_eq(more->ranks, 16);
    cr_expect_eq(more->nodes, 5); /* 4 + 3 + 4 + 3 + 2 */
    cr_expect_eq(gs_scenario_node_of(more, 7), 2);
    cr_expect_float_eq(gs_scenario_group_of(more, 11)->compute_scale, 1.6, 0.0);
    cr_expect_float_eq(gs_variant_usd_per_hour(more), 8 + 6 + 8 + 6 + 4, 1e-12);
    cr_expect_eq(more->noise.straggler.rank, 1);
    gs_scenario *fewer = gs_variant_ranks(base_of(3), 4, &arena);
    cr_expect_eq(fewer->nodes, 1);
    cr_expect_eq(fewer->noise.straggler.kind, GS_STRAGGLER_NONE);
}

Test(explain_variant, ranks_that_have_places_of_their_own_are_compared_on_one_switch)
{
    cr_assert_eq(READ_DEMO("cluster.topology.kind=torus", "cluster.topology.dims=[2]",
                           "cluster.topology.inside=mesh"),
                 GS_OK, "%s", err.text);
    gs_scenario *base = base_of(3);
    cr_expect(gs_variant_is_placed(base));
    gs_scenario *more = gs_variant_ranks(base, 16, &arena);
    cr_expect_eq(more->cluster.topology.kind, GS_TOPOLOGY_NODES);
    cr_expect_eq(more->nodes, 4);
    cr_assert_eq(more->cluster.group_count, 1);
    cr_expect_eq(more->cluster.topology.insides[0], base->cluster.topology.insides[0]);
    cr_assert_eq(READ_DEMO("cluster.placement.order=round_robin"), GS_OK, "%s", err.text);
    gs_scenario *node = gs_variant_ranks(base_of(3), 4, &arena);
    cr_expect_eq(node->nodes, 1);
    cr_expect_null(node->cluster.slot_of);
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    cr_expect_not(gs_variant_is_placed(base_of(3)));
}

Test(explain_variant, the_slowest_rank_goes_and_the_others_are_numbered_again)
{
    cr_assert_eq(READ_DEMO("noise.straggler.kind=persistent", "noise.straggler.rank=2",
                           "noise.straggler.factor=1.3"),
                 GS_OK);
    const uint32_t *ranks = NULL;
    uint32_t rank = 0;
    uint32_t count = 0;
    double factor = 0.0;
    cr_expect(gs_variant_slowest(base_of(3), &rank, &factor));
    cr_expect_eq(rank, 2);
    cr_expect_float_eq(factor, 1.3, 1e-12);
    gs_scenario *rest = gs_variant_without_slowest(base_of(3), &ranks, &count, &arena);
    cr_assert_eq(count, 1);
    cr_expect_eq(ranks[0], 2);
    cr_expect_eq(rest->ranks, 7);
    cr_expect_eq(rest->nodes, 2);
    cr_expect_eq(gs_scenario_node_of(rest, 2), 0);
    cr_expect_eq(gs_scenario_node_of(rest, 3), 1);
    cr_expect_eq(rest->noise.straggler.kind, GS_STRAGGLER_NONE);
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK);
    cr_expect_not(gs_variant_slowest(base_of(3), &rank, &factor));
}

Test(explain_variant, a_curve_is_cut_into_its_least_time_and_the_rest)
{
    static const char curve[] =
        "cluster.links.nic.curve=" GS_TEST_SOURCE_DIR "/tests/data/all_reduce_10_ranks.txt";
    cr_assert_eq(READ_DEMO("cluster.nodes.0.count=10", "cluster.nodes.0.ranks=1", curve), GS_OK,
                 "%s", err.text);
    gs_scenario *base = base_of(3);
    const gs_curve *whole = base->cluster.nic.curve;
    const gs_curve *half = gs_variant_link(base, 2.0, &arena)->cluster.nic.curve;
    const gs_curve *flat =
        gs_variant_without(base, 1U << cause_index("nic_bandwidth"), &arena)->cluster.nic.curve;
    gs_time_ns least = whole->points[0].time_ns;
    for (uint32_t i = 0; i < whole->point_count; i++) {
        gs_time_ns own = whole->points[i].time_ns;
        least = own < least ? own : least;
    }
    uint32_t last = whole->point_count - 1;
    double above = (double)(whole->points[last].time_ns - least);
    cr_expect_float_eq((double)half->points[last].time_ns, (double)least + above / 2.0, 1.0);
    cr_expect_eq(flat->points[last].time_ns, least);
    cr_expect(gs_variant_has_curve(base));
    cr_expect_not(gs_variant_has_curve(gs_variant_ranks(base, 5, &arena)));
}

static const gs_change *find_change(const gs_change *changes, uint32_t count, const char *key)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(changes[i].key, key) == 0) {
            return &changes[i];
        }
    }
    return NULL;
}

Test(explain_variant, only_changes_that_mean_something_are_offered)
{
    gs_change changes[GS_CHANGES_MAX];
    cr_assert_eq(READ_DEMO("workload.dtype=fp16"), GS_OK, "%s", err.text);
    uint32_t count = gs_changes_make(base_of(3), &arena, changes);
    cr_expect_null(find_change(changes, count, "fp16"));
    cr_expect_null(find_change(changes, count, "bucket_25mib"), "that is what it has");
    cr_expect_null(find_change(changes, count, "loader_workers"), "there is no loader");
    cr_expect_null(find_change(changes, count, "without_slowest"), "all are the same");
    cr_expect_not_null(find_change(changes, count, "bucket_50mib"));
    cr_assert_eq(READ_DEMO("workload.input.time=5ms", "workload.input.workers=3"), GS_OK);
    count = gs_changes_make(base_of(3), &arena, changes);
    const gs_change *workers = find_change(changes, count, "loader_workers");
    cr_assert_not_null(workers);
    cr_expect_eq(workers->scenario->workload.input.workers, 5);
    cr_expect_eq(scenario.workload.input.workers, 3, "the scenario itself is left alone");
    cr_assert_eq(READ_DEMO("cluster.nodes.0.count=1", "cluster.nodes.0.ranks=1"), GS_OK);
    cr_expect_eq(gs_changes_make(base_of(3), &arena, changes), 0);
}

/* What the change without the slowest is called where the last `slow` ranks are. */
static const char *name_of_slowest(int fast, int slow)
{
    static gs_change changes[GS_CHANGES_MAX];
    char nodes[200];
    snprintf(nodes, sizeof nodes,
             "cluster.nodes=[{\"name\":\"fast\",\"ranks\":%d},"
             "{\"name\":\"slow\",\"ranks\":%d,\"compute_scale\":2}]",
             fast, slow);
    cr_assert_eq(READ_DEMO(nodes), GS_OK, "%s", err.text);
    uint32_t count = gs_changes_make(base_of(3), &arena, changes);
    const gs_change *change = find_change(changes, count, "without_slowest");
    cr_assert_not_null(change);
    return change->name;
}

Test(explain_variant, the_slowest_ranks_are_named_as_far_as_they_fit)
{
    cr_expect_str_eq(name_of_slowest(4, 1), "without rank 4, the slowest");
    cr_expect_str_eq(name_of_slowest(4, 2), "without the 2 slowest ranks (4, 5)");
    cr_expect_str_eq(name_of_slowest(6, 5), "without the 5 slowest ranks (6, 7, 8, 9, ...)");
}

Test(explain_variant, a_change_says_whether_it_learns_the_same)
{
    gs_change changes[GS_CHANGES_MAX];
    cr_assert_eq(READ_DEMO("seed=1"), GS_OK, "%s", err.text);
    uint32_t count = gs_changes_make(base_of(3), &arena, changes);
    const gs_change *half = find_change(changes, count, "fp16");
    const gs_change *four = find_change(changes, count, "accumulate_4");
    const gs_change *link = find_change(changes, count, "link_x2");
    cr_assert(half != NULL && four != NULL && link != NULL);
    cr_expect_str_eq(half->learns, "from gradients rounded to fp16");
    cr_expect_str_eq(four->learns, "differently");
    cr_expect_str_eq(link->learns, "the same");
}
