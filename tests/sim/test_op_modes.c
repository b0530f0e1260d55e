/* Whole runs by every network mode against the same runs message by message. */
#include "base/rng.h"
#include "sim/sim_op.h"
#include "strategies/bucket.h"
#include "strategies/registry.h"
#include "strategies/world.h"
#include "tests/small_job.h"
#include "tests/support.h"

#include <math.h>
#include <stdlib.h>

enum { PLAN_MAX = 24, GROUPS = 2, POINTS = 6, RANKS_MAX = 64 };

static uint64_t draw(uint64_t of, uint64_t step, uint32_t index, uint32_t below)
{
    return gs_rng_bits((gs_rng_key){17, GS_RNG_TEST, (uint32_t)of}, step, index) % below;
}

/* ---------------------------------------------------------------- a strategy that keeps busy */

/* A step asks for one collective a bucket, of any kind and communicator, and says so many messages
 * to its neighbour in between. */
static struct {
    gs_layout layout;
    uint32_t communicators[PLAN_MAX], roots[PLAN_MAX];
    gs_collective_kind kinds[PLAN_MAX];
    bool says[PLAN_MAX];
    uint32_t messages; /* of a step */
} busy;

typedef struct state {
    uint32_t pending;
    bool backward, quiescing;
} state;

static gs_status layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config, (void)job, (void)err;
    *out = busy.layout;
    return GS_OK;
}

static void init(gs_world *world, void *memory)
{
    (void)world, (void)memory;
}

static gs_slice first_elements(uint32_t vector)
{
    return (gs_slice){vector, 0, 1000};
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->pending > 0 || self->backward) {
        return (gs_plan){.go = false};
    }
    uint32_t ranks = gs_world_job(world)->ranks;
    self->backward = true;
    self->pending = gs_bucket_count(world) + 2 * busy.messages;
    gs_peer left = {GS_WORKER, (uint16_t)((gs_self(world).index + ranks - 1) % ranks)};
    for (uint32_t i = 0; i < busy.messages; i++) {
        gs_recv(world, left, (uint16_t)i, first_elements(GS_OWN + 1 + i), i);
    }
    return (gs_plan){.go = true, .at = GS_PARAM, .micro_steps = 1};
}

static void go_on(gs_world *world, state *self)
{
    if (self->pending > 0 || self->backward) {
        return;
    }
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    if (self->quiescing) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}

static void ask(gs_world *world, uint32_t bucket)
{
    gs_slice slice = gs_bucket_slice(world, bucket);
    uint32_t communicator = busy.communicators[bucket];
    if (busy.kinds[bucket] == GS_ALL_REDUCE) {
        (void)gs_all_reduce(world, communicator, slice, bucket);
    } else if (busy.kinds[bucket] == GS_REDUCE_SCATTER) {
        (void)gs_reduce_scatter(world, communicator, slice, bucket);
    } else if (busy.kinds[bucket] == GS_ALL_GATHER) {
        (void)gs_all_gather(world, communicator, slice, bucket);
    } else {
        (void)gs_broadcast(world, communicator, slice,
                           busy.roots[bucket] % gs_members(world, communicator), bucket);
    }
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    (void)memory;
    ask(world, event->bucket);
    if (busy.says[event->bucket]) {
        uint32_t tag = 0;
        for (uint32_t i = 0; i < event->bucket; i++) {
            tag += busy.says[i] ? 1 : 0;
        }
        uint32_t right = (gs_self(world).index + 1) % gs_world_job(world)->ranks;
        (void)gs_send(world, (gs_peer){GS_WORKER, (uint16_t)right}, (uint16_t)tag,
                      first_elements(GS_OWN), NULL, 0);
    }
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    ((state *)memory)->backward = false;
    go_on(world, memory);
}

static void one_less(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    ((state *)memory)->pending--;
    go_on(world, memory);
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (self->pending == 0 && !self->backward) {
        gs_drained(world);
    }
}

static const gs_strategy strategy = {.struct_bytes = sizeof(gs_strategy),
                                     .name = "busy",
                                     .layout = layout,
                                     .init = init,
                                     .step_begin = step_begin,
                                     .bucket_ready = bucket_ready,
                                     .backward_done = backward_done,
                                     .op_done = one_less,
                                     .message = one_less,
                                     .quiesce = quiesce};

/* ---------------------------------------------------------------- cases */

enum { PLAIN_CASES = 2000, COST_CASES = 600, STAGE_CASES = 400 };

typedef struct mode_case {
    small_job job;
    gs_selection_rule rules[4 * GS_COLLECTIVE_KIND_COUNT];
    gs_rate_point points[POINTS];
    gs_node_group groups[GROUPS];
    gs_tenant tenant;
} mode_case;

static mode_case tested;

/* For each kind up to 3 sizes with any program of it. */
static void choose_programs(mode_case *of, uint64_t number)
{
    uint32_t count = 0;
    for (int kind = 0; kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
        for (uint32_t i = 0; i < draw(number, 20, (uint32_t)kind, 4); i++) {
            uint32_t wanted = (uint32_t)draw(number, 21, 4 * (uint32_t)kind + i, 16);
            const gs_collective *found = NULL;
            for (uint32_t k = 0; k < 16 * gs_collective_count() && found == NULL; k++) {
                const gs_collective *program = gs_collective_at(k % gs_collective_count());
                bool fits = program->kind == (gs_collective_kind)kind;
                found = fits && wanted-- == 0 ? program : NULL;
            }
            of->rules[count++] = (gs_selection_rule){
                .communicator = GS_ANY_COMMUNICATOR,
                .kind = (gs_collective_kind)kind,
                .up_to_bytes = (int64_t)(i + 1) * 120000,
                .choice = {.program = found,
                           .rings = 1 + (uint32_t)draw(number, 22, i, 2),
                           .piece_bytes = (int64_t)draw(number, 23, i, 2) * 20000}};
        }
    }
    of->job.choice.selection = (gs_selection){of->rules, count};
}

static void choose_ops(uint64_t number, const small_job_config *config)
{
    uint32_t per_node = config->ranks_per_node == 0 ? 2 : config->ranks_per_node;
    uint32_t communicators = 1 + (uint32_t)draw(number, 1, 0, 3);
    bool says = draw(number, 1, 1, 3) == 0;
    busy.messages = 0;
    busy.layout = (gs_layout){.state_bytes = {sizeof(state)},
                              .communicator_count = communicators,
                              .point_to_point = says};
    for (uint32_t i = 0; i < communicators; i++) {
        gs_communicator *made = &busy.layout.communicators[i];
        made->kinds = 1U << GS_ALL_REDUCE | 1U << GS_REDUCE_SCATTER | 1U << GS_ALL_GATHER |
                      1U << GS_BROADCAST;
        uint32_t shape = (uint32_t)draw(number, 2, i, 4);
        if (shape == 0) {
            made->group = (gs_group){per_node, 1};
        } else if (shape == 1) {
            made->group = (gs_group){config->ranks / per_node, per_node};
        }
    }
    for (uint32_t i = 0; i < config->units; i++) {
        busy.communicators[i] = (uint32_t)draw(number, 3, i, communicators);
        busy.kinds[i] = (gs_collective_kind)draw(number, 4, i, GS_BROADCAST + 1);
        busy.roots[i] = (uint32_t)draw(number, 5, i, RANKS_MAX);
        busy.says[i] = says && draw(number, 6, i, 3) == 0;
        busy.messages += busy.says[i] ? 1 : 0;
    }
    busy.layout.outstanding_max[GS_WORKER] = config->units + 2 * busy.messages;
    busy.layout.own_vectors[GS_WORKER] = 1 + busy.messages;
}

/* Links whose rate changes, nodes with slower nics, jitter: each in some of the cases. */
static void disturb(mode_case *of, uint64_t number)
{
    gs_cluster *cluster = &of->job.scenario.cluster;
    gs_rate_trace trace = {of->points, POINTS, 3 * GS_NS_PER_MS};
    for (uint32_t i = 0; i < POINTS; i++) {
        of->points[i] = (gs_rate_point){(gs_time_ns)i * 400 * GS_NS_PER_US,
                                        0.2 + 0.1 * (double)draw(number, 30, i, 9)};
    }
    if (draw(number, 31, 0, 3) == 0) {
        cluster->nic.trace = trace;
    }
    if (draw(number, 31, 1, 6) == 0) {
        cluster->intra.trace = trace;
    }
    if (draw(number, 31, 2, 3) == 0 && of->job.scenario.nodes > 1) {
        of->groups[0] = of->groups[1] = cluster->groups[0];
        of->groups[0].count = 1;
        of->groups[1].count--;
        of->groups[1].nic_scale = 0.6;
        cluster->groups = of->groups;
        cluster->group_count = GROUPS;
    }
    if (draw(number, 31, 3, 3) == 0) {
        of->job.scenario.noise.latency = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.5};
    }
    /* Where flows that share links begin or end at one tick, their order says who gets ahead, and
     * nobody promises it: only rings may be in lockstep. */
    bool may_tie = of->job.choice.strategy != &strategy && of->job.choice.selection.rule_count == 0;
    if (!may_tie || draw(number, 31, 4, 2) == 0) {
        of->job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = 0.1};
    }
}

/* What messages cost beside their bytes: each in some of the cases. */
static void add_costs(mode_case *of, uint64_t number)
{
    gs_cluster *cluster = &of->job.scenario.cluster;
    if (draw(number, 32, 0, 3) == 0) {
        cluster->nic.per_message_ns = 3 * GS_NS_PER_US;
        cluster->intra.per_message_ns = (gs_time_ns)draw(number, 32, 1, 2) * GS_NS_PER_US;
    }
    if (draw(number, 32, 2, 3) == 0) { /* 1.25 bytes per ns; a round trip of 20 us: 0.28 or 0.89 */
        cluster->nic.class_index = GS_LINK_TCP;
        cluster->nic.segment_bytes = 1460;
        cluster->nic.loss = draw(number, 32, 3, 2) == 0 ? 0.1 : 0.01;
    }
    if (draw(number, 32, 4, 3) == 0) {
        if (cluster->groups != of->groups) {
            of->groups[0] = cluster->groups[0];
            cluster->groups = of->groups;
        }
        of->groups[0].gpudirect = GS_GPUDIRECT_OFF;
        cluster->nic.staging_bps = (int64_t)(4 + 10 * draw(number, 32, 5, 2)) * 1000000000;
        cluster->nic.staging_chunk_bytes = 8192;
    }
    if (draw(number, 32, 7, 3) == 0 &&
        (of->job.scenario.nodes > 1 || !gs_cluster_has_nodes(cluster))) {
        of->tenant = (gs_tenant){.pattern = (int)draw(number, 32, 8, 2),
                                 .flows = 2,
                                 .bytes = 20000 + (int64_t)draw(number, 32, 9, 100000),
                                 .period_ns = (gs_time_ns)draw(number, 32, 10, 900) * GS_NS_PER_US,
                                 .from = -1,
                                 .to = -1,
                                 .seed = (int64_t)number};
        cluster->tenants = &of->tenant;
        cluster->tenant_count = 1;
    }
    if (draw(number, 32, 6, 8) == 0) { /* always message by message */
        cluster->nic.eager_bytes = 10000;
    }
}

/* All-reduces in rings one after the other, none of whose links is shared: nics for all ranks, or
 * one node. */
static void use_stages(mode_case *of)
{
    of->job.scenario.cluster.topology.nics = of->job.scenario.cluster.groups[0].ranks;
    of->rules[0] = (gs_selection_rule){
        .communicator = GS_ANY_COMMUNICATOR,
        .kind = GS_ALL_REDUCE,
        .up_to_bytes = INT64_MAX,
        .choice = {.program = gs_collective_find("hierarchical_ring"), .rings = 1}};
    of->job.choice.selection = (gs_selection){of->rules, 1};
}

static void make_case(mode_case *of, uint64_t number)
{
    static const uint32_t per_nodes[] = {0, 0, 2, 4};
    small_job_config config = small_job_default();
    config.ranks_per_node = per_nodes[draw(number, 10, 0, 4)];
    uint32_t most = number % 50 == 0 ? RANKS_MAX / 4 : 4;
    config.ranks = 4 * (uint32_t)(2 + draw(number, 10, 1, most - 1));
    bool has_stages = number >= PLAIN_CASES + COST_CASES;
    if (has_stages) {
        config.ranks_per_node = number % 3 == 0 ? config.ranks : 2U << number % 2;
    }
    config.units = 1 + (uint32_t)draw(number, 10, 2, 6);
    config.unit_elements = 1000 + (int64_t)draw(number, 10, 3, 60000);
    config.forward_ns = 100 * GS_NS_PER_US;
    config.backward_ns = (gs_time_ns)draw(number, 10, 4, 300) * GS_NS_PER_US;
    config.optimizer_ns = 30 * GS_NS_PER_US;
    config.skew_ns = (gs_time_ns)draw(number, 10, 5, 2) * 500 * GS_NS_PER_US;
    config.steps = 1 + (int64_t)draw(number, 10, 6, 3);
    small_job_init(&of->job, &config, NULL);
    if (number % 4 == 0) {
        small_job_use(&of->job, gs_strategy_find("allreduce"), "bucket=tensor");
    } else {
        choose_ops(number, &config);
        small_job_use(&of->job, &strategy, NULL);
    }
    choose_programs(of, number);
    if (has_stages) {
        use_stages(of);
    }
    disturb(of, number);
    if (number >= PLAIN_CASES && !has_stages) {
        add_costs(of, number);
    }
}

/* ---------------------------------------------------------------- comparing */

typedef struct outcome {
    gs_sim_result result;
    gs_record *record;
} outcome;

static outcome run(mode_case *of, uint64_t number, gs_network_mode mode)
{
    outcome out = {.record = gs_record_create(of->job.scenario.ranks, true)};
    cr_assert_not_null(out.record);
    of->job.scenario.network_mode = (int)mode;
    out.result = small_job_run(&(gs_sim_config){.scenario = &of->job.scenario,
                                                .strategy = &of->job.choice,
                                                .seed = number,
                                                .record = out.record});
    TEST_REQUIRE(out.result.status == GS_OK, "case %llu, mode %s: %s", (unsigned long long)number,
                 gs_network_mode_names[mode], out.result.error.text);
    return out;
}

/* To 1e-9; and to the ns that a step's begin is rounded up to, its own and that of each before.
 * Where a rate changes what begins a ns later ends up to five later: factors are 0.2 to 1. */
static bool is_equal(gs_time_ns a, gs_time_ns b, const gs_step_row *row)
{
    const gs_cluster *cluster = &tested.job.scenario.cluster;
    bool varies = cluster->nic.trace.point_count + cluster->intra.trace.point_count > 0;
    double rounded = (varies ? 5.0 : 1.0) * (double)(row->step + 1);
    return fabs((double)a - (double)b) <= rounded + 1e-9 * (double)a;
}

static void compare(const outcome *wanted, const outcome *got, uint64_t number, const char *mode)
{
    int64_t rows = gs_record_step_count(wanted->record);
    cr_assert_eq(rows, gs_record_step_count(got->record));
    int64_t bytes = 0;
    for (int64_t i = 0; i < rows; i++) {
        gs_step_row a = gs_record_step_at(wanted->record, i);
        gs_step_row b = gs_record_step_at(got->record, i);
        bytes += a.bytes_sent - b.bytes_sent;
        TEST_REQUIRE(a.rank == b.rank && a.step == b.step &&
                         is_equal(a.start_ns + a.duration_ns, b.start_ns + b.duration_ns, &a) &&
                         is_equal(a.exposed_comm_ns, b.exposed_comm_ns, &a) &&
                         is_equal(a.wait_ns, b.wait_ns, &a),
                     "case %llu, %s: rank %d, step %lld ends at %lld ns, not at %lld",
                     (unsigned long long)number, mode, a.rank, (long long)a.step,
                     (long long)(b.start_ns + b.duration_ns),
                     (long long)(a.start_ns + a.duration_ns));
    }
    TEST_REQUIRE(bytes == 0 &&
                     wanted->result.facts.nic_bytes_sent == got->result.facts.nic_bytes_sent &&
                     wanted->result.least_message_bytes == got->result.least_message_bytes &&
                     wanted->result.most_message_bytes == got->result.most_message_bytes,
                 "case %llu, %s: other bytes", (unsigned long long)number, mode);
}

/* Every way that an op can go is met: closed, by recurrence, by dataflow, and back in the middle;
 * each so many times at least. */
static void compare_modes(uint64_t first, uint64_t end, uint64_t least)
{
    uint64_t ops[GS_OP_MODE_COUNT] = {0};
    uint64_t returned = 0;
    for (uint64_t number = first; number < end; number++) {
        gs_network_mode mode = number % 5 == 1   ? GS_NETWORK_RECURRENCE
                               : number % 5 == 2 ? GS_NETWORK_CLOSED
                                                 : GS_NETWORK_AUTO;
        make_case(&tested, number);
        outcome wanted = run(&tested, number, GS_NETWORK_MESSAGE);
        outcome got = run(&tested, number, mode);
        compare(&wanted, &got, number, gs_network_mode_names[mode]);
        for (int i = 0; i < GS_OP_MODE_COUNT; i++) {
            ops[i] += got.result.ops[i];
        }
        returned += got.result.ops_returned;
        cr_assert_eq(wanted.result.ops[GS_OP_MESSAGE],
                     got.result.ops[GS_OP_MESSAGE] + got.result.ops[GS_OP_DATAFLOW] +
                         got.result.ops[GS_OP_RING] + got.result.ops[GS_OP_CLOSED]);
        gs_record_destroy(wanted.record);
        gs_record_destroy(got.record);
        small_job_fini(&tested.job);
    }
    cr_assert(ops[GS_OP_MESSAGE] > 2 * least && ops[GS_OP_DATAFLOW] > 2 * least &&
                  ops[GS_OP_RING] > least && ops[GS_OP_CLOSED] > least && returned > least,
              "message %llu, dataflow %llu, ring %llu, closed %llu, returned %llu",
              (unsigned long long)ops[GS_OP_MESSAGE], (unsigned long long)ops[GS_OP_DATAFLOW],
              (unsigned long long)ops[GS_OP_RING], (unsigned long long)ops[GS_OP_CLOSED],
              (unsigned long long)returned);
}

Test(op_modes, every_mode_gives_the_times_of_messages, .timeout = 280)
{
    compare_modes(0, PLAIN_CASES, 500);
}

Test(op_modes, every_mode_knows_what_messages_cost_beside_their_bytes, .timeout = 280)
{
    compare_modes(PLAIN_CASES, PLAIN_CASES + COST_CASES, 50);
}

Test(op_modes, rings_one_after_the_other_have_forms_of_their_own, .timeout = 280)
{
    uint64_t first = PLAIN_CASES + COST_CASES;
    compare_modes(first, first + STAGE_CASES, 50);
}

/* ---------------------------------------------------------------- the surrogate */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

enum { JITTER_STEPS = 200 };

/* Mean and 95th percentile of the steps of a ring. Of 24 ranks: 46 messages one after the other of
 * 30 us and as long on the wire, 3.2 ms a step without jitter, which makes it 7 % longer; of 16 and
 * 64 the messages are as long. */
static void steps_of(uint32_t ranks, gs_law law, double skew_cv, gs_network_mode mode, double *mean,
                     double *p95)
{
    small_job_config config = small_job_default();
    config.ranks = ranks;
    config.units = 1;
    config.unit_elements = 9167 * (int64_t)ranks;
    config.forward_ns = 500 * GS_NS_PER_US;
    config.nic_latency_ns = 30 * GS_NS_PER_US;
    config.steps = JITTER_STEPS;
    small_job job;
    small_job_init(&job, &config, NULL);
    job.scenario.noise.latency = (gs_noise_law){.law = (int)law, .cv = 0.5};
    if (skew_cv > 0.0) {
        job.scenario.noise.compute = (gs_noise_law){.law = GS_LAW_LOGNORMAL, .cv = skew_cv};
    }
    job.scenario.network_mode = (int)mode;
    gs_record *record = gs_record_create(config.ranks, false);
    cr_assert_not_null(record);
    gs_sim_result result = small_job_run(&(gs_sim_config){
        .scenario = &job.scenario, .strategy = &job.choice, .seed = 5, .record = record});
    cr_assert_eq(result.status, GS_OK);
    cr_assert_eq(result.ops[mode == GS_NETWORK_SURROGATE ? GS_OP_SURROGATE : GS_OP_RING],
                 JITTER_STEPS);
    double steps[JITTER_STEPS];
    *mean = 0.0;
    for (int64_t i = 0; i < JITTER_STEPS; i++) {
        steps[i] = gs_record_mean_ns(record, i);
        *mean += steps[i] / JITTER_STEPS;
    }
    qsort(steps, JITTER_STEPS, sizeof *steps, ascending);
    *p95 = steps[JITTER_STEPS * 95 / 100];
    gs_record_destroy(record);
    small_job_fini(&job);
}

Test(op_modes, the_surrogate_is_within_3_percent_in_mean_and_95th_percentile)
{
    static const gs_law laws[] = {GS_LAW_LOGNORMAL, GS_LAW_SHIFTED_EXPONENTIAL, GS_LAW_PARETO};
    static const double skews[] = {0.0, 0.02, 0.2};
    static const uint32_t ranks[] = {16, 24, 64};
    for (size_t i = 0; i < 27; i++) {
        gs_law law = laws[i % 3];
        double skew = skews[i / 3 % 3];
        double mean, p95, wanted_mean, wanted_p95;
        steps_of(ranks[i / 9], law, skew, GS_NETWORK_AUTO, &wanted_mean, &wanted_p95);
        steps_of(ranks[i / 9], law, skew, GS_NETWORK_SURROGATE, &mean, &p95);
        TEST_REQUIRE(fabs(mean / wanted_mean - 1.0) < 0.03 && fabs(p95 / wanted_p95 - 1.0) < 0.03,
                     "%u ranks, law %d, skew %g: mean %g, not %g; p95 %g, not %g", ranks[i / 9],
                     law, skew, mean, wanted_mean, p95, wanted_p95);
    }
}

/* Two nodes of four ranks and four nics: rings of 4 inside, of 2 between. 6 turns of a quarter of
 * 4,000,000 bytes at 12.5 bytes a ns and 5 us, 2 of an eighth at 1.25 and 10 us. */
Test(op_modes, two_levels_over_rails_are_in_closed_form)
{
    small_job_config config = small_job_default();
    config.ranks = 8;
    config.ranks_per_node = 4;
    config.units = 1;
    config.unit_elements = 1000000;
    config.optimizer_ns = 0;
    config.intra_bps = INT64_C(100000000000);
    config.nic_bps = INT64_C(10000000000);
    config.intra_latency_ns = 5 * GS_NS_PER_US;
    config.nic_latency_ns = 10 * GS_NS_PER_US;
    for (int mode = GS_NETWORK_AUTO; mode <= GS_NETWORK_RECURRENCE; mode++) {
        small_job job;
        small_job_init(&job, &config, "algorithm=hierarchical_ring");
        job.scenario.cluster.topology.nics = 4;
        job.scenario.network_mode = mode;
        gs_sim_result result = small_job_run(
            &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1});
        cr_assert_eq(result.status, GS_OK);
        double scaled = 2 * 4e6 / 1e6; /* of the gradient before it, read and written */
        double wanted = scaled + 6 * (1e6 / 12.5 + 5e3) + 2 * (5e5 / 1.25 + 1e4);
        cr_assert(fabs((double)result.facts.end_ns - wanted) <= 2.0, "%lld ns, not %.0f",
                  (long long)result.facts.end_ns, wanted);
        gs_op_mode of = mode == GS_NETWORK_AUTO      ? GS_OP_CLOSED
                        : mode == GS_NETWORK_MESSAGE ? GS_OP_MESSAGE
                                                     : GS_OP_RING;
        cr_assert_eq(result.ops[of], 1u);
        /* Of 2 * 3 / 4 and 2 * 1 / 8 of the bytes the latter cross nics. */
        cr_assert_eq(result.facts.nic_bytes_sent, 8 * 2 * INT64_C(500000));
        small_job_fini(&job);
    }
}

/* Ranks in lockstep end their steps at one tick, and who comes first there differs between the
 * modes; a store that holds one of these runs takes the others for the same. */
Test(op_modes, the_fingerprint_of_a_run_is_the_same_in_every_mode)
{
    small_job_config config = small_job_default();
    config.ranks = 8;
    config.ranks_per_node = 4;
    config.skew_ns = 0;
    uint64_t wanted = 0;
    for (int mode = GS_NETWORK_AUTO; mode <= GS_NETWORK_CLOSED; mode++) {
        small_job job;
        small_job_init(&job, &config, "bucket=tensor");
        job.scenario.network_mode = mode;
        gs_sim_result result = small_job_run(
            &(gs_sim_config){.scenario = &job.scenario, .strategy = &job.choice, .seed = 1});
        cr_assert_eq(result.status, GS_OK);
        wanted = mode == GS_NETWORK_AUTO ? result.result_hash : wanted;
        cr_expect_eq(result.result_hash, wanted, "%s", gs_network_mode_names[mode]);
        small_job_fini(&job);
    }
}
