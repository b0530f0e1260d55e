/* What a hook asks to know and does not send: sums of products of its own vectors, and values that
 * all members of a group have together. Agreements travel as notes, so every host has them. */
#include "strategies/driver_parts.h"

#include <math.h>
#include <string.h>

const char *gs_driver_agree_name(gs_agree_kind kind)
{
    static const char *const names[GS_AGREE_KINDS] = {"sum", "min", "max"};
    return names[kind];
}

/* ---------------------------------------------------------------- sums of products */

gs_op gs_dot(gs_world *world, gs_slice a, gs_slice b, uint64_t cookie)
{
    if (!gs_driver_enter(world, "dot") || !gs_driver_may_use(world, "dot", a, false) ||
        !gs_driver_may_use(world, "dot", b, false)) {
        return 0;
    }
    if (a.length != b.length) {
        gs_driver_broke(world, GS_ECONTRACT, "dot: lengths %lld and %lld differ",
                        (long long)a.length, (long long)b.length);
        return 0;
    }
    gs_slice nothing = {.vector = GS_PARAM}; /* it is read in stream order: nothing is lent */
    uint32_t slot = gs_driver_request_open(world, REQUEST_DOT, nothing, false);
    if (slot == GS_NO_SLOT) {
        return 0;
    }
    request *opened = &world->requests[slot];
    opened->cookie = cookie;
    opened->scalar = world->config->calls->dot(world->config->host, world->entity, a, b, slot);
    return opened->id;
}

/* ---------------------------------------------------------------- agreements: values */

/* One NAN and one zero, so that equal values have equal bits. */
static double canonical(double value)
{
    return value != value ? (double)NAN : value + 0.0;
}

static double together(gs_agree_kind kind, double a, double b)
{
    if (kind == GS_AGREE_SUM) {
        return canonical(a + b);
    }
    if (a != a || b != b) {
        return a != a ? b : a;
    }
    return (kind == GS_AGREE_MIN) == (a < b) ? a : b;
}

/* ---------------------------------------------------------------- agreements: who tells whom */

/* What a member does in a stage. */
typedef struct part {
    bool tells, hears;
    uint32_t peer;  /* member */
    uint32_t place; /* of the peer's notes */
} part;

static uint32_t members_of(const gs_driver *driver, uint32_t communicator)
{
    return gs_group_size(driver->lines[communicator].group, driver->config->job->ranks);
}

static uint32_t self_of(const gs_driver *driver, uint32_t communicator)
{
    return gs_group_member(driver->lines[communicator].group, driver->config->job->ranks,
                           driver->entity.index);
}

static part part_in(const gs_driver *driver, uint32_t communicator, uint32_t stage)
{
    uint32_t rounds = driver->rounds[communicator].rounds;
    uint32_t below = UINT32_C(1) << rounds;
    uint32_t self = self_of(driver, communicator);
    if (stage >= 1 && stage <= rounds) {
        bool takes_part = self < below;
        return (part){takes_part, takes_part, self ^ UINT32_C(1) << (stage - 1), stage - 1};
    }
    bool is_above = self >= below;
    uint32_t peer = is_above ? self - below : self + below;
    bool has_peer = is_above || peer < members_of(driver, communicator);
    bool tells = is_above == (stage == 0);
    return (part){has_peer && tells, has_peer && !tells, peer, rounds};
}

static uint32_t rank_of(const gs_driver *driver, uint32_t communicator, uint32_t member)
{
    return gs_group_rank(driver->lines[communicator].group, driver->config->job->ranks,
                         driver->entity.index, member);
}

static void tell(gs_driver *driver, uint32_t communicator, uint32_t member, const voice *said)
{
    gs_message note = {
        .from = driver->entity,
        .to = {GS_WORKER, (uint16_t)rank_of(driver, communicator, member)},
        .tag = (uint16_t)(GS_TAGS_MAX + driver->lines[communicator].index * GS_AGREE_KINDS +
                          said->kind),
        .is_note = true,
        .epoch = driver->leg.epoch,
    };
    memcpy(note.meta, said->values, sizeof said->values);
    note.meta[GS_AGREE_VALUES] = (int64_t)said->label;
    driver->config->calls->note(driver->config->host, &note);
}

/* What came joins what is known; at the end of a member above it is the result. */
static bool hear(gs_driver *driver, uint32_t communicator, const part *how, bool is_result)
{
    round_line *on = &driver->rounds[communicator];
    const voice *heard = &on->came[how->place];
    voice *known = &driver->voices[on->first];
    on->has_come[how->place] = false;
    if (heard->label != known->label || heard->kind != known->kind) {
        gs_driver_broke(driver, GS_EMISMATCH,
                        "agree (%s, label %llu, communicator %u): worker %u asks for %s with label "
                        "%llu; ranks must ask for the same agreements in the same order",
                        gs_driver_agree_name(known->kind), (unsigned long long)known->label,
                        communicator, rank_of(driver, communicator, how->peer),
                        gs_driver_agree_name(heard->kind), (unsigned long long)heard->label);
        return false;
    }
    for (int i = 0; i < GS_AGREE_VALUES; i++) {
        known->values[i] = is_result ? heard->values[i]
                                     : together(known->kind, known->values[i], heard->values[i]);
    }
    return true;
}

/* Plays the agreement that runs as far as it gets. true: it has ended. */
static bool play(gs_driver *driver, uint32_t communicator)
{
    round_line *on = &driver->rounds[communicator];
    for (; on->stage <= on->rounds + 1; on->stage++) {
        part how = part_in(driver, communicator, on->stage);
        if (how.tells && !on->has_told) {
            on->has_told = true;
            tell(driver, communicator, how.peer, &driver->voices[on->first]);
        }
        if (how.hears && (!on->has_come[how.place] ||
                          !hear(driver, communicator, &how, on->stage > on->rounds))) {
            return false;
        }
        on->has_told = false;
    }
    return true;
}

/* ---------------------------------------------------------------- agreements: their line */

static bool make_line(gs_driver *driver, uint32_t communicator, gs_arena *arena)
{
    round_line *made = &driver->rounds[communicator];
    made->first = made->last = GS_NO_SLOT;
    if (!gs_communicator_agrees(driver->lines[communicator].of)) {
        return true;
    }
    while (members_of(driver, communicator) >> (made->rounds + 1) != 0) {
        made->rounds++;
    }
    made->has_come = GS_PACK(arena, bool, made->rounds + 1);
    made->came = GS_PACK(arena, voice, made->rounds + 1);
    return made->has_come != NULL && made->came != NULL;
}

bool gs_driver_rounds_create(gs_driver *driver, gs_arena *arena)
{
    uint32_t count = driver->line_count;
    driver->rounds = count > 0 ? GS_PACK(arena, round_line, count) : NULL;
    bool ok = count == 0 || driver->rounds != NULL;
    bool agrees = false;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = make_line(driver, i, arena);
        agrees |= gs_communicator_agrees(driver->lines[i].of);
    }
    if (ok && agrees) {
        driver->voices = GS_PACK(arena, voice, driver->request_capacity);
        ok = driver->voices != NULL;
    }
    return ok;
}

void gs_driver_rounds_start(gs_driver *driver, uint32_t communicator)
{
    round_line *on = &driver->rounds[communicator];
    if (driver->failed || on->running || on->first == GS_NO_SLOT) {
        return;
    }
    on->running = true;
    on->stage = 0;
    on->has_told = false;
    if (play(driver, communicator)) { /* nobody was to be waited for: the hook comes later */
        driver->config->calls->later(driver->config->host, driver->entity, on->first);
    }
}

void gs_driver_rounds_end(gs_driver *driver, uint32_t slot)
{
    round_line *on = &driver->rounds[driver->requests[slot].of.op.communicator];
    GS_ASSERT(on->running && on->first == slot && on->stage > on->rounds + 1);
    on->running = false;
    on->first = driver->requests[slot].next;
    if (on->first == GS_NO_SLOT) {
        on->last = GS_NO_SLOT;
    }
}

/* Where a worker's notes go on a line, or GS_NO_SLOT: it is nobody's partner there. */
static uint32_t place_of(const gs_driver *driver, uint32_t communicator, uint32_t rank)
{
    const round_line *on = &driver->rounds[communicator];
    gs_group group = driver->lines[communicator].group;
    uint32_t ranks = driver->config->job->ranks;
    if (on->came == NULL || rank >= ranks ||
        gs_group_index(group, ranks, rank) != gs_group_index(group, ranks, driver->entity.index)) {
        return GS_NO_SLOT;
    }
    uint32_t member = gs_group_member(group, ranks, rank);
    for (uint32_t stage = 0; stage <= on->rounds + 1; stage++) {
        part how = part_in(driver, communicator, stage);
        if (how.hears && how.peer == member) {
            return how.place;
        }
    }
    return GS_NO_SLOT;
}

void gs_driver_rounds_note(gs_driver *driver, const gs_message *note)
{
    uint32_t own = (note->tag - (uint32_t)GS_TAGS_MAX) / GS_AGREE_KINDS;
    uint32_t communicator = driver->first_line + own;
    bool is_known = note->from.role == GS_WORKER && driver->config->self.role == GS_WORKER &&
                    own < driver->config->layout->communicator_count;
    uint32_t place = is_known ? place_of(driver, communicator, note->from.index) : GS_NO_SLOT;
    if (place == GS_NO_SLOT || driver->rounds[communicator].has_come[place]) {
        gs_driver_broke(driver, GS_EMISMATCH,
                        "a note of an agreement on communicator %u came from %s %d, which nobody "
                        "here waits for; ranks must have the same layout",
                        communicator, note->from.role == GS_WORKER ? "worker" : "server",
                        note->from.index);
        return;
    }
    round_line *on = &driver->rounds[communicator];
    voice *came = &on->came[place];
    came->kind = (gs_agree_kind)((note->tag - (uint32_t)GS_TAGS_MAX) % GS_AGREE_KINDS);
    came->label = (uint64_t)note->meta[GS_AGREE_VALUES];
    memcpy(came->values, note->meta, sizeof came->values);
    on->has_come[place] = true;
    bool waits = on->running && on->stage <= on->rounds + 1;
    if (waits && play(driver, communicator)) {
        gs_driver_matched(driver, on->first);
    }
}

/* ---------------------------------------------------------------- looks */

bool gs_driver_rounds_wait(const gs_driver *driver, uint32_t communicator, uint32_t *out_rank)
{
    const round_line *on = &driver->rounds[communicator];
    if (!on->running || on->stage > on->rounds + 1) {
        return false;
    }
    *out_rank = rank_of(driver, communicator, part_in(driver, communicator, on->stage).peer);
    return true;
}

bool gs_driver_rounds_left(const gs_driver *driver, uint32_t *out_rank)
{
    for (uint32_t i = 0; i < driver->line_count; i++) {
        const round_line *on = &driver->rounds[i];
        for (uint32_t stage = 0; on->came != NULL && stage <= on->rounds + 1; stage++) {
            part how = part_in(driver, i, stage);
            if (how.hears && on->has_come[how.place]) {
                *out_rank = rank_of(driver, i, how.peer);
                return true;
            }
        }
    }
    return false;
}

/* ---------------------------------------------------------------- the service */

static bool may_agree(gs_world *world, uint32_t communicator, gs_agree_kind kind)
{
    if (!gs_driver_has_communicator(world, "agree", communicator)) {
        return false;
    }
    if ((uint32_t)kind >= GS_AGREE_KINDS) {
        gs_driver_broke(world, GS_ECONTRACT, "agree: no kind %u; there are %d", (unsigned)kind,
                        GS_AGREE_KINDS);
    } else if (world->rounds[world->first_line + communicator].came == NULL) {
        gs_driver_broke(world, GS_ECONTRACT,
                        "agree: the layout does not declare it for communicator %u", communicator);
    }
    return !world->failed;
}

gs_op gs_agree(gs_world *world, uint32_t communicator, gs_agree_kind kind,
               const double values[GS_AGREE_VALUES], uint64_t label)
{
    if (!gs_driver_enter(world, "agree") || !may_agree(world, communicator, kind)) {
        return 0;
    }
    gs_slice nothing = {.vector = GS_PARAM};
    uint32_t slot = gs_driver_request_open(world, REQUEST_AGREE, nothing, false);
    if (slot == GS_NO_SLOT) {
        return 0;
    }
    uint32_t number = world->first_line + communicator;
    request *opened = &world->requests[slot];
    opened->cookie = label;
    opened->of.op.communicator = (uint8_t)number;
    voice *own = &world->voices[slot];
    *own = (voice){.kind = kind, .label = label};
    for (int i = 0; i < GS_AGREE_VALUES; i++) {
        own->values[i] = canonical(values[i]);
    }
    round_line *on = &world->rounds[number];
    if (on->first == GS_NO_SLOT) {
        on->first = slot;
    } else {
        world->requests[on->last].next = slot;
    }
    on->last = slot;
    gs_driver_rounds_start(world, number);
    return opened->id;
}
