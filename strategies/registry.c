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
