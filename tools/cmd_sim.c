/* sim: runs every strategy of a scenario for every seed, keeps the runs and says who is fastest. */
#include "strategies/registry.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/run_pool.h"
#include "tools/scenario_load.h"
#include "tools/sim_batch.h"
#include "tools/sim_replay.h"
#include "tools/timeline_run.h"
#include "tools/verbs.h"
#include "tools/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMELINE_STEPS = 10 };

/* --- before the runs -------------------------------------------------------------------------- */

/* What cannot work is refused before anything runs. */
static int check_runnable(const gs_cli *cli, gs_loaded *loaded)
{
    gs_error err = {0};
    gs_job job;
    if (cli->flags.label[0] != '\0' && gs_store_check_label(cli->flags.label, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (gs_scenario_runnable(&loaded->scenario, &err) != GS_OK ||
        gs_scenario_job(&loaded->scenario, &loaded->arena, &job, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (cli->flags.gradients > 0 && !loaded->scenario.workload.real_gradients) {
        gs_complain("%s: --gradients: there are none to look at, the scenario only takes their "
                    "time; set workload.real_gradients=true",
                    loaded->scenario.name);
        return GS_EXIT_USAGE;
    }
    for (uint32_t i = 0; i < loaded->scenario.strategy_count; i++) {
        const gs_strategy_choice *choice = &loaded->scenario.strategies[i];
        gs_layout layout;
        if (gs_strategy_layout(choice->strategy, choice->config, &job, &layout, &err) != GS_OK) {
            gs_complain("%s: %s: %s", loaded->scenario.name, choice->label, err.text);
            return GS_EXIT_USAGE;
        }
    }
    return GS_EXIT_OK;
}

/* A timeline is asked for in time: its window and its file are looked at before any run. */
static int check_timeline(const gs_cli *cli, const gs_scenario *scenario, gs_window *out)
{
    if (cli->flags.timeline[0] == '\0') {
        if (cli->flags.window[0] != '\0') {
            gs_complain("--window: of what? it goes with --timeline FILE");
            return GS_EXIT_USAGE;
        }
        return GS_EXIT_OK;
    }
    if (strcmp(cli->flags.timeline, "-") == 0) {
        gs_complain("--timeline -: standard output has the report; name a file");
        return GS_EXIT_USAGE;
    }
    int code = gs_window_of(cli, scenario, TIMELINE_STEPS, out);
    if (code == GS_EXIT_OK) {
        gs_output check;
        code = gs_output_open(&check, cli->flags.timeline);
        gs_output_drop(&check);
    }
    return code;
}

static int tell_plan(const gs_cli *cli, const gs_loaded *loaded)
{
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    gs_sim_batch_header(cli, loaded, NULL, output.text);
    for (uint32_t i = 0; i < loaded->scenario.strategy_count; i++) {
        fprintf(output.text, "would run %s with %" PRId64 " seed%s, %" PRId64 " step%s each\n",
                loaded->scenario.strategies[i].label, loaded->scenario.seeds,
                loaded->scenario.seeds == 1 ? "" : "s", loaded->scenario.workload.budget_steps,
                loaded->scenario.workload.budget_steps == 1 ? "" : "s");
    }
    return gs_output_close(&output);
}

/* --- the runs --------------------------------------------------------------------------------- */

static int run_all(const gs_cli *cli, gs_loaded *loaded, gs_output *output)
{
    gs_sim_batch batch;
    gs_sim_batch_begin(cli, loaded, NULL, 1, &batch);
    gs_progress progress;
    gs_progress_start(&progress, cli, gs_sim_batch_runs(&batch));
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    gs_pool_config pool = {
        .scenario = batch.scenario,
        .seeds = batch.seeds,
        .jobs = cli->flags.jobs > 0 ? cli->flags.jobs
                : processors < 1    ? 1
                                    : processors,
        .threads = cli->flags.threads,
        .keep_all_ranks = cli->flags.steps == GS_STEPS_ALL,
        .look_every = cli->flags.gradients,
        .ended = gs_sim_store_ended,
        .context = &batch,
        .progress = &progress,
    };
    gs_interrupt_watch();
    gs_pool_run(&pool, batch.outcomes);
    return gs_sim_batch_end(&batch, loaded, output);
}

static int sim_or_plan(const gs_cli *cli, gs_loaded *loaded)
{
    gs_window window = {0};
    int code = check_timeline(cli, &loaded->scenario, &window);
    if (code == GS_EXIT_OK && cli->flags.dry_run) {
        return tell_plan(cli, loaded);
    }
    if (code == GS_EXIT_OK) {
        gs_output output;
        code = gs_output_open(&output, cli->flags.output);
        code = code == GS_EXIT_OK ? run_all(cli, loaded, &output) : code;
    }
    if (code == GS_EXIT_OK && cli->flags.timeline[0] != '\0') {
        code = gs_timeline_save(cli, &loaded->scenario, window);
    }
    return code;
}

int gs_cmd_sim(const gs_cli *cli)
{
    gs_loaded loaded;
    int code = gs_scenario_load(cli, &loaded);
    if (code == GS_EXIT_OK) {
        code = check_runnable(cli, &loaded);
    }
    if (code == GS_EXIT_OK) {
        code =
            cli->flags.replay[0] != '\0' ? gs_sim_replay(cli, &loaded) : sim_or_plan(cli, &loaded);
    }
    gs_scenario_unload(&loaded);
    return code;
}
