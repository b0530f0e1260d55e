#include "sim/sim_net_cost.h"

#include "sim/topology_fabric.h"

#include <math.h>

/* Mathis' constant for periodic loss and an acknowledgement a packet: sqrt(3/2). */
static const double MATHIS = 1.2247448713915890;

/* Stages that the bytes of a route pass: copies, and what is between them. */
static void count_stages(const gs_topology *topology, const gs_route *route, gs_sim_cost *cost)
{
    double wire = HUGE_VAL;
    double slowest = HUGE_VAL;
    double copies = 0.0;
    for (uint32_t hop = 0; hop < route->link_count; hop++) {
        double rate = topology->links[route->links[hop]].bytes_per_tick;
        if (gs_topology_is_copy(topology, route->links[hop])) {
            copies += 1.0 / rate;
        } else {
            wire = rate < wire ? rate : wire;
        }
        slowest = rate < slowest ? rate : slowest;
    }
    cost->alone_rate = slowest;
    cost->copy_ticks = copies > 0.0 ? copies + 1.0 / wire - 1.0 / slowest : 0.0;
}

static gs_sim_cost cost_of(const gs_topology *topology, const gs_route *route)
{
    const gs_link *link = gs_topology_link_of(topology, route);
    bool is_tcp = link->class_index == GS_LINK_TCP;
    gs_tick latency = gs_ticks(route->latency_ns);
    gs_sim_cost cost = {
        .overhead = link->sockets == GS_SOCKETS_CHANNEL ? gs_ticks(link->per_message_ns) : 0,
        .round_trip = gs_tick_after(latency, latency),
        .chunk_bytes = link->staging_chunk_bytes,
        .eager_bytes = link->eager_bytes > 0 ? link->eager_bytes : INT64_MAX,
        .first_window = is_tcp ? (double)(link->initial_window * link->segment_bytes) : 0.0,
        .idle_after = gs_ticks(link->idle_ns),
        .last_left = -1,
    };
    count_stages(topology, route, &cost);
    if (gs_link_has_loss(link) && cost.round_trip > 0) {
        cost.connection_rate =
            MATHIS * (double)link->segment_bytes / ((double)cost.round_trip * sqrt(link->loss));
        cost.alone_rate =
            cost.connection_rate < cost.alone_rate ? cost.connection_rate : cost.alone_rate;
    }
    return cost;
}

bool gs_sim_cost_create(const gs_topology *topology, const gs_route *route, gs_arena *arena,
                        gs_sim_cost **out)
{
    gs_sim_cost cost = cost_of(topology, route);
    *out = NULL;
    if (cost.overhead == 0 && cost.connection_rate <= 0.0 && cost.copy_ticks <= 0.0 &&
        !gs_sim_cost_waits(&cost)) {
        return true;
    }
    *out = GS_TAKE(arena, gs_sim_cost, 1);
    if (*out != NULL) {
        **out = cost;
    }
    return *out != NULL;
}

gs_tick gs_sim_cost_copies(const gs_sim_cost *cost, int64_t bytes)
{
    int64_t first = bytes < cost->chunk_bytes ? bytes : cost->chunk_bytes;
    return gs_tick_of(cost->copy_ticks * (double)first + 0.5);
}

gs_tick gs_sim_cost_slow_start(gs_sim_cost *cost, gs_tick at, int64_t bytes)
{
    if (cost->first_window <= 0.0) {
        return 0;
    }
    if (cost->last_left < 0 || at - cost->last_left > cost->idle_after) {
        cost->window = cost->first_window;
    }
    double fills = cost->alone_rate * (double)cost->round_trip;
    double waits = 0.0;
    double window = cost->window;
    double left = (double)bytes;
    while (window < fills && window < left) {
        waits += (double)cost->round_trip - window / cost->alone_rate;
        left -= window;
        window *= 2.0;
    }
    cost->window = fmin(cost->window + (double)bytes, fmax(fills, cost->first_window));
    return gs_tick_of(waits + 0.5);
}
