/* One strategy, two hosts: the simulator and the threaded host give the same weights wherever
 * timing may not matter, and break no rule where it may. */
#include <criterion/criterion.h>

#include "live/live.h"
#include "sim/sim_parts.h" /* to look at vectors and exported states */
#include "strategies/registry.h"
#include "tests/small_job.h"
#include "tests/strategies/probes.h"

#include <math.h>
#include <string.h>

enum { RANKS = 4, STEPS = 6, ORDERS = 20 };

static small_job made;

static void setup(void)
{
    small_job_config config = small_job_default();
    config.ranks = RANKS;
    config.servers = 1;
    config.learns = true;
    config.forward_ns = 300 * GS_NS_PER_US;
    config.backward_ns = 100 * GS_NS_PER_US;
    config.skew_ns = 200 * GS_NS_PER_US;
    config.steps = STEPS;
    small_job_init(&made, &config, NULL);
}

static void teardown(void)
{
    small_job_fini(&made);
}

TestSuite(hosts, .init = setup, .fini = teardown, .timeout = 120);

/* Order 0 is the simulator's own; the others shuffle equal times, and every second one delays
 * completions, each by another bound up to half a step. The seed of the data stays. */
static gs_sim *simulate(const gs_strategy *strategy, uint64_t order, bool swap, gs_sim_result *out)
{
    if (strategy != made.choice.strategy) {
        small_job_use(&made, strategy, NULL);
    }
    gs_sim_config config = {.scenario = &made.scenario,
                            .strategy = &made.choice,
                            .seed = 1,
                            .shuffle_ties = order > 0,
                            .late_ns = order % 2 == 1 ? (gs_time_ns)order * 20 * GS_NS_PER_US : 0,
                            .swap_state = swap};
    gs_error err;
    gs_sim *sim = gs_sim_create(&config, &err);
    cr_assert(sim != NULL, "%s", err.text);
    while (gs_sim_run(sim, UINT64_MAX)) {
    }
    gs_sim_result_get(sim, out);
    cr_assert_eq(out->status, GS_OK, "%s, order %llu: %s", strategy->name,
                 (unsigned long long)order, out->error.text);
    return sim;
}

static gs_live *run_live(const gs_sim *sim, gs_delay delay, bool rendezvous, gs_live_result *out)
{
    gs_live_config config = gs_live_config_default();
    config.strategy = &made.choice;
    config.job = &sim->job;
    config.task = sim->task;
    config.batch_per_rank = made.scenario.workload.batch_per_rank;
    config.number = made.scenario.workload.number;
    config.budget_steps = STEPS;
    config.delay = delay;
    config.rendezvous = rendezvous;
    gs_error err;
    gs_live *live = gs_live_create(&config, &err);
    cr_assert(live != NULL, "%s", err.text);
    gs_live_run(live);
    gs_live_result_get(live, out);
    cr_assert_eq(out->status, GS_OK, "%s", out->error.text);
    return live;
}

static void expect_same_weights(const gs_strategy *strategy)
{
    gs_sim_result simulated;
    gs_sim *sim = simulate(strategy, 0, false, &simulated);
    size_t count;
    for (int mode = 0; mode < 2 * GS_DELAY_COUNT; mode++) {
        gs_live_result result;
        gs_live *live = run_live(sim, (gs_delay)(mode / 2), mode % 2 == 1, &result);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            const float *wanted = gs_sim_weights(sim, rank, &count);
            cr_expect_eq(
                memcmp(wanted, gs_live_weights(live, rank, &count), count * sizeof *wanted), 0,
                "%s, rank %u, mode %d", strategy->name, rank, mode);
        }
        cr_expect_eq(result.weights_hash, simulated.weights_hash);
        gs_live_destroy(live);
    }
    cr_expect_gt(count, 1000);
    gs_sim_destroy(sim);
    for (uint64_t order = 1; order <= ORDERS; order++) {
        gs_sim_result shuffled;
        gs_sim_destroy(simulate(strategy, order, true, &shuffled));
        cr_expect_eq(shuffled.weights_hash, simulated.weights_hash, "order %llu",
                     (unsigned long long)order);
    }
}

Test(hosts, allreduce_has_the_same_bytes_in_sim_and_live)
{
    expect_same_weights(gs_strategy_find("allreduce"));
}

/* Trees, levels, rings side by side: what is lent, copied, and in what order it is added. */
Test(hosts, every_algorithm_has_the_same_bytes_in_sim_and_live)
{
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        const gs_collective *program = gs_collective_at(i);
        if (program->kind != GS_ALL_REDUCE) {
            continue;
        }
        small_job_choose(&made, program);
        gs_sim_result simulated;
        gs_sim *sim = simulate(gs_strategy_find("allreduce"), 0, false, &simulated);
        for (int mode = 0; mode < GS_DELAY_COUNT; mode++) {
            gs_live_result result;
            gs_live_destroy(run_live(sim, (gs_delay)mode, mode % 2 == 1, &result));
            cr_expect_eq(result.weights_hash, simulated.weights_hash, "%s, mode %d", program->name,
                         mode);
        }
        gs_sim_destroy(sim);
    }
}

Test(hosts, half_precision_has_the_same_bytes_in_sim_and_live)
{
    gs_workload *workload = &made.scenario.workload;
    workload->element_bytes = 2;
    workload->number = GS_FP16;
    workload->task.optimizer.loss_scale = GS_LOSS_SCALE_DYNAMIC;
    expect_same_weights(gs_strategy_find("allreduce"));
    workload->number = GS_BF16;
    expect_same_weights(&probe_two_stage);
}

/* Sums, payloads to all, in two phases, and two sums: every way in which what is coded travels. */
Test(hosts, coded_gradients_have_the_same_bytes_in_sim_and_live)
{
    static const char *const codecs[] = {"bf16",
                                         "randomk:ratio=0.1",
                                         "topk:ratio=0.05",
                                         "qsgd:bits=4,path=two_phase",
                                         "onebit:path=two_phase",
                                         "powersgd:rank=2,start_step=2"};
    for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
        small_job_code(&made, codecs[i]);
        expect_same_weights(gs_strategy_find("allreduce"));
    }
}

/* Every rule keeps state and counts updates, and every schedule counts samples. */
Test(hosts, optimizers_and_schedules_have_the_same_bytes_in_sim_and_live)
{
    gs_optimizer_config *optimizer = &made.scenario.workload.task.optimizer;
    optimizer->kind = GS_ADAMW;
    optimizer->rate = 0.003;
    optimizer->weight_decay = 0.01;
    optimizer->clip = 1.0;
    optimizer->schedule = (gs_schedule){
        .kind = GS_SCHEDULE_COSINE, .warmup_samples = 64, .budget_samples = STEPS * RANKS * 8};
    expect_same_weights(gs_strategy_find("allreduce"));
    optimizer->kind = GS_LARS;
    expect_same_weights(&probe_two_stage);
}

Test(hosts, two_dependent_collectives_have_the_same_bytes_in_sim_and_live)
{
    expect_same_weights(&probe_two_stage);
}

Test(hosts, sums_and_agreements_have_the_same_bytes_in_sim_and_live)
{
    expect_same_weights(&probe_signals);
}

/* It has sent something in this run, and less than it can. */
static void expect_saving(const gs_strategy *strategy)
{
    const gs_coding dense = {.codec = NULL};
    gs_sim_result result;
    gs_sim *sim = simulate(strategy, 0, false, &result);
    int64_t most = RANKS * STEPS * strategy->wire_bytes(made.choice.config, &sim->job, &dense);
    int64_t sent = 0;
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        sent += sim->net.entity_bytes[rank];
    }
    cr_expect(0 < sent && sent < most, "%s: %lld of %lld bytes", strategy->name, (long long)sent,
              (long long)most);
    gs_sim_destroy(sim);
}

/* What is sent follows from numbers, and numbers from no clock. */
static void expect_trigger(const char *name, const char *parameters, const char *codec)
{
    const gs_strategy *strategy = gs_strategy_find(name);
    small_job_use(&made, strategy, parameters);
    small_job_code(&made, codec);
    expect_same_weights(strategy);
    expect_saving(strategy);
}

Test(hosts, triggers_of_averages_have_the_same_bytes_in_sim_and_live)
{
    expect_trigger("selsync", "threshold=0.5,window=1", NULL);
    expect_trigger("selsync", "threshold=0.5,window=1,aggregate=gradients", "topk:ratio=0.1");
}

Test(hosts, triggers_of_messages_have_the_same_bytes_in_sim_and_live)
{
    expect_trigger("event_triggered", "threshold=0.05,decay=0.5", NULL);
    expect_trigger("lag", "xi=1,window=3", NULL);
    expect_trigger("lasg", "xi=1,window=2", NULL);
}

Test(hosts, triggers_of_codecs_have_the_same_bytes_in_sim_and_live)
{
    expect_trigger("accordion", "interval=1,bucket=3000B", "topk:ratio=0.1");
    expect_trigger("gravac", "window=1,looks=1,threshold=0.3", "topk:ratio=0.1");
}

Test(hosts, a_state_that_moves_changes_nothing)
{
    const gs_strategy *const strategies[] = {gs_strategy_find("allreduce"),
                                             &probe_two_stage,
                                             &probe_signals,
                                             &probe_asp,
                                             &probe_push_sum,
                                             &probe_pair};
    for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++) {
        gs_sim_result still, moved;
        gs_sim_destroy(simulate(strategies[i], 0, false, &still));
        gs_sim_destroy(simulate(strategies[i], 0, true, &moved));
        cr_expect_eq(still.result_hash, moved.result_hash, "%s", strategies[i]->name);
        cr_expect_neq(still.weights_hash, 0);
    }
}

static probe_export exported(const gs_sim *sim, uint32_t entity)
{
    probe_export out;
    cr_assert(gs_driver_is_drained(sim->entities[entity].driver));
    cr_assert_eq(gs_driver_export(sim->entities[entity].driver, &out, sizeof out), sizeof out);
    return out;
}

Test(hosts, the_simulated_server_applies_every_gradient_exactly_once)
{
    for (uint64_t order = 0; order <= ORDERS; order++) {
        gs_sim_result result;
        gs_sim *sim = simulate(&probe_asp, order, true, &result);
        int64_t sent = 0;
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            sent += exported(sim, rank).sent;
        }
        cr_expect_eq(exported(sim, RANKS).served, sent);
        cr_expect_eq(sent, sim->passes);
        cr_expect_geq(sent, STEPS * RANKS);
        gs_sim_destroy(sim);
    }
}

/* As in test_probes.c: the sum of x is RANKS x0 plus what the ranks' own gradients did. */
static void expect_mass(const gs_strategy *strategy)
{
    for (uint64_t order = 0; order <= ORDERS; order++) {
        gs_sim_result result;
        gs_sim *sim = simulate(strategy, order, true, &result);
        size_t count;
        double moved = 0.0;
        double weight = 0.0;
        int64_t lost = 0;
        (void)gs_sim_weights(sim, 0, &count);
        float *start = GS_TAKE(&made.arena, float, count);
        cr_assert(start != NULL);
        gs_task_init(sim->task, start);
        for (size_t i = 0; i < count; i++) {
            double mass = 0.0;
            double wanted = RANKS * (double)start[i];
            for (uint32_t rank = 0; rank < RANKS; rank++) {
                const gs_entity_memory *memory = &sim->entities[rank].memory;
                mass += (double)gs_entity_memory_vector(memory, GS_PARAM, &count)[i];
                wanted += (double)gs_entity_memory_vector(memory, PROBE_UPDATES, &count)[i];
            }
            cr_assert(fabs(mass - wanted) < 2e-5, "%s, order %llu, weight %zu: %.9g, not %.9g",
                      strategy->name, (unsigned long long)order, i, mass, wanted);
            moved = fmax(moved, fabs(wanted - RANKS * (double)start[i]));
        }
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            probe_export end = exported(sim, rank);
            weight += end.weight;
            lost += end.sent - end.served;
        }
        cr_expect_eq(weight, (double)RANKS);
        cr_expect_eq(lost, 0);
        cr_expect_gt(moved, 1e-3);
        gs_sim_destroy(sim);
    }
}

Test(hosts, simulated_push_sum_loses_no_mass)
{
    expect_mass(&probe_push_sum);
}

Test(hosts, simulated_pair_averaging_loses_no_mass)
{
    expect_mass(&probe_pair);
}
