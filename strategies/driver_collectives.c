/* Communicators of an entity: requests on one run and complete in issue order, each by playing the
 * program of the algorithm vertex by vertex. */
#include "strategies/driver_parts.h"

#include "base/arena_bare.h"

#include <string.h>

static uint32_t ranks_of(const gs_driver *driver)
{
    return driver->config->job->ranks;
}

/* The worker that is member `member` of this one's group. */
static uint32_t rank_of(const gs_driver *driver, const line *on, uint32_t member)
{
    return gs_group_rank(on->group, ranks_of(driver), driver->entity.index, member);
}

static gs_peer worker(uint32_t index)
{
    return (gs_peer){GS_WORKER, (uint16_t)index};
}

/* ---------------------------------------------------------------- creation */

/* What the programs of a line receive from or send to, gathered in order. */
typedef struct gathered {
    gs_arena *arena;
    bool sources; /* else targets */
    gs_edge *found;
    uint32_t count, capacity;
    uint32_t lanes; /* of the program that has most */
} gathered;

static bool is_before(gs_edge a, gs_edge b)
{
    return a.peer < b.peer || (a.peer == b.peer && a.channel < b.channel);
}

static void insert(gathered *into, gs_edge added)
{
    uint32_t at = into->count;
    while (at > 0 && is_before(added, into->found[at - 1])) {
        at--;
    }
    if (at > 0 && !is_before(into->found[at - 1], added)) {
        return; /* there already */
    }
    memmove(into->found + at + 1, into->found + at, (into->count - at) * sizeof *into->found);
    into->found[at] = added;
    into->count++;
}

static bool gather_program(gathered *into, const gs_collective *program, const gs_shape *shape)
{
    uint32_t lanes = gs_collective_lanes(program, shape);
    uint32_t most = (shape->members - 1) * gs_collective_channels(program, shape);
    into->lanes = lanes > into->lanes ? lanes : into->lanes;
    if (into->capacity < into->count + 2 * most) {
        /* The second half is for what is found. */
        uint32_t capacity = 2 * (into->count + 2 * most);
        gs_edge *grown = gs_arena_bare(into->arena, capacity, sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        if (into->count > 0) {
            memcpy(grown, into->found, into->count * sizeof *grown);
        }
        into->found = grown;
        into->capacity = capacity;
    }
    gs_edge *said = into->found + into->count + most;
    uint32_t count = into->sources ? program->sources(shape, said) : program->targets(shape, said);
    GS_ASSERT(count <= most);
    for (uint32_t i = 0; i < count; i++) {
        insert(into, said[i]);
    }
    return true;
}

/* Of all programs that may run on a line. */
static bool gather(const gs_driver *driver, const line *on, gathered *into)
{
    static const gs_communicator any = {.all_reduce = NULL};
    const gs_driver_config *config = driver->config;
    const gs_communicator *of = on->of;
    uint32_t self = gs_group_member(of->group, ranks_of(driver), driver->entity.index);
    uint32_t kinds = gs_communicator_kinds(of);
    for (int kind = 0; kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
        gs_choice choice;
        for (uint32_t i = 0; (kinds >> kind & 1U) != 0 &&
                             gs_selection_candidate(on->selection, of, on->index,
                                                    (gs_collective_kind)kind, i, &choice);
             i++) {
            gs_shape shape = gs_choice_shape(&choice, config->job, of->group, self, 0, 0);
            if (!gather_program(into, choice.program, &shape)) {
                return false;
            }
        }
    }
    static const gs_collective_kind coded[] = {GS_ALL_REDUCE, GS_ALL_GATHER, GS_ALL_TO_ALL};
    gs_shape shape = gs_shape_plain(gs_group_size(of->group, ranks_of(driver)), self, 0);
    for (size_t i = 0; on->coding != NULL && i < sizeof coded / sizeof *coded; i++) {
        if (!gather_program(into, gs_collective_for(&any, coded[i]), &shape)) {
            return false;
        }
    }
    return true;
}

static bool keep(edges *into, const gathered *found, gs_arena *arena)
{
    into->sorted = GS_PACK(arena, gs_edge, found->count);
    if (into->sorted == NULL) {
        return false;
    }
    if (found->count > 0) {
        memcpy(into->sorted, found->found, found->count * sizeof *into->sorted);
    }
    into->count = found->count;
    return true;
}

/* Whose a line is: of the strategy, or of one of the legs. false: no memory. */
static bool assign_line(const gs_driver *driver, uint32_t number, gs_arena *arena)
{
    const gs_driver_config *config = driver->config;
    line *assigned = &driver->lines[number];
    assigned->index = number;
    if (config->relay != NULL) {
        uint32_t leg = gs_relay_of_line(config->relay, number);
        config = &driver->legs[leg];
        assigned->index = number - config->relay->list[leg].first_line;
    }
    assigned->of = &config->layout->communicators[assigned->index];
    assigned->selection = config->selection;
    bool is_coded = assigned->of->coded && config->coding != NULL && config->coding->codec != NULL;
    assigned->coding = is_coded ? GS_PACK(arena, gs_coding_plan, 1) : NULL;
    return assigned->coding != NULL || !is_coded;
}

static bool make_line(gs_driver *driver, uint32_t communicator, gs_arena *arena, gs_arena *scratch)
{
    line *made = &driver->lines[communicator];
    if (!assign_line(driver, communicator, arena)) {
        return false;
    }
    const gs_communicator *of = made->of;
    gathered sources = {.arena = scratch, .sources = true};
    gathered targets = {.arena = scratch};
    GS_ASSERT(gs_group_tiles(of->group, ranks_of(driver)));
    made->group = of->group;
    made->kinds = gs_communicator_kinds(of);
    made->first = made->last = GS_NO_SLOT;
    made->first_inbox = driver->inbox_count;
    if (!gather(driver, made, &sources) || !gather(driver, made, &targets) ||
        !keep(&made->sources, &sources, arena) || !keep(&made->targets, &targets, arena)) {
        return false;
    }
    driver->inbox_count += sources.count;
    made->lanes = GS_PACK(arena, lane, sources.lanes);
    made->channels = GS_PACK(arena, uint32_t, targets.count);
    return made->lanes != NULL && made->channels != NULL;
}

static void open_line(gs_driver *driver, uint32_t communicator)
{
    const gs_driver_config *config = driver->config;
    line *opened = &driver->lines[communicator];
    for (uint32_t i = 0; i < opened->sources.count; i++) {
        gs_edge from = opened->sources.sorted[i];
        uint32_t rank = rank_of(driver, opened, from.peer);
        driver->inboxes[opened->first_inbox + i] = (inbox){
            .communicator = communicator,
            .rank = rank,
            .channel = config->calls->channel(config->host, communicator, from.channel,
                                              worker(rank), driver->entity),
            .lane = GS_NO_SLOT,
        };
    }
    for (uint32_t i = 0; i < opened->targets.count; i++) {
        gs_edge to = opened->targets.sorted[i];
        opened->channels[i] =
            config->calls->channel(config->host, communicator, to.channel, driver->entity,
                                   worker(rank_of(driver, opened, to.peer)));
    }
}

bool gs_driver_lines_create(gs_driver *driver, gs_arena *arena)
{
    uint32_t count = driver->entity.role == GS_WORKER ? driver->room->communicator_count : 0;
    if (count == 0) {
        return true;
    }
    GS_ASSERT(count <= GS_LINES_MAX);
    driver->line_count = count;
    gs_arena scratch;
    gs_arena_init(&scratch);
    driver->lines = GS_TAKE(arena, line, count);
    bool ok = driver->lines != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = make_line(driver, i, arena, &scratch);
    }
    gs_arena_fini(&scratch);
    driver->inboxes = ok ? GS_PACK(arena, inbox, driver->inbox_count) : NULL;
    ok = driver->inboxes != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        open_line(driver, i);
    }
    return ok;
}

/* Place among the edges, or GS_NO_SLOT. Programs mostly come back to the one they used last. */
static uint32_t place_of(edges *among, uint32_t peer, uint32_t channel)
{
    gs_edge wanted = {peer, channel};
    if (among->last < among->count && among->sorted[among->last].peer == peer &&
        among->sorted[among->last].channel == channel) {
        return among->last;
    }
    uint32_t from = 0;
    uint32_t to = among->count;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (is_before(among->sorted[middle], wanted)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    if (from == among->count || is_before(wanted, among->sorted[from])) {
        return GS_NO_SLOT;
    }
    among->last = from;
    return from;
}

uint32_t gs_driver_inbox(const gs_driver *driver, uint32_t communicator, uint32_t channel,
                         uint32_t rank)
{
    uint32_t ranks = ranks_of(driver);
    if (communicator >= driver->line_count || rank >= ranks) {
        return GS_NO_SLOT;
    }
    line *of = &driver->lines[communicator];
    if (gs_group_index(of->group, ranks, rank) !=
        gs_group_index(of->group, ranks, driver->entity.index)) {
        return GS_NO_SLOT;
    }
    uint32_t place = place_of(&of->sources, gs_group_member(of->group, ranks, rank), channel);
    return place == GS_NO_SLOT ? GS_NO_SLOT : of->first_inbox + place;
}

static bool receive(gs_driver *driver, const line *on, uint32_t inbox_index,
                    const gs_vertex *vertex, gs_slice part)
{
    const gs_driver_config *config = driver->config;
    inbox *from = &driver->inboxes[inbox_index];
    from->parts--;
    if (config->calls->absorb == NULL ||
        config->calls->absorb(config->host, driver->entity, from->channel, &on->op, part,
                              vertex->kind == GS_VERTEX_ADD)) {
        return true;
    }
    gs_driver_broke(driver, GS_EMISMATCH,
                    "%s %llu (label %llu, communicator %u, %lld elements): worker %u sent a part "
                    "of another request; ranks must issue the same requests in the same order",
                    gs_collective_kind_name(on->op.kind), (unsigned long long)on->op.sequence,
                    (unsigned long long)on->op.label, on->op.communicator,
                    (long long)on->op.elements, from->rank);
    return false;
}

static void flush(gs_driver *driver, line *on)
{
    const gs_driver_config *config = driver->config;
    on->flushing = true;
    if (on->targets.count > 0) {
        config->calls->flush(config->host, driver->entity, on->first, on->channels,
                             on->targets.count);
    } else {
        config->calls->later(config->host, driver->entity, on->first);
    }
}

/* The lanes of a program begin, whose parts are cut from that. */
static void begin(line *on, const gs_collective *program, gs_shape shape, gs_slice cut)
{
    on->program = program;
    on->shape = shape;
    on->cut = cut;
    on->lane_count = on->lanes_left = gs_collective_lanes(program, &shape);
    for (uint32_t i = 0; i < on->lane_count; i++) {
        on->lanes[i] = (lane){.waits_for = GS_NO_SLOT};
    }
}

static gs_slice slice_of_first(const gs_driver *driver, const line *on)
{
    return gs_driver_request_slice(&driver->requests[on->first]);
}

static void begin_dense(const gs_driver *driver, line *on)
{
    const gs_driver_config *config = driver->config;
    const gs_op_signature *op = &on->op;
    gs_choice choice = gs_selection_choose(on->selection, on->of, on->index, op->kind,
                                           op->elements * config->job->element_bytes);
    uint32_t self = gs_group_member(on->group, ranks_of(driver), driver->entity.index);
    begin(on, choice.program,
          gs_choice_shape(&choice, config->job, on->group, self, op->root, op->elements),
          slice_of_first(driver, on));
}

static void begin_coded(const gs_driver *driver, line *on)
{
    const gs_coding_stage *stage = &on->coding->stages[on->stage];
    uint32_t ranks = ranks_of(driver);
    uint32_t self = gs_group_member(on->group, ranks, driver->entity.index);
    begin(on, stage->program, gs_shape_plain(gs_group_size(on->group, ranks), self, stage->units),
          (gs_slice){GS_WIRE_FIRST + on->stage, 0, stage->units});
}

static bool is_running_coded(const line *on)
{
    return on->coding != NULL && on->coding->stage_count > 0;
}

/* Begins the next program of the request that runs, if it has one. */
static bool next_stage(gs_driver *driver, line *on)
{
    const gs_driver_config *config = driver->config;
    bool coded = is_running_coded(on);
    if (coded) {
        config->calls->code(config->host, driver->entity, &on->op, slice_of_first(driver, on),
                            on->stage);
    }
    if (on->stage >= (coded ? on->coding->stage_count : 1)) {
        return false;
    }
    if (coded) {
        begin_coded(driver, on);
    } else {
        begin_dense(driver, on);
    }
    on->stage++;
    return true;
}

static gs_slice part_of(const line *on, const gs_vertex *vertex)
{
    gs_slice part = {on->cut.vector, on->cut.offset + vertex->offset, vertex->length};
    if (on->program->kind == GS_ALL_TO_ALL && vertex->kind == GS_VERTEX_SEND) {
        part.vector = GS_WIRE_OUT;
    }
    return part;
}

static void send_part(const gs_driver *driver, line *on, const gs_vertex *vertex)
{
    const gs_driver_config *config = driver->config;
    uint32_t place = place_of(&on->targets, vertex->peer, vertex->channel);
    GS_ASSERT(place != GS_NO_SLOT && "a program sends only to its targets");
    config->calls->send_part(config->host, driver->entity, on->channels[place], &on->op,
                             part_of(on, vertex), vertex->copied);
}

/* Plays a lane of the running request until it ends or waits for a part that has not come. */
static void play_lane(gs_driver *driver, line *on, uint32_t number)
{
    const gs_driver_config *config = driver->config;
    lane *played = &on->lanes[number];
    gs_vertex *next = &played->next;
    for (;;) {
        if (played->waits_for == GS_NO_SLOT) {
            if (!on->program->vertex(&on->shape, number, played->vertex++, next)) {
                on->lanes_left--;
                return;
            }
            if (next->kind == GS_VERTEX_SEND) {
                send_part(driver, on, next);
                continue;
            }
            uint32_t place = place_of(&on->sources, next->peer, next->channel);
            GS_ASSERT(place != GS_NO_SLOT && "a program receives only from its sources");
            played->waits_for = on->first_inbox + place;
            if (config->calls->await != NULL) {
                config->calls->await(config->host, driver->entity,
                                     driver->inboxes[played->waits_for].channel);
            }
        }
        inbox *from = &driver->inboxes[played->waits_for];
        if (from->parts == 0) {
            from->lane = number;
            return;
        }
        from->lane = GS_NO_SLOT;
        if (!receive(driver, on, played->waits_for, next, part_of(on, next))) {
            return;
        }
        played->waits_for = GS_NO_SLOT;
    }
}

/* Lanes have been played: begins what follows once all of them have ended. */
static void go_on(gs_driver *driver, line *on)
{
    while (!driver->failed && on->lanes_left == 0) {
        if (!next_stage(driver, on)) {
            flush(driver, on);
            return;
        }
        for (uint32_t i = 0; !driver->failed && i < on->lane_count; i++) {
            play_lane(driver, on, i);
        }
    }
}

static gs_op_signature signature_of(const request *of, uint64_t sequence)
{
    return (gs_op_signature){
        .communicator = of->of.op.communicator,
        .sequence = sequence,
        .label = of->cookie,
        .elements = of->length,
        .kind = (gs_collective_kind)of->of.op.kind,
        .root = of->of.op.root,
        .step = of->step,
        .order = of->order,
    };
}

uint64_t gs_driver_sequence(const gs_driver *driver, uint32_t slot)
{
    const line *on = &driver->lines[driver->requests[slot].of.op.communicator];
    uint64_t sequence = on->ended;
    for (uint32_t i = on->first; i != slot; i = driver->requests[i].next) {
        sequence++;
    }
    return sequence;
}

void gs_driver_line_start(gs_driver *driver, uint32_t communicator)
{
    line *on = &driver->lines[communicator];
    if (driver->failed || on->running || on->first == GS_NO_SLOT) {
        return;
    }
    const gs_driver_config *config = driver->config;
    const request *first = &driver->requests[on->first];
    gs_slice slice = gs_driver_request_slice(first);
    on->op = signature_of(first, on->ended);
    on->running = true;
    on->flushing = false;
    on->stage = 0;
    if (on->coding != NULL) {
        *on->coding = (gs_coding_plan){.stage_count = 0};
        if (on->op.kind == GS_ALL_REDUCE) {
            gs_coded_slice coded = gs_coded_slice_of(config->job, slice.offset, slice.length);
            uint32_t members = gs_group_size(on->group, ranks_of(driver));
            *on->coding = gs_coding_plan_of(config->coding, &coded, members, on->op.step);
        }
    }
    on->native = config->calls->start(config->host, driver->entity, on->first, &on->op, slice);
    if (!on->native) {
        on->lanes_left = 0;
        go_on(driver, on);
    }
}

void gs_driver_native_return(gs_driver *driver, gs_time_ns at, uint32_t slot,
                             const uint64_t *vertices)
{
    if (driver->failed) {
        return;
    }
    line *on = &driver->lines[driver->requests[slot].of.op.communicator];
    GS_ASSERT(on->running && on->native && on->first == slot && !is_running_coded(on));
    GS_ASSERT(at >= driver->now);
    driver->now = at;
    on->native = false;
    (void)next_stage(driver, on);
    for (uint32_t i = 0; i < on->lane_count; i++) {
        on->lanes[i].vertex = vertices[i];
    }
    for (uint32_t i = 0; !driver->failed && i < on->lane_count; i++) {
        play_lane(driver, on, i);
    }
    go_on(driver, on);
}

void gs_driver_line_end(gs_driver *driver, uint32_t slot)
{
    const request *ended = &driver->requests[slot];
    line *on = &driver->lines[ended->of.op.communicator];
    GS_ASSERT(on->running && on->first == slot && (on->flushing || on->native));
    driver->config->calls->ended(driver->config->host, driver->entity, &on->op);
    on->running = false;
    on->ended++;
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
    if (into->lane != GS_NO_SLOT) {
        play_lane(driver, on, into->lane);
        go_on(driver, on);
    }
}

/* ---------------------------------------------------------------- services */

static uint32_t members_of(const gs_world *world, uint32_t communicator)
{
    return gs_group_size(world->config->layout->communicators[communicator].group, ranks_of(world));
}

bool gs_driver_has_communicator(const gs_driver *world, const char *service, uint32_t communicator)
{
    const gs_driver_config *config = world->config;
    return gs_driver_has_index(world, service, "communicator", communicator,
                               world->entity.role == GS_WORKER ? config->layout->communicator_count
                                                               : 0);
}

static bool check_communicator(gs_world *world, uint32_t communicator, gs_collective_kind kind)
{
    const char *service = gs_collective_kind_name(kind);
    if (gs_driver_has_communicator(world, service, communicator) &&
        (world->lines[world->first_line + communicator].kinds >> kind & 1U) == 0) {
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
    uint32_t number = world->first_line + communicator;
    line *on = &world->lines[number];
    request *opened = &world->requests[slot];
    opened->cookie = label;
    opened->step = world->steps_ended + world->ended_more;
    opened->order = world->collectives_issued++;
    opened->of.op.root = (uint16_t)root;
    opened->of.op.communicator = (uint8_t)number;
    opened->of.op.kind = (uint8_t)kind;
    gs_op_signature op = signature_of(opened, on->issued++);
    if (on->first == GS_NO_SLOT) {
        on->first = slot;
    } else {
        world->requests[on->last].next = slot;
    }
    on->last = slot;
    world->config->calls->issued(world->config->host, world->entity, &op);
    gs_driver_line_start(world, number);
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
    if (!gs_driver_has_communicator(world, "broadcast", communicator) ||
        !gs_driver_has_index(world, "broadcast", "member", root_member,
                             members_of(world, communicator))) {
        return 0;
    }
    return collective(world, GS_BROADCAST, communicator, data, root_member, label);
}

/* After a broken rule: who is alone, so that a hook may still divide by it. */
uint32_t gs_members(const gs_world *world, uint32_t communicator)
{
    return gs_driver_has_communicator(world, "members", communicator)
               ? members_of(world, communicator)
               : 1;
}

uint32_t gs_member(const gs_world *world, uint32_t communicator)
{
    if (!gs_driver_has_communicator(world, "member", communicator)) {
        return 0;
    }
    return gs_group_member(world->config->layout->communicators[communicator].group,
                           ranks_of(world), world->entity.index);
}

gs_slice gs_part(const gs_world *world, uint32_t communicator, gs_slice data, uint32_t member)
{
    gs_slice part = {.vector = data.vector};
    if (!gs_driver_has_communicator(world, "part", communicator) ||
        !gs_driver_has_index(world, "part", "member", member, members_of(world, communicator)) ||
        !gs_driver_has_slice(world->self, "part", data)) {
        return part;
    }
    gs_part_of(data.length, members_of(world, communicator), member, &part.offset, &part.length);
    part.offset += data.offset;
    return part;
}
