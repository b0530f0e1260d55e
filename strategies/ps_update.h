/* What a server does to its vectors: gradients are compensated for their delay, scaled and summed,
 * and their sum moves the weights. */
#ifndef GS_STRATEGIES_PS_UPDATE_H
#define GS_STRATEGIES_PS_UPDATE_H

#include "strategies/ps.h"

/* Own vectors of a server. */
uint32_t gs_ps_update_vectors(const gs_ps_config *config, const gs_ps_rule *rule, uint32_t ranks);

/* A worker is given the weights of now: compensating needs those that its gradient is of. */
void gs_ps_update_remember(gs_world *world, const gs_ps_rule *rule, uint32_t worker);

/* A gradient of that worker in GRAD is used; is_first: of the update under way. */
void gs_ps_update_take(gs_world *world, const gs_ps_rule *rule, uint32_t worker,
                       const gs_ps_verdict *verdict, bool is_first);

/* The update of what was taken, times `scale`. */
void gs_ps_update_make(gs_world *world, const gs_ps_rule *rule, double scale);

#endif
