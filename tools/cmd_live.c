/* live: the strategies of a scenario on real ranks, in the rows of sim. Started once it is threads
 * of this process; started by mpirun, srun or torchrun every process is a rank or a server, and
 * process 0 alone prints and writes. */
#include "live/live.h"
#include "tools/interrupt.h"
#include "tools/live_one.h"
#include "tools/message.h"
#include "tools/progress.h"
#include "tools/replay_work.h"
#include "tools/sim_batch.h"
#include "tools/verbs.h"
#include "traces/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---------------------------------------------------------------- before the runs */

/* A file that is there is written over only where it is a recording: the name may be mistyped, or
 * be that of the database. */
static int check_recording(const gs_cli *cli)
{
    const char *file = cli->flags.recording;
    gs_recording old;
    gs_error err;
    if (strcmp(file, cli->flags.output) == 0) {
        gs_complain("--recording and --output name the same file, %s", file);
        return GS_EXIT_USAGE;
    }
    bool is_new = access(file, F_OK) != 0;
    FILE *probe = fopen(file, "ab");
    long bytes = probe == NULL ? -1 : ftell(probe);
    if (probe == NULL || fclose(probe) != 0) {
        gs_complain("--recording %s: cannot be written (%s)", file, strerror(errno));
        return GS_EXIT_USAGE;
    }
    if (is_new) {
        (void)remove(file);
        return GS_EXIT_OK;
    }
    if (bytes == 0) {
        return GS_EXIT_OK;
    }
    gs_status status = gs_recording_read(file, &old, &err);
    if (status == GS_OK) {
        gs_recording_fini(&old);
    } else if (status != GS_EVERSION) {
        gs_complain("--recording %s: the file is there and is no recording; name another one, or "
                    "remove it",
                    file);
        return GS_EXIT_USAGE;
    }
    return GS_EXIT_OK;
}

static int check_runnable(const gs_cli *cli, const gs_loaded *loaded, const gs_live_crew *crew)
{
    const gs_scenario *scenario = &loaded->scenario;
    uint32_t processes = crew->crew == NULL ? 0 : gs_crew_size(crew->crew);
    gs_error err = {0};
    if (cli->flags.label[0] != '\0' && gs_store_check_label(cli->flags.label, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (gs_scenario_runnable(scenario, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    if (scenario->stops_at_target) {
        gs_complain("%s: evaluate.stop: \"target\" is for simulated runs, live ones go on to their "
                    "budget; write evaluate.stop=budget",
                    scenario->name);
        return GS_EXIT_USAGE;
    }
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        uint32_t wanted = scenario->ranks + scenario->servers[i];
        if (wanted > processes && crew->launch.launcher == NULL && processes > 0) {
            gs_complain("%s: %s: %u ranks and %u servers are %u processes, and no launcher has "
                        "started this one; start it with one of %s, or without --transport",
                        scenario->name, scenario->strategies[i].label, scenario->ranks,
                        scenario->servers[i], wanted, gs_transport_find(crew->transport)->launcher);
            return GS_EXIT_USAGE;
        }
        if (processes > 0 && wanted > processes) {
            gs_complain("%s: %s: %u ranks and %u servers are %u processes, %s started %u",
                        scenario->name, scenario->strategies[i].label, scenario->ranks,
                        scenario->servers[i], wanted, crew->launch.launcher, processes);
            return GS_EXIT_USAGE;
        }
    }
    if (cli->flags.recording[0] != '\0' && gs_live_crew_speaks(crew) &&
        check_recording(cli) != GS_EXIT_OK) {
        return GS_EXIT_USAGE;
    }
    if (cli->flags.recording[0] != '\0' && scenario->live.allreduce == 1) {
        gs_complain(
            "%s: --recording: the sums of live.allreduce=native are the network's own, in an "
            "order that nobody can play again; set live.allreduce=program",
            scenario->name);
        return GS_EXIT_USAGE;
    }
    if (!scenario->workload.real_gradients && scenario->live.compute == 0) {
        gs_complain("%s: there is nothing to train: live.compute=replay plays the profile's "
                    "durations, workload.real_gradients=true trains",
                    scenario->name);
        return GS_EXIT_USAGE;
    }
    return GS_EXIT_OK;
}

/* ---------------------------------------------------------------- the runs */

static bool has_codec(const gs_scenario *scenario)
{
    bool has_any = false;
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        has_any = has_any || scenario->strategies[i].coding.codec != NULL;
    }
    return has_any;
}

static void tell_notes(const gs_cli *cli, const gs_loaded *loaded, const gs_live_crew *crew)
{
    const gs_workload *workload = &loaded->scenario.workload;
    const gs_live_settings *live = &loaded->scenario.live;
    if (crew->note != NULL && !cli->flags.quiet) {
        gs_complain("note: transport tcp instead of nccl: %s", crew->note);
    }
    if (live->compute == 0 && !workload->timed_by_flops && !cli->flags.quiet) {
        gs_complain(
            "note: the ranks train %s, whatever that takes here; sim's clock is that of %s. "
            "If that is another job, live.compute=replay plays its durations",
            workload->task.model->name, workload->profile->source);
    }
    if (has_codec(&loaded->scenario) && gs_replay_skips_work(&loaded->scenario) &&
        !cli->flags.quiet) {
        gs_complain("note: live.compute=replay sends the profile's bytes, but does not do the "
                    "codec's work on them, nor vector operations: overhead is not measured, and "
                    "validate leaves it, the step and the order of those with a codec out. Without "
                    "live.compute and workload.profile the model trains, and all of it is done");
    }
    if (live->compute == 0 || live->pace == 1) {
        gs_live_crew_tell_crowd(crew, cli);
    }
}

/* Where the ranks are and what they do. Owner: caller, free(). */
static char *how_text(const gs_scenario *scenario, const gs_live_crew *crew)
{
    const gs_live_settings *live = &scenario->live;
    const char *computes = live->compute == 0 ? "they train"
                           : live->pace == 0  ? "they sleep while the profile computes"
                                              : "they spin while the profile computes";
    if (crew->crew == NULL) {
        return gs_text("live on threads of this process: no network is between them; %s", computes);
    }
    return gs_text("live on %u processes of %s over %s, %s all-reduce; %s",
                   gs_crew_size(crew->crew), crew->launch.launcher, crew->transport,
                   live->allreduce == 0 ? "our own" : "its own", computes);
}

static int tell_plan(const gs_cli *cli, const gs_loaded *loaded, const gs_live_crew *crew)
{
    const gs_scenario *scenario = &loaded->scenario;
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code != GS_EXIT_OK) {
        return code;
    }
    char *how = how_text(scenario, crew);
    gs_sim_batch_header(cli, loaded, how, output.text);
    free(how);
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        fprintf(output.text,
                "would run %s with %" PRId64 " seed%s, %" PRId64 " time%s each, %" PRId64
                " step%s, over %s\n",
                scenario->strategies[i].label, scenario->seeds, scenario->seeds == 1 ? "" : "s",
                cli->flags.repeat, cli->flags.repeat == 1 ? "" : "s",
                scenario->workload.budget_steps, scenario->workload.budget_steps == 1 ? "" : "s",
                crew->transport);
    }
    return gs_output_close(&output);
}

/* All processes know it: an interrupted run has ended on all of them. */
static bool is_over(const gs_live_crew *crew, gs_run_status last)
{
    return last == GS_RUN_INTERRUPTED || (crew->crew != NULL && gs_crew_broken(crew->crew) != NULL);
}

/* Strategies in turn within a repeat, so that what changes with time changes for all of them. The
 * outcomes lie by strategy, as the report has them. */
static void run_batch(gs_sim_batch *batch, const gs_live_crew *crew, bool *is_unwritten)
{
    const gs_scenario *scenario = batch->scenario;
    const gs_cli *cli = batch->cli;
    gs_progress progress;
    bool is_silent = !gs_live_crew_speaks(crew);
    uint32_t ended = 0;
    gs_run_status last = GS_RUN_OK;
    gs_progress_start(&progress, cli, gs_sim_batch_runs(batch));
    for (uint32_t turn = 0; turn < batch->seeds; turn++) {
        for (uint32_t i = 0; i < scenario->strategy_count; i++) {
            bool is_recorded =
                cli->flags.recording[0] != '\0' && i == 0 && turn + 1 == batch->seeds;
            gs_live_plan plan = {.scenario = scenario,
                                 .crew = crew,
                                 .keep_all_ranks = cli->flags.steps == GS_STEPS_ALL,
                                 .recording = is_recorded ? cli->flags.recording : NULL,
                                 .is_unwritten = is_unwritten};
            uint32_t run = i * batch->seeds + turn;
            if (!is_over(crew, last)) {
                gs_live_one(&plan, i, scenario->seed + turn / batch->repeats,
                            &batch->outcomes[run]);
                last = batch->outcomes[run].status;
            }
            if (!is_silent && batch->outcomes[run].started) {
                gs_sim_store_ended(batch, run);
                ended++;
                gs_progress_tell(&progress, ended, (double)ended / gs_sim_batch_runs(batch));
            }
        }
    }
    gs_progress_end(&progress);
}

/* Of a process that does not speak: process 0 says it, unless it was told to end itself. */
static int silent_code(void)
{
    int number = gs_interrupt_signal();
    if (number == 0) {
        return GS_EXIT_OK;
    }
    gs_complain("told to end by signal %d", number);
    return GS_EXIT_INTERRUPTED + number;
}

/* What can be written is found out before anything runs; that a disk fills up is not. */
static int open_outputs(gs_sim_batch *batch, gs_output *output)
{
    gs_error err;
    int code = gs_output_open(output, batch->cli->flags.output);
    if (code == GS_EXIT_OK && gs_sim_store_begin(batch, &err) != GS_OK) {
        (void)gs_complain_error(&err);
        code = GS_EXIT_FAILED;
    }
    return code;
}

static int run_all(const gs_cli *cli, gs_loaded *loaded, gs_live_crew *crew)
{
    gs_sim_batch batch;
    gs_output output = {0};
    bool speaks = gs_live_crew_speaks(crew);
    char *how = how_text(&loaded->scenario, crew);
    gs_sim_batch_begin(cli, loaded, how, (uint32_t)cli->flags.repeat, &batch);
    int code = gs_live_crew_agree(crew, speaks ? open_outputs(&batch, &output) : GS_EXIT_OK);
    if (code != GS_EXIT_OK) {
        gs_output_drop(&output);
        gs_sim_batch_drop(&batch);
        free(how);
        return code;
    }
    tell_notes(cli, loaded, crew);
    gs_interrupt_watch();
    bool is_unwritten = false;
    run_batch(&batch, crew, &is_unwritten);
    if (speaks) {
        code = gs_sim_batch_end(&batch, loaded, &output);
        code = code == GS_EXIT_OK && is_unwritten ? GS_EXIT_FAILED : code;
    } else {
        gs_sim_batch_drop(&batch);
        code = silent_code();
    }
    free(how);
    return code;
}

int gs_cmd_live(const gs_cli *cli)
{
    gs_live_crew crew;
    gs_loaded loaded;
    int code = gs_live_crew_begin(&crew, cli, check_runnable, &loaded);
    if (code == GS_EXIT_OK && cli->flags.dry_run) {
        code = gs_live_crew_speaks(&crew) ? tell_plan(cli, &loaded, &crew) : GS_EXIT_OK;
    } else if (code == GS_EXIT_OK) {
        code = run_all(cli, &loaded, &crew);
        code = gs_live_crew_agree(&crew, code);
    }
    gs_live_crew_close(&crew);
    gs_scenario_unload(&loaded);
    return code;
}
