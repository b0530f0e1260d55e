/* What drivers ask of the simulator: requests become events, and nothing calls back before its
 * turn. */
#include "sim/sim_op.h"

#include "base/assert.h"
#include "base/rng.h"
#include "strategies/group.h"
#include "traces/compose.h"

static gs_sim_entity *entity_of(gs_sim *sim, gs_peer peer)
{
    return &sim->entities[gs_topology_entity(sim->topology, peer)];
}

static uint32_t index_of(const gs_sim *sim, gs_peer peer)
{
    return gs_topology_entity(sim->topology, peer);
}

static gs_time_ns now_ns(const gs_sim *sim)
{
    return gs_sim_loop_now_ns(&sim->loop);
}

static void not_decoded(gs_sim *sim, gs_peer self)
{
    gs_error err;
    (void)gs_fail(&err, GS_ENOMEM,
                  "entity %u: no memory for what is coded, or what came cannot be decoded",
                  index_of(sim, self));
    gs_sim_fail(sim, GS_ENOMEM, &err);
}

static void no_memory(gs_sim *sim)
{
    gs_error err;
    (void)gs_fail(&err, GS_ENOMEM, "no memory for what is on its way");
    gs_sim_fail(sim, GS_ENOMEM, &err);
}

static void unequal_slices(gs_sim *sim, gs_peer self)
{
    gs_error err;
    (void)gs_fail(
        &err, GS_EUNSUPPORTED,
        "entity %u: two slices of one length hold different numbers of floats, because the "
        "profile and the model differ in size; let the job have the model's own elements",
        index_of(sim, self));
    gs_sim_fail(sim, GS_EUNSUPPORTED, &err);
}

/* ---------------------------------------------------------------- calls */

static uint32_t new_call(gs_sim *sim, gs_peer self, uint32_t slot)
{
    uint32_t call = sim->free_call;
    if (call != GS_NO_CALL) {
        sim->free_call = sim->calls[call].next;
    } else {
        if (sim->call_count == sim->call_capacity) {
            uint32_t capacity =
                sim->call_capacity == 0 ? sim->entity_count : 2 * sim->call_capacity;
            gs_sim_call *calls = GS_TAKE(&sim->arena, gs_sim_call, capacity);
            if (calls == NULL) {
                no_memory(sim);
                return 0;
            }
            for (uint32_t i = 0; i < sim->call_count; i++) {
                calls[i] = sim->calls[i];
            }
            sim->calls = calls;
            sim->call_capacity = capacity;
        }
        call = sim->call_count++;
    }
    sim->calls[call] = (gs_sim_call){.entity = index_of(sim, self), .slot = slot};
    return call;
}

/* Late completions: a reply may overtake the completion of the request it answers. */
static void schedule_call(gs_sim *sim, uint32_t call, gs_tick at)
{
    if (sim->config.late_ns > 0) {
        gs_rng_key key = {sim->config.seed, GS_RNG_DELAY, sim->calls[call].entity};
        double share = gs_rng_uniform(key, sim->loop.sequence, 0);
        at += (gs_tick)(share * (double)gs_ticks(sim->config.late_ns));
    }
    gs_sim_loop_at(&sim->loop, at > sim->loop.now ? at : sim->loop.now, GS_SIM_CALL, call);
}

void gs_sim_world_call(gs_sim *sim, uint32_t index)
{
    gs_sim_call call = sim->calls[index];
    sim->calls[index].next = sim->free_call;
    sim->free_call = index;
    gs_driver *driver = sim->entities[call.entity].driver;
    if (call.cancelled) {
        return;
    }
    if (call.op != NULL && !call.native) {
        gs_sim_op_meet(sim, call.op);
    } else if (call.opens) {
        gs_sim_forward_opened(sim, call.entity, call.slot, call.passes);
    } else if (call.native) {
        gs_driver_native_done(driver, now_ns(sim), call.slot);
    } else {
        gs_driver_later(driver, now_ns(sim), call.slot);
    }
}

uint32_t gs_sim_world_op_end(gs_sim *sim, uint32_t rank, uint32_t slot, gs_sim_op *op, gs_tick at)
{
    uint32_t call = new_call(sim, sim->entities[rank].self, slot);
    sim->calls[call].native = true;
    sim->calls[call].op = op;
    schedule_call(sim, call, at);
    return call;
}

uint32_t gs_sim_world_op_meeting(gs_sim *sim, gs_sim_op *op, gs_tick at)
{
    uint32_t call = new_call(sim, sim->entities[gs_op_plan_rank(op->plan, 0)].self, 0);
    sim->calls[call].op = op;
    gs_sim_loop_at(&sim->loop, at, GS_SIM_CALL, call);
    return call;
}

void gs_sim_world_op_cancel(gs_sim *sim, uint32_t call)
{
    if (call != GS_NO_CALL) {
        sim->calls[call].cancelled = true;
    }
}

static void later(void *host, gs_peer self, uint32_t slot)
{
    gs_sim *sim = host;
    schedule_call(sim, new_call(sim, self, slot), sim->loop.now);
}

static void timer(void *host, gs_peer self, uint32_t slot, gs_time_ns after_ns)
{
    gs_sim *sim = host;
    gs_tick at = gs_tick_after(sim->loop.now, gs_ticks(after_ns));
    schedule_call(sim, new_call(sim, self, slot), at);
}

static void flush(void *host, gs_peer self, uint32_t slot, const uint32_t *channels,
                  uint32_t channel_count)
{
    gs_sim *sim = host;
    uint32_t index = new_call(sim, self, slot);
    gs_sim_call *call = &sim->calls[index];
    call->at = sim->loop.now;
    for (uint32_t i = 0; i < channel_count; i++) {
        gs_tick at = gs_sim_net_flush(&sim->net, channels[i], index);
        if (at == GS_TICK_NEVER) {
            call->channels_left++;
        } else if (at > call->at) {
            call->at = at;
        }
    }
    if (call->channels_left == 0) {
        schedule_call(sim, index, call->at);
    }
}

void gs_sim_world_left(gs_sim *sim, const gs_sim_left *left)
{
    if (left->sender_slot != UINT32_MAX) {
        if (left->from < sim->job.ranks) {
            gs_step_account_send_end(&sim->accounts[left->from], left->sender_slot, now_ns(sim));
        }
        later(sim, sim->entities[left->from].self, left->sender_slot);
    }
    if (left->flush_call != GS_NO_CALL) {
        gs_sim_call *call = &sim->calls[left->flush_call];
        call->channels_left--;
        call->at = sim->loop.now > call->at ? sim->loop.now : call->at;
        if (call->channels_left == 0) {
            schedule_call(sim, left->flush_call, call->at);
        }
    }
}

/* ---------------------------------------------------------------- the stream */

/* When the entity's stream comes to what is asked for now. */
static gs_tick stream_at(const gs_sim *sim, gs_peer self)
{
    gs_tick free_at = sim->entities[index_of(sim, self)].stream_free;
    return free_at > sim->loop.now ? free_at : sim->loop.now;
}

/* Puts work on the entity's stream. */
static void on_stream(gs_sim *sim, gs_peer self, gs_time_ns duration, gs_span_kind kind)
{
    gs_sim_entity *entity = entity_of(sim, self);
    gs_tick start = stream_at(sim, self);
    entity->stream_free = gs_tick_after(start, gs_ticks(duration));
    if (entity->stream_free >= GS_TICK_END) {
        gs_sim_loop_end_time(&sim->loop);
    }
    if (self.role == GS_WORKER && duration > 0) {
        gs_step_account_span(&sim->accounts[self.index],
                             (gs_span){.kind = kind,
                                       .from_ns = gs_tick_ns(start),
                                       .to_ns = gs_tick_ns(entity->stream_free)});
    }
}

/* ---------------------------------------------------------------- collectives */

static uint32_t channel(void *host, uint32_t communicator, uint32_t channel_there, gs_peer from,
                        gs_peer to)
{
    gs_sim *sim = host;
    return gs_sim_net_channel(&sim->net, index_of(sim, from), index_of(sim, to),
                              sim->streams.first[communicator] + channel_there);
}

static void issued(void *host, gs_peer self, const gs_op_signature *op)
{
    gs_sim *sim = host;
    gs_error err;
    gs_status status = gs_group_ops_issue(&sim->ops, self.index, op, &err);
    sim->result.result_hash += gs_op_signature_hash(op, self.index);
    if (status != GS_OK) {
        gs_sim_fail(sim, status, &err);
    }
}

/* Keeps how far a size that the curve does not hold lies outside. */
static void note_outside(gs_sim *sim, int64_t bytes)
{
    gs_sim_result *result = &sim->result;
    result->outside_curve = true;
    if (bytes > sim->curve->points[0].bytes) {
        result->above_curve_bytes =
            bytes > result->above_curve_bytes ? bytes : result->above_curve_bytes;
    } else if (result->below_curve_bytes == 0 || bytes < result->below_curve_bytes) {
        result->below_curve_bytes = bytes;
    }
}

/* What an op sends waits for what the entity's stream had to do when the op, or that stage of it,
 * began: what comes to the stream later is for something else. */
static gs_tick *sends_from(gs_sim *sim, uint32_t rank, const gs_op_signature *op)
{
    return &sim->sends_from[op->communicator * sim->job.ranks + rank];
}

/* Ends on all members once the measured time has passed. The bytes are those of a ring in rank
 * order, whatever was measured: a curve does not tell. */
static void end_native(gs_sim *sim, const gs_op_signature *op)
{
    bool outside;
    int64_t bytes = op->elements * sim->job.element_bytes;
    gs_time_ns wire = gs_curve_time(sim->curve, bytes, &outside);
    if (outside) {
        note_outside(sim, bytes);
    }
    const uint32_t *slots = &sim->native_slots[op->communicator * sim->job.ranks];
    uint32_t n = sim->job.ranks;
    int64_t sent = 2 * bytes - (2 * bytes + n - 1) / n; /* 2 (n - 1) / n, without its overflow */
    for (uint32_t rank = 0; rank < n; rank++) {
        uint32_t call = new_call(sim, sim->entities[rank].self, slots[rank]);
        sim->calls[call].native = true;
        schedule_call(sim, call, gs_tick_after(sim->loop.now, gs_ticks(wire)));
        sim->net.entity_bytes[rank] += sent;
        if (gs_topology_route(sim->topology, rank, (rank + 1) % n, 0).over_nic) {
            sim->net.nic_bytes += sent;
        }
        if (sim->timeline != NULL) {
            gs_sim_look_share(sim, rank, sent, wire);
        }
    }
}

static bool start(void *host, gs_peer self, uint32_t slot, const gs_op_signature *op, gs_slice data)
{
    gs_sim *sim = host;
    gs_time_ns at = gs_tick_ns(stream_at(sim, self)); /* its data are there then */
    gs_step_account_op_start(&sim->accounts[self.index], op->communicator, op->sequence, at);
    bool all = gs_group_ops_start(&sim->ops, self.index, op, at);
    if (sim->timeline != NULL) {
        gs_sim_look_op_start(sim, self.index, op, at);
    }
    if (!gs_sim_sum_start(sim, self.index, op, data, all)) {
        unequal_slices(sim, self);
    }
    *sends_from(sim, self.index, op) = entity_of(sim, self)->stream_free;
    const gs_group group = sim->layout.communicators[op->communicator].group;
    const bool coded = sim->layout.communicators[op->communicator].coded;
    if (coded || sim->curve == NULL || op->kind != GS_ALL_REDUCE || sim->job.ranks == 1 ||
        gs_group_size(group, sim->job.ranks) != sim->job.ranks) {
        bool needs_parts = coded || (sim->learns && !gs_sim_is_summed(sim, op));
        sim->result.ops[GS_OP_MESSAGE] += needs_parts && all ? 1 : 0;
        return !needs_parts && gs_sim_op_start(sim, self.index, slot, op, all);
    }
    sim->native_slots[op->communicator * sim->job.ranks + self.index] = slot;
    if (all) {
        end_native(sim, op);
    }
    return true;
}

static void ended(void *host, gs_peer self, const gs_op_signature *op)
{
    gs_sim *sim = host;
    gs_time_ns last_start = gs_group_ops_end(&sim->ops, self.index, op);
    gs_sim_sum_join(sim, self.index, op);
    gs_sim_op_ended(sim, self.index, op);
    gs_step_account_op_end(&sim->accounts[self.index], op->communicator, op->sequence, last_start,
                           now_ns(sim));
    if (sim->timeline != NULL) {
        gs_sim_look_op_end(sim, self.index, op, last_start);
    }
}

/* Encoding and decoding are memory traffic on the entity's stream. */
static void code_time(gs_sim *sim, gs_peer self, gs_coding_work work)
{
    const gs_sim_entity *entity = entity_of(sim, self);
    gs_time_ns ns = gs_time_of(work.bytes / entity->vector_bytes_per_ns + 0.5);
    on_stream(sim, self, ns > work.least_ns ? ns : work.least_ns, GS_SPAN_CODE);
}

static void code(void *host, gs_peer self, const gs_op_signature *op, gs_slice data, uint32_t stage)
{
    gs_sim *sim = host;
    gs_sim_entity *entity = entity_of(sim, self);
    gs_sim_work_settle(sim, index_of(sim, self));
    if (!gs_wire_code(entity->wire, op, data, stage)) {
        not_decoded(sim, self);
    }
    code_time(sim, self, gs_wire_work(entity->wire, op, stage));
    *sends_from(sim, self.index, op) = entity->stream_free;
}

static void send_part(void *host, gs_peer self, uint32_t channel_index, const gs_op_signature *op,
                      gs_slice part, bool keep)
{
    gs_sim *sim = host;
    (void)keep; /* what has floats is copied */
    gs_sim_entity *entity = entity_of(sim, self);
    bool is_wire = gs_is_wire(part);
    uint32_t index = GS_NO_PART;
    if (sim->learns && !gs_sim_is_summed(sim, op)) {
        index = gs_sim_net_part(&sim->net);
        gs_sim_work_settle(sim, self.index);
        gs_payload view = is_wire ? gs_wire_view(entity->wire, op, part)
                                  : gs_entity_memory_view(&entity->memory, part);
        gs_payload *copy = index == GS_NO_PART ? NULL : gs_payload_copy(&sim->pool, &view);
        if (copy == NULL) {
            no_memory(sim);
            return;
        }
        sim->net.parts[index].payload = copy;
    }
    int64_t bytes =
        is_wire ? gs_wire_part_bytes(entity->wire, op, part) : part.length * sim->job.element_bytes;
    gs_sim_net_send(&sim->net, channel_index, bytes, *sends_from(sim, self.index, op), index);
}

static void await(void *host, gs_peer self, uint32_t channel_index)
{
    gs_sim *sim = host;
    (void)self;
    gs_sim_net_await(&sim->net, channel_index);
}

static bool absorb(void *host, gs_peer self, uint32_t channel_index, const gs_op_signature *op,
                   gs_slice into, bool add)
{
    gs_sim *sim = host;
    uint32_t index;
    bool is_summed = gs_sim_is_summed(sim, op);
    if (is_summed && sim->net.channels[channel_index].is_private) {
        return true; /* there is no part */
    }
    const gs_sim_part *part = gs_sim_net_delivered(&sim->net, channel_index, &index);
    gs_sim_entity *entity = entity_of(sim, self);
    GS_ASSERT(part != NULL);
    gs_sim_net_take(&sim->net, channel_index);
    gs_sim_work_settle(sim, self.index);
    if (is_summed) {
        GS_ASSERT(part->payload == NULL);
    } else if (gs_is_wire(into)) {
        if (!gs_wire_put(entity->wire, op, into, part->payload, add)) {
            not_decoded(sim, self);
        }
    } else if (!gs_entity_memory_put(&entity->memory, into, part->payload, add)) {
        unequal_slices(sim, self);
    }
    gs_sim_net_part_free(&sim->net, index);
    return true;
}

/* ---------------------------------------------------------------- point to point */

static void send_message(gs_sim *sim, const gs_message *message, gs_slice data, uint32_t slot)
{
    gs_sim_entity *entity = entity_of(sim, message->from);
    uint32_t index = gs_sim_net_part(&sim->net);
    if (index == GS_NO_PART) {
        no_memory(sim);
        return;
    }
    gs_sim_part *part = &sim->net.parts[index];
    part->sender_slot = slot;
    part->asked_ns = now_ns(sim);
    part->message = *message;
    int64_t bytes = data.length * sim->job.element_bytes;
    gs_payload view;
    gs_sim_work_settle(sim, index_of(sim, message->from));
    if (!message->coded) {
        view = gs_entity_memory_view(&entity->memory, data);
    } else if (gs_wire_encode(entity->wire, data, message, &view)) {
        bytes = gs_wire_message_bytes(entity->wire, data, &view);
        if (!message->same) { /* else the work was that of recode */
            code_time(sim, message->from, gs_wire_message_work(entity->wire, data.length, false));
        }
    } else {
        no_memory(sim);
        return;
    }
    part->payload = gs_payload_copy(&sim->pool, &view);
    if (part->payload == NULL) {
        no_memory(sim);
        return;
    }
    part->message.data = part->payload;
    uint32_t to = index_of(sim, message->to);
    uint32_t over =
        gs_sim_net_channel(&sim->net, index_of(sim, message->from), to, sim->net.communicators);
    if (message->from.role == GS_WORKER) { /* what is coded goes once the stream has coded it */
        gs_step_account_send_start(&sim->accounts[message->from.index], slot,
                                   gs_tick_ns(stream_at(sim, message->from)));
    }
    gs_sim_net_send(&sim->net, over, bytes, entity->stream_free, index);
}

/* In the simulator every message is a copy from the moment it is sent: what differs is when the
 * driver lets the slice be written again. */
static void send(void *host, const gs_message *message, gs_slice data, uint32_t slot)
{
    send_message(host, message, data, slot);
}

static void recode(void *host, gs_peer self, gs_slice into, gs_slice data, uint64_t key)
{
    gs_sim *sim = host;
    gs_sim_entity *entity = entity_of(sim, self);
    gs_sim_work_settle(sim, index_of(sim, self));
    code_time(sim, self, gs_wire_recode_work(entity->wire, data.length));
    if (!gs_wire_recode(entity->wire, into, data, key)) {
        not_decoded(sim, self);
    }
}

static void note(void *host, const gs_message *message)
{
    gs_sim *sim = host;
    uint32_t index = gs_sim_net_part(&sim->net);
    if (index == GS_NO_PART) {
        no_memory(sim);
        return;
    }
    sim->net.parts[index].message = *message;
    gs_sim_net_note(&sim->net, index_of(sim, message->from), index_of(sim, message->to), index);
}

void gs_sim_world_note(gs_sim *sim, uint32_t index)
{
    sim->net.arrived++;
    gs_message message = sim->net.parts[index].message;
    gs_sim_net_part_free(&sim->net, index);
    gs_driver_message(entity_of(sim, message.to)->driver, now_ns(sim), &message);
}

static void take(void *host, gs_peer self, gs_slice into, const gs_message *message)
{
    gs_sim *sim = host;
    gs_sim_entity *entity = entity_of(sim, self);
    gs_sim_work_settle(sim, index_of(sim, self));
    if (message->coded) {
        code_time(sim, self, gs_wire_message_work(entity->wire, into.length, true));
        if (!gs_wire_decode(entity->wire, into, message->key, message->data)) {
            not_decoded(sim, self);
        }
    } else if (!gs_entity_memory_put(&entity->memory, into, message->data, false)) {
        unequal_slices(sim, self);
    }
    gs_payload_give(&sim->pool, message->data);
}

void gs_sim_world_part(gs_sim *sim, uint32_t channel_index)
{
    sim->net.arrived++;
    gs_sim_channel *over = &sim->net.channels[channel_index];
    gs_sim_entity *entity = &sim->entities[over->to];
    if (over->stream < sim->net.communicators) {
        if (!over->is_private && !sim->learns) {
            uint32_t index;
            (void)gs_sim_net_delivered(&sim->net, channel_index, &index);
            gs_sim_net_take(&sim->net, channel_index);
            gs_sim_net_part_free(&sim->net, index);
        }
        gs_driver_part(entity->driver, now_ns(sim), over->inbox);
        return;
    }
    uint32_t index;
    gs_sim_part *part = gs_sim_net_delivered(&sim->net, channel_index, &index);
    GS_ASSERT(part != NULL);
    gs_message message = part->message;
    gs_time_ns asked_ns = part->asked_ns;
    gs_sim_net_take(&sim->net, channel_index);
    part->payload = NULL; /* the driver has it now, until take */
    gs_sim_net_part_free(&sim->net, index);
    if (entity->self.role == GS_WORKER) {
        gs_step_account *account = &sim->accounts[entity->self.index];
        gs_step_account_span(account, (gs_span){.kind = GS_SPAN_OP,
                                                .from_ns = account->marked_ns,
                                                .to_ns = now_ns(sim),
                                                .last_start_ns = asked_ns});
    }
    gs_driver_message(entity->driver, now_ns(sim), &message);
}

/* ---------------------------------------------------------------- local work */

static void wake(void *host, gs_peer self)
{
    gs_sim_worker_wake(host, self.index);
}

static gs_time_ns vector_ns(const gs_sim *sim, const gs_sim_entity *entity, int64_t moves,
                            int64_t elements)
{
    double bytes = (double)(moves * elements) * (double)sim->job.element_bytes;
    return gs_time_of(bytes / entity->vector_bytes_per_ns + 0.5);
}

static void vec(void *host, gs_peer self, gs_vop vop, gs_slice dst, gs_slice a, double k)
{
    static const int64_t moves[GS_VOP_COUNT] = {
#define GS_VOP(name, moved) [GS_VOP_##name] = (moved),
#include "strategies/vops.def"
#undef GS_VOP
    };
    gs_sim *sim = host;
    gs_sim_entity *entity = entity_of(sim, self);
    on_stream(sim, self, vector_ns(sim, entity, moves[vop], dst.length), GS_SPAN_VECTOR);
    if (!gs_sim_work_vec(sim, index_of(sim, self), vop, dst, a, k)) {
        unequal_slices(sim, self);
    }
}

static double dot(void *host, gs_peer self, gs_slice a, gs_slice b, uint32_t slot)
{
    gs_sim *sim = host;
    gs_sim_entity *entity = entity_of(sim, self);
    bool is_square = a.vector == b.vector && a.offset == b.offset;
    on_stream(sim, self, vector_ns(sim, entity, is_square ? 1 : 2, a.length), GS_SPAN_VECTOR);
    gs_sim_work_settle(sim, index_of(sim, self));
    double sum;
    if (!gs_entity_memory_dot(&entity->memory, a, b, &sum)) {
        unequal_slices(sim, self);
    }
    schedule_call(sim, new_call(sim, self, slot), entity->stream_free);
    return sum;
}

static void apply(void *host, gs_peer self, gs_slice param, uint32_t grad, double rate_scale,
                  bool last)
{
    gs_sim *sim = host;
    gs_sim_entity *entity = entity_of(sim, self);
    gs_time_ns duration = self.role == GS_WORKER ? gs_sim_worker_apply_ns(sim, self.index) : -1;
    if (duration >= 0) { /* of a share of the weights, as much of it */
        double share = (double)param.length / (double)sim->job.elements;
        duration = gs_time_of((double)duration * share + 0.5);
    } else {
        gs_optimizer_config optimizer =
            gs_compose_rest(&sim->config.strategy->coding, &sim->scenario->workload.task.optimizer);
        duration = vector_ns(sim, entity, gs_optimizer_moves(&optimizer), param.length);
    }
    if (self.role == GS_WORKER) {
        gs_time_ns moved = gs_scenario_offload_ns(sim->scenario, self.index, param.length);
        duration = gs_time_after(duration, moved);
    }
    on_stream(sim, self, duration, GS_SPAN_KERNEL);
    gs_sim_work_apply(sim, index_of(sim, self), param, grad, rate_scale);
    if (last && self.role == GS_WORKER) {
        gs_sim_curve_step_ended(sim, self.index);
    }
}

void gs_sim_world_open(gs_sim *sim, uint32_t index, uint32_t first_bucket)
{
    uint32_t call = new_call(sim, sim->entities[index].self, first_bucket);
    gs_tick at = sim->entities[index].stream_free;
    sim->calls[call].opens = true;
    sim->calls[call].passes = sim->workers[index].passes;
    gs_sim_loop_at(&sim->loop, at > sim->loop.now ? at : sim->loop.now, GS_SIM_CALL, call);
}

static void open_forward(void *host, gs_peer self, uint32_t first_bucket)
{
    gs_sim_world_open(host, self.index, first_bucket);
}

static void cancel_gradient(void *host, gs_peer self)
{
    gs_sim_worker_cancel(host, self.index);
}

static void end_step(void *host, gs_peer self)
{
    gs_sim_curve_step_ended(host, self.index);
}

static void drop(void *host, gs_peer self, gs_slice gradient)
{
    gs_sim *sim = host;
    (void)self;
    sim->dropped_elements += (double)gradient.length;
}

static void moment(void *host, gs_peer self, uint32_t number, gs_slice slice, bool stores)
{
    gs_sim *sim = host;
    gs_sim_entity *entity = entity_of(sim, self);
    enum { MOVES = 2 };
    on_stream(sim, self, vector_ns(sim, entity, MOVES, slice.length), GS_SPAN_VECTOR);
    gs_sim_work_settle(sim, index_of(sim, self));
    gs_entity_memory_moment(&entity->memory, number, slice, stores);
}

static void drained(void *host, gs_peer self)
{
    gs_sim *sim = host;
    sim->drained++;
    if (self.role == GS_WORKER) {
        gs_sim_worker_drained(sim, self.index);
    }
}

static void failed(void *host, gs_peer self, const gs_error *err)
{
    (void)self;
    gs_sim_fail(host, err->code, err);
}

const gs_host_calls gs_sim_host_calls = {
    .channel = channel,
    .issued = issued,
    .start = start,
    .ended = ended,
    .code = code,
    .send_part = send_part,
    .await = await,
    .absorb = absorb,
    .flush = flush,
    .send = send,
    .send_copy = send,
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
    .leg = gs_sim_leg,
    .not_swapped = gs_sim_leg_refused,
    .moment = moment,
    .drained = drained,
    .failed = failed,
};
