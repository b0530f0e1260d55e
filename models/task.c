#include "models/task.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "models/dataset_order.h"

/* Answers of test samples per pass; fixed, so that an evaluation does not depend on the batch of
 * its workspace. */
enum { EVALUATE_ANSWERS = 128, PIXEL_MAX = 255 };

struct gs_task {
    gs_task_config config;
    gs_network network;
    gs_dataset dataset;
    gs_shards shards;
    uint64_t seed;
    int64_t evaluate_batch; /* test samples per pass */
};

struct gs_task_workspace {
    const gs_task *task;
    gs_sample_order order;
    int64_t batch_max;
    /* Each [larger of batch_max and evaluate_batch][of a sample]; NULL where data has none. */
    float *inputs;
    uint8_t *tokens;
    uint8_t *labels;
    float *targets;
    void *scratch; /* the model's */
};

gs_status gs_task_create(const gs_task_config *config, const gs_task_setup *setup, gs_arena *arena,
                         gs_task **out, gs_error *err)
{
    gs_task *task = GS_TAKE(arena, gs_task, 1);
    if (task == NULL) {
        return gs_fail(err, GS_ENOMEM, "out of memory for the learning task");
    }
    task->config = *config;
    if (setup->optimizer != NULL) {
        task->config.optimizer = *setup->optimizer;
    }
    task->seed = setup->seed;
    if (setup->dataset != NULL) {
        task->dataset = *setup->dataset;
    } else {
        GS_TRY(gs_data_load(&config->data, setup->data_dir, arena, &task->dataset, err));
    }
    GS_TRY(gs_shards_create(&task->dataset, &config->data.shards, setup->ranks, arena,
                            &task->shards, err));
    GS_TRY(
        config->model->build(task->config.model_config, &task->dataset.shape, &task->network, err));
    int64_t answers = task->dataset.shape.answer_count;
    task->evaluate_batch = answers < EVALUATE_ANSWERS ? EVALUATE_ANSWERS / answers : 1;
    *out = task;
    return GS_OK;
}

const gs_network *gs_task_network(const gs_task *task)
{
    return &task->network;
}

const gs_dataset *gs_task_dataset(const gs_task *task)
{
    return &task->dataset;
}

const gs_shards *gs_task_shards(const gs_task *task)
{
    return &task->shards;
}

size_t gs_task_parameter_count(const gs_task *task)
{
    return (size_t)task->network.parameter_count;
}

const gs_optimizer_config *gs_task_optimizer(const gs_task *task)
{
    return &task->config.optimizer;
}

size_t gs_task_state_floats(const gs_task *task)
{
    return gs_optimizer_state_floats(&task->config.optimizer, gs_task_parameter_count(task));
}

void gs_task_init(const gs_task *task, float *parameters)
{
    gs_network_init(&task->network, task->seed, parameters);
}

/* The arrays of a batch that this data fills. false: no memory. */
static bool take_batch(gs_task_workspace *workspace, const gs_dataset *dataset, size_t rows,
                       gs_arena *arena)
{
    size_t inputs = rows * (size_t)gs_extent_count(dataset->shape.input);
    size_t answers = rows * (size_t)dataset->shape.answer_count;
    bool ok = true;
    if (dataset->shape.is_tokens) {
        workspace->tokens = GS_TAKE(arena, uint8_t, inputs);
        ok = workspace->tokens != NULL;
    } else {
        workspace->inputs = GS_TAKE(arena, float, inputs);
        ok = workspace->inputs != NULL;
    }
    if (dataset->shape.kind == GS_ANSWER_CLASS) {
        workspace->labels = GS_TAKE(arena, uint8_t, answers);
        return ok && workspace->labels != NULL;
    }
    workspace->targets = GS_TAKE(arena, float, answers);
    return ok && workspace->targets != NULL;
}

gs_status gs_task_workspace_create(const gs_task *task, int64_t batch_max, gs_arena *arena,
                                   gs_task_workspace **out, gs_error *err)
{
    GS_ASSERT(batch_max > 0);
    int64_t rows = batch_max > task->evaluate_batch ? batch_max : task->evaluate_batch;
    gs_task_workspace *workspace = GS_TAKE(arena, gs_task_workspace, 1);
    void *scratch = gs_arena_take(arena, 1, gs_network_workspace_bytes(&task->network, rows));
    if (workspace == NULL || scratch == NULL ||
        !take_batch(workspace, &task->dataset, (size_t)rows, arena) ||
        gs_sample_order_init(&workspace->order, &task->shards, task->seed, arena) != GS_OK) {
        return gs_fail(err, GS_ENOMEM, "out of memory for batches of %lld samples",
                       (long long)batch_max);
    }
    workspace->task = task;
    workspace->batch_max = batch_max;
    workspace->scratch = scratch;
    *out = workspace;
    return GS_OK;
}

bool gs_task_has_own_streams(const gs_task *task)
{
    return gs_shards_are_own(&task->shards);
}

int64_t gs_task_position(const gs_task *task, uint32_t rank, int64_t pass, int64_t batch)
{
    return gs_shards_are_own(&task->shards) ? pass * batch
                                            : (pass * task->shards.ranks + rank) * batch;
}

/* Copies one row of the data set into place `index` of the batch. */
static void gather(gs_task_workspace *workspace, int64_t index, uint32_t row)
{
    const gs_dataset *dataset = &workspace->task->dataset;
    size_t width = (size_t)gs_extent_count(dataset->shape.input);
    size_t answers = (size_t)dataset->shape.answer_count;
    size_t from = (size_t)row * (size_t)dataset->input_stride;
    size_t answer_from = (size_t)row * (size_t)dataset->answer_stride;
    size_t to = (size_t)index * width;
    if (dataset->tokens != NULL) {
        memcpy(workspace->tokens + to, dataset->tokens + from, width);
    } else if (dataset->inputs != NULL) {
        memcpy(workspace->inputs + to, dataset->inputs + from, width * sizeof(float));
    } else {
        for (size_t i = 0; i < width; i++) {
            workspace->inputs[to + i] = (float)dataset->pixels[from + i] / (float)PIXEL_MAX;
        }
    }
    if (dataset->labels != NULL) {
        memcpy(workspace->labels + (size_t)index * answers, dataset->labels + answer_from, answers);
    } else {
        memcpy(workspace->targets + (size_t)index * answers, dataset->targets + answer_from,
               answers * sizeof(float));
    }
}

static gs_network_pass pass_over(const gs_task_workspace *workspace, const float *parameters,
                                 int64_t count)
{
    return (gs_network_pass){
        .parameters = parameters,
        .batch = {.inputs = workspace->inputs,
                  .tokens = workspace->tokens,
                  .labels = workspace->labels,
                  .targets = workspace->targets,
                  .count = count},
        .workspace = workspace->scratch,
    };
}

gs_status gs_task_gradient(gs_task_workspace *workspace, const gs_task_request *request,
                           const float *at, float *gradient, double *out_loss, gs_error *err)
{
    GS_ASSERT(request->first_sample >= 0);
    GS_ASSERT(request->sample_count > 0 && request->sample_count <= workspace->batch_max);
    for (int64_t i = 0; i < request->sample_count; i++) {
        gather(workspace, i,
               gs_sample_order_row(&workspace->order, request->rank, request->first_sample + i));
    }
    gs_network_pass pass = pass_over(workspace, at, request->sample_count);
    pass.accumulate = request->accumulate;
    pass.layer_ready = request->layer_ready;
    pass.context = request->context;
    const gs_task *task = workspace->task;
    double loss = gs_network_gradient(&task->network, &pass, gradient);
    if (!isfinite(loss)) {
        return gs_fail(err, GS_EDIVERGED, "training loss of samples %lld to %lld is not finite",
                       (long long)request->first_sample,
                       (long long)(request->first_sample + request->sample_count - 1));
    }
    *out_loss = loss;
    return GS_OK;
}

bool gs_task_apply(const gs_task *task, const gs_optimizer_update *update)
{
    return gs_task_apply_on(NULL, NULL, task, update);
}

bool gs_task_apply_on(const gs_accelerator *device, void *device_context, const gs_task *task,
                      const gs_optimizer_update *update)
{
    gs_optimizer_update full = *update;
    full.parameter_count = gs_task_parameter_count(task);
    full.network = &task->network;
    return gs_optimizer_apply_on(device, device_context, &task->config.optimizer, &full);
}

gs_status gs_task_evaluate(gs_task_workspace *workspace, const float *parameters, double *out_loss,
                           double *out_accuracy, gs_error *err)
{
    const gs_task *task = workspace->task;
    const gs_dataset *dataset = &task->dataset;
    double loss = 0.0;
    int64_t correct = 0;
    for (int64_t first = 0; first < dataset->test_count; first += task->evaluate_batch) {
        int64_t count = dataset->test_count - first;
        count = count < task->evaluate_batch ? count : task->evaluate_batch;
        for (int64_t i = 0; i < count; i++) {
            gather(workspace, i, dataset->split[dataset->train_count + first + i]);
        }
        gs_network_pass pass = pass_over(workspace, parameters, count);
        int64_t right = 0;
        loss += gs_network_evaluate(&task->network, &pass, &right);
        correct += right;
    }
    if (!isfinite(loss)) {
        return gs_fail(err, GS_EDIVERGED, "test loss is not finite");
    }
    double answers = (double)(dataset->test_count * dataset->shape.answer_count);
    *out_loss = loss / answers;
    *out_accuracy = (double)correct / answers;
    return GS_OK;
}
