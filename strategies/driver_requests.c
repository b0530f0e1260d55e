/* Requests of an entity: their table, what they have been lent, and the matching of messages. */
#include "strategies/driver_parts.h"

#include <string.h>

bool gs_driver_requests_create(gs_driver *driver, gs_arena *arena)
{
    uint32_t capacity = driver->room->outstanding_max[driver->entity.role];
    uint32_t vectors = GS_OWN + driver->room->own_vectors[driver->entity.role];
    driver->requests = GS_TAKE(arena, request, capacity);
    driver->lent = GS_PACK(arena, lending, vectors);
    if (driver->requests == NULL || driver->lent == NULL) {
        return false;
    }
    if (driver->room->point_to_point) {
        driver->landed = GS_PACK(arena, landing, capacity);
        if (driver->landed == NULL) {
            return false;
        }
    }
    driver->request_capacity = capacity;
    driver->free_first = capacity > 0 ? 0 : GS_NO_SLOT;
    for (uint32_t slot = 0; slot < capacity; slot++) {
        driver->requests[slot].next = slot + 1 < capacity ? slot + 1 : GS_NO_SLOT;
    }
    driver->posted_first = driver->posted_last = GS_NO_SLOT;
    return true;
}

/* ---------------------------------------------------------------- lending */

static bool lends(const request *holder)
{
    return holder->kind != REQUEST_FREE && !holder->copied && holder->length > 0;
}

/* A send lends its slice to readers; everything else has it alone. */
static bool conflicts(const request *holder, gs_slice slice, bool writes)
{
    return (writes || holder->kind != REQUEST_SEND) &&
           holder->offset < slice.offset + slice.length &&
           slice.offset < holder->offset + holder->length;
}

/* Looks at no more requests than it takes to find all to whom something of the vector is lent: a
 * step may have hundreds of tensors, few of them under way. */
static const request *lent_to(const gs_driver *driver, gs_slice slice, bool writes)
{
    const lending *of = &driver->lent[slice.vector];
    if (slice.length == 0 || of->count == 0 || slice.offset >= of->high) {
        return NULL;
    }
    uint32_t left = of->count;
    for (uint32_t slot = 0; left > 0 && slot < driver->request_capacity; slot++) {
        const request *holder = &driver->requests[slot];
        if (lends(holder) && holder->vector == slice.vector) {
            if (conflicts(holder, slice, writes)) {
                return holder;
            }
            left--;
        }
    }
    return NULL;
}

bool gs_driver_is_lent(const gs_driver *driver, gs_slice slice)
{
    return lent_to(driver, slice, true) != NULL;
}

/* Where the weights begin that a step under way reads: the forward pass has not come to those
 * before, which may be written, from a GRAD that is still that of the step before. */
static int64_t open_from(const gs_driver *driver)
{
    return driver->buckets->offsets[driver->closed_buckets];
}

/* GRAD is being written until its buckets are announced; those of a gradient that was cancelled
 * never are. */
static bool still_computing(const gs_driver *driver, gs_slice slice)
{
    int64_t end = slice.offset + slice.length;
    return (driver->in_backward || driver->cancelled) && slice.vector == GS_GRAD &&
           slice.length > 0 && end > driver->buckets->offsets[driver->bucket_launched] &&
           end > open_from(driver);
}

static bool is_pinned(const gs_driver *driver, gs_slice slice)
{
    return driver->in_backward && slice.vector == driver->plan.at && slice.length > 0 &&
           slice.offset + slice.length > open_from(driver);
}

bool gs_driver_has_slice(gs_driver *driver, const char *service, gs_slice slice)
{
    if (slice.vector >= gs_driver_vector_count(driver) || slice.offset < 0 || slice.length < 0 ||
        slice.length > driver->config->job->elements - slice.offset) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: no such slice: vector %u, [%lld, +%lld)",
                        service, slice.vector, (long long)slice.offset, (long long)slice.length);
    }
    return !driver->failed;
}

bool gs_driver_are_apart(gs_driver *driver, const char *service, gs_slice a, gs_slice b)
{
    int64_t between = a.offset < b.offset ? b.offset - a.offset : a.offset - b.offset;
    if (a.vector == b.vector && between > 0 && between < a.length) {
        gs_driver_broke(driver, GS_ECONTRACT,
                        "%s: [%lld, +%lld) and [%lld, +%lld) of vector %u overlap: operands are "
                        "the same or apart",
                        service, (long long)a.offset, (long long)a.length, (long long)b.offset,
                        (long long)b.length, a.vector);
    }
    return !driver->failed;
}

bool gs_driver_may_use(gs_driver *driver, const char *service, gs_slice slice, bool writes)
{
    if (!gs_driver_has_slice(driver, service, slice)) {
        return false;
    }
    if (writes && is_pinned(driver, slice)) {
        gs_driver_broke(driver, GS_ECONTRACT,
                        "%s: vector %u is pinned until backward_done: the gradient is taken there",
                        service, slice.vector);
        return false;
    }
    if (still_computing(driver, slice)) {
        gs_driver_broke(driver, GS_ECONTRACT,
                        "%s: GRAD [%lld, +%lld) is not ready: use buckets that were announced%s",
                        service, (long long)slice.offset, (long long)slice.length,
                        driver->cancelled ? " before it was cancelled" : "");
        return false;
    }
    const request *holder = lent_to(driver, slice, writes);
    if (holder != NULL) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: vector %u [%lld, +%lld) is lent to request %llu",
                        service, slice.vector, (long long)slice.offset, (long long)slice.length,
                        (unsigned long long)holder->id);
        return false;
    }
    return true;
}

/* ---------------------------------------------------------------- the table */

uint32_t gs_driver_request_open(gs_driver *driver, request_kind kind, gs_slice slice, bool copied)
{
    uint32_t slot = driver->free_first;
    if (slot == GS_NO_SLOT) {
        gs_driver_broke(driver, GS_ECONTRACT, "more than the declared %u requests are outstanding",
                        driver->request_capacity);
        return GS_NO_SLOT;
    }
    /* Filled in place, and the rest by the caller: this is the hottest store of a hook. */
    request *opened = &driver->requests[slot];
    driver->free_first = opened->next;
    opened->id = ++driver->ops_issued;
    opened->kind = (uint8_t)kind;
    opened->next = GS_NO_SLOT;
    opened->vector = slice.vector;
    opened->offset = slice.offset;
    opened->length = slice.length;
    opened->copied = copied;
    opened->landed = false;
    opened->cookie = 0;
    if (kind == REQUEST_SEND) {
        driver->sends_outstanding++;
        driver->copies_outstanding += copied ? 1 : 0;
    }
    if (lends(opened)) {
        int64_t end = slice.offset + slice.length;
        lending *of = &driver->lent[slice.vector];
        if (of->count++ == 0 || end > of->high) {
            of->high = end;
        }
    }
    return slot;
}

void gs_driver_request_close(gs_driver *driver, uint32_t slot)
{
    request *closed = &driver->requests[slot];
    if (closed->kind == REQUEST_SEND) {
        driver->sends_outstanding--;
        driver->copies_outstanding -= closed->copied ? 1 : 0;
    }
    if (lends(closed)) {
        driver->lent[closed->vector].count--;
    }
    closed->kind = REQUEST_FREE;
    closed->next = driver->free_first;
    driver->free_first = slot;
}

/* ---------------------------------------------------------------- point to point */

static bool check_peer(gs_driver *driver, const char *service, gs_peer peer, bool may_be_any)
{
    uint32_t entities =
        peer.role == GS_WORKER ? driver->config->job->ranks : driver->config->layout->servers;
    if (peer.role >= GS_ROLE_COUNT ||
        !(peer.index < entities || (may_be_any && peer.index == GS_ANY))) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: no such peer: role %d, index %d", service,
                        peer.role, peer.index);
    } else if (!driver->config->layout->point_to_point) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: the layout does not declare point_to_point",
                        service);
    }
    return !driver->failed;
}

static bool check_tag(gs_driver *driver, const char *service, uint16_t tag)
{
    if (tag >= GS_TAGS_MAX) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: tag %u is reserved; tags are 0 to %d", service,
                        tag, GS_TAGS_MAX - 1);
    }
    return !driver->failed;
}

static gs_message message_to(const gs_driver *driver, gs_peer to, uint16_t tag, int64_t length,
                             const int64_t meta[4])
{
    gs_message message = {
        .from = driver->entity, .to = to, .tag = tag, .epoch = driver->leg.epoch, .length = length};
    if (meta != NULL) {
        memcpy(message.meta, meta, sizeof message.meta);
    }
    return message;
}

static bool has_codec(const gs_driver *driver)
{
    return driver->config->coding != NULL && driver->config->coding->codec != NULL;
}

static bool may_code(gs_driver *driver, const char *service)
{
    if (!driver->config->layout->sends_coded) {
        gs_driver_broke(driver, GS_ECONTRACT, "%s: the layout does not declare sends_coded",
                        service);
    }
    return !driver->failed;
}

void gs_code(gs_world *world, gs_slice into, gs_slice data)
{
    if (!gs_driver_enter(world, "code") || !may_code(world, "code") ||
        !gs_driver_may_use(world, "code", into, true) ||
        !gs_driver_may_use(world, "code", data, false)) {
        return;
    }
    if (into.length != data.length) {
        gs_driver_broke(world, GS_ECONTRACT, "code: lengths %lld and %lld differ",
                        (long long)into.length, (long long)data.length);
        return;
    }
    if (!gs_driver_are_apart(world, "code", into, data)) {
        return;
    }
    const gs_host_calls *calls = world->config->calls;
    if (!has_codec(world)) {
        calls->vec(world->config->host, world->entity, GS_VOP_copy, into, data, 0.0);
        return;
    }
    world->code_key = ++world->ops_issued; /* like a request's, so that draws differ */
    calls->recode(world->config->host, world->entity, into, data, world->code_key);
}

gs_op gs_send(gs_world *world, gs_peer to, uint16_t tag, gs_slice data, const int64_t meta[4],
              int flags)
{
    bool asks_coded = (flags & GS_SEND_CODED) != 0;
    bool coded = asks_coded && has_codec(world);
    bool copy = (flags & GS_SEND_COPY) != 0;
    if (!gs_driver_enter(world, "send") || !check_peer(world, "send", to, false) ||
        !check_tag(world, "send", tag) || !gs_driver_may_use(world, "send", data, false)) {
        return 0;
    }
    if (asks_coded && !may_code(world, "send")) {
        return 0;
    }
    uint32_t copies_max = world->config->layout->copies_max[world->entity.role];
    if (copy && world->copies_outstanding >= copies_max) {
        gs_driver_broke(world, GS_ECONTRACT,
                        "send: more than the declared %u copies are on their way", copies_max);
        return 0;
    }
    uint32_t slot = gs_driver_request_open(world, REQUEST_SEND, data, copy || coded);
    if (slot == GS_NO_SLOT) {
        return 0;
    }
    world->requests[slot].of.message.peer = to;
    world->requests[slot].of.message.tag = tag;
    gs_message message = message_to(world, to, tag, data.length, meta);
    message.coded = coded;
    message.same = coded && (flags & GS_SEND_SAME) != 0;
    message.key = message.same ? world->code_key : world->requests[slot].id;
    if (copy || coded) {
        world->config->calls->send_copy(world->config->host, &message, data, slot);
    } else {
        world->config->calls->send(world->config->host, &message, data, slot);
    }
    return world->requests[slot].id;
}

void gs_note(gs_world *world, gs_peer to, uint16_t tag, const int64_t meta[4])
{
    if (!gs_driver_enter(world, "note") || !check_peer(world, "note", to, false) ||
        !check_tag(world, "note", tag)) {
        return;
    }
    gs_message message = message_to(world, to, tag, 0, meta);
    message.is_note = true;
    world->config->calls->note(world->config->host, &message);
}

static bool fits(gs_peer wanted, uint16_t wanted_tag, const gs_message *message)
{
    return wanted_tag == message->tag && wanted.role == message->from.role &&
           (wanted.index == GS_ANY || wanted.index == message->from.index);
}

/* The message goes into the slice now; the hook learns of it in this or a later turn. */
static bool land(gs_driver *driver, request *posted, const gs_message *message)
{
    if (posted->length != message->length) {
        gs_driver_broke(driver, GS_ECONTRACT,
                        "recv: %lld elements came with tag %u where %lld were expected",
                        (long long)message->length, message->tag, (long long)posted->length);
        return false;
    }
    if (message->data != NULL) {
        driver->config->calls->take(driver->config->host, driver->entity,
                                    gs_driver_request_slice(posted), message);
    }
    landing *landed = &driver->landed[posted - driver->requests];
    landed->from = message->from;
    memcpy(landed->meta, message->meta, sizeof landed->meta);
    posted->landed = true;
    return true;
}

gs_op gs_recv(gs_world *world, gs_peer from, uint16_t tag, gs_slice into, uint64_t cookie)
{
    if (!gs_driver_enter(world, "recv") || !check_peer(world, "recv", from, true) ||
        !check_tag(world, "recv", tag) || !gs_driver_may_use(world, "recv", into, true)) {
        return 0;
    }
    uint32_t slot = gs_driver_request_open(world, REQUEST_RECV, into, false);
    if (slot == GS_NO_SLOT) {
        return 0;
    }
    request *posted = &world->requests[slot];
    posted->cookie = cookie;
    posted->of.message.peer = from;
    posted->of.message.tag = tag;
    message_queue *queued = &world->queued;
    for (uint32_t i = 0; i < queued->count; i++) {
        gs_message message = queued->list[i];
        if (fits(from, tag, &message)) {
            queued->count--;
            memmove(&queued->list[i], &queued->list[i + 1],
                    (queued->count - i) * sizeof *queued->list);
            if (land(world, posted, &message)) {
                world->config->calls->later(world->config->host, world->entity, slot);
            }
            return posted->id;
        }
    }
    if (world->posted_first == GS_NO_SLOT) {
        world->posted_first = slot;
    } else {
        world->requests[world->posted_last].next = slot;
    }
    world->posted_last = slot;
    return posted->id;
}

void gs_driver_keep(gs_driver *driver, message_queue *queue, const gs_message *message)
{
    if (queue->count == queue->capacity) {
        uint32_t capacity = queue->capacity == 0 ? 8 : 2 * queue->capacity;
        gs_message *grown = GS_TAKE(driver->arena, gs_message, capacity);
        if (grown == NULL) {
            gs_driver_broke(driver, GS_ENOMEM, "no memory for a queue of %u messages", capacity);
            return;
        }
        if (queue->count > 0) {
            memcpy(grown, queue->list, queue->count * sizeof *grown);
        }
        queue->list = grown;
        queue->capacity = capacity;
    }
    queue->list[queue->count++] = *message;
}

void gs_driver_forget_receives(gs_driver *driver)
{
    for (uint32_t slot = driver->posted_first; slot != GS_NO_SLOT;) {
        uint32_t next = driver->requests[slot].next;
        gs_driver_request_close(driver, slot);
        slot = next;
    }
    driver->posted_first = driver->posted_last = GS_NO_SLOT;
}

void gs_driver_match(gs_driver *driver, const gs_message *message)
{
    uint32_t before = GS_NO_SLOT;
    for (uint32_t slot = driver->posted_first; slot != GS_NO_SLOT;
         slot = driver->requests[slot].next) {
        request *posted = &driver->requests[slot];
        if (fits(posted->of.message.peer, posted->of.message.tag, message)) {
            if (before == GS_NO_SLOT) {
                driver->posted_first = posted->next;
            } else {
                driver->requests[before].next = posted->next;
            }
            if (driver->posted_last == slot) {
                driver->posted_last = before;
            }
            if (land(driver, posted, message)) {
                gs_driver_matched(driver, slot);
            }
            return;
        }
        before = slot;
    }
    gs_driver_keep(driver, &driver->queued, message);
}

/* ---------------------------------------------------------------- time */

gs_op gs_timer(gs_world *world, gs_time_ns after_ns, uint64_t cookie)
{
    if (!gs_driver_enter(world, "timer")) {
        return 0;
    }
    if (after_ns < 0) {
        gs_driver_broke(world, GS_ECONTRACT, "timer: %lld ns from now is in the past",
                        (long long)after_ns);
        return 0;
    }
    if (after_ns > GS_TIME_END) {
        gs_driver_broke(world, GS_ECONTRACT, "timer: %lld ns from now; no run takes over %lld",
                        (long long)after_ns, (long long)GS_TIME_END);
        return 0;
    }
    gs_slice nothing = {.vector = GS_PARAM};
    uint32_t slot = gs_driver_request_open(world, REQUEST_TIMER, nothing, false);
    if (slot == GS_NO_SLOT) {
        return 0;
    }
    world->requests[slot].cookie = cookie;
    world->config->calls->timer(world->config->host, world->entity, slot, after_ns);
    return world->requests[slot].id;
}

/* ---------------------------------------------------------------- looks */

static gs_status describe(const gs_driver *driver, const request *left, gs_error *out)
{
    gs_peer peer = left->of.message.peer;
    uint16_t tag = left->of.message.tag;
    const char *role = peer.role == GS_WORKER ? "worker" : "server";
    unsigned long long id = left->id;
    switch ((request_kind)left->kind) {
    case REQUEST_COLLECTIVE:
        return gs_fail(
            out, GS_EDEADLOCK, "%s %llu (label %llu, communicator %u)",
            gs_collective_kind_name((gs_collective_kind)left->of.op.kind),
            (unsigned long long)gs_driver_sequence(driver, (uint32_t)(left - driver->requests)),
            (unsigned long long)left->cookie, left->of.op.communicator);
    case REQUEST_SEND:
        return gs_fail(out, GS_EDEADLOCK, "send %llu to %s %d with tag %u", id, role, peer.index,
                       tag);
    case REQUEST_RECV:
        return peer.index == GS_ANY
                   ? gs_fail(out, GS_EDEADLOCK, "recv %llu from any %s with tag %u", id, role, tag)
                   : gs_fail(out, GS_EDEADLOCK, "recv %llu from %s %d with tag %u", id, role,
                             peer.index, tag);
    case REQUEST_TIMER:
        return gs_fail(out, GS_EDEADLOCK, "timer %llu (cookie %llu)", id,
                       (unsigned long long)left->cookie);
    case REQUEST_DOT:
        return gs_fail(out, GS_EDEADLOCK, "dot %llu (cookie %llu)", id,
                       (unsigned long long)left->cookie);
    case REQUEST_AGREE:
        return gs_fail(out, GS_EDEADLOCK, "agree %llu (%s, label %llu, communicator %u)", id,
                       gs_driver_agree_name(driver->voices[left - driver->requests].kind),
                       (unsigned long long)left->cookie, left->of.op.communicator);
    case REQUEST_FREE:
        break;
    }
    return gs_fail(out, GS_EDEADLOCK, "nothing");
}

static void put_text(char *out, size_t out_bytes, const gs_error *text)
{
    size_t length = strlen(text->text);
    length = length < out_bytes ? length : out_bytes - 1;
    memcpy(out, text->text, length);
    out[length] = '\0';
}

bool gs_driver_leftovers(const gs_driver *driver, char *out, size_t out_bytes)
{
    gs_error text;
    if (driver->queued.count > 0) {
        const gs_message *message = &driver->queued.list[0];
        (void)gs_fail(&text, GS_ECONTRACT, "a message of %s %d with tag %u was never received",
                      message->from.role == GS_WORKER ? "worker" : "server", message->from.index,
                      message->tag);
        put_text(out, out_bytes, &text);
        return true;
    }
    for (uint32_t i = 0; i < driver->inbox_count; i++) {
        uint32_t of = driver->inboxes[i].communicator - driver->first_line;
        if (driver->inboxes[i].parts > 0 && of < driver->config->layout->communicator_count) {
            (void)gs_fail(
                &text, GS_ECONTRACT, "%u parts of worker %u on communicator %u were never received",
                driver->inboxes[i].parts, driver->inboxes[i].rank, driver->inboxes[i].communicator);
            put_text(out, out_bytes, &text);
            return true;
        }
    }
    uint32_t rank;
    if (gs_driver_rounds_left(driver, &rank)) {
        (void)gs_fail(&text, GS_ECONTRACT, "worker %u asked for an agreement, this one did not",
                      rank);
        put_text(out, out_bytes, &text);
        return true;
    }
    for (uint32_t slot = 0; slot < driver->request_capacity; slot++) {
        const request *left = &driver->requests[slot];
        /* Receives posted for the whole run may stay, but not what has landed and was not told. */
        bool may_stay = left->kind == REQUEST_RECV && !left->landed;
        if (left->kind != REQUEST_FREE && !may_stay) {
            (void)describe(driver, left, &text);
            put_text(out, out_bytes, &text);
            return true;
        }
    }
    return false;
}

bool gs_driver_waits_for(const gs_driver *driver, char *out, size_t out_bytes)
{
    const request *oldest = NULL;
    for (uint32_t slot = 0; slot < driver->request_capacity; slot++) {
        const request *left = &driver->requests[slot];
        if (left->kind != REQUEST_FREE && (oldest == NULL || left->id < oldest->id)) {
            oldest = left;
        }
    }
    if (oldest == NULL && !driver->held && driver->closed_buckets == 0) {
        return false;
    }
    gs_error what;
    if (oldest != NULL) {
        (void)describe(driver, oldest, &what);
    } else {
        (void)gs_fail(&what, GS_EDEADLOCK, "%s of its strategy",
                      driver->held ? "a release" : "an open_forward");
    }
    gs_error on = {.text = ""};
    if (oldest != NULL && oldest->kind == REQUEST_COLLECTIVE) {
        const line *of = &driver->lines[oldest->of.op.communicator];
        bool plays = of->running && !of->native && !of->flushing;
        for (uint32_t i = of->lane_count; plays && i-- > 0;) {
            if (of->lanes[i].waits_for != GS_NO_SLOT) { /* the first of them has the last word */
                (void)gs_fail(&on, GS_EDEADLOCK, ", which waits for worker %u",
                              driver->inboxes[of->lanes[i].waits_for].rank);
            }
        }
    }
    uint32_t rank;
    if (oldest != NULL && oldest->kind == REQUEST_AGREE &&
        gs_driver_rounds_wait(driver, oldest->of.op.communicator, &rank)) {
        (void)gs_fail(&on, GS_EDEADLOCK, ", which waits for worker %u", rank);
    }
    gs_error text;
    (void)gs_fail(&text, GS_EDEADLOCK, "%s %d, step %lld, waits for %.200s%.100s",
                  driver->entity.role == GS_WORKER ? "worker" : "server", driver->entity.index,
                  (long long)driver->steps_ended, what.text, on.text);
    put_text(out, out_bytes, &text);
    return true;
}
