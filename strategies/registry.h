/* The lists of strategies and collectives by name. Order is that of the .def files. */
#ifndef GS_STRATEGIES_REGISTRY_H
#define GS_STRATEGIES_REGISTRY_H

#include "strategies/collective.h"
#include "strategies/strategy.h"

uint32_t gs_strategy_count(void);
const gs_strategy *gs_strategy_at(uint32_t index);
const gs_strategy *gs_strategy_find(const char *name); /* NULL: no such name */

#endif
