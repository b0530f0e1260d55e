#include "live/live_entity.h"

#include "base/assert.h"

#include <stdlib.h>

void gs_live_fail(gs_live_shared *shared, const gs_error *err)
{
    (void)pthread_mutex_lock(&shared->lock);
    if (shared->status == GS_OK) {
        shared->status = err->code;
        shared->error = *err;
    }
    (void)pthread_mutex_unlock(&shared->lock);
    shared->transport->stop(shared->net);
}

void gs_live_fail_memory(gs_live_shared *shared, const char *what)
{
    gs_error err;
    (void)gs_fail(&err, GS_ENOMEM, "no memory for %s", what);
    gs_live_fail(shared, &err);
}

void gs_live_post(gs_live_shared *shared, const gs_parcel *parcel, bool keep)
{
    if (!shared->transport->send(shared->net, parcel, keep)) {
        gs_live_fail_memory(shared, "a parcel");
    }
}

void gs_live_post_own(gs_live_entity *entity, gs_parcel_kind kind)
{
    gs_parcel parcel = {.kind = kind, .from = entity->number, .to = entity->number};
    gs_live_post(entity->shared, &parcel, false);
}

gs_peer gs_live_peer(const gs_live_shared *shared, uint32_t number)
{
    uint32_t ranks = shared->config.job->ranks;
    return number < ranks ? (gs_peer){GS_WORKER, (uint16_t)number}
                          : (gs_peer){GS_SERVER, (uint16_t)(number - ranks)};
}

/* ---------------------------------------------------------------- creation */

static bool take_channels(gs_live_entity *entity)
{
    const gs_live_shared *shared = entity->shared;
    size_t communicators = shared->layout.communicator_count;
    size_t streams = gs_streams_count(&shared->streams);
    size_t inboxes = streams * shared->config.job->ranks;
    size_t channels = (GS_PLANE_PARTS + streams) * shared->entity_count;
    gs_arena *arena = &entity->arena;
    entity->sent = GS_TAKE(arena, uint64_t, channels);
    entity->first = GS_TAKE(arena, gs_parcel *, inboxes);
    entity->last = GS_TAKE(arena, gs_parcel *, inboxes);
    entity->unsent = GS_TAKE(arena, uint32_t, communicators);
    entity->flushes = GS_TAKE(arena, gs_parcel, communicators);
    entity->op_streams = GS_TAKE(arena, uint64_t, communicators);
    return entity->sent != NULL && entity->first != NULL && entity->last != NULL &&
           entity->unsent != NULL && entity->flushes != NULL && entity->op_streams != NULL;
}

gs_status gs_live_entity_init(gs_live_entity *entity, gs_live_shared *shared, gs_peer self,
                              gs_error *err)
{
    const gs_live_config *config = &shared->config;
    *entity = (gs_live_entity){.shared = shared, .self = self};
    entity->number = self.role == GS_WORKER ? self.index : config->job->ranks + self.index;
    gs_arena_init(&entity->arena);
    if (config->device != NULL) {
        GS_TRY(config->device->open(config->device_number, &entity->device, err));
    }
    gs_entity_memory_config memory = {.job = config->job,
                                      .layout = &shared->layout,
                                      .more_vectors = shared->relay.code_vectors,
                                      .self = self,
                                      .task = config->task,
                                      .batch_per_rank = config->batch_per_rank,
                                      .number = config->number,
                                      .staleness = &entity->staleness,
                                      .device = config->device,
                                      .device_context = entity->device};
    if (config->task != NULL && self.role == GS_WORKER) {
        GS_TRY(gs_task_workspace_create(config->task,
                                        gs_samples_max(&shared->layout, config->batch_per_rank),
                                        &entity->arena, &entity->workspace, err));
    }
    GS_TRY(gs_entity_memory_init(&entity->memory, &memory, &entity->arena, err));
    if (self.role == GS_WORKER) {
        GS_TRY(gs_live_computer_open(entity, err));
    }
    entity->wires = gs_wires_create(&shared->relay, &entity->memory, &entity->arena);
    if (entity->wires == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for entity %u", entity->number);
    }
    entity->wire = entity->wires[0];
    gs_driver_config driver = {.strategy = config->strategy->strategy,
                               .strategy_config = config->strategy->config,
                               .job = config->job,
                               .layout = &shared->relay.list[0].layout,
                               .relay = shared->relay.count > 1 ? &shared->relay : NULL,
                               .coding = &config->strategy->coding,
                               .selection = &config->strategy->selection,
                               .buckets = shared->buckets,
                               .self = self,
                               .calls = &gs_live_calls,
                               .host = entity,
                               .swap_state = config->swap_state};
    if (take_channels(entity)) {
        entity->driver = gs_driver_create(&driver, &entity->arena);
    }
    if (entity->driver == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for entity %u", entity->number);
    }
    return gs_live_look_open(entity, err);
}

void gs_live_entity_fini(gs_live_entity *entity)
{
    if (entity->shared == NULL) {
        return; /* another process has it */
    }
    if (entity->computer != NULL) {
        gs_live_computer_close(entity->computer);
    }
    gs_live_shelf_close(&entity->shelf);
    if (entity->device != NULL) {
        entity->shared->config.device->close(entity->device);
    }
    gs_arena_fini(&entity->arena);
}

/* ---------------------------------------------------------------- times */

gs_time_ns gs_live_stamp(gs_live_shared *shared)
{
    gs_time_ns apart = 1; /* a power of two that keeps the times of processes apart */
    while (apart < (gs_time_ns)shared->process_count) {
        apart *= 2;
    }
    gs_time_ns now = gs_live_clock() - shared->start_ns;
    gs_time_ns at = now > shared->stamped_ns ? now : shared->stamped_ns + 1;
    at = (at + apart - 1) / apart * apart + (gs_time_ns)shared->process;
    shared->stamped_ns = at;
    return at;
}

/* Writes an input down and gives its time: one order for the whole run, taken before anybody acts
 * on it. */
static gs_time_ns stamp(gs_live_entity *entity, gs_input_record record, gs_time_ns not_before_ns)
{
    gs_live_shared *shared = entity->shared;
    record.entity = entity->self;
    (void)pthread_mutex_lock(&shared->lock);
    if (not_before_ns > shared->stamped_ns) {
        shared->stamped_ns = not_before_ns;
    }
    record.at_ns = gs_live_stamp(shared);
    bool ok = !shared->config.record || gs_recording_add(&shared->recording, &record) == GS_OK;
    (void)pthread_mutex_unlock(&shared->lock);
    if (!ok) {
        gs_live_fail_memory(shared, "a record");
    }
    entity->now = record.at_ns;
    return record.at_ns;
}

static gs_time_ns stamp_plain(gs_live_entity *entity, gs_input_kind kind, uint64_t sequence)
{
    return stamp(entity, (gs_input_record){.kind = (uint8_t)kind, .sequence = sequence}, 0);
}

static gs_time_ns stamp_arrival(gs_live_entity *entity, gs_input_kind kind, const gs_parcel *parcel)
{
    uint32_t stream = kind == GS_INPUT_PART ? parcel->plane - GS_PLANE_PARTS : 0;
    return stamp(entity,
                 (gs_input_record){.kind = (uint8_t)kind,
                                   .sequence = parcel->sequence,
                                   .source = gs_live_peer(entity->shared, parcel->from),
                                   .stream = (uint16_t)stream},
                 parcel->sent_ns);
}

/* An all-reduce of the network's own: in no recording, since nothing could add the numbers up in
 * the order that only the network knows. */
static gs_time_ns stamp_native(gs_live_entity *entity)
{
    (void)pthread_mutex_lock(&entity->shared->lock);
    entity->now = gs_live_stamp(entity->shared);
    (void)pthread_mutex_unlock(&entity->shared->lock);
    return entity->now;
}

void gs_live_note(gs_live_entity *entity, gs_live_entry entry)
{
    gs_live_shared *shared = entity->shared;
    if (shared->config.scenario == NULL || entity->self.role != GS_WORKER) {
        return;
    }
    entry.rank = entity->self.index;
    (void)pthread_mutex_lock(&shared->lock);
    entry.at_ns = gs_live_stamp(shared);
    bool ok = gs_live_log_add(&shared->log, &entry);
    (void)pthread_mutex_unlock(&shared->lock);
    if (!ok) {
        gs_live_fail_memory(shared, "what the ranks did");
    }
}

/* ---------------------------------------------------------------- steps */

void gs_live_entity_drained(gs_live_entity *entity)
{
    gs_live_look_drained(entity);
    gs_live_note(entity, (gs_live_entry){.act = GS_ACT_DRAINED,
                                         .amount = entity->bytes_sent,
                                         .from_ns = gs_live_compute_free_ns(entity)});
    gs_live_count_more(entity->shared, GS_COUNT_DRAINED, 1);
}

static void quiesce(gs_live_entity *entity, int64_t cut_step)
{
    if (entity->quiesced) {
        return;
    }
    entity->quiesced = true;
    gs_time_ns at = stamp_plain(entity, GS_INPUT_QUIESCE, 0);
    gs_driver_quiesce(entity->driver, at, cut_step);
}

/* In a handover nobody is to stop: the leg that follows does. */
static gs_cut cut_of(const gs_live_entity *entity)
{
    const gs_relay *relay = &entity->shared->relay;
    return entity->leg < relay->count ? relay->list[entity->leg].layout.cut : GS_CUT_COMMON;
}

/* The step that all stop before, which the budget says. */
static int64_t cut_step(const gs_live_entity *entity)
{
    return cut_of(entity) == GS_CUT_OWN ? -1 : entity->shared->config.budget_steps;
}

/* Everybody is to stop where it is, as far as its strategy does that. */
static void stop_here(gs_live_entity *entity)
{
    entity->stops = true;
    if (entity->self.role == GS_SERVER || cut_of(entity) == GS_CUT_OWN) {
        quiesce(entity, cut_step(entity));
    }
}

static void swap(gs_live_entity *entity, uint32_t leg)
{
    gs_time_ns at = stamp_plain(entity, GS_INPUT_SWAP, leg);
    gs_driver_swap(entity->driver, at, leg);
}

static void begin_step(gs_live_entity *entity)
{
    gs_live_shared *shared = entity->shared;
    if (entity->quiesced || entity->in_backward) {
        return;
    }
    if (entity->stops && cut_of(entity) == GS_CUT_OWN) {
        quiesce(entity, -1);
        return;
    }
    if (cut_of(entity) == GS_CUT_COMMON && entity->leg < shared->relay.count &&
        entity->passes_begun + entity->passes_more >= shared->budget_passes) {
        quiesce(entity, entity->steps_begun);
        gs_live_count_more(shared, GS_COUNT_TOLD, 1);
        return;
    }
    gs_live_look_by_mean(entity, false);
    gs_time_ns at = stamp_plain(entity, GS_INPUT_STEP, 0);
    gs_driver_step_begin(entity->driver, at, &entity->plan);
    if (!entity->plan.go) {
        return;
    }
    gs_live_note(entity, (gs_live_entry){.act = GS_ACT_STEP,
                                         .amount = entity->bytes_sent,
                                         .from_ns = entity->plan.closed_buckets > 0
                                                        ? 0
                                                        : gs_live_compute_free_ns(entity)});
    entity->steps_begun++;
    entity->passes_begun += entity->plan.micro_steps;
    /* DDP rebuilds its buckets once, after the first step, in the order in which gradients came. */
    if (entity->steps_begun == 1 && shared->buckets_rebuilt != NULL) {
        gs_driver_set_buckets(entity->driver, shared->buckets_rebuilt);
    }
    entity->in_backward = true;
    if (entity->plan.closed_buckets == 0) {
        gs_live_compute_begin(entity); /* else once the strategy has opened all */
    }
}

void gs_live_entity_unit(gs_live_entity *entity, uint32_t unit)
{
    gs_driver_unit_ready(entity->driver, stamp_plain(entity, GS_INPUT_UNIT, unit), unit);
}

void gs_live_entity_backward(gs_live_entity *entity, double loss)
{
    entity->in_backward = false;
    gs_time_ns at = stamp_plain(entity, GS_INPUT_BACKWARD, entity->plan.micro_steps);
    gs_driver_backward_done(entity->driver, at, loss);
    (void)atomic_fetch_add(&entity->shared->gradients, 1);
    gs_live_count_more(entity->shared, GS_COUNT_PASSES, entity->plan.micro_steps);
    gs_live_post_own(entity, GS_PARCEL_WAKE);
}

/* ---------------------------------------------------------------- arrivals */

static void keep_part(gs_live_entity *entity, gs_parcel *part)
{
    uint32_t channel_there;
    uint32_t stream = part->plane - GS_PLANE_PARTS;
    uint32_t communicator =
        gs_streams_communicator(&entity->shared->streams, stream, &channel_there);
    uint32_t from = part->from;
    uint32_t channel = stream * entity->shared->config.job->ranks + from;
    gs_time_ns at = stamp_arrival(entity, GS_INPUT_PART, part);
    part->next = NULL;
    if (entity->first[channel] == NULL) {
        entity->first[channel] = part;
    } else {
        entity->last[channel]->next = part;
    }
    entity->last[channel] = part;
    gs_driver_part(entity->driver, at,
                   gs_driver_inbox(entity->driver, communicator, channel_there, from));
}

static void left(gs_live_entity *entity, const gs_parcel *parcel)
{
    if (parcel->plane == GS_PLANE_MESSAGES) {
        gs_live_note(entity, (gs_live_entry){.act = GS_ACT_SEND_END, .which = parcel->slot});
        gs_time_ns at = stamp_plain(entity, GS_INPUT_SENT, parcel->request);
        gs_driver_sent(entity->driver, at, parcel->slot);
        return;
    }
    uint32_t channel_there;
    uint32_t communicator = gs_streams_communicator(&entity->shared->streams,
                                                    parcel->plane - GS_PLANE_PARTS, &channel_there);
    gs_parcel *waiting = &entity->flushes[communicator];
    GS_ASSERT(entity->unsent[communicator] > 0);
    if (--entity->unsent[communicator] == 0 && waiting->kind == GS_PARCEL_FLUSHED) {
        waiting->kind = GS_PARCEL_PART; /* nobody waits */
        gs_time_ns at = stamp_plain(entity, GS_INPUT_SENT, waiting->request);
        gs_driver_sent(entity->driver, at, waiting->slot);
    }
}

static void release(gs_live_entity *entity, gs_parcel *used)
{
    if (!entity->shared->transport->release(entity->shared->net, used)) {
        gs_live_fail_memory(entity->shared, "a parcel");
    }
}

/* A parcel that only says something: what it says, then it goes home. */
static void heard(gs_live_entity *entity, gs_parcel *parcel)
{
    gs_parcel copy = *parcel;
    release(entity, parcel);
    gs_driver *driver = entity->driver;
    switch (copy.kind) {
    case GS_PARCEL_NOTE:
        gs_driver_message(driver, stamp_arrival(entity, GS_INPUT_NOTE, &copy), &copy.message);
        break;
    case GS_PARCEL_LEFT:
        left(entity, &copy);
        break;
    case GS_PARCEL_FLUSHED:
        gs_driver_sent(driver, stamp_plain(entity, GS_INPUT_SENT, copy.request), copy.slot);
        break;
    case GS_PARCEL_LATER:
        gs_driver_later(driver, stamp_plain(entity, GS_INPUT_LATER, copy.request), copy.slot);
        break;
    case GS_PARCEL_WAKE:
        begin_step(entity);
        break;
    case GS_PARCEL_COMPUTE:
        gs_live_compute_turn(entity, &copy);
        break;
    case GS_PARCEL_NATIVE:
        gs_driver_native_done(driver, stamp_native(entity), copy.slot);
        break;
    case GS_PARCEL_QUIESCE:
        stop_here(entity);
        break;
    case GS_PARCEL_SWAP:
        swap(entity, copy.slot);
        break;
    case GS_PARCEL_PART:
    case GS_PARCEL_MESSAGE:
    case GS_PARCEL_WORD:
        break;
    }
}

void gs_live_entity_handle(gs_live_entity *entity, gs_parcel *parcel)
{
    if (parcel->kind == GS_PARCEL_PART) {
        keep_part(entity, parcel);
    } else if (parcel->kind == GS_PARCEL_MESSAGE) {
        gs_message message = parcel->message;
        message.data = parcel; /* released by take */
        gs_driver_message(entity->driver, stamp_arrival(entity, GS_INPUT_MESSAGE, parcel),
                          &message);
    } else {
        heard(entity, parcel);
    }
}

void gs_live_entity_start(gs_live_entity *entity)
{
    gs_driver_start(entity->driver, stamp_plain(entity, GS_INPUT_START, 0));
    if (entity->self.role == GS_WORKER) {
        gs_live_post_own(entity, GS_PARCEL_WAKE);
    }
}

void gs_live_entity_left_over(gs_live_entity *entity, const gs_parcel *parcel)
{
    gs_live_shared *shared = entity->shared;
    gs_peer from = gs_live_peer(shared, parcel->from);
    gs_error err;
    if (parcel->kind == GS_PARCEL_MESSAGE || parcel->kind == GS_PARCEL_NOTE) {
        gs_driver_message(entity->driver, entity->now, &parcel->message);
    } else if (parcel->kind == GS_PARCEL_PART) {
        (void)gs_fail(&err, GS_EMISMATCH,
                      "worker %d has drained and worker %d sent it a part of %s %llu "
                      "(label %llu, communicator %u): ranks must issue the same requests",
                      entity->self.index, from.index,
                      gs_collective_kind_name(parcel->signature.kind),
                      (unsigned long long)parcel->signature.sequence,
                      (unsigned long long)parcel->signature.label, parcel->signature.communicator);
        gs_live_fail(shared, &err);
    }
}
