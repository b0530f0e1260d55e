#include "sim/op_mode.h"

#include "sim/sim_net_cost.h"

/* ---------------------------------------------------------------- channels and links */

static bool open_channels(gs_op_plan *plan, gs_sim_net *net, uint32_t first_stream, gs_arena *arena)
{
    const gs_dataflow_plan *flow = plan->flow;
    plan->channels = GS_TAKE(arena, uint32_t, flow->channel_count);
    plan->over_nic = GS_TAKE(arena, bool, flow->channel_count);
    if (plan->channels == NULL || plan->over_nic == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < flow->channel_count; i++) {
        plan->channels[i] =
            gs_sim_net_channel(net, gs_op_plan_rank(plan, flow->from[i]),
                               gs_op_plan_rank(plan, flow->to[i]), first_stream + flow->numbers[i]);
    }
    return !net->out_of_memory;
}

/* The slowest link of a channel, or its connection, while its rate does not change; 0: one varies.
 */
static double rate_of(const gs_sim_net *net, const gs_sim_channel *channel)
{
    const gs_route *route = &channel->route;
    double slowest = net->topology->links[route->links[0]].bytes_per_tick;
    for (uint32_t hop = 0; hop < route->link_count; hop++) {
        const gs_topology_link *link = &net->topology->links[route->links[hop]];
        if (link->trace != NULL) {
            return 0.0;
        }
        slowest = link->bytes_per_tick < slowest ? link->bytes_per_tick : slowest;
    }
    double most = channel->cost == NULL ? 0.0 : channel->cost->connection_rate;
    return most > 0.0 && most < slowest ? most : slowest;
}

static gs_tick overhead_of(const gs_sim_channel *channel)
{
    return channel->cost == NULL ? 0 : channel->cost->overhead;
}

static void fill_paths(gs_op_plan *plan, const gs_sim_net *net)
{
    plan->latency_ns = net->channels[plan->channels[0]].route.latency_ns;
    plan->overhead = overhead_of(&net->channels[plan->channels[0]]);
    plan->equal_latency = true;
    for (uint32_t i = 0; i < plan->flow->channel_count; i++) {
        const gs_sim_channel *channel = &net->channels[plan->channels[i]];
        const gs_route *route = &channel->route;
        gs_dataflow_path *path = &plan->flow->paths[i];
        bool has_copies = channel->cost != NULL && channel->cost->copy_ticks > 0.0;
        path->bytes_per_tick = rate_of(net, channel);
        path->overhead = overhead_of(channel);
        plan->over_nic[i] = route->over_nic;
        path->latency =
            net->latency_noise == NULL && !has_copies ? gs_ticks(route->latency_ns) : GS_TICK_NEVER;
        plan->has_copies |= has_copies;
        path->is_watched =
            plan->shared != NULL && plan->shared_first[i + 1] > plan->shared_first[i];
        double rate = path->bytes_per_tick;
        plan->slowest = i == 0 || rate < plan->slowest ? rate : plan->slowest;
        plan->fastest = i == 0 || rate > plan->fastest ? rate : plan->fastest;
        plan->equal_latency &=
            route->latency_ns == plan->latency_ns && path->overhead == plan->overhead;
    }
}

/* Links by how many channels of the plan use them. Returns the most of one. */
static uint32_t count_users(gs_op_plan *plan, const gs_sim_net *net, uint32_t *users)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < plan->flow->channel_count; i++) {
        const gs_route *route = &net->channels[plan->channels[i]].route;
        for (uint32_t hop = 0; hop < route->link_count; hop++) {
            uint32_t count = ++users[route->links[hop]];
            plan->link_count += count == 1 ? 1 : 0;
            plan->shared_count += count == 2 ? 1 : 0;
            most = count > most ? count : most;
        }
    }
    return most;
}

static void list_links(gs_op_plan *plan, const gs_sim_net *net, const uint32_t *users)
{
    uint32_t count = 0;
    for (uint32_t link = 0; link < net->topology->link_count; link++) {
        if (users[link] > 0) {
            plan->links[count++] = link;
        }
    }
}

/* Numbers shared links anew, from 0, in `places`; then lists them for each channel. */
static bool list_shared(gs_op_plan *plan, const gs_sim_net *net, const uint32_t *users,
                        uint32_t *places, gs_arena *arena)
{
    const gs_dataflow_plan *flow = plan->flow;
    uint32_t shared = 0;
    uint64_t stays = 0;
    for (uint32_t link = 0; link < net->topology->link_count; link++) {
        places[link] = users[link] > 1 ? shared++ : UINT32_MAX;
        stays += users[link] > 1 ? users[link] : 0;
    }
    plan->shared_first = GS_TAKE(arena, uint32_t, flow->channel_count + 1);
    plan->shared = GS_TAKE(arena, uint32_t, stays);
    if (plan->shared_first == NULL || plan->shared == NULL) {
        return false;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < flow->channel_count; i++) {
        const gs_route *route = &net->channels[plan->channels[i]].route;
        plan->shared_first[i] = count;
        for (uint32_t hop = 0; hop < route->link_count; hop++) {
            if (places[route->links[hop]] != UINT32_MAX) {
                plan->shared[count++] = places[route->links[hop]];
            }
        }
    }
    plan->shared_first[flow->channel_count] = count;
    return true;
}

static bool find_links(gs_op_plan *plan, const gs_sim_net *net, gs_arena *arena)
{
    gs_arena scratch;
    gs_arena_init(&scratch);
    uint32_t *users = GS_TAKE(&scratch, uint32_t, net->topology->link_count);
    uint32_t *places = GS_TAKE(&scratch, uint32_t, net->topology->link_count);
    bool ok = users != NULL && places != NULL;
    if (ok) {
        uint32_t most = count_users(plan, net, users);
        plan->links = GS_TAKE(arena, uint32_t, plan->link_count);
        ok = plan->links != NULL;
        if (ok) {
            list_links(plan, net, users);
        }
        ok = ok && (most < 2 || list_shared(plan, net, users, places, arena));
    }
    gs_arena_fini(&scratch);
    return ok;
}

/* ---------------------------------------------------------------- the mode */

/* On sockets messages wait for windows and for each other; by rendezvous for their receivers; and
 * a slow start depends on what went before. */
static bool has_waits(const gs_op_plan *plan, const gs_sim_net *net)
{
    for (uint32_t i = 0; i < plan->flow->channel_count; i++) {
        const gs_sim_channel *channel = &net->channels[plan->channels[i]];
        if (channel->socket != GS_NO_SOCKET ||
            (channel->cost != NULL && gs_sim_cost_waits(channel->cost))) {
            return true;
        }
    }
    return false;
}

/* Are the links of each stage equal? Then it has a closed form. */
static bool has_equal_stages(const gs_op_plan *plan)
{
    const gs_dataflow_plan *flow = plan->flow;
    gs_ring_stage of[GS_RING_STAGES_MAX];
    gs_shape shape = flow->shape;
    (void)plan->choice.program->stages(&shape, of);
    for (uint32_t i = 0; i < plan->stages; i++) {
        const gs_dataflow_path *first = &flow->paths[flow->out_first[0] + of[i].target];
        for (uint32_t member = 1; member < flow->member_count; member++) {
            const gs_dataflow_path *path = &flow->paths[flow->out_first[member] + of[i].target];
            if (path->bytes_per_tick < first->bytes_per_tick ||
                path->bytes_per_tick > first->bytes_per_tick || path->latency != first->latency ||
                path->overhead != first->overhead) {
                return false;
            }
        }
    }
    return true;
}

/* Rings one after the other, whose links nothing else of the op is on. */
static uint32_t count_stages(const gs_op_plan *plan, const gs_sim_net *net)
{
    const gs_collective *program = plan->choice.program;
    gs_ring_stage of[GS_RING_STAGES_MAX];
    bool may = plan->shared == NULL && plan->slowest > 0.0 && !plan->has_copies &&
               net->latency_noise == NULL && program->stages != NULL;
    return may ? program->stages(&plan->flow->shape, of) : 0;
}

/* Below that the time of an op is skewed so much that a normal law is over 3 % off in its 95th
 * percentile, and to be exact costs next to nothing. */
enum { SURROGATE_MEMBERS_MIN = 16 };

static gs_op_mode mode_of(gs_op_plan *plan, const gs_sim_net *net, gs_network_mode mode)
{
    if (mode == GS_NETWORK_MESSAGE || has_waits(plan, net)) {
        return GS_OP_MESSAGE;
    }
    const gs_collective *program = plan->choice.program;
    bool is_ring = plan->shared == NULL && plan->slowest > 0.0 && !plan->has_copies &&
                   program->turns != NULL &&
                   program->turns(&plan->flow->shape, &plan->turns, &plan->first_part);
    bool is_equal = is_ring && plan->slowest == plan->fastest && plan->equal_latency;
    if (is_equal && net->latency_noise == NULL && mode != GS_NETWORK_RECURRENCE) {
        return GS_OP_CLOSED;
    }
    plan->stages = count_stages(plan, net);
    if (plan->stages > 0 && mode != GS_NETWORK_RECURRENCE && has_equal_stages(plan)) {
        return GS_OP_CLOSED;
    }
    if (mode == GS_NETWORK_CLOSED) {
        return GS_OP_MESSAGE;
    }
    if (plan->stages > 0) {
        return GS_OP_RING;
    }
    if (is_equal && mode == GS_NETWORK_SURROGATE &&
        plan->flow->member_count >= SURROGATE_MEMBERS_MIN) {
        return GS_OP_SURROGATE;
    }
    return is_ring ? GS_OP_RING : GS_OP_DATAFLOW;
}

gs_op_plan *gs_op_plan_create(gs_sim_net *net, const gs_choice *choice, const gs_op_site *site,
                              gs_arena *arena)
{
    gs_op_plan *plan = GS_TAKE(arena, gs_op_plan, 1);
    if (plan == NULL) {
        return NULL;
    }
    *plan = (gs_op_plan){.choice = *choice,
                         .group = site->group,
                         .ranks = site->job->ranks,
                         .first_rank = site->first_rank};
    gs_shape shape = gs_choice_shape(choice, site->job, site->group, 0, 0, 0);
    if (site->mode == GS_NETWORK_MESSAGE || shape.members < 2) {
        return plan;
    }
    plan->flow = gs_dataflow_plan_create(choice->program, &shape, arena);
    if (plan->flow == NULL || !open_channels(plan, net, site->first_stream, arena) ||
        !find_links(plan, net, arena)) {
        return NULL;
    }
    fill_paths(plan, net);
    plan->mode = mode_of(plan, net, site->mode);
    return plan;
}

uint32_t gs_op_plan_lanes(const gs_op_plan *plan)
{
    uint32_t most = 0;
    for (uint32_t i = 0; plan->mode != GS_OP_MESSAGE && i < plan->flow->member_count; i++) {
        uint32_t lanes = plan->flow->lane_first[i + 1] - plan->flow->lane_first[i];
        most = lanes > most ? lanes : most;
    }
    return most;
}
