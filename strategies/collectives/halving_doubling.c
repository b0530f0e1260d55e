/* All-reduce by recursive halving and doubling (Rabenseifner): in each round half of what is left
 * goes to the one whose number differs in one bit, which adds it, until everyone has the sum of one
 * part; then the parts go back the same way. */
#include "strategies/collectives/power_fold.h"

/* Parts [first, first + count) of as many as play. */
static void set_parts(const gs_shape *shape, const gs_fold *fold, uint32_t first, uint32_t count,
                      gs_vertex *out)
{
    int64_t last_offset, last_length;
    gs_part_of(shape->elements, fold->players, first, &out->offset, &out->length);
    gs_part_of(shape->elements, fold->players, first + count - 1, &last_offset, &last_length);
    out->length = last_offset + last_length - out->offset;
}

/* A round whose partner is `distance` away: the `distance` parts round the one that this member is
 * left with in the end, or those round the partner's. */
static void exchange(const gs_shape *shape, const gs_fold *fold, uint32_t distance, bool is_own,
                     gs_vertex *out)
{
    uint32_t own = fold->player & ~(distance - 1);
    *out = (gs_vertex){.peer = gs_fold_member(fold, fold->player ^ distance)};
    set_parts(shape, fold, is_own ? own : own ^ distance, distance, out);
}

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    (void)lane;
    gs_fold fold = gs_fold_of(shape);
    if (!fold.plays) {
        return gs_fold_sit_out(shape, index, out);
    }
    if (fold.is_doubled && index-- == 0) {
        gs_fold_whole(shape, GS_VERTEX_ADD, shape->self - 1, out);
        return true;
    }
    uint64_t round = index / 2;
    bool sends = index % 2 == 0;
    if (round < 2 * (uint64_t)fold.rounds) {
        bool halves = round < fold.rounds;
        uint32_t distance =
            halves ? fold.players >> (round + 1) : UINT32_C(1) << (round - fold.rounds);
        /* What is sent in one half is what comes in the other. */
        exchange(shape, &fold, distance, sends != halves, out);
        out->kind = sends ? GS_VERTEX_SEND : halves ? GS_VERTEX_ADD : GS_VERTEX_PUT;
        return true;
    }
    gs_fold_whole(shape, GS_VERTEX_SEND, shape->self - 1, out);
    return fold.is_doubled && index == 4 * (uint64_t)fold.rounds;
}

/* p of the members play: parts of a half, a quarter, ... of the bytes, (p-1)/p in all, twice; and
 * the whole before and after that where some sit out. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    gs_fold fold = gs_fold_of(shape);
    double p = fold.players;
    double rounds = 2.0 * (fold.rounds * latency_s + (p - 1.0) / p * bytes / bytes_per_s);
    return rounds + (fold.surplus > 0 ? 2.0 * (latency_s + bytes / bytes_per_s) : 0.0);
}

const gs_collective gs_collective_halving_doubling = {
    .name = "halving_doubling",
    .summary = "all-reduce by recursive halving, then doubling: 2(n-1)/n of the bytes per rank in "
               "2 log2 n messages; other n than powers of two send all of them twice more",
    .source = "Rabenseifner, Optimization of Collective Reduction Operations, ICCS 2004; Thakur, "
              "Rabenseifner and Gropp, IJHPCA 19 (2005), section 4.5",
    .kind = GS_ALL_REDUCE,
    .vertex = vertex,
    .sources = gs_fold_peers,
    .targets = gs_fold_peers,
    .closed_s = closed_s,
};
