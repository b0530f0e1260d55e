/* Runs dealt to processes: to children of this one, and to guests (tools/guests.h), which another
 * process of the same command has sent, on this machine or another. What comes out is the same
 * whoever made a run: a run knows nothing of the others. */
#ifndef GS_TOOLS_DEAL_H
#define GS_TOOLS_DEAL_H

#include "tools/guests.h"
#include "tools/progress.h"
#include "tools/run_one.h"

/* Whom a run tells how far it is, 0..1. */
typedef struct gs_deal_ear {
    void (*hear)(void *context, double share);
    void *context;
} gs_deal_ear;

/* How long the runs of one command are, and how they are made. */
typedef struct gs_deal {
    int64_t jobs;    /* children at a time; 1, and no guests: in this process */
    uint32_t tries;  /* of a run whose process died; 1: it fails at once */
    uint32_t before; /* runs that had ended before, for the progress */
    uint32_t total;  /* of the command, likewise */
    /* What the process that makes the run inherits; called before, here. Or NULL. */
    void (*prepare)(void *context, uint32_t run);
    /* In the process that makes it; threads: that it may use. Owner of *out: caller. */
    void (*make)(void *context, uint32_t run, uint32_t threads, const gs_deal_ear *ear,
                 gs_outcome *out);
    /* Here, in the order in which runs end; takes what is in *outcome. */
    void (*ended)(void *context, uint32_t run, gs_outcome *outcome);
    void *context;
    int64_t threads;   /* of each run; 0: processors / runs at a time, at least 1 */
    gs_guests *guests; /* or NULL */
    gs_progress *progress;
} gs_deal;

/* Makes these runs, started in this order. After a signal no new one starts, those under way here
 * end as interrupted, and those of guests are given up: `ended` is not called for what never ran.
 * The run of a guest that is gone is dealt again. Out of memory ends the program. */
void gs_deal_run(const gs_deal *deal, const uint32_t *runs, uint32_t count);

#endif
