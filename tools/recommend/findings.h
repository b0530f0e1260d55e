/* What `recommend` found, for its pages: one struct that text, Markdown, CSV and JSON print. */
#ifndef GS_TOOLS_RECOMMEND_FINDINGS_H
#define GS_TOOLS_RECOMMEND_FINDINGS_H

#include "tools/recommend/contest.h"
#include "tools/recommend/flips.h"
#include "tools/recommend/ladder.h"
#include "tools/recommend/paste.h"
#include "tools/recommend/thumb.h"
#include "base/units.h"

typedef struct gs_findings {
    const gs_recommend *all;
    gs_verdict verdict;
    const char *stage; /* before the end of which a signal came; NULL: the verdict stands */
    gs_flips flips;
    gs_ladder ladder;
    gs_thumb thumbs[GS_THUMBS];
    gs_paste pastes[GS_PASTES_MAX];
    uint32_t paste_count;
    char *answer;
    int exit_code;
} gs_findings;

/* Fills in what follows from the verdict, but for the flips, which need runs, and says it in words.
 * Owner of what it takes: caller, gs_findings_free. */
void gs_findings_make(gs_findings *out);
void gs_findings_free(gs_findings *findings);

/* A value of the objective: "3.61 s", "$0.12", "14.2 Wh", "8320"; "-" where it is not finite. */
char *gs_findings_value(const gs_recommend *all, double value, char out[GS_UNIT_TEXT_BYTES]);
/* "time to accuracy 0.95", "time per sample". Owner: caller, free(). */
char *gs_findings_title(const gs_recommend *all);
/* "bandwidth down to 4 Gbit/s: local_sgd (today 10 Gbit/s; 95 % CI 4.4 Gbit/s to 3.7 Gbit/s)".
 * Owner: caller, free(). */
char *gs_findings_flip_text(const gs_recommend *all, const gs_flip *flip);
/* The arm's rate, as a number. */
double gs_findings_rate(const gs_arm *arm);

#endif
