/* What strategies are like, as their layouts tell it: for lists, for `show` and for `show matrix`.
 */
#ifndef GS_TOOLS_STRATEGY_FACTS_H
#define GS_TOOLS_STRATEGY_FACTS_H

#include "strategies/strategy.h"
#include "tools/page.h"
#include "traces/scenario/scenario.h"

/* A job that strategies with their defaults can run: 8 ranks on 2 nodes, 2 servers, a million
 * elements in 16 pieces. */
extern const gs_job gs_usual_job;

/* What a strategy sends through: sorts them into families that need the same of a cluster. */
typedef enum gs_through {
    GS_THROUGH_COLLECTIVES,
    GS_THROUGH_SERVERS,
    GS_THROUGH_PEERS,
    GS_THROUGH_COUNT
} gs_through;

extern const char *const gs_through_names[GS_THROUGH_COUNT]; /* "collectives" */
extern const char *const gs_cut_names[];                     /* by gs_cut: "common", "own" */

gs_through gs_layout_through(const gs_layout *layout);

/* Layout with every default on the usual job, or why there is none. Owner of *out_config, with the
 * defaults in it: caller, free(). */
GS_MUST_USE gs_status gs_usual_layout(const gs_strategy *strategy, void **out_config,
                                      gs_layout *out, gs_error *err);

/* Every strategy, those that send through the same side by side. Owner: caller, free(). */
const gs_strategy **gs_sorted_strategies(uint32_t *out_count);

/* Through what it sends, where it may stop, and with which codecs it works. */
void gs_strategy_facts(gs_page *page, const gs_strategy *strategy);

/* What each strategy of the scenario sends and keeps, and who talks to whom. Errors: those of
 * gs_scenario_job; GS_ENOMEM. */
GS_MUST_USE gs_status gs_strategy_costs(gs_page *page, const gs_scenario *scenario, gs_arena *arena,
                                        gs_error *err);

#endif
