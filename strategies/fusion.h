/* Fused pieces: tensors that lie one behind the other in GRAD and travel as one. */
#ifndef GS_STRATEGIES_FUSION_H
#define GS_STRATEGIES_FUSION_H

#include "strategies/world.h"

/* Tensors [first, end), end > first, as buckets of one tensor each: their part of GRAD. */
gs_slice gs_fusion_slice(const gs_world *world, uint32_t first, uint32_t end);

/* Where the piece ends that begins with tensor `first`: it takes as many as fit into so many
 * elements, none from `end` on; a tensor that is larger goes alone. */
uint32_t gs_fusion_end(const gs_world *world, uint32_t first, uint32_t end, int64_t elements_max);

/* A piece as the label of its all-reduce, and back. */
static inline uint64_t gs_fusion_label(uint32_t first, uint32_t end)
{
    return (uint64_t)first << 32 | end;
}

static inline uint32_t gs_fusion_label_first(uint64_t label)
{
    return (uint32_t)(label >> 32);
}

static inline uint32_t gs_fusion_label_end(uint64_t label)
{
    return (uint32_t)label;
}

#endif
