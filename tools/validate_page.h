/* What validate says: facts, a table of predictions, and what was left out. */
#ifndef GS_TOOLS_VALIDATE_PAGE_H
#define GS_TOOLS_VALIDATE_PAGE_H

#include "tools/page.h"
#include "tools/validate.h"

/* exit_code: as the command will end, for JSON. all_ranks: the table for people has every rank;
 * else only those outside. */
void gs_validate_page(const gs_validate *validate, int exit_code, bool all_ranks, gs_page *page);

/* "2 of 24 predictions are outside their tolerance; ...": the last line. Owner: caller, free(). */
char *gs_validate_answer(const gs_validate *validate);

/* An error as people read it, with its sign: "-3.0 %", "+6.5 % of the step", "+1.2 points". */
char *gs_validate_error_text(const gs_judged *what, double error, char out[64]);

#endif
