/* The fallback ladder of a run: what to go to when links get worse, one rung after the other, each
 * of which sends less than the one before. Only what reaches the target here. */
#ifndef GS_TOOLS_RECOMMEND_LADDER_H
#define GS_TOOLS_RECOMMEND_LADDER_H

#include "tools/recommend/trial.h"

typedef enum gs_rung {
    GS_RUNG_DENSE,        /* exact updates */
    GS_RUNG_COMPRESSED,   /* a codec on them */
    GS_RUNG_LOCAL,        /* averages now and then */
    GS_RUNG_HIERARCHICAL, /* rarely between nodes, or by an outer optimizer */
    GS_RUNGS
} gs_rung;

extern const char *const gs_rung_names[GS_RUNGS]; /* "dense" */

typedef struct gs_ladder {
    const gs_arm *arms[GS_RUNGS]; /* NULL: none that sends less than the rung before */
} gs_ladder;

/* Of each rung the best arm by the objective. */
gs_ladder gs_ladder_of(const gs_recommend *all);

#endif
