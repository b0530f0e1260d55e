/* workload.data: read once for all runs, and dealt out once to see that every rank gets enough. */
#include "traces/scenario/scenario_parts.h"

#include <sys/stat.h>

#include "traces/whole_file.h"

enum { FILES_MAX = 8 };

/* The files as results name them. */
static gs_status keep_inputs(gs_scenario_reader *reader, gs_error *err)
{
    const gs_data_config *config = &reader->out->workload.task.data;
    gs_stored_input *inputs = GS_TAKE(reader->arena, gs_stored_input, FILES_MAX);
    if (inputs == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    const char *file = NULL;
    uint32_t count = 0;
    for (; (file = gs_data_config_file(config, count)) != NULL && count < FILES_MAX; count++) {
        struct stat about;
        gs_stored_input *input = &inputs[count];
        GS_TRY(gs_whole_file_hash(file, 0, &input->xxh3, err));
        input->bytes = stat(file, &about) == 0 ? (int64_t)about.st_size : 0;
        input->role = "data";
        input->format = config->source->name;
        input->name = gs_arena_text(reader->arena, file);
        if (input->name == NULL) {
            return gs_scenario_no_memory(reader, err);
        }
    }
    reader->out->inputs = inputs;
    reader->out->input_count = count;
    return GS_OK;
}

gs_status gs_scenario_load_data(gs_scenario_reader *reader, gs_error *err)
{
    gs_workload *workload = &reader->out->workload;
    if (workload->dataset != NULL) {
        return GS_OK;
    }
    gs_error inner = {0};
    gs_dataset *dataset = GS_TAKE(reader->arena, gs_dataset, 1);
    if (dataset == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    gs_status status = gs_data_load(&workload->task.data, reader->source.options->data_dir,
                                    reader->arena, dataset, &inner);
    if (status != GS_OK) {
        return gs_scenario_fail(reader, status, "workload.data", err, "%s", inner.text);
    }
    workload->dataset = dataset;
    return keep_inputs(reader, err);
}

/* A step that takes more samples than an epoch has is odd, but every rank's batch is sound. */
static void note_step(gs_scenario_reader *reader)
{
    const gs_scenario *out = reader->out;
    int64_t step = out->workload.batch_per_rank * out->workload.accumulation * out->ranks;
    int64_t epoch = out->workload.dataset->train_count;
    if (step > epoch) {
        gs_scenario_note(reader,
                         "workload.batch_per_rank: a step of %u ranks takes %lld samples, more "
                         "than the %lld there are to train with: some count more than once",
                         out->ranks, (long long)step, (long long)epoch);
    }
}

static gs_status check_shards(const gs_scenario_reader *reader, gs_arena *arena, gs_error *err)
{
    const gs_workload *workload = &reader->out->workload;
    gs_error inner = {0};
    gs_shards shards;
    gs_status status = gs_shards_create(workload->dataset, &workload->task.data.shards,
                                        reader->out->ranks, arena, &shards, &inner);
    if (status == GS_OK) {
        status = gs_shards_check_batch(&shards, workload->batch_per_rank, &inner);
    }
    return status == GS_OK
               ? GS_OK
               : gs_scenario_fail(reader, status, "workload.data", err, "%s", inner.text);
}

/* Does the model take such data? */
static gs_status check_model(const gs_scenario_reader *reader, gs_arena *arena, gs_error *err)
{
    const gs_workload *workload = &reader->out->workload;
    gs_error inner = {0};
    gs_network *network = GS_TAKE(arena, gs_network, 1);
    if (network == NULL) {
        return gs_scenario_no_memory(reader, err);
    }
    gs_status status = workload->task.model->build(workload->task.model_config,
                                                   &workload->dataset->shape, network, &inner);
    return status == GS_OK
               ? GS_OK
               : gs_scenario_fail(reader, status, "workload.model", err, "%s", inner.text);
}

/* Does such data have what the target is about? Without one it is told by what is usual. */
static gs_status choose_quality(gs_scenario_reader *reader, gs_error *err)
{
    gs_workload *workload = &reader->out->workload;
    const gs_data_shape *shape = &workload->dataset->shape;
    bool is_real = shape->kind == GS_ANSWER_REAL;
    if (workload->target_value <= 0.0) {
        workload->quality = shape->is_tokens ? GS_BITS_PER_CHAR : is_real ? GS_LOSS : GS_ACCURACY;
    } else if (workload->quality == GS_BITS_PER_CHAR && !shape->is_tokens) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.target.metric", err,
                                "bits_per_char is of text, and workload.data is none; use %s",
                                is_real ? "loss" : "accuracy or loss");
    } else if (workload->quality == GS_ACCURACY && is_real) {
        return gs_scenario_fail(reader, GS_EINVAL, "workload.target.metric", err,
                                "accuracy is of classes, and workload.data has numbers; use loss");
    }
    return GS_OK;
}

gs_status gs_scenario_check_data(gs_scenario_reader *reader, gs_error *err)
{
    const gs_workload *workload = &reader->out->workload;
    if (!workload->real_gradients) {
        return GS_OK;
    }
    GS_TRY(gs_scenario_load_data(reader, err));
    GS_TRY(choose_quality(reader, err));
    gs_arena arena;
    gs_arena_init(&arena);
    gs_status status = check_shards(reader, &arena, err);
    if (status == GS_OK) {
        status = check_model(reader, &arena, err);
    }
    gs_arena_fini(&arena);
    if (status == GS_OK) {
        note_step(reader);
    }
    return status;
}
