#include "tools/sim_replay.h"

#include "sim/replay.h"
#include "tools/message.h"
#include "tools/output.h"
#include "tools/run_origin.h"
#include "traces/compose.h"

#include <inttypes.h>
#include <string.h>

static int refuse_flags(const gs_cli *cli)
{
    const struct {
        const char *name;
        bool is_given;
    } others[] = {{"json", cli->flags.json},
                  {"csv", cli->flags.csv},
                  {"markdown", cli->flags.markdown},
                  {"dry-run", cli->flags.dry_run},
                  {"gradients", cli->flags.gradients > 0},
                  {"timeline", cli->flags.timeline[0] != '\0'},
                  {"window", cli->flags.window[0] != '\0'}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].is_given) {
            gs_complain("--%s: does not go with --replay, which prints one line", others[i].name);
            return GS_EXIT_USAGE;
        }
    }
    return GS_EXIT_OK;
}

/* The first of that name, as live records it; without one the first, which is then refused. */
static const gs_strategy_choice *choose(const gs_scenario *scenario, const char *name)
{
    for (uint32_t i = 0; i < scenario->strategy_count; i++) {
        if (strcmp(scenario->strategies[i].strategy->name, name) == 0) {
            return &scenario->strategies[i];
        }
    }
    return &scenario->strategies[0];
}

/* Live runs of several seeds are one after the other, and one of them was recorded. */
static uint64_t seed_of(const gs_scenario *scenario, const gs_recording *recording)
{
    uint64_t after_first = recording->about.seed - scenario->seed;
    return after_first < (uint64_t)scenario->seeds ? recording->about.seed : scenario->seed;
}

static gs_status make(gs_loaded *loaded, const gs_recording *recording,
                      const gs_strategy_choice *choice, gs_job *job, gs_task **task, gs_error *err)
{
    const gs_scenario *scenario = &loaded->scenario;
    const gs_workload *workload = &scenario->workload;
    GS_TRY(gs_scenario_job(scenario, &loaded->arena, job, err));
    job->seed = seed_of(scenario, recording);
    if (workload->real_gradients != (recording->about.weights_hash != 0)) {
        return gs_fail(err, GS_EINVAL,
                       "the recording is of another job: workload.real_gradients=%s",
                       workload->real_gradients ? "false" : "true");
    }
    gs_optimizer_config optimizer = gs_compose_rest(&choice->coding, &workload->task.optimizer);
    gs_task_setup setup = {.data_dir = scenario->data_dir,
                           .dataset = workload->dataset,
                           .optimizer = &optimizer,
                           .ranks = job->ranks,
                           .seed = job->seed};
    return workload->real_gradients
               ? gs_task_create(&workload->task, &setup, &loaded->arena, task, err)
               : GS_OK;
}

static void put_verdict(const gs_recording *recording, const gs_replay_result *result, FILE *out)
{
    const gs_recording_about *about = &recording->about;
    const gs_staleness *staleness = &result->staleness;
    fprintf(out, "%s: %zu records of %u rank%s", about->strategy, result->records, about->ranks,
            about->ranks == 1 ? "" : "s");
    if (about->servers > 0) {
        fprintf(out, " and %u server%s", about->servers, about->servers == 1 ? "" : "s");
    }
    if (about->weights_hash == 0) {
        fprintf(out, " replay in their order; there are no weights");
    } else {
        fprintf(out, " replay to the same weights, %016" PRIx64, result->weights_hash);
    }
    if (staleness->count > 0) {
        fprintf(out, "; %" PRId64 " gradients applied, staleness mean %.2f, at most %" PRId64,
                staleness->count, gs_staleness_mean(staleness), staleness->max);
    }
    fputc('\n', out);
}

static int play(const gs_cli *cli, gs_loaded *loaded, const gs_recording *recording)
{
    gs_job job;
    gs_error err = {0};
    gs_replay_result result;
    gs_replay_config config = {.recording = recording,
                               .strategy = choose(&loaded->scenario, recording->about.strategy),
                               .job = &job,
                               .scenario = &loaded->scenario};
    gs_task *task = NULL;
    gs_status status = make(loaded, recording, config.strategy, &job, &task, &err);
    config.task = task;
    if (status == GS_OK) {
        status = gs_replay_run(&config, &result, &err);
    }
    if (status != GS_OK) {
        gs_complain("%s: %s", cli->flags.replay, err.text);
        if (status == GS_EMISMATCH) { /* else it says what differs */
            gs_run_origin_tell(cli->flags.replay, recording->origin, &loaded->scenario,
                               config.strategy);
        }
        return status == GS_EINVAL ? GS_EXIT_USAGE : GS_EXIT_FAILED;
    }
    gs_output output;
    int code = gs_output_open(&output, cli->flags.output);
    if (code == GS_EXIT_OK) {
        put_verdict(recording, &result, output.text);
        code = gs_output_close(&output);
    }
    return code;
}

int gs_sim_replay(const gs_cli *cli, gs_loaded *loaded)
{
    gs_recording recording;
    gs_error err = {0};
    int code = refuse_flags(cli);
    if (code != GS_EXIT_OK) {
        return code;
    }
    if (gs_recording_read(cli->flags.replay, &recording, &err) != GS_OK) {
        return gs_complain_error(&err);
    }
    code = play(cli, loaded, &recording);
    gs_recording_fini(&recording);
    return code;
}
