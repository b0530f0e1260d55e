/* plot: draws a figure of runs, of a scenario or of measured files. */
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/verbs.h"

#include <string.h>

int gs_cmd_plot(const gs_cli *cli)
{
    static const struct {
        const char *name;
        int (*fill)(const gs_cli *cli, gs_plot *plot);
    } figures[] = {
        {"timeline", gs_plot_timeline},
        {"breakdown", gs_plot_breakdown},
        {"cdf", gs_plot_cdf},
        {"busbw", gs_plot_busbw},
        {"gradients", gs_plot_gradients},
        {"predicted", gs_plot_predicted},
    };
    if (cli->word_count == 0) {
        gs_complain(
            "plot: what? allowed is timeline, breakdown, cdf, busbw, gradients or predicted, "
            "then runs, a scenario or files");
        return GS_EXIT_USAGE;
    }
    gs_plot plot;
    int code = gs_plot_open(cli, &plot);
    if (code != GS_EXIT_OK) {
        return code;
    }
    code = GS_EXIT_USAGE;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (strcmp(figures[i].name, cli->words[0]) == 0) {
            code = figures[i].fill(cli, &plot);
        }
    }
    if (code == GS_EXIT_OK) {
        return gs_plot_close(&plot);
    }
    gs_plot_drop(&plot);
    return code;
}
