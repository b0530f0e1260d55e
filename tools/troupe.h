/* A command that a launcher has started many times and that decides by what its runs give: every
 * process goes through it alike. The runs of each gs_pool_run are shared, and every process gets
 * all outcomes, so that all come to the same next runs. Process 0 alone writes and speaks.
 *
 * Unlike the guests of a sweep, which only make what they are told, these know what went before:
 * one that is killed is not replaced, its run is dealt again. */
#ifndef GS_TOOLS_TROUPE_H
#define GS_TOOLS_TROUPE_H

#include "tools/deal.h"
#include "tools/launcher.h"

typedef struct gs_troupe gs_troupe; /* NULL: this process alone, in all calls */

/* plan: hash of what is done; jobs: guests of each process but 0, and children of process 0. One
 * process: *out is NULL. Process 0 waits for the guests. Every other one sends them and comes back
 * when they have ended, with *out_over true: nothing is left to do here. Each guest comes back as
 * well, without standard output and standard error. Errors: those of gs_guests_open. Owner of *out:
 * caller, gs_troupe_part. */
GS_MUST_USE gs_status gs_troupe_open(const gs_launch *launch, uint64_t plan, int64_t jobs,
                                     gs_troupe **out, bool *out_over, gs_error *err);

/* Makes the runs 0 .. count - 1 of deal, together; outcomes [count]: out, the same everywhere.
 * deal->ended is called in process 0 only, which also sets deal->guests. */
void gs_troupe_deal(gs_troupe *troupe, gs_deal *deal, const uint32_t *runs, uint32_t count,
                    gs_outcome *outcomes);

/* What process 0 says, for what processes may see differently, such as a clock. */
bool gs_troupe_agree(gs_troupe *troupe, bool own);

/* Guests end here; process 0 goes on alone. */
void gs_troupe_part(gs_troupe *troupe);

#endif
