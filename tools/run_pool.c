#include "tools/run_pool.h"

#include "tools/deal.h"
#include "tools/message.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 3 }; /* where whole machines may go */

typedef struct pool {
    const gs_pool_config *config;
    gs_outcome *outcomes;
} pool;

static void make(void *context, uint32_t run, uint32_t threads, const gs_deal_ear *ear,
                 gs_outcome *out)
{
    const pool *all = context;
    const gs_pool_config *config = all->config;
    gs_run_plan plan = {
        .scenario =
            config->variants == NULL ? config->scenario : config->variants[run / config->seeds],
        .keep_all_ranks = config->keep_all_ranks,
        .look_every = config->look_every,
        .threads = threads,
        .progress = ear->hear,
        .context = ear->context,
    };
    gs_run_one(&plan, config->variants == NULL ? run / config->seeds : 0,
               config->scenario->seed + run % config->seeds, out);
}

static void ended(void *context, uint32_t run, gs_outcome *outcome)
{
    const pool *all = context;
    all->outcomes[run] = *outcome;
    if (all->config->ended != NULL) {
        all->config->ended(all->config->context, run);
    }
}

void gs_pool_run(const gs_pool_config *config, gs_outcome *outcomes)
{
    uint32_t count = config->seeds * (config->variants == NULL ? config->scenario->strategy_count
                                                               : config->variant_count);
    pool all = {.config = config, .outcomes = outcomes};
    uint32_t *runs = gs_need(calloc((size_t)count + 1, sizeof *runs));
    for (uint32_t i = 0; i < count; i++) {
        runs[i] = i;
    }
    memset(outcomes, 0, count * sizeof *outcomes);
    gs_deal deal = {.jobs = config->jobs,
                    .tries = config->troupe == NULL ? 1 : TRIES,
                    .total = count,
                    .make = make,
                    .ended = ended,
                    .context = &all,
                    .threads = config->threads,
                    .progress = config->progress};
    gs_troupe_deal(config->troupe, &deal, runs, count, outcomes);
    gs_progress_end(config->progress);
    free(runs);
}
