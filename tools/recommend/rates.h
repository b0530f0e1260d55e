/* Learning rates: each arm at the scenario's rate and at its own, by successive halving over a grid
 * of factors (Jamieson and Talwalkar, Non-stochastic Best Arm Identification, AISTATS 2016): all
 * factors with few seeds, beyond the ends of the grid where an arm is best there, then the better
 * ones with more. */
#ifndef GS_TOOLS_RECOMMEND_RATES_H
#define GS_TOOLS_RECOMMEND_RATES_H

#include "tools/recommend/trial.h"

/* Tunes every arm that is in; arms with the same updates share one tuning. Those whose runs all
 * fail, or that are below --min-fidelity, are dropped. false: a signal came. */
bool gs_rates(gs_recommend *all);

/* Is the chosen rate the largest (1) or the least (-1) of those tried, so that one beyond may be
 * better? 0: it lies between others, or is the only one. */
int gs_rates_edge(const gs_arm *arm);

/* Runs that it makes for so many arms, at most: for an estimate. */
uint64_t gs_rates_runs(uint32_t arms);

#endif
