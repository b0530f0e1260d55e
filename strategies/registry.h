/* The lists of strategies and collectives by name. Order is that of the .def files; strategies that
 * plug-ins have brought come behind those, in the order in which they were added. */
#ifndef GS_STRATEGIES_REGISTRY_H
#define GS_STRATEGIES_REGISTRY_H

#include "strategies/collective.h"
#include "strategies/strategy.h"

uint32_t gs_strategy_count(void);
const gs_strategy *gs_strategy_at(uint32_t index);
const gs_strategy *gs_strategy_find(const char *name); /* NULL: no such name */

enum { GS_STRATEGIES_ADDED_MAX = 64 };

/* Takes in one more, which must stay as it is to the end of the process. The table is that of the
 * process, and it only grows: the program adds all of them while it reads its command line, before
 * anything else looks at the table and before it forks or starts a thread (docs/adr/0030).
 * Errors: GS_EINVAL naming the strategy and what is wrong with it (another size, a name that
 * nobody could write, a hook that is NULL, fields that are none); GS_EBUSY (the name is taken by a
 * strategy, a codec or a collective); GS_ELIMIT. */
GS_MUST_USE gs_status gs_strategy_add(const gs_strategy *strategy, gs_error *err);

/* What a strategy needs for that job, as hosts may rely on it: what its layout says, within bounds.
 * Errors: those of its layout, and GS_EINVAL naming the member that no host can serve. */
GS_MUST_USE gs_status gs_strategy_layout(const gs_strategy *strategy, const void *config,
                                         const gs_job *job, gs_layout *out, gs_error *err);

#endif
