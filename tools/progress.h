/* How far a command has come, on standard error: a line on a terminal, plain lines, or JSON. */
#ifndef GS_TOOLS_PROGRESS_H
#define GS_TOOLS_PROGRESS_H

#include "tools/cli.h"

typedef struct gs_progress {
    int mode;       /* GS_PROGRESS_* with auto decided; plain on a terminal is one line */
    bool overwrite; /* the line is written over */
    uint32_t runs;
    int told; /* last percentage that was printed, -1: none */
    /* Of a part of the work: what was done before it, and the shares of all work at its ends; 0: it
     * is all of it. */
    uint32_t before;
    double from, to;
} gs_progress;

void gs_progress_start(gs_progress *progress, const gs_cli *cli, uint32_t runs);
/* done: runs of the part that have ended; share: of its work, 0..1. JSON and plain lines come at
 * most every 10 %. */
void gs_progress_tell(gs_progress *progress, uint32_t done, double share);
void gs_progress_end(gs_progress *progress);

#endif
