/* Broadcast along a chain, in pieces: everyone sends on what it has just received, so that all
 * links are busy at once. Chain r is channel r and lane r, and carries share r of the slice. */
#include "strategies/collectives/pieces.h"

static uint32_t chains_of(const gs_shape *shape)
{
    return shape->rings;
}

/* Everyone but the root first receives a piece, everyone but the last then sends it. */
static bool vertex(const gs_shape *shape, uint32_t lane, uint64_t index, gs_vertex *out)
{
    uint32_t n = shape->members;
    uint32_t right = shape->self + 1 == n ? 0 : shape->self + 1;
    bool receives = shape->self != shape->root;
    bool sends = right != shape->root;
    uint32_t turns = receives && sends ? 2 : receives || sends ? 1 : 0;
    *out = (gs_vertex){.kind = GS_VERTEX_SEND, .peer = right, .channel = lane};
    if (turns == 0) {
        return false;
    }
    if (receives && index % turns == 0) {
        out->kind = GS_VERTEX_PUT;
        out->peer = shape->self == 0 ? n - 1 : shape->self - 1;
    }
    gs_part_of(shape->elements, shape->rings, lane, &out->offset, &out->length);
    return gs_piece_of(shape, index / turns, &out->offset, &out->length);
}

static uint32_t sources(const gs_shape *shape, gs_edge *out)
{
    uint32_t count = shape->members > 1 ? shape->rings : 0;
    for (uint32_t chain = 0; chain < count; chain++) {
        out[chain] = (gs_edge){shape->self == 0 ? shape->members - 1 : shape->self - 1, chain};
    }
    return count;
}

static uint32_t targets(const gs_shape *shape, gs_edge *out)
{
    uint32_t count = shape->members > 1 ? shape->rings : 0;
    for (uint32_t chain = 0; chain < count; chain++) {
        out[chain] = (gs_edge){shape->self + 1 == shape->members ? 0 : shape->self + 1, chain};
    }
    return count;
}

/* n - 1 links, one after the other. */
static double closed_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return gs_pieces_s(shape, shape->rings, shape->members - 1.0, bytes, latency_s, bytes_per_s);
}

/* Chains share the links of all members alike: each has its share of the rate. */
static double shared_s(const gs_shape *shape, double bytes, double latency_s, double bytes_per_s)
{
    return closed_s(shape, bytes, latency_s, bytes_per_s / shape->rings);
}

const gs_collective gs_collective_chain_broadcast = {
    .name = "chain_broadcast",
    .summary = "broadcast along a chain, in pieces: all links busy at once, for large slices",
    .source = "Watts and van de Geijn, A pipelined broadcast for multidimensional meshes, Parallel "
              "Processing Letters 5 (1995)",
    .kind = GS_BROADCAST,
    .lanes = chains_of,
    .channels = chains_of,
    .vertex = vertex,
    .sources = sources,
    .targets = targets,
    .closed_s = closed_s,
    .shared_s = shared_s,
    .takes = GS_TAKES_RINGS | GS_TAKES_PIECES,
    .piece_bytes = 512 * 1024,
};
