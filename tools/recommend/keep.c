#include "tools/recommend/keep.h"

#include "tools/message.h"
#include "tools/scenario_load.h"
#include "tools/version.h"
#include "traces/store/store_answer.h"

#include <stdlib.h>

void gs_keep_begin(gs_recommend *all, gs_keep *out)
{
    gs_tool_facts facts = gs_version_facts();
    *out = (gs_keep){0};
    if (gs_environment_collect(&facts, &all->arena, &out->environment) != GS_OK) {
        gs_need(NULL);
    }
}

static gs_sim_batch batch_of(const gs_recommend *all, const gs_arm *arm, gs_outcome *outcomes)
{
    return (gs_sim_batch){
        .cli = all->cli,
        .scenario = arm->tuned,
        .source = GS_SOURCE_SIM,
        .seeds = all->confirm_seeds,
        .repeats = 1,
        .outcomes = outcomes,
        .environment = all->keep->environment,
        .model_name = gs_scenario_model_name(arm->tuned),
        .config_json = gs_need(gs_json_write(arm->tuned->resolved, false)),
        .run_ids = gs_need(calloc(all->confirm_seeds, sizeof(int64_t))),
        .ended = gs_need(calloc(all->confirm_seeds, sizeof(bool))),
    };
}

void gs_keep_await(gs_recommend *all, gs_arm *const *finalists, uint32_t count,
                   gs_outcome *outcomes)
{
    gs_keep *keep = all->keep;
    uint32_t seeds = all->confirm_seeds;
    keep->count = count;
    keep->batches = gs_need(calloc((size_t)count + 1, sizeof *keep->batches));
    keep->ended = gs_need(calloc((size_t)count * seeds + 1, sizeof *keep->ended));
    for (uint32_t i = 0; i < count; i++) {
        keep->batches[i] = batch_of(all, finalists[i], &outcomes[(size_t)i * seeds]);
    }
}

static uint32_t run_count(const gs_keep *keep)
{
    return keep->count == 0 ? 0 : keep->count * keep->batches[0].seeds;
}

/* The next run in order, through the store that all batches share. */
static void store_next(gs_keep *keep)
{
    uint32_t run = keep->stored++;
    gs_sim_batch *batch = &keep->batches[run / keep->batches[0].seeds];
    batch->store = keep->store;
    batch->status = keep->status;
    gs_sim_store_ended(batch, run % batch->seeds);
    if (keep->status == GS_OK && batch->status != GS_OK) {
        keep->error = batch->error;
    }
    keep->store = batch->store;
    keep->status = batch->status;
}

void gs_keep_ended(void *context, uint32_t run)
{
    gs_keep *keep = context;
    keep->ended[run] = true;
    while (keep->stored < run_count(keep) && keep->ended[keep->stored]) {
        store_next(keep);
    }
}

gs_status gs_keep_end(gs_keep *keep, const char *answer, gs_json *document, gs_error *err)
{
    while (keep->stored < run_count(keep)) {
        store_next(keep);
    }
    if (keep->store != NULL && keep->status == GS_OK) {
        keep->status = gs_store_write_answer(keep->store, "recommend", answer, &keep->error);
    }
    gs_store_close(keep->store);
    for (uint32_t i = 0; i < keep->count; i++) {
        gs_sim_batch *batch = &keep->batches[i];
        if (document != NULL) {
            gs_sim_document_runs(batch, document);
        }
        free(batch->model_name);
        free(batch->config_json);
        free(batch->run_ids);
        free(batch->ended);
    }
    free(keep->batches);
    free(keep->ended);
    *err = keep->error;
    return keep->status;
}
