#include "live/live.h"

#include "base/assert.h"
#include "base/hash.h"
#include "base/log.h"
#include "live/crew.h"
#include "live/live_final.h"
#include "models/task.h"
#include "strategies/group.h"
#include "strategies/registry.h"
#include "traces/consensus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gs_live {
    gs_live_shared shared;
    gs_live_entity *entities; /* [shared.entity_count]: workers, then servers; those of other
                                 processes are empty */
    gs_live_final *finals;    /* [shared.entity_count] */
    gs_time_ns end_ns;
    gs_arena arena;
};

gs_live_config gs_live_config_default(void)
{
    return (gs_live_config){
        .transport = "loop", .delay_ns = 100 * GS_NS_PER_US, .deadline_ns = 5 * GS_NS_PER_S};
}

/* ---------------------------------------------------------------- creation */

static gs_status make_buckets(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
    const gs_live_config *config = &shared->config;
    shared->buckets = gs_bucket_plan_make(config->job, &shared->layout.buckets, NULL, &live->arena);
    if (config->scenario != NULL && !shared->layout.gated) {
        shared->buckets_rebuilt = gs_scenario_ready_buckets(config->scenario, config->job,
                                                            &shared->layout.buckets, &live->arena);
    }
    bool is_rebuilt = config->scenario == NULL || shared->layout.gated;
    return shared->buckets != NULL && (is_rebuilt || shared->buckets_rebuilt != NULL)
               ? GS_OK
               : gs_fail(err, GS_ENOMEM, "no memory for buckets");
}

static gs_status choose(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
    const gs_live_config *config = &shared->config;
    const gs_strategy_choice *choice = config->strategy;
    GS_TRY(gs_strategy_layout(choice->strategy, choice->config, config->job, &shared->layout, err));
    shared->streams = gs_streams_of(&shared->layout, config->job, &choice->selection);
    if (shared->layout.servers > config->job->servers) {
        return gs_fail(err, GS_EINVAL, "%s needs %u servers and the job offers %u",
                       choice->strategy->name, shared->layout.servers, config->job->servers);
    }
    shared->transport = gs_transport_find(config->transport);
    if (shared->transport == NULL) {
        return gs_fail(err, GS_EINVAL, "no transport %s here", config->transport);
    }
    shared->entity_count = config->job->ranks + shared->layout.servers;
    shared->budget_passes =
        config->budget_steps * (config->job->accumulation > 0 ? config->job->accumulation : 1);
    shared->process_count = 1;
    if (config->crew != NULL) {
        shared->process = gs_crew_self(config->crew);
        shared->process_count = gs_crew_size(config->crew);
        shared->beats = GS_TAKE(&live->arena, gs_live_beat, shared->process_count);
        if (shared->beats == NULL) {
            return gs_fail(err, GS_ENOMEM, "no memory for %u processes", shared->process_count);
        }
    }
    return make_buckets(live, err);
}

static gs_status open_transport(gs_live_shared *shared, gs_error *err)
{
    const gs_live_config *config = &shared->config;
    gs_transport_config transport = {.entities = shared->entity_count,
                                     .planes = GS_PLANE_PARTS + gs_streams_count(&shared->streams),
                                     .number = config->number,
                                     .crew = config->crew,
                                     .latency_ns = config->latency_ns,
                                     .jitter_ns = config->jitter_ns,
                                     .delay = config->delay,
                                     .delay_ns = config->delay_ns,
                                     .rendezvous = config->rendezvous,
                                     .seed = config->delay_seed};
    GS_TRY(shared->transport->open(&transport, &shared->net, err));
    shared->places = shared->transport->places(shared->net);
    return GS_OK;
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
        .gated = shared->layout.gated ? 1 : 0,
    };
    (void)snprintf(about.strategy, sizeof about.strategy, "%s", config->strategy->strategy->name);
    return gs_recording_init(&shared->recording, &about, err);
}

static bool is_here(const gs_live_shared *shared, uint32_t entity)
{
    return shared->transport->place_of(shared->net, entity) != GS_NOT_HERE;
}

static gs_status make(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
    GS_TRY(choose(live, err));
    GS_TRY(open_transport(shared, err));
    GS_TRY(start_recording(shared, err));
    live->entities = calloc(shared->entity_count, sizeof *live->entities);
    live->finals = calloc(shared->entity_count, sizeof *live->finals);
    if (live->entities == NULL || live->finals == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for %u entities", shared->entity_count);
    }
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        if (is_here(shared, i)) {
            GS_TRY(gs_live_entity_init(&live->entities[i], shared, gs_live_peer(shared, i), err));
        }
    }
    return GS_OK;
}

gs_live *gs_live_create(const gs_live_config *config, gs_error *err)
{
    GS_ASSERT(config->delay_ns > 0 && config->deadline_ns > 0);
    GS_ASSERT(config->compute == GS_COMPUTE_TRAIN || config->scenario != NULL);
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
    for (uint32_t i = 0; live->entities != NULL && i < live->shared.entity_count; i++) {
        gs_live_entity_fini(&live->entities[i]);
    }
    free(live->entities);
    free(live->finals);
    if (live->shared.net != NULL) {
        live->shared.transport->close(live->shared.net);
    }
    gs_recording_fini(&live->shared.recording);
    gs_live_log_fini(&live->shared.log);
    gs_arena_fini(&live->arena);
    (void)pthread_mutex_destroy(&live->shared.lock);
    free(live);
}

/* ---------------------------------------------------------------- the end */

/* Adds who waits for whom to the error. */
static void tell_waits(gs_live *live)
{
    char *text = live->shared.error.text;
    for (uint32_t i = 0; i < live->shared.entity_count; i++) {
        if (live->finals[i].waits[0] != '\0') {
            size_t used = strlen(text);
            (void)snprintf(text + used, GS_ERROR_TEXT_BYTES - used, "; %s", live->finals[i].waits);
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
        if (live->finals[rank].op_streams[i] != live->finals[*out_first].op_streams[i]) {
            return true;
        }
    }
    return false;
}

static void check_streams(gs_live *live)
{
    for (uint32_t i = 1; i < live->shared.config.job->ranks; i++) {
        uint32_t first;
        if (streams_differ(live, i, &first)) {
            gs_error err;
            (void)gs_fail(&err, GS_EMISMATCH,
                          "workers %u and %u did not issue the same collectives in the same order",
                          first, i);
            gs_live_fail(&live->shared, &err);
        }
    }
}

/* The run ended well here: nothing may be left over, and the weights are finite. */
static void check_own(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_parcel *parcel;
    for (uint32_t i = 0; i < shared->places; i++) {
        while (shared->status == GS_OK && shared->transport->left_over(shared->net, i, &parcel)) {
            if (parcel->to < shared->entity_count && is_here(shared, parcel->to)) {
                gs_live_entity_left_over(&live->entities[parcel->to], parcel);
            }
        }
    }
    for (uint32_t i = 0; i < shared->config.job->ranks; i++) {
        const gs_live_entity *worker = &live->entities[i];
        uint32_t vector;
        double weight;
        gs_error err;
        if (!is_here(shared, i)) {
            continue;
        }
        gs_driver_model_view(worker->driver, &vector, &weight);
        if (gs_entity_memory_check(&worker->memory, vector, &err) != GS_OK) {
            (void)gs_fail_in(&err, "step %lld", (long long)gs_driver_step(worker->driver));
            gs_live_fail(shared, &err);
        }
    }
}

static void lose(gs_live_shared *shared, const gs_error *err)
{
    if (shared->status == GS_OK || shared->status == GS_EDEADLOCK) {
        shared->status = err->code;
        shared->error = *err;
    }
}

/* Everybody's end becomes known. */
static void join(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_error err;
    if (shared->status == GS_OK) {
        check_own(live);
    }
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        if (is_here(shared, i) &&
            !gs_live_final_of(&live->entities[i], &live->arena, &live->finals[i])) {
            gs_live_fail_memory(shared, "the results of the run");
        }
    }
    if (shared->config.crew != NULL &&
        gs_live_finals_gather(shared, live->finals, &live->arena, &err) != GS_OK) {
        lose(shared, &err);
    }
    bool is_whole = shared->process == 0;
    if (is_whole && shared->status == GS_EDEADLOCK) {
        tell_waits(live);
    }
    if (is_whole && shared->status == GS_OK) {
        check_streams(live);
    }
}

static gs_status add_rows(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
    const gs_live_config *config = &shared->config;
    GS_TRY(gs_live_log_rows(&shared->log, &shared->layout, config->job->ranks, config->rows,
                            &live->end_ns, err));
    return gs_live_look_rows(&live->entities[0], live->finals, config->rows, err);
}

typedef struct rows_thread {
    gs_live *live;
    gs_status status;
    gs_error error;
    atomic_bool is_over;
} rows_thread;

static void *run_rows(void *argument)
{
    rows_thread *own = argument;
    own->status = add_rows(own->live, &own->error);
    atomic_store(&own->is_over, true);
    gs_crew_wake(own->live->shared.config.crew);
    return NULL;
}

/* Evaluating may take longer than the deadline, within which the others want to hear of process 0.
 */
static gs_status add_rows_beside(gs_live *live, gs_error *err)
{
    gs_crew *crew = live->shared.config.crew;
    rows_thread rows = {.live = live};
    pthread_t thread;
    if (crew == NULL || gs_crew_broken(crew) != NULL ||
        pthread_create(&thread, NULL, run_rows, &rows) != 0) {
        return add_rows(live, err);
    }
    gs_crew_live_on(crew, &rows.is_over);
    (void)pthread_join(thread, NULL);
    *err = rows.error;
    return rows.status;
}

static void end(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_error err;
    join(live);
    gs_live_result result;
    gs_live_result_get(live, &result);
    const gs_job *job = shared->config.job;
    shared->recording.about.weights_hash = result.weights_hash;
    if (shared->config.record && gs_recording_set_units(&shared->recording, job->unit_elements,
                                                        job->unit_count, &err) != GS_OK) {
        lose(shared, &err);
    }
    if (shared->config.record &&
        gs_recording_set_origin(&shared->recording, shared->config.origin, &err) != GS_OK) {
        lose(shared, &err);
    }
    if (shared->process != 0 || shared->config.rows == NULL || shared->config.scenario == NULL) {
        return;
    }
    gs_status status = add_rows_beside(live, &err);
    if (status == GS_OK) {
        status = gs_staleness_store(&result.staleness, gs_record_series(shared->config.rows));
    }
    if (status != GS_OK && shared->status == GS_OK) {
        shared->status = status;
        shared->error = err;
    }
}

/* ---------------------------------------------------------------- the run */

static void check_interrupt(gs_live_shared *shared)
{
    if (shared->config.interrupted != NULL && shared->config.interrupted()) {
        gs_error err;
        (void)gs_fail(&err, GS_EINTERRUPTED, "interrupted%s",
                      shared->process_count > 1 ? ": a process was told to end" : "");
        gs_live_fail(shared, &err);
    }
}

static void fail_broken(gs_live_shared *shared)
{
    const gs_error *broken =
        shared->config.crew != NULL ? gs_crew_broken(shared->config.crew) : NULL;
    if (broken != NULL) {
        gs_live_fail(shared, broken);
    } else {
        gs_live_fail_memory(shared, "parcels that came");
    }
}

static void handle(gs_live *live, gs_parcel *parcel)
{
    gs_live_shared *shared = &live->shared;
    atomic_store(&shared->progress_ns, gs_live_clock());
    if (parcel->kind == GS_PARCEL_WORD) {
        gs_live_hear(shared, parcel);
        (void)shared->transport->release(shared->net, parcel);
        return;
    }
    if (gs_parcel_is_on_channel(parcel->kind)) {
        (void)atomic_fetch_add(&shared->parcels_taken, 1);
    }
    gs_live_entity_handle(&live->entities[parcel->to], parcel);
}

/* How often place 0 looks for signals and for who is gone. */
static const gs_time_ns look_around_ns = 20 * GS_NS_PER_MS;

static bool computes(gs_live *live, uint32_t place)
{
    for (uint32_t i = 0; i < live->shared.entity_count; i++) {
        if (live->shared.transport->place_of(live->shared.net, i) == place &&
            gs_live_is_computing(&live->entities[i])) {
            return true;
        }
    }
    return false;
}

static void run_place(gs_live *live, uint32_t place)
{
    gs_live_shared *shared = &live->shared;
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        if (shared->transport->place_of(shared->net, i) == place) {
            gs_live_entity_start(&live->entities[i]);
        }
    }
    for (;;) {
        gs_parcel *parcel = NULL;
        gs_time_ns until_ns = gs_live_clock() + look_around_ns;
        (void)atomic_fetch_add(&shared->waiting, 1);
        gs_take taken = shared->transport->take(shared->net, place, until_ns, &parcel);
        if (place == 0 && taken != GS_TAKE_STOPPED && taken != GS_TAKE_BROKEN) {
            gs_live_look_around(shared);
        }
        (void)atomic_fetch_sub(&shared->waiting, 1);
        if (taken == GS_TAKE_STOPPED) {
            return;
        }
        if (taken == GS_TAKE_BROKEN) {
            fail_broken(shared);
        } else if (taken == GS_TAKE_PARCEL) {
            handle(live, parcel);
        } else if (taken == GS_TAKE_LATER || computes(live, place)) {
            atomic_store(&shared->progress_ns, gs_live_clock());
        }
        if (place == 0) {
            check_interrupt(shared);
        }
    }
}

typedef struct place_thread {
    gs_live *live;
    uint32_t place;
    pthread_t thread;
} place_thread;

static void *run_thread(void *argument)
{
    const place_thread *own = argument;
    run_place(own->live, own->place);
    return NULL;
}

/* Place 0 is the calling thread: carriers belong to it. */
static void run_places(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    place_thread *threads = GS_TAKE(&live->arena, place_thread, shared->places);
    uint32_t started = 1;
    if (threads == NULL) {
        gs_live_fail_memory(shared, "threads");
        return;
    }
    for (; started < shared->places; started++) {
        threads[started] = (place_thread){.live = live, .place = started};
        if (pthread_create(&threads[started].thread, NULL, run_thread, &threads[started]) != 0) {
            gs_error err;
            (void)gs_fail(&err, GS_ENOMEM, "thread %u of %u could not be started", started,
                          shared->places);
            gs_live_fail(shared, &err);
            break;
        }
    }
    run_place(live, 0);
    for (uint32_t i = 1; i < started; i++) {
        (void)pthread_join(threads[i].thread, NULL);
    }
}

/* All processes begin at one time, each by its own clock. */
static gs_status meet(gs_live_shared *shared, gs_error *err)
{
    const gs_live_config *config = &shared->config;
    char mine[256];
    if (config->crew == NULL) {
        shared->start_ns = gs_live_clock();
        return GS_OK;
    }
    (void)snprintf(mine, sizeof mine,
                   "%.80s, %u ranks, %u servers, %lld elements, %lld steps, seed %llu",
                   config->strategy->strategy->name, config->job->ranks, shared->layout.servers,
                   (long long)config->job->elements, (long long)config->budget_steps,
                   (unsigned long long)config->job->seed);
    GS_TRY(gs_crew_same(config->crew, "job", mine, err));
    GS_TRY(gs_crew_meet(config->crew, &shared->start_ns, err));
    for (uint32_t i = 0; i < shared->process_count; i++) {
        shared->beats[i].at_ns = shared->start_ns;
    }
    if (gs_crew_self(config->crew) == 0) {
        /* For who changes the network while a run goes on: tests/testbed does. */
        gs_log(GS_LOG_INFO, "live: the run begins in %.3f ms",
               (double)(shared->start_ns - gs_live_clock()) / (double)GS_NS_PER_MS);
    }
    while (gs_live_clock() < shared->start_ns) {
        gs_crew_wait(config->crew, shared->start_ns);
    }
    return GS_OK;
}

/* Who is told to end is killed soon after; mpirun, which tells all others when it has lost one,
 * waits for a second, or until another ends. What there is must be written by then, so process 0
 * is in a hurry, and the others wait for it. */
static const gs_time_ns interrupted_ns = 100 * GS_NS_PER_MS;

/* All that was sent leaves, and process 0 hears how everybody ended, as long as there is time. */
static void end_together(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_crew *crew = shared->config.crew;
    gs_time_ns until_ns = gs_live_clock() + shared->config.deadline_ns;
    if (shared->status != GS_OK) {
        gs_live_stop_all(shared);
    }
    if (shared->status == GS_EINTERRUPTED) {
        until_ns = gs_live_clock() + interrupted_ns;
    }
    if (shared->status == GS_EINTERRUPTED && shared->process == 0) {
        gs_crew_hurry(crew, until_ns + 2 * interrupted_ns);
    }
    shared->transport->drain(shared->net, until_ns);
    end(live);
    gs_crew_hurry(crew, GS_TIME_NEVER);
}

void gs_live_run(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_error err;
    if (meet(shared, &err) != GS_OK) {
        shared->status = err.code;
        shared->error = err;
        return;
    }
    atomic_store(&shared->progress_ns, gs_live_clock());
    run_places(live);
    if (shared->config.crew != NULL) {
        end_together(live);
    } else {
        end(live);
    }
}

/* ---------------------------------------------------------------- results */

static uint64_t weights_hash(const gs_live *live)
{
    uint64_t hash = 0;
    for (uint32_t rank = 0; rank < live->shared.config.job->ranks; rank++) {
        const gs_live_final *final = &live->finals[rank];
        if (final->model != NULL) {
            hash = gs_hash(hash, final->model, final->model_count * sizeof *final->model);
        }
    }
    return hash;
}

/* Where there is no memory to look at all models at once it is not known. */
static void set_consensus(const gs_live *live, gs_run_facts *facts)
{
    uint32_t ranks = live->shared.config.job->ranks;
    const float **models = calloc(ranks, sizeof *models);
    double *weights = calloc(ranks, sizeof *weights);
    facts->has_models = models != NULL && weights != NULL;
    for (uint32_t rank = 0; facts->has_models && rank < ranks; rank++) {
        models[rank] = live->finals[rank].model;
        weights[rank] = live->finals[rank].model_weight;
        facts->has_models = models[rank] != NULL;
    }
    if (facts->has_models) {
        facts->consensus_distance =
            gs_consensus_distance(models, weights, ranks, live->finals[0].model_count);
    }
    free(models);
    free(weights);
}

static void set_facts(const gs_live *live, const gs_staleness *staleness, gs_run_facts *facts)
{
    const gs_live_config *config = &live->shared.config;
    const gs_workload *workload = &config->scenario->workload;
    int64_t dropped_elements = 0;
    facts->nic_count = live->shared.entity_count;
    facts->samples_per_step =
        config->job->ranks * config->job->accumulation * workload->batch_per_rank;
    facts->end_ns = live->end_ns;
    facts->diverged = live->shared.status == GS_EDIVERGED;
    facts->target_quality = workload->quality;
    facts->target_value = workload->target_value;
    facts->is_text = config->task != NULL && gs_task_network(config->task)->data.is_tokens;
    for (uint32_t i = 0; i < live->shared.entity_count; i++) {
        const gs_live_final *final = &live->finals[i];
        facts->nic_bytes_sent += final->bytes_sent;
        facts->rounded_elements += final->rounded_elements;
        facts->underflown_elements += final->underflown_elements;
        dropped_elements += final->dropped_elements;
        facts->cancelled_samples += final->cancelled_passes * workload->batch_per_rank;
    }
    double dropped = (double)dropped_elements / (double)config->job->elements;
    facts->dropped_samples =
        (int64_t)(dropped * (double)(config->job->accumulation * workload->batch_per_rank) + 0.5);
    facts->applied_gradients = staleness->count;
    facts->staleness_mean = gs_staleness_mean(staleness);
    facts->staleness_p95 = gs_staleness_quantile(staleness, 0.95);
    facts->staleness_max = (double)staleness->max;
    facts->gradient_cosine = (double)NAN;
    facts->noise_scale_samples = (double)NAN;
    set_consensus(live, facts);
}

void gs_live_result_get(const gs_live *live, gs_live_result *out)
{
    const gs_live_shared *shared = &live->shared;
    const gs_live_final *first = &live->finals[0];
    *out = (gs_live_result){.status = shared->status,
                            .error = shared->error,
                            .steps = INT64_MAX,
                            .weights_hash = weights_hash(live),
                            .gradients = atomic_load(&shared->gradients)};
    if (first->is_known) {
        out->op_stream_hash =
            gs_hash(0, first->op_streams, shared->layout.communicator_count * sizeof(uint64_t));
    }
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        const gs_live_final *final = &live->finals[i];
        if (i < shared->config.job->ranks && final->is_known && final->steps < out->steps) {
            out->steps = final->steps;
        }
        gs_staleness_merge(&out->staleness, &final->staleness);
    }
    out->steps = out->steps == INT64_MAX ? 0 : out->steps;
    if (shared->config.scenario != NULL) {
        set_facts(live, &out->staleness, &out->facts);
    }
}

const float *gs_live_weights(const gs_live *live, uint32_t rank, size_t *out_count)
{
    GS_ASSERT(rank < live->shared.config.job->ranks);
    *out_count = live->finals[rank].model_count;
    return live->finals[rank].model;
}

static const gs_live_entity *entity_at(const gs_live *live, gs_peer peer)
{
    uint32_t ranks = live->shared.config.job->ranks;
    uint32_t number = peer.role == GS_WORKER ? peer.index : ranks + peer.index;
    GS_ASSERT(number < live->shared.entity_count && is_here(&live->shared, number));
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
