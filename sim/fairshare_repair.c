/* The repair of a set of flows: filled progressively on what the others leave, and widened until
 * nobody outside is wronged. */
#include "sim/fairshare_parts.h"

#include <math.h>

/* A repaired level this near to the old one is the old one: what differs is rounding. */
static const double UNCHANGED = 1e-13;

static double more_than(double value)
{
    return value * (1.0 + GS_FAIRSHARE_TOLERANCE);
}

/* What rounding makes negative is nothing left. */
static double positive_part(double value)
{
    return value > 0.0 ? value : 0.0;
}

static uint32_t flow_of(const gs_fairshare *fairshare, uint32_t place)
{
    return place >> fairshare->route_shift;
}

/* The code of a flow of the set that has no rate yet. */
static uint32_t open_code(const gs_fairshare *fairshare)
{
    return 2 * fairshare->link_count + 1;
}

/* ---------------------------------------------------------------- the set */

void gs_fairshare_join(gs_fairshare *fairshare, uint32_t flow)
{
    gs_fairshare_work *work = fairshare->work;
    if (work->in_set[flow]) {
        return;
    }
    work->in_set[flow] = true;
    fairshare->moved[fairshare->moved_count++] =
        (gs_fairshare_move){flow, fairshare->codes[flow] / 2};
    /* What it has is spare again. */
    double rate = gs_fairshare_rate(fairshare, flow);
    const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
    for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
        uint32_t link = hops[hop].link;
        gs_fairshare_repair *repair = &work->links[link];
        if (repair->members++ == 0) {
            work->touched[work->touched_count++] = link;
            repair->spare = fairshare->links[link].capacity - gs_fairshare_load(fairshare, link);
        }
        repair->spare += rate;
    }
}

void gs_fairshare_join_held(gs_fairshare *fairshare, uint32_t link)
{
    gs_fairshare_repair *repair = &fairshare->work->links[link];
    if (fairshare->links[link].held_count == 0 || repair->followed) {
        return;
    }
    repair->followed = true;
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            uint32_t flow = flow_of(fairshare, run.places[i]);
            if (fairshare->codes[flow] == 2 * link) {
                gs_fairshare_join(fairshare, flow);
            }
        }
    }
}

/* A flow of the set whose rate changes leaves the others more or less on every link: those who have
 * their bottleneck there will join anyhow, and those will make others join; the sooner they all do,
 * the fewer rounds it takes. Flows whose rate does not change, as among equals, draw nobody in. */
static void follow(gs_fairshare *fairshare)
{
    uint32_t filled_count = fairshare->moved_count;
    for (uint32_t i = 0; i < fairshare->moved_count; i++) {
        gs_fairshare_move move = fairshare->moved[i];
        double old_rate = fairshare->levels[2 * (size_t)move.from];
        double rate = gs_fairshare_rate(fairshare, move.flow);
        if (i < filled_count && fabs(rate - old_rate) <= UNCHANGED * old_rate) {
            continue;
        }
        const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, move.flow);
        for (uint32_t hop = 0; hop < fairshare->route_counts[move.flow]; hop++) {
            gs_fairshare_join_held(fairshare, hops[hop].link);
        }
    }
}

/* ---------------------------------------------------------------- filling */

static void sift_down(gs_fairshare_work *work, uint32_t index)
{
    gs_fairshare_entry entry = work->heap[index];
    for (;;) {
        uint32_t child = 2 * index + 1;
        if (child >= work->heap_count) {
            break;
        }
        if (child + 1 < work->heap_count && work->heap[child + 1].level < work->heap[child].level) {
            child++;
        }
        if (entry.level <= work->heap[child].level) {
            break;
        }
        work->heap[index] = work->heap[child];
        index = child;
    }
    work->heap[index] = entry;
}

/* Nobody has a rate, and all that is spare is left. */
static void empty_links(gs_fairshare *fairshare)
{
    const gs_fairshare_work *work = fairshare->work;
    for (uint32_t i = 0; i < work->touched_count; i++) {
        uint32_t link = work->touched[i];
        gs_fairshare_repair *repair = &work->links[link];
        /* Where all flows are in the set the capacity itself is spare, free of rounding. */
        repair->left = repair->members == fairshare->links[link].flow_count
                           ? fairshare->links[link].capacity
                           : positive_part(repair->spare);
        repair->open = repair->members;
        repair->filled = true;
        repair->queued = false;
        fairshare->levels[2 * (size_t)link + 1] = HUGE_VAL; /* it has fixed nobody */
    }
}

static void push_link(gs_fairshare_work *work, uint32_t link)
{
    const gs_fairshare_repair *repair = &work->links[link];
    work->heap[work->heap_count++] = (gs_fairshare_entry){repair->left / repair->open, link};
}

/* The links that may fix flows: those that several flows of the set cross, and of those that one
 * crosses alone the narrowest. */
static void push_links(gs_fairshare *fairshare, uint32_t flow)
{
    gs_fairshare_work *work = fairshare->work;
    const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
    double narrowest = HUGE_VAL;
    uint32_t alone = 0;
    for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
        gs_fairshare_repair *repair = &work->links[hops[hop].link];
        if (repair->members == 1) {
            alone = repair->left < narrowest ? hops[hop].link : alone;
            narrowest = repair->left < narrowest ? repair->left : narrowest;
        } else if (!repair->queued) {
            repair->queued = true;
            push_link(work, hops[hop].link);
        }
    }
    if (narrowest < HUGE_VAL) {
        push_link(work, alone);
    }
}

static void prepare_filling(gs_fairshare *fairshare)
{
    gs_fairshare_work *work = fairshare->work;
    empty_links(fairshare);
    work->heap_count = 0;
    for (uint32_t i = 0; i < fairshare->moved_count; i++) {
        uint32_t flow = fairshare->moved[i].flow;
        uint32_t code = fairshare->codes[flow];
        if (code % 2 == 0 && code / 2 < fairshare->link_count) { /* it has joined just now */
            fairshare->links[code / 2].held_count--;
        }
        fairshare->codes[flow] = open_code(fairshare);
        push_links(fairshare, flow);
    }
    for (uint32_t i = work->heap_count / 2; i-- > 0;) {
        sift_down(work, i);
    }
}

/* Gives the level to all flows of the set on a link that have no rate yet; returns how many. */
static uint32_t fix_flows(gs_fairshare *fairshare, uint32_t link, double level)
{
    gs_fairshare_repair *repairs = fairshare->work->links;
    uint32_t open = open_code(fairshare);
    uint32_t fixed = repairs[link].open;
    fairshare->levels[2 * (size_t)link + 1] = level;
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link);
         run.count > 0 && repairs[link].open > 0; run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            uint32_t flow = flow_of(fairshare, run.places[i]);
            if (fairshare->codes[flow] != open) {
                continue;
            }
            fairshare->codes[flow] = 2 * link + 1;
            const gs_fairshare_hop *hops = gs_fairshare_route(fairshare, flow);
            for (uint32_t hop = 0; hop < fairshare->route_counts[flow]; hop++) {
                gs_fairshare_repair *at = &repairs[hops[hop].link];
                at->left = positive_part(at->left - level);
                at->open--;
            }
        }
    }
    repairs[link].left = 0.0;
    return fixed;
}

/* Progressive filling of the set on the spare capacity. */
static void fill(gs_fairshare *fairshare)
{
    gs_fairshare_work *work = fairshare->work;
    prepare_filling(fairshare);
    uint32_t open_flows = fairshare->moved_count;
    while (open_flows > 0) {
        GS_ASSERT(work->heap_count > 0);
        gs_fairshare_entry *least = &work->heap[0];
        uint32_t link = least->link;
        const gs_fairshare_repair *at = &work->links[link];
        double level = at->open > 0 ? at->left / at->open : HUGE_VAL;
        if (at->open > 0 && level > least->level) {
            least->level = level;
            sift_down(work, 0);
            continue;
        }
        work->heap[0] = work->heap[--work->heap_count];
        if (work->heap_count > 0) {
            sift_down(work, 0);
        }
        if (at->open > 0) {
            open_flows -= fix_flows(fairshare, link, level);
        }
    }
}

/* ---------------------------------------------------------------- widening */

/* The rate to which a link must hold its flows, if those that it does not hold keep theirs: flows
 * of the set that it fixed and outside flows that are faster than `level` share what the rest
 * leaves. Those at or below that rate belong to the rest; leaving them out raises it, so that this
 * ends. */
static double local_level(const gs_fairshare *fairshare, uint32_t link, double level)
{
    double held_to = level;
    for (;;) {
        double rest = 0.0;
        uint32_t held = 0;
        for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
             run = gs_fairshare_next_run(fairshare, run)) {
            for (uint32_t i = 0; i < run.count; i++) {
                uint32_t code = fairshare->codes[flow_of(fairshare, run.places[i])];
                double rate = fairshare->levels[code];
                bool is_held = code % 2 != 0 ? code / 2 == link : rate > held_to;
                held += is_held;
                rest += is_held ? 0.0 : rate;
            }
        }
        double next = held > 0 ? (fairshare->links[link].capacity - rest) / held : held_to;
        if (next <= more_than(held_to)) {
            return held_to;
        }
        held_to = next;
    }
}

/* What the flows on a link say about its last filling, in one pass. */
typedef struct link_survey {
    double largest;         /* rate on it */
    double largest_outside; /* of the flows outside the set; -1: none */
} link_survey;

static link_survey survey(const gs_fairshare *fairshare, uint32_t link)
{
    link_survey seen = {.largest_outside = -1.0};
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            uint32_t code = fairshare->codes[flow_of(fairshare, run.places[i])];
            double rate = fairshare->levels[code];
            double outside = code % 2 == 0 ? rate : -1.0;
            seen.largest = rate > seen.largest ? rate : seen.largest;
            seen.largest_outside = outside > seen.largest_outside ? outside : seen.largest_outside;
        }
    }
    return seen;
}

/* Lets the outside flows of a filled link join that the filling wronged. */
static void widen_link(gs_fairshare *fairshare, uint32_t link)
{
    link_survey seen = survey(fairshare, link);
    double most_allowed = more_than(fairshare->levels[2 * (size_t)link + 1]);
    bool any_faster = seen.largest_outside > most_allowed;
    bool is_full = fairshare->work->links[link].left <=
                   fairshare->links[link].capacity * GS_FAIRSHARE_TOLERANCE;
    bool any_broken = fairshare->links[link].held_count > 0 &&
                      (!is_full || more_than(fairshare->levels[2 * (size_t)link]) < seen.largest);
    if (!any_broken && !any_faster) {
        return;
    }
    if (any_faster) {
        most_allowed = local_level(fairshare, link, most_allowed);
    }
    for (gs_fairshare_run run = gs_fairshare_first_run(fairshare, link); run.count > 0;
         run = gs_fairshare_next_run(fairshare, run)) {
        for (uint32_t i = 0; i < run.count; i++) {
            uint32_t flow = flow_of(fairshare, run.places[i]);
            uint32_t code = fairshare->codes[flow];
            if (code % 2 == 0 &&
                (fairshare->levels[code] > most_allowed || (any_broken && code == 2 * link))) {
                gs_fairshare_join(fairshare, flow);
            }
        }
    }
}

/* True if any flow has joined since the filling. */
static bool widen(gs_fairshare *fairshare)
{
    const gs_fairshare_work *work = fairshare->work;
    uint32_t filled_count = work->touched_count;
    uint32_t set_count = fairshare->moved_count;
    follow(fairshare);
    for (uint32_t i = 0; i < filled_count; i++) {
        uint32_t link = work->touched[i];
        /* Only bottlenecks, of the set or of others, may wrong somebody. */
        bool holds = fairshare->links[link].held_count > 0 ||
                     fairshare->levels[2 * (size_t)link + 1] < HUGE_VAL;
        if (holds && work->links[link].members < fairshare->links[link].flow_count) {
            widen_link(fairshare, link);
        }
    }
    return fairshare->moved_count > set_count;
}

/* ---------------------------------------------------------------- the end */

/* A link keeps its level where outside flows have it, or where the new one is the same. */
static void commit_level(gs_fairshare *fairshare, uint32_t link)
{
    double *level = &fairshare->levels[2 * (size_t)link];
    double fixed = level[1];
    if (fixed < HUGE_VAL && fairshare->links[link].held_count == 0 &&
        fabs(fixed - *level) > UNCHANGED * *level) {
        *level = fixed;
        fairshare->levelled[fairshare->levelled_count++] = link;
    }
}

/* Leaves the flows with another bottleneck in moved, and forgets the repair. */
static void commit(gs_fairshare *fairshare)
{
    gs_fairshare_work *work = fairshare->work;
    for (uint32_t i = 0; i < work->touched_count; i++) {
        uint32_t link = work->touched[i];
        commit_level(fairshare, link);
        gs_fairshare_elastic_forget(fairshare, link);
        work->links[link] = (gs_fairshare_repair){.members = 0};
    }
    work->touched_count = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fairshare->moved_count; i++) {
        gs_fairshare_move move = fairshare->moved[i];
        uint32_t link = fairshare->codes[move.flow] / 2;
        fairshare->links[link].held_count++;
        fairshare->codes[move.flow] = 2 * link;
        work->in_set[move.flow] = false;
        if (link != move.from) {
            fairshare->moved[kept++] = move;
        }
    }
    fairshare->moved_count = kept;
}

void gs_fairshare_repair_set(gs_fairshare *fairshare)
{
    if (fairshare->moved_count == 0) {
        return;
    }
    do {
        fill(fairshare);
    } while (widen(fairshare));
    commit(fairshare);
}
