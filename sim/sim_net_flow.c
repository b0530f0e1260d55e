#include "sim/sim_net_flow.h"

#include "sim/sim_net_cost.h"
#include "sim/sim_net_socket.h"
#include "sim/sim_net_tenant.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------- links */

static void start_link(gs_sim_net *net, uint32_t link)
{
    const gs_topology_link *of = &net->topology->links[link];
    double factor = 1.0;
    if (of->trace != NULL) {
        factor = gs_rate_factor(of->trace, 0);
        gs_tick next = gs_rate_next_change(of->trace, 0);
        if (next < GS_TICK_END) {
            gs_sim_loop_at(net->loop, next, GS_SIM_LINK, link);
        }
    }
    gs_fluid_set_capacity(net->fluid, net->loop->now, link, of->bytes_per_tick * factor);
}

static uint32_t longest_route(const gs_sim_net *net)
{
    uint32_t longest = 1;
    for (uint32_t i = 0; i < net->channel_count; i++) {
        uint32_t link_count = net->channels[i].route.link_count;
        longest = link_count > longest ? link_count : longest;
    }
    for (uint32_t i = 0; i < net->tenant_count; i++) {
        uint32_t link_count = net->tenants[i].route.link_count;
        longest = link_count > longest ? link_count : longest;
    }
    return longest;
}

/* Of the fluid: a flow may have one that nobody else is on, of the rate of its connection. */
static uint32_t links_for(const gs_sim_net *net, uint32_t flows)
{
    return net->topology->link_count + (net->has_connection_rates ? flows : 0);
}

bool gs_sim_flows_make(gs_sim_net *net, uint32_t capacity)
{
    uint32_t longest = longest_route(net) + (net->has_connection_rates ? 1 : 0);
    net->fluid = gs_fluid_create(links_for(net, capacity), capacity, longest, net->arena);
    net->owner_of_flow = GS_TAKE(net->arena, uint32_t, capacity);
    net->free_flows = GS_TAKE(net->arena, uint32_t, capacity);
    if (net->fluid == NULL || net->owner_of_flow == NULL || net->free_flows == NULL) {
        return false;
    }
    net->fairshare = net->fluid->fairshare;
    net->flow_capacity = net->free_flow_count = capacity;
    for (uint32_t flow = 0; flow < capacity; flow++) {
        net->free_flows[flow] = capacity - 1 - flow;
    }
    for (uint32_t link = 0; link < net->topology->link_count; link++) {
        start_link(net, link);
    }
    return true;
}

/* ---------------------------------------------------------------- who owns what */

static bool is_tenant(uint32_t owner)
{
    return (owner & (GS_SIM_OF_SOCKET | GS_SIM_OF_TENANT)) == GS_SIM_OF_TENANT;
}

static gs_sim_flow *flow_of(const gs_sim_net *net, uint32_t owner)
{
    if (is_tenant(owner)) {
        return &net->tenants[owner & ~GS_SIM_OF_TENANT].flow;
    }
    uint32_t place = owner & ~GS_SIM_OF_SOCKET;
    return owner == place ? &net->channels[place].flow : &net->sockets[place / 2].flows[place % 2];
}

/* Owners wait for the ends of their flows where these are the next ones of their bottleneck. */
static void take_news(gs_sim_net *net)
{
    for (uint32_t i = 0; i < net->fluid->news_count; i++) {
        const gs_fluid_news *news = &net->fluid->news[i];
        uint32_t owner = net->owner_of_flow[news->flow];
        uint32_t place = owner & ~GS_SIM_OF_SOCKET;
        gs_sim_flow *flow = flow_of(net, owner);
        if (news->end == GS_TICK_NEVER) {
            flow->handle = 0;
        } else if (is_tenant(owner)) {
            uint32_t index = net->topology->link_count + (owner & ~GS_SIM_OF_TENANT);
            flow->handle = gs_sim_loop_at(net->loop, news->end, GS_SIM_LINK, index);
        } else if (owner == place) {
            flow->handle = gs_sim_loop_at(net->loop, news->end, GS_SIM_CHANNEL, place);
        } else {
            flow->handle = gs_sim_loop_at(net->loop, news->end, GS_SIM_SOCKET, place / 2);
        }
    }
}

/* Channels have a flow each from the start; sockets are opened as they are needed, and may go
 * further. */
static bool grow_flows(gs_sim_net *net, uint32_t link_count)
{
    uint32_t longest = net->fairshare->route_max;
    link_count += net->has_connection_rates ? 1 : 0;
    longest = link_count > longest ? link_count : longest;
    uint32_t old = net->flow_capacity;
    uint32_t capacity = 2 * old;
    uint32_t *owners = GS_TAKE(net->arena, uint32_t, capacity);
    uint32_t *free_flows = GS_TAKE(net->arena, uint32_t, capacity);
    if (owners == NULL || free_flows == NULL ||
        !gs_fluid_reserve(net->fluid, links_for(net, capacity), capacity, longest, net->arena)) {
        net->out_of_memory = net->loop->out_of_memory = true;
        return false;
    }
    memcpy(owners, net->owner_of_flow, old * sizeof *owners);
    memcpy(free_flows, net->free_flows, net->free_flow_count * sizeof *free_flows);
    for (uint32_t flow = capacity; flow-- > old;) {
        free_flows[net->free_flow_count++] = flow;
    }
    net->owner_of_flow = owners;
    net->free_flows = free_flows;
    net->flow_capacity = capacity;
    return true;
}

void gs_sim_net_intrude(const gs_sim_net *net, const uint32_t *links, uint32_t link_count)
{
    for (uint32_t hop = 0; net->intrude != NULL && hop < link_count; hop++) {
        net->intrude(net->intrude_host, links[hop]);
    }
}

/* The sender's end of a socket is the connection's. */
static const gs_sim_cost *cost_of(const gs_sim_net *net, uint32_t owner)
{
    uint32_t place = owner & ~GS_SIM_OF_SOCKET;
    if (is_tenant(owner)) {
        return NULL;
    }
    if (owner == place) {
        return net->channels[place].cost;
    }
    return place % 2 == 0 ? net->sockets[place / 2].cost : NULL;
}

/* Adds a link of the connection's rate behind those of a flow, where it has one. */
static uint32_t add_connection(gs_sim_net *net, const gs_sim_flow *flow, uint32_t owner,
                               uint32_t links[GS_SIM_SOURCES_MAX], uint32_t link_count)
{
    double rate = gs_sim_cost_rate(cost_of(net, owner));
    if (rate < HUGE_VAL) {
        uint32_t own = net->topology->link_count + flow->index;
        gs_fluid_set_capacity(net->fluid, net->loop->now, own, rate);
        links[link_count++] = own;
    }
    return link_count;
}

void gs_sim_net_flow_begin(gs_sim_net *net, gs_sim_flow *flow, uint32_t owner,
                           const uint32_t *links, uint32_t link_count, double bytes)
{
    uint32_t route_max = net->fairshare->route_max - (net->has_connection_rates ? 1 : 0);
    bool has_room = net->free_flow_count > 0 && link_count <= route_max;
    if (!has_room && !grow_flows(net, link_count)) {
        return;
    }
    gs_sim_net_intrude(net, links, link_count);
    flow->index = net->free_flows[--net->free_flow_count];
    flow->handle = 0;
    net->owner_of_flow[flow->index] = owner;
    uint32_t all[GS_SIM_SOURCES_MAX];
    memcpy(all, links, link_count * sizeof *links);
    link_count = add_connection(net, flow, owner, all, link_count);
    gs_fluid_begin(net->fluid, net->loop->now, flow->index, all, link_count, bytes,
                   gs_sim_loop_order(net->loop));
    take_news(net);
}

void gs_sim_net_flow_next(gs_sim_net *net, gs_sim_flow *flow, int64_t bytes)
{
    flow->handle = 0;
    gs_fluid_next(net->fluid, net->loop->now, flow->index, (double)bytes,
                  gs_sim_loop_order(net->loop));
    take_news(net);
}

void gs_sim_net_flow_end(gs_sim_net *net, gs_sim_flow *flow)
{
    gs_fluid_end(net->fluid, net->loop->now, flow->index);
    net->free_flows[net->free_flow_count++] = flow->index;
    flow->index = GS_FLUID_NONE;
    flow->handle = 0;
    take_news(net);
}

void gs_sim_net_link_event(gs_sim_net *net, uint32_t link, uint64_t handle)
{
    if (link >= net->topology->link_count) {
        gs_sim_tenant_event(net, link - net->topology->link_count, handle);
        return;
    }
    const gs_topology_link *of = &net->topology->links[link];
    gs_tick now = net->loop->now;
    double factor = gs_rate_factor(of->trace, now);
    gs_fluid_set_capacity(net->fluid, now, link, of->bytes_per_tick * factor);
    take_news(net);
    gs_tick next = gs_rate_next_change(of->trace, now);
    if (next < GS_TICK_END) {
        gs_sim_loop_at(net->loop, next, GS_SIM_LINK, link);
    }
}
