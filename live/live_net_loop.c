/* The in-process transport: threads of one process, a mailbox each, delays on purpose.
 *
 * It is the test bed of strategies: parcels are late, completions are late, channels overtake each
 * other, but none overtakes itself. Eager: data is copied into the receiver's mailbox when it is
 * sent. Rendezvous: the parcel refers to the sender's slice, which is free only when the receiver
 * has used it. Not fast: nothing is measured here. */
#include "live/live_net.h"

#include "base/assert.h"
#include "base/event_queue.h"
#include "base/rng.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    CHUNK_PARCELS = 64,
    CHUNKS_MAX = 4096,
    INDEX_BITS = 24, /* of a parcel in an event key */
    SLOW = 8         /* how much slower the slow pair and late completions are */
};

/* A parcel and what it holds. */
typedef struct envelope {
    gs_parcel parcel; /* first: release finds the envelope by it */
    gs_payload view;
    gs_payload *copy;
    uint32_t index;
    bool tells_sender; /* LEFT is due when it is released */
    struct envelope *next_free;
} envelope;

typedef struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t came;
    gs_event_heap due;
    uint64_t order;       /* parcels so far: ties of time come in the order they were sent */
    gs_time_ns *last_due; /* [entities][planes]: of the channels that end here */
    gs_arena arena;       /* everything below: parcels go home to the mailbox they came from */
    gs_payload_pool floats;
    envelope *chunks[CHUNKS_MAX];
    uint32_t chunk_count;
    envelope *free;
    bool stopped;
} mailbox;

typedef struct loop_net {
    gs_transport_config config;
    mailbox *mailboxes;
} loop_net;

static void close_net(void *memory)
{
    loop_net *net = memory;
    for (uint32_t i = 0; i < net->config.entities; i++) {
        mailbox *box = &net->mailboxes[i];
        gs_event_heap_fini(&box->due);
        gs_arena_fini(&box->arena);
        (void)pthread_cond_destroy(&box->came);
        (void)pthread_mutex_destroy(&box->lock);
    }
    free(net->mailboxes);
    free(net);
}

static bool open_box(const gs_transport_config *config, mailbox *box)
{
    pthread_condattr_t monotonic;
    (void)pthread_mutex_init(&box->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&box->came, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    gs_event_heap_init(&box->due);
    gs_arena_init(&box->arena);
    gs_payload_pool_init(&box->floats, &box->arena);
    box->last_due = GS_TAKE(&box->arena, gs_time_ns, (size_t)config->entities * config->planes);
    return box->last_due != NULL;
}

static gs_status open_net(const gs_transport_config *config, void **out, gs_error *err)
{
    loop_net *net = calloc(1, sizeof *net);
    mailbox *boxes = calloc(config->entities, sizeof *boxes);
    if (net == NULL || boxes == NULL) {
        free(net);
        free(boxes);
        return gs_fail(err, GS_ENOMEM, "no memory for %u mailboxes", config->entities);
    }
    net->config = *config;
    net->mailboxes = boxes;
    bool ok = true;
    for (uint32_t i = 0; i < config->entities; i++) {
        ok = open_box(config, &boxes[i]) && ok;
    }
    if (!ok) {
        close_net(net);
        return gs_fail(err, GS_ENOMEM, "no memory for the channels of %u entities",
                       config->entities);
    }
    *out = net;
    return GS_OK;
}

/* ---------------------------------------------------------------- delays */

static bool is_completion(gs_parcel_kind kind)
{
    return kind == GS_PARCEL_LEFT || kind == GS_PARCEL_FLUSHED || kind == GS_PARCEL_LATER;
}

static bool on_channel(gs_parcel_kind kind)
{
    return kind == GS_PARCEL_PART || kind == GS_PARCEL_MESSAGE || kind == GS_PARCEL_NOTE;
}

static gs_time_ns random_up_to(const loop_net *net, const gs_parcel *parcel, uint64_t order,
                               gs_time_ns most_ns)
{
    gs_rng_key key = {net->config.seed, GS_RNG_DELAY, parcel->to << 16 | parcel->from};
    uint64_t step = order & ((UINT64_C(1) << 55) - 1);
    return (gs_time_ns)(gs_rng_uniform(key, step, (uint32_t)parcel->kind) * (double)most_ns);
}

static gs_time_ns due_at(const loop_net *net, const gs_parcel *parcel, uint64_t order)
{
    gs_time_ns now = gs_live_clock();
    gs_time_ns delay_ns = net->config.delay_ns;
    switch (net->config.delay) {
    case GS_DELAY_UNIFORM:
        return now + random_up_to(net, parcel, order, delay_ns);
    case GS_DELAY_SKEWED:
        return (parcel->from == 0 && parcel->to == 1) ||
                       (parcel->to == 0 && parcel->kind == GS_PARCEL_COMPUTE)
                   ? now + SLOW * delay_ns
                   : now;
    case GS_DELAY_LATE:
        return is_completion(parcel->kind) ? now + random_up_to(net, parcel, order, SLOW * delay_ns)
                                           : now;
    case GS_DELAY_BURSTS:
        return (now / delay_ns + 1) * delay_ns;
    case GS_DELAY_NONE:
    case GS_DELAY_COUNT:
        break;
    }
    return now;
}

/* ---------------------------------------------------------------- mailboxes */

static bool add_chunk(mailbox *box)
{
    if (box->chunk_count == CHUNKS_MAX) {
        return false;
    }
    envelope *chunk = GS_TAKE(&box->arena, envelope, CHUNK_PARCELS);
    if (chunk == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < CHUNK_PARCELS; i++) {
        chunk[i].index = box->chunk_count * CHUNK_PARCELS + i;
        chunk[i].next_free = box->free;
        box->free = &chunk[i];
    }
    box->chunks[box->chunk_count++] = chunk;
    return true;
}

/* Under the mailbox's lock. A channel keeps its order: nothing is due before what was sent earlier.
 */
static bool enqueue(loop_net *net, mailbox *box, envelope *put)
{
    uint64_t order = box->order++;
    gs_time_ns due = due_at(net, &put->parcel, order) + put->parcel.after_ns;
    if (on_channel(put->parcel.kind)) {
        gs_time_ns *last =
            &box->last_due[put->parcel.from * net->config.planes + put->parcel.plane];
        due = due > *last ? due : *last;
        *last = due;
    }
    gs_queued_event event = {due, order << INDEX_BITS | put->index};
    return gs_event_heap_push(&box->due, event) == GS_OK;
}

static envelope *new_envelope(mailbox *box, const gs_parcel *parcel)
{
    if (box->free == NULL && !add_chunk(box)) {
        return NULL;
    }
    envelope *taken = box->free;
    box->free = taken->next_free;
    taken->parcel = *parcel;
    taken->copy = NULL;
    taken->tells_sender = false;
    return taken;
}

static bool tell_left(loop_net *net, const gs_parcel *sent)
{
    mailbox *box = &net->mailboxes[sent->from];
    gs_parcel left = {.kind = GS_PARCEL_LEFT,
                      .from = sent->to,
                      .to = sent->from,
                      .plane = sent->plane,
                      .request = sent->request,
                      .slot = sent->slot};
    (void)pthread_mutex_lock(&box->lock);
    envelope *put = new_envelope(box, &left);
    bool ok = put != NULL && enqueue(net, box, put);
    (void)pthread_cond_signal(&box->came);
    (void)pthread_mutex_unlock(&box->lock);
    return ok;
}

static bool send_parcel(void *memory, const gs_parcel *parcel, bool keep)
{
    loop_net *net = memory;
    mailbox *box = &net->mailboxes[parcel->to];
    bool has_data = parcel->kind == GS_PARCEL_PART || parcel->kind == GS_PARCEL_MESSAGE;
    (void)pthread_mutex_lock(&box->lock);
    envelope *put = new_envelope(box, parcel);
    bool ok = put != NULL;
    if (ok && parcel->payload != NULL) {
        put->view = *parcel->payload;
        if (keep || !net->config.rendezvous) {
            put->copy = gs_payload_copy(&box->floats, parcel->payload);
            ok = put->copy != NULL;
        }
        put->parcel.payload = put->copy != NULL ? put->copy : &put->view;
    }
    if (ok) {
        put->tells_sender = has_data && net->config.rendezvous;
        ok = enqueue(net, box, put);
    }
    (void)pthread_cond_signal(&box->came);
    (void)pthread_mutex_unlock(&box->lock);
    return ok && (!has_data || net->config.rendezvous || tell_left(net, parcel));
}

static bool release(void *memory, gs_parcel *parcel)
{
    loop_net *net = memory;
    envelope *used = (envelope *)(void *)parcel;
    mailbox *box = &net->mailboxes[parcel->to];
    gs_parcel sent = *parcel;
    (void)pthread_mutex_lock(&box->lock);
    bool tells_sender = used->tells_sender;
    gs_payload_give(&box->floats, used->copy);
    used->next_free = box->free;
    box->free = used;
    (void)pthread_mutex_unlock(&box->lock);
    return !tells_sender || tell_left(net, &sent);
}

static gs_parcel *pop(mailbox *box)
{
    gs_queued_event event;
    bool any = gs_event_heap_pop(&box->due, &event);
    GS_ASSERT(any);
    uint32_t index = (uint32_t)(event.key & ((UINT64_C(1) << INDEX_BITS) - 1));
    return &box->chunks[index / CHUNK_PARCELS][index % CHUNK_PARCELS].parcel;
}

static gs_take take(void *memory, uint32_t entity, gs_time_ns until_ns, gs_parcel **out)
{
    loop_net *net = memory;
    mailbox *box = &net->mailboxes[entity];
    gs_take result = GS_TAKE_STOPPED;
    (void)pthread_mutex_lock(&box->lock);
    while (!box->stopped) {
        gs_time_ns now = gs_live_clock();
        gs_time_ns next = box->due.count > 0 ? box->due.items[0].time : GS_TIME_NEVER;
        if (next <= now) {
            *out = pop(box);
            result = GS_TAKE_PARCEL;
            break;
        }
        if (now >= until_ns) {
            result = GS_TAKE_TIMEOUT;
            break;
        }
        next = next < until_ns ? next : until_ns;
        struct timespec at = {.tv_sec = next / GS_NS_PER_S, .tv_nsec = next % GS_NS_PER_S};
        (void)pthread_cond_timedwait(&box->came, &box->lock, &at);
    }
    (void)pthread_mutex_unlock(&box->lock);
    return result;
}

static void stop(void *memory)
{
    loop_net *net = memory;
    for (uint32_t i = 0; i < net->config.entities; i++) {
        mailbox *box = &net->mailboxes[i];
        (void)pthread_mutex_lock(&box->lock);
        box->stopped = true;
        (void)pthread_cond_signal(&box->came);
        (void)pthread_mutex_unlock(&box->lock);
    }
}

static bool left_over(void *memory, uint32_t entity, gs_parcel **out)
{
    loop_net *net = memory;
    mailbox *box = &net->mailboxes[entity];
    if (box->due.count == 0) {
        return false;
    }
    *out = pop(box);
    return true;
}

const gs_transport gs_transport_loop = {
    .name = "loop",
    .summary = "threads of one process, with delays on purpose",
    .open = open_net,
    .close = close_net,
    .send = send_parcel,
    .take = take,
    .release = release,
    .stop = stop,
    .left_over = left_over,
};
