/* What `sweep` prints. */
#ifndef GS_TOOLS_SWEEP_SWEEP_PAGE_H
#define GS_TOOLS_SWEEP_SWEEP_PAGE_H

#include "tools/page.h"
#include "tools/sweep/verdict.h"

/* The points before they are run. */
void gs_sweep_plan_page(const gs_sweep *sweep, gs_page *page);
/* What came out, with knees and the answer as the last note. */
void gs_sweep_page(const gs_sweep *sweep, const gs_sweep_verdict *verdict, int exit_code,
                   gs_page *page);

#endif
