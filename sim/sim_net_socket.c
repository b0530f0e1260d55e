#include "sim/sim_net_socket.h"

#include "base/assert.h"
#include "sim/sim_net_cost.h"
#include "sim/sim_net_flow.h"

bool gs_sim_sockets_init(gs_sim_net *net)
{
    net->desks = GS_TAKE(net->arena, gs_sim_desk, net->topology->entities);
    for (uint32_t i = 0; net->desks != NULL && i < net->topology->entities; i++) {
        net->desks[i] = (gs_sim_desk){
            .first_socket = GS_NO_SOCKET,
            .waiting_first = GS_NO_PART,
            .handling_first = GS_NO_PART,
        };
    }
    const gs_cluster *cluster = &net->topology->scenario->cluster;
    bool has_queues = cluster->nic.queue_bytes > 0 || cluster->intra.queue_bytes > 0;
    return net->desks != NULL &&
           (!has_queues || gs_sim_lines_init(&net->lines, net->topology->link_count, net->arena));
}

static uint32_t last_link(const gs_route *route)
{
    return route->links[route->link_count - 1];
}

uint32_t gs_sim_socket_open(gs_sim_net *net, uint32_t from, uint32_t to)
{
    gs_sim_desk *desk = &net->desks[from];
    for (uint32_t at = desk->first_socket; at != GS_NO_SOCKET; at = net->sockets[at].next) {
        if (net->sockets[at].to == to) {
            return at;
        }
    }
    if (net->socket_count == net->socket_capacity) {
        gs_sim_socket *sockets = gs_sim_net_grown(net, net->sockets, net->socket_count,
                                                  &net->socket_capacity, sizeof *sockets);
        if (sockets == NULL) {
            return GS_NO_SOCKET;
        }
        net->sockets = sockets;
    }
    uint32_t index = net->socket_count++;
    gs_sim_socket *socket = &net->sockets[index];
    *socket = (gs_sim_socket){
        .to = to,
        .next = desk->first_socket,
        .route = gs_topology_route(net->topology, from, to, 0),
        .flows = {{.index = GS_FLUID_NONE}, {.index = GS_FLUID_NONE}},
        .sending = GS_NO_PART,
        .taking = GS_NO_PART,
        .untold = GS_NO_PART,
        .last_arrival = -1,
        .held = GS_NO_PART,
    };
    if (!gs_sim_cost_create(net->topology, &socket->route, net->arena, &socket->cost)) {
        net->out_of_memory = net->loop->out_of_memory = true;
        return GS_NO_SOCKET;
    }
    socket->link = gs_topology_link_of(net->topology, &socket->route);
    /* On one link both ends are in step, whatever the window. */
    int64_t window = socket->route.link_count > 1 ? socket->link->window_bytes : 0;
    socket->chunk_bytes = (window + GS_WINDOW_CHUNKS - 1) / GS_WINDOW_CHUNKS;
    socket->credit = GS_WINDOW_CHUNKS * socket->chunk_bytes;
    socket->has_queues = window > 0 && socket->link->queue_bytes > 0;
    gs_route back = gs_topology_route(net->topology, to, from, 0);
    socket->back_first = back.links[0];
    socket->back_last = last_link(&back);
    desk->first_socket = index;
    return index;
}

static uint32_t index_of(const gs_sim_net *net, const gs_sim_socket *socket)
{
    return (uint32_t)(socket - net->sockets);
}

static gs_sim_socket *socket_of(const gs_sim_net *net, const gs_sim_part *part)
{
    return &net->sockets[net->channels[part->channel].socket];
}

enum end { SENDER, RECEIVER };

/* ---------------------------------------------------------------- credit */

static void take_grants(const gs_sim_net *net, gs_sim_socket *socket)
{
    while (socket->grant_count > 0 && socket->grants[socket->grant_first] <= net->loop->now) {
        socket->grant_first = (socket->grant_first + 1) % GS_WINDOW_CHUNKS;
        socket->grant_count--;
        socket->credit += socket->chunk_bytes;
    }
}

/* Credit for another chunk comes a round trip of latencies later. */
static void grant_chunk(gs_sim_net *net, gs_sim_socket *socket)
{
    GS_ASSERT(socket->grant_count < GS_WINDOW_CHUNKS);
    gs_tick latency = gs_ticks(socket->route.latency_ns);
    gs_tick at = gs_tick_after(gs_tick_after(net->loop->now, latency), latency);
    socket->grants[(socket->grant_first + socket->grant_count++) % GS_WINDOW_CHUNKS] = at;
    gs_sim_loop_at(net->loop, at, GS_SIM_SOCKET, index_of(net, socket));
}

static void join(gs_sim_net *net, gs_sim_turn turn)
{
    if (!gs_sim_line_join(&net->lines, turn)) {
        net->out_of_memory = net->loop->out_of_memory = true;
    }
}

/* The first byte of a chunk is taken: credit for another chunk comes a round trip later, and the
 * news of it waits in the queues of the way back. */
static void begin_chunk(gs_sim_net *net, gs_sim_socket *socket)
{
    socket->next_chunk += socket->chunk_bytes;
    if (socket->has_queues) {
        join(net, (gs_sim_turn){.kind = GS_TURN_NEWS,
                                .socket = index_of(net, socket),
                                .link = socket->back_first});
    } else {
        grant_chunk(net, socket);
    }
}

/* Whether the last byte of a part has been put into the socket. */
static bool has_left(const gs_sim_socket *socket, const gs_sim_part *part)
{
    return part->end <= (socket->chunk_bytes > 0 ? socket->credit : socket->sent);
}

/* ---------------------------------------------------------------- the wire */

/* That many bytes are under way at an end of the socket; 0: it rests. */
static void set_flow(gs_sim_net *net, gs_sim_socket *socket, enum end end, int64_t bytes)
{
    gs_sim_flow *flow = &socket->flows[end];
    bool flows = flow->index != GS_FLUID_NONE;
    if (bytes > 0 && flows) {
        gs_sim_net_flow_next(net, flow, bytes);
    } else if (bytes > 0) {
        uint32_t owner = (2 * index_of(net, socket) + end) | GS_SIM_OF_SOCKET;
        /* With a window the last link is the receiver's. */
        const gs_route *route = &socket->route;
        bool whole = socket->chunk_bytes == 0;
        uint32_t first = end == SENDER ? 0 : route->link_count - 1;
        uint32_t count = whole ? route->link_count : end == SENDER ? route->link_count - 1 : 1;
        gs_sim_net_flow_begin(net, flow, owner, &route->links[first], count, (double)bytes);
    } else if (flows) {
        gs_sim_net_flow_end(net, flow);
    }
}

/* A message about to begin waits for its slow start. */
static bool is_held(gs_sim_net *net, gs_sim_socket *socket)
{
    gs_tick now = net->loop->now;
    if (socket->cost == NULL) {
        return false;
    }
    if (socket->held != socket->sending) {
        gs_tick wait = gs_sim_cost_slow_start(socket->cost, now, net->parts[socket->sending].bytes);
        if (wait == 0) {
            return false;
        }
        socket->held = socket->sending;
        socket->held_until = gs_tick_after(now, wait);
        gs_sim_loop_at(net->loop, socket->held_until, GS_SIM_SOCKET, index_of(net, socket));
    }
    if (now < socket->held_until) {
        return true;
    }
    socket->held = GS_NO_PART;
    return false;
}

/* The next piece that a sender's end may carry: to the end of a part, or of a chunk. 0: all is
 * under way, or it waits for credit. `from`: bytes since the start that have been under way. */
static int64_t next_piece(gs_sim_net *net, gs_sim_socket *socket, int64_t from)
{
    while (socket->sending != GS_NO_PART && net->parts[socket->sending].end == from) {
        socket->sending = net->parts[socket->sending].behind;
    }
    int64_t chunk = socket->chunk_bytes;
    if (socket->sending == GS_NO_PART || (chunk > 0 && from >= socket->credit)) {
        return 0;
    }
    gs_sim_part *part = &net->parts[socket->sending];
    if (from == part->end - part->bytes && is_held(net, socket)) {
        return 0;
    }
    int64_t chunk_end = chunk == 0 ? part->end : (from / chunk + 1) * chunk;
    if (from == part->end - part->bytes) {
        part->ready_at = net->loop->now; /* when it began */
    }
    return (part->end < chunk_end ? part->end : chunk_end) - from;
}

/* What has not been sent goes on as far as one piece, or credit, allows. */
static void go_on_sending(gs_sim_net *net, gs_sim_socket *socket)
{
    take_grants(net, socket);
    socket->sent_until = socket->sent + next_piece(net, socket, socket->sent);
    set_flow(net, socket, SENDER, socket->sent_until - socket->sent);
}

/* All of the first part has been taken. */
static void end_part(gs_sim_net *net, gs_sim_socket *socket)
{
    uint32_t index = socket->taking;
    gs_sim_part *part = &net->parts[index];
    gs_sim_channel *channel = &net->channels[part->channel];
    gs_tick now = net->loop->now;
    gs_tick at = part->is_note ? gs_tick_after(now, gs_ticks(socket->route.latency_ns))
                               : gs_sim_net_arrival(net, channel, now, part->bytes);
    /* Ties may be shuffled, and no stream overtakes another. */
    at = at > socket->last_arrival ? at : gs_tick_after(socket->last_arrival, 1);
    socket->last_arrival = at;
    socket->taking = part->behind;
    if (part->is_note) {
        gs_sim_loop_at(net->loop, at, GS_SIM_NOTE, index);
        return;
    }
    channel->last_arrival = at;
    gs_sim_loop_at(net->loop, at, GS_SIM_PART, part->channel);
    if (net->timeline != NULL) {
        gs_sim_net_tell_timeline(net, channel, part->bytes, part->ready_at, now);
    }
}

/* A piece that is through at the receiver's end has been taken once it has been sent as a whole. */
static void end_parts(gs_sim_net *net, gs_sim_socket *socket)
{
    if (socket->is_taken && socket->taken_until <= socket->sent) {
        socket->taken = socket->taken_until;
        socket->is_taken = false;
    }
    while (socket->taking != GS_NO_PART && net->parts[socket->taking].end == socket->taken) {
        end_part(net, socket);
    }
}

static void begin_taking(gs_sim_net *net, gs_sim_socket *socket, int64_t until)
{
    if (socket->taken == socket->next_chunk) {
        begin_chunk(net, socket);
    }
    socket->taken_until = until < socket->next_chunk ? until : socket->next_chunk;
    set_flow(net, socket, RECEIVER, socket->taken_until - socket->taken);
}

/* What has begun to be sent is taken, up to the end of a part or a chunk at a time. */
static void go_on_taking(gs_sim_net *net, gs_sim_socket *socket)
{
    if (socket->chunk_bytes == 0) {
        socket->taken = socket->taken_until = socket->sent;
    }
    end_parts(net, socket);
    bool waits = socket->taken < socket->taken_until; /* under way, or for its last byte */
    if (!waits && socket->chunk_bytes > 0 && socket->taken < socket->sent_until) {
        int64_t part_end = net->parts[socket->taking].end;
        begin_taking(net, socket, part_end < socket->sent_until ? part_end : socket->sent_until);
    } else if (!waits || socket->is_taken) {
        set_flow(net, socket, RECEIVER, 0);
    }
}

/* ---------------------------------------------------------------- queues */

/* The card takes what it has room for of the socket, as far as credit allows. */
static void fill_card(gs_sim_net *net, gs_sim_socket *socket)
{
    take_grants(net, socket);
    while (socket->in_card - socket->sent < socket->link->queue_bytes) {
        int64_t bytes = next_piece(net, socket, socket->in_card);
        if (bytes == 0) {
            return;
        }
        socket->in_card += bytes;
        join(net, (gs_sim_turn){.kind = GS_TURN_SENDS,
                                .socket = index_of(net, socket),
                                .link = socket->route.links[0],
                                .bytes = bytes,
                                .until = socket->in_card});
    }
}

static void begin_turn(gs_sim_net *net, gs_sim_turn turn)
{
    gs_sim_socket *socket = &net->sockets[turn.socket];
    switch (turn.kind) {
    case GS_TURN_SENDS: /* and is on its way to the receiver's queue */
        socket->sent_until = turn.until;
        set_flow(net, socket, SENDER, turn.bytes);
        turn.kind = GS_TURN_TAKES;
        turn.link = last_link(&socket->route);
        join(net, turn);
        return;
    case GS_TURN_TAKES:
        begin_taking(net, socket, turn.until);
        return;
    case GS_TURN_NEWS:
        gs_sim_line_leave(&net->lines, turn.link);
        turn.kind = GS_TURN_NEWS_BACK;
        turn.link = socket->back_last;
        join(net, turn);
        return;
    case GS_TURN_NEWS_BACK:
        gs_sim_line_leave(&net->lines, turn.link);
        grant_chunk(net, socket);
        return;
    }
}

static void serve_lines(gs_sim_net *net)
{
    gs_sim_turn turn;
    while (!net->out_of_memory && gs_sim_lines_next(&net->lines, &turn)) {
        begin_turn(net, turn);
    }
}

/* ---------------------------------------------------------------- events */

/* What has been under way at an end is through. */
static void end_flow(gs_sim_net *net, gs_sim_socket *socket, enum end end)
{
    socket->flows[end].handle = 0;
    if (end == SENDER) {
        socket->sent = socket->sent_until;
        if (socket->cost != NULL) {
            socket->cost->last_left = net->loop->now;
        }
    } else {
        socket->is_taken = true;
    }
    if (socket->has_queues) {
        set_flow(net, socket, end, 0);
        gs_sim_line_leave(&net->lines,
                          end == SENDER ? socket->route.links[0] : last_link(&socket->route));
    }
}

void gs_sim_net_socket_event(gs_sim_net *net, uint32_t index, uint64_t handle)
{
    gs_sim_socket *socket = &net->sockets[index];
    if (socket->flows[SENDER].handle == handle) {
        end_flow(net, socket, SENDER);
    } else if (socket->flows[RECEIVER].handle == handle) {
        end_flow(net, socket, RECEIVER);
    }
    if (socket->has_queues) {
        fill_card(net, socket);
        end_parts(net, socket);
        serve_lines(net);
        return;
    }
    if (socket->sent == socket->sent_until) {
        go_on_sending(net, socket);
    }
    go_on_taking(net, socket);
    take_grants(net, socket);
}

bool gs_sim_net_told(gs_sim_net *net, uint32_t index, gs_sim_left *out)
{
    gs_sim_socket *socket = &net->sockets[index];
    /* Nobody waits for a note. */
    while (socket->untold != GS_NO_PART && net->parts[socket->untold].is_note &&
           has_left(socket, &net->parts[socket->untold])) {
        socket->untold = net->parts[socket->untold].behind;
    }
    if (socket->untold == GS_NO_PART || !has_left(socket, &net->parts[socket->untold])) {
        return false;
    }
    const gs_sim_part *part = &net->parts[socket->untold];
    gs_sim_channel *channel = &net->channels[part->channel];
    socket->untold = part->behind;
    *out = (gs_sim_left){.left = true,
                         .from = channel->from,
                         .sender_slot = part->sender_slot,
                         .flush_call = GS_NO_CALL};
    if (--channel->untold == 0) {
        out->flush_call = channel->flush_call;
        channel->flush_call = GS_NO_CALL;
    }
    return true;
}

/* ---------------------------------------------------------------- the desk */

/* Everything else happens on a turn of its own, before the part can have come. */
static void put_in(gs_sim_net *net, uint32_t index)
{
    gs_sim_part *part = &net->parts[index];
    gs_sim_socket *socket = socket_of(net, part);
    part->behind = GS_NO_PART;
    socket->queued += part->bytes;
    part->end = socket->queued;
    if (socket->taking != GS_NO_PART) {
        net->parts[socket->last].behind = index;
    }
    socket->last = index;
    socket->sending = socket->sending == GS_NO_PART ? index : socket->sending;
    socket->taking = socket->taking == GS_NO_PART ? index : socket->taking;
    socket->untold = socket->untold == GS_NO_PART ? index : socket->untold;
    take_grants(net, socket);
    bool rests = socket->flows[SENDER].index == GS_FLUID_NONE;
    if (socket->has_queues || rests || has_left(socket, part)) {
        gs_sim_loop_at(net->loop, net->loop->now, GS_SIM_SOCKET, index_of(net, socket));
    }
}

static void append(gs_sim_net *net, uint32_t *first, uint32_t *last, uint32_t index)
{
    net->parts[index].behind = GS_NO_PART;
    if (*first == GS_NO_PART) {
        *first = index;
    } else {
        net->parts[*last].behind = index;
    }
    *last = index;
}

/* The sender handles messages one after the other. */
static void handle(gs_sim_net *net, uint32_t from, uint32_t index)
{
    gs_sim_desk *desk = &net->desks[from];
    gs_sim_part *part = &net->parts[index];
    gs_time_ns per_message_ns = socket_of(net, part)->link->per_message_ns;
    if (per_message_ns == 0) {
        put_in(net, index);
        return;
    }
    gs_tick start = desk->free_at > net->loop->now ? desk->free_at : net->loop->now;
    part->ready_at = desk->free_at = gs_tick_after(start, gs_ticks(per_message_ns));
    append(net, &desk->handling_first, &desk->handling_last, index);
    gs_sim_loop_at(net->loop, part->ready_at, GS_SIM_DESK, from);
}

void gs_sim_socket_send(gs_sim_net *net, uint32_t index)
{
    const gs_sim_part *part = &net->parts[index];
    uint32_t from = net->channels[part->channel].from;
    if (part->ready_at <= net->loop->now) {
        handle(net, from, index);
        return;
    }
    gs_sim_desk *desk = &net->desks[from];
    append(net, &desk->waiting_first, &desk->waiting_last, index);
    gs_sim_loop_at(net->loop, part->ready_at, GS_SIM_DESK, from);
}

void gs_sim_net_desk_event(gs_sim_net *net, uint32_t entity)
{
    gs_sim_desk *desk = &net->desks[entity];
    gs_tick now = net->loop->now;
    while (desk->handling_first != GS_NO_PART && net->parts[desk->handling_first].ready_at <= now) {
        uint32_t index = desk->handling_first;
        desk->handling_first = net->parts[index].behind;
        put_in(net, index);
    }
    while (desk->waiting_first != GS_NO_PART && net->parts[desk->waiting_first].ready_at <= now) {
        uint32_t index = desk->waiting_first;
        desk->waiting_first = net->parts[index].behind;
        handle(net, entity, index);
    }
}
