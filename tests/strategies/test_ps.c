/* Parameter servers as whole runs: what must reduce to what, what is counted, what is refused. */
#include <criterion/criterion.h>

#include "sim/sim_parts.h" /* to look at vectors and exported states */
#include "strategies/ps.h"
#include "strategies/registry.h"
#include "tests/small_job.h"

#include <math.h>
#include <string.h>

enum { RANKS = 4, STEPS = 20 };

static small_job job;
static small_job_config made;

static void setup(void)
{
    made = small_job_default();
    made.ranks = RANKS;
    made.servers = 3;
    made.learns = true;
    made.unit_elements = 4099;
    made.forward_ns = 300 * GS_NS_PER_US;
    made.backward_ns = 100 * GS_NS_PER_US;
    made.skew_ns = 900 * GS_NS_PER_US;
    made.steps = STEPS;
}

TestSuite(ps, .init = setup, .timeout = 120);

/* The job stays until the next one; owner of the run: caller. */
static gs_sim *run_in(const char *name, const char *text, gs_sim_config config, gs_sim_result *out)
{
    small_job_init(&job, &made, NULL);
    small_job_use(&job, gs_strategy_find(name), text);
    config.scenario = &job.scenario;
    config.strategy = &job.choice;
    config.seed = 3;
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    cr_assert(sim != NULL, "%s:%s: %s", name, text, err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, out);
    cr_assert_eq(out->status, GS_OK, "%s:%s: %s", name, text, out->error.text);
    return sim;
}

static gs_sim *run(const char *name, const char *text, gs_sim_result *out)
{
    return run_in(name, text, (gs_sim_config){0}, out);
}

static gs_ps_account account(const gs_sim *sim, uint32_t server)
{
    gs_ps_account out;
    cr_assert_eq(gs_driver_export(sim->entities[RANKS + server].driver, &out, sizeof out),
                 sizeof out);
    return out;
}

/* ---------------------------------------------------------------- what must be the same */

/* Weights of the first run against those of the second, element by element. */
static void expect_close(const char *name, const char *text, const char *other,
                         const char *other_text, float bound)
{
    gs_sim_result result;
    gs_sim *one = run(name, text, &result);
    small_job first = job;
    gs_sim *two = run(other, other_text, &result);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        size_t count;
        const float *a = gs_sim_weights(one, rank, &count);
        const float *b = gs_sim_weights(two, rank, &count);
        cr_assert_gt(count, 1000);
        for (size_t i = 0; i < count; i++) {
            cr_assert(fabsf(a[i] - b[i]) <= bound, "%s:%s, %s:%s, rank %u, weight %zu: %g, %g",
                      name, text, other, other_text, rank, i, (double)a[i], (double)b[i]);
        }
    }
    gs_sim_destroy(one);
    gs_sim_destroy(two);
    small_job_fini(&first);
    small_job_fini(&job);
}

/* The same mean of the same gradients; a sum of four floats in another order, 20 steps long. */
Test(ps, a_synchronous_server_learns_what_allreduce_learns)
{
    expect_close("bsp_ps", "servers=1", "allreduce", "", 1e-6F);
    expect_close("bsp_ps", "servers=3", "allreduce", "", 1e-6F);
}

Test(ps, rules_that_wait_for_all_are_synchronous)
{
    expect_close("backup", "backups=0", "bsp_ps", "", 0.0F);
    expect_close("k_sync", "k=4", "bsp_ps", "", 0.0F);
    expect_close("m_sync", "m=4", "bsp_ps", "", 0.0F);
}

Test(ps, shards_pieces_and_overlap_change_no_synchronous_weight)
{
    expect_close("bsp_ps", "servers=3,bucket=100B", "bsp_ps", "servers=1,overlap=false", 0.0F);
}

Test(ps, ssp_whose_slack_nobody_uses_up_is_asp)
{
    expect_close("ssp", "staleness=1000000", "asp", "", 0.0F);
    expect_close("dssp", "staleness=1000000,staleness_max=1000000", "asp", "", 0.0F);
    expect_close("ringmaster", "bound=1000000", "asp", "", 0.0F);
}

Test(ps, an_update_of_one_gradient_is_asp)
{
    expect_close("k_async", "k=1", "asp", "", 0.0F);
    expect_close("k_batch_async", "k=1", "asp", "", 0.0F);
    expect_close("dc_asgd", "lambda=0", "asp", "", 0.0F);
}

/* P1: time decides when a step ends, and nothing else. */
Test(ps, timing_changes_no_bit_of_synchronous_learning)
{
    uint64_t hash = 0;
    for (int i = 0; i < 6; i++) {
        gs_sim_result result;
        made.skew_ns = (1 + i * 7919) % 9000 * GS_NS_PER_US;
        gs_sim *sim = run_in(
            "bsp_ps", "", (gs_sim_config){.shuffle_ties = i > 0, .late_ns = i * 100 * GS_NS_PER_US},
            &result);
        hash = i == 0 ? result.weights_hash : hash;
        cr_expect_eq(result.weights_hash, hash, "run %d", i);
        gs_sim_destroy(sim);
        small_job_fini(&job);
    }
}

/* ---------------------------------------------------------------- what is counted */

/* Each server has dealt with each gradient once, also with what was under way at the end. */
Test(ps, no_gradient_is_lost_or_used_twice)
{
    static const char *const names[] = {
        "asp",           "ssp",    "dssp",    "k_sync",         "k_batch_sync",
        "k_batch_async", "backup", "m_sync",  "rennala",        "ringmaster",
        "dc_asgd",       "bsp_ps", "k_async", "staleness_aware"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gs_sim_result result;
        gs_sim *sim =
            run_in(names[i], "servers=2",
                   (gs_sim_config){.shuffle_ties = true, .late_ns = GS_NS_PER_MS}, &result);
        for (uint32_t server = 0; server < 2; server++) {
            gs_ps_account end = account(sim, server);
            cr_expect_eq(end.taken + end.dropped, sim->passes, "%s", names[i]);
        }
        gs_sim_destroy(sim);
        small_job_fini(&job);
    }
}

Test(ps, every_worker_ends_with_the_servers_weights)
{
    static const char *const names[] = {"asp", "ssp", "k_async", "rennala", "staleness_aware"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gs_sim_result result;
        gs_sim *sim = run(names[i], "servers=1", &result);
        size_t count;
        const float *server =
            gs_entity_memory_vector(&sim->entities[RANKS].memory, GS_PARAM, &count);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            cr_expect_eq(memcmp(server, gs_sim_weights(sim, rank, &count), count * sizeof *server),
                         0, "%s, rank %u", names[i], rank);
        }
        gs_sim_destroy(sim);
        small_job_fini(&job);
    }
}

/* Every rank has made steps, though no rank has an optimizer. */
Test(ps, a_worker_has_made_a_step_when_its_new_weights_came)
{
    gs_sim_result result;
    gs_sim *sim = run("bsp_ps", "", &result);
    cr_expect_eq(result.steps, STEPS);
    gs_sim_destroy(sim);
    small_job_fini(&job);
    sim = run("asp", "", &result);
    int64_t steps = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        steps += gs_driver_step(sim->entities[rank].driver);
    }
    cr_expect_eq(steps, sim->passes);
    cr_expect_gt(result.steps, 0);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* One rank takes 10 times as long as the others, so that its gradients are old: with a spare rank
 * they are dropped, each of them 8 samples. */
Test(ps, dropped_work_is_counted_in_samples)
{
    gs_sim_result result;
    gs_sim *sim = run("backup", "backups=1,servers=2", &result);
    int64_t dropped = account(sim, 0).dropped + account(sim, 1).dropped;
    cr_expect_gt(dropped, 0);
    /* A server has half of each gradient. */
    cr_expect_eq(result.facts.dropped_samples, dropped * 8 / 2);
    gs_sim_destroy(sim);
    small_job_fini(&job);
    sim = run("asp", "", &result);
    cr_expect_eq(result.facts.dropped_samples, 0);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* A copy of the weights per rank, in the layout and in the memory of the run. */
Test(ps, delay_compensation_keeps_a_copy_per_rank)
{
    gs_sim_result asp, dc;
    gs_sim *sim = run("asp", "servers=1", &asp);
    cr_expect_eq(sim->layout.own_vectors[GS_SERVER], 0);
    gs_sim_destroy(sim);
    small_job_fini(&job);
    sim = run("dc_asgd", "servers=1", &dc);
    size_t count;
    (void)gs_sim_weights(sim, 0, &count);
    cr_expect_eq(sim->layout.own_vectors[GS_SERVER], RANKS);
    cr_expect_geq(dc.memory_bytes, asp.memory_bytes + RANKS * count * sizeof(float));
    cr_expect_neq(dc.weights_hash, asp.weights_hash);
    gs_sim_destroy(sim);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- staleness in whole runs */

/* Row 9 in the simulator: exponential times, no communication, n = 8: 7 and 3.5. The run is not
 * endless: its first n gradients are less stale, 0 to n - 1, and what is under way at the end is
 * counted. */
static double staleness_of(const char *name, const char *text)
{
    made.ranks = 8;
    made.learns = false;
    made.units = 1;
    made.unit_elements = 1;
    made.nic_bps = INT64_C(1000000000000000);
    made.nic_latency_ns = 1;
    made.skew_ns = 0;
    made.steps = 4000;
    small_job_init(&job, &made, NULL);
    job.scenario.noise.compute =
        (gs_noise_law){.law = GS_LAW_SHIFTED_EXPONENTIAL, .cv = 1.0, .shift = 0.0};
    small_job_use(&job, gs_strategy_find(name), text);
    gs_sim_result result = small_job_run(
        &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 3});
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    small_job_fini(&job);
    return result.facts.staleness_mean;
}

Test(ps, simulated_staleness_is_what_theory_says)
{
    cr_expect_float_eq(staleness_of("asp", "servers=1"), 7.0, 0.01);
    cr_expect_float_eq(staleness_of("ssp", "servers=1,staleness=0"), 3.5, 0.01);
    cr_expect_eq(staleness_of("bsp_ps", "servers=1"), 0.0);
}

/* ---------------------------------------------------------------- what is refused */

static void expect_refused(const char *name, const char *text, const char *words)
{
    small_job_init(&job, &made, NULL);
    small_job_use(&job, gs_strategy_find(name), text);
    gs_error err;
    gs_sim *sim =
        gs_sim_create(&(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice}, &err);
    cr_assert_null(sim, "%s:%s", name, text);
    cr_expect_eq(err.code, GS_EINVAL);
    cr_expect_str_eq(err.text, words);
    small_job_fini(&job);
}

Test(ps, what_cannot_work_is_refused_with_what_would)
{
    expect_refused("backup", "backups=4",
                   "backup.backups: 4 of 4 ranks leave none to wait for; use backups=3");
    expect_refused("k_sync", "k=5",
                   "k_sync.k: 5 of 4 ranks; an update cannot wait for more than all: use k=4");
    expect_refused("m_sync", "m=5",
                   "m_sync.m: 5 of 4 ranks; an update cannot wait for more than all: use m=4");
    int64_t steps = made.steps;
    made.steps = 2; /* of 4 ranks: 8 gradients */
    expect_refused(
        "k_batch_sync", "k=9",
        "k_batch_sync.k: 9 gradients an update, but the run has 8 in all and would never "
        "update; use at most k=8, or a longer workload.budget");
    expect_refused("rennala", "batches=9",
                   "rennala.batches: 9 gradients an update, but the run has 8 in all and would "
                   "never update; use at most batches=8, or a longer workload.budget");
    made.steps = steps;
    expect_refused("dssp", "staleness=4,staleness_max=3",
                   "dssp.staleness_max: 3 is below staleness, 4; use at least that");
    expect_refused("asp", "servers=4",
                   "asp.servers: 4, but cluster.servers.count offers 3; raise that, or use "
                   "servers=3");
    made.servers = 0;
    expect_refused("asp", "",
                   "cluster.servers.count: 0, but asp keeps the weights on servers; set it to 1 or "
                   "more, or use allreduce");
    made.servers = 3;
    made.units = 1;
    made.unit_elements = 2;
    expect_refused("asp", "",
                   "asp.servers: 3 shards of 2 elements leave some empty; use servers=2");
    made.unit_elements = 1000000;
    expect_refused("asp", "bucket=4B,servers=1",
                   "asp.bucket: a shard of 1000000 elements has over 60000 of them; use "
                   "bucket=68B or more");
}

/* Ranks a, b and c of 4; k = 3: each of 2 servers can keep the 2 ranks that came last to it, and if
 * these are not the same, all 4 wait for ever. One server cannot. */
Test(ps, servers_that_could_keep_everybody_waiting_are_refused)
{
    expect_refused("k_async", "k=3,servers=2",
                   "k_async.k: with 2 servers, each of which keeps up to 2 workers waiting, all 4 "
                   "can wait for one another for ever; use servers=1, or another k");
    gs_sim_result result;
    gs_sim_destroy(run("k_async", "k=4,servers=3", &result)); /* all wait for all: nobody is kept */
    small_job_fini(&job);
    gs_sim_destroy(run("k_async", "k=2,servers=3", &result)); /* 3 of 4 at most */
    small_job_fini(&job);
}
