/* What drivers ask of the live host: answered by sending parcels, never by calling back. */
#include "live/live_entity.h"

#include "base/assert.h"

static uint32_t number_of(const gs_live_entity *entity, gs_peer peer)
{
    return peer.role == GS_WORKER ? peer.index : entity->shared->config.job->ranks + peer.index;
}

static uint32_t ranks(const gs_live_entity *entity)
{
    return entity->shared->config.job->ranks;
}

/* A channel's handle: stream and the peer at its other end. */
static uint32_t channel(void *host, uint32_t communicator, uint32_t channel_there, gs_peer from,
                        gs_peer to)
{
    const gs_live_entity *entity = host;
    gs_peer peer = from.index == entity->self.index ? to : from;
    return (entity->shared->streams.first[communicator] + channel_there) * ranks(entity) +
           peer.index;
}

static void issued(void *host, gs_peer self, const gs_op_signature *op)
{
    gs_live_entity *entity = host;
    (void)self;
    uint64_t *stream = &entity->op_streams[op->communicator];
    *stream = gs_op_signature_hash(op, *stream);
}

static bool start(void *host, gs_peer self, uint32_t slot, const gs_op_signature *op, gs_slice data)
{
    gs_live_entity *entity = host;
    (void)self;
    gs_live_note(entity, (gs_live_entry){.act = GS_ACT_OP_START,
                                         .which = op->communicator,
                                         .amount = (int64_t)op->sequence});
    return entity->shared->config.native && gs_live_native(entity, slot, op, data);
}

static void ended(void *host, gs_peer self, const gs_op_signature *op)
{
    (void)self;
    gs_live_note(host, (gs_live_entry){.act = GS_ACT_OP_END,
                                       .which = op->communicator,
                                       .amount = (int64_t)op->sequence});
}

static uint64_t next_on(gs_live_entity *entity, uint32_t plane, uint32_t to)
{
    return entity->sent[plane * entity->shared->entity_count + to]++;
}

static void not_decoded(gs_live_entity *entity)
{
    gs_error err;
    (void)gs_fail(&err, GS_ENOMEM,
                  "entity %u: no memory for what is coded, or what came cannot be decoded",
                  entity->number);
    gs_live_fail(entity->shared, &err);
}

/* The codec has worked since `began` (gs_live_clock). */
static void coded(gs_live_entity *entity, gs_time_ns began, bool ok)
{
    gs_time_ns start_ns = entity->shared->start_ns;
    gs_live_note(entity, (gs_live_entry){.act = GS_ACT_CODE,
                                         .from_ns = began - start_ns,
                                         .to_ns = gs_live_clock() - start_ns});
    if (!ok) {
        not_decoded(entity);
    }
}

static void code(void *host, gs_peer self, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    gs_live_entity *entity = host;
    (void)self;
    gs_time_ns began = gs_live_clock();
    coded(entity, began, gs_wire_code(entity->wire, op, data, stage));
}

/* To another entity, over the network: bytes are counted as the job counts them. */
static void send_counted(gs_live_entity *entity, gs_parcel *parcel, bool keep)
{
    parcel->sent_ns = entity->now;
    entity->bytes_sent += parcel->bytes;
    (void)atomic_fetch_add(&entity->shared->parcels_sent, 1);
    gs_live_post(entity->shared, parcel, keep);
}

static void send_part(void *host, gs_peer self, uint32_t to_channel, const gs_op_signature *op,
                      gs_slice part, bool copy)
{
    gs_live_entity *entity = host;
    (void)self;
    uint32_t plane = GS_PLANE_PARTS + to_channel / ranks(entity);
    uint32_t to = to_channel % ranks(entity);
    gs_parcel parcel = {.kind = GS_PARCEL_PART,
                        .from = entity->number,
                        .to = to,
                        .plane = plane,
                        .sequence = next_on(entity, plane, to),
                        .signature = *op};
    entity->unsent[op->communicator]++;
    bool is_coded = gs_is_wire(part);
    gs_payload view = is_coded ? gs_wire_view(entity->wire, op, part)
                               : gs_entity_memory_view(&entity->memory, part);
    parcel.payload = &view;
    parcel.bytes = is_coded ? gs_wire_part_bytes(entity->wire, op, part)
                            : part.length * entity->shared->config.job->element_bytes;
    send_counted(entity, &parcel, copy);
}

static void refuse_floats(gs_live_entity *entity, const char *what)
{
    gs_error err;
    (void)gs_fail(&err, GS_EUNSUPPORTED,
                  "%s: two slices of one length hold different numbers of floats, because the job "
                  "(%lld elements) is not the size of the model; use equal offsets",
                  what, (long long)entity->shared->config.job->elements);
    gs_live_fail(entity->shared, &err);
}

static void release(gs_live_entity *entity, gs_parcel *used)
{
    if (!entity->shared->transport->release(entity->shared->net, used)) {
        gs_error err;
        (void)gs_fail(&err, GS_ENOMEM, "no memory for a parcel");
        gs_live_fail(entity->shared, &err);
    }
}

static bool absorb(void *host, gs_peer self, uint32_t from_channel, const gs_op_signature *op,
                   gs_slice into, bool add)
{
    gs_live_entity *entity = host;
    (void)self;
    gs_parcel *part = entity->first[from_channel];
    GS_ASSERT(part != NULL);
    entity->first[from_channel] = part->next;
    bool same = gs_op_signature_equal(&part->signature, op);
    if (same && gs_is_wire(into)) {
        if (!gs_wire_put(entity->wire, op, into, part->payload, add)) {
            not_decoded(entity);
        }
    } else if (same && !gs_entity_memory_put(&entity->memory, into, part->payload, add)) {
        refuse_floats(entity, gs_collective_kind_name(op->kind));
    }
    release(entity, part);
    return same;
}

/* The end of a request of this entity's, for a later turn. */
static void remind(gs_live_entity *entity, gs_parcel_kind kind, uint32_t slot, gs_time_ns after_ns)
{
    gs_parcel parcel = {.kind = kind,
                        .from = entity->number,
                        .to = entity->number,
                        .request = ++entity->requests,
                        .slot = slot,
                        .after_ns = after_ns};
    gs_live_post(entity->shared, &parcel, false);
}

static void flush(void *host, gs_peer self, uint32_t slot, const uint32_t *channels,
                  uint32_t channel_count)
{
    gs_live_entity *entity = host;
    (void)self;
    GS_ASSERT(channel_count > 0);
    uint32_t channel_there;
    uint32_t communicator = gs_streams_communicator(&entity->shared->streams,
                                                    channels[0] / ranks(entity), &channel_there);
    if (entity->unsent[communicator] == 0) {
        remind(entity, GS_PARCEL_FLUSHED, slot, 0);
    } else {
        entity->flushes[communicator] =
            (gs_parcel){.kind = GS_PARCEL_FLUSHED, .request = ++entity->requests, .slot = slot};
    }
}

static void post_message(gs_live_entity *entity, const gs_message *message, gs_slice data,
                         uint32_t slot, bool keep)
{
    uint32_t to = number_of(entity, message->to);
    gs_parcel parcel = {.kind = GS_PARCEL_MESSAGE,
                        .from = entity->number,
                        .to = to,
                        .plane = GS_PLANE_MESSAGES,
                        .sequence = next_on(entity, GS_PLANE_MESSAGES, to),
                        .request = ++entity->requests,
                        .slot = slot,
                        .message = *message};
    gs_payload view;
    if (!message->coded) {
        view = gs_entity_memory_view(&entity->memory, data);
        parcel.bytes = data.length * entity->shared->config.job->element_bytes;
    } else {
        gs_time_ns began = gs_live_clock();
        bool ok = gs_wire_encode(entity->wire, data, message, &view);
        coded(entity, began, ok);
        if (!ok) {
            return;
        }
        parcel.bytes = gs_wire_message_bytes(entity->wire, data, &view);
    }
    parcel.payload = &view;
    gs_live_note(entity, (gs_live_entry){.act = GS_ACT_SEND_START, .which = slot});
    send_counted(entity, &parcel, keep);
}

static void send(void *host, const gs_message *message, gs_slice data, uint32_t slot)
{
    post_message(host, message, data, slot, false);
}

static void send_copy(void *host, const gs_message *message, gs_slice data, uint32_t slot)
{
    post_message(host, message, data, slot, true);
}

static void recode(void *host, gs_peer self, gs_slice into, gs_slice data, uint64_t key)
{
    gs_live_entity *entity = host;
    (void)self;
    gs_time_ns began = gs_live_clock();
    coded(entity, began, gs_wire_recode(entity->wire, into, data, key));
}

static void note(void *host, const gs_message *message)
{
    gs_live_entity *entity = host;
    uint32_t to = number_of(entity, message->to);
    gs_parcel parcel = {.kind = GS_PARCEL_NOTE,
                        .from = entity->number,
                        .to = to,
                        .plane = GS_PLANE_NOTES,
                        .sequence = next_on(entity, GS_PLANE_NOTES, to),
                        .message = *message};
    send_counted(entity, &parcel, false);
}

static void take(void *host, gs_peer self, gs_slice into, const gs_message *message)
{
    gs_live_entity *entity = host;
    gs_parcel *parcel = message->data;
    (void)self;
    if (message->coded) {
        gs_time_ns began = gs_live_clock();
        coded(entity, began, gs_wire_decode(entity->wire, into, message->key, parcel->payload));
    } else if (!gs_entity_memory_put(&entity->memory, into, parcel->payload, false)) {
        refuse_floats(entity, "recv");
    }
    release(entity, parcel);
}

static void later(void *host, gs_peer self, uint32_t slot)
{
    (void)self;
    remind(host, GS_PARCEL_LATER, slot, 0);
}

static void timer(void *host, gs_peer self, uint32_t slot, gs_time_ns after_ns)
{
    (void)self;
    remind(host, GS_PARCEL_LATER, slot, after_ns);
}

static void wake(void *host, gs_peer self)
{
    gs_live_entity *entity = host;
    (void)self;
    gs_live_post_own(entity, GS_PARCEL_WAKE);
}

static void vec(void *host, gs_peer self, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    gs_live_entity *entity = host;
    (void)self;
    if (!gs_entity_memory_vec(&entity->memory, vop, dst, a, k)) {
        refuse_floats(entity, "vec");
    }
}

static double dot(void *host, gs_peer self, gs_slice a, gs_slice b, uint32_t slot)
{
    gs_live_entity *entity = host;
    (void)self;
    double sum;
    if (!gs_entity_memory_dot(&entity->memory, a, b, &sum)) {
        refuse_floats(entity, "dot");
    }
    remind(entity, GS_PARCEL_LATER, slot, 0);
    return sum;
}

static void apply(void *host, gs_peer self, gs_slice param, uint32_t grad, double rate_scale,
                  bool last)
{
    gs_live_entity *entity = host;
    gs_entity_memory_apply(&entity->memory, param, grad, rate_scale);
    gs_error err;
    if (gs_entity_memory_check_applied(&entity->memory, &err) != GS_OK) {
        (void)gs_fail_in(&err, "step %lld", (long long)gs_driver_step(entity->driver));
        gs_live_fail(entity->shared, &err);
    }
    if (last && self.role == GS_WORKER) {
        gs_live_compute_applied(entity);
        gs_live_look_step_ended(entity);
    }
}

/* Here the forward pass is one with the gradient: it needs all weights. */
static void open_forward(void *host, gs_peer self, uint32_t first_bucket)
{
    (void)self;
    if (first_bucket == 0) {
        gs_live_compute_begin(host);
    }
}

static void cancel_gradient(void *host, gs_peer self)
{
    gs_live_entity *entity = host;
    gs_live_compute_cancel(entity);
    entity->cancelled_passes += entity->plan.micro_steps;
    gs_entity_memory_cancel(&entity->memory);
    wake(host, self);
}

static void end_step(void *host, gs_peer self)
{
    (void)self;
    gs_live_look_step_ended(host);
}

static void drop(void *host, gs_peer self, gs_slice gradient)
{
    gs_live_entity *entity = host;
    (void)self;
    entity->dropped_elements += gradient.length;
}

static void moment(void *host, gs_peer self, uint32_t number, gs_slice slice, bool stores)
{
    gs_live_entity *entity = host;
    (void)self;
    gs_entity_memory_moment(&entity->memory, number, slice, stores);
}

static void drained(void *host, gs_peer self)
{
    (void)self;
    gs_live_entity_drained(host);
}

static void failed(void *host, gs_peer self, const gs_error *err)
{
    gs_live_entity *entity = host;
    (void)self;
    gs_live_fail(entity->shared, err);
}

const gs_host_calls gs_live_calls = {
    .channel = channel,
    .issued = issued,
    .start = start,
    .ended = ended,
    .code = code,
    .send_part = send_part,
    .absorb = absorb,
    .flush = flush,
    .send = send,
    .send_copy = send_copy,
    .recode = recode,
    .note = note,
    .take = take,
    .later = later,
    .timer = timer,
    .wake = wake,
    .vec = vec,
    .dot = dot,
    .apply = apply,
    .open_forward = open_forward,
    .cancel_gradient = cancel_gradient,
    .end_step = end_step,
    .drop = drop,
    .leg = gs_live_leg,
    .not_swapped = gs_live_leg_refused,
    .moment = moment,
    .drained = drained,
    .failed = failed,
};
