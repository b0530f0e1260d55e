/* Rules of thumb from the literature, and what following them costs here. */
#ifndef GS_TOOLS_RECOMMEND_THUMB_H
#define GS_TOOLS_RECOMMEND_THUMB_H

#include "tools/recommend/trial.h"

typedef struct gs_thumb {
    const char *rule;  /* "homogeneous ranks: synchronous" */
    const gs_arm *arm; /* what it says; NULL: it names nothing that is among the arms */
    const char *says;  /* its label, also where there is no such arm; NULL: nothing here */
    double regret;     /* objective over that of the choice, less 1; NAN: not known */
    bool is_least;     /* the regret is at least so much: its samples are those of exact updates */
} gs_thumb;

enum { GS_THUMBS = 2 };

/* Follows each rule on this scenario; regrets against `choice`. */
void gs_thumbs_follow(const gs_recommend *all, const gs_arm *choice, gs_thumb out[GS_THUMBS]);

#endif
