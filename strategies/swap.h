/* What the handover between two legs knows and does beyond the services of a strategy; between
 * driver_swap.c and handover.c. */
#ifndef GS_STRATEGIES_SWAP_H
#define GS_STRATEGIES_SWAP_H

#include "strategies/world.h"

typedef struct gs_swap {
    uint32_t from, to; /* legs */
    bool asked;        /* by the strategy, else by its time */
    const gs_layout *old, *next;
    uint32_t view;         /* the worker's model as the old strategy left it: a vector */
    double weight;         /* that it has in a mean over workers */
    int64_t passes, steps; /* begun by this entity, as it counts them */
} gs_swap;

/* Only in a handover. */
const gs_swap *gs_world_swap(const gs_world *world);
/* All entities count as if so many had begun. */
void gs_world_count_as(gs_world *world, int64_t passes, int64_t steps);
/* Moment `number` of the optimizer of PARAM, as far as the slice goes: into the slice, or from it.
 */
void gs_world_moment(gs_world *world, uint32_t number, gs_slice slice, bool stores);

#endif
