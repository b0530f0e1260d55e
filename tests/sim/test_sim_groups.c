/* Collectives of groups, and those that are no all-reduce, in whole runs. */
#include "strategies/bucket.h"
#include "strategies/group.h"
#include "strategies/registry.h"
#include "strategies/world.h"
#include "tests/small_job.h"
#include "tests/support.h"

#include <math.h>
#include <string.h>

static small_job_config two_nodes_of_four(void)
{
    small_job_config config = small_job_default();
    config.ranks = 8;
    config.ranks_per_node = 4;
    config.units = 1;
    config.unit_elements = 2000000;
    config.nic_bps = INT64_C(10000000000);
    config.intra_bps = INT64_C(100000000000);
    config.nic_latency_ns = 30 * GS_NS_PER_US;
    config.intra_latency_ns = 5 * GS_NS_PER_US;
    config.steps = 1;
    return config;
}

/* 8 MB on 2 nodes of 4. Inside: 3 messages of 2 MB at 12.5 GB/s, 3 (5 us + 160 us) = 495 us, and as
 * much for the gather. Between: each of the 4 ranks of a node sends 2 messages of 1 MB, and they
 * share 1.25 GB/s: 2 (30 us + 4 MB / 1.25 GB/s) = 6460 us. Together 7450 us. A flat ring sends
 * 14 messages of 1 MB over each nic, 11.2 ms, and waits for latencies between some of them: at most
 * 14 (30 us + 0.8 ms) = 11.62 ms. */
Test(sim_groups, two_levels_take_what_their_stages_take)
{
    small_job_config config = two_nodes_of_four();
    small_job job;
    small_job_init(&job, &config, NULL);
    small_job_use(&job, gs_strategy_find("hierarchical"), NULL);
    gs_sim_config run = {.scenario = &job.scenario, .strategy = &job.choice};
    gs_sim_result result = small_job_run(&run);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    cr_assert_float_eq((double)result.facts.end_ns, 7450e3, 7450);
    small_job_use(&job, gs_strategy_find("allreduce"), NULL);
    result = small_job_run(&run);
    cr_assert(result.facts.end_ns > 11200 * GS_NS_PER_US &&
                  result.facts.end_ns <= 11620 * GS_NS_PER_US,
              "%lld", (long long)result.facts.end_ns);
    small_job_fini(&job);
}

/* Weights of a rank after a run with real gradients, copied. */
static void train(small_job *job, const gs_strategy *strategy, uint32_t rank, float *out,
                  size_t *out_count)
{
    if (job->choice.strategy != strategy) {
        small_job_use(job, strategy, NULL);
    }
    gs_error err;
    gs_sim *sim = gs_sim_create(
        &(gs_sim_config){
            .scenario = &job->scenario, .strategy = &job->choice, .seed = 3, .swap_state = true},
        &err);
    cr_assert_not_null(sim, "%s", err.text);
    while (gs_sim_run(sim, 1000)) {
    }
    gs_sim_result result;
    gs_sim_result_get(sim, &result);
    cr_assert_eq(result.status, GS_OK, "%s", result.error.text);
    const float *weights = gs_sim_weights(sim, rank, out_count);
    memcpy(out, weights, *out_count * sizeof *out);
    gs_sim_destroy(sim);
}

static small_job_config learning(void)
{
    small_job_config config = two_nodes_of_four();
    config.units = 4;
    config.learns = true;
    config.steps = 20;
    return config;
}

static float first[100000], second[100000];

/* The same sum in another order: roundings only. */
Test(sim_groups, two_levels_give_the_mean_of_all)
{
    small_job_config config = learning();
    small_job job;
    small_job_init(&job, &config, NULL);
    size_t count;
    train(&job, gs_strategy_find("allreduce"), 0, first, &count);
    for (uint32_t rank = 0; rank < 8; rank += 7) {
        train(&job, gs_strategy_find("hierarchical"), rank, second, &count);
        double worst = 0.0;
        for (size_t i = 0; i < count; i++) {
            worst = fmax(worst, fabs((double)first[i] - (double)second[i]));
        }
        cr_assert(worst > 0.0 && worst < 1e-5, "rank %u: %g", rank, worst);
    }
    small_job_fini(&job);
}

/* Every element is updated once, by its owner, with the optimizer's own memory of it. Sums have
 * another order than a ring all-reduce's: roundings only. */
Test(sim_groups, a_sharded_optimizer_is_the_whole_one)
{
    small_job_config config = learning();
    small_job job;
    small_job_init(&job, &config, NULL);
    size_t count;
    train(&job, gs_strategy_find("allreduce"), 0, first, &count);
    for (uint32_t rank = 0; rank < 8; rank += 7) {
        train(&job, gs_strategy_find("sharded"), rank, second, &count);
        double worst = 0.0;
        for (size_t i = 0; i < count; i++) {
            worst = fmax(worst, fabs((double)first[i] - (double)second[i]));
        }
        cr_assert(worst < 1e-5, "rank %u: %g", rank, worst);
    }
    small_job_fini(&job);
}

/* One rank owns all of every bucket, and still updates them one by one: what it does is what
 * all-reduce of one rank does, to the bit. */
Test(sim_groups, a_sharded_optimizer_of_one_rank_is_the_whole_one)
{
    small_job_config config = learning();
    config.ranks = 1;
    config.ranks_per_node = 1;
    small_job job;
    small_job_init(&job, &config, NULL);
    size_t count;
    train(&job, gs_strategy_find("allreduce"), 0, first, &count);
    train(&job, gs_strategy_find("sharded"), 0, second, &count);
    cr_assert_arr_eq(first, second, count * sizeof *first);
    small_job_fini(&job);
}

/* The first update of Adam moves every element by the rate, 3e-3, up or down. Were the slices of
 * one step counted as so many updates, the second one would move by 0.526 / sqrt(0.5) = 0.744 of
 * it. Gradients so small that roundings decide their sign are rare. */
Test(sim_groups, slices_of_one_step_are_one_update_of_adam)
{
    small_job_config config = learning();
    config.steps = 1;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.workload.task.optimizer.kind = GS_ADAM;
    job.scenario.workload.task.optimizer.rate = 0.003;
    size_t count;
    size_t others = 0;
    train(&job, gs_strategy_find("allreduce"), 0, first, &count);
    small_job_use(&job, gs_strategy_find("sharded"), "bucket=1B"); /* every unit a slice */
    train(&job, gs_strategy_find("sharded"), 3, second, &count);
    for (size_t i = 0; i < count; i++) {
        others += fabs((double)first[i] - (double)second[i]) > 1e-5 ? 1 : 0;
    }
    cr_assert_lt(others * 100, count, "%zu of %zu", others, count);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- a strategy of broadcasts */

/* Every step all learn from the gradient of one rank of their node, each time another. */
typedef struct relay {
    bool busy;
    bool quiescing;
} relay;

static gs_status relay_layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config, (void)err;
    *out = (gs_layout){
        .state_bytes = {sizeof(relay)},
        .outstanding_max = {1},
        .communicator_count = 1,
        .communicators = {{.group = {job->node_ranks, 1}, .kinds = 1U << GS_BROADCAST}},
        .buckets = {INT64_MAX, INT64_MAX},
    };
    return GS_OK;
}

static void relay_init(gs_world *world, void *memory)
{
    (void)world, (void)memory;
}

static gs_plan relay_begin(gs_world *world, void *memory, const gs_event *event)
{
    relay *self = memory;
    (void)world, (void)event;
    if (self->busy) {
        return (gs_plan){.go = false};
    }
    self->busy = true;
    return (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1};
}

static void relay_bucket(gs_world *world, void *memory, const gs_event *event)
{
    (void)world, (void)memory, (void)event;
}

static void relay_backward(gs_world *world, void *memory, const gs_event *event)
{
    (void)memory;
    gs_slice all = {GS_GRAD, 0, gs_world_job(world)->elements};
    (void)gs_broadcast(world, 0, all, (uint32_t)event->step % gs_members(world, 0), 0);
}

static void relay_done(gs_world *world, void *memory, const gs_event *event)
{
    relay *self = memory;
    (void)event;
    self->busy = false;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    if (self->quiescing) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}

static void relay_quiesce(gs_world *world, void *memory, const gs_event *event)
{
    relay *self = memory;
    (void)event;
    self->quiescing = true;
    if (!self->busy) {
        gs_drained(world);
    }
}

static const gs_field_table no_fields = {.name = "relay", .struct_bytes = 1};

static const gs_strategy relay_strategy = {.struct_bytes = sizeof(gs_strategy),
                                           .name = "relay",
                                           .config = &no_fields,
                                           .layout = relay_layout,
                                           .init = relay_init,
                                           .step_begin = relay_begin,
                                           .bucket_ready = relay_bucket,
                                           .backward_done = relay_backward,
                                           .op_done = relay_done,
                                           .quiesce = relay_quiesce};

/* Ranks of one node end with the same bytes, whoever asks; the other node saw other samples. */
Test(sim_groups, a_broadcast_reaches_its_group_and_no_other)
{
    small_job_config config = learning();
    small_job job;
    small_job_init(&job, &config, NULL);
    size_t count;
    train(&job, &relay_strategy, 0, first, &count);
    for (uint32_t rank = 1; rank < 4; rank++) {
        train(&job, &relay_strategy, rank, second, &count);
        cr_expect_eq(memcmp(first, second, count * sizeof *first), 0, "rank %u", rank);
    }
    train(&job, &relay_strategy, 4, second, &count);
    cr_expect_neq(memcmp(first, second, count * sizeof *first), 0);
    small_job_fini(&job);
}

/* ---------------------------------------------------------------- who is in which group */

/* 12 workers: groups of 3 next to each other; groups of 4 whose members are 3 apart. */
Test(sim_groups, groups_tile_the_workers)
{
    const gs_group near = {3, 1};
    const gs_group far = {4, 3};
    cr_expect(gs_group_tiles(near, 12) && gs_group_tiles(far, 12));
    cr_expect_not(gs_group_tiles((gs_group){5, 1}, 12));
    cr_expect_eq(gs_group_member(near, 12, 7), 1);
    cr_expect_eq(gs_group_rank(near, 12, 7, 2), 8);
    cr_expect_eq(gs_group_member(far, 12, 7), 2); /* 1 4 7 10 */
    cr_expect_eq(gs_group_rank(far, 12, 7, 3), 10);
    cr_expect_eq(gs_group_index(near, 12, 7), 2);
    cr_expect_eq(gs_group_index(far, 12, 7), 1);
    cr_expect_eq(gs_group_count(far, 12), 3);
    cr_expect_eq(gs_group_rank((gs_group){0}, 12, 7, 11), 11); /* all of them */
}
