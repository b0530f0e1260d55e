#include "live/live_entity.h"

#include "base/assert.h"

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

static void fail_no_memory(gs_live_shared *shared, const char *what)
{
    gs_error err;
    (void)gs_fail(&err, GS_ENOMEM, "no memory for %s", what);
    gs_live_fail(shared, &err);
}

void gs_live_post(gs_live_entity *entity, const gs_parcel *parcel, bool keep)
{
    gs_live_shared *shared = entity->shared;
    if (!shared->transport->send(shared->net, parcel, keep)) {
        fail_no_memory(shared, "a parcel");
    }
}

static void post_to(gs_live_entity *entity, gs_parcel_kind kind, uint32_t to)
{
    gs_live_post(entity, &(gs_parcel){.kind = kind, .from = entity->number, .to = to}, false);
}

/* ---------------------------------------------------------------- creation */

static bool take_channels(gs_live_entity *entity)
{
    const gs_live_shared *shared = entity->shared;
    size_t communicators = shared->layout.communicator_count;
    size_t inboxes = communicators * shared->config.job->ranks;
    size_t channels = (GS_PLANE_PARTS + communicators) * shared->entity_count;
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
    gs_entity_memory_config memory = {.job = config->job,
                                      .layout = &shared->layout,
                                      .coding = &config->strategy->coding,
                                      .self = self,
                                      .task = config->task,
                                      .batch_per_rank = config->batch_per_rank,
                                      .number = config->number,
                                      .staleness = &entity->staleness};
    if (config->task != NULL && self.role == GS_WORKER) {
        GS_TRY(gs_task_workspace_create(config->task,
                                        gs_samples_max(&shared->layout, config->batch_per_rank),
                                        &entity->arena, &entity->workspace, err));
    }
    GS_TRY(gs_entity_memory_init(&entity->memory, &memory, &entity->arena, err));
    if (memory.coding->codec != NULL) {
        entity->wire = gs_wire_create(memory.coding, &entity->memory, &entity->arena);
        if (entity->wire == NULL) {
            return gs_fail(err, GS_ENOMEM, "no memory for entity %u", entity->number);
        }
    }
    gs_driver_config driver = {.strategy = config->strategy->strategy,
                               .strategy_config = config->strategy->config,
                               .job = config->job,
                               .layout = &shared->layout,
                               .coding = &config->strategy->coding,
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
    return GS_OK;
}

void gs_live_entity_fini(gs_live_entity *entity)
{
    gs_arena_fini(&entity->arena);
}

/* ---------------------------------------------------------------- inputs */

static gs_peer peer_of(const gs_live_entity *entity, uint32_t number)
{
    uint32_t ranks = entity->shared->config.job->ranks;
    return number < ranks ? (gs_peer){GS_WORKER, (uint16_t)number}
                          : (gs_peer){GS_SERVER, (uint16_t)(number - ranks)};
}

/* Writes an input down and gives its time: one order for the whole run, taken before anybody acts
 * on it. */
static gs_time_ns stamp(gs_live_entity *entity, gs_input_record record)
{
    gs_live_shared *shared = entity->shared;
    record.entity = entity->self;
    (void)pthread_mutex_lock(&shared->lock);
    record.at_ns = gs_live_clock() - shared->start_ns;
    bool ok = !shared->config.record || gs_recording_add(&shared->recording, &record) == GS_OK;
    (void)pthread_mutex_unlock(&shared->lock);
    if (!ok) {
        fail_no_memory(shared, "a record");
    }
    entity->now = record.at_ns;
    return record.at_ns;
}

static gs_time_ns stamp_plain(gs_live_entity *entity, gs_input_kind kind, uint64_t sequence)
{
    return stamp(entity, (gs_input_record){.kind = (uint8_t)kind, .sequence = sequence});
}

static gs_time_ns stamp_arrival(gs_live_entity *entity, gs_input_kind kind, const gs_parcel *parcel)
{
    return stamp(entity,
                 (gs_input_record){.kind = (uint8_t)kind,
                                   .sequence = parcel->sequence,
                                   .source = peer_of(entity, parcel->from),
                                   .communicator = (uint16_t)parcel->signature.communicator});
}

static void quiesce(gs_live_entity *entity, int64_t cut_step)
{
    entity->quiesced = true;
    gs_time_ns at = stamp_plain(entity, GS_INPUT_QUIESCE, 0);
    gs_driver_quiesce(entity->driver, at, cut_step);
}

/* The budget in steps is the cut that all workers share: who would begin the step after it is told
 * to stop instead. Servers follow when no worker can ask them for more than it owes. */
static void cut_here(gs_live_entity *entity)
{
    gs_live_shared *shared = entity->shared;
    quiesce(entity, shared->config.budget_steps);
    if (atomic_fetch_add(&shared->workers_told, 1) + 1 == shared->config.job->ranks) {
        for (uint32_t i = shared->config.job->ranks; i < shared->entity_count; i++) {
            post_to(entity, GS_PARCEL_QUIESCE, i);
        }
    }
}

/* What comes next of the gradient under way, on a turn of its own: a step may be cancelled. */
static void tell_next(gs_live_entity *entity)
{
    gs_parcel next = {.kind = GS_PARCEL_COMPUTE,
                      .from = entity->number,
                      .to = entity->number,
                      .sequence = (uint64_t)entity->steps_begun};
    gs_live_post(entity, &next, false);
}

void gs_live_entity_gradient(gs_live_entity *entity)
{
    gs_error err;
    gs_entity_memory_begin(&entity->memory, &entity->plan);
    if (gs_entity_memory_gradient(&entity->memory, entity->workspace, &entity->plan, &entity->loss,
                                  &err) != GS_OK) {
        (void)gs_fail_in(&err, "step %lld", (long long)entity->steps_begun - 1);
        gs_live_fail(entity->shared, &err);
        return;
    }
    tell_next(entity);
}

static void begin_step(gs_live_entity *entity)
{
    gs_live_shared *shared = entity->shared;
    if (entity->quiesced) {
        return;
    }
    if (shared->layout.cut == GS_CUT_COMMON && entity->steps_begun == shared->config.budget_steps) {
        cut_here(entity);
        return;
    }
    gs_time_ns at = stamp_plain(entity, GS_INPUT_STEP, 0);
    gs_driver_step_begin(entity->driver, at, &entity->plan);
    if (!entity->plan.go) {
        return;
    }
    entity->steps_begun++;
    entity->in_backward = true;
    entity->units_left = shared->config.job->unit_count;
    if (entity->plan.closed_buckets == 0) {
        gs_live_entity_gradient(entity); /* else once the strategy has opened all */
    }
}

/* The total of gradients reached the budget: everybody stops where it is. */
static void count_gradient(gs_live_entity *entity)
{
    gs_live_shared *shared = entity->shared;
    int64_t total = shared->config.budget_steps * shared->config.job->ranks;
    if (atomic_fetch_add(&shared->gradients, 1) + 1 == total && shared->layout.cut == GS_CUT_OWN) {
        for (uint32_t i = 0; i < shared->entity_count; i++) {
            post_to(entity, GS_PARCEL_QUIESCE, i);
        }
    }
}

/* Units become ready from last to first, each on a turn of its own. */
static void compute(gs_live_entity *entity, uint64_t step)
{
    if (!entity->in_backward || step != (uint64_t)entity->steps_begun) {
        return; /* its gradient was cancelled */
    }
    if (entity->units_left > 0) {
        uint32_t unit = --entity->units_left;
        gs_driver_unit_ready(entity->driver, stamp_plain(entity, GS_INPUT_UNIT, unit), unit);
        tell_next(entity);
        return;
    }
    entity->in_backward = false;
    gs_time_ns at = stamp_plain(entity, GS_INPUT_BACKWARD, 0);
    gs_driver_backward_done(entity->driver, at, entity->loss);
    count_gradient(entity);
    post_to(entity, GS_PARCEL_WAKE, entity->number);
}

/* ---------------------------------------------------------------- arrivals */

static void keep_part(gs_live_entity *entity, gs_parcel *part)
{
    uint32_t communicator = part->signature.communicator;
    uint32_t from = part->from;
    uint32_t channel = communicator * entity->shared->config.job->ranks + from;
    gs_time_ns at = stamp_arrival(entity, GS_INPUT_PART, part);
    part->next = NULL;
    if (entity->first[channel] == NULL) {
        entity->first[channel] = part;
    } else {
        entity->last[channel]->next = part;
    }
    entity->last[channel] = part;
    gs_driver_part(entity->driver, at, gs_driver_inbox(entity->driver, communicator, from));
}

static void left(gs_live_entity *entity, const gs_parcel *parcel)
{
    if (parcel->plane == GS_PLANE_MESSAGES) {
        gs_time_ns at = stamp_plain(entity, GS_INPUT_SENT, parcel->request);
        gs_driver_sent(entity->driver, at, parcel->slot);
        return;
    }
    uint32_t communicator = parcel->plane - GS_PLANE_PARTS;
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
        fail_no_memory(entity->shared, "a parcel");
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
        compute(entity, copy.sequence);
        break;
    case GS_PARCEL_QUIESCE:
        quiesce(entity, entity->shared->layout.cut == GS_CUT_OWN
                            ? -1
                            : entity->shared->config.budget_steps);
        break;
    case GS_PARCEL_PART:
    case GS_PARCEL_MESSAGE:
        break;
    }
}

static void handle(gs_live_entity *entity, gs_parcel *parcel)
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

/* Everybody waits, and nothing has moved for the whole deadline. */
static bool is_deadlock(gs_live_shared *shared)
{
    gs_time_ns still_ns = gs_live_clock() - (gs_time_ns)atomic_load(&shared->progress_ns);
    return atomic_load(&shared->waiting) == shared->entity_count &&
           still_ns >= shared->config.deadline_ns;
}

static void fail_deadlock(gs_live_shared *shared)
{
    gs_error err;
    (void)gs_fail(&err, GS_EDEADLOCK, "nothing has moved for %.3g s",
                  (double)shared->config.deadline_ns / 1e9);
    gs_live_fail(shared, &err);
}

void *gs_live_entity_loop(void *argument)
{
    gs_live_entity *entity = argument;
    gs_live_shared *shared = entity->shared;
    gs_driver_start(entity->driver, stamp_plain(entity, GS_INPUT_START, 0));
    if (entity->self.role == GS_WORKER) {
        post_to(entity, GS_PARCEL_WAKE, entity->number);
    }
    for (;;) {
        gs_parcel *parcel = NULL;
        gs_time_ns until_ns = gs_live_clock() + shared->config.deadline_ns;
        (void)atomic_fetch_add(&shared->waiting, 1);
        gs_take taken = shared->transport->take(shared->net, entity->number, until_ns, &parcel);
        if (taken == GS_TAKE_PARCEL) {
            atomic_store(&shared->progress_ns, gs_live_clock());
        }
        bool deadlock = taken == GS_TAKE_TIMEOUT && is_deadlock(shared);
        (void)atomic_fetch_sub(&shared->waiting, 1);
        if (deadlock) {
            fail_deadlock(shared);
        }
        if (taken == GS_TAKE_STOPPED || deadlock) {
            return NULL;
        }
        if (taken == GS_TAKE_PARCEL) {
            handle(entity, parcel);
        }
    }
}

void gs_live_entity_left_over(gs_live_entity *entity)
{
    gs_live_shared *shared = entity->shared;
    gs_parcel *parcel;
    while (shared->status == GS_OK &&
           shared->transport->left_over(shared->net, entity->number, &parcel)) {
        gs_peer from = peer_of(entity, parcel->from);
        gs_error err;
        if (parcel->kind == GS_PARCEL_MESSAGE || parcel->kind == GS_PARCEL_NOTE) {
            gs_driver_message(entity->driver, entity->now, &parcel->message);
        } else if (parcel->kind == GS_PARCEL_PART) {
            (void)gs_fail(
                &err, GS_EMISMATCH,
                "worker %d has drained and worker %d sent it a part of %s %llu "
                "(label %llu, communicator %u): ranks must issue the same requests",
                entity->self.index, from.index, gs_collective_kind_name(parcel->signature.kind),
                (unsigned long long)parcel->signature.sequence,
                (unsigned long long)parcel->signature.label, parcel->signature.communicator);
            gs_live_fail(shared, &err);
        }
    }
}
