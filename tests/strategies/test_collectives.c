/* Every collective of the registry against what its kind promises, played by a small interpreter:
 * lanes in any order, data copied when it is sent or read where it lies when it is received. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "strategies/registry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MEMBERS_MAX = 33,
    ELEMENTS_MAX = 101,
    RINGS_MAX = 3,
    CHANNELS_MAX = 2 * RINGS_MAX,
    LANES_MAX = 4 * RINGS_MAX,
    PARCELS_MAX = 8192,
    ORDERS = 6
};

typedef struct parcel {
    int64_t offset, length; /* of the sender's slice */
    bool copied;
    int64_t whole[ELEMENTS_MAX]; /* as it was when sent */
    float real[ELEMENTS_MAX];
    struct parcel *next;
} parcel;

typedef struct queue {
    parcel *first, *last;
} queue;

typedef struct member {
    gs_shape shape;
    uint32_t lanes;
    uint64_t index[LANES_MAX]; /* of the next vertex */
    bool ended[LANES_MAX];
    int64_t whole[ELEMENTS_MAX];   /* whole numbers: a sum is exact in any order, */
    float real[ELEMENTS_MAX];      /* and others: it is not */
    uint32_t writer[ELEMENTS_MAX]; /* lane + 1 that wrote it last; 0: none */
} member;

static struct {
    const gs_collective *collective;
    gs_shape shape;
    bool rendezvous; /* data is read where it lies when it is received */
    member member[MEMBERS_MAX];
    queue channel[MEMBERS_MAX][MEMBERS_MAX][CHANNELS_MAX]; /* [from][to] */
    parcel parcels[PARCELS_MAX];
    parcel *free;
} game;

/* "ring of 4 (inner 2, middle 1, 3 rings, pieces of 0), 7 elements", for messages. */
static const char *what(void)
{
    static char text[160];
    (void)snprintf(text, sizeof text,
                   "%s of %u (inner %u, middle %u, %u rings, pieces of %lld), %lld elements, %s",
                   game.collective->name, game.shape.members, game.shape.inner, game.shape.middle,
                   game.shape.rings, (long long)game.shape.piece, (long long)game.shape.elements,
                   game.rendezvous ? "rendezvous" : "eager");
    return text;
}

static int64_t value_of(uint32_t rank, int64_t i)
{
    return (int64_t)(gs_rng_bits((gs_rng_key){11, GS_RNG_TEST, rank}, (uint64_t)i, 0) >> 20);
}

static float real_of(uint32_t rank, int64_t i)
{
    return (float)gs_rng_uniform((gs_rng_key){12, GS_RNG_TEST, rank}, (uint64_t)i, 0) - 0.5F;
}

static void deal(const gs_collective *collective, const gs_shape *shape)
{
    memset(game.channel, 0, sizeof game.channel);
    game.collective = collective;
    game.shape = *shape;
    game.free = NULL;
    for (int i = 0; i < PARCELS_MAX; i++) {
        game.parcels[i].next = game.free;
        game.free = &game.parcels[i];
    }
    for (uint32_t rank = 0; rank < shape->members; rank++) {
        member *on = &game.member[rank];
        *on = (member){.shape = *shape};
        on->shape.self = rank;
        on->lanes = gs_collective_lanes(collective, &on->shape);
        cr_assert_leq(on->lanes, LANES_MAX);
        for (int64_t i = 0; i < shape->elements; i++) {
            on->whole[i] = value_of(rank, i);
            on->real[i] = real_of(rank, i);
        }
    }
}

static void check_vertex(const member *on, const gs_vertex *vertex)
{
    cr_assert_lt(vertex->peer, game.shape.members, "%s", what());
    cr_assert_neq(vertex->peer, on->shape.self, "%s", what());
    cr_assert_lt(vertex->channel, gs_collective_channels(game.collective, &on->shape));
    cr_assert(vertex->offset >= 0 && vertex->length >= 0 &&
                  vertex->offset + vertex->length <= game.shape.elements,
              "%s: part [%lld, +%lld)", what(), (long long)vertex->offset,
              (long long)vertex->length);
}

static void play_send(member *on, uint32_t lane, const gs_vertex *vertex)
{
    queue *to = &game.channel[on->shape.self][vertex->peer][vertex->channel];
    parcel *sent = game.free;
    cr_assert_not_null(sent);
    game.free = sent->next;
    sent->next = NULL;
    sent->offset = vertex->offset;
    sent->length = vertex->length;
    sent->copied = vertex->copied;
    for (int64_t i = 0; i < vertex->length; i++) {
        int64_t at = vertex->offset + i;
        cr_assert(on->writer[at] == 0 || on->writer[at] == lane + 1,
                  "%s: lane %u of member %u sends what lane %u has written", what(), lane,
                  on->shape.self, on->writer[at] - 1);
        /* An all-to-all receives into another slice: what goes out stays as it was. */
        bool other = game.collective->kind == GS_ALL_TO_ALL;
        sent->whole[i] = other ? value_of(on->shape.self, at) : on->whole[at];
        sent->real[i] = other ? real_of(on->shape.self, at) : on->real[at];
    }
    if (to->first == NULL) {
        to->first = sent;
    } else {
        to->last->next = sent;
    }
    to->last = sent;
}

static bool play_receive(member *on, uint32_t lane, const gs_vertex *vertex)
{
    queue *from = &game.channel[vertex->peer][on->shape.self][vertex->channel];
    parcel *came = from->first;
    if (came == NULL) {
        return false;
    }
    cr_assert_eq(came->length, vertex->length, "%s", what());
    const member *sender = &game.member[vertex->peer];
    bool lies = game.rendezvous && !came->copied && game.collective->kind != GS_ALL_TO_ALL;
    const int64_t *whole = lies ? sender->whole + came->offset : came->whole;
    const float *real = lies ? sender->real + came->offset : came->real;
    for (int64_t i = 0; i < vertex->length; i++) {
        int64_t at = vertex->offset + i;
        bool add = vertex->kind == GS_VERTEX_ADD;
        on->whole[at] = whole[i] + (add ? on->whole[at] : 0);
        on->real[at] = add ? on->real[at] + real[i] : real[i];
        on->writer[at] = lane + 1;
    }
    from->first = came->next;
    came->next = game.free;
    game.free = came;
    return true;
}

/* One vertex of one lane; false: it waits or has ended. */
static bool turn(member *on, uint32_t lane)
{
    gs_vertex vertex;
    if (on->ended[lane] || !game.collective->vertex(&on->shape, lane, on->index[lane], &vertex)) {
        on->ended[lane] = true;
        return false;
    }
    check_vertex(on, &vertex);
    if (vertex.kind == GS_VERTEX_SEND) {
        play_send(on, lane, &vertex);
    } else if (!play_receive(on, lane, &vertex)) {
        return false;
    }
    on->index[lane]++;
    return true;
}

/* Goes on until nothing has moved for so many attempts. */
static void sweep(uint64_t seed, uint64_t idle_max)
{
    gs_rng_key key = {seed, GS_RNG_TEST, game.shape.members};
    uint32_t lanes = game.member[0].lanes;
    uint64_t all = (uint64_t)game.shape.members * lanes;
    uint64_t idle = 0;
    for (uint64_t i = 0; idle < idle_max; i++) {
        uint64_t at = seed > 2 ? gs_rng_bits(key, i, 0) % all : i % all;
        at = seed == 2 ? all - 1 - at : at;
        bool moved = turn(&game.member[at / lanes], (uint32_t)(at % lanes));
        while (moved && (seed == 1 || seed == 2) &&
               turn(&game.member[at / lanes], (uint32_t)(at % lanes))) {
        }
        idle = moved ? 0 : idle + 1;
    }
}

/* Lanes move in an order that `seed` decides: by turns, each as far as it can from the first or
 * from the last one, or at random, and to the end by turns. */
static void play(uint64_t seed)
{
    uint64_t all = (uint64_t)game.shape.members * game.member[0].lanes;
    sweep(seed, 2 * all);
    sweep(0, all);
}

/* The member in whose part element i lies. */
static uint32_t owner_of(int64_t i)
{
    for (uint32_t part = 0; part < game.shape.members; part++) {
        int64_t offset;
        int64_t length;
        gs_part_of(game.shape.elements, game.shape.members, part, &offset, &length);
        if (i >= offset && i < offset + length) {
            return part;
        }
    }
    cr_assert_fail("element %lld is in no part", (long long)i);
    return 0;
}

static int64_t sum_of(int64_t i)
{
    int64_t sum = 0;
    for (uint32_t other = 0; other < game.shape.members; other++) {
        sum += value_of(other, i);
    }
    return sum;
}

/* What element i of a member's slice must be in the end; false: anything. */
static bool promised(uint32_t rank, int64_t i, int64_t *out)
{
    uint32_t root = game.shape.root;
    uint32_t owner = owner_of(i);
    int64_t each = game.shape.elements / game.shape.members;
    switch (game.collective->kind) {
    case GS_ALL_GATHER:
        *out = value_of(owner, i);
        return true;
    case GS_BROADCAST:
        *out = value_of(root, i);
        return true;
    case GS_ALL_TO_ALL:
        *out = value_of((uint32_t)(i / each), rank * each + i % each);
        return true;
    case GS_GATHER:
        *out = value_of(owner, i);
        return rank == root;
    case GS_SCATTER:
        *out = value_of(root, i);
        return rank == owner || rank == root;
    case GS_ALL_REDUCE:
    case GS_REDUCE_SCATTER:
    case GS_REDUCE:
    case GS_COLLECTIVE_KIND_COUNT:
        break;
    }
    *out = sum_of(i);
    return game.collective->kind == GS_ALL_REDUCE ||
           rank == (game.collective->kind == GS_REDUCE ? root : owner);
}

static void check_ends(uint32_t rank)
{
    member *on = &game.member[rank];
    gs_vertex vertex;
    for (uint32_t lane = 0; lane < on->lanes; lane++) {
        for (uint64_t later = 0; later < 3; later++) {
            cr_assert(!game.collective->vertex(&on->shape, lane, on->index[lane] + later, &vertex),
                      "%s: lane %u of member %u never ends", what(), lane, rank);
        }
    }
    for (uint32_t other = 0; other < game.shape.members; other++) {
        for (uint32_t channel = 0; channel < CHANNELS_MAX; channel++) {
            cr_assert_null(game.channel[rank][other][channel].first,
                           "%s: a part was sent and never received", what());
        }
    }
}

/* reals: [elements] of the first order, for the others to be equal to, bit for bit. */
static void check_promise(uint64_t seed, float *reals)
{
    for (uint32_t rank = 0; rank < game.shape.members; rank++) {
        const member *on = &game.member[rank];
        check_ends(rank);
        for (int64_t i = 0; i < game.shape.elements; i++) {
            int64_t wanted;
            if (!promised(rank, i, &wanted)) {
                continue;
            }
            cr_assert_eq(on->whole[i], wanted, "%s, order %llu: element %lld of member %u", what(),
                         (unsigned long long)seed, (long long)i, rank);
            bool is_first = seed == 0 && (rank == 0 || game.collective->kind != GS_ALL_REDUCE);
            uint32_t place = game.collective->kind == GS_ALL_REDUCE ? 0 : rank;
            float *real = &reals[place * ELEMENTS_MAX + i];
            *real = is_first ? on->real[i] : *real;
            cr_assert_eq(memcmp(real, &on->real[i], sizeof *real), 0,
                         "%s, order %llu: bits of element %lld of member %u", what(),
                         (unsigned long long)seed, (long long)i, rank);
        }
    }
}

/* The smallest divisor of n above 1. */
static uint32_t divisor_of(uint32_t n)
{
    uint32_t divisor = 2;
    while (divisor < n && n % divisor != 0) {
        divisor++;
    }
    return n == 1 ? 1 : divisor;
}

enum { VARIANTS = 7 };

/* Shapes that a program looks at; false: it does not look at this one. */
static bool variant_of(const gs_collective *collective, uint32_t members, int number, gs_shape *out)
{
    uint32_t inner = divisor_of(members);
    uint32_t middle = divisor_of(members / inner);
    const struct {
        uint32_t rings, inner, middle;
        int64_t piece;
    } variants[VARIANTS] = {{1, 1, 1, 0},          {2, 1, 1, 0}, {1, inner, 1, 0},
                            {3, inner, middle, 0}, {1, 1, 1, 1}, {RINGS_MAX, inner, 1, 3},
                            {1, members, 1, 5}};
    out->rings = variants[number].rings;
    out->inner = variants[number].inner;
    out->middle = variants[number].middle;
    out->piece = variants[number].piece;
    return (out->rings == 1 || (collective->takes & GS_TAKES_RINGS) != 0) &&
           (out->inner == 1 || (collective->takes & GS_TAKES_NODES) != 0) &&
           (out->piece == 0 || (collective->takes & GS_TAKES_PIECES) != 0);
}

/* Rings from the last member to the first but one place: 0, n - 1, ..., 1. */
static const uint32_t *backwards_of(uint32_t members)
{
    static uint32_t order[2 * MEMBERS_MAX];
    for (uint32_t place = 0; place < members; place++) {
        order[place] = place == 0 ? 0 : members - place;
        order[members + order[place]] = place;
    }
    return order;
}

static void check_shape(const gs_collective *collective, gs_shape shape)
{
    const int64_t elements[] = {0, 1, 2, 17, 33, 101, shape.members - 1, 3 * shape.members};
    static float reals[MEMBERS_MAX * ELEMENTS_MAX];
    bool is_large = shape.members > 8;
    for (size_t e = 0; e < sizeof elements / sizeof *elements; e += is_large ? 2 : 1) {
        shape.elements = elements[e];
        if (collective->kind == GS_ALL_TO_ALL && elements[e] % shape.members != 0) {
            continue;
        }
        shape.root = (uint32_t)(e * 5) % shape.members;
        for (uint64_t seed = 0; seed < ORDERS; seed += is_large ? 3 : 1) {
            deal(collective, &shape);
            play(seed);
            check_promise(seed, reals);
        }
    }
}

static void check_all(bool rendezvous)
{
    game.rendezvous = rendezvous;
    for (uint32_t c = 0; c < gs_collective_count(); c++) {
        for (uint32_t members = 1; members <= MEMBERS_MAX; members++) {
            for (int variant = 0; variant < VARIANTS; variant++) {
                gs_shape shape = gs_shape_plain(members, 0, 0);
                bool asked = members <= 17 || members >= 31;
                if (asked && variant_of(gs_collective_at(c), members, variant, &shape)) {
                    check_shape(gs_collective_at(c), shape);
                    shape.order = backwards_of(members);
                    check_shape(gs_collective_at(c), shape);
                }
            }
        }
    }
}

Test(collectives, each_keeps_its_promise_for_1_to_33_members_and_any_count, .timeout = 300)
{
    check_all(false);
}

/* A part that is not a copy is written over only by what depends on its receipt: data need not be
 * buffered. */
Test(collectives, each_is_safe_without_buffering, .timeout = 300)
{
    check_all(true);
}

/* Lane + 1 that names a peer and a channel, whatever the root. */
typedef uint32_t named[MEMBERS_MAX][CHANNELS_MAX];

static void peers_of(const gs_collective *collective, const gs_shape *shape, bool sends, named out)
{
    gs_vertex vertex;
    gs_shape rooted = *shape;
    memset(out, 0, sizeof(named));
    for (rooted.root = 0; rooted.root < shape->members; rooted.root++) {
        for (uint32_t lane = 0; lane < gs_collective_lanes(collective, shape); lane++) {
            for (uint64_t i = 0; collective->vertex(&rooted, lane, i, &vertex); i++) {
                if ((vertex.kind == GS_VERTEX_SEND) == sends) {
                    uint32_t *of = &out[vertex.peer][vertex.channel];
                    cr_assert(sends || *of == 0 || *of == lane + 1,
                              "%s: a channel is read by two lanes", collective->name);
                    *of = lane + 1;
                }
            }
        }
    }
}

static void expect_peers(const gs_collective *collective, const gs_shape *shape, bool sends)
{
    named used;
    gs_edge said[MEMBERS_MAX * CHANNELS_MAX];
    peers_of(collective, shape, sends, used);
    uint32_t count = sends ? collective->targets(shape, said) : collective->sources(shape, said);
    cr_assert_leq(count, (shape->members - 1) * gs_collective_channels(collective, shape));
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_neq(used[said[i].peer][said[i].channel], 0, "%s names %u twice or in vain",
                      collective->name, said[i].peer);
        used[said[i].peer][said[i].channel] = 0;
    }
    for (uint32_t i = 0; i < shape->members; i++) {
        for (uint32_t channel = 0; channel < CHANNELS_MAX; channel++) {
            cr_assert_eq(used[i][channel], 0, "%s, member %u of %u: %u on channel %u is not named",
                         collective->name, shape->self, shape->members, i, channel);
        }
    }
}

Test(collectives, sources_and_targets_are_those_of_the_program)
{
    for (uint32_t c = 0; c < gs_collective_count(); c++) {
        for (uint32_t members = 1; members <= MEMBERS_MAX; members++) {
            for (int variant = 0; variant < VARIANTS; variant++) {
                gs_shape shape = gs_shape_plain(members, 0, 1000);
                bool asked = variant_of(gs_collective_at(c), members, variant, &shape);
                for (shape.self = 0; asked && shape.self < members; shape.self++) {
                    expect_peers(gs_collective_at(c), &shape, false);
                    expect_peers(gs_collective_at(c), &shape, true);
                }
            }
        }
    }
}

/* Children of a member in one tree: whom it receives from to add. */
static uint32_t children_of(const gs_collective *trees, const gs_shape *shape, uint32_t tree)
{
    gs_vertex vertex;
    uint32_t count = 0;
    for (uint64_t i = 0; trees->vertex(shape, 2 * tree, i, &vertex); i++) {
        count += vertex.kind == GS_VERTEX_ADD ? 1 : 0;
    }
    return count;
}

/* Of an odd number of members one is at the end of one tree and the root of the other. */
Test(collectives, who_has_children_in_one_binary_tree_has_none_in_the_other)
{
    const gs_collective *trees = gs_collective_find("double_binary_tree");
    for (uint32_t members = 2; members <= MEMBERS_MAX; members++) {
        uint32_t in_both = 0;
        for (uint32_t self = 0; self < members; self++) {
            gs_shape shape = gs_shape_plain(members, self, 1000);
            uint32_t first = children_of(trees, &shape, 0), second = children_of(trees, &shape, 1);
            cr_expect(first <= 2 && second <= 2);
            in_both += first > 0 && second > 0 ? 1 : 0;
        }
        cr_expect_leq(in_both, members % 2, "%u members: %u have children twice", members, in_both);
    }
}

static void expect_seconds(const char *name, uint32_t members, double closed, double shared)
{
    const gs_collective *of = gs_collective_find(name);
    gs_shape shape = gs_shape_plain(members, 0, 1000);
    double found = of->closed_s(&shape, 4000.0, 1e-3, 1e6);
    cr_expect(fabs(found - closed) < 1e-12, "%s of %u: %.17g, not %.17g", name, members, found,
              closed);
    found = (of->shared_s != NULL ? of->shared_s : of->closed_s)(&shape, 4000.0, 1e-3, 1e6);
    cr_expect(fabs(found - shared) < 1e-12, "%s of %u on one link: %.17g, not %.17g", name, members,
              found, shared);
}

/* 4000 bytes, 1 ms a message, 1 MB/s. What programs take when they are played is another test's:
 * tests/sim/test_collective_times.c. */
Test(collectives, closed_forms_are_those_of_the_textbook)
{
    expect_seconds("ring", 4, 6 * (1e-3 + 1e-3), 6 * (1e-3 + 1e-3)); /* 2 (n - 1) quarters */
    expect_seconds("ring", 1, 0.0, 0.0);
    /* Three whole ones in, three out: at once, or one after the other. */
    expect_seconds("naive", 4, 2 * (1e-3 + 4e-3), 2 * (1e-3 + 3 * 4e-3));
    expect_seconds("naive", 1, 0.0, 0.0);
    expect_seconds("ring_reduce_scatter", 4, 3 * (1e-3 + 1e-3), 3 * (1e-3 + 1e-3));
    expect_seconds("ring_all_gather", 4, 3 * (1e-3 + 1e-3), 3 * (1e-3 + 1e-3));
    /* Place 3 hangs under 1. The root sends to 1, 2 and 4 at once; 1 to 3. */
    expect_seconds("binomial_broadcast", 5, 2 * (1e-3 + 4e-3), 1e-3 + 3 * 4e-3 + 1e-3 + 4e-3);
    expect_seconds("binomial_broadcast", 1, 0.0, 0.0);
    expect_seconds("pairwise_all_to_all", 4, 3 * (1e-3 + 1e-3), 3 * (1e-3 + 1e-3));
    /* Halves, quarters, and back; of 6 two pairs go before and after that. */
    expect_seconds("halving_doubling", 4, 2 * (2e-3 + 3e-3), 2 * (2e-3 + 3e-3));
    expect_seconds("halving_doubling", 6, 2 * (2e-3 + 3e-3) + 2 * 5e-3, 20e-3);
    expect_seconds("recursive_doubling", 8, 3 * 5e-3, 3 * 5e-3);
    /* Trees of two, over three links: of four, half of the bytes over each, up and down. */
    expect_seconds("double_binary_tree", 4, 4 * (1e-3 + 2e-3), 4 * (1e-3 + 2e-3));
}

Test(collectives, names_are_sorted_and_found)
{
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        const gs_collective *collective = gs_collective_at(i);
        cr_expect_eq(gs_collective_find(collective->name), collective);
        cr_expect(i == 0 || strcmp(gs_collective_at(i - 1)->name, collective->name) < 0);
    }
    cr_expect_null(gs_collective_find("carrier-pigeon"));
}
