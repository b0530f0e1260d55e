#include "tools/live_one.h"

#include "live/live.h"
#include "tools/interrupt.h"
#include "tools/message.h"
#include "tools/run_origin.h"
#include "traces/compose.h"

#include <math.h>
#include <stdlib.h>

typedef struct live_parts {
    gs_arena arena;
    gs_job job;
    gs_task *task;
    char *origin; /* of a recording; NULL: none is made */
    gs_live *live;
} live_parts;

static bool is_interrupted(void)
{
    return gs_interrupt_signal() != 0;
}

static gs_status make_task(const gs_scenario *scenario, const gs_strategy_choice *choice,
                           live_parts *parts, gs_error *err)
{
    const gs_workload *workload = &scenario->workload;
    gs_optimizer_config optimizer = gs_compose_rest(&choice->coding, &workload->task.optimizer);
    gs_task_setup setup = {.data_dir = scenario->data_dir,
                           .dataset = workload->dataset,
                           .optimizer = &optimizer,
                           .ranks = parts->job.ranks,
                           .seed = parts->job.seed};
    return workload->real_gradients
               ? gs_task_create(&workload->task, &setup, &parts->arena, &parts->task, err)
               : GS_OK;
}

static gs_live_config config_of(const gs_live_plan *plan, const gs_strategy_choice *choice,
                                const live_parts *parts, gs_record *rows)
{
    const gs_scenario *scenario = plan->scenario;
    const gs_live_settings *settings = &scenario->live;
    gs_live_config config = gs_live_config_default();
    config.strategy = choice;
    config.job = &parts->job;
    config.task = parts->task;
    config.batch_per_rank = scenario->workload.batch_per_rank;
    config.number = scenario->workload.number;
    config.budget_steps = scenario->workload.budget_steps;
    config.transport = plan->crew->transport;
    config.crew = plan->crew->crew;
    config.deadline_ns = settings->deadline_ns;
    config.record = plan->recording != NULL;
    config.origin = parts->origin;
    config.compute = settings->compute == 0 ? GS_COMPUTE_TRAIN
                     : settings->pace == 0  ? GS_COMPUTE_SLEEP
                                            : GS_COMPUTE_SPIN;
    config.scenario = scenario;
    config.rows = rows;
    config.device = plan->crew->device;
    config.device_number = plan->crew->launch.local_rank;
    config.native = settings->allreduce == 1;
    config.latency_ns = settings->latency_ns;
    config.jitter_ns = settings->jitter_ns;
    config.interrupted = is_interrupted;
    return config;
}

static gs_status make(const gs_live_plan *plan, uint32_t strategy, uint64_t seed, live_parts *parts,
                      gs_record *rows, gs_error *err)
{
    GS_TRY(gs_scenario_job(plan->scenario, &parts->arena, &parts->job, err));
    parts->job.seed = seed;
    GS_TRY(make_task(plan->scenario, &plan->scenario->strategies[strategy], parts, err));
    if (plan->recording != NULL) {
        parts->origin = gs_run_origin_text(plan->scenario, &plan->scenario->strategies[strategy]);
    }
    gs_live_config config = config_of(plan, &plan->scenario->strategies[strategy], parts, rows);
    parts->live = gs_live_create(&config, err);
    return parts->live == NULL ? err->code : GS_OK;
}

/* One that cannot begin on one process begins on none: the others would wait for it. */
static gs_status begin_together(const gs_live_crew *crew, gs_status status, gs_error *err)
{
    if (crew->crew == NULL) {
        return status;
    }
    gs_error shared;
    gs_status same =
        gs_crew_same(crew->crew, "beginning", status == GS_OK ? "ready" : err->text, &shared);
    if (status == GS_OK && same != GS_OK) {
        *err = shared;
        return same;
    }
    return status;
}

static void take_result(const live_parts *parts, gs_outcome *out)
{
    gs_live_result result;
    gs_live_result_get(parts->live, &result);
    out->result = (gs_sim_result){.status = result.status,
                                  .error = result.error,
                                  .facts = result.facts,
                                  .weights_hash = result.weights_hash,
                                  .result_hash = result.weights_hash,
                                  .steps = result.steps};
}

static void write_recording(const gs_live_plan *plan, const live_parts *parts,
                            const gs_outcome *out)
{
    const gs_recording *recording = gs_live_recording(parts->live);
    if (recording == NULL || out->result.status != GS_OK || !gs_live_crew_speaks(plan->crew)) {
        return;
    }
    gs_error err;
    if (gs_recording_write(recording, plan->recording, &err) != GS_OK) {
        gs_complain("%s", err.text); /* what was measured stays */
        *plan->is_unwritten = true;
    }
}

void gs_live_one(const gs_live_plan *plan, uint32_t strategy, uint64_t seed, gs_outcome *out)
{
    gs_time_ns started = gs_live_clock();
    live_parts parts = {.live = NULL};
    gs_outcome_begin(out);
    out->record = gs_need(gs_record_create(plan->scenario->ranks, plan->keep_all_ranks));
    gs_arena_init(&parts.arena);
    gs_status status = make(plan, strategy, seed, &parts, out->record, &out->result.error);
    out->result.status = begin_together(plan->crew, status, &out->result.error);
    if (out->result.status == GS_OK) {
        gs_live_run(parts.live);
        take_result(&parts, out);
        write_recording(plan, &parts, out);
    }
    gs_live_destroy(parts.live);
    free(parts.origin);
    gs_arena_fini(&parts.arena);
    out->wall_ns = gs_live_clock() - started;
    gs_outcome_end(out);
    if (plan->crew->crew != NULL && gs_crew_broken(plan->crew->crew) != NULL) {
        out->status = GS_RUN_INTERRUPTED; /* from outside: the strategy waits for who is gone */
    }
}
