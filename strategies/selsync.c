/* SelSync: ranks learn on their own, and synchronise in the steps in which the gradient of any of
 * them changes much.
 *
 *     each step     d = relative change of the smoothed norm of the gradient, in the worst rank
 *     parameters    x = optimizer(x, gradient); where d >= threshold, x = mean of x
 *     gradients     where d >= threshold, gradient = mean gradient; x = optimizer(x, gradient)
 *
 * All ranks agree on d in every step: ceil(log2 n) latencies, also where nothing is sent. The
 * paper's code averages parameters before the optimizer's step, so that ranks differ again at once;
 * here, as in the paper's algorithm, after it. Where the norm is not known (timing-only runs) every
 * step synchronises. */
#include "base/assert.h"
#include "strategies/coding.h"
#include "strategies/norm_trend.h"
#include "strategies/stateless.h"
#include "strategies/synchronous.h"
#include "strategies/whole_model.h"

enum { COMMUNICATOR = 0 };
enum { PARAMETERS, GRADIENTS }; /* config.aggregate */

typedef struct config {
    double threshold;
    int64_t window;
    double smoothing;
    int aggregate;
} config;

static const char *const aggregates[] = {"parameters", "gradients", NULL};

/* clang-format off */
static const gs_field fields[] = {
    {"threshold", GS_FIELD_REAL, GS_FIELD_AT(config, threshold), "0.3", 0, 1e9, NULL,
     "relative change of the smoothed gradient norm from which on ranks synchronise; 0: every step"},
    {"window", GS_FIELD_INT, GS_FIELD_AT(config, window), "25", 1, GS_NORM_WINDOW_MAX, NULL,
     "steps that norms are smoothed over; so many at the start are all synchronised"},
    {"smoothing", GS_FIELD_RATIO, GS_FIELD_AT(config, smoothing), "0.01", 0, 1, NULL,
     "by which a norm weighs less than the one after it; 0.01 as in the paper's code is almost a flat mean"},
    {"aggregate", GS_FIELD_CHOICE, GS_FIELD_AT(config, aggregate), "parameters", 0, 0, aggregates,
     "what is averaged; with gradients the models of ranks stay apart"},
};
/* clang-format on */

static const gs_field_table table = {.name = "selsync",
                                     .struct_bytes = sizeof(config),
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof *fields};

/* What is awaited; a step ends in IDLE. */
typedef enum stage { IDLE, GRADIENT, NORM, AGREEMENT, AVERAGE, LAST_AVERAGE } stage;

typedef struct state {
    gs_norm_trend trend;
    stage stage;
    bool is_apart; /* models may differ */
    bool quiescing;
    uint64_t steps; /* of this run */
} state;

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    (void)job, (void)err;
    *out = (gs_layout){
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = 1},
        .communicator_count = 1,
        /* A codec would leave out most of a model; what it leaves of a gradient comes later. */
        .communicators[COMMUNICATOR] = {.kinds = 1U << GS_ALL_REDUCE | GS_AGREES,
                                        .coded = chosen->aggregate == GRADIENTS},
        .bytes_vary = true,
        .learns_apart = true,
        .buckets = {INT64_MAX, INT64_MAX}, /* nothing is sent before all is known */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* As long as every step synchronises. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const config *chosen = settings;
    const gs_bucket_rule whole = {INT64_MAX, INT64_MAX};
    return chosen->aggregate == GRADIENTS ? gs_coding_bucket_bytes(coding, job, &whole, 1)
                                          : gs_sync_ring_bytes(settings, job, coding);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->stage != IDLE) {
        return (gs_plan){.go = false};
    }
    self->stage = GRADIENT;
    return gs_plan_at(world, GS_PARAM);
}

static void average(gs_world *world, state *self, uint32_t vector, stage for_what)
{
    gs_sync_divide(world, gs_whole(world, vector));
    (void)gs_all_reduce(world, COMMUNICATOR, gs_whole(world, vector), self->steps);
    self->stage = for_what;
}

/* Between steps. The model of the run is the mean of the ranks'. */
static void go_on(gs_world *world, state *self)
{
    self->stage = IDLE;
    if (!self->quiescing) {
        gs_release(world);
    } else if (self->is_apart) {
        average(world, self, GS_PARAM, LAST_AVERAGE);
    } else {
        gs_drained(world);
    }
}

static void end_step(gs_world *world, state *self)
{
    const config *chosen = gs_world_config(world);
    self->steps++;
    if (chosen->aggregate == GRADIENTS) {
        gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
    } else {
        gs_end_step(world);
    }
    go_on(world, self);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    (void)event;
    self->stage = NORM;
    (void)gs_dot(world, gs_whole(world, GS_GRAD), gs_whole(world, GS_GRAD), self->steps);
    if (chosen->aggregate == PARAMETERS) {
        gs_apply(world, GS_PARAM, GS_GRAD, 1.0, false);
    }
}

static void decide(gs_world *world, state *self, double change)
{
    const config *chosen = gs_world_config(world);
    if (change < chosen->threshold) {
        self->is_apart = true;
        end_step(world, self);
        return;
    }
    self->is_apart = self->is_apart && chosen->aggregate == GRADIENTS;
    average(world, self, chosen->aggregate == GRADIENTS ? GS_GRAD : GS_PARAM, AVERAGE);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    switch (self->stage) {
    case NORM: {
        double change = gs_norm_trend_add(&self->trend, (uint32_t)chosen->window,
                                          1.0 - chosen->smoothing, event->scalar);
        const double own[GS_AGREE_VALUES] = {change};
        self->stage = AGREEMENT;
        (void)gs_agree(world, COMMUNICATOR, GS_AGREE_MAX, own, self->steps);
        break;
    }
    case AGREEMENT:
        decide(world, self, event->agreed[0]);
        break;
    case AVERAGE:
        end_step(world, self);
        break;
    case LAST_AVERAGE:
        gs_drained(world);
        break;
    case IDLE:
    case GRADIENT:
        GS_ASSERT(false && "nothing is asked for before the gradient is there");
    }
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (self->stage == IDLE) {
        go_on(world, self);
    }
}

/* From run to run norms are learned anew, and the first window is synchronised. */
const gs_strategy gs_strategy_selsync = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "selsync",
    .summary = "averages in steps in which any rank's gradient norm changes much; to agree costs "
               "ceil(log2 n) latencies every step",
    .source = "Tyagi and Swany, SelSync, CLUSTER 2023 (arXiv 2307.07950)",
    .config = &table,
    .layout = layout,
    .wire_bytes = wire_bytes,
    .init = gs_stateless_init,
    .step_begin = step_begin,
    .bucket_ready = gs_whole_bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .quiesce = quiesce,
    .export_state = gs_stateless_export,
    .import_state = gs_stateless_import,
};
