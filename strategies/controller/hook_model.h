/* The arithmetic of the controller: progress and cost of each way to synchronise, from what was
 * measured. Plain functions on numbers; docs/controller.md derives them. Only exact operations are
 * used, so that unlike machines agree to the bit. */
#ifndef GRADSYNC_HOOK_MODEL_H
#define GRADSYNC_HOOK_MODEL_H

#include "strategies/controller/gradsync_hook.h"

/* Places whose cost is measured: both every-step rungs, and means of models over all and nodes. */
enum {
    GS_HOOK_COST_DENSE,
    GS_HOOK_COST_COMPRESSED,
    GS_HOOK_COST_ALL,
    GS_HOOK_COST_NODE,
    GS_HOOK_COSTS
};

/* Disagreement after h local steps, r(h) = a / h + b: noise of gradients, which averages out along
 * a rank's way, and differences of what ranks have to learn, which do not. Weighted least squares
 * over what was seen, old values forgotten, b drawn to zero. */
typedef struct gs_hook_spread {
    double weight, inverse, inverse_sq, value, product; /* weighted sums */
    double noise, apart;                                /* a, b >= 0 */
} gs_hook_spread;

void gs_hook_spread_see(gs_hook_spread *spread, double steps, double disagreement);

static inline double gs_hook_spread_at(const gs_hook_spread *spread, double steps)
{
    return spread->noise / steps + spread->apart;
}

typedef struct gs_hook_model {
    double ranks, node_ranks; /* of each node; 0: no nodes of one size */
    double period_max;
    double change;   /* of the gradient by its own size, in a step */
    double step_s;   /* mean over ranks */
    double wait_s;   /* the slowest rank's more than that */
    double residual; /* norm of what the codec holds back over that of the gradient */
    double staleness_max;
    double cost_s[GS_HOOK_COSTS]; /* without the wait */
    gs_hook_spread spread;
} gs_hook_model;

/* A rung with its best periods: progress in steps' worth a second. */
typedef struct gs_hook_rate {
    double rate;
    double period, node_period;
} gs_hook_rate;

/* Progress that a step loses, 0 to 1, which is the `steps`th since models were equal; `factor`: of
 * drifts seen over those foretold. */
double gs_hook_lost_in_step(const gs_hook_model *model, double steps, double factor);
/* Steps' worth lost in all of them; at most `steps`. */
double gs_hook_lost_since(const gs_hook_model *model, double steps, double factor);

/* What is lost by disagreement inside nodes, as a share; 0 where there are none. */
double gs_hook_node_share(const gs_hook_model *model);

/* Seconds that waiting longer has cost more than going on at the mean rate would have given: the
 * average pays once they have come to its cost. INFINITY: the step made no progress. */
double gs_hook_regret_s(double step_s, double steps, double lost_in_step, double lost_since);

gs_hook_rate gs_hook_rate_of(const gs_hook_model *model, int32_t rung);

#endif
