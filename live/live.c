#include "live/live.h"

#include "base/assert.h"
#include "base/log.h"
#include "live/crew.h"
#include "live/live_parts.h"
#include "strategies/registry.h"

#include <stdio.h>
#include <stdlib.h>

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
    for (uint32_t i = 0; i < shared->relay.count; i++) {
        gs_leg *leg = &shared->relay.list[i];
        const gs_bucket_rule *rule = &leg->layout.buckets;
        bool is_rebuilt = config->scenario != NULL && !leg->layout.gated;
        leg->buckets = gs_bucket_plan_make(config->job, rule, NULL, &live->arena);
        if (is_rebuilt) {
            leg->buckets_rebuilt =
                gs_scenario_ready_buckets(config->scenario, config->job, rule, &live->arena);
        }
        if (leg->buckets == NULL || (is_rebuilt && leg->buckets_rebuilt == NULL)) {
            return gs_fail(err, GS_ENOMEM, "no memory for buckets");
        }
    }
    shared->buckets = shared->relay.list[0].buckets;
    shared->buckets_rebuilt = shared->relay.list[0].buckets_rebuilt;
    return GS_OK;
}

static gs_status choose(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
    const gs_live_config *config = &shared->config;
    const gs_strategy_choice *choice = config->strategy;
    GS_TRY(gs_scenario_relay(choice, config->job, &shared->relay, err));
    shared->layout = shared->relay.layout;
    shared->streams = gs_relay_streams(&shared->relay, config->job);
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

bool gs_live_is_here(const gs_live_shared *shared, uint32_t entity)
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
    if (shared->config.crew != NULL && shared->process == 0) {
        live->shelves = calloc(shared->config.job->ranks, sizeof *live->shelves);
    }
    if (live->entities == NULL || live->finals == NULL ||
        (live->shelves == NULL && shared->config.crew != NULL && shared->process == 0)) {
        return gs_fail(err, GS_ENOMEM, "no memory for %u entities", shared->entity_count);
    }
    for (uint32_t i = 0; i < shared->entity_count; i++) {
        if (gs_live_is_here(shared, i)) {
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
    for (uint32_t i = 0; live->shelves != NULL && i < live->shared.config.job->ranks; i++) {
        gs_live_shelf_close(&live->shelves[i]);
    }
    free(live->shelves);
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

/* What the others of this host keep: it outlives them. */
static void find_shelves(gs_live *live)
{
    const gs_live_shelf *own = &live->entities[0].shelf;
    for (uint32_t i = 1; own->file_after > 0 && i < live->shared.config.job->ranks; i++) {
        int64_t pid = gs_crew_pid_here(live->shared.config.crew, i);
        if (pid > 0) {
            gs_live_shelf_find(&live->shelves[i], pid, own->elements);
        }
    }
}

/* All processes begin at one time, each by its own clock. */
static gs_status meet(gs_live *live, gs_error *err)
{
    gs_live_shared *shared = &live->shared;
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
        find_shelves(live);
        /* For who changes the network while a run goes on: tests/testbed does. */
        gs_log(GS_LOG_INFO, "live: the run begins in %.3f ms",
               (double)(shared->start_ns - gs_live_clock()) / (double)GS_NS_PER_MS);
    }
    while (gs_live_clock() < shared->start_ns) {
        gs_crew_wait(config->crew, shared->start_ns);
    }
    return GS_OK;
}

void gs_live_run(gs_live *live)
{
    gs_live_shared *shared = &live->shared;
    gs_error err;
    if (meet(live, &err) != GS_OK) {
        shared->status = err.code;
        shared->error = err;
        return;
    }
    atomic_store(&shared->progress_ns, gs_live_clock());
    run_places(live);
    gs_live_end(live);
}
