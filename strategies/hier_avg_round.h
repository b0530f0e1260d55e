/* The two averages of hier_avg: x over the ranks of a node, and z over nodes.
 *
 *     inside     delta = mean over the node of x - z; x = z + delta
 *     between    delta = mean over nodes of that; z = z + delta; x = z, and late x keeps the steps
 *                that it made since it left
 *
 * Between nodes each rank of a node sends its part of the difference, so that links between them
 * carry it once, whatever the ranks of a node. */
#ifndef GS_STRATEGIES_HIER_AVG_ROUND_H
#define GS_STRATEGIES_HIER_AVG_ROUND_H

#include "strategies/world.h"

/* A communicator for each stage; the stage of an op is its label modulo GS_HIER_AVG_STAGES. */
enum { GS_HIER_AVG_INSIDE, GS_HIER_AVG_ACROSS, GS_HIER_AVG_GATHER, GS_HIER_AVG_STAGES };

/* Own vectors; delta and x when it left only with a delay: else delta is in GRAD, whose gradient
 * has been used by then. */
enum { GS_HIER_AVG_ANCHOR = GS_OWN, GS_HIER_AVG_DELTA, GS_HIER_AVG_SENT };

typedef struct gs_hier_avg_round {
    int64_t inside; /* steps at the last average inside the node */
    int64_t sent;   /* steps when what is under way between nodes left */
    bool under_way; /* a mean between nodes is not used yet */
    bool arrived;   /* it is here */
} gs_hier_avg_round;

/* After `steps` steps; ends in an op of stage INSIDE, and then: */
void gs_hier_avg_begin_inside(gs_world *world, gs_hier_avg_round *round, int64_t steps);
void gs_hier_avg_end_inside(gs_world *world);

/* Likewise, right after an average inside; ends in an op of stage ACROSS, for which gather is next,
 * and in one of GATHER: the mean has arrived. keep_sent: it may be used late. */
void gs_hier_avg_begin_between(gs_world *world, gs_hier_avg_round *round, int64_t steps,
                               bool keep_sent);
void gs_hier_avg_gather(gs_world *world, const gs_hier_avg_round *round);
void gs_hier_avg_end_between(gs_world *world, gs_hier_avg_round *round, int64_t steps);

#endif
