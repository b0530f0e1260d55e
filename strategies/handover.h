/* Between two legs of a run: what the ranks hold becomes one neutral state, from which the next
 * strategy starts.
 *
 * A strategy as others are, on the same entities, so that what it sends is timed, recorded and
 * checked like all else. It begins on an entity once the old strategy has drained there, and ends
 * when the entity has what the new one needs:
 *
 *     weights        replicas are equal: as they are; ranks learned apart: their mean by the
 *                    weights of model_view; servers get those of worker 0
 *     moments of the optimizer
 *                    each rank has them: as they are; ranks learned apart: their mean; servers
 *                    had them, or each rank a shard: from there
 *     own vectors    zeros
 *
 * Ranks may have made different numbers of steps: from here on they count as if all had made the
 * mean. A leg that follows itself keeps all it has, and ranks only meet. */
#ifndef GS_STRATEGIES_HANDOVER_H
#define GS_STRATEGIES_HANDOVER_H

#include "strategies/strategy.h"

extern const gs_strategy gs_strategy_handover;

/* legs: the room that all legs of the run need. */
void gs_handover_layout(const gs_layout *legs, gs_layout *out);

#endif
