/* Runs that go from one strategy to another: every kind of state that one leaves for the next. */
#include "sim/sim_parts.h" /* to look at vectors and moments */
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static small_job made;

/* One of each way to keep weights and moments: equal replicas, shards of the optimizer, models that
 * drift apart and are averaged or mixed, servers that wait for all and that do not, and codecs with
 * memory. */
typedef struct kind {
    const char *name, *parameters, *codec;
} kind;

static const kind kinds[] = {
    {"allreduce", NULL, NULL},
    {"allreduce", NULL, "topk:ratio=0.05"},
    {"allreduce", NULL, "powersgd:rank=2"},
    {"horovod", "fusion=17000B,cycle=150us", NULL},
    {"sharded", NULL, NULL},
    {"hierarchical", NULL, NULL},
    {"local_sgd", "period=2", NULL},
    {"slowmo", "period=3", "qsgd:bits=4"},
    {"hier_avg", "inside=2,between=2,delay=1", NULL},
    {"d_psgd", NULL, NULL},
    {"sgp", NULL, NULL},
    {"osgp", NULL, NULL},
    {"choco", NULL, "topk:ratio=0.1,feedback=false"},
    {"ad_psgd", NULL, NULL},
    {"bsp_ps", "servers=2", NULL},
    {"bsp_ps", "servers=1", "topk:ratio=0.05"},
    {"asp", "servers=2", NULL},
    {"ssp", "servers=1", NULL},
    {"k_sync", "k=2,servers=2", NULL},
    {"lb_bsp", NULL, NULL},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void make_job(uint32_t ranks, int64_t steps, bool learns)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.ranks_per_node = ranks % 2 == 0 ? 2 : 0;
    config.servers = 2;
    config.learns = learns;
    config.units = 5;
    config.unit_elements = 2063; /* a prime: shards, parts and pieces are uneven */
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 100 * GS_NS_PER_US;
    config.skew_ns = 200 * GS_NS_PER_US;
    config.steps = steps;
    small_job_init(&made, &config, NULL);
}

static void use(const kind *of)
{
    small_job_use(&made, gs_strategy_find(of->name), of->parameters);
    small_job_code(&made, of->codec);
}

static void then(const kind *of, int64_t from_step)
{
    small_job_then(&made, gs_strategy_find(of->name), of->parameters, of->codec, from_step);
}

static gs_sim_result run(gs_sim_config config)
{
    config.scenario = &made.scenario;
    config.strategy = &made.choice;
    config.seed = config.seed == 0 ? 1 : config.seed;
    return small_job_run(&config);
}

/* ---------------------------------------------------------------- pairs */

/* A run through `legs` kinds, each `apart` behind the one before, a step each. */
static void run_through(uint32_t first, uint32_t apart, uint32_t legs, gs_sim_config how)
{
    gs_record *record = gs_record_create(made.scenario.ranks, false);
    use(&kinds[first]);
    for (uint32_t i = 1; i < legs; i++) {
        then(&kinds[(first + i * apart) % KINDS], i);
    }
    how.record = record;
    gs_sim_result result = run(how);
    cr_expect_eq(result.status, GS_OK, "from %u by %u: %s", first, apart, result.error.text);
    int64_t looks = gs_record_curve_count(record);
    double loss = looks > 0 ? gs_record_curve_at(record, looks - 1).loss : (double)NAN;
    cr_expect(!made.scenario.workload.real_gradients || isfinite(loss), "from %u by %u: loss %g",
              first, apart, loss);
    cr_expect_eq(gs_record_decision_count(record), legs - 1);
    gs_record_destroy(record);
}

/* All pairs (a, a + apart), so many to a run. */
static void run_all_pairs(uint32_t apart, gs_sim_config how)
{
    for (uint32_t done = 0, first = 0; done < KINDS; done += GS_LEGS_MAX - 1) {
        run_through(first, apart, GS_LEGS_MAX, how);
        first = (first + (GS_LEGS_MAX - 1) * apart) % KINDS;
    }
}

/* Any may follow any, itself too: the run ends, nothing is left over, no rule is broken, and what
 * was learned is finite. Where apart and KINDS have a common factor the pairs of one walk are not
 * all of them, so that each residue has a walk of its own. */
Test(sim_relay, any_strategy_follows_any_other, .timeout = 280)
{
    make_job(4, GS_LEGS_MAX, true);
    for (uint32_t apart = 0; apart < KINDS; apart++) {
        if (apart != 0 && KINDS % apart != 0) {
            run_all_pairs(apart, (gs_sim_config){.swap_state = true});
            continue;
        }
        for (uint32_t first = 0; first < (apart == 0 ? KINDS : apart); first++) {
            run_through(first, apart, GS_LEGS_MAX, (gs_sim_config){.swap_state = true});
        }
    }
    small_job_fini(&made);
}

/* Late completions and ties in another order: replies overtake, and early messages wait. */
Test(sim_relay, order_and_lateness_do_no_harm, .timeout = 280)
{
    make_job(5, GS_LEGS_MAX, false);
    for (uint32_t apart = 1; apart < KINDS; apart += 2) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            run_all_pairs(apart, (gs_sim_config){.seed = seed,
                                                 .shuffle_ties = true,
                                                 .late_ns = 400 * GS_NS_PER_US,
                                                 .swap_state = true});
        }
    }
    small_job_fini(&made);
}

/* ---------------------------------------------------------------- to itself */

/* What a swap to itself leaves undone is only what it waits for: neutral states are imported as
 * they were exported, and nothing else moves. local_sgd and slowmo average at a cut, so that the
 * step is one at which they do so anyway. */
Test(sim_relay, a_swap_to_itself_changes_no_byte_where_ranks_cut_together)
{
    static const kind common[] = {{"allreduce", NULL, NULL},
                                  {"allreduce", "accumulation=2", NULL},
                                  {"allreduce", NULL, "topk:ratio=0.05"},
                                  {"allreduce", NULL, "powersgd:rank=2"},
                                  {"sharded", NULL, NULL},
                                  {"hierarchical", NULL, NULL},
                                  {"local_sgd", "period=2", NULL},
                                  {"slowmo", "period=2", NULL},
                                  {"bsp_ps", "servers=2", NULL}};
    make_job(4, 8, true);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        use(&common[i]);
        gs_sim_result alone = run((gs_sim_config){.swap_state = true});
        then(&common[i], 4);
        gs_sim_result swapped = run((gs_sim_config){.swap_state = true});
        cr_assert_eq(alone.status, GS_OK, "%s", alone.error.text);
        cr_assert_eq(swapped.status, GS_OK, "%s", swapped.error.text);
        cr_expect_eq(swapped.weights_hash, alone.weights_hash, "%s", common[i].name);
        cr_expect_gt(swapped.facts.end_ns, alone.facts.end_ns, "%s: for nothing", common[i].name);
    }
    small_job_fini(&made);
}

/* Equal replicas with equal moments make the same step whoever adds their gradients up in the same
 * order: so many steps of one and then of another are as many of either. */
Test(sim_relay, moments_come_along_from_ranks_shards_and_servers)
{
    make_job(2, 6, true); /* of two terms there is one sum, in whatever order */
    small_job_use(&made, gs_strategy_find("allreduce"), NULL);
    gs_sim_result alone = run((gs_sim_config){.seed = 3});
    cr_assert_eq(alone.status, GS_OK, "%s", alone.error.text);
    static const kind legs[] = {{"sharded", NULL, NULL},
                                {"bsp_ps", "servers=2", NULL},
                                {"allreduce", NULL, NULL},
                                {"bsp_ps", "servers=1", NULL}};
    for (size_t i = 0; i < sizeof legs / sizeof *legs; i++) {
        use(&legs[i]);
        then(&legs[(i + 1) % 4], 2);
        then(&legs[(i + 2) % 4], 4);
        gs_sim_result relayed = run((gs_sim_config){.seed = 3});
        cr_assert_eq(relayed.status, GS_OK, "%s", relayed.error.text);
        cr_expect_eq(relayed.weights_hash, alone.weights_hash, "from %s", legs[i].name);
    }
    small_job_fini(&made);
}
