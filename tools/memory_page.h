/* What a rank holds in memory under each strategy of a scenario: a sentence for people, an object
 * for programs. Out of memory ends the program. */
#ifndef GS_TOOLS_MEMORY_PAGE_H
#define GS_TOOLS_MEMORY_PAGE_H

#include "tools/page.h"
#include "traces/scenario/scenario.h"

/* "1.2 GB a rank by allreduce at batch 32: parameters 102 MB + ...; A100-40GB (40 GB) holds a batch
 * of 400". Owner: caller, free(). */
char *gs_memory_sentence(const gs_scenario *scenario, uint32_t strategy);

/* Does it need as much as an earlier strategy, but for a few percent? Then one sentence is for
 * both.
 */
bool gs_memory_is_repeated(const gs_scenario *scenario, uint32_t strategy);

/* Facts for all strategies; JSON: "memory", a list of objects. */
void gs_memory_facts(gs_page *page, const gs_scenario *scenario);

#endif
