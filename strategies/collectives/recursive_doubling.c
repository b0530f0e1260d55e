/* All-reduce by recursive doubling: in round k everyone exchanges all it has with the one whose
 * number differs in bit k, and adds. Both add the same two terms, so all have the same bits where
 * what is added is no finer than what travels: not of 16-bit payloads of finer numbers. */
#include "strategies/collectives/power_fold.h"

/* What is sent is a copy: it is added to before the other one is known to have it. */
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
    if (round < fold.rounds) {
        bool sends = index % 2 == 0;
        gs_fold_whole(shape, sends ? GS_VERTEX_SEND : GS_VERTEX_ADD,
                      gs_fold_member(&fold, fold.player ^ (UINT32_C(1) << round)), out);
        out->copied = sends;
        return true;
    }
    gs_fold_whole(shape, GS_VERTEX_SEND, shape->self - 1, out);
    return fold.is_doubled && index == 2 * (uint64_t)fold.rounds;
}

/* The whole in each of log2 p rounds, where p of the members play. Who plays for two begins one
 * message later, which those that differ from it in all bits learn of in the last round; and then
 * sends one more. Both at once where one that plays for two differs in all bits from another, which
 * is where more than half of p do. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    gs_fold fold = gs_fold_of(shape);
    double more = fold.surplus == 0 ? 0.0 : 2 * fold.surplus <= fold.players ? 1.0 : 2.0;
    return (fold.rounds + more) * (latency_s + bytes / bytes_per_s);
}

const gs_collective gs_collective_recursive_doubling = {
    .name = "recursive_doubling",
    .summary = "all-reduce in log2 n rounds of the whole: fewest messages, for small sums",
    .source = "Thakur, Rabenseifner and Gropp, Optimization of Collective Communication Operations "
              "in MPICH, IJHPCA 19 (2005), section 4.5",
    .kind = GS_ALL_REDUCE,
    .vertex = vertex,
    .sources = gs_fold_peers,
    .targets = gs_fold_peers,
    .closed_s = closed_s,
    .is_mutual = true,
};
