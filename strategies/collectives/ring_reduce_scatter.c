/* Reduce-scatter round a ring: the first half of a ring all-reduce, begun so that member m ends
 * with part m. */
#include "strategies/collectives/ring_turn.h"

static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    return gs_ring_turn(shape, lane, index, shape->members - 1, shape->members - 1,
                        shape->members - 1, out);
}

static bool turns(const gs_shape *shape, uint64_t *out_turns, uint32_t *out_first)
{
    *out_turns = *out_first = shape->members - 1;
    return gs_ring_is_plain(shape);
}

const gs_collective gs_collective_ring_reduce_scatter = {
    .name = "ring_reduce_scatter",
    .summary = "reduce-scatter round a ring: (n-1)/n of the bytes per rank, n-1 messages",
    .source = "Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms, JPDC 69 (2009)",
    .kind = GS_REDUCE_SCATTER,
    .lanes = gs_ring_count,
    .channels = gs_ring_count,
    .vertex = vertex,
    .sources = gs_ring_sources,
    .targets = gs_ring_targets,
    .closed_s = gs_ring_round_s,
    .shared_s = gs_ring_shared_s,
    .takes = GS_TAKES_RINGS | GS_TAKES_NODES,
    .turns = turns,
};
