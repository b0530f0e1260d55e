#include "models/task.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"

/* Test samples per pass; fixed, so that an evaluation does not depend on the batch of its
 * workspace. */
enum { EVALUATE_BATCH = 128 };

struct gs_task {
    gs_task_config config;
    gs_network network;
    gs_dataset dataset;
    uint64_t seed;
};

struct gs_task_workspace {
    const gs_task *task;
    gs_sample_order order;
    int64_t batch_max;
    float *inputs;   /* [larger of batch_max and EVALUATE_BATCH][input_count] */
    uint8_t *labels; /* one per row of inputs */
    void *scratch;   /* the model's */
};

gs_status gs_task_create(const gs_task_config *config, const char *data_dir, uint64_t seed,
                         gs_arena *arena, gs_task **out, gs_error *err)
{
    gs_task *task = GS_TAKE(arena, gs_task, 1);
    if (task == NULL) {
        return gs_fail(err, GS_ENOMEM, "out of memory for the learning task");
    }
    task->config = *config;
    task->seed = seed;
    GS_TRY(gs_dataset_read((size_t)config->data.name, data_dir, arena, &task->dataset, err));
    GS_TRY(
        config->model->build(task->config.model_config, &task->dataset.shape, &task->network, err));
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

gs_status gs_task_workspace_create(const gs_task *task, int64_t batch_max, gs_arena *arena,
                                   gs_task_workspace **out, gs_error *err)
{
    GS_ASSERT(batch_max > 0);
    size_t rows = (size_t)(batch_max > EVALUATE_BATCH ? batch_max : EVALUATE_BATCH);
    gs_task_workspace *workspace = GS_TAKE(arena, gs_task_workspace, 1);
    float *inputs = GS_TAKE(arena, float, rows *(size_t)gs_extent_count(task->dataset.shape.input));
    uint8_t *labels = GS_TAKE(arena, uint8_t, rows);
    void *scratch =
        gs_arena_take(arena, 1, gs_network_workspace_bytes(&task->network, (int64_t)rows));
    if (workspace == NULL || inputs == NULL || labels == NULL || scratch == NULL ||
        gs_sample_order_init(&workspace->order, &task->dataset, task->seed, arena) != GS_OK) {
        return gs_fail(err, GS_ENOMEM, "out of memory for batches of %lld samples",
                       (long long)batch_max);
    }
    workspace->task = task;
    workspace->batch_max = batch_max;
    workspace->inputs = inputs;
    workspace->labels = labels;
    workspace->scratch = scratch;
    *out = workspace;
    return GS_OK;
}

/* Copies one row of the data set into place `index` of the batch. */
static void gather(gs_task_workspace *workspace, int64_t index, uint32_t row)
{
    const gs_dataset *dataset = &workspace->task->dataset;
    size_t width = (size_t)gs_extent_count(dataset->shape.input);
    memcpy(workspace->inputs + (size_t)index * width, dataset->inputs + (size_t)row * width,
           width * sizeof(float));
    workspace->labels[index] = dataset->labels[row];
}

static gs_network_pass pass_over(const gs_task_workspace *workspace, const float *parameters,
                                 int64_t count)
{
    return (gs_network_pass){
        .parameters = parameters,
        .batch = {.inputs = workspace->inputs, .labels = workspace->labels, .count = count},
        .workspace = workspace->scratch,
    };
}

gs_status gs_task_gradient(gs_task_workspace *workspace, const gs_task_request *request,
                           const float *at, float *gradient, double *out_loss, gs_error *err)
{
    GS_ASSERT(request->first_sample >= 0);
    GS_ASSERT(request->sample_count > 0 && request->sample_count <= workspace->batch_max);
    for (int64_t i = 0; i < request->sample_count; i++) {
        gather(workspace, i, gs_sample_order_row(&workspace->order, request->first_sample + i));
    }
    gs_network_pass pass = pass_over(workspace, at, request->sample_count);
    pass.accumulate = request->accumulate;
    pass.layer_ready = request->layer_ready;
    pass.context = request->context;
    const gs_task *task = workspace->task;
    double loss = gs_network_gradient(&task->network, &pass, gradient);
    if (!isfinite(loss)) {
        return gs_fail(err, GS_EDIVERGED,
                       "training loss of samples %lld to %lld is not finite; "
                       "a smaller optimizer.rate may help",
                       (long long)request->first_sample,
                       (long long)(request->first_sample + request->sample_count - 1));
    }
    *out_loss = loss;
    return GS_OK;
}

bool gs_task_apply(const gs_task *task, const gs_optimizer_update *update)
{
    gs_optimizer_update full = *update;
    full.parameter_count = gs_task_parameter_count(task);
    full.network = &task->network;
    return gs_optimizer_apply(&task->config.optimizer, &full);
}

gs_status gs_task_evaluate(gs_task_workspace *workspace, const float *parameters, double *out_loss,
                           double *out_accuracy, gs_error *err)
{
    const gs_task *task = workspace->task;
    const gs_dataset *dataset = &task->dataset;
    double loss = 0.0;
    int64_t correct = 0;
    for (int64_t first = 0; first < dataset->test_count; first += EVALUATE_BATCH) {
        int64_t count = dataset->test_count - first;
        count = count < EVALUATE_BATCH ? count : EVALUATE_BATCH;
        for (int64_t i = 0; i < count; i++) {
            gather(workspace, i, dataset->split[dataset->train_count + first + i]);
        }
        gs_network_pass pass = pass_over(workspace, parameters, count);
        int64_t right = 0;
        loss += gs_network_evaluate(&task->network, &pass, &right);
        correct += right;
    }
    if (!isfinite(loss)) {
        return gs_fail(err, GS_EDIVERGED,
                       "test loss is not finite; a smaller optimizer.rate may help");
    }
    *out_loss = loss / (double)dataset->test_count;
    *out_accuracy = (double)correct / (double)dataset->test_count;
    return GS_OK;
}
