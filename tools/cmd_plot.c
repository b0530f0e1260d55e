/* plot: draws a figure of runs, of a scenario or of measured files. */
#include "tools/message.h"
#include "tools/plot.h"
#include "tools/verbs.h"

#include <string.h>

gs_plot_fill gs_plot_find(const char *name)
{
    static const struct {
        const char *name;
        gs_plot_fill fill;
    } figures[] = {
        {"timeline", gs_plot_timeline},
        {"breakdown", gs_plot_breakdown},
        {"cdf", gs_plot_cdf},
        {"time-to-accuracy", gs_plot_time_to_accuracy},
        {"pareto", gs_plot_pareto},
        {"heatmap", gs_plot_heatmap},
        {"scaling", gs_plot_scaling},
        {"strictness", gs_plot_strictness},
        {"history", gs_plot_history},
        {"busbw", gs_plot_busbw},
        {"gradients", gs_plot_gradients},
        {"predicted", gs_plot_predicted},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (strcmp(figures[i].name, name) == 0) {
            return figures[i].fill;
        }
    }
    return NULL;
}

int gs_cmd_plot(const gs_cli *cli)
{
    if (cli->word_count == 0) {
        gs_complain(
            "plot: what? allowed is timeline, breakdown, cdf, time-to-accuracy, pareto, heatmap, "
            "scaling, strictness, history, busbw, gradients or predicted, then runs, a scenario "
            "or files");
        return GS_EXIT_USAGE;
    }
    gs_plot plot;
    int code = gs_plot_open(cli, &plot);
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_plot_fill fill = gs_plot_find(cli->words[0]);
    code = fill == NULL ? GS_EXIT_USAGE : fill(cli, &plot);
    if (code == GS_EXIT_OK) {
        return gs_plot_close(&plot);
    }
    gs_plot_drop(&plot);
    return code;
}
