/* Every strategy of the registry, with the parameters it has by default where they fit, in both
 * hosts: it ends, loses nothing, breaks no rule, says truly what it sends, and can be exported. A
 * new strategy is taken along by its line in strategies.def. */
#include <criterion/criterion.h>

#include "live/live.h"
#include "sim/sim_parts.h" /* to look at vectors and exported states */
#include "strategies/plugin.h"
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/strategies/probe_host.h"

#include <math.h>
#include <string.h>

enum { STEPS = 4, SERVERS = 2, EXPORT_BYTES = 65536 };

static const uint32_t rank_counts[] = {1, 2, 3, 8, 17};
enum { RANK_COUNTS = sizeof rank_counts / sizeof *rank_counts };

static small_job made;

/* What may stop in the middle of a push is also run with pushes that have a middle: they send more
 * than they say then, by what was for nothing. */
static const char *const cut[][2] = {
    {"k_batch_sync", "k=2,bucket=3000B"},
    {"k_sync", "k=2,bucket=3000B"},
};

static void make_job(const gs_strategy *strategy, const char *parameters, uint32_t ranks,
                     bool learns)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.servers = SERVERS;
    config.learns = learns;
    config.units = 5;
    config.unit_elements = 2063; /* a prime: shards, parts and pieces are uneven */
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 100 * GS_NS_PER_US;
    config.skew_ns = 200 * GS_NS_PER_US;
    config.steps = STEPS;
    small_job_init(&made, &config, NULL);
    small_job_use(&made, strategy, parameters);
}

/* A job that has no sense for a strategy, such as a spare rank of one, is refused with the reason
 * and never made; all others must run. */
static bool is_refused(const gs_strategy *strategy, uint32_t ranks)
{
    gs_error err;
    gs_job job;
    gs_layout layout;
    cr_assert_eq(gs_scenario_job(&made.scenario, &made.arena, &job, &err), GS_OK);
    if (strategy->layout(made.choice.config, &job, &layout, &err) == GS_OK) {
        return false;
    }
    cr_assert_eq(err.code, GS_EINVAL, "%s, %u ranks: %s", strategy->name, ranks, err.text);
    cr_assert_lt(ranks, 8, "%s must run on 8 ranks and more: %s", strategy->name, err.text);
    return true;
}

typedef struct mode {
    bool shuffle, swap;
    gs_time_ns late_ns;
} mode;

static gs_sim *simulate(mode how, gs_record *record, gs_sim_result *out)
{
    gs_sim_config config = {.scenario = &made.scenario,
                            .strategy = &made.choice,
                            .seed = 1,
                            .record = record,
                            .shuffle_ties = how.shuffle,
                            .late_ns = how.late_ns,
                            .swap_state = how.swap};
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    cr_assert(sim != NULL, "%s: %s", made.choice.label, err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, out);
    cr_assert_eq(out->status, GS_OK, "%s, %u ranks: %s", made.choice.label, made.scenario.ranks,
                 out->error.text);
    return sim;
}

static void expect_finite(const float *weights, size_t count, uint32_t rank)
{
    cr_assert_gt(count, 1000);
    for (size_t i = 0; i < count; i++) {
        cr_assert(isfinite(weights[i]), "%s, rank %u, weight %zu", made.choice.label, rank, i);
    }
}

typedef void check(const gs_strategy *strategy, uint32_t ranks);

/* The check for every number of ranks, with a job that is made and freed for it. */
static void for_ranks(check *one, const gs_strategy *strategy, const char *parameters, bool learns)
{
    for (uint32_t r = 0; r < RANK_COUNTS; r++) {
        make_job(strategy, parameters, rank_counts[r], learns);
        if (!is_refused(strategy, rank_counts[r])) {
            one(strategy, rank_counts[r]);
        }
        small_job_fini(&made);
    }
}

static void for_all(check *one, bool learns)
{
    for (uint32_t s = 0; s < gs_strategy_count(); s++) {
        for_ranks(one, gs_strategy_at(s), small_job_short(gs_strategy_at(s)), learns);
    }
}

static void for_cut(check *one)
{
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        for_ranks(one, gs_strategy_find(cut[i][0]), cut[i][1], true);
    }
}

/* The example of a plug-in is held to what the bundled strategies are. */
static void add_example(void)
{
    gs_error err;
    cr_assert_eq(gs_plugin.contract, GS_CONTRACT);
    cr_assert_eq(gs_strategy_add(gs_plugin.strategies[0], &err), GS_OK);
}

TestSuite(conformance, .init = add_example, .timeout = 280);

/* ---------------------------------------------------------------- the simulator */

static void run_in_every_order(const gs_strategy *strategy, uint32_t ranks)
{
    const mode modes[] = {{.swap = true},
                          {.shuffle = true, .swap = true},
                          {.shuffle = true, .late_ns = 30 * GS_NS_PER_US},
                          {.swap = true, .late_ns = 700 * GS_NS_PER_US}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        gs_sim_result result;
        gs_sim *sim = simulate(modes[i], NULL, &result);
        cr_expect_geq(sim->passes, STEPS * ranks, "%s, %u ranks", strategy->name, ranks);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            size_t count;
            const float *weights = gs_sim_weights(sim, rank, &count);
            expect_finite(weights, count, rank);
        }
        gs_sim_destroy(sim);
    }
}

Test(conformance, ends_with_finite_weights_in_any_order_and_however_late)
{
    for_all(run_in_every_order, true);
    for_cut(run_in_every_order);
}

static void run_twice(const gs_strategy *strategy, uint32_t ranks)
{
    gs_sim_result still, moved;
    gs_sim_destroy(simulate((mode){0}, NULL, &still));
    gs_sim_destroy(simulate((mode){.swap = true}, NULL, &moved));
    cr_expect_eq(still.result_hash, moved.result_hash, "%s, %u ranks", strategy->name, ranks);
    cr_expect_neq(still.weights_hash, 0);
}

Test(conformance, is_the_same_run_again_also_where_its_state_moves)
{
    for_all(run_twice, true);
    for_cut(run_twice);
}

/* wire_bytes is a mean over steps, rounded to a byte; what every worker sent, over the steps of all
 * of them, is the same. */
static void compare_bytes(const gs_strategy *strategy, uint32_t ranks)
{
    if (strategy->wire_bytes == NULL) {
        return;
    }
    gs_sim_result result;
    gs_sim *sim = simulate((mode){0}, NULL, &result);
    int64_t sent = 0;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        sent += sim->net.entity_bytes[rank];
    }
    double steps = (double)sim->passes / (double)sim->job.accumulation;
    double said = (double)strategy->wire_bytes(made.choice.config, &sim->job, &made.choice.coding);
    cr_expect(fabs((double)sent / steps - said) <= 1.0, "%s, %u ranks: sent %.1f, said %.0f",
              strategy->name, ranks, (double)sent / steps, said);
    gs_sim_destroy(sim);
}

Test(conformance, sends_the_bytes_that_it_says)
{
    for_all(compare_bytes, false);
}

/* Drained entities export; who imports that would export the same. */
static void export_and_import(const gs_strategy *strategy, uint32_t ranks)
{
    static unsigned char first[EXPORT_BYTES], second[EXPORT_BYTES];
    gs_sim_result result;
    gs_sim *sim = simulate((mode){0}, NULL, &result);
    for (uint32_t i = 0; i < sim->entity_count; i++) {
        size_t bytes = gs_driver_export(sim->entities[i].driver, first, sizeof first);
        probe_host host;
        probe_host_init(&host);
        host.job = sim->job;
        host.layout = sim->layout;
        host.strategy = *strategy;
        host.strategy_config = made.choice.config;
        probe_host_import(&host, sim->entities[i].self, first, bytes);
        cr_expect_eq(host.failures, 0, "%s: %s", strategy->name, host.error.text);
        cr_expect_eq(probe_host_export(&host, second, sizeof second), bytes);
        cr_expect_eq(memcmp(first, second, bytes), 0, "%s, %u ranks, entity %u", strategy->name,
                     ranks, i);
        probe_host_fini(&host);
    }
    gs_sim_destroy(sim);
}

Test(conformance, imports_what_it_exports)
{
    for_all(export_and_import, false);
}

/* ---------------------------------------------------------------- threads */

static void run_on_threads(const gs_strategy *strategy, uint32_t ranks)
{
    gs_sim_result simulated;
    gs_sim *sim = simulate((mode){0}, NULL, &simulated);
    for (int rendezvous = 0; rendezvous < 2; rendezvous++) {
        gs_live_config config = gs_live_config_default();
        config.strategy = &made.choice;
        config.job = &sim->job;
        config.task = sim->task;
        config.batch_per_rank = made.scenario.workload.batch_per_rank;
        config.budget_steps = STEPS;
        config.rendezvous = rendezvous == 1;
        config.swap_state = true;
        gs_error err;
        gs_live *live = gs_live_create(&config, &err);
        cr_assert(live != NULL, "%s: %s", strategy->name, err.text);
        gs_live_run(live);
        gs_live_result result;
        gs_live_result_get(live, &result);
        cr_assert_eq(result.status, GS_OK, "%s, %u ranks, %s: %s", strategy->name, ranks,
                     config.rendezvous ? "rendezvous" : "eager", result.error.text);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            size_t count;
            const float *weights = gs_live_weights(live, rank, &count);
            expect_finite(weights, count, rank);
        }
        gs_live_destroy(live);
    }
    gs_sim_destroy(sim);
}

Test(conformance, runs_on_threads_eager_and_by_rendezvous)
{
    for_all(run_on_threads, true);
    for_cut(run_on_threads);
}
