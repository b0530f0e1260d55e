/* Communicators of an entity: requests on one run and complete in issue order, each by playing the
 * program of the algorithm vertex by vertex. */
#include "strategies/driver_parts.h"

static gs_shape shape_of(const gs_driver *driver, int64_t elements)
{
    return (gs_shape){driver->config.job->ranks, driver->config.self.index, elements};
}

static gs_peer worker(uint32_t index)
{
    return (gs_peer){GS_WORKER, (uint16_t)index};
}

static bool open_line(gs_driver *driver, uint32_t communicator, uint32_t *scratch, gs_arena *arena)
{
    const gs_driver_config *config = &driver->config;
    gs_shape shape = shape_of(driver, 0);
    line *opened = &driver->lines[communicator];
    opened->first = opened->last = opened->waits_for = GS_NO_SLOT;
    opened->first_inbox = driver->inbox_count;
    opened->inbox_count = config->all_reduce->sources(&shape, scratch);
    for (uint32_t i = 0; i < opened->inbox_count; i++) {
        driver->inboxes[driver->inbox_count++] = (inbox){
            .communicator = communicator,
            .member = scratch[i],
            .channel = config->calls->channel(config->host, communicator, worker(scratch[i]),
                                              config->self),
        };
    }
    opened->target_count = config->all_reduce->targets(&shape, scratch);
    opened->targets = GS_TAKE(arena, uint32_t, opened->target_count);
    opened->channels = GS_TAKE(arena, uint32_t, opened->target_count);
    if (opened->targets == NULL || opened->channels == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < opened->target_count; i++) {
        opened->targets[i] = scratch[i];
        opened->channels[i] =
            config->calls->channel(config->host, communicator, config->self, worker(scratch[i]));
    }
    return true;
}

bool gs_driver_lines_create(gs_driver *driver, gs_arena *arena)
{
    const gs_driver_config *config = &driver->config;
    uint32_t communicators = config->self.role == GS_WORKER ? config->layout->communicators : 0;
    if (communicators == 0) {
        return true;
    }
    gs_shape shape = shape_of(driver, 0);
    gs_arena scratch;
    gs_arena_init(&scratch);
    uint32_t *members = GS_TAKE(&scratch, uint32_t, config->job->ranks);
    bool ok = members != NULL;
    if (ok) {
        uint32_t sources = config->all_reduce->sources(&shape, members);
        driver->lines = GS_TAKE(arena, line, communicators);
        driver->inboxes = GS_TAKE(arena, inbox, (size_t)sources * communicators);
        ok = driver->lines != NULL && driver->inboxes != NULL;
    }
    for (uint32_t communicator = 0; ok && communicator < communicators; communicator++) {
        ok = open_line(driver, communicator, members, arena);
    }
    gs_arena_fini(&scratch);
    return ok;
}

static uint32_t inbox_of(const gs_driver *driver, const line *of, uint32_t member)
{
    for (uint32_t i = of->first_inbox; i < of->first_inbox + of->inbox_count; i++) {
        if (driver->inboxes[i].member == member) {
            return i;
        }
    }
    return GS_NO_SLOT;
}

uint32_t gs_driver_inbox(const gs_driver *driver, uint32_t communicator, uint32_t member)
{
    if (communicator >= driver->config.layout->communicators) {
        return GS_NO_SLOT;
    }
    return inbox_of(driver, &driver->lines[communicator], member);
}

static uint32_t channel_to(const line *of, uint32_t member)
{
    for (uint32_t i = 0; i < of->target_count; i++) {
        if (of->targets[i] == member) {
            return of->channels[i];
        }
    }
    GS_ASSERT(false && "a program sends only to its targets");
    return 0;
}

static bool receive(gs_driver *driver, request *running, uint32_t inbox_index,
                    const gs_vertex *vertex, gs_slice part)
{
    const gs_driver_config *config = &driver->config;
    inbox *from = &driver->inboxes[inbox_index];
    from->parts--;
    if (config->calls->absorb == NULL ||
        config->calls->absorb(config->host, config->self, from->channel, &running->with.signature,
                              part, vertex->kind == GS_VERTEX_ADD)) {
        return true;
    }
    gs_driver_broke(
        driver, GS_EMISMATCH,
        "all_reduce %llu (label %llu, communicator %u, %lld elements): worker %u sent a part "
        "of another request; ranks must issue the same requests in the same order",
        (unsigned long long)running->with.signature.sequence, (unsigned long long)running->cookie,
        running->with.signature.communicator, (long long)running->slice.length, from->member);
    return false;
}

static void end_program(gs_driver *driver, line *on)
{
    const gs_driver_config *config = &driver->config;
    on->flushing = true;
    if (on->target_count > 0) {
        config->calls->flush(config->host, config->self, on->first, on->channels, on->target_count);
    } else {
        config->calls->later(config->host, config->self, on->first);
    }
}

/* Plays the running program until it ends or waits for a part that has not come. */
static void play(gs_driver *driver, line *on)
{
    const gs_driver_config *config = &driver->config;
    request *running = &driver->requests[on->first];
    gs_shape shape = shape_of(driver, running->slice.length);
    gs_slice part = {.vector = running->slice.vector};
    for (;;) {
        if (on->waits_for == GS_NO_SLOT &&
            !config->all_reduce->vertex(&shape, on->vertex++, &on->next)) {
            end_program(driver, on);
            return;
        }
        part.offset = running->slice.offset + on->next.offset;
        part.length = on->next.length;
        if (on->next.kind == GS_VERTEX_SEND) {
            config->calls->send_part(config->host, config->self, channel_to(on, on->next.peer),
                                     &running->with.signature, part);
            continue;
        }
        on->waits_for = inbox_of(driver, on, on->next.peer);
        GS_ASSERT(on->waits_for != GS_NO_SLOT);
        if (driver->inboxes[on->waits_for].parts == 0 ||
            !receive(driver, running, on->waits_for, &on->next, part)) {
            return;
        }
        on->waits_for = GS_NO_SLOT;
    }
}

void gs_driver_line_start(gs_driver *driver, uint32_t communicator)
{
    line *on = &driver->lines[communicator];
    if (driver->failed || on->running || on->first == GS_NO_SLOT) {
        return;
    }
    const request *first = &driver->requests[on->first];
    on->running = true;
    on->flushing = false;
    on->vertex = 0;
    on->waits_for = GS_NO_SLOT;
    on->native = driver->config.calls->start(driver->config.host, driver->config.self, on->first,
                                             &first->with.signature, first->slice);
    if (!on->native) {
        play(driver, on);
    }
}

void gs_driver_line_end(gs_driver *driver, uint32_t slot)
{
    const request *ended = &driver->requests[slot];
    line *on = &driver->lines[ended->with.signature.communicator];
    GS_ASSERT(on->running && on->first == slot && (on->flushing || on->native));
    driver->config.calls->ended(driver->config.host, driver->config.self, &ended->with.signature);
    on->running = false;
    on->first = ended->next;
    if (on->first == GS_NO_SLOT) {
        on->last = GS_NO_SLOT;
    }
}

void gs_driver_part(gs_driver *driver, gs_time_ns at, uint32_t inbox_index)
{
    if (driver->failed) {
        return;
    }
    GS_ASSERT(at >= driver->now && inbox_index < driver->inbox_count);
    driver->now = at;
    inbox *into = &driver->inboxes[inbox_index];
    into->parts++;
    line *on = &driver->lines[into->communicator];
    if (on->running && !on->native && !on->flushing && on->waits_for == inbox_index) {
        play(driver, on);
    }
}

gs_op gs_all_reduce(gs_world *world, uint32_t communicator, gs_slice data, uint64_t label)
{
    if (!gs_driver_enter(world, "all_reduce")) {
        return 0;
    }
    if (world->config.self.role != GS_WORKER ||
        communicator >= world->config.layout->communicators) {
        gs_driver_broke(world, GS_ECONTRACT, "all_reduce: no communicator %u here", communicator);
        return 0;
    }
    if (!gs_driver_may_use(world, "all_reduce", data, true)) {
        return 0;
    }
    uint32_t slot = gs_driver_request_open(world, REQUEST_ALL_REDUCE, data, false);
    if (slot == GS_NO_SLOT) {
        return 0;
    }
    line *on = &world->lines[communicator];
    request *opened = &world->requests[slot];
    opened->cookie = label;
    opened->with.signature = (gs_op_signature){
        .communicator = communicator,
        .sequence = on->issued++,
        .label = label,
        .elements = data.length,
        .step = world->steps_ended,
        .order = world->collectives_issued++,
    };
    if (on->first == GS_NO_SLOT) {
        on->first = slot;
    } else {
        world->requests[on->last].next = slot;
    }
    on->last = slot;
    world->config.calls->issued(world->config.host, world->config.self, &opened->with.signature);
    gs_driver_line_start(world, communicator);
    return opened->id;
}
