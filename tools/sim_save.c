#include "tools/sim_save.h"

#include "tools/message.h"
#include "tools/scenario_load.h"
#include "tools/version.h"
#include "traces/result_json.h"

#include <stdlib.h>

/* Files that the run was made from: the scenario's, and the plug-in that its strategy is from.
 * Other plug-ins have no part in it. Owner: caller, free(). */
static gs_stored_input *inputs_of(const gs_scenario *scenario, const gs_loaded_plugin *plugin,
                                  uint32_t *out_count)
{
    gs_stored_input *inputs = gs_need(calloc((size_t)scenario->input_count + 1, sizeof *inputs));
    uint32_t count = 0;
    while (count < scenario->input_count) {
        inputs[count] = scenario->inputs[count];
        count++;
    }
    if (plugin != NULL) {
        inputs[count++] = plugin->input;
    }
    *out_count = count;
    return inputs;
}

void gs_sim_stored_run_fini(gs_stored_run *run)
{
    free((void *)(uintptr_t)run->inputs); /* ours alone: inputs_of */
    run->inputs = NULL;
}

gs_stored_run gs_sim_stored_run(const gs_sim_batch *batch, uint32_t index)
{
    const gs_scenario *scenario = batch->scenario;
    const gs_strategy_choice *choice = &scenario->strategies[index / batch->seeds];
    const gs_loaded_plugin *plugin =
        gs_plugin_of(batch->cli->loaded, batch->cli->plugin_count, choice->strategy);
    uint32_t input_count = 0;
    const gs_stored_input *inputs = inputs_of(scenario, plugin, &input_count);
    const gs_outcome *outcome = &batch->outcomes[index];
    bool ended = outcome->status == GS_RUN_OK || outcome->status == GS_RUN_RECOVERED;
    return (gs_stored_run){
        .source = batch->source,
        .status = outcome->status,
        .scenario = {.name = scenario->name,
                     .config_hash = scenario->config_hash,
                     .config_json = batch->config_json,
                     .ranks = scenario->ranks,
                     .nodes = scenario->nodes,
                     .model = batch->model_name,
                     .gradient_bytes = gs_scenario_gradient_bytes(scenario)},
        /* Strategies that come with the program have its version. */
        .strategy = {.name = choice->strategy->name,
                     .version = plugin == NULL ? gs_version_number() : plugin->version,
                     .params_json = choice->params_json},
        .environment = batch->environment,
        .label = batch->cli->flags.label[0] == '\0' ? NULL : batch->cli->flags.label,
        .seed = scenario->seed + index % batch->seeds / batch->repeats,
        .repeat = batch->source == GS_SOURCE_LIVE ? GS_REPEAT_NEXT : 0,
        .error_text = ended ? NULL : outcome->result.error.text,
        .exact = ended && batch->source == GS_SOURCE_SIM,
        .result_hash = outcome->result.result_hash,
        .started_utc = outcome->started_utc,
        .wall_ns = outcome->wall_ns,
        .inputs = inputs,
        .input_count = input_count,
        .values = outcome->values,
        .target_censored = outcome->target_censored,
        .record = outcome->record,
    };
}

gs_status gs_sim_store_begin(gs_sim_batch *batch, gs_error *err)
{
    char path[GS_FLAG_TEXT_BYTES];
    bool is_default = false;
    GS_TRY(gs_cli_database(batch->cli, path, sizeof path, &is_default, err));
    return gs_store_open(path, is_default ? GS_STORE_WRITE_MAKE_FOLDERS : GS_STORE_WRITE,
                         &batch->store, err);
}

/* The next run in order, if the database has not failed before. */
static void store_next(gs_sim_batch *batch)
{
    uint32_t run = batch->stored++;
    if (batch->status == GS_OK && batch->store == NULL) {
        batch->status = gs_sim_store_begin(batch, &batch->error);
    }
    if (batch->status == GS_OK && batch->outcomes[run].started) {
        gs_stored_run row = gs_sim_stored_run(batch, run);
        batch->status = gs_store_write_run(batch->store, &row, &batch->run_ids[run], &batch->error);
        gs_sim_stored_run_fini(&row);
    }
}

void gs_sim_store_ended(void *context, uint32_t run)
{
    gs_sim_batch *batch = context;
    uint32_t count = batch->scenario->strategy_count * batch->seeds;
    batch->ended[run] = true;
    while (batch->stored < count && batch->ended[batch->stored]) {
        store_next(batch);
    }
}

gs_status gs_sim_store_finish(gs_sim_batch *batch, gs_error *err)
{
    while (batch->stored < batch->scenario->strategy_count * batch->seeds) {
        store_next(batch);
    }
    gs_store_close(batch->store);
    batch->store = NULL;
    *err = batch->error;
    return batch->status;
}

void gs_sim_document_runs(const gs_sim_batch *batch, gs_json *document)
{
    gs_error err = {0};
    uint32_t count = batch->scenario->strategy_count * batch->seeds;
    for (uint32_t i = 0; i < count; i++) {
        if (!batch->outcomes[i].started) {
            continue;
        }
        gs_stored_run run = gs_sim_stored_run(batch, i);
        run.started_utc = NULL; /* the same command prints the same bytes */
        if (gs_result_json_add_run(document, &run, batch->run_ids[i], &err) != GS_OK) {
            gs_need(NULL);
        }
        gs_sim_stored_run_fini(&run);
    }
}

gs_json *gs_sim_document(const gs_sim_batch *batch, const gs_sim_report *report, const char *answer,
                         int exit_code)
{
    gs_json *document = gs_need(gs_result_json_create(batch->command, &batch->environment));
    gs_error err = {0};
    gs_sim_document_runs(batch, document);
    if (!gs_json_set(document, "strategies", gs_sim_report_json(report))) {
        gs_need(NULL);
    }
    if (gs_result_json_finish(document, answer, exit_code, &err) != GS_OK) {
        gs_need(NULL);
    }
    return document;
}
