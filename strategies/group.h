/* Who talks to whom in a communicator: workers in groups of equal size that do not overlap.
 *
 * Size and stride say all of them at once: members of a group are `stride` workers apart. Of 2
 * nodes with 4 ranks each, {4, 1} are the nodes, {2, 4} the ranks of one place on all nodes, and
 * {0, 0} is everybody. Groups that do not tile the workers are a strategy's to refuse in its
 * layout. */
#ifndef GS_STRATEGIES_GROUP_H
#define GS_STRATEGIES_GROUP_H

#include "strategies/strategy.h"

static inline uint32_t gs_group_size(gs_group group, uint32_t ranks)
{
    return group.size == 0 ? ranks : group.size;
}

static inline uint32_t gs_group_stride(gs_group group)
{
    return group.size == 0 ? 1 : group.stride;
}

/* true: every worker is in exactly one group of the full size. */
static inline bool gs_group_tiles(gs_group group, uint32_t ranks)
{
    uint64_t block = (uint64_t)gs_group_size(group, ranks) * gs_group_stride(group);
    return block > 0 && ranks % block == 0;
}

/* Number of a worker in its group, from 0. */
static inline uint32_t gs_group_member(gs_group group, uint32_t ranks, uint32_t rank)
{
    return rank / gs_group_stride(group) % gs_group_size(group, ranks);
}

/* The worker that is member `member` of the group that `rank` is in. */
static inline uint32_t gs_group_rank(gs_group group, uint32_t ranks, uint32_t rank, uint32_t member)
{
    uint32_t stride = gs_group_stride(group);
    uint32_t block = gs_group_size(group, ranks) * stride;
    return rank / block * block + member * stride + rank % stride;
}

/* Number of the group that a worker is in, from 0, and how many there are. */
static inline uint32_t gs_group_index(gs_group group, uint32_t ranks, uint32_t rank)
{
    uint32_t stride = gs_group_stride(group);
    return rank / (gs_group_size(group, ranks) * stride) * stride + rank % stride;
}

static inline uint32_t gs_group_count(gs_group group, uint32_t ranks)
{
    return ranks / gs_group_size(group, ranks);
}

#endif
