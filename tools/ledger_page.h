/* How well predictions have come true: the running error over all judgements of a database. */
#ifndef GS_TOOLS_LEDGER_PAGE_H
#define GS_TOOLS_LEDGER_PAGE_H

#include "tools/page.h"
#include "traces/store/store.h"

/* Adds a fact and, unless the output is CSV, a row for each metric that was judged. Errors: those
 * of the store; the page is as before then. */
GS_MUST_USE gs_status gs_ledger_page_add(gs_page *page, const gs_cli *cli, gs_store *store,
                                         gs_error *err);

#endif
