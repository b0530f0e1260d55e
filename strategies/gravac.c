/* GraVAC: gradients are compressed as long as enough of them gets through.
 *
 *     each step     gradient = mean gradient, by the codec while it is on
 *     each window   gain = E |what the codec makes of g|^2 / E |g|^2, over the ranks and the last
 *                   `looks` steps of the window; the codec is on in the next one if
 *                   gain >= threshold
 *
 * The paper raises a factor of compression step by step; here there are two, that of the codec and
 * 1. A look encodes the gradient once more, without residual, and all ranks agree on the gain at
 * the end of a window: ceil(log2 n) latencies. The first window is dense; so is a run without
 * floats. */
#include "strategies/bucket.h"
#include "strategies/stateless.h"
#include "strategies/synchronous.h"

enum { DENSE, CODED, COMMUNICATORS };
enum { VIEW = GS_OWN }; /* what peers would have of the gradient */

typedef struct config {
    int64_t bucket_bytes, first_bucket_bytes;
    double threshold;
    int64_t window, looks;
} config;

/* clang-format off */
static const gs_field fields[] = {
    GS_SYNC_BUCKET_FIELDS(config),
    {"threshold", GS_FIELD_RATIO, GS_FIELD_AT(config, threshold), "0.7", 0, 1, NULL,
     "gain from which on the codec is used"},
    {"window", GS_FIELD_INT, GS_FIELD_AT(config, window), "100", 1, 1e9, NULL,
     "steps between two decisions"},
    {"looks", GS_FIELD_INT, GS_FIELD_AT(config, looks), "10", 1, 1e9, NULL,
     "steps at the end of a window in which the gain is measured"},
};
/* clang-format on */

static const gs_field_table table = {.name = "gravac",
                                     .struct_bytes = sizeof(config),
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof *fields};

typedef struct state {
    gs_sync_step step;   /* pending: its buckets, sums of products, an agreement */
    int64_t steps;       /* of this window, the one under way not counted */
    double coded, dense; /* squares of this rank's gradients in it */
    bool is_on;          /* the codec */
} state;

/* Cookies and labels: what is asked for, times ASKED_FOR, and the bucket. */
#define ASKED_FOR (UINT64_C(1) << 32)
enum { REDUCE, CODED_SQUARE, DENSE_SQUARE, GAIN };

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    gs_bucket_rule rule = GS_SYNC_BUCKETS(chosen);
    if (chosen->looks > chosen->window) {
        return gs_fail(
            err, GS_EINVAL, "gravac.looks: %lld steps of a window of %lld; use at most looks=%lld",
            (long long)chosen->looks, (long long)chosen->window, (long long)chosen->window);
    }
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = 1},
        .state_bytes = {[GS_WORKER] = sizeof(state)},
        .outstanding_max = {[GS_WORKER] = 3 * gs_bucket_count_max(job, &rule)},
        .communicator_count = COMMUNICATORS,
        .communicators =
            {[DENSE] = {.kinds = 1U << GS_ALL_REDUCE | GS_AGREES}, [CODED] = {.coded = true}},
        .ordered = true,
        .sends_coded = true, /* as far as encoding goes */
        .bytes_vary = true,
        .buckets = rule,
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    return gs_sync_begin(world, &((state *)memory)->step);
}

/* Before its mean is taken: the gain is of what ranks send. */
static void measure(gs_world *world, state *self, gs_slice gradient, uint32_t bucket)
{
    gs_slice view = {VIEW, gradient.offset, gradient.length};
    gs_code(world, view, gradient);
    (void)gs_dot(world, view, view, CODED_SQUARE * ASKED_FOR + bucket);
    (void)gs_dot(world, gradient, gradient, DENSE_SQUARE * ASKED_FOR + bucket);
    self->step.pending += 2;
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    if (self->steps >= chosen->window - chosen->looks) {
        measure(world, self, event->slice, event->bucket);
    }
    gs_sync_divide(world, event->slice);
    (void)gs_all_reduce(world, self->is_on ? CODED : DENSE, event->slice,
                        REDUCE * ASKED_FOR + event->bucket);
}

/* At the end of a window the step ends with the agreement. */
static void finish_step(gs_world *world, state *self)
{
    const config *chosen = gs_world_config(world);
    if (gs_sync_is_busy(&self->step)) {
        return;
    }
    if (++self->steps == chosen->window) {
        const double own[GS_AGREE_VALUES] = {self->coded, self->dense};
        self->step.pending = 1;
        (void)gs_agree(world, DENSE, GS_AGREE_SUM, own, GAIN * ASKED_FOR);
        return;
    }
    gs_sync_finish(world, &self->step);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->step.backward = false;
    finish_step(world, self);
}

static void decide(gs_world *world, state *self, double coded, double dense)
{
    const config *chosen = gs_world_config(world);
    self->is_on = dense > 0.0 && coded >= chosen->threshold * dense;
    self->coded = self->dense = 0.0;
    self->steps = 0;
    gs_sync_finish(world, &self->step);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    self->step.pending--;
    switch (event->cookie / ASKED_FOR) {
    case GAIN:
        decide(world, self, event->agreed[0], event->agreed[1]);
        return;
    case CODED_SQUARE:
        self->coded += event->scalar;
        break;
    case DENSE_SQUARE:
        self->dense += event->scalar;
        break;
    default: /* a sum over ranks, which lies in GRAD */
        break;
    }
    finish_step(world, self);
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    gs_sync_quiesce(world, &((state *)memory)->step);
}

/* From run to run the gain is learned anew. */
const gs_strategy gs_strategy_gravac = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "gravac",
    .summary =
        "allreduce that compresses while enough of the gradient gets through; a look encodes "
        "once more, a window ends with ceil(log2 n) latencies",
    .source = "Tyagi and Swany, GraVAC, CLOUD 2023 (arXiv 2305.12201)",
    .config = &table,
    .layout = layout,
    .wire_bytes = gs_sync_ring_bytes,
    .init = gs_stateless_init,
    .step_begin = step_begin,
    .bucket_ready = bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .quiesce = quiesce,
    .export_state = gs_stateless_export,
    .import_state = gs_stateless_import,
};
