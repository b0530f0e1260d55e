#include "sim/fluid.h"

#include <string.h>

/* A clock that shows more is set back: up to there a double holds a 1,000th of a byte. */
static const double CLOCK_MAX = 1099511627776.0;

/* ---------------------------------------------------------------- memory */

static bool take_flows(gs_fluid *fluid, uint32_t flow_capacity, gs_arena *arena)
{
    gs_fluid_flow *flows = GS_TAKE(arena, gs_fluid_flow, flow_capacity);
    if (flows == NULL) {
        return false;
    }
    fluid->flows = flows;
    return true;
}

static bool take_links(gs_fluid *fluid, uint32_t link_count, gs_arena *arena)
{
    fluid->clocks = GS_TAKE(arena, gs_fluid_clock, link_count);
    fluid->touched = GS_TAKE(arena, uint32_t, link_count);
    fluid->news = GS_TAKE(arena, gs_fluid_news, 2 * (size_t)link_count);
    if (fluid->clocks == NULL || fluid->touched == NULL || fluid->news == NULL) {
        return false;
    }
    for (uint32_t link = 0; link < link_count; link++) {
        fluid->clocks[link].head = fluid->clocks[link].root = GS_FLUID_NONE;
    }
    return true;
}

gs_fluid *gs_fluid_create(uint32_t link_count, uint32_t flow_capacity, uint32_t route_max,
                          gs_arena *arena)
{
    gs_fluid *fluid = GS_TAKE(arena, gs_fluid, 1);
    if (fluid == NULL) {
        return NULL;
    }
    *fluid = (gs_fluid){
        .fairshare = gs_fairshare_create(link_count, flow_capacity, route_max, arena),
    };
    return fluid->fairshare != NULL && take_links(fluid, link_count, arena) &&
                   take_flows(fluid, flow_capacity, arena)
               ? fluid
               : NULL;
}

/* What was told last is told again by nobody: news are of the next event. */
bool gs_fluid_reserve(gs_fluid *fluid, uint32_t link_count, uint32_t flow_capacity,
                      uint32_t route_max, gs_arena *arena)
{
    uint32_t old_capacity = fluid->fairshare->flow_capacity;
    uint32_t old_links = fluid->fairshare->link_count;
    gs_fluid grown = *fluid;
    if (!take_flows(&grown, flow_capacity, arena) ||
        (link_count > old_links && !take_links(&grown, link_count, arena)) ||
        !gs_fairshare_reserve(fluid->fairshare, link_count, flow_capacity, route_max, arena)) {
        return false;
    }
    memcpy(grown.flows, fluid->flows, old_capacity * sizeof *grown.flows);
    if (link_count > old_links) {
        memcpy(grown.clocks, fluid->clocks, old_links * sizeof *grown.clocks);
    }
    grown.news_count = 0;
    *fluid = grown;
    return true;
}

/* ---------------------------------------------------------------- a bottleneck's heap */

static bool is_before(const gs_fluid *fluid, uint32_t a, uint32_t b)
{
    const gs_fluid_flow *first = &fluid->flows[a];
    const gs_fluid_flow *second = &fluid->flows[b];
    return first->finish < second->finish ||
           (!(second->finish < first->finish) && first->order < second->order);
}

/* Of two heaps, neither of which has siblings; either may be empty. */
static uint32_t meld(gs_fluid *fluid, uint32_t a, uint32_t b)
{
    if (a == GS_FLUID_NONE || b == GS_FLUID_NONE) {
        return a == GS_FLUID_NONE ? b : a;
    }
    uint32_t top = is_before(fluid, b, a) ? b : a;
    uint32_t other = top == a ? b : a;
    gs_fluid_flow *parent = &fluid->flows[top];
    gs_fluid_flow *child = &fluid->flows[other];
    child->next = parent->child;
    child->previous = top;
    if (parent->child != GS_FLUID_NONE) {
        fluid->flows[parent->child].previous = other;
    }
    parent->child = other;
    return top;
}

/* One heap of a list of siblings: in pairs, then the pairs from the last one on. */
static uint32_t meld_siblings(gs_fluid *fluid, uint32_t first)
{
    uint32_t pairs = GS_FLUID_NONE; /* newest first */
    while (first != GS_FLUID_NONE) {
        uint32_t second = fluid->flows[first].next;
        uint32_t rest = second == GS_FLUID_NONE ? GS_FLUID_NONE : fluid->flows[second].next;
        uint32_t pair = meld(fluid, first, second);
        fluid->flows[pair].next = pairs;
        pairs = pair;
        first = rest;
    }
    uint32_t root = GS_FLUID_NONE;
    while (pairs != GS_FLUID_NONE) {
        uint32_t rest = fluid->flows[pairs].next;
        root = meld(fluid, root, pairs);
        pairs = rest;
    }
    if (root != GS_FLUID_NONE) {
        fluid->flows[root].next = fluid->flows[root].previous = GS_FLUID_NONE;
    }
    return root;
}

static void insert(gs_fluid *fluid, uint32_t link, uint32_t flow)
{
    gs_fluid_flow *at = &fluid->flows[flow];
    at->link = link;
    at->child = at->next = at->previous = GS_FLUID_NONE;
    fluid->clocks[link].root = meld(fluid, fluid->clocks[link].root, flow);
}

static void take_out(gs_fluid *fluid, uint32_t flow)
{
    gs_fluid_flow *at = &fluid->flows[flow];
    gs_fluid_clock *clock = &fluid->clocks[at->link];
    uint32_t below = meld_siblings(fluid, at->child);
    if (clock->root == flow) {
        clock->root = below;
        return;
    }
    gs_fluid_flow *before = &fluid->flows[at->previous];
    *(before->child == flow ? &before->child : &before->next) = at->next;
    if (at->next != GS_FLUID_NONE) {
        fluid->flows[at->next].previous = at->previous;
    }
    clock->root = meld(fluid, clock->root, below);
}

/* ---------------------------------------------------------------- clocks */

/* Takes the clock back to 0, and its flows with it. */
static void set_back(gs_fluid *fluid, gs_fluid_clock *clock)
{
    uint32_t first = clock->root;
    clock->root = GS_FLUID_NONE;
    while (first != GS_FLUID_NONE) {
        gs_fluid_flow *at = &fluid->flows[first];
        uint32_t flow = first;
        /* What is below it comes before what is beside it. */
        first = at->child == GS_FLUID_NONE ? at->next : at->child;
        if (at->child != GS_FLUID_NONE && at->next != GS_FLUID_NONE) {
            uint32_t last = at->child;
            while (fluid->flows[last].next != GS_FLUID_NONE) {
                last = fluid->flows[last].next;
            }
            fluid->flows[last].next = at->next;
        }
        at->finish -= clock->bytes;
        insert(fluid, at->link, flow);
    }
    clock->bytes = 0.0;
}

/* Ends are rounded to ticks, and those that end together shall do so though the first one changes
 * the rate of the others: who has no more left than half a tick's bytes has nothing left. */
static void round_off(gs_fluid *fluid, gs_fluid_clock *clock)
{
    double most = clock->bytes + 0.5 * clock->rate;
    uint32_t through = GS_FLUID_NONE;
    while (clock->root != GS_FLUID_NONE && fluid->flows[clock->root].finish <= most) {
        uint32_t flow = clock->root;
        take_out(fluid, flow);
        fluid->flows[flow].finish = clock->bytes;
        fluid->flows[flow].next = through;
        through = flow;
    }
    while (through != GS_FLUID_NONE) {
        uint32_t rest = fluid->flows[through].next;
        insert(fluid, fluid->flows[through].link, through);
        through = rest;
    }
}

/* Brings the clock of a link to now and notes that its head may change. */
static gs_fluid_clock *touch(gs_fluid *fluid, gs_tick now, uint32_t link)
{
    gs_fluid_clock *clock = &fluid->clocks[link];
    if (clock->is_touched) {
        return clock;
    }
    clock->is_touched = true;
    fluid->touched[fluid->touched_count++] = link;
    GS_ASSERT(now >= clock->updated);
    if (clock->root == GS_FLUID_NONE) {
        clock->bytes = 0.0;
    } else if (now > clock->updated) {
        clock->bytes += clock->rate * (double)(now - clock->updated);
        round_off(fluid, clock);
    }
    clock->updated = now;
    if (clock->bytes > CLOCK_MAX) {
        set_back(fluid, clock);
    }
    return clock;
}

static double positive_part(double value)
{
    return value > 0.0 ? value : 0.0;
}

/* To the nearest tick, but never none for any bytes. */
static gs_tick end_of(const gs_fluid *fluid, const gs_fluid_clock *clock)
{
    if (clock->root == GS_FLUID_NONE || clock->rate <= 0.0) {
        return GS_TICK_NEVER;
    }
    double left = positive_part(fluid->flows[clock->root].finish - clock->bytes);
    double ticks = left / clock->rate + 0.5;
    return gs_tick_after(clock->updated, ticks >= 1.0 || left <= 0.0 ? gs_tick_of(ticks) : 1);
}

/* Flows go to their bottlenecks. */
static void move_flows(gs_fluid *fluid, gs_tick now)
{
    const gs_fairshare *fairshare = fluid->fairshare;
    for (uint32_t i = 0; i < fairshare->levelled_count; i++) {
        (void)touch(fluid, now, fairshare->levelled[i]);
    }
    for (uint32_t i = 0; i < fairshare->moved_count; i++) {
        gs_fairshare_move move = fairshare->moved[i];
        gs_fluid_flow *flow = &fluid->flows[move.flow];
        if (move.from < fairshare->link_count) {
            const gs_fluid_clock *from = touch(fluid, now, move.from);
            flow->finish = positive_part(flow->finish - from->bytes);
            take_out(fluid, move.flow);
        }
        uint32_t to = gs_fairshare_bottleneck(fairshare, move.flow);
        flow->finish += touch(fluid, now, to)->bytes;
        insert(fluid, to, move.flow);
    }
}

/* Clocks go on at their rates, heads are told: first those that end no more, since a flow may have
 * become the head of another bottleneck. */
static void settle(gs_fluid *fluid, gs_tick now)
{
    move_flows(fluid, now);
    for (uint32_t i = 0; i < fluid->touched_count; i++) {
        gs_fluid_clock *clock = &fluid->clocks[fluid->touched[i]];
        clock->rate = gs_fairshare_level(fluid->fairshare, fluid->touched[i]);
        clock->is_touched = false;
        gs_tick end = end_of(fluid, clock);
        if (clock->head != GS_FLUID_NONE && (clock->head != clock->root || clock->end != end)) {
            fluid->news[fluid->news_count++] = (gs_fluid_news){clock->head, GS_TICK_NEVER};
            clock->head = GS_FLUID_NONE;
        }
        clock->end = end;
    }
    for (uint32_t i = 0; i < fluid->touched_count; i++) {
        gs_fluid_clock *clock = &fluid->clocks[fluid->touched[i]];
        if (clock->head == GS_FLUID_NONE && clock->end < GS_TICK_NEVER) {
            clock->head = clock->root;
            fluid->news[fluid->news_count++] = (gs_fluid_news){clock->head, clock->end};
        }
    }
    fluid->touched_count = 0;
}

/* ---------------------------------------------------------------- events */

void gs_fluid_set_capacity(gs_fluid *fluid, gs_tick now, uint32_t link, double capacity)
{
    fluid->news_count = 0;
    gs_fairshare_set_capacity(fluid->fairshare, link, capacity);
    settle(fluid, now);
}

void gs_fluid_begin(gs_fluid *fluid, gs_tick now, uint32_t flow, const uint32_t *route,
                    uint32_t route_count, double bytes, uint64_t order)
{
    fluid->news_count = 0;
    gs_fairshare_add(fluid->fairshare, flow, route, route_count);
    fluid->flows[flow].finish = bytes;
    fluid->flows[flow].order = order;
    settle(fluid, now);
}

/* Nobody waits for a flow that its owner acts on. */
static gs_fluid_clock *act_on(gs_fluid *fluid, gs_tick now, uint32_t flow)
{
    fluid->news_count = 0;
    gs_fluid_clock *clock = touch(fluid, now, fluid->flows[flow].link);
    take_out(fluid, flow);
    if (clock->head == flow) {
        clock->head = GS_FLUID_NONE;
    }
    return clock;
}

void gs_fluid_next(gs_fluid *fluid, gs_tick now, uint32_t flow, double bytes, uint64_t order)
{
    gs_fairshare *fairshare = fluid->fairshare;
    const gs_fluid_clock *clock = act_on(fluid, now, flow);
    fluid->flows[flow].finish = clock->bytes + bytes;
    fluid->flows[flow].order = order;
    insert(fluid, fluid->flows[flow].link, flow);
    fairshare->moved_count = fairshare->levelled_count = 0;
    settle(fluid, now);
}

void gs_fluid_end(gs_fluid *fluid, gs_tick now, uint32_t flow)
{
    (void)act_on(fluid, now, flow);
    gs_fairshare_remove(fluid->fairshare, flow);
    settle(fluid, now);
}
