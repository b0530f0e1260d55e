#include <criterion/criterion.h>

#include "live/live.h"
#include "strategies/registry.h"
#include "tests/strategies/probes.h"

#include <math.h>
#include <string.h>

enum { RANKS = 4, STEPS = 8, DELAY_NS = 50000, MODES = 2 * GS_DELAY_COUNT };

static probe_job made;

static void setup(void)
{
    probe_job_init(&made, RANKS);
}

static void teardown(void)
{
    probe_job_fini(&made);
}

TestSuite(probes, .init = setup, .fini = teardown, .timeout = 120);

/* Mode: a delay regime, eager or rendezvous; every state moves before every hook. */
static gs_live *run(const gs_strategy *strategy, int mode, gs_live_result *out)
{
    gs_live_config config = gs_live_config_default();
    config.strategy = probe_choose(&made, strategy);
    config.job = &made.job;
    config.task = made.task;
    config.batch_per_rank = PROBE_BATCH;
    config.budget_steps = STEPS;
    config.delay = (gs_delay)(mode / 2);
    config.delay_ns = DELAY_NS;
    config.rendezvous = mode % 2 == 1;
    config.delay_seed = (uint64_t)mode;
    config.swap_state = true;
    gs_error err;
    gs_live *live = gs_live_create(&config, &err);
    cr_assert(live != NULL, "%s", err.text);
    gs_live_run(live);
    gs_live_result_get(live, out);
    cr_assert_eq(out->status, GS_OK, "%s, delay %s, %s: %s", strategy->name,
                 gs_delay_text(config.delay), config.rendezvous ? "rendezvous" : "eager",
                 out->error.text);
    return live;
}

/* What synchronous SGD computes, without any driver or thread: the mean gradient of the ranks.
 * 1 / RANKS is a power of two, so scaling before the sum and after it round alike; with RANKS = 4
 * and a ring the sums of a float have their own order, hence a tolerance. */
static void train_alone(float *weights)
{
    gs_error err;
    gs_task_workspace *workspace;
    float *sum = GS_TAKE(&made.arena, float, made.count);
    float *one = GS_TAKE(&made.arena, float, made.count);
    float *state = GS_TAKE(&made.arena, float, gs_task_state_floats(made.task));
    cr_assert(sum != NULL && one != NULL && state != NULL);
    cr_assert_eq(gs_task_workspace_create(made.task, PROBE_BATCH, &made.arena, &workspace, &err),
                 GS_OK);
    gs_task_init(made.task, weights);
    for (int64_t step = 0; step < STEPS; step++) {
        memset(sum, 0, made.count * sizeof *sum);
        for (int64_t rank = 0; rank < RANKS; rank++) {
            double loss;
            gs_task_request request = {.first_sample = (step * RANKS + rank) * PROBE_BATCH,
                                       .sample_count = PROBE_BATCH};
            cr_assert_eq(gs_task_gradient(workspace, &request, weights, one, &loss, &err), GS_OK);
            for (size_t i = 0; i < made.count; i++) {
                sum[i] += one[i] / RANKS;
            }
        }
        gs_task_apply(made.task, &(gs_optimizer_update){.parameters = weights,
                                                        .gradient = sum,
                                                        .state = state,
                                                        .count = made.count,
                                                        .rate_scale = 1.0});
    }
}

static void expect_synchronous(const gs_strategy *strategy)
{
    float *alone = GS_TAKE(&made.arena, float, made.count);
    train_alone(alone);
    uint64_t first_hash = 0;
    for (int mode = 0; mode < MODES; mode++) {
        gs_live_result result;
        gs_live *live = run(strategy, mode, &result);
        size_t count;
        const float *zero = gs_live_weights(live, 0, &count);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            const float *other = gs_live_weights(live, rank, &count);
            cr_assert_eq(count, made.count);
            cr_expect(memcmp(zero, other, count * sizeof *zero) == 0, "rank %u differs", rank);
        }
        for (size_t i = 0; i < count; i++) {
            cr_assert(fabsf(zero[i] - alone[i]) < 1e-4F, "weight %zu: %g, not %g", i,
                      (double)zero[i], (double)alone[i]);
        }
        first_hash = mode == 0 ? result.weights_hash : first_hash;
        cr_expect_eq(result.weights_hash, first_hash, "mode %d: weights depend on timing", mode);
        cr_expect_eq(result.steps, STEPS);
        cr_expect_eq(result.gradients, STEPS * RANKS);
        gs_live_destroy(live);
    }
}

Test(probes, allreduce_gives_the_same_bytes_whatever_the_timing)
{
    expect_synchronous(gs_strategy_find("allreduce"));
}

Test(probes, two_dependent_collectives_give_the_same_bytes_whatever_the_timing)
{
    expect_synchronous(&probe_two_stage);
}

static probe_export exported(const gs_live *live, gs_peer entity)
{
    probe_export out;
    cr_assert_eq(gs_live_export(live, entity, &out, sizeof out), sizeof out);
    return out;
}

Test(probes, an_asynchronous_server_applies_every_gradient_exactly_once)
{
    for (int mode = 0; mode < MODES; mode++) {
        gs_live_result result;
        gs_live *live = run(&probe_asp, mode, &result);
        int64_t sent = 0;
        for (uint16_t rank = 0; rank < RANKS; rank++) {
            sent += exported(live, (gs_peer){GS_WORKER, rank}).sent;
        }
        cr_expect_eq(sent, result.gradients);
        cr_expect_eq(exported(live, (gs_peer){GS_SERVER, 0}).served, sent);
        cr_expect_geq(sent, STEPS * RANKS);
        gs_live_destroy(live);
    }
}

/* Gossip only moves mass: the sum of x over the ranks is RANKS x0 plus what the ranks' own
 * gradients did to it. Each of about 50 roundings of a float of size 1 loses up to 6e-8. */
static void expect_mass(const gs_strategy *strategy)
{
    float *start = GS_TAKE(&made.arena, float, made.count);
    gs_task_init(made.task, start);
    for (int mode = 0; mode < MODES; mode++) {
        gs_live_result result;
        gs_live *live = run(strategy, mode, &result);
        double moved = 0.0;
        double weight = 0.0;
        int64_t sent = 0;
        int64_t received = 0;
        for (size_t i = 0; i < made.count; i++) {
            double mass = 0.0;
            double wanted = RANKS * (double)start[i];
            for (uint16_t rank = 0; rank < RANKS; rank++) {
                size_t count;
                gs_peer worker = {GS_WORKER, rank};
                mass += (double)gs_live_vector(live, worker, GS_PARAM, &count)[i];
                wanted += (double)gs_live_vector(live, worker, PROBE_UPDATES, &count)[i];
            }
            cr_assert(fabs(mass - wanted) < 2e-5, "%s, mode %d, weight %zu: %.9g, not %.9g",
                      strategy->name, mode, i, mass, wanted);
            moved = fmax(moved, fabs(wanted - RANKS * (double)start[i]));
        }
        for (uint16_t rank = 0; rank < RANKS; rank++) {
            probe_export end = exported(live, (gs_peer){GS_WORKER, rank});
            weight += end.weight;
            sent += end.sent;
            received += end.served;
        }
        cr_expect_eq(weight, (double)RANKS); /* powers of two: exact */
        cr_expect_eq(received, sent);
        cr_expect_gt(sent, RANKS);
        cr_expect_gt(moved, 1e-3, "nothing was learnt: the test would see no lost mass");
        gs_live_destroy(live);
    }
}

Test(probes, push_sum_loses_no_mass)
{
    expect_mass(&probe_push_sum);
}

Test(probes, pair_averaging_loses_no_mass)
{
    expect_mass(&probe_pair);
}
