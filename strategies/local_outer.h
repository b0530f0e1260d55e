/* What local updates do to vectors, in the names of the papers: x the model, z the anchor. */
#ifndef GS_STRATEGIES_LOCAL_OUTER_H
#define GS_STRATEGIES_LOCAL_OUTER_H

#include "strategies/local_rule.h"
#include "strategies/world.h"

/* Own vectors. The anchor is always there: what is sent is measured from it. Then, where a rule has
 * them, one that is the outer momentum or x as it was sent (no rule has both), and delta of a mean
 * that is used late. One that is waited for is in GRAD, whose gradient has been used by then. */
enum { GS_LOCAL_ANCHOR = GS_OWN };

/* How many of them a rule has. */
uint32_t gs_local_vectors(const gs_local_rule *rule);

/* A round begins: delta = weight (x - z) of its fragment, which is for an all-reduce to sum, and
 * what the rule does to x and z without waiting for the sum. Returns the fragment of delta. */
gs_slice gs_local_leave(gs_world *world, const gs_local_rule *rule, int64_t round);

/* The sum of that round is in delta: what becomes of x and z. */
void gs_local_arrive(gs_world *world, const gs_local_rule *rule, int64_t round);

#endif
