/* The learning task of a scenario: a model, its data and its optimizer, as ranks use them.
 *
 * A task is immutable after creation and shared by threads. What a gradient needs as scratch is in
 * a workspace, one a thread. Samples are named by their position in a stream
 * (models/dataset_order.h), so the weights depend on who computes what and when, never on where it
 * runs. Of iid data there is one stream: with N ranks and b samples each, rank r takes
 * [(step N + r) b, + b), and the mean over the ranks is the gradient one rank would get from the N
 * b samples of that step, up to rounding. Of other shards each rank has its own, and takes [step b,
 * + b) of it. */
#ifndef GS_MODELS_TASK_H
#define GS_MODELS_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "models/dataset.h"
#include "models/dataset_shards.h"
#include "models/model.h"
#include "models/optimizer.h"
#include "models/task_config.h"

typedef struct gs_task gs_task;
typedef struct gs_task_workspace gs_task_workspace;

/* What a host knows of a task beside its configuration. */
typedef struct gs_task_setup {
    const char *data_dir;                 /* holds models/data */
    const gs_dataset *dataset;            /* what config->data names, borrowed; NULL: it is read */
    const gs_optimizer_config *optimizer; /* in place of the configuration's; NULL: that one */
    uint32_t ranks;                       /* >= 1; iid: any number does */
    uint64_t seed; /* decides starting parameters and order of samples, by streams of their own */
} gs_task_setup;

/* Errors: those of the data's source, of gs_shards_create and of the model's build, GS_ENOMEM.
 * Owner: the arena; there is nothing to destroy. */
GS_MUST_USE gs_status gs_task_create(const gs_task_config *config, const gs_task_setup *setup,
                                     gs_arena *arena, gs_task **out, gs_error *err);

/* Layer table and sizes; lives as long as the task. */
const gs_network *gs_task_network(const gs_task *task);
const gs_dataset *gs_task_dataset(const gs_task *task);
const gs_shards *gs_task_shards(const gs_task *task);
size_t gs_task_parameter_count(const gs_task *task);
const gs_optimizer_config *gs_task_optimizer(const gs_task *task);
/* Floats that the optimizer keeps for one vector of parameters, starting at 0. */
size_t gs_task_state_floats(const gs_task *task);

/* Starting parameters [parameter_count]; the same bytes for the same task. */
void gs_task_init(const gs_task *task, float *parameters);

/* For requests of up to batch_max (>= 1) samples. Borrows the task. Errors: GS_ENOMEM. An arena
 * serves one thread at a time: threads that make their own workspaces need their own arenas. */
GS_MUST_USE gs_status gs_task_workspace_create(const gs_task *task, int64_t batch_max,
                                               gs_arena *arena, gs_task_workspace **out,
                                               gs_error *err);

/* Where in its stream the samples of a rank's pass (from 0) begin, when all ranks take `batch`
 * samples a pass. With other batches: iid, the samples that all ranks took in the passes before and
 * lower ranks take in this one; of a stream of its own, the samples that this rank took. */
int64_t gs_task_position(const gs_task *task, uint32_t rank, int64_t pass, int64_t batch);
/* Each rank has a stream of its own: positions of different ranks have nothing to do with each
 * other. */
bool gs_task_has_own_streams(const gs_task *task);

typedef struct gs_task_request {
    uint32_t rank;               /* whose stream; iid: all have one */
    int64_t first_sample;        /* position in it, >= 0 */
    int64_t sample_count;        /* 1..batch_max */
    bool accumulate;             /* add to the gradient instead of replacing it */
    gs_layer_ready *layer_ready; /* NULL: nobody listens; else called from last layer to first */
    void *context;               /* for layer_ready */
} gs_task_request;

/* Mean loss of the samples at the parameters `at`, and its gradient; both [parameter_count]. The
 * same request at the same parameters gives the same bits in one process, in whichever workspace.
 * Errors: GS_EDIVERGED where the loss is not finite; the gradient is then written all the same, and
 * out_loss is not. */
GS_MUST_USE gs_status gs_task_gradient(gs_task_workspace *workspace, const gs_task_request *request,
                                       const float *at, float *gradient, double *out_loss,
                                       gs_error *err);

/* One step of the task's optimizer on a slice, of this task's network whatever update says; see
 * gs_optimizer_apply. */
bool gs_task_apply(const gs_task *task, const gs_optimizer_update *update);
/* See gs_optimizer_apply_on. */
bool gs_task_apply_on(const gs_accelerator *device, void *device_context, const gs_task *task,
                      const gs_optimizer_update *update);

/* Mean loss and share of right answers (0..1; of numbers 0) over the whole test set. Errors:
 * GS_EDIVERGED. */
GS_MUST_USE gs_status gs_task_evaluate(gs_task_workspace *workspace, const float *parameters,
                                       double *out_loss, double *out_accuracy, gs_error *err);

#endif
