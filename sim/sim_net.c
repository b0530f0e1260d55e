#include "sim/sim_net.h"

#include "base/assert.h"
#include "base/rng.h"
#include "sim/sim_net_cost.h"
#include "sim/sim_net_flow.h"
#include "sim/sim_net_socket.h"
#include "sim/sim_net_tenant.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- growing arrays */

void *gs_sim_net_grown(gs_sim_net *net, const void *old, uint32_t count, uint32_t *capacity,
                       size_t item_bytes)
{
    uint32_t wanted = *capacity == 0 ? 16 : 2 * *capacity;
    void *memory = gs_arena_take(net->arena, wanted, item_bytes);
    if (memory == NULL) {
        net->out_of_memory = net->loop->out_of_memory = true;
        return NULL;
    }
    if (count > 0) {
        memcpy(memory, old, count * item_bytes);
    }
    *capacity = wanted;
    return memory;
}

bool gs_sim_net_init(gs_sim_net *net, const gs_sim_net_config *config, gs_arena *arena)
{
    *net = (gs_sim_net){
        .loop = config->loop,
        .topology = config->topology,
        .latency_noise = config->latency_noise,
        .seed = config->seed,
        .pool = config->pool,
        .timeline = config->timeline,
        .streams = config->streams,
        .communicators = gs_streams_count(config->streams),
        .free_part = GS_NO_PART,
        .arena = arena,
        .entity_bytes = GS_TAKE(arena, int64_t, config->topology->entities),
        /* One for each entity: what a ring has of them. */
        .channels = GS_TAKE(arena, gs_sim_channel, config->topology->entities),
        .channel_capacity = config->topology->entities,
    };
    if (config->loop->shuffle_ties) {
        size_t entities = config->topology->entities;
        net->last_note = GS_TAKE(arena, gs_tick, entities * entities);
    }
    const gs_cluster *cluster = &config->topology->scenario->cluster;
    net->has_connection_rates =
        gs_link_has_loss(&cluster->nic) || gs_link_has_loss(&cluster->intra);
    bool has_sockets =
        cluster->nic.sockets == GS_SOCKETS_PROCESS || cluster->intra.sockets == GS_SOCKETS_PROCESS;
    return net->entity_bytes != NULL && net->channels != NULL &&
           (!config->loop->shuffle_ties || net->last_note != NULL) &&
           (!has_sockets || gs_sim_sockets_init(net)) && gs_sim_tenants_init(net);
}

/* ---------------------------------------------------------------- channels */

static uint32_t hash_of(uint32_t from, uint32_t to, uint32_t stream)
{
    uint64_t mixed = ((uint64_t)from << 32 | to) * UINT64_C(0x9e3779b97f4a7c15);
    mixed ^= (uint64_t)stream * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (uint32_t)(mixed >> 32 ^ mixed);
}

static uint32_t *place_of(gs_sim_net *net, uint32_t from, uint32_t to, uint32_t stream)
{
    uint32_t mask = net->table_capacity - 1;
    for (uint32_t at = hash_of(from, to, stream) & mask;; at = (at + 1) & mask) {
        uint32_t held = net->table[at];
        if (held == 0) {
            return &net->table[at];
        }
        const gs_sim_channel *channel = &net->channels[held - 1];
        if (channel->from == from && channel->to == to && channel->stream == stream) {
            return &net->table[at];
        }
    }
}

/* At most half full. */
static bool grow_table(gs_sim_net *net)
{
    if (2 * (net->channel_count + 1) <= net->table_capacity) {
        return true;
    }
    uint32_t capacity = net->table_capacity == 0 ? 32 : 2 * net->table_capacity;
    uint32_t *table = GS_TAKE(net->arena, uint32_t, capacity);
    if (table == NULL) {
        net->out_of_memory = net->loop->out_of_memory = true;
        return false;
    }
    net->table = table;
    net->table_capacity = capacity;
    for (uint32_t i = 0; i < net->channel_count; i++) {
        const gs_sim_channel *channel = &net->channels[i];
        *place_of(net, channel->from, channel->to, channel->stream) = i + 1;
    }
    return true;
}

static bool has_socket(const gs_sim_net *net, const gs_route *route)
{
    return gs_topology_link_of(net->topology, route)->sockets == GS_SOCKETS_PROCESS;
}

uint32_t gs_sim_net_channel(gs_sim_net *net, uint32_t from, uint32_t to, uint32_t stream)
{
    if (!grow_table(net)) {
        return 0;
    }
    uint32_t *place = place_of(net, from, to, stream);
    if (*place != 0) {
        return *place - 1;
    }
    if (net->channel_count == net->channel_capacity) {
        gs_sim_channel *channels = gs_sim_net_grown(net, net->channels, net->channel_count,
                                                    &net->channel_capacity, sizeof *channels);
        if (channels == NULL) {
            return 0;
        }
        net->channels = channels;
    }
    gs_route route = gs_topology_route(net->topology, from, to, stream);
    uint32_t socket = GS_NO_SOCKET;
    gs_sim_cost *cost = NULL;
    if (has_socket(net, &route)) {
        socket = gs_sim_socket_open(net, from, to);
        if (socket == GS_NO_SOCKET) {
            return 0;
        }
        cost = net->sockets[socket].cost;
    } else if (!gs_sim_cost_create(net->topology, &route, net->arena, &cost)) {
        net->out_of_memory = net->loop->out_of_memory = true;
        return 0;
    }
    uint32_t index = net->channel_count++;
    *place = index + 1;
    net->channels[index] = (gs_sim_channel){
        .from = from,
        .to = to,
        .stream = stream,
        .inbox = UINT32_MAX,
        .route = route,
        .socket = socket,
        .flow = {.index = GS_FLUID_NONE},
        .first = GS_NO_PART,
        .last = GS_NO_PART,
        .sending = GS_NO_PART,
        .flush_call = GS_NO_CALL,
        .cost = cost,
    };
    return index;
}

/* Which channels are alone on all their links. Returns how many are not. */
static uint32_t find_private(gs_sim_net *net, bool private_allowed, uint32_t *channels_on_link)
{
    for (uint32_t i = 0; i < net->tenant_count; i++) {
        for (uint32_t hop = 0; hop < net->tenants[i].route.link_count; hop++) {
            channels_on_link[net->tenants[i].route.links[hop]]++;
        }
    }
    for (uint32_t i = 0; i < net->channel_count; i++) {
        for (uint32_t hop = 0; hop < net->channels[i].route.link_count; hop++) {
            channels_on_link[net->channels[i].route.links[hop]]++;
        }
    }
    uint32_t shared = 0;
    for (uint32_t i = 0; i < net->channel_count; i++) {
        gs_sim_channel *channel = &net->channels[i];
        bool waits = channel->cost != NULL && gs_sim_cost_waits(channel->cost);
        channel->is_private = private_allowed && channel->socket == GS_NO_SOCKET && !waits;
        for (uint32_t hop = 0; hop < channel->route.link_count; hop++) {
            channel->is_private &= channels_on_link[channel->route.links[hop]] == 1;
        }
        shared += channel->is_private ? 0 : 1;
    }
    return shared;
}

bool gs_sim_net_seal(gs_sim_net *net, bool private_allowed, uint32_t flows_max)
{
    gs_arena scratch;
    gs_arena_init(&scratch);
    uint32_t *channels_on_link = GS_TAKE(&scratch, uint32_t, net->topology->link_count);
    uint32_t shared = 0;
    bool ok = channels_on_link != NULL && !net->out_of_memory;
    if (ok) {
        shared = find_private(net, private_allowed, channels_on_link);
    }
    gs_arena_fini(&scratch);
    uint32_t flows = shared + flows_max + net->tenant_count;
    ok = ok && (flows == 0 || gs_sim_flows_make(net, flows));
    if (ok) {
        gs_sim_tenants_start(net);
    }
    return ok;
}

/* ---------------------------------------------------------------- parts */

uint32_t gs_sim_net_part(gs_sim_net *net)
{
    uint32_t part = net->free_part;
    if (part != GS_NO_PART) {
        net->free_part = net->parts[part].next;
    } else {
        if (net->part_count == net->part_capacity) {
            gs_sim_part *parts = gs_sim_net_grown(net, net->parts, net->part_count,
                                                  &net->part_capacity, sizeof *parts);
            if (parts == NULL) {
                return GS_NO_PART;
            }
            net->parts = parts;
        }
        part = net->part_count++;
    }
    net->parts[part] = (gs_sim_part){.next = GS_NO_PART, .sender_slot = UINT32_MAX};
    return part;
}

void gs_sim_net_part_free(gs_sim_net *net, uint32_t part)
{
    gs_payload_give(net->pool, net->parts[part].payload);
    net->parts[part].next = net->free_part;
    net->free_part = part;
}

static void append(gs_sim_net *net, gs_sim_channel *channel, uint32_t part)
{
    net->parts[part].next = GS_NO_PART;
    if (channel->first == GS_NO_PART) {
        channel->first = part;
    } else {
        net->parts[channel->last].next = part;
    }
    channel->last = part;
}

/* ---------------------------------------------------------------- times */

static gs_tick ticks_for(double bytes, double bytes_per_tick)
{
    double ticks = bytes / bytes_per_tick + 0.5;
    return ticks >= 1.0 || bytes <= 0.0 ? gs_tick_of(ticks) : 1;
}

/* Jitter scales the latency, and no copies. */
gs_tick gs_sim_net_latency(const gs_sim_net *net, uint32_t index, uint64_t messages, int64_t bytes)
{
    const gs_sim_channel *channel = &net->channels[index];
    gs_tick latency = gs_ticks(channel->route.latency_ns);
    if (net->latency_noise != NULL) {
        gs_rng_key key = {net->seed, GS_RNG_LATENCY, index};
        latency = gs_tick_of((double)latency * gs_noise_draw(net->latency_noise, key, messages, 0));
    }
    return channel->cost == NULL ? latency
                                 : gs_tick_after(latency, gs_sim_cost_copies(channel->cost, bytes));
}

gs_tick gs_sim_net_arrival(gs_sim_net *net, gs_sim_channel *channel, gs_tick left, int64_t bytes)
{
    uint32_t index = (uint32_t)(channel - net->channels);
    return gs_tick_after(left, gs_sim_net_latency(net, index, channel->messages++, bytes));
}

/* A later message never overtakes. */
static void arrive(gs_sim_net *net, gs_sim_channel *channel, gs_tick left, int64_t bytes)
{
    gs_tick at = gs_sim_net_arrival(net, channel, left, bytes);
    at = at > channel->last_arrival ? at : channel->last_arrival;
    channel->last_arrival = at;
    gs_sim_loop_at(net->loop, at, GS_SIM_PART, (uint32_t)(channel - net->channels));
}

/* Out of the way of runs without a timeline. */
__attribute__((noinline)) void gs_sim_net_tell_timeline(gs_sim_net *net,
                                                        const gs_sim_channel *channel,
                                                        int64_t bytes, gs_tick began, gs_tick left)
{
    uint32_t number;
    gs_timeline_message message = {
        .from = channel->from,
        .to = channel->to,
        .stream = channel->stream < net->communicators
                      ? (int32_t)gs_streams_communicator(net->streams, channel->stream, &number)
                      : GS_TIMELINE_POINT_TO_POINT,
        .over_nic = channel->route.over_nic,
        .bytes = bytes,
        .began_ns = gs_tick_ns(began),
        .left_ns = gs_tick_ns(left),
        .arrive_ns = gs_tick_ns(channel->last_arrival),
    };
    gs_timeline_add_message(net->timeline, &message);
}

/* ---------------------------------------------------------------- private channels */

/* Links of a route differ in rate, and in how it varies; the slowest counts at every instant. So
 * does the rate of the connection. */
static uint32_t list_sources(const gs_sim_net *net, const gs_sim_channel *channel,
                             gs_rate_source sources[GS_SIM_SOURCES_MAX])
{
    const gs_route *route = &channel->route;
    for (uint32_t hop = 0; hop < route->link_count; hop++) {
        const gs_topology_link *link = &net->topology->links[route->links[hop]];
        sources[hop] = (gs_rate_source){link->bytes_per_tick, link->trace};
    }
    double rate = gs_sim_cost_rate(channel->cost);
    if (rate < HUGE_VAL) {
        sources[route->link_count] = (gs_rate_source){rate, NULL};
        return route->link_count + 1;
    }
    return route->link_count;
}

gs_tick gs_sim_net_leaves(const gs_sim_net *net, uint32_t index, gs_tick start, int64_t bytes)
{
    const gs_sim_channel *channel = &net->channels[index];
    const gs_route *route = &channel->route;
    double rate = gs_sim_cost_rate(channel->cost);
    bool varies = false;
    for (uint32_t hop = 0; hop < route->link_count; hop++) {
        const gs_topology_link *link = &net->topology->links[route->links[hop]];
        rate = link->bytes_per_tick < rate ? link->bytes_per_tick : rate;
        varies |= link->trace != NULL;
    }
    if (!varies) {
        return gs_tick_after(start, ticks_for((double)bytes, rate));
    }
    gs_rate_source sources[GS_SIM_SOURCES_MAX];
    uint32_t count = list_sources(net, channel, sources);
    gs_tick end = gs_rate_end(sources, count, start, (double)bytes);
    return end < GS_TICK_END ? end : GS_TICK_END;
}

static void send_private(gs_sim_net *net, gs_sim_channel *channel, int64_t bytes, gs_tick ready_at,
                         uint32_t part)
{
    gs_tick start = ready_at > net->loop->now ? ready_at : net->loop->now;
    start = start > channel->free_at ? start : channel->free_at;
    start = channel->cost == NULL ? start : gs_tick_after(start, channel->cost->overhead);
    channel->free_at = gs_sim_net_leaves(net, (uint32_t)(channel - net->channels), start, bytes);
    if (part != GS_NO_PART) {
        append(net, channel, part);
    }
    arrive(net, channel, channel->free_at, bytes);
    if (net->timeline != NULL) {
        gs_sim_net_tell_timeline(net, channel, bytes, start, channel->free_at);
    }
}

/* ---------------------------------------------------------------- shared channels */

static void begin_flow(gs_sim_net *net, gs_sim_channel *channel)
{
    gs_sim_part *part = &net->parts[channel->sending];
    part->ready_at = net->loop->now;
    gs_sim_net_flow_begin(net, &channel->flow, (uint32_t)(channel - net->channels),
                          channel->route.links, channel->route.link_count, (double)part->bytes);
}

/* The first waiting part begins to flow then; GS_TICK_NEVER: its receiver has not come to it. */
static gs_tick begins_at(const gs_sim_net *net, gs_sim_channel *channel)
{
    const gs_sim_part *part = &net->parts[channel->sending];
    gs_sim_cost *cost = channel->cost;
    gs_tick at = part->ready_at > net->loop->now ? part->ready_at : net->loop->now;
    if (cost == NULL) {
        return at;
    }
    if (part->bytes > cost->eager_bytes) {
        bool is_awaited = channel->stream < net->communicators;
        if (is_awaited && cost->awaited <= channel->messages) {
            return GS_TICK_NEVER;
        }
        gs_tick asked = gs_tick_after(part->ready_at, cost->round_trip);
        gs_tick told = gs_tick_after(is_awaited ? cost->awaited_at : 0, cost->round_trip / 2);
        at = at > asked ? at : asked;
        at = at > told ? at : told;
    }
    at = gs_tick_after(at, cost->overhead);
    return gs_tick_after(at, gs_sim_cost_slow_start(cost, at, part->bytes));
}

static void begin_at(gs_sim_net *net, gs_sim_channel *channel, gs_tick at)
{
    if (at > net->loop->now) {
        channel->flow.handle =
            gs_sim_loop_at(net->loop, at, GS_SIM_CHANNEL, (uint32_t)(channel - net->channels));
    } else {
        begin_flow(net, channel);
    }
}

static void begin_next(gs_sim_net *net, gs_sim_channel *channel)
{
    gs_tick at = begins_at(net, channel);
    if (at < GS_TICK_NEVER) {
        begin_at(net, channel, at);
    }
}

void gs_sim_net_await(gs_sim_net *net, uint32_t channel_index)
{
    gs_sim_channel *channel = &net->channels[channel_index];
    if (channel->cost == NULL) {
        return;
    }
    channel->cost->awaited++;
    channel->cost->awaited_at = net->loop->now;
    bool is_waiting = channel->sending != GS_NO_PART && channel->flow.index == GS_FLUID_NONE &&
                      channel->flow.handle == 0;
    if (is_waiting) {
        begin_next(net, channel);
    }
}

static void send_shared(gs_sim_net *net, gs_sim_channel *channel, uint32_t part)
{
    append(net, channel, part);
    if (channel->sending == GS_NO_PART) {
        channel->sending = part;
        begin_next(net, channel);
    }
}

/* The flow has ended: its part leaves, and the next one begins. */
static gs_sim_left end_flow(gs_sim_net *net, gs_sim_channel *channel)
{
    uint32_t part = channel->sending;
    gs_sim_left left = {.left = true,
                        .from = channel->from,
                        .sender_slot = net->parts[part].sender_slot,
                        .flush_call = GS_NO_CALL};
    channel->sending = net->parts[part].next;
    channel->flow.handle = 0;
    arrive(net, channel, net->loop->now, net->parts[part].bytes);
    if (net->timeline != NULL) {
        const gs_sim_part *sent = &net->parts[part];
        gs_sim_net_tell_timeline(net, channel, sent->bytes, sent->ready_at, net->loop->now);
    }
    if (channel->cost != NULL) {
        channel->cost->last_left = net->loop->now;
    }
    bool goes_on = channel->sending != GS_NO_PART && channel->cost == NULL &&
                   net->parts[channel->sending].ready_at <= net->loop->now;
    if (goes_on) {
        gs_sim_part *next = &net->parts[channel->sending];
        next->ready_at = net->loop->now;
        gs_sim_net_flow_next(net, &channel->flow, next->bytes);
        return left;
    }
    gs_sim_net_flow_end(net, &channel->flow);
    if (channel->sending != GS_NO_PART) {
        begin_next(net, channel);
    } else {
        left.flush_call = channel->flush_call;
        channel->flush_call = GS_NO_CALL;
    }
    return left;
}

/* ---------------------------------------------------------------- requests */

void gs_sim_net_see_size(gs_sim_net *net, int64_t bytes)
{
    net->most_bytes = bytes > net->most_bytes ? bytes : net->most_bytes;
    bool is_least = bytes > 0 && (net->least_bytes == 0 || bytes < net->least_bytes);
    net->least_bytes = is_least ? bytes : net->least_bytes;
}

void gs_sim_net_send(gs_sim_net *net, uint32_t channel_index, int64_t bytes, gs_tick ready_at,
                     uint32_t part)
{
    if (net->out_of_memory) {
        return; /* the channel may not be one: the run has come to its end */
    }
    gs_sim_channel *channel = &net->channels[channel_index];
    net->sent++;
    net->entity_bytes[channel->from] += bytes;
    net->nic_bytes += channel->route.over_nic ? bytes : 0;
    gs_sim_net_see_size(net, bytes);
    if (channel->is_private) {
        send_private(net, channel, bytes, ready_at, part);
        return;
    }
    if (part == GS_NO_PART) {
        part = gs_sim_net_part(net);
        if (part == GS_NO_PART) {
            return;
        }
    }
    /* Before it stands on its channel: what goes back to the drivers stands there before it. */
    gs_sim_net_intrude(net, channel->route.links, channel->route.link_count);
    bool is_past = channel->cost != NULL && ready_at < net->loop->now;
    net->parts[part].bytes = bytes;
    net->parts[part].ready_at = is_past ? net->loop->now : ready_at; /* when it is asked for */
    if (channel->socket != GS_NO_SOCKET) {
        net->parts[part].channel = channel_index;
        append(net, channel, part);
        channel->untold++;
        gs_sim_socket_send(net, part);
        return;
    }
    send_shared(net, channel, part);
}

void gs_sim_net_note(gs_sim_net *net, uint32_t from, uint32_t to, uint32_t part)
{
    net->sent++;
    gs_route route = gs_topology_route(net->topology, from, to, net->communicators);
    if (has_socket(net, &route)) {
        net->parts[part].channel = gs_sim_net_channel(net, from, to, net->communicators);
        net->parts[part].is_note = true;
        net->parts[part].ready_at = net->loop->now;
        if (!net->out_of_memory) {
            gs_sim_socket_send(net, part);
        }
        return;
    }
    gs_tick at = gs_tick_after(net->loop->now, gs_ticks(route.latency_ns));
    if (net->last_note != NULL) {
        /* Ties are shuffled, but no channel overtakes itself. */
        gs_tick *last = &net->last_note[from * net->topology->entities + to];
        at = at > *last ? at : gs_tick_after(*last, 1);
        *last = at;
    }
    gs_sim_loop_at(net->loop, at, GS_SIM_NOTE, part);
}

gs_tick gs_sim_net_flush(gs_sim_net *net, uint32_t channel_index, uint32_t call)
{
    gs_sim_channel *channel = &net->channels[channel_index];
    if (channel->is_private) {
        return channel->free_at;
    }
    bool is_empty =
        channel->socket != GS_NO_SOCKET ? channel->untold == 0 : channel->sending == GS_NO_PART;
    if (is_empty) {
        return net->loop->now;
    }
    GS_ASSERT(channel->flush_call == GS_NO_CALL);
    channel->flush_call = call;
    return GS_TICK_NEVER;
}

/* ---------------------------------------------------------------- events */

gs_sim_left gs_sim_net_channel_event(gs_sim_net *net, uint32_t channel_index, uint64_t handle)
{
    gs_sim_channel *channel = &net->channels[channel_index];
    if (channel->flow.handle != handle) {
        return (gs_sim_left){.left = false}; /* withdrawn: the rate has changed since */
    }
    if (channel->flow.index == GS_FLUID_NONE) {
        begin_flow(net, channel);
        return (gs_sim_left){.left = false};
    }
    return end_flow(net, channel);
}

gs_sim_part *gs_sim_net_delivered(gs_sim_net *net, uint32_t channel_index, uint32_t *out_part)
{
    uint32_t part = net->channels[channel_index].first;
    *out_part = part;
    return part == GS_NO_PART ? NULL : &net->parts[part];
}

void gs_sim_net_take(gs_sim_net *net, uint32_t channel_index)
{
    gs_sim_channel *channel = &net->channels[channel_index];
    uint32_t part = channel->first;
    GS_ASSERT(part != GS_NO_PART);
    channel->first = net->parts[part].next;
    if (channel->first == GS_NO_PART) {
        channel->last = GS_NO_PART;
    }
}

/* ---------------------------------------------------------------- messages under way */

/* What is left of one that began in the past, alone on its links. */
static double left_of(const gs_sim_net *net, const gs_sim_channel *channel,
                      const gs_sim_under_way *message)
{
    gs_rate_source sources[GS_SIM_SOURCES_MAX];
    uint32_t count = list_sources(net, channel, sources);
    double passed = gs_rate_bytes(sources, count, message->start, net->loop->now);
    double left = (double)message->bytes - passed;
    return left > 0.0 ? left : 0.0;
}

/* As it would stand by now if it had come through gs_sim_net_send. */
static void put_shared(gs_sim_net *net, gs_sim_channel *channel, uint32_t index,
                       const gs_sim_under_way *message)
{
    uint32_t channel_index = (uint32_t)(channel - net->channels);
    gs_sim_part *part = &net->parts[index];
    append(net, channel, index);
    if (message->left <= net->loop->now) {
        channel->messages++;
        channel->last_arrival = message->arrival;
        gs_sim_loop_at(net->loop, message->arrival, GS_SIM_PART, channel_index);
    } else if (message->start <= net->loop->now) {
        part->ready_at = message->start;
        channel->sending = index;
        gs_sim_net_flow_begin(net, &channel->flow, channel_index, channel->route.links,
                              channel->route.link_count, left_of(net, channel, message));
    } else if (channel->sending == GS_NO_PART) {
        channel->sending = index;
        begin_at(net, channel, message->start);
    }
}

bool gs_sim_net_put(gs_sim_net *net, uint32_t channel_index, const gs_sim_under_way *message)
{
    gs_sim_channel *channel = &net->channels[channel_index];
    GS_ASSERT(message->arrival > net->loop->now);
    if (channel->is_private) {
        channel->messages++;
        channel->free_at = message->left;
        channel->last_arrival = message->arrival;
        gs_sim_loop_at(net->loop, message->arrival, GS_SIM_PART, channel_index);
        return true;
    }
    uint32_t index = gs_sim_net_part(net);
    if (index == GS_NO_PART) {
        return false;
    }
    net->parts[index].bytes = message->bytes;
    net->parts[index].ready_at = message->ready_at;
    put_shared(net, channel, index, message);
    return !net->out_of_memory;
}

bool gs_sim_net_put_delivered(gs_sim_net *net, uint32_t channel_index)
{
    uint32_t index = gs_sim_net_part(net);
    if (index != GS_NO_PART) {
        append(net, &net->channels[channel_index], index);
    }
    return index != GS_NO_PART;
}
