#include "tools/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { EVERY_PERCENT = 10 };

void gs_progress_start(gs_progress *progress, const gs_cli *cli, uint32_t runs)
{
    bool terminal = isatty(STDERR_FILENO) == 1;
    *progress = (gs_progress){.mode = cli->flags.progress, .runs = runs, .told = -1};
    if (progress->mode == GS_PROGRESS_AUTO) {
        progress->overwrite = terminal && !cli->flags.quiet;
        progress->mode = progress->overwrite ? GS_PROGRESS_PLAIN : GS_PROGRESS_NONE;
    }
}

void gs_progress_tell(gs_progress *progress, uint32_t done, double share)
{
    double whole =
        progress->to > 0.0 ? progress->from + share * (progress->to - progress->from) : share;
    int percent = (int)(100.0 * whole);
    int every = progress->overwrite ? 1 : EVERY_PERCENT;
    if (progress->mode == GS_PROGRESS_NONE ||
        (progress->told >= 0 && percent / every <= progress->told / every)) {
        return;
    }
    progress->told = percent;
    if (progress->mode == GS_PROGRESS_JSON) {
        fprintf(stderr, "{\"progress\":%d.%02d,\"runs_done\":%u,\"runs\":%u}\n", percent / 100,
                percent % 100, progress->before + done, progress->runs);
    } else {
        fprintf(stderr, "%s[%u/%u] %d %%%s", progress->overwrite ? "\r" : "",
                progress->before + done, progress->runs, percent, progress->overwrite ? " " : "\n");
    }
}

void gs_progress_end(gs_progress *progress)
{
    if (progress->overwrite && progress->told >= 0) {
        fputs("\r\033[K", stderr);
    }
}
