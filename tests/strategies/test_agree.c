/* Agreements of whole groups: a thousand runs in which notes and completions come in a random
 * order. All members get the same bits, and they are those of a plain loop over what they said. */
#include <criterion/criterion.h>

#include "base/assert.h"
#include "base/rng.h"
#include "strategies/driver.h"
#include "strategies/group.h"
#include "strategies/world.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { RANKS_MAX = 34, ASKED = 8, AT_ONCE = 3, RUNS = 1000, COMMUNICATORS = 2 };

typedef struct arrival {
    gs_message note;
    uint32_t to, slot; /* slot: of a completion, where is_later */
    bool is_later;
} arrival;

/* Every entity's host: what is on its way, in the order in which it was sent. */
static struct {
    gs_arena arena;
    gs_job job;
    gs_layout layout;
    gs_driver *drivers[RANKS_MAX];
    arrival events[8 * RANKS_MAX * ASKED];
    uint32_t count, notes;
    uint64_t run;
    double got[RANKS_MAX][ASKED][GS_AGREE_VALUES];
    uint32_t done[RANKS_MAX];
    gs_error error;
} mesh;

/* ---------------------------------------------------------------- what a rank says */

static uint64_t drawn(uint32_t purpose, uint32_t rank, uint32_t index)
{
    return gs_rng_bits((gs_rng_key){17 + purpose, GS_RNG_STRATEGY, rank}, mesh.run, index);
}

static gs_agree_kind kind_of(uint32_t label)
{
    return (gs_agree_kind)(drawn(0, 0, label) % GS_AGREE_KINDS);
}

/* Every 16th is no number, and every 16th a zero of either sign. */
static double said(uint32_t rank, uint32_t label, uint32_t index)
{
    uint64_t bits = drawn(1, rank, label * GS_AGREE_VALUES + index);
    double value = (double)(int64_t)(bits >> 8) / 3.0;
    uint64_t special = bits % 32;
    return special == 0 ? (double)NAN : special == 1 ? 0.0 : special == 2 ? -0.0 : value;
}

static uint32_t communicator_of(uint32_t label)
{
    return label % COMMUNICATORS;
}

static void ask(gs_world *world, uint32_t label)
{
    double values[GS_AGREE_VALUES];
    for (uint32_t i = 0; i < GS_AGREE_VALUES; i++) {
        values[i] = said(gs_self(world).index, label, i);
    }
    (void)gs_agree(world, communicator_of(label), kind_of(label), values, label);
}

typedef struct state {
    uint32_t asked;
} state;

static void init(gs_world *world, void *memory)
{
    state *own = memory;
    while (own->asked < AT_ONCE) {
        ask(world, own->asked++);
    }
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *own = memory;
    uint32_t rank = gs_self(world).index;
    memcpy(mesh.got[rank][event->cookie], event->agreed, sizeof event->agreed);
    mesh.done[rank]++;
    if (own->asked < ASKED) {
        ask(world, own->asked++);
    }
}

static const gs_strategy talker = {
    .struct_bytes = sizeof(gs_strategy), .name = "talker", .init = init, .op_done = op_done};

/* ---------------------------------------------------------------- the mesh */

static void note(void *host, const gs_message *message)
{
    (void)host;
    mesh.notes++;
    mesh.events[mesh.count++] = (arrival){.note = *message, .to = message->to.index};
}

static void later(void *host, gs_peer self, uint32_t slot)
{
    (void)host;
    mesh.events[mesh.count++] = (arrival){.to = self.index, .slot = slot, .is_later = true};
}

static void failed(void *host, gs_peer self, const gs_error *err)
{
    (void)host, (void)self;
    mesh.error = *err;
}

static const gs_host_calls calls = {.note = note, .later = later, .failed = failed};

/* The first event of the one's channel: notes of a pair stay in order. */
static uint32_t first_like(uint32_t chosen)
{
    const arrival *like = &mesh.events[chosen];
    for (uint32_t i = 0; i < chosen; i++) {
        const arrival *other = &mesh.events[i];
        if (!like->is_later && !other->is_later && other->to == like->to &&
            other->note.from.index == like->note.from.index) {
            return i;
        }
    }
    return chosen;
}

static void play(uint32_t turn)
{
    uint32_t at = first_like((uint32_t)(drawn(2, 0, turn) % mesh.count));
    arrival played = mesh.events[at];
    mesh.count--;
    memmove(&mesh.events[at], &mesh.events[at + 1], (mesh.count - at) * sizeof played);
    if (played.is_later) {
        gs_driver_later(mesh.drivers[played.to], turn, played.slot);
    } else {
        gs_driver_message(mesh.drivers[played.to], turn, &played.note);
    }
}

static void run(uint32_t ranks, gs_group inner)
{
    static const int64_t unit = 1;
    gs_arena_init(&mesh.arena);
    mesh.count = mesh.notes = 0;
    memset(mesh.done, 0, sizeof mesh.done);
    mesh.job = (gs_job){.ranks = ranks, .elements = 1, .unit_count = 1, .unit_elements = &unit};
    mesh.layout =
        (gs_layout){.state_bytes = {sizeof(state)},
                    .outstanding_max = {AT_ONCE},
                    .communicator_count = COMMUNICATORS,
                    .communicators = {{.kinds = GS_AGREES}, {.kinds = GS_AGREES, .group = inner}}};
    for (uint32_t rank = 0; rank < ranks; rank++) {
        gs_driver_config config = {
            .strategy = &talker,
            .job = &mesh.job,
            .layout = &mesh.layout,
            .buckets = gs_bucket_plan_make(&mesh.job, &mesh.layout.buckets, NULL, &mesh.arena),
            .self = {GS_WORKER, (uint16_t)rank},
            .calls = &calls,
            .swap_state = true,
        };
        mesh.drivers[rank] = gs_driver_create(&config, &mesh.arena);
        cr_assert(mesh.drivers[rank] != NULL);
        gs_driver_start(mesh.drivers[rank], 0);
    }
    for (uint32_t turn = 0; mesh.count > 0 && mesh.error.code == GS_OK; turn++) {
        play(turn);
    }
    cr_assert_eq(mesh.error.code, GS_OK, "%s", mesh.error.text);
}

/* ---------------------------------------------------------------- what should come of it */

/* The value, and by how much sums in another order may differ from it. */
static double plain(uint32_t ranks, gs_group group, uint32_t rank, uint32_t label, uint32_t index,
                    double *out_slack)
{
    double found = (double)NAN, sum = 0.0, magnitude = 0.0;
    uint32_t members = gs_group_size(group, ranks);
    for (uint32_t m = 0; m < members; m++) {
        double value = said(gs_group_rank(group, ranks, rank, m), label, index);
        sum += value;
        magnitude += fabs(value);
        bool is_better = kind_of(label) == GS_AGREE_MIN ? value < found : value > found;
        if (!isnan(value) && (isnan(found) || is_better)) {
            found = value;
        }
    }
    bool is_sum = kind_of(label) == GS_AGREE_SUM;
    *out_slack = is_sum ? members * DBL_EPSILON * magnitude : 0.0;
    return is_sum ? sum : found;
}

static void compare(uint32_t ranks, gs_group inner, uint32_t rank, uint32_t label)
{
    gs_group group = communicator_of(label) == 0 ? (gs_group){0} : inner;
    const double *got = mesh.got[rank][label];
    uint32_t first = gs_group_rank(group, ranks, rank, 0);
    cr_assert_eq(memcmp(got, mesh.got[first][label], sizeof mesh.got[rank][label]), 0,
                 "run %d: ranks %u and %u of %u agree differently", (int)mesh.run, first, rank,
                 ranks);
    for (uint32_t i = 0; i < GS_AGREE_VALUES; i++) {
        double slack;
        double wanted = plain(ranks, group, rank, label, i, &slack);
        bool are_nan = isnan(wanted) && isnan(got[i]);
        cr_assert(are_nan || fabs(got[i] - wanted) <= slack, "run %d, rank %u of %u: %g, not %g",
                  (int)mesh.run, rank, ranks, got[i], wanted);
        cr_assert(got[i] != 0.0 || !signbit(got[i]));
    }
}

Test(agree, a_thousand_random_runs_end_with_the_same_bits_everywhere, .timeout = 120)
{
    static const struct {
        uint32_t ranks;
        gs_group inner;
    } cases[] = {{1, {1, 1}},  {2, {2, 1}},   {3, {3, 1}},   {4, {2, 2}},
                 {6, {3, 2}},  {8, {4, 1}},   {12, {6, 1}},  {16, {16, 1}},
                 {17, {1, 1}}, {17, {17, 1}}, {33, {3, 11}}, {34, {17, 2}}};
    for (mesh.run = 0; mesh.run < RUNS; mesh.run++) {
        size_t c = mesh.run % (sizeof cases / sizeof *cases);
        uint32_t ranks = cases[c].ranks;
        run(ranks, cases[c].inner);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            cr_assert_eq(mesh.done[rank], ASKED, "run %d: rank %u waits", (int)mesh.run, rank);
            for (uint32_t label = 0; label < ASKED; label++) {
                compare(ranks, cases[c].inner, rank, label);
            }
        }
        gs_arena_fini(&mesh.arena);
    }
}

/* Of n members p, the largest power of two, exchange log2 p times; each of the n - p others tells
 * one of them and is told. */
Test(agree, costs_the_notes_that_it_says)
{
    static const uint32_t ranks[] = {1, 2, 3, 8, 17}, notes[] = {0, 2, 4, 24, 66};
    for (int i = 0; i < 5; i++) {
        run(ranks[i], (gs_group){ranks[i], 1});
        cr_expect_eq(mesh.notes, ASKED * notes[i], "%u ranks: %u", ranks[i], mesh.notes);
        gs_arena_fini(&mesh.arena);
    }
}
