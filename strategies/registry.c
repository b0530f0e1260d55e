#include "strategies/registry.h"

#include "base/assert.h"

#include <string.h>

#define GS_STRATEGY(stem) extern const gs_strategy gs_strategy_##stem;
#include "strategies/strategies.def"
#undef GS_STRATEGY
#define GS_COLLECTIVE(stem) extern const gs_collective gs_collective_##stem;
#include "strategies/collectives/collectives.def"
#undef GS_COLLECTIVE

static const gs_strategy *const strategies[] = {
#define GS_STRATEGY(stem) &gs_strategy_##stem,
#include "strategies/strategies.def"
#undef GS_STRATEGY
};

static const gs_collective *const collectives[] = {
#define GS_COLLECTIVE(stem) &gs_collective_##stem,
#include "strategies/collectives/collectives.def"
#undef GS_COLLECTIVE
};

uint32_t gs_strategy_count(void)
{
    return sizeof strategies / sizeof *strategies;
}

const gs_strategy *gs_strategy_at(uint32_t index)
{
    GS_ASSERT(index < gs_strategy_count());
    return strategies[index];
}

const gs_strategy *gs_strategy_find(const char *name)
{
    for (uint32_t i = 0; i < gs_strategy_count(); i++) {
        if (strcmp(strategies[i]->name, name) == 0) {
            return strategies[i];
        }
    }
    return NULL;
}

uint32_t gs_collective_count(void)
{
    return sizeof collectives / sizeof *collectives;
}

const gs_collective *gs_collective_at(uint32_t index)
{
    GS_ASSERT(index < gs_collective_count());
    return collectives[index];
}

const gs_collective *gs_collective_find(const char *name)
{
    for (uint32_t i = 0; i < gs_collective_count(); i++) {
        if (strcmp(collectives[i]->name, name) == 0) {
            return collectives[i];
        }
    }
    return NULL;
}

const gs_collective *gs_collective_for(const gs_communicator *communicator, gs_collective_kind kind)
{
    static const char *const names[GS_COLLECTIVE_KIND_COUNT] = {
        [GS_ALL_REDUCE] = "ring",
        [GS_REDUCE_SCATTER] = "ring_reduce_scatter",
        [GS_ALL_GATHER] = "ring_all_gather",
        [GS_BROADCAST] = "binomial_broadcast",
        [GS_ALL_TO_ALL] = "pairwise_all_to_all",
    };
    const char *name = names[kind];
    if (kind == GS_ALL_REDUCE && communicator->all_reduce != NULL) {
        name = communicator->all_reduce;
    }
    const gs_collective *found = gs_collective_find(name);
    GS_ASSERT(found != NULL && found->kind == kind);
    return found;
}

const char *gs_collective_kind_name(gs_collective_kind kind)
{
    static const char *const names[GS_COLLECTIVE_KIND_COUNT] = {
        "all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all"};
    return names[kind];
}

void gs_part_of(int64_t elements, uint32_t parts, uint32_t part, int64_t *out_offset,
                int64_t *out_length)
{
    int64_t each = elements / parts;
    int64_t larger = elements - each * parts;
    *out_offset = part * each + (part < larger ? part : larger);
    *out_length = each + (part < larger ? 1 : 0);
}
