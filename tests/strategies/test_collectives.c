/* Every collective of the registry against what its kind promises, played by a small interpreter.
 */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "strategies/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MAX = 17, ELEMENTS_MAX = 40, QUEUE_MAX = 64 };

typedef struct parcel {
    int64_t offset, length;     /* of the sender's slice */
    int64_t copy[ELEMENTS_MAX]; /* eager: as it was when sent */
} parcel;

typedef struct queue {
    parcel parcels[QUEUE_MAX];
    int first, count;
} queue;

typedef struct member {
    gs_shape shape;
    uint64_t index; /* of its next vertex */
    bool ended;
    int64_t values[ELEMENTS_MAX];
} member;

static struct {
    const gs_collective *collective;
    uint32_t members;
    int64_t elements;
    bool rendezvous; /* data is read where it lies when it is received */
    member member[MEMBERS_MAX];
    queue channel[MEMBERS_MAX][MEMBERS_MAX]; /* [from][to] */
} game;

/* Whole numbers: a sum is exact in any order. */
static int64_t value_of(uint32_t rank, int64_t i)
{
    return (int64_t)(gs_rng_bits((gs_rng_key){11, GS_RNG_TEST, rank}, (uint64_t)i, 0) >> 20);
}

static void deal(const gs_collective *collective, uint32_t members, uint32_t root, int64_t elements)
{
    memset(game.channel, 0, sizeof game.channel);
    game.collective = collective;
    game.members = members;
    game.elements = elements;
    for (uint32_t rank = 0; rank < members; rank++) {
        game.member[rank] = (member){.shape = gs_shape_plain(members, rank, elements)};
        game.member[rank].shape.root = root;
        for (int64_t i = 0; i < elements; i++) {
            game.member[rank].values[i] = value_of(rank, i);
        }
    }
}

static void check_vertex(const member *on, const gs_vertex *vertex)
{
    cr_assert_lt(vertex->peer, game.members);
    cr_assert_neq(vertex->peer, on->shape.self);
    cr_assert(vertex->offset >= 0 && vertex->length >= 0 &&
                  vertex->offset + vertex->length <= game.elements,
              "%s, %u members, %lld elements: part [%lld, +%lld)", game.collective->name,
              game.members, (long long)game.elements, (long long)vertex->offset,
              (long long)vertex->length);
}

static void play_send(member *on, const gs_vertex *vertex)
{
    queue *to = &game.channel[on->shape.self][vertex->peer];
    cr_assert_lt(to->count, QUEUE_MAX);
    parcel *sent = &to->parcels[(to->first + to->count++) % QUEUE_MAX];
    sent->offset = vertex->offset;
    sent->length = vertex->length;
    memcpy(sent->copy, on->values + vertex->offset, (size_t)vertex->length * sizeof *sent->copy);
    /* An all-to-all receives into another slice: what goes out stays as it was. */
    for (int64_t i = 0; game.collective->kind == GS_ALL_TO_ALL && i < vertex->length; i++) {
        sent->copy[i] = value_of(on->shape.self, vertex->offset + i);
    }
}

static bool play_receive(member *on, const gs_vertex *vertex)
{
    queue *from = &game.channel[vertex->peer][on->shape.self];
    if (from->count == 0) {
        return false;
    }
    const parcel *came = &from->parcels[from->first];
    cr_assert_eq(came->length, vertex->length);
    const int64_t *data = game.rendezvous && game.collective->kind != GS_ALL_TO_ALL
                              ? game.member[vertex->peer].values + came->offset
                              : came->copy;
    for (int64_t i = 0; i < vertex->length; i++) {
        int64_t *into = &on->values[vertex->offset + i];
        *into = data[i] + (vertex->kind == GS_VERTEX_ADD ? *into : 0);
    }
    from->first = (from->first + 1) % QUEUE_MAX;
    from->count--;
    return true;
}

/* One vertex of one member; false: it waits or has ended. */
static bool turn(member *on)
{
    gs_vertex vertex;
    if (on->ended || !game.collective->vertex(&on->shape, 0, on->index, &vertex)) {
        on->ended = true;
        return false;
    }
    check_vertex(on, &vertex);
    if (vertex.kind == GS_VERTEX_SEND) {
        play_send(on, &vertex);
    } else if (!play_receive(on, &vertex)) {
        return false;
    }
    on->index++;
    return true;
}

/* Members move in an order that `seed` decides: by turns, each as far as it can from the first or
 * from the last one, or at random. */
static void play(uint64_t seed)
{
    gs_rng_key key = {seed, GS_RNG_TEST, game.members};
    uint64_t idle = 0;
    for (uint64_t i = 0; idle < 4 * (uint64_t)game.members * MEMBERS_MAX; i++) {
        uint32_t rank = (uint32_t)(i % game.members);
        bool moved = false;
        if (seed == 0) {
            moved = turn(&game.member[rank]);
        } else if (seed <= 2) {
            while (turn(&game.member[seed == 1 ? rank : game.members - 1 - rank])) {
                moved = true;
            }
        } else {
            moved = turn(&game.member[gs_rng_bits(key, i, 0) % game.members]);
        }
        idle = moved ? 0 : idle + 1;
    }
}

/* The member in whose part element i lies. */
static uint32_t owner_of(int64_t i)
{
    for (uint32_t part = 0; part < game.members; part++) {
        int64_t offset;
        int64_t length;
        gs_part_of(game.elements, game.members, part, &offset, &length);
        if (i >= offset && i < offset + length) {
            return part;
        }
    }
    cr_assert_fail("element %lld is in no part", (long long)i);
    return 0;
}

/* What element i of a member's slice must be in the end; false: anything. */
static bool promised(uint32_t rank, int64_t i, int64_t *out)
{
    *out = 0;
    switch (game.collective->kind) {
    case GS_ALL_GATHER:
        *out = value_of(owner_of(i), i);
        return true;
    case GS_BROADCAST:
        *out = value_of(game.member[rank].shape.root, i);
        return true;
    case GS_ALL_TO_ALL: {
        int64_t each = game.elements / game.members;
        *out = value_of((uint32_t)(i / each), rank * each + i % each);
        return true;
    }
    case GS_ALL_REDUCE:
    case GS_REDUCE_SCATTER:
    case GS_COLLECTIVE_KIND_COUNT:
        break;
    }
    for (uint32_t other = 0; other < game.members; other++) {
        *out += value_of(other, i);
    }
    return game.collective->kind == GS_ALL_REDUCE || owner_of(i) == rank;
}

static void check_promise(uint64_t seed)
{
    for (uint32_t rank = 0; rank < game.members; rank++) {
        gs_vertex vertex;
        const member *on = &game.member[rank];
        cr_assert(!game.collective->vertex(&on->shape, 0, on->index, &vertex),
                  "%s, %u members, %lld elements, order %llu: member %u never ends",
                  game.collective->name, game.members, (long long)game.elements,
                  (unsigned long long)seed, rank);
        cr_assert(!game.collective->vertex(&on->shape, 0, on->index + 1, &vertex));
        for (int64_t i = 0; i < game.elements; i++) {
            int64_t wanted;
            cr_assert(!promised(rank, i, &wanted) || on->values[i] == wanted,
                      "%s, %u members, %lld elements, order %llu, %s: element %lld of member %u",
                      game.collective->name, game.members, (long long)game.elements,
                      (unsigned long long)seed, game.rendezvous ? "rendezvous" : "eager",
                      (long long)i, rank);
        }
        for (uint32_t other = 0; other < game.members; other++) {
            cr_assert_eq(game.channel[rank][other].count, 0, "a part was sent and never received");
        }
    }
}

static void check_all(bool rendezvous)
{
    const int64_t elements[] = {0, 1, 2, 3, 7, 16, 17, 18, 40};
    game.rendezvous = rendezvous;
    for (uint32_t c = 0; c < gs_collective_count(); c++) {
        for (uint32_t members = 1; members <= MEMBERS_MAX; members++) {
            for (size_t e = 0; e < sizeof elements / sizeof *elements; e++) {
                bool equal_parts = elements[e] % members == 0;
                for (uint64_t seed = 0; seed < 6; seed++) {
                    if (gs_collective_at(c)->kind == GS_ALL_TO_ALL && !equal_parts) {
                        continue;
                    }
                    deal(gs_collective_at(c), members, (uint32_t)(seed * 5) % members, elements[e]);
                    play(seed);
                    check_promise(seed);
                }
            }
        }
    }
}

Test(collectives, each_keeps_its_promise_for_1_to_17_members_and_any_count)
{
    check_all(false);
}

/* A part is written over only by what depends on its receipt: data need not be buffered. */
Test(collectives, each_is_safe_without_buffering)
{
    check_all(true);
}

/* What a program names as peers, whatever the root: [members] flags. */
static void peers_of(const gs_collective *collective, const gs_shape *shape, bool sends, bool *out)
{
    gs_vertex vertex;
    gs_shape rooted = *shape;
    memset(out, 0, MEMBERS_MAX * sizeof *out);
    for (rooted.root = 0; rooted.root < shape->members; rooted.root++) {
        for (uint64_t i = 0; collective->vertex(&rooted, 0, i, &vertex); i++) {
            if ((vertex.kind == GS_VERTEX_SEND) == sends) {
                out[vertex.peer] = true;
            }
        }
    }
}

static void expect_peers(const gs_collective *collective, const gs_shape *shape, bool sends)
{
    bool used[MEMBERS_MAX];
    gs_edge named[MEMBERS_MAX];
    peers_of(collective, shape, sends, used);
    uint32_t count = sends ? collective->targets(shape, named) : collective->sources(shape, named);
    cr_assert_leq(count, shape->members - 1);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect(used[named[i].peer], "%s names %u twice or in vain", collective->name,
                  named[i].peer);
        used[named[i].peer] = false;
    }
    for (uint32_t i = 0; i < shape->members; i++) {
        cr_expect_not(used[i], "%s, member %u of %u: %u is not named", collective->name,
                      shape->self, shape->members, i);
    }
}

Test(collectives, sources_and_targets_are_those_of_the_program)
{
    for (uint32_t c = 0; c < gs_collective_count(); c++) {
        for (uint32_t members = 1; members <= MEMBERS_MAX; members++) {
            for (uint32_t rank = 0; rank < members; rank++) {
                gs_shape shape = gs_shape_plain(members, rank, 1000);
                expect_peers(gs_collective_at(c), &shape, false);
                expect_peers(gs_collective_at(c), &shape, true);
            }
        }
    }
}

static void expect_closed(const char *name, uint32_t members, double wanted)
{
    gs_shape shape = gs_shape_plain(members, 0, 1000);
    double found = gs_collective_find(name)->closed_s(&shape, 4000.0, 1e-3, 1e6);
    cr_expect(fabs(found - wanted) < 1e-12, "%s of %u: %.17g, not %.17g", name, members, found,
              wanted);
}

/* 4000 bytes, 1 ms a message, 1 MB/s. */
Test(collectives, closed_forms_are_those_of_the_textbook)
{
    expect_closed("ring", 4, 6 * (1e-3 + 1e-3)); /* 2 (n - 1) messages of a quarter */
    expect_closed("ring", 1, 0.0);
    expect_closed("naive", 4, 2 * (1e-3 + 3 * 4e-3)); /* three whole ones in, three out */
    expect_closed("naive", 1, 0.0);
    expect_closed("ring_reduce_scatter", 4, 3 * (1e-3 + 1e-3));
    expect_closed("ring_all_gather", 4, 3 * (1e-3 + 1e-3));
    expect_closed("binomial_broadcast", 5, 3 * (1e-3 + 4e-3)); /* 1, 2, 4, then all have it */
    expect_closed("binomial_broadcast", 1, 0.0);
    expect_closed("pairwise_all_to_all", 4, 3 * (1e-3 + 1e-3));
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
