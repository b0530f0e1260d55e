/* Confirmed runs on their way into the database, each as it ends: a `recommend` that is killed
 * loses those under way and those that wait for them to be in order. */
#ifndef GS_TOOLS_RECOMMEND_KEEP_H
#define GS_TOOLS_RECOMMEND_KEEP_H

#include "tools/recommend/trial.h"
#include "tools/sim_save.h"

typedef struct gs_keep {
    gs_environment environment;
    gs_sim_batch *batches; /* [count], one of each finalist; all of them share the store */
    uint32_t count;        /* 0: nothing was confirmed */
    uint32_t stored;       /* runs before this one are in, of all batches one after the other */
    bool *ended;           /* [count * confirm_seeds] */
    gs_store *store;       /* NULL: nothing is stored yet */
    gs_status status;      /* of the first thing that went wrong with the database */
    gs_error error;
} gs_keep;

/* What runs are made with, which is written beside each. Borrows from the arena. */
void gs_keep_begin(gs_recommend *all, gs_keep *out);

/* The finalists [count], each with its tuned scenario, and where their runs will be: outcomes
 * [count * confirm_seeds], borrowed until gs_keep_end. Once. */
void gs_keep_await(gs_recommend *all, gs_arm *const *finalists, uint32_t count,
                   gs_outcome *outcomes);

/* A run has ended. For gs_pool_config.ended. */
void gs_keep_ended(void *keep, uint32_t run);

/* The rest, interrupted runs too, and the answer; adds the runs to the document, where there is
 * one. Errors: those of gs_store_open and gs_store_write_run, the first that came; what was stored
 * before stays. Ends the keep also then. */
GS_MUST_USE gs_status gs_keep_end(gs_keep *keep, const char *answer, gs_json *document,
                                  gs_error *err);

#endif
