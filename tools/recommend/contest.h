/* The race of tuned arms with real gradients, the confirmation of its finalists on fresh seeds, and
 * who is recommended. */
#ifndef GS_TOOLS_RECOMMEND_CONTEST_H
#define GS_TOOLS_RECOMMEND_CONTEST_H

#include "tools/recommend/trial.h"
#include "tools/sim_stats.h"
#include "traces/stats/paired_ratio.h"

enum {
    GS_RACE_LOOKS = 4,
    GS_RACE_BLOCK = 4,
    GS_FINALISTS_MAX = 4,
    GS_FINALISTS_MIN = 3, /* with those that lost, so that there is something to compare with */
    GS_CONFIRM_SEEDS_MIN = 3
};

/* Races the arms that are in (traces/stats/race.h, at the scenario's evaluate.alpha) and drops
 * those that lose. false: a signal came. */
bool gs_race_arms(gs_recommend *all);

/* Seeds that the confirmation needs to tell each finalist from the first, which stood best, with a
 * chance of 80 % by the spread of the race: a difference of 3 %, or half of that seen in the race
 * where it is more. Not fewer than evaluate.seeds, which --seeds sets, and alone decides then. */
uint32_t gs_confirm_seeds(const gs_recommend *all, gs_arm *const *finalists, uint32_t count);

/* Runs up to GS_FINALISTS_MAX of those that are in, plain all-reduce where it has run, and the best
 * of those that lost where these are fewer than GS_FINALISTS_MIN, to the end of the budget with the
 * scenario's own seeds, and drops those below a limit. Outcomes stay with the arms. false: a signal
 * came; what was run is there. */
bool gs_confirm_arms(gs_recommend *all);

/* What came out. */
typedef struct gs_verdict {
    const gs_arm *winner; /* recommended; NULL: nobody */
    const gs_arm *leader; /* least in the objective; another one where that ties with a simpler */
    const gs_arm *ties[GS_FINALISTS_MAX + 1]; /* finalists that tie with the leader */
    uint32_t tie_count;
} gs_verdict;

gs_verdict gs_contest_verdict(const gs_recommend *all);

/* An arm over another, by confirmed values: above 1, the arm is worse. */
gs_paired_ratio gs_confirmed_ratio(const gs_recommend *all, const gs_arm *arm, const gs_arm *other);

/* Confirmed runs that reached the target. */
uint32_t gs_confirmed_reached(const gs_recommend *all, const gs_arm *arm);

/* The better known an arm is, the more seeds it has: confirmed, raced or tuned. Geometric mean of
 * what its runs needed; INFINITY: none of them reached the target. */
double gs_arm_estimate(const gs_recommend *all, const gs_arm *arm);
double gs_arm_samples(const gs_recommend *all, const gs_arm *arm); /* to the target; likewise */

/* Do nearly all of them reach it? What does not is no fallback, whatever it takes where it does. */
bool gs_arm_is_sure(const gs_recommend *all, const gs_arm *arm);

#endif
