#include "sim/fairshare.h"

#include <math.h>

/* A link is full, and a rate not below another, up to this share: rounding of sums over thousands
 * of flows stays below it. A certificate flow has at least capacity ÷ flows, so that its rate is
 * off by no more than flows times this. */
static const double TOLERANCE = 1e-12;
/* A repaired rate this near to the old one is the old one: what differs is rounding. */
static const double UNCHANGED = 1e-13;

typedef struct link_work {
    double spare;     /* capacity that flows outside the set leave */
    double left;      /* of it, not yet given to flows of the set */
    double level;     /* rate at which the link fixed flows of the set; HUGE_VAL: it fixed none */
    uint32_t members; /* flows of the set on it */
    uint32_t open;    /* of them, without a rate yet */
    bool filled;      /* left is that of the last filling */
} link_work;

typedef struct level_entry {
    double level; /* never above the link's true level, which only rises while a set is filled */
    uint32_t link;
} level_entry;

struct gs_fairshare_work {
    link_work *links;  /* [link_count] */
    uint32_t *touched; /* [touched_count] links with members */
    uint32_t touched_count;
    level_entry *heap; /* [heap_count], least level first */
    uint32_t heap_count;
};

gs_fairshare *gs_fairshare_create(uint32_t link_count, uint32_t flow_capacity, gs_arena *arena)
{
    GS_ASSERT(flow_capacity < GS_FAIRSHARE_NONE / GS_ROUTE_MAX);
    gs_fairshare *fairshare = GS_TAKE(arena, gs_fairshare, 1);
    gs_fairshare_work *work = GS_TAKE(arena, gs_fairshare_work, 1);
    if (fairshare == NULL || work == NULL) {
        return NULL;
    }
    work->links = GS_TAKE(arena, link_work, link_count);
    work->touched = GS_TAKE(arena, uint32_t, link_count);
    work->heap = GS_TAKE(arena, level_entry, link_count);
    fairshare->work = work;
    fairshare->links = GS_TAKE(arena, gs_fairshare_link, link_count);
    fairshare->flows = GS_TAKE(arena, gs_fairshare_flow, flow_capacity);
    fairshare->changes = GS_TAKE(arena, gs_fairshare_change, flow_capacity);
    if (work->links == NULL || work->touched == NULL || work->heap == NULL ||
        fairshare->links == NULL || fairshare->flows == NULL || fairshare->changes == NULL) {
        return NULL;
    }
    fairshare->link_count = link_count;
    fairshare->flow_capacity = flow_capacity;
    for (uint32_t link = 0; link < link_count; link++) {
        fairshare->links[link].first = GS_FAIRSHARE_NONE;
    }
    return fairshare;
}

bool gs_fairshare_reserve(gs_fairshare *fairshare, uint32_t flow_capacity, gs_arena *arena)
{
    GS_ASSERT(flow_capacity >= fairshare->flow_capacity);
    GS_ASSERT(flow_capacity < GS_FAIRSHARE_NONE / GS_ROUTE_MAX);
    gs_fairshare_flow *flows = GS_TAKE(arena, gs_fairshare_flow, flow_capacity);
    gs_fairshare_change *changes = GS_TAKE(arena, gs_fairshare_change, flow_capacity);
    if (flows == NULL || changes == NULL) {
        return false;
    }
    for (uint32_t flow = 0; flow < fairshare->flow_capacity; flow++) {
        flows[flow] = fairshare->flows[flow];
    }
    fairshare->flows = flows;
    fairshare->changes = changes;
    fairshare->change_count = 0;
    fairshare->flow_capacity = flow_capacity;
    return true;
}

static gs_fairshare_flow *flow_at(const gs_fairshare *fairshare, uint32_t place)
{
    return &fairshare->flows[place / GS_ROUTE_MAX];
}

static uint32_t next_place(const gs_fairshare *fairshare, uint32_t place)
{
    return flow_at(fairshare, place)->next[place % GS_ROUTE_MAX];
}

/* What rounding makes negative is nothing left. */
static double positive_part(double value)
{
    return value > 0.0 ? value : 0.0;
}

static double sum_of_rates(const gs_fairshare *fairshare, uint32_t link)
{
    double sum = 0.0;
    for (uint32_t place = fairshare->links[link].first; place != GS_FAIRSHARE_NONE;
         place = next_place(fairshare, place)) {
        sum += flow_at(fairshare, place)->rate;
    }
    return sum;
}

static double largest_rate(const gs_fairshare *fairshare, uint32_t link)
{
    double largest = 0.0;
    for (uint32_t place = fairshare->links[link].first; place != GS_FAIRSHARE_NONE;
         place = next_place(fairshare, place)) {
        double rate = flow_at(fairshare, place)->rate;
        largest = rate > largest ? rate : largest;
    }
    return largest;
}

static bool is_full(const gs_fairshare *fairshare, uint32_t link, double tolerance)
{
    const gs_fairshare_link *at = &fairshare->links[link];
    const link_work *work = &fairshare->work->links[link];
    double left = work->filled ? work->left : at->capacity - at->load;
    return left <= at->capacity * tolerance;
}

static bool certifies(const gs_fairshare *fairshare, uint32_t link, double rate, double tolerance)
{
    return is_full(fairshare, link, tolerance) &&
           rate * (1.0 + tolerance) >= largest_rate(fairshare, link);
}

/* A link that certifies the flow at its present rate, or NONE. */
static uint32_t find_certificate(const gs_fairshare *fairshare, const gs_fairshare_flow *flow)
{
    for (uint32_t hop = 0; hop < flow->route_count; hop++) {
        if (certifies(fairshare, flow->route[hop], flow->rate, TOLERANCE)) {
            return flow->route[hop];
        }
    }
    return GS_FAIRSHARE_NONE;
}

/* Puts a flow into the set: what it has is spare again. The set is the list of changes to be. */
static void join(gs_fairshare *fairshare, uint32_t flow_index)
{
    gs_fairshare_flow *flow = &fairshare->flows[flow_index];
    gs_fairshare_work *work = fairshare->work;
    flow->in_set = true;
    fairshare->changes[fairshare->change_count++] =
        (gs_fairshare_change){.flow = flow_index, .old_rate = flow->rate};
    for (uint32_t hop = 0; hop < flow->route_count; hop++) {
        const gs_fairshare_link *link = &fairshare->links[flow->route[hop]];
        link_work *at = &work->links[flow->route[hop]];
        if (at->members++ == 0) {
            work->touched[work->touched_count++] = flow->route[hop];
            at->spare = link->capacity - link->load;
        }
        at->spare += flow->rate;
    }
}

static void sift_down(gs_fairshare_work *work, uint32_t index)
{
    level_entry entry = work->heap[index];
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

static void prepare_filling(gs_fairshare *fairshare)
{
    gs_fairshare_work *work = fairshare->work;
    for (uint32_t i = 0; i < fairshare->change_count; i++) {
        fairshare->flows[fairshare->changes[i].flow].certificate = GS_FAIRSHARE_NONE;
    }
    for (uint32_t i = 0; i < work->touched_count; i++) {
        const gs_fairshare_link *link = &fairshare->links[work->touched[i]];
        link_work *at = &work->links[work->touched[i]];
        /* Where all flows are in the set the capacity itself is spare, free of rounding. */
        at->left = at->members == link->flow_count ? link->capacity : positive_part(at->spare);
        at->open = at->members;
        at->level = HUGE_VAL;
        at->filled = true;
        work->heap[i] = (level_entry){.level = at->left / at->open, .link = work->touched[i]};
    }
    work->heap_count = work->touched_count;
    for (uint32_t i = work->heap_count / 2; i-- > 0;) {
        sift_down(work, i);
    }
}

/* Fixes all open flows of the set on a link at level; returns how many. */
static uint32_t fix_flows(gs_fairshare *fairshare, uint32_t link, double level)
{
    uint32_t fixed = 0;
    for (uint32_t place = fairshare->links[link].first; place != GS_FAIRSHARE_NONE;
         place = next_place(fairshare, place)) {
        gs_fairshare_flow *flow = flow_at(fairshare, place);
        if (!flow->in_set || flow->certificate != GS_FAIRSHARE_NONE) {
            continue;
        }
        flow->rate = level;
        flow->certificate = link;
        fixed++;
        for (uint32_t hop = 0; hop < flow->route_count; hop++) {
            link_work *at = &fairshare->work->links[flow->route[hop]];
            at->left = positive_part(at->left - level);
            at->open--;
        }
    }
    fairshare->work->links[link].left = 0.0;
    fairshare->work->links[link].level = level;
    return fixed;
}

/* Progressive filling of the set on the spare capacity. */
static void fill(gs_fairshare *fairshare)
{
    gs_fairshare_work *work = fairshare->work;
    prepare_filling(fairshare);
    uint32_t open_flows = fairshare->change_count;
    while (open_flows > 0) {
        GS_ASSERT(work->heap_count > 0);
        level_entry *least = &work->heap[0];
        const link_work *at = &work->links[least->link];
        double level = at->open > 0 ? at->left / at->open : 0.0;
        if (level > least->level) {
            least->level = level;
            sift_down(work, 0);
            continue;
        }
        uint32_t link = least->link;
        work->heap[0] = work->heap[--work->heap_count];
        if (work->heap_count > 0) {
            sift_down(work, 0);
        }
        if (at->open > 0) {
            open_flows -= fix_flows(fairshare, link, level);
        }
    }
}

/* The rate to which a link must hold its flows, if those that it does not hold keep theirs: flows
 * it fixed at `level` and outside flows that are faster share what the rest leaves. Those at or
 * below that rate belong to the rest; leaving them out raises it, so that this ends. */
static double local_level(const gs_fairshare *fairshare, uint32_t link, double level)
{
    double held_to = level;
    for (;;) {
        double rest = 0.0;
        uint32_t held = 0;
        for (uint32_t place = fairshare->links[link].first; place != GS_FAIRSHARE_NONE;
             place = next_place(fairshare, place)) {
            const gs_fairshare_flow *flow = flow_at(fairshare, place);
            bool is_held = flow->in_set ? flow->certificate == link : flow->rate > held_to;
            held += is_held;
            rest += is_held ? 0.0 : flow->rate;
        }
        double next = held > 0 ? (fairshare->links[link].capacity - rest) / held : held_to;
        if (next <= held_to * (1.0 + TOLERANCE)) {
            return held_to;
        }
        held_to = next;
    }
}

/* What the flows on a link say about its last filling, in one pass. */
typedef struct link_survey {
    double largest;         /* rate on it */
    double largest_outside; /* of the flows outside the set; -1: none */
    double least_certified; /* of the outside flows that it certifies; HUGE_VAL: none */
} link_survey;

static link_survey survey(const gs_fairshare *fairshare, uint32_t link)
{
    link_survey seen = {.largest_outside = -1.0, .least_certified = HUGE_VAL};
    for (uint32_t place = fairshare->links[link].first; place != GS_FAIRSHARE_NONE;
         place = next_place(fairshare, place)) {
        const gs_fairshare_flow *flow = flow_at(fairshare, place);
        double rate = flow->rate;
        seen.largest = rate > seen.largest ? rate : seen.largest;
        if (!flow->in_set) {
            seen.largest_outside = rate > seen.largest_outside ? rate : seen.largest_outside;
            if (flow->certificate == link && rate < seen.least_certified) {
                seen.least_certified = rate;
            }
        }
    }
    return seen;
}

/* Lets the outside flows of a filled link join that the filling wronged. */
static void widen_link(gs_fairshare *fairshare, uint32_t link)
{
    link_survey seen = survey(fairshare, link);
    double least_allowed =
        is_full(fairshare, link, TOLERANCE) ? seen.largest / (1.0 + TOLERANCE) : HUGE_VAL;
    double most_allowed = fairshare->work->links[link].level * (1.0 + TOLERANCE);
    bool any_broken = seen.least_certified < least_allowed;
    bool any_faster = seen.largest_outside > most_allowed;
    if (!any_broken && !any_faster) {
        return;
    }
    if (any_faster) {
        most_allowed = local_level(fairshare, link, most_allowed);
    }
    for (uint32_t place = fairshare->links[link].first; place != GS_FAIRSHARE_NONE;
         place = next_place(fairshare, place)) {
        gs_fairshare_flow *flow = flow_at(fairshare, place);
        if (flow->in_set) {
            continue;
        }
        if (flow->certificate == link && flow->rate < least_allowed) {
            flow->certificate = find_certificate(fairshare, flow);
        }
        if (flow->certificate == GS_FAIRSHARE_NONE || flow->rate > most_allowed) {
            join(fairshare, place / GS_ROUTE_MAX);
        }
    }
}

/* True if any flow joined. */
static bool widen(gs_fairshare *fairshare)
{
    const gs_fairshare_work *work = fairshare->work;
    uint32_t before = fairshare->change_count;
    uint32_t filled_count = work->touched_count;
    for (uint32_t i = 0; i < filled_count; i++) {
        uint32_t link = work->touched[i];
        if (work->links[link].members < fairshare->links[link].flow_count) {
            widen_link(fairshare, link);
        }
    }
    return fairshare->change_count > before;
}

/* Leaves the changed flows in changes, sums the loads and forgets the repair. */
static void commit(gs_fairshare *fairshare)
{
    gs_fairshare_work *work = fairshare->work;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fairshare->change_count; i++) {
        gs_fairshare_change change = fairshare->changes[i];
        gs_fairshare_flow *flow = &fairshare->flows[change.flow];
        flow->in_set = false;
        if (fabs(flow->rate - change.old_rate) <= UNCHANGED * change.old_rate) {
            flow->rate = change.old_rate;
        } else {
            fairshare->changes[kept++] = change;
        }
    }
    fairshare->change_count = kept;
    for (uint32_t i = 0; i < work->touched_count; i++) {
        uint32_t link = work->touched[i];
        fairshare->links[link].load = sum_of_rates(fairshare, link);
        work->links[link] = (link_work){.members = 0};
    }
    work->touched_count = 0;
}

static void repair(gs_fairshare *fairshare)
{
    if (fairshare->change_count == 0) {
        return;
    }
    do {
        fill(fairshare);
    } while (widen(fairshare));
    commit(fairshare);
}

void gs_fairshare_set_capacity(gs_fairshare *fairshare, uint32_t link, double capacity)
{
    GS_ASSERT(link < fairshare->link_count);
    GS_ASSERT(isfinite(capacity) && capacity >= 0.0);
    fairshare->change_count = 0;
    fairshare->links[link].capacity = capacity;
    for (uint32_t place = fairshare->links[link].first; place != GS_FAIRSHARE_NONE;
         place = next_place(fairshare, place)) {
        join(fairshare, place / GS_ROUTE_MAX);
    }
    repair(fairshare);
}

void gs_fairshare_repair_added(gs_fairshare *fairshare, uint32_t flow)
{
    fairshare->change_count = 0;
    join(fairshare, flow);
    repair(fairshare);
}

static void unlink_flow(gs_fairshare *fairshare, gs_fairshare_flow *flow)
{
    for (uint32_t hop = 0; hop < flow->route_count; hop++) {
        gs_fairshare_link *link = &fairshare->links[flow->route[hop]];
        uint32_t next = flow->next[hop];
        uint32_t previous = flow->previous[hop];
        if (next != GS_FAIRSHARE_NONE) {
            flow_at(fairshare, next)->previous[next % GS_ROUTE_MAX] = previous;
        }
        if (previous != GS_FAIRSHARE_NONE) {
            flow_at(fairshare, previous)->next[previous % GS_ROUTE_MAX] = next;
        } else {
            link->first = next;
        }
        link->flow_count--;
        /* Summed anew, not subtracted: differences would drift over a long run. */
        link->load = sum_of_rates(fairshare, flow->route[hop]);
    }
}

void gs_fairshare_repair_removed(gs_fairshare *fairshare, uint32_t flow_index)
{
    gs_fairshare_flow *flow = &fairshare->flows[flow_index];
    fairshare->change_count = 0;
    unlink_flow(fairshare, flow);
    uint32_t route_count = flow->route_count;
    flow->route_count = 0;
    flow->rate = 0.0;
    for (uint32_t hop = 0; hop < route_count; hop++) {
        uint32_t link = flow->route[hop];
        for (uint32_t place = fairshare->links[link].first; place != GS_FAIRSHARE_NONE;
             place = next_place(fairshare, place)) {
            const gs_fairshare_flow *other = flow_at(fairshare, place);
            if (other->certificate == link && !other->in_set) {
                join(fairshare, place / GS_ROUTE_MAX);
            }
        }
    }
    repair(fairshare);
}

static bool validate_flow(const gs_fairshare *fairshare, uint32_t flow_index)
{
    const gs_fairshare_flow *flow = &fairshare->flows[flow_index];
    if (flow->route_count == 0) {
        return flow->rate == 0.0 && !flow->in_set;
    }
    bool on_route = false;
    for (uint32_t hop = 0; hop < flow->route_count; hop++) {
        on_route = on_route || flow->route[hop] == flow->certificate;
    }
    /* Rates of the set are kept within UNCHANGED of what certified them: twice the tolerance. */
    return on_route && !flow->in_set &&
           certifies(fairshare, flow->certificate, flow->rate, 2 * TOLERANCE);
}

bool gs_fairshare_validate(const gs_fairshare *fairshare)
{
    for (uint32_t link = 0; link < fairshare->link_count; link++) {
        const gs_fairshare_link *at = &fairshare->links[link];
        uint32_t flow_count = 0;
        for (uint32_t place = at->first; place != GS_FAIRSHARE_NONE;
             place = next_place(fairshare, place)) {
            flow_count++;
            if (flow_at(fairshare, place)->route[place % GS_ROUTE_MAX] != link) {
                return false;
            }
        }
        if (flow_count != at->flow_count || at->load != sum_of_rates(fairshare, link) ||
            at->load > at->capacity * (1.0 + TOLERANCE)) {
            return false;
        }
    }
    for (uint32_t flow = 0; flow < fairshare->flow_capacity; flow++) {
        if (!validate_flow(fairshare, flow)) {
            return false;
        }
    }
    return true;
}
