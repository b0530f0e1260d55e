#include "sim/sim_op.h"

#include "base/assert.h"
#include "base/hash.h"
#include "strategies/registry.h"
#include "traces/compose.h"
#include "traces/consensus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVALUATIONS = 20, LOOKS_MAX = 1000 };

/* Of one gradient: below some 100 us of work a second thread costs up to a third more processor
 * time, which another seed could have (docs/measured/models.md). */
enum { THREAD_FLOPS_MIN = 4000000 };

void gs_sim_fail(gs_sim *sim, gs_status status, const gs_error *err)
{
    if (!sim->ended) {
        sim->ended = true;
        sim->result.status = status;
        sim->result.error = *err;
    }
}

/* ---------------------------------------------------------------- creation */

static gs_status no_memory(const gs_sim *sim, gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for a run of %u ranks", sim->scenario->ranks);
}

static gs_status make_buckets(gs_sim *sim, gs_error *err)
{
    for (uint32_t i = 0; i < sim->relay.count; i++) {
        gs_leg *leg = &sim->relay.list[i];
        const gs_bucket_rule *rule = &leg->layout.buckets;
        leg->buckets = gs_bucket_plan_make(&sim->job, rule, NULL, &sim->arena);
        leg->buckets_rebuilt =
            leg->layout.gated
                ? leg->buckets
                : gs_scenario_ready_buckets(sim->scenario, &sim->job, rule, &sim->arena);
        if (leg->buckets == NULL || leg->buckets_rebuilt == NULL) {
            return no_memory(sim, err);
        }
    }
    sim->buckets = sim->relay.list[0].buckets;
    sim->buckets_rebuilt = sim->relay.list[0].buckets_rebuilt;
    return GS_OK;
}

static gs_status make_noise(gs_sim *sim, gs_error *err)
{
    const gs_noise *noise = &sim->scenario->noise;
    if (noise->compute.law != GS_LAW_NONE || noise->straggler.kind != GS_STRAGGLER_NONE) {
        GS_TRY(gs_compute_noise_create(noise, sim->config.seed, sim->job.ranks, &sim->arena,
                                       &sim->compute_noise, err));
    }
    if (noise->latency.law != GS_LAW_NONE) {
        gs_noise_sampler *sampler = GS_TAKE(&sim->arena, gs_noise_sampler, 1);
        if (sampler == NULL) {
            return no_memory(sim, err);
        }
        GS_TRY(gs_noise_sampler_init(sampler, &noise->latency, "noise.latency", err));
        sim->latency_noise = sampler;
    }
    return GS_OK;
}

/* Threads that compute gradients: never more than gradients at one time, and one where they are
 * small. */
static uint32_t members_of(const gs_sim *sim)
{
    const gs_network *network = gs_task_network(sim->task);
    int64_t flops = 0;
    for (uint32_t i = 0; i < network->layer_count; i++) {
        flops += 3 * network->layers[i].forward_flops; /* backward is twice forward */
    }
    flops *= sim->scenario->workload.batch_per_rank * sim->job.accumulation;
    uint32_t members = sim->config.threads < sim->job.ranks ? sim->config.threads : sim->job.ranks;
    bool is_worth_it = flops >= THREAD_FLOPS_MIN || sim->config.threads_always;
    return members > 1 && is_worth_it ? members : 1;
}

static gs_status make_task(gs_sim *sim, gs_error *err)
{
    const gs_workload *workload = &sim->scenario->workload;
    sim->learns = workload->real_gradients;
    if (!sim->learns) {
        return GS_OK;
    }
    gs_optimizer_config optimizer =
        gs_compose_rest(&sim->config.strategy->coding, &workload->task.optimizer);
    gs_task_setup setup = {.data_dir = sim->scenario->data_dir,
                           .dataset = workload->dataset,
                           .optimizer = &optimizer,
                           .ranks = sim->job.ranks,
                           .seed = sim->config.seed};
    GS_TRY(gs_task_create(&workload->task, &setup, &sim->arena, &sim->task, err));
    uint32_t members = members_of(sim);
    sim->workspaces = GS_TAKE(&sim->arena, gs_task_workspace *, members);
    if (sim->workspaces == NULL) {
        return no_memory(sim, err);
    }
    int64_t samples_max = gs_samples_max(&sim->layout, workload->batch_per_rank);
    for (uint32_t i = 0; i < members; i++) {
        GS_TRY(gs_task_workspace_create(sim->task, samples_max, &sim->arena, &sim->workspaces[i],
                                        err));
    }
    return gs_team_create(members, &sim->arena, &sim->team, err);
}

/* Steps from one to the next where at most `most` of them are wanted, and asked_steps if given. */
static int64_t interval(const gs_scenario *scenario, int64_t asked_steps, int64_t most)
{
    int64_t least = (scenario->workload.budget_steps + most - 1) / most;
    least = least > 0 ? least : 1;
    return asked_steps > least ? asked_steps : least;
}

/* Gradients do not travel, and models do now and then: between two averages the shared model, if
 * there is one, stands still, and at one of them it makes many steps at once. */
static bool steps_apart(const gs_layout *layout)
{
    return layout->communicator_count > 0 && layout->buckets.cap_bytes == INT64_MAX;
}

static gs_status make_watch(gs_sim *sim, gs_error *err)
{
    if (!sim->learns || sim->config.record == NULL) {
        return GS_OK;
    }
    const gs_workload *workload = &sim->scenario->workload;
    int64_t look_every = sim->config.look_every;
    gs_gradient_watch_config config = {
        .task = sim->task,
        .workspace = sim->workspaces[0],
        .optimizer = gs_task_optimizer(sim->task),
        .number = workload->number,
        .ranks = sim->job.ranks,
        .batch_per_rank = workload->batch_per_rank,
        .fidelity_every = interval(sim->scenario, 0, EVALUATIONS),
        .steps_apart = steps_apart(&sim->layout),
        .look_every = look_every > 0 ? interval(sim->scenario, look_every, LOOKS_MAX) : 0,
        .series = gs_record_series(sim->config.record),
    };
    gs_status status = gs_gradient_watch_create(&config, &sim->arena, &sim->watch);
    return status == GS_OK ? GS_OK : no_memory(sim, err);
}

/* What kind of node a server is: that which it stands on, else the first one. */
static const gs_node_group *server_group(const gs_scenario *scenario, uint32_t server)
{
    const gs_cluster *cluster = &scenario->cluster;
    uint32_t node = cluster->server_nodes == NULL ? 0 : cluster->server_nodes[server];
    const gs_node_group *group = cluster->groups;
    for (; node >= group->count; group++) {
        node -= (uint32_t)group->count;
    }
    return group;
}

static gs_status make_entity(gs_sim *sim, uint32_t index, gs_error *err)
{
    gs_sim_entity *entity = &sim->entities[index];
    bool is_worker = index < sim->job.ranks;
    entity->self = is_worker ? (gs_peer){GS_WORKER, (uint16_t)index}
                             : (gs_peer){GS_SERVER, (uint16_t)(index - sim->job.ranks)};
    const gs_node_group *group = is_worker ? gs_scenario_group_of(sim->scenario, index)
                                           : server_group(sim->scenario, entity->self.index);
    entity->vector_bytes_per_ns = (double)group->vector_bandwidth_bps / 8.0 / (double)GS_NS_PER_S;
    gs_entity_memory_config memory = {
        .job = &sim->job,
        .layout = &sim->layout,
        .more_vectors = sim->relay.code_vectors,
        .self = entity->self,
        .task = sim->task,
        .batch_per_rank = sim->scenario->workload.batch_per_rank,
        .number = sim->scenario->workload.number,
        .staleness = &sim->staleness,
    };
    GS_TRY(gs_entity_memory_init(&entity->memory, &memory, &sim->arena, err));
    entity->wires = gs_wires_create(&sim->relay, &entity->memory, &sim->arena);
    if (entity->wires == NULL) {
        return no_memory(sim, err);
    }
    entity->wire = entity->wires[0];
    return GS_OK;
}

static gs_status make_drivers(gs_sim *sim, gs_error *err)
{
    GS_TRY(make_buckets(sim, err));
    GS_TRY(gs_sim_forward_init(sim, err));
    sim->host_calls = gs_sim_host_calls;
    if (!sim->learns) {
        sim->host_calls.absorb = NULL; /* parts without floats are counted and nothing else */
    }
    const gs_cluster *cluster = &sim->scenario->cluster;
    if (cluster->nic.eager_bytes == 0 && cluster->intra.eager_bytes == 0) {
        sim->host_calls.await = NULL; /* nothing waits for its receiver */
    }
    gs_driver_config config = {
        .strategy = sim->config.strategy->strategy,
        .strategy_config = sim->config.strategy->config,
        .job = &sim->job,
        .layout = &sim->relay.list[0].layout,
        .relay = sim->relay.count > 1 ? &sim->relay : NULL,
        .coding = &sim->config.strategy->coding,
        .selection = &sim->config.strategy->selection,
        .buckets = sim->buckets,
        .calls = &sim->host_calls,
        .host = sim,
        .swap_state = sim->config.swap_state,
    };
    config.self = sim->entities[0].self;
    for (uint32_t i = 0; i < sim->entity_count; i++) {
        sim->entities[i].driver = i == 0
                                      ? gs_driver_create(&config, &sim->arena)
                                      : gs_driver_create_like(sim->entities[0].driver,
                                                              sim->entities[i].self, &sim->arena);
        if (sim->entities[i].driver == NULL) {
            return no_memory(sim, err);
        }
    }
    for (uint32_t i = 0; i < sim->net.channel_count; i++) {
        gs_sim_channel *channel = &sim->net.channels[i];
        uint32_t number;
        uint32_t communicator = gs_streams_communicator(&sim->streams, channel->stream, &number);
        channel->inbox =
            gs_driver_inbox(sim->entities[channel->to].driver, communicator, number, channel->from);
    }
    return GS_OK;
}

static gs_status make_net(gs_sim *sim, gs_error *err)
{
    sim->topology =
        gs_topology_create(sim->scenario, sim->layout.servers, sim->config.seed, &sim->arena);
    if (sim->topology == NULL) {
        return no_memory(sim, err);
    }
    gs_payload_pool_init(&sim->pool, &sim->arena);
    gs_sim_net_config config = {
        .loop = &sim->loop,
        .topology = sim->topology,
        .latency_noise = sim->latency_noise,
        .seed = sim->config.seed,
        .pool = &sim->pool,
        .timeline = sim->timeline,
        .streams = &sim->streams,
    };
    return gs_sim_net_init(&sim->net, &config, &sim->arena) ? GS_OK : no_memory(sim, err);
}

static gs_status seal_net(gs_sim *sim, gs_error *err)
{
    uint64_t flows = 0;
    bool talks = sim->layout.point_to_point;
    for (uint32_t i = 0; i < sim->layout.communicator_count; i++) {
        talks |= gs_communicator_agrees(&sim->layout.communicators[i]); /* over sockets */
    }
    for (uint32_t i = 0; i < sim->entity_count && talks; i++) {
        flows += sim->layout.outstanding_max[sim->entities[i].self.role];
    }
    bool private_allowed = !sim->layout.point_to_point && !sim->config.share_always;
    return gs_sim_net_seal(&sim->net, private_allowed, (uint32_t)flows) ? GS_OK
                                                                        : no_memory(sim, err);
}

static gs_status use_curve(gs_sim *sim, gs_error *err)
{
    sim->curve = gs_scenario_outer_link(sim->scenario)->curve;
    size_t slots = (size_t)sim->layout.communicator_count * sim->job.ranks;
    sim->native_slots = GS_TAKE(&sim->arena, uint32_t, slots);
    sim->sends_from = GS_TAKE(&sim->arena, gs_tick, slots);
    return sim->native_slots != NULL && sim->sends_from != NULL ? GS_OK : no_memory(sim, err);
}

/* What the scenario cannot give the strategy. */
static gs_status check_layout(const gs_sim *sim, gs_error *err)
{
    const char *name = sim->config.strategy->label;
    if (sim->layout.servers > sim->job.servers) {
        return gs_fail(err, GS_EINVAL,
                       "cluster.servers.count: %u, but %s needs %u servers; raise it",
                       sim->job.servers, name, sim->layout.servers);
    }
    uint32_t blocking = sim->scenario->workload.profile->blocking_count;
    if (sim->layout.cancels && blocking > 0) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "workload.profile: its %u blocking ops want every rank, and %s stops ranks "
                       "in the middle of a pass; use a profile without them, or another strategy",
                       blocking, name);
    }
    return GS_OK;
}

static gs_status make(gs_sim *sim, gs_error *err)
{
    const gs_scenario *scenario = sim->scenario;
    const gs_strategy_choice *choice = sim->config.strategy;
    GS_TRY(gs_scenario_job(scenario, &sim->arena, &sim->job, err));
    sim->job.seed = sim->config.seed;
    GS_TRY(gs_scenario_relay(choice, &sim->job, &sim->relay, err));
    sim->layout = sim->relay.layout;
    sim->streams = gs_relay_streams(&sim->relay, &sim->job);
    GS_TRY(check_layout(sim, err));
    sim->entity_count = sim->job.ranks + sim->layout.servers;
    sim->entities = GS_TAKE(&sim->arena, gs_sim_entity, sim->entity_count);
    if (sim->entities == NULL ||
        !gs_sim_loop_init(&sim->loop, sim->config.seed, sim->config.shuffle_ties) ||
        !gs_group_ops_init(&sim->ops, &sim->layout, sim->job.ranks, &sim->arena)) {
        return no_memory(sim, err);
    }
    GS_TRY(make_noise(sim, err));
    GS_TRY(make_task(sim, err));
    GS_TRY(make_watch(sim, err));
    GS_TRY(make_net(sim, err));
    for (uint32_t i = 0; i < sim->entity_count; i++) {
        GS_TRY(make_entity(sim, i, err));
    }
    GS_TRY(gs_sim_worker_init(sim, err));
    GS_TRY(make_drivers(sim, err));
    GS_TRY(use_curve(sim, err));
    GS_TRY(gs_sim_sums_init(sim, err));
    GS_TRY(gs_sim_ops_init(sim, err));
    if (sim->timeline != NULL) {
        GS_TRY(gs_sim_look_init(sim, err));
    }
    return seal_net(sim, err);
}

static void start(gs_sim *sim)
{
    const gs_workload *workload = &sim->scenario->workload;
    sim->budget_passes = workload->budget_steps * sim->job.accumulation;
    sim->evaluate_every = sim->config.evaluate_every;
    if (sim->evaluate_every <= 0) {
        sim->evaluate_every = gs_scenario_evaluation_steps(sim->scenario);
    }
    for (uint32_t i = 0; i < sim->entity_count && !sim->ended; i++) {
        gs_driver_start(sim->entities[i].driver, 0);
    }
    for (uint32_t rank = 0; rank < sim->job.ranks; rank++) {
        gs_sim_worker_wake(sim, rank);
    }
}

gs_sim *gs_sim_create(const gs_sim_config *config, gs_error *err)
{
    gs_sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL) {
        (void)gs_fail(err, GS_ENOMEM, "no memory for a run");
        return NULL;
    }
    sim->config = *config;
    sim->scenario = config->scenario;
    sim->timeline = config->timeline;
    sim->free_call = GS_NO_CALL;
    gs_arena_init(&sim->arena);
    if (make(sim, err) != GS_OK) {
        gs_sim_destroy(sim);
        return NULL;
    }
    start(sim);
    return sim;
}

void gs_sim_destroy(gs_sim *sim)
{
    if (sim != NULL) {
        gs_team_destroy(sim->team); /* its jobs write what the arena holds */
        gs_sim_loop_fini(&sim->loop);
        gs_model_means_fini(&sim->model_means);
        gs_arena_fini(&sim->arena);
        free(sim);
    }
}

/* ---------------------------------------------------------------- running */

static void handle(gs_sim *sim, const gs_sim_event *event)
{
    switch (event->kind) {
    case GS_SIM_PART:
        gs_sim_world_part(sim, event->index);
        return;
    case GS_SIM_CHANNEL: {
        gs_sim_left left = gs_sim_net_channel_event(&sim->net, event->index, event->handle);
        if (left.left) {
            gs_sim_world_left(sim, &left);
        }
        return;
    }
    case GS_SIM_WORKER:
        gs_sim_worker_event(sim, event->index, event->handle);
        return;
    case GS_SIM_CALL:
        gs_sim_world_call(sim, event->index);
        return;
    case GS_SIM_NOTE:
        gs_sim_world_note(sim, event->index);
        return;
    case GS_SIM_LINK:
        gs_sim_net_link_event(&sim->net, event->index, event->handle);
        return;
    case GS_SIM_SOCKET:
        gs_sim_net_socket_event(&sim->net, event->index, event->handle);
        for (gs_sim_left left; gs_sim_net_told(&sim->net, event->index, &left);) {
            gs_sim_world_left(sim, &left);
        }
        return;
    case GS_SIM_DESK:
        gs_sim_net_desk_event(&sim->net, event->index);
        return;
    case GS_SIM_KIND_COUNT:
        break;
    }
    GS_ASSERT(false && "no such event");
}

static int64_t steps_of_slowest(const gs_sim *sim)
{
    int64_t steps = INT64_MAX;
    for (uint32_t rank = 0; rank < sim->job.ranks; rank++) {
        int64_t own = gs_driver_step(sim->entities[rank].driver);
        steps = own < steps ? own : steps;
    }
    return steps;
}

enum { WAIT_BYTES = 160 };

/* What a rank in a blocking op of its profile waits for. */
static void describe_block(const gs_sim *sim, uint32_t rank, char out[WAIT_BYTES])
{
    const gs_sim_worker *worker = &sim->workers[rank];
    uint32_t which = worker->program->segments[worker->segment - 1].index;
    uint32_t came = 0;
    for (uint32_t i = 0; i < sim->job.ranks; i++) {
        const gs_sim_worker *other = &sim->workers[i];
        came += other->phase == GS_WORKER_BLOCKS && other->blocking == worker->blocking;
    }
    snprintf(out, WAIT_BYTES,
             "worker %u, step %lld, waits in blocking op %u (%.40s), to which %u of %u ranks came",
             rank, (long long)worker->step - 1, which,
             sim->scenario->workload.profile->blocking[which].name, came, sim->job.ranks);
}

static bool waits(const gs_sim *sim, uint32_t entity, char out[WAIT_BYTES])
{
    if (entity < sim->job.ranks && sim->workers[entity].phase == GS_WORKER_BLOCKS) {
        describe_block(sim, entity, out);
        return true;
    }
    return !gs_driver_is_drained(sim->entities[entity].driver) &&
           gs_driver_waits_for(sim->entities[entity].driver, out, WAIT_BYTES);
}

/* Nothing is on its way and somebody still waits: who, and for whom. */
static void report_deadlock(gs_sim *sim)
{
    char texts[3][WAIT_BYTES];
    char text[WAIT_BYTES];
    uint32_t found = 0, waiting = 0;
    for (uint32_t i = 0; i < sim->entity_count; i++) {
        if (waits(sim, i, text)) {
            waiting++;
            if (found < 3) {
                memcpy(texts[found++], text, sizeof text);
            }
        }
    }
    gs_error err;
    (void)gs_fail(&err, GS_EDEADLOCK, "%s: %u of %u wait and nothing is on its way: %s%s%s%s%s",
                  sim->config.strategy->label, waiting, sim->entity_count,
                  found > 0 ? texts[0] : "nobody says for what", found > 1 ? "; " : "",
                  found > 1 ? texts[1] : "", found > 2 ? "; " : "", found > 2 ? texts[2] : "");
    gs_sim_fail(sim, GS_EDEADLOCK, &err);
}

static void report_limit(gs_sim *sim)
{
    gs_error err;
    (void)gs_fail(&err, GS_ELIMIT,
                  "%s: step %lld: the run has over %s, the most there can be; give it fewer steps, "
                  "or look for a rate or a time that was not meant",
                  sim->config.strategy->label, (long long)steps_of_slowest(sim), sim->loop.limit);
    gs_sim_fail(sim, GS_ELIMIT, &err);
}

static void check_leftovers(gs_sim *sim)
{
    if (sim->net.sent != sim->net.arrived) {
        gs_error err;
        (void)gs_fail(&err, GS_ECONTRACT,
                      "%s: everybody has drained and %llu messages are still on their way; count "
                      "messages in the final notes",
                      sim->config.strategy->label,
                      (unsigned long long)(sim->net.sent - sim->net.arrived));
        gs_sim_fail(sim, GS_ECONTRACT, &err);
        return;
    }
    char left[160];
    for (uint32_t i = 0; i < sim->entity_count; i++) {
        if (gs_driver_leftovers(sim->entities[i].driver, left, sizeof left)) {
            gs_error err;
            (void)gs_fail(&err, GS_ECONTRACT, "%s: left over at the end of entity %u: %s",
                          sim->config.strategy->label, i, left);
            gs_sim_fail(sim, GS_ECONTRACT, &err);
            return;
        }
    }
}

static void end_of_events(gs_sim *sim)
{
    if (sim->loop.out_of_memory) {
        gs_error err;
        (void)no_memory(sim, &err);
        gs_sim_fail(sim, GS_ENOMEM, &err);
    } else if (sim->loop.limit != NULL) {
        report_limit(sim);
    } else if (sim->drained < sim->entity_count) {
        report_deadlock(sim);
    } else {
        check_leftovers(sim);
        gs_sim_work_settle_all(sim);
        gs_sim_check_models(sim);
        gs_sim_curve_all_drained(sim);
    }
    sim->ended = true;
}

/* What a record is told once, when the run has ended. */
static void close_record(gs_sim *sim)
{
    if (sim->closed || sim->config.record == NULL) {
        return;
    }
    sim->closed = true;
    if (gs_staleness_store(&sim->staleness, gs_record_series(sim->config.record)) != GS_OK) {
        gs_error err;
        sim->result.status = no_memory(sim, &err);
        sim->result.error = err;
    }
}

bool gs_sim_run(gs_sim *sim, uint64_t events)
{
    for (uint64_t i = 0; i < events && !sim->ended; i++) {
        gs_sim_event event;
        /* Capacities go on changing for ever, and other jobs sending: a run in which nobody is left
         * to care, or to be woken, has ended. */
        bool is_left = sim->drained < sim->entity_count;
        bool is_under_way = sim->loop.own > 0 || gs_sim_net_is_flowing(&sim->net);
        if (is_left && is_under_way && gs_sim_loop_next(&sim->loop, &event)) {
            gs_sim_look_ahead(sim);
            handle(sim, &event);
        } else if (!is_left || !gs_sim_ops_return(sim)) {
            end_of_events(sim);
        }
    }
    if (sim->ended) {
        gs_sim_work_settle_all(sim);
        close_record(sim);
    }
    return !sim->ended;
}

double gs_sim_progress(const gs_sim *sim)
{
    double budget = (double)sim->budget_passes * sim->job.ranks;
    return budget > 0.0 ? (double)sim->passes / budget : 1.0;
}

void gs_sim_interrupt(gs_sim *sim)
{
    gs_error err;
    (void)gs_fail(&err, GS_EINTERRUPTED, "interrupted at step %lld",
                  (long long)gs_driver_step(sim->entities[0].driver));
    gs_sim_fail(sim, GS_EINTERRUPTED, &err);
    gs_sim_work_settle_all(sim);
}

/* ---------------------------------------------------------------- result */

const float *gs_sim_weights(const gs_sim *sim, uint32_t rank, size_t *out_count)
{
    uint32_t vector;
    double weight;
    gs_driver_model_view(sim->entities[rank].driver, &vector, &weight);
    return gs_entity_memory_vector(&sim->entities[rank].memory, vector, out_count);
}

static uint64_t weights_hash(const gs_sim *sim)
{
    uint64_t hash = 0;
    for (uint32_t rank = 0; rank < sim->job.ranks && sim->learns; rank++) {
        uint32_t vector;
        double weight;
        gs_driver_model_view(sim->entities[rank].driver, &vector, &weight);
        hash = gs_entity_memory_hash(&sim->entities[rank].memory, vector, hash);
    }
    return hash;
}

/* Where there is no memory to look at all models at once it is not known. */
static void set_consensus(const gs_sim *sim, gs_run_facts *facts)
{
    uint32_t ranks = sim->job.ranks;
    const float **models = calloc(ranks, sizeof *models);
    double *weights = calloc(ranks, sizeof *weights);
    size_t count = 0;
    facts->has_models = sim->learns && models != NULL && weights != NULL;
    if (facts->has_models) {
        gs_sim_models(sim, models, weights, &count);
        facts->consensus_distance = gs_consensus_distance(models, weights, ranks, count);
    }
    free(models);
    free(weights);
}

void gs_sim_result_get(const gs_sim *sim, gs_sim_result *out)
{
    *out = sim->result;
    out->steps = steps_of_slowest(sim);
    out->weights_hash = weights_hash(sim);
    out->result_hash =
        gs_hash(out->weights_hash, &sim->result.result_hash, sizeof sim->result.result_hash);
    out->facts.nic_count = gs_topology_nic_count(sim->topology);
    out->facts.samples_per_step = sim->job.ranks * (int64_t)sim->workers[0].micro_steps *
                                  sim->scenario->workload.batch_per_rank;
    out->facts.nic_bytes_sent = sim->net.nic_bytes;
    out->least_message_bytes = sim->net.least_bytes;
    out->most_message_bytes = sim->net.most_bytes;
    out->facts.events = sim->loop.handled;
    out->facts.cancelled_samples = sim->cancelled_passes * sim->scenario->workload.batch_per_rank;
    double dropped = sim->dropped_elements / (double)sim->job.elements;
    out->facts.dropped_samples = (int64_t)(dropped * (double)sim->job.accumulation *
                                               (double)sim->scenario->workload.batch_per_rank +
                                           0.5);
    out->facts.applied_gradients = sim->staleness.count;
    out->facts.staleness_mean = gs_staleness_mean(&sim->staleness);
    out->facts.staleness_p95 = gs_staleness_quantile(&sim->staleness, 0.95);
    out->facts.staleness_max = (double)sim->staleness.max;
    for (uint32_t rank = 0; rank < sim->job.ranks && sim->learns; rank++) {
        const gs_entity_memory *memory = &sim->entities[rank].memory;
        out->facts.rounded_elements += memory->rounded_elements;
        out->facts.underflown_elements += memory->underflown_elements;
    }
    out->facts.diverged = sim->result.status == GS_EDIVERGED;
    out->facts.target_quality = sim->scenario->workload.quality;
    out->facts.target_value = sim->scenario->workload.target_value;
    out->facts.is_text = sim->learns && gs_task_network(sim->task)->data.is_tokens;
    if (sim->watch != NULL) {
        gs_gradient_watch_facts(sim->watch, &out->facts);
    }
    set_consensus(sim, &out->facts);
    if (out->facts.end_ns == 0) {
        out->facts.end_ns = gs_sim_loop_now_ns(&sim->loop);
    }
    out->memory_bytes = sim->arena.used_bytes + gs_event_queue_bytes(sim->loop.queue);
}
