/* `trace slow` on a trace of single operations: what stragglers cost, and which ops, stages and
 * ranks they are. */
#ifndef GS_TOOLS_SLOW_OPS_PAGE_H
#define GS_TOOLS_SLOW_OPS_PAGE_H

#include "tools/cli.h"
#include "traces/importers/importer.h"

/* Replays imported->ops, which must be there, and prints the page. An exit code. */
int gs_slow_ops_print(const gs_cli *cli, const gs_imported *imported);

#endif
