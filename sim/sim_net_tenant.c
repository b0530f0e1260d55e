#include "sim/sim_net_tenant.h"

#include "base/assert.h"
#include "base/rng.h"
#include "sim/sim_net_flow.h"

/* What is drawn for a flow. */
enum { DRAWS_FROM, DRAWS_TO, DRAWS_FIRST };

typedef struct drawing {
    const gs_topology *topology;
    const gs_tenant *tenant;
    gs_rng_key key;
    uint32_t first_host; /* entity */
} drawing;

static uint32_t places_of(const drawing *of)
{
    const gs_tenant *tenant = of->tenant;
    return tenant->hosts > 0 ? (uint32_t)tenant->hosts : of->topology->scenario->ranks;
}

/* Where a flow begins or ends; all flows of an incast end at one place. */
static uint32_t place_of(const drawing *of, uint32_t flow, uint32_t which)
{
    const gs_tenant *tenant = of->tenant;
    int64_t said = which == DRAWS_FROM ? tenant->from : tenant->to;
    bool is_common = which == DRAWS_TO && tenant->pattern == GS_TENANT_INCAST;
    uint64_t step = is_common ? 0 : (uint64_t)flow + 1;
    return said >= 0 ? (uint32_t)said
                     : (uint32_t)(gs_rng_bits(of->key, step, which) % places_of(of));
}

static uint32_t entity_of(const drawing *of, uint32_t place)
{
    return of->tenant->hosts > 0 ? of->first_host + place : place;
}

static void drop_copies(const gs_topology *topology, gs_route *route)
{
    uint32_t kept = 0;
    for (uint32_t hop = 0; hop < route->link_count; hop++) {
        if (!gs_topology_is_copy(topology, route->links[hop])) {
            route->links[kept++] = route->links[hop];
        }
    }
    route->link_count = kept;
}

/* Between two nodes: where both places are on one, the next that is on another takes that of the
 * begin, or of the end where the begin is said. */
static gs_route route_of(const drawing *of, uint32_t flow, uint32_t stream)
{
    uint32_t places = places_of(of);
    uint32_t from = place_of(of, flow, DRAWS_FROM);
    uint32_t to = place_of(of, flow, DRAWS_TO);
    uint32_t *moved = of->tenant->from < 0 ? &from : &to;
    gs_route route = {.link_count = 0};
    for (uint32_t tried = 0; tried < places && !route.over_nic; tried++) {
        if (from != to) {
            route = gs_topology_route(of->topology, entity_of(of, from), entity_of(of, to), stream);
        }
        *moved = (*moved + 1) % places;
    }
    GS_ASSERT(route.over_nic && "a tenant has two nodes");
    drop_copies(of->topology, &route);
    return route;
}

static gs_sim_tenant flow_of(const drawing *of, uint32_t flow, uint32_t stream)
{
    gs_tick period = gs_ticks(of->tenant->period_ns);
    double share = gs_rng_uniform(of->key, (uint64_t)flow + 1, DRAWS_FIRST);
    return (gs_sim_tenant){.route = route_of(of, flow, stream),
                           .flow = {.index = GS_FLUID_NONE},
                           .bytes = of->tenant->bytes,
                           .first = gs_tick_of(share * (double)period),
                           .period = period};
}

bool gs_sim_tenants_init(gs_sim_net *net)
{
    const gs_topology *topology = net->topology;
    const gs_cluster *cluster = &topology->scenario->cluster;
    uint64_t count = 0;
    for (uint32_t i = 0; i < cluster->tenant_count; i++) {
        count += (uint64_t)cluster->tenants[i].flows;
    }
    net->tenants = GS_TAKE(net->arena, gs_sim_tenant, count);
    if (net->tenants == NULL) {
        return false;
    }
    drawing of = {.topology = topology,
                  .first_host = topology->scenario->ranks + topology->servers};
    for (uint32_t i = 0; i < cluster->tenant_count; i++) {
        of.tenant = &cluster->tenants[i];
        of.key = (gs_rng_key){(uint64_t)of.tenant->seed, GS_RNG_TENANT, i};
        for (uint32_t flow = 0; flow < of.tenant->flows; flow++) {
            uint32_t stream = net->communicators + 1 + net->tenant_count;
            net->tenants[net->tenant_count++] = flow_of(&of, flow, stream);
        }
        of.first_host += (uint32_t)of.tenant->hosts;
    }
    return true;
}

static void start_at(gs_sim_net *net, uint32_t index, gs_tick at)
{
    gs_sim_tenant *tenant = &net->tenants[index];
    if (at < GS_TICK_END) {
        tenant->flow.handle =
            gs_sim_loop_at(net->loop, at, GS_SIM_LINK, net->topology->link_count + index);
    }
}

void gs_sim_tenants_start(gs_sim_net *net)
{
    for (uint32_t i = 0; i < net->tenant_count; i++) {
        start_at(net, i, net->tenants[i].first);
    }
}

void gs_sim_tenant_event(gs_sim_net *net, uint32_t index, uint64_t handle)
{
    gs_sim_tenant *tenant = &net->tenants[index];
    gs_tick now = net->loop->now;
    if (tenant->flow.handle != handle) {
        return; /* withdrawn: its rate has changed since */
    }
    if (tenant->flow.index == GS_FLUID_NONE) {
        gs_sim_net_flow_begin(net, &tenant->flow, index | GS_SIM_OF_TENANT, tenant->route.links,
                              tenant->route.link_count, (double)tenant->bytes);
        net->tenants_flowing += tenant->flow.index != GS_FLUID_NONE;
        return;
    }
    tenant->sent++;
    double due = (double)tenant->first + (double)tenant->sent * (double)tenant->period;
    gs_tick at = gs_tick_of(due);
    if (at <= now) {
        gs_sim_net_flow_next(net, &tenant->flow, tenant->bytes);
        return;
    }
    gs_sim_net_flow_end(net, &tenant->flow);
    net->tenants_flowing--;
    start_at(net, index, at);
}
