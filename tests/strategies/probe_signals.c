/* Probe: every bucket's square norm is asked for as it comes, all ranks learn the largest, the sum
 * and the smallest of them, and the step goes as far as these say: two agreements at once, of which
 * the second needs nothing of the first. */
#include "tests/strategies/probes.h"

/* Labels of agreements have AGREED, those of sums are buckets. */
enum { AGREED = 1 << 20, LARGEST = AGREED, TOTAL, KINDS = 2 };

typedef struct state {
    double squares;   /* of the buckets so far */
    uint32_t dots;    /* that have not come */
    uint32_t awaited; /* sums and agreements that have not come */
    double largest, total;
    bool backward, quiescing;
} state;

static gs_status layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config, (void)err;
    *out = (gs_layout){
        .state_bytes = {sizeof(state)},
        .outstanding_max = {2 * job->unit_count + KINDS},
        .communicator_count = 2,
        .communicators = {{.kinds = 1U << GS_ALL_REDUCE}, {.kinds = GS_AGREES}},
    };
    return GS_OK;
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->backward || self->dots > 0 || self->awaited > 0) {
        return (gs_plan){.go = false};
    }
    *self = (state){.backward = true,
                    .dots = gs_bucket_count(world),
                    .awaited = gs_bucket_count(world) + KINDS};
    return gs_plan_at(world, GS_PARAM);
}

static void bucket_ready(gs_world *world, void *memory, const gs_event *event)
{
    (void)memory;
    (void)gs_dot(world, event->slice, event->slice, event->bucket);
}

static void ask(gs_world *world, const state *self)
{
    const double own[GS_AGREE_VALUES] = {self->squares, -self->squares};
    (void)gs_agree(world, 1, GS_AGREE_MAX, own, LARGEST);
    (void)gs_agree(world, 1, GS_AGREE_SUM, own, TOTAL);
    for (uint32_t i = 0; i < gs_bucket_count(world); i++) {
        (void)gs_all_reduce(world, 0, gs_bucket_slice(world, i), i);
    }
}

static void finish_step(gs_world *world, state *self)
{
    if (self->backward || self->dots > 0 || self->awaited > 0) {
        return;
    }
    uint32_t ranks = gs_world_job(world)->ranks;
    gs_apply(world, GS_PARAM, GS_GRAD, self->total / (self->largest * ranks * ranks), true);
    if (self->quiescing) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->backward = false;
    finish_step(world, self);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (self->dots > 0) { /* nothing else is asked for before all have come */
        self->squares += event->scalar;
        self->dots--;
        if (self->dots == 0) {
            ask(world, self);
        }
        return;
    }
    if (event->cookie == LARGEST) {
        self->largest = event->agreed[0];
    } else if (event->cookie == TOTAL) {
        self->total = event->agreed[0];
    }
    self->awaited--;
    finish_step(world, self);
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (!self->backward && self->dots == 0 && self->awaited == 0) {
        gs_drained(world);
    }
}

const gs_strategy probe_signals = {.struct_bytes = sizeof(gs_strategy),
                                   .name = "probe_signals",
                                   .layout = layout,
                                   .init = probe_no_init,
                                   .step_begin = step_begin,
                                   .bucket_ready = bucket_ready,
                                   .backward_done = backward_done,
                                   .op_done = op_done,
                                   .quiesce = quiesce};
