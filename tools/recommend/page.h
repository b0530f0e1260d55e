/* The pages of `recommend`: text and Markdown for people, CSV and JSON for programs. */
#ifndef GS_TOOLS_RECOMMEND_PAGE_H
#define GS_TOOLS_RECOMMEND_PAGE_H

#include "base/json.h"
#include "tools/recommend/findings.h"

#include <stdio.h>

/* header: lines on the job, printed first; command: makes the same again. */
void gs_recommend_print(const gs_findings *findings, const char *header, const char *command,
                        FILE *out);

/* The part of the document that is not runs: arms, flips, ladder, rules of thumb, settings. Owner:
 * caller, gs_json_free. */
gs_json *gs_recommend_json(const gs_findings *findings);

#endif
