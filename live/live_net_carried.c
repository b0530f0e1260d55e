/* The transport between processes: parcels as frames of a crew's carrier.
 *
 * Process p of the run has entity p, and all of it is one place: whoever takes moves the network
 * on, so nothing moves while nobody takes. What entities tell themselves, and what came, lies in a
 * mailbox. Payloads leave from where they lie and are lent until the carrier has them, or are
 * copied where they must be kept or made shorter: floats of a 16-bit job travel as 16 bits. A
 * payload that is less than what the job counts, as in timing-only runs, is padded to that. On
 * purpose, parcels may wait at the receiver: a delay line, for latency and jitter that the network
 * does not have. */
#include "base/assert.h"
#include "base/rng.h"
#include "live/crew.h"
#include "live/mailbox.h"
#include "models/codec_kernels.h"

#include <stdlib.h>
#include <string.h>

enum { SENT_MAX = 1 << 16 };

/* A parcel as the head of its frame: both sides are of one build, or the crew was refused. */
typedef struct carried_head {
    gs_parcel parcel; /* without its pointers */
    int64_t version;  /* of the payload, as the following */
    uint64_t count;
    uint8_t has_payload, is_coded, is_half, reserved[5];
} carried_head;

_Static_assert(sizeof(carried_head) <= GS_CREW_HEAD_BYTES, "a parcel fits into a head");

/* A frame that has not left. */
typedef struct sent_frame {
    gs_parcel left;   /* what its sender is told then; kind WORD: nothing */
    gs_payload *copy; /* goes home then; NULL: the body was lent */
    uint32_t next_free;
} sent_frame;

typedef struct carried_net {
    gs_transport_config config;
    gs_mailbox box;
    gs_payload_pool copies; /* of what is sent; own memory: the mailbox's has other threads */
    gs_arena arena;
    const gs_packer *packer; /* of floats; NULL: they travel as they are */
    sent_frame *sent;        /* [sent_capacity] */
    uint32_t sent_capacity, sent_free;
    uint32_t sent_out; /* frames that have not left */
    uint64_t arrived;  /* for the delay line's draws */
} carried_net;

#define NO_FRAME UINT32_MAX

/* What floats of the job travel as; NULL: as they are. */
static const gs_packer *packer_of(gs_number number)
{
    return number == GS_FP16   ? gs_packer_find("fp16")
           : number == GS_BF16 ? gs_packer_find("bf16")
                               : NULL;
}

static void give_back(carried_net *net, gs_envelope *envelope)
{
    if (envelope->handle != NULL) {
        gs_crew_give_back(net->config.crew, &(gs_carried){.handle = envelope->handle});
        envelope->handle = NULL;
    }
}

/* Frames of a run that failed lie in the mailbox, and with entities that wait for others. */
static void close_net(void *memory)
{
    carried_net *net = memory;
    for (uint32_t i = 0; i < net->box.chunk_count * GS_MAILBOX_CHUNK; i++) {
        give_back(net, &net->box.chunks[i / GS_MAILBOX_CHUNK][i % GS_MAILBOX_CHUNK]);
    }
    gs_mailbox_fini(&net->box);
    gs_arena_fini(&net->arena);
    free(net->sent);
    free(net);
}

static gs_status open_net(const gs_transport_config *config, void **out, gs_error *err)
{
    carried_net *net = calloc(1, sizeof *net);
    if (net == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for a network");
    }
    if (config->crew == NULL || gs_crew_size(config->crew) < config->entities) {
        free(net);
        return gs_fail(err, GS_EINVAL, "%u processes for %u workers and servers; each needs one",
                       config->crew == NULL ? 1 : gs_crew_size(config->crew), config->entities);
    }
    net->config = *config;
    net->sent_free = NO_FRAME;
    net->packer = packer_of(config->number);
    gs_arena_init(&net->arena);
    gs_payload_pool_init(&net->copies, &net->arena);
    if (!gs_mailbox_init(&net->box, gs_crew_size(config->crew), config->planes)) {
        close_net(net);
        return gs_fail(err, GS_ENOMEM, "no memory for the channels of %u entities",
                       config->entities);
    }
    *out = net;
    return GS_OK;
}

static uint32_t places(void *memory)
{
    (void)memory;
    return 1;
}

static uint32_t place_of(void *memory, uint32_t entity)
{
    const carried_net *net = memory;
    return entity == gs_crew_self(net->config.crew) ? 0 : GS_NOT_HERE;
}

/* ---------------------------------------------------------------- what leaves */

static uint32_t new_sent(carried_net *net)
{
    if (net->sent_free == NO_FRAME) {
        uint32_t capacity = net->sent_capacity == 0 ? 64 : 2 * net->sent_capacity;
        sent_frame *grown =
            capacity > SENT_MAX ? NULL : realloc(net->sent, capacity * sizeof *grown);
        if (grown == NULL) {
            return NO_FRAME;
        }
        net->sent = grown;
        for (uint32_t i = net->sent_capacity; i < capacity; i++) {
            net->sent[i].next_free = net->sent_free;
            net->sent_free = i;
        }
        net->sent_capacity = capacity;
    }
    uint32_t taken = net->sent_free;
    net->sent_free = net->sent[taken].next_free;
    return taken;
}

static bool put_own(carried_net *net, const gs_parcel *parcel)
{
    gs_mailbox_lock(&net->box);
    bool ok = gs_mailbox_tell(&net->box, parcel, gs_live_clock() + parcel->after_ns);
    gs_mailbox_unlock(&net->box);
    gs_crew_wake(net->config.crew);
    return ok;
}

/* To itself: by the mailbox, a payload as a copy. */
static bool send_own(carried_net *net, const gs_parcel *parcel)
{
    bool has_data = gs_parcel_has_data(parcel->kind);
    if (parcel->payload == NULL) {
        return put_own(net, parcel);
    }
    gs_mailbox_lock(&net->box);
    gs_envelope *put = gs_mailbox_envelope(&net->box, parcel);
    bool ok = put != NULL;
    if (ok) {
        put->copy = gs_payload_copy(&net->box.floats, parcel->payload);
        put->parcel.payload = put->copy;
        ok =
            put->copy != NULL && gs_mailbox_put(&net->box, put, gs_live_clock() + parcel->after_ns);
    }
    gs_mailbox_unlock(&net->box);
    gs_parcel left = gs_parcel_left(parcel);
    return ok && (!has_data || put_own(net, &left));
}

static gs_payload *halve(carried_net *net, const gs_payload *payload)
{
    gs_pack_rule rule = {.count = payload->count};
    gs_payload *copy = gs_payload_take(&net->copies, payload->count / 2 + 1);
    if (copy != NULL) {
        copy->version = payload->version;
        copy->count = 0;
        copy->coded = (uint8_t *)copy->data;
        copy->bytes = net->packer->encode(&rule, payload->data, copy->coded);
    }
    return copy;
}

/* The body of a parcel's frame: the payload where it lies, or a copy. false: no memory. */
static bool make_body(carried_net *net, const gs_parcel *parcel, bool keep, carried_head *head,
                      gs_frame *frame, gs_payload **out_copy)
{
    const gs_payload *payload = parcel->payload;
    *out_copy = NULL;
    if (payload != NULL) {
        head->has_payload = true;
        head->version = payload->version;
        head->count = payload->count;
        head->is_coded = payload->coded != NULL;
        head->is_half = net->packer != NULL && payload->coded == NULL && payload->count > 0;
        if (head->is_half) {
            *out_copy = halve(net, payload);
        } else if (keep && (payload->count > 0 || payload->bytes > 0)) {
            *out_copy = gs_payload_copy(&net->copies, payload);
        }
        if ((head->is_half || keep) && *out_copy == NULL && (payload->count + payload->bytes > 0)) {
            return false;
        }
        const gs_payload *lies = *out_copy != NULL ? *out_copy : payload;
        frame->body = lies->coded != NULL ? (void *)lies->coded : (void *)lies->data;
        frame->body_bytes = lies->coded != NULL ? lies->bytes : lies->count * sizeof(float);
    }
    size_t wanted = parcel->bytes > 0 ? (size_t)parcel->bytes : 0;
    frame->padding_bytes = wanted > frame->body_bytes ? wanted - frame->body_bytes : 0;
    return true;
}

static bool send_parcel(void *memory, const gs_parcel *parcel, bool keep)
{
    carried_net *net = memory;
    uint32_t to = parcel->to;
    if (to == gs_crew_self(net->config.crew)) {
        return send_own(net, parcel);
    }
    carried_head head = {.parcel = *parcel};
    head.parcel.payload = NULL;
    head.parcel.next = NULL;
    head.parcel.message.data = NULL;
    gs_frame frame = {.head = &head, .head_bytes = sizeof head};
    gs_payload *copy;
    uint32_t sent = new_sent(net);
    if (sent == NO_FRAME || !make_body(net, parcel, keep, &head, &frame, &copy)) {
        return false;
    }
    net->sent[sent] = (sent_frame){.left = {.kind = GS_PARCEL_WORD}, .copy = copy};
    if (gs_parcel_has_data(parcel->kind)) {
        net->sent[sent].left = gs_parcel_left(parcel);
    }
    net->sent_out++;
    return gs_crew_send(net->config.crew, to, &frame, sent);
}

static bool left(carried_net *net, uint64_t cookie)
{
    GS_ASSERT(cookie < net->sent_capacity);
    sent_frame *sent = &net->sent[cookie];
    gs_parcel tell = sent->left;
    gs_payload_give(&net->copies, sent->copy);
    net->sent_out--;
    sent->next_free = net->sent_free;
    net->sent_free = (uint32_t)cookie;
    return tell.kind == GS_PARCEL_WORD || put_own(net, &tell);
}

/* ---------------------------------------------------------------- what comes */

/* How much longer than it took a parcel is to have taken. */
static gs_time_ns delay_of(carried_net *net, const gs_parcel *parcel)
{
    const gs_transport_config *config = &net->config;
    if (!gs_parcel_is_on_channel(parcel->kind) || config->latency_ns + config->jitter_ns == 0) {
        return 0;
    }
    gs_rng_key key = {config->seed, GS_RNG_DELAY, parcel->to << 16 | parcel->from};
    double share = gs_rng_uniform(key, net->arrived++, (uint32_t)parcel->kind);
    return config->latency_ns + (gs_time_ns)(share * (double)config->jitter_ns);
}

/* The payload of a frame as the mailbox keeps it: a view of the carrier's memory, which is given
 * back on release, or floats made of its 16 bits. false: no memory. */
static bool unpack(carried_net *net, const carried_head *head, const gs_carried *came,
                   gs_envelope *put)
{
    gs_payload *view = &put->view;
    *view = (gs_payload){.version = head->version, .count = (size_t)head->count};
    if (head->is_half) {
        gs_pack_rule rule = {.count = view->count};
        put->copy = gs_payload_take(&net->box.floats, view->count);
        put->parcel.payload = put->copy;
        if (put->copy == NULL) {
            return false;
        }
        put->copy->version = head->version;
        return net->packer->decode(&rule, GS_UNPACK_PUT, came->frame.body, came->frame.body_bytes,
                                   put->copy->data);
    }
    if (head->is_coded) {
        view->coded = came->frame.body;
        view->bytes = came->frame.body_bytes;
    } else {
        view->data = came->frame.body;
    }
    put->handle = came->handle;
    put->parcel.payload = view;
    return true;
}

static bool came_here(carried_net *net, const gs_carried *came)
{
    carried_head head;
    GS_ASSERT(came->frame.head_bytes == sizeof head);
    memcpy(&head, came->frame.head, sizeof head);
    gs_mailbox_lock(&net->box);
    gs_envelope *put = gs_mailbox_envelope(&net->box, &head.parcel);
    bool ok = put != NULL && (!head.has_payload || unpack(net, &head, came, put));
    bool is_lent = ok && put->handle != NULL;
    ok = ok && gs_mailbox_put(&net->box, put, gs_live_clock() + delay_of(net, &head.parcel));
    gs_mailbox_unlock(&net->box);
    if (!is_lent) {
        gs_crew_give_back(net->config.crew, came);
    }
    return ok;
}

/* All that has happened. false: no memory, or the crew is broken. */
static bool look(carried_net *net)
{
    gs_carried came;
    for (;;) {
        gs_crew_poll(net->config.crew, &came);
        bool ok = true;
        switch (came.kind) {
        case GS_CARRIED_NOTHING:
            return true;
        case GS_CARRIED_FRAME:
            ok = came_here(net, &came);
            break;
        case GS_CARRIED_LEFT:
            ok = left(net, came.cookie);
            break;
        case GS_CARRIED_DONE: {
            gs_parcel done = {.kind = GS_PARCEL_NATIVE,
                              .from = gs_crew_self(net->config.crew),
                              .to = gs_crew_self(net->config.crew),
                              .slot = (uint32_t)came.cookie};
            ok = put_own(net, &done);
            break;
        }
        case GS_CARRIED_LOST:
            ok = false;
            break;
        }
        if (!ok) {
            return false;
        }
    }
}

static gs_take take(void *memory, uint32_t place, gs_time_ns until_ns, gs_parcel **out)
{
    carried_net *net = memory;
    (void)place;
    for (;;) {
        if (!look(net)) {
            return GS_TAKE_BROKEN;
        }
        gs_time_ns now = gs_live_clock();
        gs_time_ns next;
        gs_mailbox_lock(&net->box);
        bool stopped = net->box.stopped;
        *out = stopped ? NULL : gs_mailbox_due(&net->box, now, &next);
        gs_mailbox_unlock(&net->box);
        if (stopped || *out != NULL) {
            return stopped ? GS_TAKE_STOPPED : GS_TAKE_PARCEL;
        }
        if (now >= until_ns) {
            return next == GS_TIME_NEVER ? GS_TAKE_NOTHING : GS_TAKE_LATER;
        }
        gs_crew_wait(net->config.crew, next < until_ns ? next : until_ns);
    }
}

static bool release(void *memory, gs_parcel *parcel)
{
    carried_net *net = memory;
    give_back(net, (gs_envelope *)(void *)parcel);
    gs_mailbox_release(&net->box, parcel);
    return true;
}

static void stop(void *memory)
{
    carried_net *net = memory;
    gs_mailbox_stop(&net->box);
    gs_crew_wake(net->config.crew);
}

static void drain(void *memory, gs_time_ns until_ns)
{
    carried_net *net = memory;
    while (look(net) && net->sent_out > 0 && gs_live_clock() < until_ns) {
        gs_crew_wait(net->config.crew, until_ns);
    }
}

static bool left_over(void *memory, uint32_t place, gs_parcel **out)
{
    carried_net *net = memory;
    (void)place;
    *out = gs_mailbox_left_over(&net->box);
    return *out != NULL;
}

/* One table for each carrier: they differ by name alone. */
#define GS_CARRIED(stem, text, started_by)                                                         \
    const gs_transport gs_transport_##stem = {.name = #stem,                                       \
                                              .summary = text,                                     \
                                              .launcher = started_by,                              \
                                              .open = open_net,                                    \
                                              .close = close_net,                                  \
                                              .places = places,                                    \
                                              .place_of = place_of,                                \
                                              .send = send_parcel,                                 \
                                              .take = take,                                        \
                                              .release = release,                                  \
                                              .stop = stop,                                        \
                                              .drain = drain,                                      \
                                              .left_over = left_over}

GS_CARRIED(mpi, "processes over Open MPI or MPICH", "mpirun, mpiexec, srun");
GS_CARRIED(nccl, "processes with a GPU each, over NCCL", "torchrun, mpirun, srun");
GS_CARRIED(tcp, "processes over TCP, without a library", "torchrun, srun");
