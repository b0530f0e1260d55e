/* A sum at once against the program of its algorithm, vertex by vertex: bytes and ages. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "tests/strategies/probes.h"
#include "traces/sum.h"

#include <string.h>

enum { MEMBERS_MAX = 8, RINGS_MAX = 3, BATCH = 4, QUEUE_MAX = 32, OFFSET = 3 };

static gs_layout layout = {.own_vectors = {1}};

/* Two equal worlds: in one the program is played, in the other the sum is formed at once. */
static probe_job made;
static gs_entity_memory played[MEMBERS_MAX], at_once[MEMBERS_MAX];
static gs_entity_memory *const memories[MEMBERS_MAX] = {&at_once[0], &at_once[1], &at_once[2],
                                                        &at_once[3], &at_once[4], &at_once[5],
                                                        &at_once[6], &at_once[7]};
static gs_slice slices[MEMBERS_MAX];

static struct {
    int64_t offset[QUEUE_MAX], length[QUEUE_MAX];
    int first, count;
} channel[RINGS_MAX][MEMBERS_MAX][MEMBERS_MAX]; /* of which ring, from, to */

/* Floats that no half holds, and weights of several ages. */
static void fill(gs_entity_memory *memory, uint32_t rank)
{
    gs_rng_key key = {7, GS_RNG_TEST, rank};
    for (size_t i = 0; i < memory->vectors.count; i++) {
        memory->vectors.data[GS_GRAD * memory->vectors.count + i] =
            (float)(gs_rng_uniform(key, i, 0) - 0.5);
    }
    int64_t half = memory->vectors.elements / 2;
    gs_versions_put(&memory->versions, GS_GRAD, 0, half, 10 + rank);
    gs_versions_put(&memory->versions, GS_GRAD, half, memory->vectors.elements - half, 20 - rank);
}

static void make(gs_number number, uint32_t members)
{
    probe_job_init(&made, MEMBERS_MAX);
    memset(channel, 0, sizeof channel);
    for (uint16_t rank = 0; rank < members; rank++) {
        gs_entity_memory_config config = {.job = &made.job,
                                          .layout = &layout,
                                          .self = {GS_WORKER, rank},
                                          .task = made.task,
                                          .batch_per_rank = BATCH,
                                          .number = number};
        gs_error err;
        cr_assert_eq(gs_entity_memory_init(&played[rank], &config, &made.arena, &err), GS_OK);
        cr_assert_eq(gs_entity_memory_init(&at_once[rank], &config, &made.arena, &err), GS_OK);
        fill(&played[rank], rank);
        fill(&at_once[rank], rank);
        slices[rank] = (gs_slice){GS_GRAD, OFFSET, made.job.elements - 2 * (int64_t)OFFSET};
    }
}

static gs_slice part_of(uint32_t member, int64_t offset, int64_t length)
{
    return (gs_slice){slices[member].vector, slices[member].offset + offset, length};
}

/* true: the vertex could be played. Data is read where it lies when it is received. */
static bool play_vertex(uint32_t self, const gs_vertex *vertex)
{
    if (vertex->kind == GS_VERTEX_SEND) {
        int at = channel[vertex->channel][self][vertex->peer].count++;
        cr_assert_lt(at, QUEUE_MAX);
        channel[vertex->channel][self][vertex->peer].offset[at] = vertex->offset;
        channel[vertex->channel][self][vertex->peer].length[at] = vertex->length;
        return true;
    }
    if (channel[vertex->channel][vertex->peer][self].first ==
        channel[vertex->channel][vertex->peer][self].count) {
        return false;
    }
    int at = channel[vertex->channel][vertex->peer][self].first++;
    gs_payload sent = gs_entity_memory_view(
        &played[vertex->peer],
        part_of(vertex->peer, channel[vertex->channel][vertex->peer][self].offset[at],
                channel[vertex->channel][vertex->peer][self].length[at]));
    cr_assert(gs_entity_memory_put(&played[self], part_of(self, vertex->offset, vertex->length),
                                   &sent, vertex->kind == GS_VERTEX_ADD));
    return true;
}

static bool play_lane(const gs_collective *algorithm, const gs_shape *shape, uint32_t lane,
                      uint64_t *index)
{
    gs_vertex vertex;
    bool any = false;
    while (algorithm->vertex(shape, lane, *index, &vertex) && play_vertex(shape->self, &vertex)) {
        (*index)++;
        any = true;
    }
    return any;
}

static void play(const gs_collective *algorithm, gs_shape shape)
{
    uint64_t index[MEMBERS_MAX][RINGS_MAX] = {{0}};
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (shape.self = 0; shape.self < shape.members; shape.self++) {
            shape.elements = slices[shape.self].length;
            for (uint32_t lane = 0; lane < gs_collective_lanes(algorithm, &shape); lane++) {
                goes_on |= play_lane(algorithm, &shape, lane, &index[shape.self][lane]);
            }
        }
    }
}

static void compare(const gs_collective *algorithm, const gs_shape *shape, uint32_t shares)
{
    uint32_t members = shape->members;
    gs_sum sum = {algorithm->order, members, memories, slices, shape->rings, shape->inner};
    play(algorithm, *shape);
    cr_assert(gs_sum_begin(&sum));
    for (uint32_t share = shares; share-- > 0;) {
        gs_sum_floats(&sum, share, shares);
    }
    size_t bytes = played[0].vectors.vector_count * played[0].vectors.count * sizeof(float);
    for (uint32_t rank = 0; rank < members; rank++) {
        cr_expect_eq(memcmp(at_once[rank].vectors.data, played[rank].vectors.data, bytes), 0,
                     "%s of %u, %u shares: rank %u", algorithm->name, members, shares, rank);
        for (int64_t i = 0; i < made.job.elements; i++) {
            cr_assert_eq(gs_versions_oldest(&at_once[rank].versions, GS_GRAD, i, 1),
                         gs_versions_oldest(&played[rank].versions, GS_GRAD, i, 1),
                         "%s of %u: rank %u, element %lld", algorithm->name, members, rank,
                         (long long)i);
        }
    }
}

Test(sum, at_once_is_what_the_program_makes_of_it)
{
    static const gs_number numbers[] = {GS_FP32, GS_FP16, GS_BF16};
    int algorithms = 0;
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        const gs_collective *algorithm = gs_collective_at(i);
        if (algorithm->order == GS_SUM_BY_PROGRAM) {
            continue;
        }
        cr_assert_eq(algorithm->kind, GS_ALL_REDUCE);
        algorithms++;
        for (size_t number = 0; number < 3; number++) {
            for (uint32_t members = 1; members <= MEMBERS_MAX; members++) {
                gs_shape shape = gs_shape_plain(members, 0, 0);
                bool has_rings = (algorithm->takes & GS_TAKES_RINGS) != 0;
                shape.rings = has_rings ? 1 + (members + (uint32_t)number) % RINGS_MAX : 1;
                shape.inner = members % 3 == 0 ? 3 : members % 2 == 0 ? 2 : 1;
                make(numbers[number], members);
                compare(algorithm, &shape, 1 + members % 3);
                probe_job_fini(&made);
            }
        }
    }
    cr_assert_geq(algorithms, 2);
}

/* 3 floats for 2 elements: of two slices of one element, one holds 1 float and the other 2. */
Test(sum, of_slices_with_different_numbers_of_floats_is_refused)
{
    make(GS_FP32, 2);
    made.job.elements = (int64_t)played[0].vectors.count * 2 / 3;
    for (uint32_t rank = 0; rank < 2; rank++) {
        at_once[rank].vectors.elements = made.job.elements;
        slices[rank] = (gs_slice){GS_GRAD, rank, 1};
    }
    gs_sum sum = {GS_SUM_AT_ROOT, 2, memories, slices, 1, 1};
    cr_assert_not(gs_sum_begin(&sum));
    slices[1].offset = 2;
    cr_assert(gs_sum_begin(&sum));
    probe_job_fini(&made);
}
