#include "sim/dataflow.h"

#include "base/assert.h"

#include <string.h>

/* ---------------------------------------------------------------- the plan */

static gs_shape shape_of(const gs_dataflow_plan *plan, uint32_t member)
{
    gs_shape shape = plan->shape;
    shape.self = member;
    return shape;
}

/* Counts of every member, then what comes before each. Returns the most edges that one has. */
static uint32_t count_edges(gs_dataflow_plan *plan, gs_edge *scratch)
{
    uint32_t most = 0;
    for (uint32_t member = 0; member < plan->member_count; member++) {
        gs_shape shape = shape_of(plan, member);
        uint32_t lanes = gs_collective_lanes(plan->program, &shape);
        uint32_t out = plan->program->targets(&shape, scratch);
        uint32_t in = plan->program->sources(&shape, scratch);
        plan->lane_first[member + 1] = plan->lane_first[member] + lanes;
        plan->out_first[member + 1] = plan->out_first[member] + out;
        plan->in_first[member + 1] = plan->in_first[member] + in;
        most = out > most ? out : most;
        most = in > most ? in : most;
    }
    plan->lane_count = plan->lane_first[plan->member_count];
    plan->channel_count = plan->out_first[plan->member_count];
    return most;
}

static uint32_t find_out(const gs_dataflow_plan *plan, uint32_t from, uint32_t to, uint32_t number)
{
    for (uint32_t i = plan->out_first[from]; i < plan->out_first[from + 1]; i++) {
        if (plan->to[i] == to && plan->numbers[i] == number) {
            return i;
        }
    }
    GS_ASSERT(false && "what a member receives from sends to it");
    return 0;
}

static void list_edges(gs_dataflow_plan *plan, gs_edge *scratch)
{
    for (uint32_t member = 0; member < plan->member_count; member++) {
        gs_shape shape = shape_of(plan, member);
        uint32_t count = plan->program->targets(&shape, scratch);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t channel = plan->out_first[member] + i;
            plan->from[channel] = member;
            plan->to[channel] = scratch[i].peer;
            plan->numbers[channel] = scratch[i].channel;
        }
    }
    for (uint32_t member = 0; member < plan->member_count; member++) {
        gs_shape shape = shape_of(plan, member);
        uint32_t count = plan->program->sources(&shape, scratch);
        for (uint32_t i = 0; i < count; i++) {
            plan->in_channels[plan->in_first[member] + i] =
                find_out(plan, scratch[i].peer, member, scratch[i].channel);
        }
    }
}

gs_dataflow_plan *gs_dataflow_plan_create(const gs_collective *program, const gs_shape *shape,
                                          gs_arena *arena)
{
    gs_arena scratch;
    gs_arena_init(&scratch);
    size_t members = shape->members;
    size_t edges = members * gs_collective_channels(program, shape);
    gs_edge *found = GS_TAKE(&scratch, gs_edge, edges);
    gs_dataflow_plan *plan = GS_TAKE(arena, gs_dataflow_plan, 1);
    bool ok = found != NULL && plan != NULL;
    if (ok) {
        *plan = (gs_dataflow_plan){
            .program = program,
            .shape = *shape,
            .member_count = shape->members,
            .lane_first = GS_TAKE(arena, uint32_t, members + 1),
            .out_first = GS_TAKE(arena, uint32_t, members + 1),
            .in_first = GS_TAKE(arena, uint32_t, members + 1),
        };
        ok = plan->lane_first != NULL && plan->out_first != NULL && plan->in_first != NULL;
    }
    if (ok) {
        (void)count_edges(plan, found);
        plan->in_channels = GS_TAKE(arena, uint32_t, plan->in_first[members]);
        plan->from = GS_TAKE(arena, uint32_t, plan->channel_count);
        plan->to = GS_TAKE(arena, uint32_t, plan->channel_count);
        plan->numbers = GS_TAKE(arena, uint32_t, plan->channel_count);
        plan->paths = GS_TAKE(arena, gs_dataflow_path, plan->channel_count);
        ok = plan->in_channels != NULL && plan->from != NULL && plan->to != NULL &&
             plan->numbers != NULL && plan->paths != NULL;
    }
    if (ok) {
        list_edges(plan, found);
    }
    gs_arena_fini(&scratch);
    return ok ? plan : NULL;
}

/* ---------------------------------------------------------------- an op */

bool gs_dataflow_init(gs_dataflow *flow, const gs_dataflow_plan *plan,
                      const gs_dataflow_wires *wires, gs_arena *arena)
{
    *flow = (gs_dataflow){
        .plan = plan,
        .wires = *wires,
        .lanes = GS_TAKE(arena, gs_dataflow_lane, plan->lane_count),
        .channels = GS_TAKE(arena, gs_dataflow_channel, plan->channel_count),
        .ready = GS_TAKE(arena, uint32_t, plan->lane_count),
        .lanes_left = GS_TAKE(arena, uint32_t, plan->member_count),
        .ready_at = GS_TAKE(arena, gs_tick, plan->member_count),
        .ends = GS_TAKE(arena, gs_tick, plan->member_count),
        .ended = GS_TAKE(arena, uint32_t, plan->member_count),
        .arena = arena,
    };
    return flow->lanes != NULL && flow->channels != NULL && flow->ready != NULL &&
           flow->lanes_left != NULL && flow->ready_at != NULL && flow->ends != NULL &&
           flow->ended != NULL;
}

void gs_dataflow_begin(gs_dataflow *flow, const gs_shape *shape, int64_t element_bytes,
                       gs_tick horizon)
{
    const gs_dataflow_plan *plan = flow->plan;
    flow->shape = *shape;
    flow->element_bytes = element_bytes;
    flow->horizon = horizon;
    flow->ready_count = flow->ended_count = 0;
    flow->least_bytes = flow->most_bytes = 0;
    for (uint32_t member = 0; member < plan->member_count; member++) {
        uint32_t first = plan->lane_first[member];
        flow->lanes_left[member] = plan->lane_first[member + 1] - first;
        flow->ends[member] = GS_TICK_NEVER;
        for (uint32_t i = first; i < plan->lane_first[member + 1]; i++) {
            flow->lanes[i] = (gs_dataflow_lane){
                .member = member, .number = i - first, .waits_for = GS_DATAFLOW_NONE};
        }
    }
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        flow->channels[i].waiter = GS_DATAFLOW_NONE;
        flow->channels[i].bytes = 0;
        flow->channels[i].queue.head = flow->channels[i].queue.count = 0;
    }
}

static bool grow_queue(gs_dataflow *flow, gs_dataflow_queue *queue)
{
    uint32_t capacity = queue->capacity == 0 ? 4 : 2 * queue->capacity;
    gs_tick *arrivals = GS_TAKE(flow->arena, gs_tick, capacity);
    if (arrivals == NULL) {
        flow->out_of_memory = true;
        return false;
    }
    for (uint32_t i = 0; i < queue->count; i++) {
        arrivals[i] = queue->arrivals[(queue->head + i) & (queue->capacity - 1)];
    }
    queue->arrivals = arrivals;
    queue->capacity = capacity;
    queue->head = 0;
    return true;
}

/* Peers come round in the same order again and again, or in the opposite one: looked for from where
 * the last one was, both ways. */
static uint32_t place_near(uint32_t hint, uint32_t count, uint32_t tried)
{
    uint32_t away = (tried + 1) / 2;
    if (tried % 2 == 1) {
        return hint + away >= count ? hint + away - count : hint + away;
    }
    return hint >= away ? hint - away : hint + count - away;
}

static uint32_t out_channel(const gs_dataflow_plan *plan, gs_dataflow_lane *lane,
                            const gs_vertex *vertex)
{
    uint32_t first = plan->out_first[lane->member];
    uint32_t count = plan->out_first[lane->member + 1] - first;
    for (uint32_t tried = 0; tried <= count; tried++) {
        uint32_t place = place_near(lane->out_hint, count, tried);
        uint32_t channel = first + place;
        if (plan->to[channel] == vertex->peer && plan->numbers[channel] == vertex->channel) {
            lane->out_hint = place;
            return channel;
        }
    }
    GS_ASSERT(false && "a program sends only to its targets");
    return 0;
}

static uint32_t in_channel(const gs_dataflow_plan *plan, gs_dataflow_lane *lane,
                           const gs_vertex *vertex)
{
    uint32_t first = plan->in_first[lane->member];
    uint32_t count = plan->in_first[lane->member + 1] - first;
    for (uint32_t tried = 0; tried <= count; tried++) {
        uint32_t place = place_near(lane->in_hint, count, tried);
        uint32_t channel = plan->in_channels[first + place];
        if (plan->from[channel] == vertex->peer && plan->numbers[channel] == vertex->channel) {
            lane->in_hint = place;
            return channel;
        }
    }
    GS_ASSERT(false && "a program receives only from its sources");
    return 0;
}

static void send(gs_dataflow *flow, gs_dataflow_lane *lane, const gs_vertex *vertex)
{
    const gs_dataflow_plan *plan = flow->plan;
    uint32_t index = out_channel(plan, lane, vertex);
    const gs_dataflow_path *path = &plan->paths[index];
    gs_dataflow_channel *channel = &flow->channels[index];
    int64_t bytes = vertex->length * flow->element_bytes;
    gs_tick start = lane->time > channel->free_at ? lane->time : channel->free_at;
    gs_tick ready_at = flow->ready_at[lane->member];
    start = gs_tick_after(start > ready_at ? start : ready_at, path->overhead);
    if (path->bytes_per_tick > 0.0) {
        gs_tick passed = gs_dataflow_ticks(bytes, path->bytes_per_tick);
        channel->free_at = gs_tick_after(start, passed);
    } else {
        channel->free_at = flow->wires.leaves(flow->wires.host, index, start, bytes);
    }
    gs_tick latency = path->latency;
    if (latency == GS_TICK_NEVER) {
        latency = flow->wires.latency(flow->wires.host, index, channel->messages, bytes);
    }
    channel->messages++;
    channel->bytes += bytes;
    flow->most_bytes = bytes > flow->most_bytes ? bytes : flow->most_bytes;
    bool is_least = bytes > 0 && (flow->least_bytes == 0 || bytes < flow->least_bytes);
    flow->least_bytes = is_least ? bytes : flow->least_bytes;
    gs_tick arrival = gs_tick_after(channel->free_at, latency);
    arrival = arrival > channel->last_arrival ? arrival : channel->last_arrival;
    channel->last_arrival = arrival;
    gs_dataflow_queue *queue = &channel->queue;
    if (queue->count == queue->capacity && !grow_queue(flow, queue)) {
        return;
    }
    queue->arrivals[(queue->head + queue->count++) & (queue->capacity - 1)] = arrival;
    if (channel->waiter != GS_DATAFLOW_NONE && arrival <= flow->horizon) {
        flow->ready[flow->ready_count++] = channel->waiter;
        channel->waiter = GS_DATAFLOW_NONE;
    }
    if (path->is_watched || flow->watches_all) {
        gs_dataflow_transfer transfer = {index, bytes, start, channel->free_at, arrival};
        flow->watcher.transfer(flow->watcher.host, &transfer);
    }
}

/* false: it waits, as the message has not been sent, or arrives after the horizon. */
static bool receive(gs_dataflow *flow, uint32_t index, uint32_t channel_index)
{
    gs_dataflow_channel *channel = &flow->channels[channel_index];
    gs_dataflow_queue *queue = &channel->queue;
    gs_dataflow_lane *lane = &flow->lanes[index];
    if (queue->count == 0 || queue->arrivals[queue->head] > flow->horizon) {
        channel->waiter = index;
        lane->waits_for = channel_index;
        return false;
    }
    gs_tick arrival = queue->arrivals[queue->head];
    queue->head = (queue->head + 1) & (queue->capacity - 1);
    queue->count--;
    lane->time = arrival > lane->time ? arrival : lane->time;
    lane->waits_for = GS_DATAFLOW_NONE;
    lane->index++;
    return true;
}

/* A member ends when all of its lanes have, and all that it has sent has left it. */
static void end_lane(gs_dataflow *flow, gs_dataflow_lane *lane)
{
    const gs_dataflow_plan *plan = flow->plan;
    uint32_t member = lane->member;
    lane->ended = true;
    if (--flow->lanes_left[member] > 0) {
        return;
    }
    gs_tick end = lane->time;
    for (uint32_t i = plan->lane_first[member]; i < plan->lane_first[member + 1]; i++) {
        end = flow->lanes[i].time > end ? flow->lanes[i].time : end;
    }
    for (uint32_t i = plan->out_first[member]; i < plan->out_first[member + 1]; i++) {
        end = flow->channels[i].free_at > end ? flow->channels[i].free_at : end;
    }
    flow->ends[member] = end;
    flow->ended[flow->ended_count++] = member;
}

static void run_lane(gs_dataflow *flow, uint32_t index)
{
    gs_dataflow_lane *lane = &flow->lanes[index];
    if (lane->waits_for != GS_DATAFLOW_NONE && !receive(flow, index, lane->waits_for)) {
        return;
    }
    gs_shape shape = flow->shape;
    shape.self = lane->member;
    gs_vertex vertex;
    while (!flow->out_of_memory &&
           flow->plan->program->vertex(&shape, lane->number, lane->index, &vertex)) {
        if (vertex.kind == GS_VERTEX_SEND) {
            send(flow, lane, &vertex);
            lane->index++;
        } else if (!receive(flow, index, in_channel(flow->plan, lane, &vertex))) {
            return;
        }
    }
    end_lane(flow, lane);
}

void gs_dataflow_start(gs_dataflow *flow, uint32_t member, gs_tick at, gs_tick ready_at)
{
    const gs_dataflow_plan *plan = flow->plan;
    GS_ASSERT(member < plan->member_count);
    flow->ready_at[member] = ready_at;
    for (uint32_t i = plan->lane_first[member + 1]; i-- > plan->lane_first[member];) {
        flow->lanes[i].time = at;
        flow->ready[flow->ready_count++] = i;
    }
    while (flow->ready_count > 0) {
        run_lane(flow, flow->ready[--flow->ready_count]);
    }
}
