#include "sim/sim_op.h"

#include "base/assert.h"
#include "strategies/group.h"

/* So many ops in a row that met themselves are followed by up to 2^this - 1 that are not tried. */
enum { SKIP_BITS_MAX = 6 };

static gs_sim_op_line *line_of(const gs_sim *sim, uint32_t rank, const gs_op_signature *op)
{
    return &sim->op_lines[gs_group_ops_line(&sim->ops, rank, op->communicator)];
}

static uint32_t members_of(const gs_sim_op *open)
{
    return open->plan->flow->member_count;
}

/* ---------------------------------------------------------------- creation */

static bool make_plans(gs_sim *sim, gs_sim_op_line *line, uint32_t communicator, uint32_t rank,
                       gs_collective_kind kind, uint32_t *lanes)
{
    const gs_communicator *of = &sim->layout.communicators[communicator];
    gs_choice choice;
    uint32_t count = 0;
    while (gs_relay_candidate(&sim->relay, communicator, kind, count, &choice)) {
        count++;
    }
    gs_op_site site = {.job = &sim->job,
                       .group = of->group,
                       .first_rank = rank,
                       .first_stream = sim->streams.first[communicator],
                       .mode = sim->network_mode};
    line->plans[kind] = GS_TAKE(&sim->arena, gs_op_plan *, count);
    line->plan_counts[kind] = count;
    bool ok = line->plans[kind] != NULL;
    for (uint32_t i = 0; ok && i < count; i++) {
        (void)gs_relay_candidate(&sim->relay, communicator, kind, i, &choice);
        line->plans[kind][i] = gs_op_plan_create(&sim->net, &choice, &site, &sim->arena);
        ok = line->plans[kind][i] != NULL;
        uint32_t own = ok ? gs_op_plan_lanes(line->plans[kind][i]) : 0;
        *lanes = own > *lanes ? own : *lanes;
    }
    return ok;
}

/* Of the group that this rank is the first member of. lanes: the most of a member so far. */
static bool make_line(gs_sim *sim, uint32_t communicator, uint32_t rank, uint32_t *lanes)
{
    const gs_communicator *of = &sim->layout.communicators[communicator];
    uint32_t kinds = gs_communicator_kinds(of);
    gs_sim_op_line *line = &sim->op_lines[gs_group_ops_line(&sim->ops, rank, communicator)];
    bool ok = true;
    for (int kind = 0; ok && kind < GS_COLLECTIVE_KIND_COUNT; kind++) {
        if ((kinds >> kind & 1U) != 0) {
            ok = make_plans(sim, line, communicator, rank, (gs_collective_kind)kind, lanes);
        }
    }
    return ok;
}

gs_status gs_sim_ops_init(gs_sim *sim, gs_error *err)
{
    /* A timeline is told of every message. */
    bool is_looked_at = sim->timeline != NULL;
    sim->network_mode =
        is_looked_at ? GS_NETWORK_MESSAGE : (gs_network_mode)sim->scenario->network_mode;
    sim->op_lines = GS_TAKE(&sim->arena, gs_sim_op_line, sim->ops.line_count);
    sim->op_claims = GS_TAKE(&sim->arena, uint32_t, sim->topology->link_count);
    sim->op_times = GS_TAKE(&sim->arena, gs_tick, (size_t)GS_SIM_OP_TIMES * sim->job.ranks);
    sim->op_room.arena = &sim->arena;
    bool ok = sim->op_lines != NULL && sim->op_claims != NULL && sim->op_times != NULL;
    uint32_t lanes = 1;
    for (uint32_t i = 0; ok && i < sim->layout.communicator_count; i++) {
        gs_group group = sim->layout.communicators[i].group;
        for (uint32_t rank = 0; ok && rank < sim->job.ranks; rank++) {
            if (gs_group_member(group, sim->job.ranks, rank) == 0) {
                ok = make_line(sim, i, rank, &lanes);
            }
        }
    }
    sim->op_vertices = GS_TAKE(&sim->arena, uint64_t, lanes);
    ok = ok && sim->op_vertices != NULL;
    sim->net.intrude = gs_sim_op_intrude;
    sim->net.intrude_host = sim;
    return ok ? GS_OK : gs_fail(err, GS_ENOMEM, "no memory for ops of %u ranks", sim->job.ranks);
}

/* ---------------------------------------------------------------- open ops */

static gs_op_plan *plan_of(const gs_sim *sim, const gs_sim_op_line *line, const gs_op_signature *op)
{
    gs_op_plan **plans = line->plans[op->kind];
    uint32_t count = line->plan_counts[op->kind];
    if (count == 1) {
        return plans[0];
    }
    gs_choice choice = gs_relay_choose(&sim->relay, op->communicator, op->kind,
                                       op->elements * sim->job.element_bytes);
    for (uint32_t i = 0; i < count; i++) {
        const gs_choice *of = &plans[i]->choice;
        if (of->program == choice.program && of->rings == choice.rings &&
            of->inner == choice.inner && of->middle == choice.middle &&
            of->piece_bytes == choice.piece_bytes) {
            return plans[i];
        }
    }
    GS_ASSERT(false && "a choice is one of its candidates");
    return NULL;
}

static gs_sim_op *find(const gs_sim_op_line *line, uint64_t sequence)
{
    if (line->last == NULL || line->last->signature.sequence == sequence) {
        return line->last;
    }
    gs_sim_op *open = line->first;
    while (open != NULL && open->signature.sequence != sequence) {
        open = open->next;
    }
    return open;
}

static gs_sim_op *new_op(gs_sim *sim, gs_op_plan *plan)
{
    gs_sim_op *made = plan->spare;
    if (made != NULL) {
        plan->spare = made->next;
        return made;
    }
    uint32_t members = plan->flow->member_count;
    made = GS_TAKE(&sim->arena, gs_sim_op, 1);
    if (made == NULL) {
        return NULL;
    }
    *made = (gs_sim_op){.sim = sim,
                        .plan = plan,
                        .starts = GS_TAKE(&sim->arena, gs_tick, members),
                        .ready = GS_TAKE(&sim->arena, gs_tick, members),
                        .slots = GS_TAKE(&sim->arena, uint32_t, members),
                        .calls = GS_TAKE(&sim->arena, uint32_t, members)};
    bool ok =
        made->starts != NULL && made->ready != NULL && made->slots != NULL && made->calls != NULL;
    if (ok && sim->latency_noise != NULL) {
        made->arrivals = GS_TAKE(&sim->arena, gs_tick, plan->flow->channel_count);
        made->messages = GS_TAKE(&sim->arena, uint64_t, plan->flow->channel_count);
        ok = made->arrivals != NULL && made->messages != NULL;
    }
    return ok ? made : NULL;
}

/* Whole, and some of it still to be sent. */
static bool is_busy(const gs_sim *sim, const gs_sim_op *open)
{
    return open->mode != GS_OP_MESSAGE && open->quiet_at > sim->loop.now;
}

static bool has_busy(const gs_sim *sim, const gs_sim_op_line *line)
{
    for (const gs_sim_op *open = line->first; open != NULL; open = open->next) {
        if (is_busy(sim, open)) {
            return true;
        }
    }
    return false;
}

/* Those that go on on the same channels come behind what went before, and meet nobody else. */
static bool follows(const gs_sim *sim, const gs_sim_op_line *line, const gs_op_plan *plan)
{
    for (const gs_sim_op *open = line->first; open != NULL; open = open->next) {
        if (is_busy(sim, open) && (open->plan != plan || plan->shared != NULL)) {
            return false;
        }
    }
    return true;
}

/* Takes the links. false: somebody else is on one of them; then whoever was whole goes back. */
static bool claim(gs_sim *sim, gs_sim_op_line *line, const gs_op_plan *plan)
{
    uint32_t own = (uint32_t)(line - sim->op_lines) + 1;
    bool is_free = true;
    if (!follows(sim, line, plan)) {
        gs_sim_op_return(sim, line);
        is_free = false;
    }
    for (uint32_t i = 0; i < plan->link_count; i++) {
        uint32_t link = plan->links[i];
        uint32_t *held = &sim->op_claims[link];
        if (*held != own && *held != 0 && has_busy(sim, &sim->op_lines[*held - 1])) {
            gs_sim_op_return(sim, &sim->op_lines[*held - 1]);
            is_free = false;
        }
        is_free &= sim->net.fairshare == NULL || gs_fairshare_flows(sim->net.fairshare, link) == 0;
        *held = own;
    }
    return is_free;
}

static gs_sim_op *open_op(gs_sim *sim, gs_sim_op_line *line, gs_op_plan *plan,
                          const gs_op_signature *op)
{
    gs_sim_op *open = new_op(sim, plan);
    if (open == NULL) {
        return NULL;
    }
    open->next = NULL;
    open->line = line;
    open->signature = *op;
    open->started = open->ended = 0;
    open->meets_at = open->quiet_at = GS_TICK_NEVER;
    open->meeting_call = GS_NO_CALL;
    for (uint32_t i = 0; i < members_of(open); i++) {
        open->starts[i] = GS_TICK_NEVER;
        open->slots[i] = open->calls[i] = GS_NO_CALL;
    }
    bool is_skipped = plan->skips > 0;
    plan->skips -= is_skipped ? 1 : 0;
    open->mode = !is_skipped && claim(sim, line, plan) ? plan->mode : GS_OP_MESSAGE;
    if (open->mode == GS_OP_DATAFLOW) {
        if (!gs_sim_op_begin_flow(open, GS_TICK_NEVER)) {
            return NULL;
        }
    }
    if (line->last == NULL) {
        line->first = open;
    } else {
        line->last->next = open;
    }
    line->last = open;
    return open;
}

void gs_sim_op_close(gs_sim *sim, gs_sim_op *closed)
{
    gs_sim_op_line *line = closed->line;
    gs_sim_op **place = &line->first;
    gs_sim_op *before = NULL;
    while (*place != closed) {
        before = *place;
        place = &(*place)->next;
    }
    *place = closed->next;
    if (line->last == closed) {
        line->last = before;
    }
    sim->result.ops[closed->mode]++;
    closed->next = closed->plan->spare;
    closed->plan->spare = closed;
}

/* ---------------------------------------------------------------- times */

static void end_at(gs_sim *sim, gs_sim_op *open, uint32_t member, gs_tick at)
{
    uint32_t rank = gs_op_plan_rank(open->plan, member);
    open->calls[member] = gs_sim_world_op_end(sim, rank, open->slots[member], open, at);
}

static void out_of_memory(gs_sim *sim)
{
    gs_error err;
    (void)gs_fail(&err, GS_ENOMEM, "no memory for ops of %u ranks", sim->job.ranks);
    gs_sim_fail(sim, GS_ENOMEM, &err);
}

/* The channels have moved on by all that a member sends. */
static void advance(gs_sim *sim, const gs_sim_op *open, uint32_t member)
{
    const gs_dataflow_plan *flow = open->plan->flow;
    for (uint32_t i = flow->out_first[member]; i < flow->out_first[member + 1]; i++) {
        gs_sim_channel *channel = &sim->net.channels[open->plan->channels[i]];
        channel->messages = open->flow.channels[i].messages;
        channel->last_arrival = open->flow.channels[i].last_arrival;
    }
}

static void start_flow(gs_sim *sim, gs_sim_op *open, uint32_t member)
{
    gs_dataflow *flow = &open->flow;
    gs_sim_op_load(open, member);
    gs_dataflow_start(flow, member, open->starts[member], open->ready[member]);
    if (flow->out_of_memory || open->overlap.out_of_memory) {
        out_of_memory(sim);
        return;
    }
    for (uint32_t i = 0; i < flow->ended_count; i++) {
        uint32_t ended = flow->ended[i];
        advance(sim, open, ended);
        end_at(sim, open, ended, flow->ends[ended]);
    }
    flow->ended_count = 0;
    if (open->plan->shared != NULL && open->overlap.first < open->meets_at) {
        gs_sim_world_op_cancel(sim, open->meeting_call);
        open->meets_at = open->overlap.first;
        open->meeting_call = gs_sim_world_op_meeting(sim, open, open->meets_at);
    }
    if (open->started == members_of(open)) {
        open->quiet_at = 0;
        for (uint32_t i = 0; i < flow->plan->channel_count; i++) {
            gs_tick left = flow->channels[i].free_at;
            open->quiet_at = left > open->quiet_at ? left : open->quiet_at;
        }
    }
}

static void start_ring(gs_sim *sim, gs_sim_op *open)
{
    uint32_t members = members_of(open);
    if (open->started < members) {
        return;
    }
    gs_tick *received = sim->op_times;
    gs_tick *left = received + sim->job.ranks;
    if (!gs_sim_op_ring(open, received, left)) {
        out_of_memory(sim);
        return;
    }
    open->quiet_at = 0;
    for (uint32_t i = 0; i < members; i++) {
        open->quiet_at = left[i] > open->quiet_at ? left[i] : open->quiet_at;
        end_at(sim, open, i, received[i] > left[i] ? received[i] : left[i]);
    }
}

bool gs_sim_op_start(gs_sim *sim, uint32_t rank, uint32_t slot, const gs_op_signature *op,
                     bool is_last)
{
    gs_sim_op_line *line = line_of(sim, rank, op);
    gs_op_plan *plan = plan_of(sim, line, op);
    if (plan->mode == GS_OP_MESSAGE) {
        sim->result.ops[GS_OP_MESSAGE] += is_last ? 1 : 0;
        return false;
    }
    gs_sim_op *open = find(line, op->sequence);
    if (open == NULL) {
        open = open_op(sim, line, plan, op);
        if (open == NULL) {
            out_of_memory(sim);
            return false;
        }
    }
    open->started++;
    if (open->mode == GS_OP_MESSAGE) {
        if (is_last) {
            gs_sim_op_close(sim, open);
        }
        return false;
    }
    uint32_t member = gs_group_member(plan->group, sim->job.ranks, rank);
    gs_tick stream_free = sim->entities[rank].stream_free;
    open->starts[member] = sim->loop.now;
    open->ready[member] = stream_free > sim->loop.now ? stream_free : sim->loop.now;
    open->slots[member] = slot;
    if (open->messages != NULL) {
        gs_sim_op_save(open, member);
    }
    if (open->mode == GS_OP_DATAFLOW) {
        start_flow(sim, open, member);
    } else {
        start_ring(sim, open);
    }
    return true;
}

/* ---------------------------------------------------------------- ends */

void gs_sim_op_ended(gs_sim *sim, uint32_t rank, const gs_op_signature *op)
{
    gs_sim_op *open = find(line_of(sim, rank, op), op->sequence);
    if (open == NULL || open->mode == GS_OP_MESSAGE) {
        return; /* by its program */
    }
    uint32_t member = gs_group_member(open->plan->group, sim->job.ranks, rank);
    gs_sim_op_count(open, member);
    open->slots[member] = open->calls[member] = GS_NO_CALL;
    if (++open->ended == members_of(open)) {
        open->plan->meetings = 0;
        gs_sim_op_close(sim, open);
    }
}

void gs_sim_op_meet(gs_sim *sim, gs_sim_op *open)
{
    gs_op_plan *plan = open->plan;
    open->meeting_call = GS_NO_CALL;
    plan->meetings += plan->meetings < SKIP_BITS_MAX ? 1 : 0;
    plan->skips = (1U << plan->meetings) - 1;
    gs_sim_op_return(sim, open->line);
}

void gs_sim_op_intrude(void *host, uint32_t link)
{
    gs_sim *sim = host;
    uint32_t held = sim->op_claims[link];
    if (held != 0 && !sim->ops_return && has_busy(sim, &sim->op_lines[held - 1])) {
        gs_sim_op_return(sim, &sim->op_lines[held - 1]);
    }
}
