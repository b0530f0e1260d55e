/* Ring all-reduce: reduce-scatter round the ring, then all-gather round it again. */
#include "strategies/collectives/ring_turn.h"

/* Of 2 (n - 1) turns the first n - 1 add, the others put. */
static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    uint64_t steps = 2 * (uint64_t)(shape->members - 1);
    return gs_ring_turn(shape, lane, index, steps, steps / 2, 0, out);
}

static bool turns(const gs_shape *shape, uint64_t *out_turns, uint32_t *out_first)
{
    *out_turns = 2 * (uint64_t)(shape->members - 1);
    *out_first = 0;
    return gs_ring_is_plain(shape);
}

static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return 2.0 * gs_ring_round_s(shape, bytes, latency_s, bytes_per_s);
}

static double shared_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return 2.0 * gs_ring_shared_s(shape, bytes, latency_s, bytes_per_s);
}

const gs_collective gs_collective_ring = {
    .name = "ring",
    .summary = "reduce-scatter and all-gather round a ring: 2(n-1)/n of the bytes per rank, 2(n-1) "
               "messages",
    .source = "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, JPDC 69 (2009)",
    .kind = GS_ALL_REDUCE,
    .lanes = gs_ring_count,
    .channels = gs_ring_count,
    .vertex = vertex,
    .sources = gs_ring_sources,
    .targets = gs_ring_targets,
    .closed_s = closed_s,
    .shared_s = shared_s,
    .order = GS_SUM_ROUND,
    .takes = GS_TAKES_RINGS | GS_TAKES_NODES,
    .turns = turns,
};
