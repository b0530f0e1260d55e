#include "sim/ring_times.h"

#include "base/assert.h"

static bool reserve_ticks(gs_ring_room *room, uint64_t count)
{
    if (room->tick_capacity < count) {
        room->ticks = GS_TAKE(room->arena, gs_tick, count);
        room->tick_capacity = room->ticks == NULL ? 0 : count;
    }
    return room->ticks != NULL;
}

static bool reserve_queue(gs_ring_room *room, uint64_t count)
{
    if (room->queue_capacity < count) {
        room->queue = GS_TAKE(room->arena, uint32_t, count);
        room->queue_capacity = room->queue == NULL ? 0 : count;
    }
    return room->queue != NULL;
}

static bool reserve_reals(gs_ring_room *room, uint64_t count)
{
    if (room->real_capacity < count) {
        room->reals = GS_TAKE(room->arena, double, count);
        room->real_capacity = room->reals == NULL ? 0 : count;
    }
    return room->reals != NULL;
}

/* ---------------------------------------------------------------- closed */

/* The largest of a moving stretch of values: places come and go at its two ends, upwards only. */
typedef struct sliding {
    const gs_tick *values;
    uint32_t *queue; /* places of falling values */
    uint64_t head, tail;
} sliding;

static void take_in(sliding *over, uint32_t place)
{
    while (over->tail > over->head &&
           over->values[over->queue[over->tail - 1]] <= over->values[place]) {
        over->tail--;
    }
    over->queue[over->tail++] = place;
}

static void let_go(sliding *over, int64_t first)
{
    while (over->head < over->tail && (int64_t)over->queue[over->head] < first) {
        over->head++;
    }
}

static gs_tick larger(gs_tick a, gs_tick b)
{
    return a > b ? a : b;
}

/* Parts one after the other, round after round. */
typedef struct counted {
    uint64_t part;
    uint64_t place;  /* of it in its round */
    gs_tick ticks;   /* of those before it, */
    gs_tick size[2]; /* a small one and a large one */
} counted;

static counted count_from(const gs_ring *ring, gs_ring_link link, uint64_t part)
{
    uint64_t rounds = part / ring->members, place = part % ring->members;
    uint64_t larges = rounds * ring->large + (place < ring->large ? place : ring->large);
    return (counted){
        .part = part,
        .place = place,
        .ticks = (gs_tick)larges * link.large + (gs_tick)(part - larges) * link.small,
        .size = {link.small, link.large},
    };
}

static void count_on(const gs_ring *ring, counted *at)
{
    at->ticks += at->size[at->place < ring->large];
    at->part++;
    at->place = at->place + 1 == ring->members ? 0 : at->place + 1;
}

/* The first large part from this one on; past all that are asked for where there is none. */
static uint64_t next_large(const gs_ring *ring, const counted *at)
{
    if (ring->large == 0) {
        return UINT64_MAX;
    }
    return at->place < ring->large ? at->part : at->part - at->place + ring->members;
}

/* Member r is place r + K - 1: so that the places of those that it may wait for, r - K + 1 to r,
 * are none below 0, and the lowest part that passes it is its own number plus first. A start from
 * place q comes with parts up to q + first; each takes its time, and each of the links on the way
 * that of the largest part among them. */
bool gs_ring_closed(const gs_ring *ring, gs_ring_link link, const gs_tick *starts,
                    gs_ring_room *room, gs_tick *received, gs_tick *left)
{
    const gs_tick large = link.large, small = link.small, latency = link.latency;
    uint64_t n = ring->members;
    uint64_t reach = ring->turns - 1;
    uint64_t places = n + reach;
    GS_ASSERT(n >= 2 && ring->turns >= 1 && ring->first < n && large >= small);
    if (!reserve_ticks(room, 2 * places) || !reserve_queue(room, 2 * places)) {
        return false;
    }
    gs_tick *with_large = room->ticks;
    gs_tick *all_small = room->ticks + places;
    uint64_t lift = (reach / n + 1) * n - reach; /* place q is member (q + lift) mod n, */
    uint64_t shift = (lift + ring->first) % n;   /* and comes with parts up to q + shift */
    counted passed = count_from(ring, link, shift);
    for (uint64_t q = 0, member = lift % n; q < places;
         q++, member = member + 1 == n ? 0 : member + 1) {
        count_on(ring, &passed);
        all_small[q] = starts[member] - (gs_tick)q * latency;
        with_large[q] = all_small[q] - (gs_tick)q * large + passed.ticks;
    }
    sliding any = {with_large, room->queue, 0, 0};
    sliding even = {all_small, room->queue + places, 0, 0};
    uint64_t any_in = 0, even_in = 0; /* places that have been taken in */
    counted lowest = count_from(ring, link, shift);
    for (uint64_t member = 0; member < n; member++, count_on(ring, &lowest)) {
        uint64_t own = member + reach;
        uint64_t first_large = next_large(ring, &lowest);
        uint64_t turn =
            first_large == UINT64_MAX ? places : first_large - shift; /* q from here on */
        for (; any_in <= own; any_in++) {
            take_in(&any, (uint32_t)any_in);
        }
        for (; even_in <= own && even_in < turn; even_in++) {
            take_in(&even, (uint32_t)even_in);
        }
        let_go(&any, (int64_t)larger((gs_tick)turn, (gs_tick)member));
        let_go(&even, (int64_t)member);
        gs_tick last = INT64_MIN;
        if (any.head < any.tail) {
            last =
                with_large[any.queue[any.head]] + (gs_tick)own * (latency + large) - lowest.ticks;
        }
        if (even.head < even.tail) {
            last = larger(last, all_small[even.queue[even.head]] + (gs_tick)own * latency +
                                    (gs_tick)ring->turns * small);
        }
        left[member] = last;
    }
    for (uint64_t member = 0; member < n; member++) {
        received[member] = left[member == 0 ? n - 1 : member - 1] + latency;
    }
    return true;
}

/* ---------------------------------------------------------------- recurrence */

/* Doubles, as processors take the maximum of several at a time: they hold whole ticks up to 2.4
 * hours after the first start, and 1e-15 of them beyond. Arrays of a large and of a small part. */
enum { SMALL, LARGE, SIZES };

typedef struct turning {
    const gs_ring *ring;
    double *begin;        /* [members] x */
    double *next;         /* [members] of the next turn */
    double *wire[SIZES];  /* [members] until a message has left */
    double *whole[SIZES]; /* [members] until it has come */
    gs_tick *latencies;   /* [members] of a turn, where they are drawn */
} turning;

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* Members whose part is a large one are next to each other, and move on by one place a turn: from
 * `out_from` on to below out_to, which may lie past the last member. */
static void find_large(const turning *on, uint64_t turn, uint64_t *out_from, uint64_t *out_to)
{
    uint64_t n = on->ring->members;
    *out_from = (turn % n + n - on->ring->first) % n;
    *out_to = *out_from + on->ring->large;
}

static int size_of(const turning *on, uint64_t turn, uint64_t member)
{
    uint64_t from, to;
    find_large(on, turn, &from, &to);
    return (member >= from && member < to) || member + on->ring->members < to ? LARGE : SMALL;
}

static void arrive_one(const turning *on, uint64_t turn, uint64_t member)
{
    uint64_t from = member == 0 ? on->ring->members - 1 : member - 1;
    on->next[member] = later(on->begin[member] + on->wire[size_of(on, turn, member)][member],
                             on->begin[from] + on->whole[size_of(on, turn, from)][from]);
}

/* Members [from, to), who send and receive parts of one size. */
static void arrive_stretch(double *restrict next, const double *restrict begin,
                           const double *restrict wire, const double *restrict whole, uint64_t from,
                           uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        next[i] = later(begin[i] + wire[i], begin[i - 1] + whole[i - 1]);
    }
}

static void arrive_same(const turning *on, int size, uint64_t turn, uint64_t from, uint64_t to)
{
    if (from < to) {
        arrive_one(on, turn, from);
        arrive_stretch(on->next, on->begin, on->wire[size], on->whole[size], from + 1, to);
    }
}

static void arrive(const turning *on, uint64_t turn)
{
    uint64_t n = on->ring->members;
    uint64_t from, to;
    find_large(on, turn, &from, &to);
    if (to <= n) {
        arrive_same(on, SMALL, turn, 0, from);
        arrive_same(on, LARGE, turn, from, to);
        arrive_same(on, SMALL, turn, to, n);
    } else {
        arrive_same(on, LARGE, turn, 0, to - n);
        arrive_same(on, SMALL, turn, to - n, from);
        arrive_same(on, LARGE, turn, from, n);
    }
}

/* When the messages of a turn have left, relative to `base`. */
static double left_of(const turning *on, uint64_t turn, uint64_t member)
{
    return on->begin[member] + on->wire[size_of(on, turn, member)][member];
}

/* Each message with its own latency, and none overtakes. */
static void arrive_drawn(const turning *on, const gs_ring_links *links, uint64_t turn, gs_tick base)
{
    uint32_t n = on->ring->members;
    links->draw(links->host, turn, on->latencies);
    for (uint32_t i = 0; i < n; i++) {
        on->begin[i] = left_of(on, turn, i);
    }
    for (uint32_t i = 0; i < n; i++) {
        gs_tick left = gs_tick_after(base, gs_tick_of(on->begin[i]));
        gs_tick arrival = gs_tick_after(left, on->latencies[i]);
        arrival = larger(arrival, links->last_arrival[i]);
        links->last_arrival[i] = arrival;
        uint32_t to = i + 1 == n ? 0 : i + 1;
        on->next[to] = later(on->begin[to], (double)(arrival - base));
    }
}

static void set_up(turning *on, const gs_ring_links *links, const gs_tick *starts, gs_tick base)
{
    for (uint32_t i = 0; i < on->ring->members; i++) {
        on->begin[i] = (double)(starts[i] - base);
        on->wire[LARGE][i] = (double)links->large[i];
        on->wire[SMALL][i] = (double)links->small[i];
        on->whole[LARGE][i] = (double)(links->large[i] + links->latency[i]);
        on->whole[SMALL][i] = (double)(links->small[i] + links->latency[i]);
    }
}

bool gs_ring_recurrence(const gs_ring *ring, const gs_ring_links *links, const gs_tick *starts,
                        gs_ring_room *room, gs_tick *received, gs_tick *left)
{
    uint64_t n = ring->members;
    GS_ASSERT(n >= 2 && ring->turns >= 1 && ring->first < n);
    if (!reserve_reals(room, 6 * n) || (links->draw != NULL && !reserve_ticks(room, n))) {
        return false;
    }
    double *reals = room->reals;
    turning on = {.ring = ring,
                  .begin = reals,
                  .next = reals + n,
                  .wire = {reals + 2 * n, reals + 3 * n},
                  .whole = {reals + 4 * n, reals + 5 * n},
                  .latencies = room->ticks};
    gs_tick base = starts[0];
    for (uint64_t i = 1; i < n; i++) {
        base = starts[i] < base ? starts[i] : base;
    }
    set_up(&on, links, starts, base);
    for (uint64_t turn = 0; turn < ring->turns; turn++) {
        for (uint64_t i = 0; turn + 1 == ring->turns && i < n; i++) {
            left[i] = gs_tick_after(base, gs_tick_of(left_of(&on, turn, i)));
        }
        if (links->draw != NULL) {
            arrive_drawn(&on, links, turn, base);
        } else {
            arrive(&on, turn);
        }
        double *begun = on.begin;
        on.begin = on.next;
        on.next = begun;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t from = i == 0 ? n - 1 : i - 1;
        received[i] = links->draw != NULL ? links->last_arrival[from]
                                          : gs_tick_after(left[from], links->latency[from]);
    }
    return true;
}
