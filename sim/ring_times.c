#include "sim/ring_times.h"

#include "base/assert.h"
#include "base/wide.h"

#include <math.h>

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

/* Doubles, as processors take the maximum of several at a time: they hold whole ticks up to 1.2
 * hours after the first start, and 1e-15 of them beyond. Arrays of a large and of a small part. */
enum { SMALL, LARGE, SIZES };

typedef struct turning {
    const gs_ring *ring;
    double *begin;        /* [members] x */
    double *next;         /* [members] of the next turn */
    double *wire[SIZES];  /* [members] until a message has left */
    double *whole[SIZES]; /* [members] until it has come, where latencies do not differ; else: */
    double *latency;      /* [members] in the mean */
    double *last;         /* [members] arrival so far */
    double *factors;      /* [members] of latencies, drawn for a turn */
} turning;

static double later(double a, double b)
{
    return a > b ? a : b;
}

static int size_of(const turning *on, uint64_t turn, uint64_t member)
{
    uint64_t n = on->ring->members;
    uint64_t part = (member + on->ring->first + n - turn % n) % n;
    return part < on->ring->large ? LARGE : SMALL;
}

/* Members [from, to), whose parts are of one size. */
typedef struct stretch {
    int size;
    uint64_t from, to;
} stretch;

enum { STRETCHES = 3 };

/* Members whose part is a large one are next to each other, and move on by one place a turn. */
static void cut(const turning *on, uint64_t turn, stretch out[STRETCHES])
{
    uint64_t n = on->ring->members;
    uint64_t from = (turn % n + n - on->ring->first) % n;
    uint64_t to = from + on->ring->large;
    bool is_round = to > n; /* past the last member, from the first on */
    int inside = is_round ? SMALL : LARGE, outside = is_round ? LARGE : SMALL;
    uint64_t begin = is_round ? to - n : from, end = is_round ? from : to;
    out[0] = (stretch){outside, 0, begin};
    out[1] = (stretch){inside, begin, end};
    out[2] = (stretch){outside, end, n};
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

static void arrive(const turning *on, uint64_t turn)
{
    stretch of[STRETCHES];
    cut(on, turn, of);
    for (int i = 0; i < STRETCHES; i++) {
        if (of[i].from < of[i].to) {
            arrive_one(on, turn, of[i].from);
            arrive_stretch(on->next, on->begin, on->wire[of[i].size], on->whole[of[i].size],
                           of[i].from + 1, of[i].to);
        }
    }
}

/* When the messages of a turn have left, relative to `base`. */
static double left_of(const turning *on, uint64_t turn, uint64_t member)
{
    return on->begin[member] + on->wire[size_of(on, turn, member)][member];
}

/* As a cast would cut it, up to 2^52; without a choice, so that several go at a time. */
GS_WIDE_BODY double whole_of(double x)
{
    double nearest = (x + 0x1p52) - 0x1p52;
    return nearest - (0.5 - copysign(0.5, x - nearest)); /* 1 less where that is above x */
}

/* Each message with its own latency, in whole ticks, and none overtakes. left, from now on: when
 * each has left. */
GS_WIDE_BODY void overtake_none(const turning *on, const double *restrict left,
                                double *restrict last, double *restrict next)
{
    uint64_t count = on->ring->members;
    const double *latency = on->latency, *factors = on->factors;
    for (uint64_t i = 0; i < count; i++) {
        last[i] = later(left[i] + whole_of(latency[i] * factors[i]), last[i]);
    }
    next[0] = later(left[0], last[count - 1]);
    for (uint64_t i = 1; i < count; i++) {
        next[i] = later(left[i], last[i - 1]);
    }
}

GS_WIDE static void overtake_none_wide(const turning *on)
{
    overtake_none(on, on->begin, on->last, on->next);
}

static void arrive_drawn(const turning *on, const gs_ring_links *links, uint64_t turn)
{
    links->draw(links->host, turn, on->factors);
    stretch of[STRETCHES];
    cut(on, turn, of);
    for (int k = 0; k < STRETCHES; k++) {
        const double *wire = on->wire[of[k].size];
        for (uint64_t i = of[k].from; i < of[k].to; i++) {
            on->begin[i] += wire[i];
        }
    }
    if (GS_IS_WIDE) {
        overtake_none_wide(on);
    } else {
        overtake_none(on, on->begin, on->last, on->next);
    }
}

static void set_up(turning *on, const gs_ring_links *links, const gs_tick *starts, gs_tick base)
{
    for (uint32_t i = 0; i < on->ring->members; i++) {
        on->begin[i] = (double)(starts[i] - base);
        on->wire[LARGE][i] = (double)links->large[i];
        on->wire[SMALL][i] = (double)links->small[i];
        if (links->draw == NULL) {
            on->whole[LARGE][i] = (double)(links->large[i] + links->latency[i]);
            on->whole[SMALL][i] = (double)(links->small[i] + links->latency[i]);
        } else {
            on->latency[i] = (double)links->latency[i];
            on->last[i] = (double)(links->last_arrival[i] - base);
        }
    }
}

static void get_left(const turning *on, gs_tick base, gs_tick *left)
{
    for (uint32_t i = 0; i < on->ring->members; i++) {
        left[i] = gs_tick_after(base, gs_tick_of(left_of(on, on->ring->turns - 1, i)));
    }
}

bool gs_ring_recurrence(const gs_ring *ring, const gs_ring_links *links, const gs_tick *starts,
                        gs_ring_room *room, gs_tick *received, gs_tick *left)
{
    uint64_t n = ring->members;
    GS_ASSERT(n >= 2 && ring->turns >= 1 && ring->first < n);
    if (!reserve_reals(room, 7 * n)) {
        return false;
    }
    double *reals = room->reals;
    turning on = {.ring = ring,
                  .begin = reals,
                  .next = reals + n,
                  .wire = {reals + 2 * n, reals + 3 * n},
                  .whole = {reals + 4 * n, reals + 5 * n},
                  .latency = reals + 4 * n,
                  .last = reals + 5 * n,
                  .factors = reals + 6 * n};
    gs_tick base = starts[0];
    for (uint64_t i = 1; i < n; i++) {
        base = starts[i] < base ? starts[i] : base;
    }
    set_up(&on, links, starts, base);
    for (uint64_t turn = 0; turn < ring->turns; turn++) {
        if (turn + 1 == ring->turns) {
            get_left(&on, base, left);
        }
        if (links->draw != NULL) {
            arrive_drawn(&on, links, turn);
        } else {
            arrive(&on, turn);
        }
        double *begun = on.begin;
        on.begin = on.next;
        on.next = begun;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t from = i == 0 ? n - 1 : i - 1;
        if (links->draw != NULL) {
            links->last_arrival[from] = gs_tick_after(base, gs_tick_of(on.last[from]));
            received[i] = links->last_arrival[from];
        } else {
            received[i] = gs_tick_after(left[from], links->latency[from]);
        }
    }
    return true;
}
