/* Imported files for people: one line, and a page of what they hold. */
#ifndef GS_TOOLS_TRACE_PAGE_H
#define GS_TOOLS_TRACE_PAGE_H

#include "tools/page.h"
#include "traces/importers/importer.h"

/* "kineto, ranks 0..1 of 2, 12 steps, 4 gradient units; ...". Owner: caller, free(). */
char *gs_trace_line(const gs_imported *imported);

/* Facts and a row for each rank, curve or type of operation, in the numbers of gs_trace_stat. */
void gs_trace_fill(gs_page *page, const gs_imported *imported);

#endif
