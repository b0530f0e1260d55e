/* Communicators of an entity: requests on one run and complete in issue order, each by playing the
 * program of the algorithm vertex by vertex. */
#include "strategies/driver_parts.h"

#include <string.h>

static uint32_t ranks_of(const gs_driver *driver)
{
    return driver->config.job->ranks;
}

/* The worker that is member `member` of this one's group. */
static uint32_t rank_of(const gs_driver *driver, const line *on, uint32_t member)
{
    return gs_group_rank(on->group, ranks_of(driver), driver->config.self.index, member);
}

static gs_shape shape_of(const gs_driver *driver, const line *on, uint32_t root, int64_t elements)
{
    uint32_t ranks = ranks_of(driver);
    return (gs_shape){.members = gs_group_size(on->group, ranks),
                      .self = gs_group_member(on->group, ranks, driver->config.self.index),
                      .root = root,
                      .elements = elements};
}

static gs_peer worker(uint32_t index)
{
    return (gs_peer){GS_WORKER, (uint16_t)index};
}

/* ---------------------------------------------------------------- creation */

/* Ranks that any of the line's programs receives from, or sends to, each once. Returns how many. */
static uint32_t peers_of(const gs_driver *driver, const line *on, bool sources, uint32_t *scratch,
                         bool *seen)
{
    gs_shape shape = shape_of(driver, on, 0, 0);
    uint32_t count = 0;
    memset(seen, 0, shape.members * sizeof *seen);
    for (int kind = 0; kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
        const gs_collective *program = on->programs[kind];
        uint32_t *found = scratch + count;
        uint32_t more = 0;
        if (program != NULL) {
            more = sources ? program->sources(&shape, found) : program->targets(&shape, found);
        }
        for (uint32_t i = 0; i < more; i++) {
            uint32_t member = found[i];
            if (!seen[member]) {
                seen[member] = true;
                scratch[count++] = rank_of(driver, on, member);
            }
        }
    }
    return count;
}

/* Whatever the codec, its programs are among these. */
static bool is_coded(const gs_driver *driver, uint32_t communicator)
{
    return driver->config.coding != NULL && driver->config.coding->codec != NULL &&
           driver->config.layout->communicators[communicator].coded;
}

static void choose_programs(line *on, const gs_communicator *communicator, bool coded)
{
    on->group = communicator->group;
    uint32_t kinds = communicator->kinds == 0 ? 1U << GS_ALL_REDUCE : communicator->kinds;
    if (coded) {
        kinds |= 1U << GS_ALL_GATHER | 1U << GS_ALL_TO_ALL;
    }
    for (int kind = 0; kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
        if ((kinds >> kind & 1U) != 0) {
            on->programs[kind] = gs_collective_for(communicator, (gs_collective_kind)kind);
        }
    }
}

static bool open_line(gs_driver *driver, uint32_t communicator, uint32_t *scratch, bool *seen,
                      gs_arena *arena)
{
    const gs_driver_config *config = &driver->config;
    line *opened = &driver->lines[communicator];
    opened->first = opened->last = opened->waits_for = GS_NO_SLOT;
    opened->first_inbox = driver->inbox_count;
    opened->inbox_count = peers_of(driver, opened, true, scratch, seen);
    for (uint32_t i = 0; i < opened->inbox_count; i++) {
        driver->inboxes[driver->inbox_count++] = (inbox){
            .communicator = communicator,
            .rank = scratch[i],
            .channel = config->calls->channel(config->host, communicator, worker(scratch[i]),
                                              config->self),
        };
    }
    opened->target_count = peers_of(driver, opened, false, scratch, seen);
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
    uint32_t count = config->self.role == GS_WORKER ? config->layout->communicator_count : 0;
    if (count == 0) {
        return true;
    }
    GS_ASSERT(count <= GS_COMMUNICATORS_MAX);
    gs_arena scratch;
    gs_arena_init(&scratch);
    /* Programs of one line may name a member each. */
    uint32_t *members =
        GS_TAKE(&scratch, uint32_t, (size_t)(GS_COLLECTIVE_KIND_COUNT + 1) * ranks_of(driver));
    bool *seen = GS_TAKE(&scratch, bool, ranks_of(driver));
    driver->lines = GS_TAKE(arena, line, count);
    bool ok = members != NULL && seen != NULL && driver->lines != NULL;
    uint32_t inboxes = 0;
    for (uint32_t i = 0; ok && i < count; i++) {
        GS_ASSERT(gs_group_tiles(config->layout->communicators[i].group, ranks_of(driver)));
        choose_programs(&driver->lines[i], &config->layout->communicators[i], is_coded(driver, i));
        inboxes += peers_of(driver, &driver->lines[i], true, members, seen);
    }
    if (ok) {
        driver->inboxes = GS_TAKE(arena, inbox, inboxes);
        ok = driver->inboxes != NULL;
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = open_line(driver, i, members, seen, arena);
    }
    gs_arena_fini(&scratch);
    return ok;
}

static uint32_t inbox_of(const gs_driver *driver, const line *of, uint32_t rank)
{
    for (uint32_t i = of->first_inbox; i < of->first_inbox + of->inbox_count; i++) {
        if (driver->inboxes[i].rank == rank) {
            return i;
        }
    }
    return GS_NO_SLOT;
}

uint32_t gs_driver_inbox(const gs_driver *driver, uint32_t communicator, uint32_t rank)
{
    if (communicator >= driver->config.layout->communicator_count) {
        return GS_NO_SLOT;
    }
    return inbox_of(driver, &driver->lines[communicator], rank);
}

static uint32_t channel_to(const line *of, uint32_t rank)
{
    for (uint32_t i = 0; i < of->target_count; i++) {
        if (of->targets[i] == rank) {
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
    gs_driver_broke(driver, GS_EMISMATCH,
                    "%s %llu (label %llu, communicator %u, %lld elements): worker %u sent a part "
                    "of another request; ranks must issue the same requests in the same order",
                    gs_collective_kind_name(running->with.signature.kind),
                    (unsigned long long)running->with.signature.sequence,
                    (unsigned long long)running->cookie, running->with.signature.communicator,
                    (long long)running->slice.length, from->rank);
    return false;
}

static void flush(gs_driver *driver, line *on)
{
    const gs_driver_config *config = &driver->config;
    on->flushing = true;
    if (on->target_count > 0) {
        config->calls->flush(config->host, config->self, on->first, on->channels, on->target_count);
    } else {
        config->calls->later(config->host, config->self, on->first);
    }
}

/* Begins the next program of the request that runs, if it has one. */
static bool next_stage(gs_driver *driver, line *on)
{
    const gs_driver_config *config = &driver->config;
    const request *running = &driver->requests[on->first];
    const gs_op_signature *op = &running->with.signature;
    bool coded = on->coding.stage_count > 0;
    if (coded) {
        config->calls->code(config->host, config->self, op, running->slice, on->stage);
    }
    on->vertex = 0;
    on->waits_for = GS_NO_SLOT;
    if (on->stage >= (coded ? on->coding.stage_count : 1)) {
        return false;
    }
    if (coded) {
        const gs_coding_stage *stage = &on->coding.stages[on->stage];
        on->program = stage->program;
        on->cut = (gs_slice){GS_WIRE_FIRST + on->stage, 0, stage->units};
    } else {
        on->program = on->programs[op->kind];
        on->cut = running->slice;
    }
    on->shape = shape_of(driver, on, op->root, on->cut.length);
    on->stage++;
    return true;
}

static gs_slice part_of(const line *on)
{
    gs_slice part = {on->cut.vector, on->cut.offset + on->next.offset, on->next.length};
    if (on->program->kind == GS_ALL_TO_ALL && on->next.kind == GS_VERTEX_SEND) {
        part.vector = GS_WIRE_OUT;
    }
    return part;
}

/* Plays the running request until it ends or waits for a part that has not come. */
static void play(gs_driver *driver, line *on)
{
    const gs_driver_config *config = &driver->config;
    request *running = &driver->requests[on->first];
    const gs_op_signature *op = &running->with.signature;
    for (;;) {
        if (on->waits_for == GS_NO_SLOT &&
            !on->program->vertex(&on->shape, on->vertex++, &on->next)) {
            if (!next_stage(driver, on)) {
                flush(driver, on);
                return;
            }
            continue;
        }
        gs_slice part = part_of(on);
        if (on->next.kind == GS_VERTEX_SEND) {
            uint32_t channel = channel_to(on, rank_of(driver, on, on->next.peer));
            config->calls->send_part(config->host, config->self, channel, op, part);
            continue;
        }
        on->waits_for = inbox_of(driver, on, rank_of(driver, on, on->next.peer));
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
    const gs_driver_config *config = &driver->config;
    const request *first = &driver->requests[on->first];
    const gs_op_signature *op = &first->with.signature;
    on->running = true;
    on->flushing = false;
    on->stage = 0;
    on->coding = (gs_coding_plan){.stage_count = 0};
    if (op->kind == GS_ALL_REDUCE && is_coded(driver, communicator)) {
        on->coding = gs_coding_plan_of(config->coding, gs_group_size(on->group, ranks_of(driver)),
                                       op->elements, op->step);
    }
    on->native = config->calls->start(config->host, config->self, on->first, op, first->slice);
    if (!on->native) {
        (void)next_stage(driver, on);
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

/* ---------------------------------------------------------------- services */

static bool check_communicator(gs_world *world, uint32_t communicator, gs_collective_kind kind)
{
    const char *service = gs_collective_kind_name(kind);
    if (world->config.self.role != GS_WORKER ||
        communicator >= world->config.layout->communicator_count) {
        gs_driver_broke(world, GS_ECONTRACT, "%s: no communicator %u here", service, communicator);
    } else if (world->lines[communicator].programs[kind] == NULL) {
        gs_driver_broke(world, GS_ECONTRACT,
                        "%s: the layout does not declare it for communicator %u", service,
                        communicator);
    }
    return !world->failed;
}

static gs_op collective(gs_world *world, gs_collective_kind kind, uint32_t communicator,
                        gs_slice data, uint32_t root, uint64_t label)
{
    const char *service = gs_collective_kind_name(kind);
    if (!gs_driver_enter(world, service) || !check_communicator(world, communicator, kind) ||
        !gs_driver_may_use(world, service, data, true)) {
        return 0;
    }
    uint32_t slot = gs_driver_request_open(world, REQUEST_COLLECTIVE, data, false);
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
        .kind = kind,
        .root = root,
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

gs_op gs_all_reduce(gs_world *world, uint32_t communicator, gs_slice data, uint64_t label)
{
    return collective(world, GS_ALL_REDUCE, communicator, data, 0, label);
}

gs_op gs_reduce_scatter(gs_world *world, uint32_t communicator, gs_slice data, uint64_t label)
{
    return collective(world, GS_REDUCE_SCATTER, communicator, data, 0, label);
}

gs_op gs_all_gather(gs_world *world, uint32_t communicator, gs_slice data, uint64_t label)
{
    return collective(world, GS_ALL_GATHER, communicator, data, 0, label);
}

gs_op gs_broadcast(gs_world *world, uint32_t communicator, gs_slice data, uint32_t root_member,
                   uint64_t label)
{
    if (!world->failed && communicator < world->config.layout->communicator_count &&
        root_member >= gs_members(world, communicator)) {
        gs_driver_broke(world, GS_ECONTRACT, "broadcast: communicator %u has no member %u",
                        communicator, root_member);
        return 0;
    }
    return collective(world, GS_BROADCAST, communicator, data, root_member, label);
}

uint32_t gs_members(const gs_world *world, uint32_t communicator)
{
    GS_ASSERT(communicator < world->config.layout->communicator_count);
    return gs_group_size(world->config.layout->communicators[communicator].group, ranks_of(world));
}

uint32_t gs_member(const gs_world *world, uint32_t communicator)
{
    GS_ASSERT(communicator < world->config.layout->communicator_count);
    return gs_group_member(world->config.layout->communicators[communicator].group, ranks_of(world),
                           world->config.self.index);
}

gs_slice gs_part(const gs_world *world, uint32_t communicator, gs_slice data, uint32_t member)
{
    gs_slice part = {.vector = data.vector};
    gs_part_of(data.length, gs_members(world, communicator), member, &part.offset, &part.length);
    part.offset += data.offset;
    return part;
}
