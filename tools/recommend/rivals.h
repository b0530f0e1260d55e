/* Who might be recommended instead, if the job were another one. */
#ifndef GS_TOOLS_RECOMMEND_RIVALS_H
#define GS_TOOLS_RECOMMEND_RIVALS_H

#include "tools/recommend/standings.h"

typedef struct gs_rivals {
    gs_standings standings;         /* of its arms the choice comes first */
    bool assumed[GS_STANDINGS_MAX]; /* samples of another timing on which they depend, or those of
                                       the exact arm */
} gs_rivals;

/* The choice, plain all-reduce, and of each family those than which no other needs fewer samples
 * and sends less, but for who would be recommended today before the choice: who left the race or
 * the screening by less than would make it another verdict. */
void gs_rivals_find(const gs_recommend *all, const gs_arm *choice, gs_rivals *out);

/* What an arm needs of samples: measured, or where it was dominated in screening those of the exact
 * arm. INFINITY: it is not known, or too many of its runs do not reach the target. */
double gs_rival_samples(const gs_recommend *all, const gs_arm *arm, bool *out_assumed);

#endif
