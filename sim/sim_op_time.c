/* Times of ops that are timed as a whole, and what they count as. */
#include "sim/sim_op.h"

#include "base/assert.h"
#include "base/rng.h"
#include "traces/normal_quantile.h"

#include <math.h>

static gs_sim_channel *channel_of(const gs_sim_op *op, uint32_t channel)
{
    return &op->sim->net.channels[op->plan->channels[channel]];
}

/* ---------------------------------------------------------------- dataflow */

static gs_tick leaves(void *host, uint32_t channel, gs_tick start, int64_t bytes)
{
    const gs_sim_op *op = host;
    return gs_sim_net_leaves(&op->sim->net, op->plan->channels[channel], start, bytes);
}

static gs_tick latency(void *host, uint32_t channel, uint64_t messages, int64_t bytes)
{
    const gs_sim_op *op = host;
    return gs_sim_net_latency(&op->sim->net, op->plan->channels[channel], messages, bytes);
}

static void see(void *host, const gs_dataflow_transfer *transfer)
{
    gs_sim_op *op = host;
    const gs_op_plan *plan = op->plan;
    for (uint32_t i = plan->shared_first[transfer->channel];
         i < plan->shared_first[transfer->channel + 1]; i++) {
        gs_overlap_add(&op->overlap, plan->shared[i], transfer->channel, transfer->start,
                       transfer->left);
    }
}

bool gs_sim_op_begin_flow(gs_sim_op *op, gs_tick horizon)
{
    const gs_op_plan *plan = op->plan;
    gs_arena *arena = &op->sim->arena;
    if (op->flow.lanes == NULL) {
        gs_dataflow_wires wires = {op, leaves, latency};
        if (!gs_dataflow_init(&op->flow, plan->flow, &wires, arena) ||
            (plan->shared != NULL && !gs_overlap_init(&op->overlap, plan->shared_count, arena))) {
            return false;
        }
    }
    op->flow.watcher = (gs_dataflow_watcher){op, see};
    op->flow.watches_all = false;
    if (plan->shared != NULL) {
        gs_overlap_reset(&op->overlap);
    }
    gs_shape shape = gs_choice_shape(&plan->choice, &op->sim->job, plan->group, 0,
                                     op->signature.root, op->signature.elements);
    gs_dataflow_begin(&op->flow, &shape, op->sim->job.element_bytes, horizon);
    return true;
}

void gs_sim_op_save(gs_sim_op *op, uint32_t member)
{
    const gs_dataflow_plan *plan = op->plan->flow;
    for (uint32_t i = plan->out_first[member]; i < plan->out_first[member + 1]; i++) {
        op->messages[i] = channel_of(op, i)->messages;
        op->arrivals[i] = channel_of(op, i)->last_arrival;
    }
}

/* All that went before has left, and without jitter nothing else of it matters. */
void gs_sim_op_load(gs_sim_op *op, uint32_t member)
{
    const gs_dataflow_plan *plan = op->plan->flow;
    for (uint32_t i = plan->out_first[member]; i < plan->out_first[member + 1]; i++) {
        gs_dataflow_channel *to = &op->flow.channels[i];
        to->free_at = 0;
        to->messages = op->messages == NULL ? 0 : op->messages[i];
        to->last_arrival = op->messages == NULL ? 0 : op->arrivals[i];
    }
}

/* ---------------------------------------------------------------- rings */

static uint32_t out_of(const gs_sim_op *op, uint32_t member)
{
    return op->plan->flow->out_first[member];
}

/* What message number `turn` of each member is drawn to take longer, counted from those that it had
 * sent. On a ring each has one channel. */
static void draw_from(const gs_sim_op *op, const uint64_t *messages, uint64_t turn, double *out)
{
    const gs_op_plan *plan = op->plan;
    const gs_sim_net *net = &op->sim->net;
    GS_ASSERT(plan->flow->channel_count == plan->flow->member_count);
    gs_rng_many draws = {net->seed, GS_RNG_LATENCY, plan->channels, messages, turn};
    gs_noise_draw_many(net->latency_noise, &draws, plan->flow->member_count, out);
}

static void draw(void *host, uint64_t turn, double *out)
{
    const gs_sim_op *op = host;
    draw_from(op, op->messages, turn, out);
}

static gs_ring ring_of(const gs_sim_op *op)
{
    const gs_op_plan *plan = op->plan;
    uint32_t members = plan->flow->member_count;
    return (gs_ring){.members = members,
                     .turns = plan->turns,
                     .first = plan->first_part,
                     .large = (uint32_t)(op->signature.elements % members)};
}

/* Bytes of a large part or a small one. */
static int64_t part_bytes(const gs_sim_op *op, bool large)
{
    int64_t members = op->plan->flow->member_count;
    int64_t elements = op->signature.elements;
    bool is_larger = large && elements % members > 0;
    return (elements / members + (is_larger ? 1 : 0)) * op->sim->job.element_bytes;
}

/* Where links are equal. */
static gs_ring_link link_of(const gs_sim_op *op)
{
    double rate = op->plan->slowest;
    gs_tick overhead = op->plan->overhead;
    return (gs_ring_link){.large = overhead + gs_dataflow_ticks(part_bytes(op, true), rate),
                          .small = overhead + gs_dataflow_ticks(part_bytes(op, false), rate),
                          .latency = gs_ticks(op->plan->latency_ns)};
}

/* Times of parts on each link, in scratch behind that of `left`; behind them is room for last
 * arrivals. Latencies that differ are those before they are multiplied by what is drawn. */
static gs_ring_links links_of(const gs_sim_op *op, gs_tick *left)
{
    uint32_t ranks = op->sim->job.ranks;
    gs_tick *large = left + ranks;
    gs_tick *small = large + ranks;
    gs_tick *latencies = small + ranks;
    for (uint32_t i = 0; i < op->plan->flow->member_count; i++) {
        const gs_dataflow_path *path = &op->plan->flow->paths[out_of(op, i)];
        large[i] = path->overhead + gs_dataflow_ticks(part_bytes(op, true), path->bytes_per_tick);
        small[i] = path->overhead + gs_dataflow_ticks(part_bytes(op, false), path->bytes_per_tick);
        latencies[i] = gs_ticks(channel_of(op, out_of(op, i))->route.latency_ns);
    }
    return (gs_ring_links){
        .large = large, .small = small, .latency = latencies, .last_arrival = latencies + ranks};
}

/* With jitter the channels move on by what is sent. */
static bool turn_by_turn(gs_sim_op *op, const gs_ring *ring, gs_tick *received, gs_tick *left)
{
    gs_ring_links links = links_of(op, left);
    if (op->messages == NULL) {
        return gs_ring_recurrence(ring, &links, op->ready, &op->sim->op_room, received, left);
    }
    for (uint32_t i = 0; i < ring->members; i++) {
        links.last_arrival[i] = op->arrivals[out_of(op, i)];
    }
    links.draw = draw;
    links.host = op;
    if (!gs_ring_recurrence(ring, &links, op->ready, &op->sim->op_room, received, left)) {
        return false;
    }
    for (uint32_t i = 0; i < ring->members; i++) {
        gs_sim_channel *channel = channel_of(op, out_of(op, i));
        channel->messages += ring->turns;
        channel->last_arrival = links.last_arrival[i];
    }
    return true;
}

/* ---------------------------------------------------------------- the surrogate */

/* So many messages are drawn to know the effect, of at least two ops; their numbers are those of no
 * message of the run. */
enum { SAMPLE_MESSAGES = 1 << 24, SAMPLES_MIN = 2, SAMPLES_MAX = 64 };
static const uint64_t SAMPLES_FROM = (uint64_t)1 << 48;

typedef struct sampled {
    const gs_sim_op *op;
    uint64_t first; /* number of its first message on every channel */
} sampled;

static void draw_sample(void *host, uint64_t turn, double *out)
{
    const sampled *of = host;
    draw_from(of->op, of->op->sim->op_unsent, of->first + turn, out);
}

static double mean_end(const gs_tick *received, const gs_tick *left, uint32_t members)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < members; i++) {
        sum += (double)(received[i] > left[i] ? received[i] : left[i]);
    }
    return sum / members;
}

/* One op whose members start at 0 together: when they end in the mean. Negative: no memory. */
static double sample(gs_sim_op *op, const gs_ring *ring, uint64_t number)
{
    gs_sim *sim = op->sim;
    gs_tick *received = sim->op_samples;
    gs_tick *left = received + sim->job.ranks;
    gs_tick *starts = left + (GS_SIM_OP_TIMES - 1) * (size_t)sim->job.ranks;
    gs_ring_links links = links_of(op, left);
    sampled of = {op, SAMPLES_FROM + number * ring->turns};
    links.draw = draw_sample;
    links.host = &of;
    for (uint32_t i = 0; i < ring->members; i++) {
        starts[i] = links.last_arrival[i] = 0;
    }
    return gs_ring_recurrence(ring, &links, starts, &sim->op_room, received, left)
               ? mean_end(received, left, ring->members)
               : -1.0;
}

/* The same without jitter: every turn takes its latency, and each member's parts pass it whole. */
static double plain_end(gs_sim_op *op, const gs_ring *ring)
{
    gs_sim *sim = op->sim;
    gs_tick *received = sim->op_samples;
    gs_tick *left = received + sim->job.ranks;
    gs_tick *starts = left + (GS_SIM_OP_TIMES - 1) * (size_t)sim->job.ranks;
    for (uint32_t i = 0; i < ring->members; i++) {
        starts[i] = 0;
    }
    return gs_ring_closed(ring, link_of(op), starts, &sim->op_room, received, left)
               ? mean_end(received, left, ring->members)
               : -1.0;
}

/* NULL: no memory. */
static const gs_op_effect *effect_of(gs_sim_op *op, const gs_ring *ring)
{
    gs_sim *sim = op->sim;
    for (gs_op_effect *known = op->plan->effects; known != NULL; known = known->next) {
        if (known->elements == op->signature.elements) {
            return known;
        }
    }
    if (sim->op_samples == NULL) {
        sim->op_samples =
            GS_TAKE(&sim->arena, gs_tick, (size_t)(GS_SIM_OP_TIMES + 1) * sim->job.ranks);
        sim->op_unsent = GS_TAKE(&sim->arena, uint64_t, sim->job.ranks);
    }
    gs_op_effect *made = GS_TAKE(&sim->arena, gs_op_effect, 1);
    bool ok = sim->op_samples != NULL && sim->op_unsent != NULL;
    double plain = ok ? plain_end(op, ring) : -1.0;
    if (made == NULL || plain < 0.0) {
        return NULL;
    }
    uint64_t fitting = SAMPLE_MESSAGES / (ring->turns * ring->members);
    uint64_t count = fitting > SAMPLES_MAX ? SAMPLES_MAX : fitting;
    count = count < SAMPLES_MIN ? SAMPLES_MIN : count;
    double sum = 0.0, squares = 0.0;
    for (uint64_t i = 0; i < count; i++) {
        double end = sample(op, ring, i);
        if (end < 0.0) {
            return NULL;
        }
        sum += end - plain;
        squares += (end - plain) * (end - plain);
    }
    double mean = sum / (double)count;
    double variance = (squares - sum * mean) / (double)(count - 1);
    *made = (gs_op_effect){.elements = op->signature.elements,
                           .mean = mean,
                           .deviation = variance > 0.0 ? sqrt(variance) : 0.0,
                           .next = op->plan->effects};
    op->plan->effects = made;
    return made;
}

/* All members are late by one draw: they differ by little. false: no memory. */
static bool add_effect(gs_sim_op *op, const gs_ring *ring, gs_tick *received, gs_tick *left)
{
    const gs_op_effect *effect = effect_of(op, ring);
    if (effect == NULL) {
        return false;
    }
    uint32_t channel = op->plan->channels[out_of(op, 0)];
    gs_rng_key key = {op->sim->config.seed, GS_RNG_LATENCY, channel};
    double uniform = gs_rng_uniform(key, SAMPLES_FROM + op->signature.sequence, 1);
    double late = effect->mean + effect->deviation * gs_normal_quantile(uniform);
    gs_tick ticks = gs_tick_of(late > 0.0 ? late : 0.0);
    for (uint32_t i = 0; i < ring->members; i++) {
        received[i] = gs_tick_after(received[i], ticks);
        left[i] = gs_tick_after(left[i], ticks);
    }
    return true;
}

static gs_tick last_of(const gs_tick *times, uint32_t count)
{
    gs_tick last = times[0];
    for (uint32_t i = 1; i < count; i++) {
        last = times[i] > last ? times[i] : last;
    }
    return last;
}

bool gs_sim_op_ring(gs_sim_op *op, gs_tick *received, gs_tick *left)
{
    if (op->plan->stages > 0) {
        return gs_sim_op_stages(op, received, left);
    }
    gs_ring ring = ring_of(op);
    gs_ring_link link = link_of(op);
    bool fits =
        gs_ring_fits(&ring, link, last_of(op->ready, ring.members)); /* else: past the end */
    if (op->mode == GS_OP_RING || !fits) {
        return turn_by_turn(op, &ring, received, left);
    }
    if (!gs_ring_closed(&ring, link, op->ready, &op->sim->op_room, received, left)) {
        return false;
    }
    return op->mode != GS_OP_SURROGATE || add_effect(op, &ring, received, left);
}

/* ---------------------------------------------------------------- what was sent */

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A member sends a whole round as often as it fits, and before that the parts that end with the one
 * it begins with, going down. */
int64_t gs_sim_op_ring_bytes(const gs_sim_op *op, const gs_ring *ring, uint32_t place,
                             int64_t elements)
{
    uint64_t n = ring->members;
    uint64_t rest = ring->turns % n;
    uint64_t end = (place + (uint64_t)ring->first) % n + 1;
    uint64_t from = end >= rest ? end - rest : end + n - rest;
    uint64_t larges =
        (end >= rest ? 0 : ring->large) + lesser(end, ring->large) - lesser(from, ring->large);
    int64_t small = elements / (int64_t)n;
    int64_t sent = (int64_t)(ring->turns / n) * elements + (int64_t)rest * small + (int64_t)larges;
    return sent * op->sim->job.element_bytes;
}

void gs_sim_op_count_channel(const gs_sim_op *op, uint32_t channel, uint64_t messages,
                             int64_t bytes)
{
    gs_sim_net *net = &op->sim->net;
    const gs_op_plan *plan = op->plan;
    net->sent += messages;
    net->arrived += messages;
    net->entity_bytes[gs_op_plan_rank(plan, plan->flow->from[channel])] += bytes;
    net->nic_bytes += plan->over_nic[channel] ? bytes : 0;
}

void gs_sim_op_count(const gs_sim_op *op, uint32_t member)
{
    const gs_dataflow_plan *plan = op->plan->flow;
    gs_sim_net *net = &op->sim->net;
    if (op->mode != GS_OP_DATAFLOW && op->plan->stages > 0) {
        gs_sim_op_count_stages(op, member);
        return;
    }
    if (op->mode != GS_OP_DATAFLOW) {
        gs_ring ring = ring_of(op);
        gs_sim_op_count_channel(op, out_of(op, member), op->plan->turns,
                                gs_sim_op_ring_bytes(op, &ring, member, op->signature.elements));
        gs_sim_net_see_size(net, part_bytes(op, true));
        gs_sim_net_see_size(net, part_bytes(op, false));
        return;
    }
    for (uint32_t i = plan->out_first[member]; i < plan->out_first[member + 1]; i++) {
        uint64_t before = op->messages == NULL ? 0 : op->messages[i];
        gs_sim_op_count_channel(op, i, op->flow.channels[i].messages - before,
                                op->flow.channels[i].bytes);
    }
    gs_sim_net_see_size(net, op->flow.least_bytes);
    gs_sim_net_see_size(net, op->flow.most_bytes);
}
