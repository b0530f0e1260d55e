/* What `calibrate` prints. */
#ifndef GS_TOOLS_CALIBRATE_PAGE_H
#define GS_TOOLS_CALIBRATE_PAGE_H

#include "tools/calibrate.h"
#include "tools/cli.h"

/* A table of values with their intervals, the sizes used and what was not measured, to standard
 * output; an exit code. */
int gs_calibrate_page(const gs_cli *cli, const gs_measured_cluster *measured,
                      const gs_scenario *scenario, const char *transport,
                      const gs_calibrated *calibrated);

#endif
