/* The sentences of `explain`. Each is fresh memory that the caller frees. */
#ifndef GS_TOOLS_EXPLAIN_WORDS_H
#define GS_TOOLS_EXPLAIN_WORDS_H

#include "tools/explain.h"

/* A duration with its sign, "-" where there is none; returns out. */
char *gs_explain_time(double ns, char out[GS_UNIT_TEXT_BYTES]);

/* "step 172 ms = compute 38.6 ms + exposed comm 125 ms (of 148 ms, 23.2 ms hidden) + ...". */
char *gs_explain_step_text(const gs_explain *explain);

/* What the outer link carries and how fast, nominal and effective. */
char *gs_explain_link_text(const gs_explain *explain);

/* From which bandwidth on the whole job beats its first node. */
char *gs_explain_even_text(const gs_explain *explain);

/* The one sentence that names the limit, and says where fewer ranks would be faster. *out_key:
 * "compute", "link", "latency", "rank", "input", "noise", "overlap", "blocking", "overhead" or
 * "several". */
char *gs_explain_limit_text(const gs_explain *explain, const char **out_key);

/* What these numbers do not tell. Calls `say` for each sentence. */
void gs_explain_remarks(const gs_explain *explain, void (*say)(void *context, const char *text),
                        void *context);

#endif
