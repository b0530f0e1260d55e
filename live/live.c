#include "live/live.h"

#include "base/assert.h"
#include "base/hash.h"
#include "live/live_entity.h"
#include "strategies/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gs_live {
    gs_live_shared shared;
    gs_live_entity *entities; /* [shared.entity_count]: workers, then servers */
    uint32_t entities_made;
    gs_arena arena;
};

gs_live_config gs_live_config_default(void)
{
    return (gs_live_config){
        .transport = "loop", .delay_ns = 100 * GS_NS_PER_US, .deadline_ns = 5 * GS_NS_PER_S};
}

/* ---------------------------------------------------------------- creation */

static gs_status choose(gs_live_shared *shared, gs_arena *arena, gs_error *err)
{
    const gs_live_config *config = &shared->config;
    const gs_strategy_choice *choice = config->strategy;
    GS_TRY(choice->strategy->layout(choice->config, config->job, &shared->layout, err));
    if (shared->layout.servers > config->job->servers) {
        return gs_fail(err, GS_EINVAL, "%s needs %u servers and the job offers %u",
                       choice->strategy->name, shared->layout.servers, config->job->servers);
    }
    shared->transport = gs_transport_find(config->transport);
    if (shared->transport == NULL) {
        return gs_fail(err, GS_EINVAL, "no transport %s here", config->transport);
    }
    shared->buckets = gs_bucket_plan_make(config->job, &shared->layout.buckets, NULL, arena);
    if (shared->buckets == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for buckets");
    }
    shared->entity_count = config->job->ranks + shared->layout.servers;
    return GS_OK;
}

static gs_status open_transport(gs_live_shared *shared, gs_error *err)
{
    const gs_live_config *config = &shared->config;
    gs_transport_config transport = {.entities = shared->entity_count,
                                     .planes = GS_PLANE_PARTS + shared->layout.communicator_count,
                                     .delay = config->delay,
                                     .delay_ns = config->delay_ns,
                                     .rendezvous = config->rendezvous,
                                     .seed = config->delay_seed};
    return shared->transport->open(&transport, &shared->net, err);
}

static gs_status start_recording(gs_live_shared *shared, gs_error *err)
{
    const gs_live_config *config = &shared->config;
    gs_recording_about about = {
        .seed = config->job->seed,
        .elements = config->job->elements,
        .batch_per_rank = config->batch_per_rank,
        .budget_steps = config->budget_steps,
        .cut_step = shared->layout.cut == GS_CUT_COMMON ? config->budget_steps : -1,
        .ranks = config->job->ranks,
        .servers = shared->layout.servers,
        .number = config->number,
    };
    (void)snprintf(about.strategy, sizeof about.strategy, "%s", config->strategy->strategy->name);
    return gs_recording_init(&shared->recording, &about, err);
}

static gs_status make(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
    uint32_t ranks = shared->config.job->ranks;
    GS_TRY(choose(shared, &live->arena, err));
    GS_TRY(open_transport(shared, err));
    GS_TRY(start_recording(shared, err));
    live->entities = calloc(shared->entity_count, sizeof *live->entities);
    if (live->entities == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for %u entities", shared->entity_count);
    }
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        gs_peer self = i < ranks ? (gs_peer){GS_WORKER, (uint16_t)i}
                                 : (gs_peer){GS_SERVER, (uint16_t)(i - ranks)};
        live->entities_made = i + 1;
        GS_TRY(gs_live_entity_init(&live->entities[i], shared, self, err));
    }
    return GS_OK;
}

gs_live *gs_live_create(const gs_live_config *config, gs_error *err)
{
    GS_ASSERT(config->delay_ns > 0 && config->deadline_ns > 0);
    gs_live *live = calloc(1, sizeof *live);
    if (live == NULL) {
        (void)gs_fail(err, GS_ENOMEM, "no memory for a run");
        return NULL;
    }
    live->shared.config = *config;
    (void)pthread_mutex_init(&live->shared.lock, NULL);
    gs_arena_init(&live->arena);
    if (make(live, err) != GS_OK) {
        gs_live_destroy(live);
        return NULL;
    }
    return live;
}

void gs_live_destroy(gs_live *live)
{
    if (live == NULL) {
        return;
    }
    for (uint32_t i = 0; i < live->entities_made; i++) {
        gs_live_entity_fini(&live->entities[i]);
    }
    free(live->entities);
    if (live->shared.net != NULL) {
        live->shared.transport->close(live->shared.net);
    }
    gs_recording_fini(&live->shared.recording);
    gs_arena_fini(&live->arena);
    (void)pthread_mutex_destroy(&live->shared.lock);
    free(live);
}

/* ---------------------------------------------------------------- the run */

/* Adds who waits for whom to the error; threads have ended. */
static void tell_waits(gs_live *live)
{
    char *text = live->shared.error.text;
    for (uint32_t i = 0; i < live->shared.entity_count; i++) {
        char waits[GS_ERROR_TEXT_BYTES];
        if (gs_driver_waits_for(live->entities[i].driver, waits, sizeof waits)) {
            size_t used = strlen(text);
            (void)snprintf(text + used, GS_ERROR_TEXT_BYTES - used, "; %s", waits);
        }
    }
}

/* A worker has issued other collectives than the first member of one of its groups. Communicators
 * overlap, so each has an order of its own. */
static bool streams_differ(const gs_live *live, uint32_t rank, uint32_t *out_first)
{
    const gs_layout *layout = &live->shared.layout;
    for (uint32_t i = 0; i < layout->communicator_count; i++) {
        *out_first =
            gs_group_rank(layout->communicators[i].group, live->shared.config.job->ranks, rank, 0);
        if (live->entities[rank].op_streams[i] != live->entities[*out_first].op_streams[i]) {
            return true;
        }
    }
    return false;
}

static uint32_t model_of(const gs_live *live, uint32_t rank)
{
    uint32_t vector;
    double weight;
    gs_driver_model_view(live->entities[rank].driver, &vector, &weight);
    return vector;
}

/* The run ended well: nothing may be left over, and all workers issued the same collectives. */
static void check_end(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        gs_live_entity_left_over(&live->entities[i]);
    }
    for (uint32_t i = 1; i < shared->config.job->ranks; i++) {
        uint32_t first;
        if (streams_differ(live, i, &first)) {
            gs_error err;
            (void)gs_fail(&err, GS_EMISMATCH,
                          "workers %u and %u did not issue the same collectives in the same order",
                          first, i);
            gs_live_fail(shared, &err);
        }
    }
    for (uint32_t i = 0; i < shared->config.job->ranks; i++) {
        const gs_live_entity *worker = &live->entities[i];
        gs_error err;
        if (gs_entity_memory_check(&worker->memory, model_of(live, i), &err) != GS_OK) {
            (void)gs_fail_in(&err, "step %lld", (long long)gs_driver_step(worker->driver));
            gs_live_fail(shared, &err);
        }
    }
}

void gs_live_run(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    shared->start_ns = gs_live_clock();
    atomic_store(&shared->progress_ns, shared->start_ns);
    uint32_t started = 0;
    for (; started < shared->entity_count; started++) {
        gs_live_entity *entity = &live->entities[started];
        if (pthread_create(&entity->thread, NULL, gs_live_entity_loop, entity) != 0) {
            gs_error err;
            (void)gs_fail(&err, GS_ENOMEM, "thread %u of %u could not be started", started,
                          shared->entity_count);
            gs_live_fail(shared, &err);
            break;
        }
    }
    for (uint32_t i = 0; i < started; i++) {
        (void)pthread_join(live->entities[i].thread, NULL);
    }
    if (shared->status == GS_EDEADLOCK) {
        tell_waits(live);
    }
    if (shared->status == GS_OK) {
        check_end(live);
    }
    gs_live_result result;
    gs_live_result_get(live, &result);
    shared->recording.about.weights_hash = result.weights_hash;
}

/* ---------------------------------------------------------------- results */

void gs_live_result_get(const gs_live *live, gs_live_result *out)
{
    const gs_live_shared *shared = &live->shared;
    *out = (gs_live_result){.status = shared->status,
                            .error = shared->error,
                            .op_stream_hash =
                                gs_hash(0, live->entities[0].op_streams,
                                        shared->layout.communicator_count * sizeof(uint64_t)),
                            .steps = INT64_MAX,
                            .gradients = atomic_load(&shared->gradients)};
    for (uint32_t rank = 0; rank < shared->config.job->ranks; rank++) {
        const gs_live_entity *worker = &live->entities[rank];
        int64_t steps = gs_driver_step(worker->driver);
        out->steps = steps < out->steps ? steps : out->steps;
        out->weights_hash =
            gs_entity_memory_hash(&worker->memory, model_of(live, rank), out->weights_hash);
    }
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        gs_staleness_merge(&out->staleness, &live->entities[i].staleness);
    }
}

const float *gs_live_weights(const gs_live *live, uint32_t rank, size_t *out_count)
{
    GS_ASSERT(rank < live->shared.config.job->ranks);
    return gs_entity_memory_vector(&live->entities[rank].memory, model_of(live, rank), out_count);
}

static const gs_live_entity *entity_at(const gs_live *live, gs_peer peer)
{
    uint32_t ranks = live->shared.config.job->ranks;
    uint32_t number = peer.role == GS_WORKER ? peer.index : ranks + peer.index;
    GS_ASSERT(number < live->shared.entity_count);
    return &live->entities[number];
}

const float *gs_live_vector(const gs_live *live, gs_peer entity, uint32_t vector, size_t *out_count)
{
    return gs_entity_memory_vector(&entity_at(live, entity)->memory, vector, out_count);
}

size_t gs_live_export(const gs_live *live, gs_peer entity, void *out, size_t out_bytes)
{
    const gs_driver *driver = entity_at(live, entity)->driver;
    return gs_driver_is_drained(driver) ? gs_driver_export(driver, out, out_bytes) : 0;
}

const gs_recording *gs_live_recording(const gs_live *live)
{
    return live->shared.config.record ? &live->shared.recording : NULL;
}
