/* Who is late, for people: the page of `trace slow`. */
#ifndef GS_TOOLS_SLOW_PAGE_H
#define GS_TOOLS_SLOW_PAGE_H

#include "tools/page.h"
#include "traces/importers/importer.h"

/* Judges imported->step_table (not NULL) and fills the page: a row for each rank, remarks on what
 * cannot be told, and last the answer in a sentence. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_slow_page_fill(gs_page *page, const gs_imported *imported, gs_error *err);

#endif
