/* Ops go back to their drivers: what is under way by their dataflow becomes what the network and
 * the drivers would hold by now, message by message. */
#include "sim/sim_op.h"

#include "base/assert.h"

#include <string.h>

static bool has_started(const gs_sim_op *op, uint32_t member)
{
    return op->starts[member] != GS_TICK_NEVER;
}

static bool has_ended(const gs_sim_op *op, uint32_t member)
{
    return has_started(op, member) && op->slots[member] == GS_NO_CALL;
}

static gs_sim_channel *channel_of(const gs_sim_op *op, uint32_t channel)
{
    return &op->sim->net.channels[op->plan->channels[channel]];
}

/* ---------------------------------------------------------------- what is under way */

/* Keeps those that have not arrived; of one channel they come in order. */
static void keep(void *host, const gs_dataflow_transfer *transfer)
{
    gs_sim_op *op = host;
    gs_sim *sim = op->sim;
    gs_sim_channel *over = channel_of(op, transfer->channel);
    if (transfer->arrival <= sim->loop.now) {
        over->messages++;
        over->last_arrival = transfer->arrival;
        return;
    }
    if (sim->under_way_count == sim->under_way_capacity) {
        uint32_t capacity = sim->under_way_capacity == 0 ? 64 : 2 * sim->under_way_capacity;
        gs_dataflow_transfer *grown = GS_TAKE(&sim->arena, gs_dataflow_transfer, capacity);
        if (grown == NULL) {
            op->flow.out_of_memory = true;
            return;
        }
        if (sim->under_way_count > 0) {
            memcpy(grown, sim->under_way, sim->under_way_count * sizeof *grown);
        }
        sim->under_way = grown;
        sim->under_way_capacity = capacity;
    }
    sim->under_way[sim->under_way_count++] = *transfer;
}

/* Plays the dataflow up to now, from channels as they were. false: no memory. */
static bool play_again(gs_sim_op *op)
{
    gs_sim *sim = op->sim;
    const gs_dataflow_plan *plan = op->plan->flow;
    if (!gs_sim_op_begin_flow(op, sim->loop.now)) {
        return false;
    }
    op->flow.watcher = (gs_dataflow_watcher){op, keep};
    op->flow.watches_all = true;
    sim->under_way_count = 0;
    for (uint32_t member = 0; member < plan->member_count; member++) {
        if (!has_started(op, member)) {
            continue;
        }
        gs_sim_op_load(op, member);
        for (uint32_t i = plan->out_first[member]; i < plan->out_first[member + 1]; i++) {
            channel_of(op, i)->messages = op->flow.channels[i].messages;
            channel_of(op, i)->last_arrival = op->flow.channels[i].last_arrival;
        }
    }
    for (uint32_t member = 0; member < plan->member_count; member++) {
        if (has_started(op, member)) {
            gs_dataflow_start(&op->flow, member, op->starts[member], op->ready[member]);
        }
    }
    return !op->flow.out_of_memory;
}

/* ---------------------------------------------------------------- to the network */

/* What has arrived and nobody has received yet. */
static uint32_t waiting(const gs_sim_op *op, uint32_t channel)
{
    const gs_dataflow_queue *queue = &op->flow.channels[channel].queue;
    uint32_t count = 0;
    while (count < queue->count &&
           queue->arrivals[(queue->head + count) & (queue->capacity - 1)] <= op->flow.horizon) {
        count++;
    }
    return count;
}

static bool give_to_net(gs_sim_op *op)
{
    gs_sim *sim = op->sim;
    gs_sim_net *net = &sim->net;
    const gs_dataflow_plan *plan = op->plan->flow;
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        gs_sim_channel *over = channel_of(op, i);
        if (has_started(op, plan->from[i])) {
            over->free_at = over->is_private ? op->flow.channels[i].free_at : over->free_at;
        }
        /* Numbers that travel beside the parts are taken when these are. */
        for (uint32_t left = waiting(op, i); sim->learns && !over->is_private && left > 0; left--) {
            if (!gs_sim_net_put_delivered(net, op->plan->channels[i])) {
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < sim->under_way_count; i++) {
        const gs_dataflow_transfer *transfer = &sim->under_way[i];
        gs_sim_under_way part = {.bytes = transfer->bytes,
                                 .ready_at = op->ready[plan->from[transfer->channel]],
                                 .start = transfer->start,
                                 .left = transfer->left,
                                 .arrival = transfer->arrival};
        net->arrived--; /* counted with the others, and again when it comes */
        if (!gs_sim_net_put(net, op->plan->channels[transfer->channel], &part)) {
            return false;
        }
    }
    return true;
}

/* ---------------------------------------------------------------- to the drivers */

static void give_to_drivers(gs_sim_op *op)
{
    gs_sim *sim = op->sim;
    const gs_dataflow_plan *plan = op->plan->flow;
    gs_time_ns now = gs_sim_loop_now_ns(&sim->loop);
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        const gs_sim_channel *over = channel_of(op, i);
        for (uint32_t left = waiting(op, i); left > 0; left--) {
            gs_driver_part(sim->entities[over->to].driver, now, over->inbox);
        }
    }
    for (uint32_t member = 0; member < plan->member_count; member++) {
        if (!has_started(op, member) || has_ended(op, member)) {
            continue;
        }
        uint32_t first = plan->lane_first[member];
        uint32_t lanes = plan->lane_first[member + 1] - first;
        for (uint32_t i = 0; i < lanes; i++) {
            sim->op_vertices[i] = op->flow.lanes[first + i].index;
        }
        gs_sim_world_op_cancel(sim, op->calls[member]);
        gs_driver_native_return(sim->entities[gs_op_plan_rank(op->plan, member)].driver, now,
                                op->slots[member], sim->op_vertices);
    }
}

static void give_back(gs_sim_op *op)
{
    gs_sim *sim = op->sim;
    gs_sim_world_op_cancel(sim, op->meeting_call);
    op->meeting_call = GS_NO_CALL;
    bool ok = play_again(op);
    op->mode = GS_OP_DATAFLOW; /* whatever it was, it counts as its dataflow does */
    for (uint32_t member = 0; ok && member < op->plan->flow->member_count; member++) {
        if (has_started(op, member) && !has_ended(op, member)) {
            gs_sim_op_count(op, member);
        }
    }
    ok = ok && give_to_net(op);
    op->mode = GS_OP_MESSAGE;
    if (!ok) {
        gs_error err;
        (void)gs_fail(&err, GS_ENOMEM, "no memory for what is on its way");
        gs_sim_fail(sim, GS_ENOMEM, &err);
        return;
    }
    give_to_drivers(op);
    sim->result.ops_returned++;
    if (op->started == op->plan->flow->member_count) {
        gs_sim_op_close(sim, op);
    }
}

void gs_sim_op_return(gs_sim *sim, gs_sim_op_line *line)
{
    sim->ops_return = true;
    for (gs_sim_op *op = line->first; op != NULL;) {
        gs_sim_op *next = op->next;
        if (op->mode != GS_OP_MESSAGE && op->quiet_at > sim->loop.now) {
            give_back(op);
        }
        op = next;
    }
    sim->ops_return = false;
}

bool gs_sim_ops_return(gs_sim *sim)
{
    uint64_t before = sim->result.ops_returned;
    bool has_stopped = sim->loop.out_of_memory || sim->loop.limit != NULL;
    for (uint32_t i = 0; !has_stopped && i < sim->ops.line_count; i++) {
        gs_sim_op_return(sim, &sim->op_lines[i]);
    }
    return sim->result.ops_returned > before;
}
