/* The in-process transport: threads of one process, a mailbox each, delays on purpose.
 *
 * It is the test bed of strategies: parcels are late, completions are late, channels overtake each
 * other, but none overtakes itself. Eager: data is copied into the receiver's mailbox when it is
 * sent. Rendezvous: the parcel refers to the sender's slice, which is free only when the receiver
 * has used it. Not fast: nothing is measured here. */
#include "live/mailbox.h"

#include "base/rng.h"

#include <stdlib.h>

enum { SLOW = 8 /* how much slower the slow pair and late completions are */ };

typedef struct loop_net {
    gs_transport_config config;
    gs_mailbox *mailboxes; /* [entities] */
} loop_net;

static void close_net(void *memory)
{
    loop_net *net = memory;
    for (uint32_t i = 0; i < net->config.entities; i++) {
        gs_mailbox_fini(&net->mailboxes[i]);
    }
    free(net->mailboxes);
    free(net);
}

static gs_status open_net(const gs_transport_config *config, void **out, gs_error *err)
{
    loop_net *net = calloc(1, sizeof *net);
    gs_mailbox *boxes = calloc(config->entities, sizeof *boxes);
    if (net == NULL || boxes == NULL) {
        free(net);
        free(boxes);
        return gs_fail(err, GS_ENOMEM, "no memory for %u mailboxes", config->entities);
    }
    net->config = *config;
    net->mailboxes = boxes;
    bool ok = true;
    for (uint32_t i = 0; i < config->entities; i++) {
        ok = gs_mailbox_init(&boxes[i], config->entities, config->planes) && ok;
    }
    if (!ok) {
        close_net(net);
        return gs_fail(err, GS_ENOMEM, "no memory for the channels of %u entities",
                       config->entities);
    }
    *out = net;
    return GS_OK;
}

static uint32_t places(void *memory)
{
    return ((const loop_net *)memory)->config.entities;
}

static uint32_t place_of(void *memory, uint32_t entity)
{
    (void)memory;
    return entity;
}

/* ---------------------------------------------------------------- delays */

static bool is_completion(gs_parcel_kind kind)
{
    return kind == GS_PARCEL_LEFT || kind == GS_PARCEL_FLUSHED || kind == GS_PARCEL_LATER;
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

/* ---------------------------------------------------------------- parcels */

/* Under the mailbox's lock. */
static bool enqueue(loop_net *net, gs_mailbox *box, gs_envelope *put)
{
    return gs_mailbox_put(box, put, due_at(net, &put->parcel, box->order) + put->parcel.after_ns);
}

static bool tell_left(loop_net *net, const gs_parcel *sent)
{
    gs_parcel left = gs_parcel_left(sent);
    gs_mailbox *box = &net->mailboxes[left.to];
    gs_mailbox_lock(box);
    gs_envelope *put = gs_mailbox_envelope(box, &left);
    bool ok = put != NULL && enqueue(net, box, put);
    gs_mailbox_unlock(box);
    return ok;
}

static bool send_parcel(void *memory, const gs_parcel *parcel, bool keep)
{
    loop_net *net = memory;
    gs_mailbox *box = &net->mailboxes[parcel->to];
    bool has_data = gs_parcel_has_data(parcel->kind);
    gs_mailbox_lock(box);
    gs_envelope *put = gs_mailbox_envelope(box, parcel);
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
    gs_mailbox_unlock(box);
    return ok && (!has_data || net->config.rendezvous || tell_left(net, parcel));
}

static bool release(void *memory, gs_parcel *parcel)
{
    loop_net *net = memory;
    gs_parcel sent = *parcel;
    bool tells_sender = ((const gs_envelope *)(const void *)parcel)->tells_sender;
    gs_mailbox_release(&net->mailboxes[parcel->to], parcel);
    return !tells_sender || tell_left(net, &sent);
}

static gs_take take(void *memory, uint32_t place, gs_time_ns until_ns, gs_parcel **out)
{
    loop_net *net = memory;
    gs_mailbox *box = &net->mailboxes[place];
    gs_take result = GS_TAKE_STOPPED;
    gs_mailbox_lock(box);
    while (!box->stopped) {
        gs_time_ns now = gs_live_clock();
        gs_time_ns next;
        *out = gs_mailbox_due(box, now, &next);
        if (*out != NULL) {
            result = GS_TAKE_PARCEL;
            break;
        }
        if (now >= until_ns) {
            result = next == GS_TIME_NEVER ? GS_TAKE_NOTHING : GS_TAKE_LATER;
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
        gs_mailbox_stop(&net->mailboxes[i]);
    }
}

static bool left_over(void *memory, uint32_t place, gs_parcel **out)
{
    loop_net *net = memory;
    *out = gs_mailbox_left_over(&net->mailboxes[place]);
    return *out != NULL;
}

const gs_transport gs_transport_loop = {
    .name = "loop",
    .summary = "threads of one process, with delays on purpose",
    .launcher = "none",
    .open = open_net,
    .close = close_net,
    .places = places,
    .place_of = place_of,
    .send = send_parcel,
    .take = take,
    .release = release,
    .stop = stop,
    .left_over = left_over,
};
