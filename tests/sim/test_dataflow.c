/* The dataflow of every collective against messages that are played one after the other in the
 * order of time. */
#include "sim/dataflow.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/rng.h"
#include "tests/support.h"

enum { MEMBERS_MAX = 13, LANES_MAX = 64, CHANNELS_MAX = 2048, QUEUE_MAX = 512 };

static uint64_t draw(uint64_t of, uint64_t step, uint32_t index, uint32_t below)
{
    return gs_rng_bits((gs_rng_key){13, GS_RNG_TEST, (uint32_t)of}, step, index) % below;
}

/* What the network does: each channel has its own rate; of some it changes over time, and each
 * message has its own latency. */
typedef struct wires_case {
    uint64_t number;
    double rates[CHANNELS_MAX];
    gs_tick latencies[CHANNELS_MAX];
    bool varies[CHANNELS_MAX];
} wires_case;

/* Twice as slow from tick 5000 on: what begins before it may end after it. */
static gs_tick leaves(void *host, uint32_t channel, gs_tick start, int64_t bytes)
{
    const wires_case *on = host;
    gs_tick whole = gs_dataflow_ticks(bytes, on->rates[channel]);
    if (!on->varies[channel] || start + whole <= 5000) {
        return start + whole;
    }
    return start >= 5000 ? start + 2 * whole : 5000 + 2 * (start + whole - 5000);
}

static gs_tick latency(void *host, uint32_t channel, uint64_t messages, int64_t bytes)
{
    (void)bytes;
    const wires_case *on = host;
    gs_tick least = on->latencies[channel];
    return on->varies[channel] ? least + (gs_tick)draw(on->number, 100 + messages, channel, 400)
                               : least;
}

/* ---------------------------------------------------------------- one after the other */

typedef struct plain_channel {
    gs_tick free_at, last_arrival, arrivals[QUEUE_MAX];
    uint64_t sent, taken;
} plain_channel;

typedef struct plain {
    const gs_dataflow_plan *plan;
    gs_shape shape;
    wires_case *wires;
    const gs_tick *starts, *ready;
    plain_channel channels[CHANNELS_MAX];
    uint64_t at[MEMBERS_MAX][LANES_MAX];
    bool ended[MEMBERS_MAX][LANES_MAX];
    gs_tick ends[MEMBERS_MAX];
} plain;

static uint32_t channel_of(const gs_dataflow_plan *plan, uint32_t from, uint32_t to,
                           uint32_t number)
{
    for (uint32_t i = 0; i < plan->channel_count; i++) {
        if (plan->from[i] == from && plan->to[i] == to && plan->numbers[i] == number) {
            return i;
        }
    }
    cr_assert(false, "no channel");
    return 0;
}

static void plain_send(plain *on, uint32_t member, const gs_vertex *vertex, gs_tick now)
{
    uint32_t index = channel_of(on->plan, member, vertex->peer, vertex->channel);
    plain_channel *channel = &on->channels[index];
    gs_tick start = now > on->ready[member] ? now : on->ready[member];
    start = start > channel->free_at ? start : channel->free_at;
    channel->free_at = leaves(on->wires, index, start, vertex->length);
    gs_tick arrival = channel->free_at + latency(on->wires, index, channel->sent, vertex->length);
    channel->last_arrival = arrival > channel->last_arrival ? arrival : channel->last_arrival;
    cr_assert(channel->sent < QUEUE_MAX);
    channel->arrivals[channel->sent++] = channel->last_arrival;
    on->ends[member] = channel->free_at > on->ends[member] ? channel->free_at : on->ends[member];
}

/* Whether a lane does anything at `now`; when it may do something is looked at again and again. */
static bool plain_step(plain *on, uint32_t member, uint32_t lane, gs_tick now)
{
    gs_shape shape = on->shape;
    shape.self = member;
    gs_vertex vertex;
    if (on->ended[member][lane] || on->starts[member] > now) {
        return false;
    }
    if (!on->plan->program->vertex(&shape, lane, on->at[member][lane], &vertex)) {
        on->ended[member][lane] = true;
        on->ends[member] = now > on->ends[member] ? now : on->ends[member];
        return true;
    }
    if (vertex.kind == GS_VERTEX_SEND) {
        plain_send(on, member, &vertex, now);
    } else {
        plain_channel *from =
            &on->channels[channel_of(on->plan, vertex.peer, member, vertex.channel)];
        if (from->taken == from->sent || from->arrivals[from->taken] > now) {
            return false;
        }
        from->taken++;
    }
    on->at[member][lane]++;
    return true;
}

static gs_tick next_time(const plain *on, gs_tick now)
{
    gs_tick next = GS_TICK_NEVER;
    for (uint32_t i = 0; i < on->plan->member_count; i++) {
        next = on->starts[i] > now && on->starts[i] < next ? on->starts[i] : next;
    }
    for (uint32_t i = 0; i < on->plan->channel_count; i++) {
        const plain_channel *from = &on->channels[i];
        for (uint64_t k = from->taken; k < from->sent; k++) {
            next = from->arrivals[k] > now && from->arrivals[k] < next ? from->arrivals[k] : next;
        }
    }
    return next;
}

static void play_plain(plain *on, gs_tick until)
{
    for (gs_tick now = 0; now <= until; now = next_time(on, now)) {
        for (bool more = true; more;) {
            more = false;
            for (uint32_t member = 0; member < on->plan->member_count; member++) {
                uint32_t lanes = on->plan->lane_first[member + 1] - on->plan->lane_first[member];
                for (uint32_t lane = 0; lane < lanes; lane++) {
                    more |= plain_step(on, member, lane, now);
                }
            }
        }
        if (next_time(on, now) == GS_TICK_NEVER) {
            return;
        }
    }
}

/* ---------------------------------------------------------------- cases */

typedef struct flow_case {
    const gs_collective *program;
    gs_shape shape;
    gs_dataflow_plan *plan;
    wires_case wires;
    gs_tick starts[MEMBERS_MAX], ready[MEMBERS_MAX];
    gs_dataflow flow;
    plain plain;
} flow_case;

/* A shape that the program takes: rings, nodes and pieces where it has any use for them. */
static gs_shape make_shape(uint64_t number)
{
    uint32_t inner = 1 + (uint32_t)draw(number, 1, 0, 3);
    uint32_t nodes = (inner == 1 ? 2 : 1) + (uint32_t)draw(number, 1, 1, inner == 1 ? 11 : 4);
    gs_shape shape = gs_shape_plain(inner * nodes, 0, (int64_t)draw(number, 1, 2, 3000));
    shape.inner = inner;
    shape.middle = nodes % 2 == 0 ? 2 : 1;
    shape.rings = 1 + (uint32_t)draw(number, 1, 3, 3);
    shape.root = (uint32_t)draw(number, 1, 4, shape.members);
    shape.piece = (int64_t)draw(number, 1, 5, 2) * (1 + (int64_t)draw(number, 1, 6, 300));
    return shape;
}

static void make_case(flow_case *of, const gs_collective *program, uint64_t number, gs_arena *arena)
{
    of->program = program;
    of->shape = make_shape(number);
    of->plan = gs_dataflow_plan_create(program, &of->shape, arena);
    cr_assert_not_null(of->plan);
    TEST_REQUIRE(of->plan->channel_count <= CHANNELS_MAX, "%s", program->name);
    of->wires.number = number;
    for (uint32_t i = 0; i < of->plan->channel_count; i++) {
        of->wires.rates[i] = 0.05 * (double)(1 + draw(number, 2, i, 40));
        of->wires.latencies[i] = (gs_tick)draw(number, 3, i, 300);
        of->wires.varies[i] = draw(number, 4, i, 3) == 0;
        of->plan->paths[i].bytes_per_tick = of->wires.varies[i] ? 0.0 : of->wires.rates[i];
        of->plan->paths[i].latency = of->wires.varies[i] ? GS_TICK_NEVER : of->wires.latencies[i];
    }
    for (uint32_t i = 0; i < of->shape.members; i++) {
        of->starts[i] = (gs_tick)draw(number, 5, i, number % 3 == 0 ? 1 : 9000);
        of->ready[i] = of->starts[i] + (gs_tick)draw(number, 6, i, 2) * 700;
    }
    gs_dataflow_wires wires = {&of->wires, leaves, latency};
    cr_assert(gs_dataflow_init(&of->flow, of->plan, &wires, arena));
    memset(&of->plain, 0, sizeof of->plain);
    of->plain.plan = of->plan;
    of->plain.shape = of->shape;
    of->plain.wires = &of->wires;
    of->plain.starts = of->starts;
    of->plain.ready = of->ready;
}

/* Members start in an order that is not that of time. */
static void run(flow_case *of, gs_tick horizon)
{
    uint32_t n = of->shape.members;
    gs_dataflow_begin(&of->flow, &of->shape, 1, horizon);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t member = n - 1 - i;
        if (of->starts[member] <= horizon) {
            gs_dataflow_start(&of->flow, member, of->starts[member], of->ready[member]);
        }
    }
    cr_assert(!of->flow.out_of_memory);
}

static void check_ends(const flow_case *of)
{
    for (uint32_t i = 0; i < of->shape.members; i++) {
        TEST_REQUIRE(of->flow.ends[i] == of->plain.ends[i],
                     "%s, %u members, case %llu: member %u ends at %lld, not at %lld",
                     of->program->name, of->shape.members, (unsigned long long)of->wires.number, i,
                     (long long)of->flow.ends[i], (long long)of->plain.ends[i]);
    }
}

/* Lanes stand where they do in the middle of the op, and as many messages wait. */
static void check_state(const flow_case *of)
{
    for (uint32_t i = 0; i < of->plan->lane_count; i++) {
        const gs_dataflow_lane *lane = &of->flow.lanes[i];
        TEST_REQUIRE(lane->index == of->plain.at[lane->member][lane->number] &&
                         lane->ended == of->plain.ended[lane->member][lane->number],
                     "%s, case %llu: lane %u of member %u", of->program->name,
                     (unsigned long long)of->wires.number, lane->number, lane->member);
    }
    for (uint32_t i = 0; i < of->plan->channel_count; i++) {
        const plain_channel *wanted = &of->plain.channels[i];
        cr_assert_eq(of->flow.channels[i].queue.count, wanted->sent - wanted->taken);
        cr_assert_eq(of->flow.channels[i].messages, wanted->sent);
        cr_assert_eq(of->flow.channels[i].free_at, wanted->free_at);
    }
}

static flow_case tested;

Test(dataflow, ends_are_those_of_messages_in_the_order_of_time)
{
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        for (uint64_t number = 0; number < 60; number++) {
            gs_arena arena;
            gs_arena_init(&arena);
            make_case(&tested, gs_collective_at(i), number, &arena);
            play_plain(&tested.plain, GS_TICK_NEVER - 1);
            run(&tested, GS_TICK_NEVER);
            check_ends(&tested);
            run(&tested, GS_TICK_NEVER); /* again: channels go on from where they were */
            gs_arena_fini(&arena);
        }
    }
}

Test(dataflow, up_to_a_horizon_every_lane_stands_where_it_does_by_then)
{
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        for (uint64_t number = 0; number < 60; number++) {
            gs_arena arena;
            gs_arena_init(&arena);
            make_case(&tested, gs_collective_at(i), number, &arena);
            gs_tick horizon = (gs_tick)draw(number, 7, i, 15000);
            play_plain(&tested.plain, horizon);
            run(&tested, horizon);
            check_state(&tested);
            gs_arena_fini(&arena);
        }
    }
}

static void tell(void *host, const gs_dataflow_transfer *transfer)
{
    gs_dataflow_transfer *last = host;
    *last = *transfer;
}

/* 2 members: naive has member 1 send 10 bytes at 1 a tick, which come 5 later, and member 0 answer:
 * it has received at 15, sent at 25, and member 1 gets it at 30. */
Test(dataflow, a_transfer_is_told_with_its_times)
{
    gs_arena arena;
    gs_arena_init(&arena);
    gs_shape shape = gs_shape_plain(2, 0, 10);
    gs_dataflow_plan *plan = gs_dataflow_plan_create(gs_collective_find("naive"), &shape, &arena);
    cr_assert_not_null(plan);
    for (uint32_t i = 0; i < 2; i++) {
        plan->paths[i] = (gs_dataflow_path){1.0, 5, 0, plan->from[i] == 0};
    }
    gs_dataflow flow;
    cr_assert(gs_dataflow_init(&flow, plan, &(gs_dataflow_wires){0}, &arena));
    gs_dataflow_transfer last = {.bytes = 0};
    flow.watcher = (gs_dataflow_watcher){&last, tell};
    gs_dataflow_begin(&flow, &shape, 1, GS_TICK_NEVER);
    gs_dataflow_start(&flow, 1, 0, 0);
    cr_assert_eq(flow.ended_count, 0);
    gs_dataflow_start(&flow, 0, 0, 0);
    cr_assert(flow.ended_count == 2 && flow.ends[0] == 25 && flow.ends[1] == 30);
    cr_assert(last.bytes == 10 && last.start == 15 && last.left == 25 && last.arrival == 30);
    gs_arena_fini(&arena);
}
