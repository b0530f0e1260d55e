/* What `explain` prints: text, Markdown or JSON of the same numbers. */
#ifndef GS_TOOLS_EXPLAIN_PAGE_H
#define GS_TOOLS_EXPLAIN_PAGE_H

#include "base/json.h"
#include "tools/cli.h"
#include "tools/explain.h"

/* command: makes the same output again. headline: what the job is. */
void gs_explain_print(const gs_explain *explain, const gs_cli *cli, const char *headline,
                      const char *command, FILE *out);

/* The document. Out of memory ends the program. Owner: caller. */
gs_json *gs_explain_document(const gs_explain *explain, const char *command, int exit_code);

#endif
