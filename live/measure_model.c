#include "live/measure_model.h"

#include <string.h>

#include "base/assert.h"
#include "live/live_net.h"
#include "models/network.h"
#include "models/task.h"

/* Passes: of about two seconds, but enough for a median and no more than say something new. */
enum { WARM_UP = 2, PASSES_MIN = 7, PASSES_MAX = 200, FORWARDS = 7 };
#define ENOUGH_NS (2 * GS_NS_PER_S)

struct gs_measured_model {
    const gs_scenario *scenario;
    gs_arena *arena;
    gs_task *task;
    gs_task_workspace *workspace;
    uint32_t rank;
    int64_t pass; /* the next one */
    float *weights, *gradient, *state;
    uint32_t unit_count;
    uint32_t *unit_of_layer; /* of the network; UINT32_MAX: has no parameters of its own */
    gs_time_ns *ready_ns;    /* [unit_count]: gs_live_clock, of the pass under way */
};

static gs_status no_memory(gs_error *err)
{
    return gs_fail(err, GS_ENOMEM, "no memory for a model that is to be timed");
}

/* Do the units of the profile stand for the layers of the model? */
static gs_status check_units(const gs_measured_model *model, gs_error *err)
{
    const gs_profile *profile = model->scenario->workload.profile;
    const gs_network *network = gs_task_network(model->task);
    bool same = profile->unit_count == model->unit_count;
    for (uint32_t i = 0; i < network->layer_count && same; i++) {
        uint32_t unit = model->unit_of_layer[i];
        same = unit == UINT32_MAX ||
               profile->units[unit].elements == network->layers[i].parameter_count;
    }
    return same ? GS_OK
                : gs_fail(err, GS_EUNSUPPORTED,
                          "workload.profile is of another model than %s, which trains; leave it "
                          "out to have that one timed",
                          model->scenario->workload.task.model->name);
}

static bool number_units(gs_measured_model *model)
{
    const gs_network *network = gs_task_network(model->task);
    model->unit_of_layer = GS_TAKE(model->arena, uint32_t, network->layer_count);
    if (model->unit_of_layer == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < network->layer_count; i++) {
        bool has_own = network->layers[i].parameter_count > 0;
        model->unit_of_layer[i] = has_own ? model->unit_count++ : UINT32_MAX;
    }
    model->ready_ns = GS_TAKE(model->arena, gs_time_ns, model->unit_count);
    return model->ready_ns != NULL;
}

gs_status gs_measured_model_create(const gs_scenario *scenario, uint32_t rank, gs_arena *arena,
                                   gs_measured_model **out, gs_error *err)
{
    const gs_workload *workload = &scenario->workload;
    if (!workload->real_gradients) {
        return gs_fail(err, GS_EUNSUPPORTED,
                       "workload.real_gradients is false: no model trains that could be timed");
    }
    gs_measured_model *model = GS_TAKE(arena, gs_measured_model, 1);
    if (model == NULL) {
        return no_memory(err);
    }
    *model = (gs_measured_model){.scenario = scenario, .arena = arena, .rank = rank};
    gs_task_setup setup = {.data_dir = scenario->data_dir,
                           .dataset = workload->dataset,
                           .ranks = scenario->ranks,
                           .seed = scenario->seed};
    GS_TRY(gs_task_create(&workload->task, &setup, arena, &model->task, err));
    GS_TRY(gs_task_workspace_create(model->task, workload->batch_per_rank, arena, &model->workspace,
                                    err));
    size_t count = gs_task_parameter_count(model->task);
    model->weights = GS_TAKE(arena, float, count);
    model->gradient = GS_TAKE(arena, float, count);
    model->state = GS_TAKE(arena, float, gs_task_state_floats(model->task));
    if (model->weights == NULL || model->gradient == NULL || model->state == NULL ||
        !number_units(model)) {
        return no_memory(err);
    }
    GS_TRY(check_units(model, err));
    gs_task_init(model->task, model->weights);
    *out = model;
    return GS_OK;
}

/* ---------------------------------------------------------------- passes */

static void layer_ready(void *context, uint32_t layer)
{
    gs_measured_model *model = context;
    uint32_t unit = model->unit_of_layer[layer];
    if (unit != UINT32_MAX) {
        model->ready_ns[unit] = gs_live_clock();
    }
}

/* One pass of the rank's next batch, always at the same weights: all are alike. */
static gs_status pass(gs_measured_model *model, gs_time_ns *out_start_ns, gs_time_ns *out_end_ns,
                      gs_error *err)
{
    int64_t batch = model->scenario->workload.batch_per_rank;
    gs_task_request request = {
        .rank = model->rank,
        .first_sample = gs_task_position(model->task, model->rank, model->pass++, batch),
        .sample_count = batch,
        .layer_ready = layer_ready,
        .context = model,
    };
    double loss;
    *out_start_ns = gs_live_clock();
    gs_status status =
        gs_task_gradient(model->workspace, &request, model->weights, model->gradient, &loss, err);
    *out_end_ns = gs_live_clock();
    return status;
}

gs_status gs_measure_passes(gs_measured_model *model, uint32_t least, uint32_t most,
                            atomic_int *stop, double *times_ns, uint32_t *out_count, gs_error *err)
{
    uint32_t count = 0;
    while (count < most && (count < least || atomic_load(stop) == 0)) {
        gs_time_ns start;
        gs_time_ns end;
        GS_TRY(pass(model, &start, &end, err));
        times_ns[count++] = (double)(end - start);
    }
    *out_count = count;
    return GS_OK;
}

/* ---------------------------------------------------------------- layer by layer */

static double median_of(double *times, uint32_t count)
{
    return gs_middle_of(times, count).median;
}

/* Nanoseconds of evaluating one sample. */
static gs_status forward_time(gs_measured_model *model, double *out_ns, gs_error *err)
{
    double times[FORWARDS];
    for (uint32_t i = 0; i < FORWARDS; i++) {
        double loss;
        double accuracy;
        gs_time_ns start = gs_live_clock();
        GS_TRY(gs_task_evaluate(model->workspace, model->weights, &loss, &accuracy, err));
        times[i] = (double)(gs_live_clock() - start);
    }
    *out_ns = median_of(times, FORWARDS) / (double)gs_task_dataset(model->task)->test_count;
    return GS_OK;
}

/* With no rate, so that the weights stay what they are. */
static double optimizer_time(gs_measured_model *model)
{
    double times[PASSES_MIN];
    for (uint32_t i = 0; i < PASSES_MIN; i++) {
        gs_optimizer_update update = {
            .parameters = model->weights,
            .gradient = model->gradient,
            .state = gs_task_state_floats(model->task) > 0 ? model->state : NULL,
            .count = gs_task_parameter_count(model->task),
            .updates = i,
        };
        gs_time_ns start = gs_live_clock();
        (void)gs_task_apply(model->task, &update);
        times[i] = (double)(gs_live_clock() - start);
    }
    return median_of(times, PASSES_MIN);
}

/* The times of all passes, by what they are of: [unit][pass], and of whole passes. */
typedef struct tables {
    double *units, *totals, *scratch;
    uint32_t count;
} tables;

static gs_status time_passes(gs_measured_model *model, tables *into, gs_error *err)
{
    gs_time_ns began = 0;
    for (uint32_t i = 0; i < WARM_UP + PASSES_MAX; i++) {
        gs_time_ns start;
        gs_time_ns end;
        GS_TRY(pass(model, &start, &end, err));
        if (i < WARM_UP) {
            began = end;
            continue;
        }
        gs_time_ns before = start;
        for (uint32_t unit = model->unit_count; unit-- > 0;) {
            into->units[unit * PASSES_MAX + into->count] = (double)(model->ready_ns[unit] - before);
            before = model->ready_ns[unit];
        }
        into->totals[into->count++] = (double)(end - start);
        if (into->count >= PASSES_MIN && end - began > ENOUGH_NS) {
            break;
        }
    }
    return GS_OK;
}

gs_status gs_measure_model(gs_measured_model *model, gs_model_times *out, gs_error *err)
{
    tables in = {
        .units = GS_TAKE(model->arena, double, (size_t)model->unit_count *PASSES_MAX),
        .totals = GS_TAKE(model->arena, double, PASSES_MAX),
        .scratch = GS_TAKE(model->arena, double, PASSES_MAX),
    };
    double *backward_ns = GS_TAKE(model->arena, double, model->unit_count);
    if (in.units == NULL || in.totals == NULL || in.scratch == NULL || backward_ns == NULL) {
        return no_memory(err);
    }
    GS_TRY(time_passes(model, &in, err));
    double sample_ns;
    GS_TRY(forward_time(model, &sample_ns, err));
    for (uint32_t unit = 0; unit < model->unit_count; unit++) {
        backward_ns[unit] = median_of(&in.units[(size_t)unit * PASSES_MAX], in.count);
    }
    /* Until the last unit is ready the whole forward pass went by. */
    double *last = &backward_ns[model->unit_count - 1];
    double forward_ns = sample_ns * (double)model->scenario->workload.batch_per_rank;
    forward_ns = forward_ns < *last ? forward_ns : *last;
    *last -= forward_ns;
    *out = (gs_model_times){
        .unit_count = model->unit_count,
        .backward_ns = backward_ns,
        .forward_ns = forward_ns,
        .optimizer_ns = optimizer_time(model),
        .pass_ns = gs_median_estimate(in.totals, in.count, in.scratch),
        .passes = in.count,
    };
    gs_middle middle = gs_middle_of(in.totals, in.count);
    out->spread_ratio = middle.spread / middle.median;
    out->rejected = in.count - middle.kept;
    return GS_OK;
}
