/* Probe: push-sum gossip. x and w travel in halves, the gradient is taken at z = x / w. */
#include "tests/strategies/probes.h"

#include <string.h>

enum { X = GS_PARAM, Z = PROBE_UPDATES + 1, INBOX, OUTBOX };

typedef struct state {
    double w;
    probe_tally tally;
    bool sending, backward, quiescing;
} state;

static gs_status layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config, (void)err, (void)job;
    *out = (gs_layout){.own_vectors = {4},
                       .state_bytes = {sizeof(state)},
                       .outstanding_max = {2},
                       .point_to_point = true,
                       .cut = GS_CUT_OWN};
    return GS_OK;
}
static void set_z(gs_world *world, const state *self)
{
    probe_vec(world, GS_VOP_copy, Z, X, 0.0);
    probe_vec(world, GS_VOP_scale, Z, Z, 1.0 / self->w);
}
static void init(gs_world *world, void *memory)
{
    ((state *)memory)->w = 1.0;
    probe_listen(world, 0, INBOX);
}
static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (!self->sending) {
        self->backward = true;
        set_z(world, self);
    }
    return (gs_plan){.go = !self->sending, .at = Z, .micro_steps = 1};
}
static void go_on(gs_world *world, state *self)
{
    if (self->sending || self->backward || !self->quiescing) {
        gs_release(world);
    } else if (probe_all_came(world, &self->tally)) {
        set_z(world, self);
        gs_drained(world);
    }
}
static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    self->backward = false;
    probe_train(world, self->w); /* so that z moves by the rate, however little w is left */
    if (gs_world_job(world)->ranks > 1 && !self->quiescing) {
        gs_peer to = probe_other(world, event->step);
        int64_t meta[4] = {0};
        self->w /= 2.0;
        memcpy(meta, &self->w, sizeof self->w);
        probe_vec(world, GS_VOP_scale, X, X, 0.5);
        probe_vec(world, GS_VOP_copy, OUTBOX, X, 0.0);
        self->sending = gs_send(world, to, 0, probe_whole(world, OUTBOX), meta, 0) > 0;
        probe_sent(&self->tally, to);
    }
    go_on(world, self);
}
static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    ((state *)memory)->sending = false;
    go_on(world, memory);
}
static void message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (event->is_note) {
        probe_note_came(&self->tally, event);
    } else {
        double share;
        memcpy(&share, event->meta, sizeof share);
        probe_vec(world, GS_VOP_add, X, INBOX, 0.0);
        self->w += share;
        self->tally.received++;
        probe_listen(world, 0, INBOX);
    }
    go_on(world, self);
}
static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    ((state *)memory)->quiescing = true;
    go_on(world, memory);
}
static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    return probe_put(out, out_bytes,
                     (probe_export){self->tally.sent, self->tally.received, self->w});
}
static void model_view(const void *memory, uint32_t *out_vector, double *out_weight)
{
    (void)memory;
    *out_vector = Z;
    *out_weight = 1.0;
}
const gs_strategy probe_push_sum = {.struct_bytes = sizeof(gs_strategy),
                                    .name = "probe_push_sum",
                                    .layout = layout,
                                    .init = init,
                                    .step_begin = step_begin,
                                    .bucket_ready = probe_ignore,
                                    .backward_done = backward_done,
                                    .op_done = op_done,
                                    .message = message,
                                    .quiesce = quiesce,
                                    .export_state = export_state,
                                    .model_view = model_view};
