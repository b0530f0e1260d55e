#include "sim/replay_host.h"

#include "base/assert.h"

static void fail(gs_replay *replay, const gs_error *err)
{
    if (replay->error.code == GS_OK) {
        replay->error = *err;
    }
}

static void fail_no_memory(gs_replay *replay)
{
    gs_error err;
    (void)gs_fail(&err, GS_ENOMEM, "no memory for what is on its way");
    fail(replay, &err);
}

static void refuse_floats(gs_replay_entity *entity, const char *what)
{
    gs_error err;
    (void)gs_fail(&err, GS_EUNSUPPORTED,
                  "%s: two slices of one length hold different numbers of floats, because the job "
                  "(%lld elements) is not the size of the model; use equal offsets",
                  what, (long long)entity->replay->config.job->elements);
    fail(entity->replay, &err);
}

/* ---------------------------------------------------------------- channels */

static void put(gs_replay_queue *queue, gs_replay_parcel *parcel)
{
    parcel->next = NULL;
    if (queue->first == NULL) {
        queue->first = parcel;
    } else {
        queue->last->next = parcel;
    }
    queue->last = parcel;
}

static gs_replay_parcel *pull(gs_replay_queue *queue)
{
    gs_replay_parcel *first = queue->first;
    GS_ASSERT(first != NULL);
    queue->first = first->next;
    return first;
}

static uint32_t number_of(const gs_replay *replay, gs_peer peer)
{
    return gs_recording_entity(&replay->config.recording->about, peer);
}

/* A parcel from the entity to `to`, with a copy of a payload (NULL: no data). */
static void ship(gs_replay_entity *entity, uint32_t plane, gs_peer to, const gs_replay_parcel *like,
                 const gs_payload *data)
{
    gs_replay *replay = entity->replay;
    gs_replay_parcel *parcel = replay->free;
    if (parcel != NULL) {
        replay->free = parcel->next;
    } else {
        parcel = GS_TAKE(&replay->arena, gs_replay_parcel, 1);
    }
    if (parcel == NULL) {
        fail_no_memory(replay);
        return;
    }
    *parcel = *like;
    if (data != NULL) {
        parcel->payload = gs_payload_copy(&replay->floats, data);
        if (parcel->payload == NULL) {
            fail_no_memory(replay);
        }
    }
    uint32_t number = number_of(replay, to);
    parcel->sequence = entity->sent[plane * replay->entity_count + number]++;
    uint32_t self = number_of(replay, entity->self);
    put(&replay->entities[number].coming[plane * replay->entity_count + self], parcel);
}

static void give_back(gs_replay *replay, gs_replay_parcel *parcel)
{
    gs_payload_give(&replay->floats, parcel->payload);
    parcel->next = replay->free;
    replay->free = parcel;
}

gs_replay_parcel *gs_replay_peek(const gs_replay *replay, const gs_replay_entity *entity,
                                 uint32_t plane, uint32_t from)
{
    return entity->coming[plane * replay->entity_count + from].first;
}

void gs_replay_arrive(gs_replay *replay, gs_replay_entity *entity, uint32_t plane, uint32_t from,
                      gs_time_ns at)
{
    gs_replay_parcel *parcel = pull(&entity->coming[plane * replay->entity_count + from]);
    if (plane >= GS_REPLAY_PARTS) {
        uint32_t stream = plane - GS_REPLAY_PARTS;
        uint32_t channel_there;
        uint32_t communicator = gs_streams_communicator(&replay->streams, stream, &channel_there);
        put(&entity->arrived[stream * replay->config.job->ranks + from], parcel);
        gs_driver_part(entity->driver, at,
                       gs_driver_inbox(entity->driver, communicator, channel_there, from));
        return;
    }
    gs_message message = parcel->message;
    if (plane == GS_REPLAY_NOTES) {
        give_back(replay, parcel);
    } else {
        message.data = parcel;
    }
    gs_driver_message(entity->driver, at, &message);
}

/* ---------------------------------------------------------------- requests */

static void request(gs_replay_entity *entity, uint32_t slot, bool is_sent)
{
    uint64_t number = ++entity->requests_made;
    GS_ASSERT(entity->request_count < entity->request_capacity);
    entity->requests[entity->request_count++] = (gs_replay_request){number, slot, is_sent};
}

bool gs_replay_end_request(gs_replay_entity *entity, uint64_t number, bool is_sent,
                           uint32_t *out_slot)
{
    for (uint32_t i = 0; i < entity->request_count; i++) {
        if (entity->requests[i].number == number && entity->requests[i].is_sent == is_sent) {
            *out_slot = entity->requests[i].slot;
            entity->requests[i] = entity->requests[--entity->request_count];
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- what drivers ask */

/* Stream, and the peer at the other end. */
static uint32_t channel(void *host, uint32_t communicator, uint32_t channel_there, gs_peer from,
                        gs_peer to)
{
    const gs_replay_entity *entity = host;
    const gs_replay *replay = entity->replay;
    gs_peer peer = from.index == entity->self.index ? to : from;
    return (replay->streams.first[communicator] + channel_there) * replay->config.job->ranks +
           peer.index;
}

static void issued(void *host, gs_peer self, const gs_op_signature *op)
{
    (void)host, (void)self, (void)op;
}

static bool start(void *host, gs_peer self, uint32_t slot, const gs_op_signature *op, gs_slice data)
{
    (void)host, (void)self, (void)slot, (void)op, (void)data;
    return false;
}

static void not_decoded(gs_replay_entity *entity)
{
    gs_error err;
    (void)gs_fail(&err, GS_ENOMEM, "no memory for what is coded, or what came cannot be decoded");
    fail(entity->replay, &err);
}

static void code(void *host, gs_peer self, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    gs_replay_entity *entity = host;
    (void)self;
    if (!gs_wire_code(entity->wire, op, data, stage)) {
        not_decoded(entity);
    }
}

static void send_part(void *host, gs_peer self, uint32_t to_channel, const gs_op_signature *op,
                      gs_slice part, bool copy)
{
    gs_replay_entity *entity = host;
    (void)self, (void)copy;
    uint32_t ranks = entity->replay->config.job->ranks;
    gs_peer to = {GS_WORKER, (uint16_t)(to_channel % ranks)};
    gs_payload view = gs_is_wire(part) ? gs_wire_view(entity->wire, op, part)
                                       : gs_entity_memory_view(&entity->memory, part);
    ship(entity, GS_REPLAY_PARTS + to_channel / ranks, to, &(gs_replay_parcel){.signature = *op},
         &view);
}

static bool absorb(void *host, gs_peer self, uint32_t from_channel, const gs_op_signature *op,
                   gs_slice into, bool add)
{
    gs_replay_entity *entity = host;
    (void)self;
    gs_replay_parcel *part = pull(&entity->arrived[from_channel]);
    bool same = gs_op_signature_equal(&part->signature, op);
    if (same && gs_is_wire(into)) {
        if (!gs_wire_put(entity->wire, op, into, part->payload, add)) {
            not_decoded(entity);
        }
    } else if (same && !gs_entity_memory_put(&entity->memory, into, part->payload, add)) {
        refuse_floats(entity, gs_collective_kind_name(op->kind));
    }
    give_back(entity->replay, part);
    return same;
}

static void flush(void *host, gs_peer self, uint32_t slot, const uint32_t *channels,
                  uint32_t channel_count)
{
    (void)self, (void)channels, (void)channel_count;
    request(host, slot, true);
}

static void send(void *host, const gs_message *message, gs_slice data, uint32_t slot)
{
    gs_replay_entity *entity = host;
    gs_payload view;
    if (!message->coded) {
        view = gs_entity_memory_view(&entity->memory, data);
    } else if (!gs_wire_encode(entity->wire, data, message, &view)) {
        not_decoded(entity);
        return;
    }
    ship(entity, GS_REPLAY_MESSAGES, message->to, &(gs_replay_parcel){.message = *message}, &view);
    request(host, slot, true);
}

static void recode(void *host, gs_peer self, gs_slice into, gs_slice data, uint64_t key)
{
    gs_replay_entity *entity = host;
    (void)self;
    if (!gs_wire_recode(entity->wire, into, data, key)) {
        not_decoded(entity);
    }
}

static void note(void *host, const gs_message *message)
{
    ship(host, GS_REPLAY_NOTES, message->to, &(gs_replay_parcel){.message = *message}, NULL);
}

static void take(void *host, gs_peer self, gs_slice into, const gs_message *message)
{
    gs_replay_entity *entity = host;
    gs_replay_parcel *parcel = message->data;
    (void)self;
    if (message->coded) {
        if (!gs_wire_decode(entity->wire, into, message->key, parcel->payload)) {
            not_decoded(entity);
        }
    } else if (!gs_entity_memory_put(&entity->memory, into, parcel->payload, false)) {
        refuse_floats(entity, "recv");
    }
    give_back(entity->replay, parcel);
}

static void later(void *host, gs_peer self, uint32_t slot)
{
    (void)self;
    request(host, slot, false);
}

/* How long it took is in the time of its record. */
static void timer(void *host, gs_peer self, uint32_t slot, gs_time_ns after_ns)
{
    (void)after_ns;
    later(host, self, slot);
}

static void wake(void *host, gs_peer self)
{
    gs_replay_entity *entity = host;
    (void)self;
    entity->asked = true;
}

static void vec(void *host, gs_peer self, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    gs_replay_entity *entity = host;
    (void)self;
    if (!gs_entity_memory_vec(&entity->memory, vop, dst, a, k)) {
        refuse_floats(entity, "vec");
    }
}

static double dot(void *host, gs_peer self, gs_slice a, gs_slice b, uint32_t slot)
{
    gs_replay_entity *entity = host;
    (void)self;
    double sum;
    if (!gs_entity_memory_dot(&entity->memory, a, b, &sum)) {
        refuse_floats(entity, "dot");
    }
    request(entity, slot, false);
    return sum;
}

static void apply(void *host, gs_peer self, gs_slice param, uint32_t grad, double rate_scale,
                  bool last)
{
    gs_replay_entity *entity = host;
    (void)self, (void)last;
    gs_entity_memory_apply(&entity->memory, param, grad, rate_scale);
    gs_error err;
    if (gs_entity_memory_check_applied(&entity->memory, &err) != GS_OK) {
        (void)gs_fail_in(&err, "step %lld", (long long)gs_driver_step(entity->driver));
        fail(entity->replay, &err);
    }
}

void gs_replay_gradient(gs_replay_entity *entity)
{
    gs_error err;
    entity->has_gradient = true;
    gs_entity_memory_begin(&entity->memory, &entity->plan);
    gs_gradient_request request = {.workspace = entity->replay->workspace, .plan = &entity->plan};
    if (gs_entity_memory_gradient(&entity->memory, &request, &entity->loss, &err) != GS_OK) {
        (void)gs_fail_in(&err, "step %lld", (long long)gs_driver_step(entity->driver));
        fail(entity->replay, &err);
    }
}

static void open_forward(void *host, gs_peer self, uint32_t first_bucket)
{
    (void)self;
    if (first_bucket == 0) {
        gs_replay_gradient(host);
    }
}

static void cancel_gradient(void *host, gs_peer self)
{
    gs_replay_entity *entity = host;
    (void)self;
    entity->in_backward = entity->has_gradient = false;
    entity->asked = true;
    gs_entity_memory_cancel(&entity->memory);
}

static void end_step(void *host, gs_peer self)
{
    (void)host, (void)self;
}

static void drop(void *host, gs_peer self, gs_slice gradient)
{
    (void)host, (void)self, (void)gradient;
}

static void leg(void *host, gs_peer self, const gs_leg_turn *turn)
{
    gs_replay_entity *entity = host;
    const gs_relay *relay = &entity->replay->relay;
    (void)self;
    entity->leg = turn->leg;
    entity->wire = turn->leg < relay->count ? entity->wires[turn->leg] : NULL;
    if (turn->leg == relay->count || turn->from == turn->to) {
        return;
    }
    gs_entity_memory_resume(&entity->memory, &relay->list[turn->leg].layout, turn->passes);
    if (entity->wire != NULL) {
        gs_wire_forget(entity->wire);
    }
}

static void moment(void *host, gs_peer self, uint32_t number, gs_slice slice, bool stores)
{
    gs_replay_entity *entity = host;
    (void)self;
    gs_entity_memory_moment(&entity->memory, number, slice, stores);
}

static void drained(void *host, gs_peer self)
{
    (void)host, (void)self;
}

static void failed(void *host, gs_peer self, const gs_error *err)
{
    gs_replay_entity *entity = host;
    (void)self;
    fail(entity->replay, err);
}

static const gs_host_calls calls = {
    .channel = channel,
    .issued = issued,
    .start = start,
    .ended = issued,
    .code = code,
    .send_part = send_part,
    .absorb = absorb,
    .flush = flush,
    .send = send,
    .send_copy = send, /* every parcel has a copy of its own here */
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
    .leg = leg,
    .moment = moment,
    .drained = drained,
    .failed = failed,
};

/* ---------------------------------------------------------------- creation and end */

static bool take_channels(gs_replay *replay, gs_replay_entity *entity)
{
    const gs_job *job = replay->config.job;
    size_t streams = gs_streams_count(&replay->streams);
    size_t channels = (GS_REPLAY_PARTS + streams) * replay->entity_count;
    gs_arena *arena = &replay->arena;
    entity->request_capacity = replay->layout.outstanding_max[entity->self.role];
    entity->coming = GS_TAKE(arena, gs_replay_queue, channels);
    entity->arrived = GS_TAKE(arena, gs_replay_queue, streams * job->ranks);
    entity->sent = GS_TAKE(arena, uint64_t, channels);
    entity->requests = GS_TAKE(arena, gs_replay_request, entity->request_capacity);
    entity->unit_ready = GS_TAKE(arena, bool, job->unit_count);
    return entity->coming != NULL && entity->arrived != NULL && entity->sent != NULL &&
           entity->requests != NULL && entity->unit_ready != NULL;
}

gs_status gs_replay_entity_init(gs_replay *replay, uint32_t number, gs_error *err)
{
    const gs_replay_config *config = &replay->config;
    gs_replay_entity *entity = &replay->entities[number];
    uint32_t ranks = config->job->ranks;
    entity->replay = replay;
    entity->self = number < ranks ? (gs_peer){GS_WORKER, (uint16_t)number}
                                  : (gs_peer){GS_SERVER, (uint16_t)(number - ranks)};
    gs_entity_memory_config memory = {.job = config->job,
                                      .layout = &replay->layout,
                                      .more_vectors = replay->relay.code_vectors,
                                      .self = entity->self,
                                      .task = config->task,
                                      .batch_per_rank = config->recording->about.batch_per_rank,
                                      .number = (gs_number)config->recording->about.number,
                                      .staleness = &replay->staleness};
    GS_TRY(gs_entity_memory_init(&entity->memory, &memory, &replay->arena, err));
    entity->wires = gs_wires_create(&replay->relay, &entity->memory, &replay->arena);
    if (entity->wires == NULL) {
        return gs_fail(err, GS_ENOMEM, "no memory for entity %u of a replay", number);
    }
    entity->wire = entity->wires[0];
    gs_driver_config driver = {.strategy = config->strategy->strategy,
                               .strategy_config = config->strategy->config,
                               .job = config->job,
                               .layout = &replay->relay.list[0].layout,
                               .relay = replay->relay.count > 1 ? &replay->relay : NULL,
                               .coding = &config->strategy->coding,
                               .selection = &config->strategy->selection,
                               .buckets = replay->buckets,
                               .self = entity->self,
                               .calls = &calls,
                               .host = entity,
                               .swap_state = config->swap_state};
    if (take_channels(replay, entity)) {
        entity->driver = gs_driver_create(&driver, &replay->arena);
    }
    return entity->driver != NULL
               ? GS_OK
               : gs_fail(err, GS_ENOMEM, "no memory for entity %u of a replay", number);
}

uint64_t gs_replay_weights_hash(const gs_replay *replay)
{
    uint64_t hash = 0;
    for (uint32_t rank = 0; rank < replay->config.job->ranks; rank++) {
        const gs_replay_entity *worker = &replay->entities[rank];
        uint32_t vector;
        double weight;
        gs_driver_model_view(worker->driver, &vector, &weight);
        hash = gs_entity_memory_hash(&worker->memory, vector, hash);
    }
    return hash;
}
