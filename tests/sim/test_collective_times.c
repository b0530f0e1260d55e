/* What collectives take by their closed forms against what they take when they are played: on links
 * of each channel's own by the dataflow of sim/dataflow.h, on one link for all channels of a rank
 * message by message. To 0.1 %. */
#include "sim/dataflow.h"
#include "strategies/registry.h"
#include "strategies/selection.h"
#include "tests/small_job.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MEMBERS_MAX = 64, VARIANTS = 5, ELEMENT_BYTES = 4 };

static const double LATENCY_S = 10e-6;
static const double BYTES_PER_S = 1.25e9;

/* The smallest divisor of n above 1. */
static uint32_t divisor_of(uint32_t n)
{
    uint32_t divisor = 2;
    while (divisor < n && n % divisor != 0) {
        divisor++;
    }
    return n == 1 ? 1 : divisor;
}

/* Shapes that a program looks at; false: it does not look at this one. */
static bool variant_of(const gs_collective *collective, uint32_t members, int number, gs_shape *out)
{
    uint32_t inner = divisor_of(members);
    out->rings = number == 1 ? 3 : number == 4 ? 2 : 1;
    out->inner = number == 2 || number == 4 ? inner : 1;
    out->middle = number == 4 ? divisor_of(members / inner) : 1;
    out->piece = number == 3 ? out->elements / 50 + 1 : number == 4 ? out->elements / 7 : 0;
    return (out->rings == 1 || (collective->takes & GS_TAKES_RINGS) != 0) &&
           (out->inner == 1 || (collective->takes & GS_TAKES_NODES) != 0) &&
           (number != 3 || (collective->takes & GS_TAKES_PIECES) != 0);
}

static void expect_near(const gs_collective *collective, const gs_shape *shape, double found_s,
                        double closed_s)
{
    cr_expect(fabs(found_s - closed_s) <= 1e-3 * closed_s,
              "%s of %u, %u rings, inner %u, middle %u, %lld elements, pieces of %lld: played in "
              "%.9g s, by its form in %.9g s",
              collective->name, shape->members, shape->rings, shape->inner, shape->middle,
              (long long)shape->elements, (long long)shape->piece, found_s, closed_s);
}

static gs_tick leaves(void *host, uint32_t channel, gs_tick start, int64_t bytes)
{
    (void)host, (void)channel, (void)bytes;
    return start;
}

static gs_tick latency(void *host, uint32_t channel, uint64_t messages, int64_t bytes)
{
    (void)bytes;
    (void)host, (void)channel, (void)messages;
    return 0;
}

/* Seconds on links of each channel's own. */
static double played_s(const gs_collective *collective, const gs_shape *shape)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_dataflow flow;
    gs_dataflow_wires wires = {.leaves = leaves, .latency = latency};
    gs_dataflow_plan *plan = gs_dataflow_plan_create(collective, shape, &arena);
    cr_assert_not_null(plan);
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        plan->paths[i] = (gs_dataflow_path){.bytes_per_tick = BYTES_PER_S * 1e-9 / 1024.0,
                                            .latency = gs_ticks((gs_time_ns)(LATENCY_S * 1e9))};
    }
    cr_assert(gs_dataflow_init(&flow, plan, &wires, &arena));
    gs_dataflow_begin(&flow, shape, ELEMENT_BYTES, GS_TICK_NEVER);
    for (uint32_t member = 0; member < shape->members; member++) {
        gs_dataflow_start(&flow, member, 0, 0);
    }
    gs_tick last = 0;
    for (uint32_t member = 0; member < shape->members; member++) {
        last = flow.ends[member] > last ? flow.ends[member] : last;
    }
    gs_arena_fini(&arena);
    return (double)last / 1024.0 * 1e-9;
}

/* 40 MB, where bytes count, and 400 kB, where messages do; an element more or less in a part is
 * below 0.1 %. */
Test(collective_times, closed_forms_are_what_programs_take_on_links_of_their_own, .timeout = 300)
{
    static const int64_t elements[] = {10000000, 100000};
    for (uint32_t c = 0; c < gs_collective_count(); c++) {
        const gs_collective *collective = gs_collective_at(c);
        for (uint32_t members = 2; members <= MEMBERS_MAX; members++) {
            for (int variant = 0; variant < 2 * VARIANTS; variant++) {
                gs_shape shape = gs_shape_plain(members, 0, elements[variant % 2]);
                if (variant_of(collective, members, variant / 2, &shape)) {
                    double bytes = (double)shape.elements * ELEMENT_BYTES;
                    expect_near(collective, &shape, played_s(collective, &shape),
                                collective->closed_s(&shape, bytes, LATENCY_S, BYTES_PER_S));
                }
            }
        }
    }
}

/* Seconds of one all-reduce by that program, message by message, of ranks that share a
 * switch. */
static double switched_s(const gs_collective *collective, const gs_shape *shape)
{
    small_job job;
    small_job_config config = small_job_default();
    config.ranks = shape->members;
    config.units = 1;
    config.unit_elements = shape->elements;
    small_job_init(&job, &config, "bucket=tensor");
    gs_selection_rule rule = {.communicator = GS_ANY_COMMUNICATOR,
                              .kind = collective->kind,
                              .up_to_bytes = INT64_MAX,
                              .choice = {.program = collective,
                                         .rings = shape->rings,
                                         .inner = shape->inner,
                                         .middle = shape->middle,
                                         .piece_bytes = shape->piece * ELEMENT_BYTES}};
    job.choice.selection = (gs_selection){&rule, 1};
    job.scenario.network_mode = GS_NETWORK_MESSAGE;
    gs_sim_config run = {.scenario = &job.scenario, .strategy = &job.choice, .seed = 1};
    gs_sim_result result = small_job_run(&run);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    small_job_fini(&job);
    return (double)result.facts.end_ns * 1e-9;
}

/* Those that send one message at a time, or all alike: parts are equal, so that rings stay in step,
 * where one does not use what another leaves while it waits. Others meet themselves on a card:
 * trees, and pairs of which some have to wait. */
Test(collective_times, shared_forms_are_what_sums_take_on_one_link_a_rank, .timeout = 300)
{
    static const char *const names[] = {"hierarchical_ring", "naive", "ring", "halving_doubling",
                                        "recursive_doubling"};
    for (uint32_t members = 2; members <= MEMBERS_MAX; members++) {
        bool is_power = (members & (members - 1)) == 0;
        for (size_t i = 0; i < (is_power ? 5 : 3); i++) {
            const gs_collective *collective = gs_collective_find(names[i]);
            for (int variant = 0; variant < VARIANTS; variant++) {
                gs_shape shape = gs_shape_plain(members, 0, 12000 * (int64_t)members);
                if (!variant_of(collective, members, variant, &shape)) {
                    continue;
                }
                double (*form)(const gs_shape *, double, double, double) =
                    collective->shared_s != NULL ? collective->shared_s : collective->closed_s;
                double bytes = (double)shape.elements * ELEMENT_BYTES;
                expect_near(collective, &shape, switched_s(collective, &shape),
                            form(&shape, bytes, LATENCY_S, BYTES_PER_S));
            }
        }
    }
}

/* 48 MB in pieces of 512 KiB. */
Test(collective_times, pairs_of_trees_on_one_link_a_rank_are_estimated_to_3_percent)
{
    const gs_collective *trees = gs_collective_find("double_binary_tree");
    for (uint32_t members = 2; members <= MEMBERS_MAX; members++) {
        gs_shape shape = gs_shape_plain(members, 0, 12000000);
        shape.piece = 512 * 1024 / ELEMENT_BYTES;
        double found_s = switched_s(trees, &shape);
        double wanted_s = trees->shared_s(&shape, 48e6, LATENCY_S, BYTES_PER_S);
        cr_expect(fabs(found_s - wanted_s) < 0.03 * wanted_s, "%u: %.6g s, estimated %.6g", members,
                  found_s, wanted_s);
    }
}

/* Of 8 ranks, in nodes of 4: what each sends, in parts of S. A ring 2 (n-1)/n; levels as much, a
 * quarter of which leaves the node, which a flat ring does not quarter; trees S for each link of a
 * rank, where the root and the ends have one less. */
Test(collective_times, bytes_of_a_card_are_those_of_the_algorithm)
{
    const struct {
        const char *name;
        double nic;                           /* of both cards together, in parts of S */
    } cases[] = {{"ring", 2 * 7.0 / 8.0 * 2}, /* one link leaves each node */
                 {"hierarchical_ring", 2 * 4 * (2 * 1.0 / 2.0 / 4.0)},
                 /* Two trees of two nodes: half of S up and half down, for each. */
                 {"double_binary_tree", 2 * (0.5 + 0.5)},
                 /* Ranks 1..3 send whole, and get whole, over no card; 4..7 over two. */
                 {"naive", 4 + 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        small_job job;
        small_job_config config = small_job_default();
        config.ranks = 8;
        config.ranks_per_node = 4;
        config.units = 1;
        config.unit_elements = 1000000;
        small_job_init(&job, &config, "bucket=tensor");
        gs_selection_rule rule = {.communicator = GS_ANY_COMMUNICATOR,
                                  .kind = GS_ALL_REDUCE,
                                  .up_to_bytes = INT64_MAX,
                                  .choice = {gs_collective_find(cases[i].name), 1, 0, 0, 65536}};
        job.choice.selection = (gs_selection){&rule, 1};
        gs_sim_config run = {.scenario = &job.scenario, .strategy = &job.choice, .seed = 1};
        gs_sim_result result = small_job_run(&run);
        cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
        cr_expect_eq(result.facts.nic_bytes_sent,
                     (int64_t)(cases[i].nic * 1000000.0 * ELEMENT_BYTES), "%s: %lld", cases[i].name,
                     (long long)result.facts.nic_bytes_sent);
        small_job_fini(&job);
    }
}
