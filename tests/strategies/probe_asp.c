/* Probe: an asynchronous parameter server that applies every gradient when it comes. */
#include "tests/strategies/probes.h"

enum { TAG_GRAD, TAG_PARAM, TAG_FINAL };
static const gs_peer server = {GS_SERVER, 0};
static const gs_peer any_worker = {GS_WORKER, GS_ANY};

typedef struct state { /* of both roles */
    int64_t version, sent, applied, expected;
    uint32_t open; /* worker: send and reply on their way; server: copies on their way */
    uint32_t notes;
    bool listening, backward, quiescing;
} state;

static gs_status layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config, (void)err;
    *out = (gs_layout){.servers = 1,
                       .point_to_point = true,
                       .cut = GS_CUT_OWN,
                       .state_bytes = {sizeof(state), sizeof(state)},
                       .copies_max = {[GS_SERVER] = job->ranks},
                       .outstanding_max = {2, job->ranks + 1}};
    return GS_OK;
}
/* No more replies than copies are allowed: gradients wait with their senders meanwhile. */
static void go_on(gs_world *world, state *self)
{
    uint32_t ranks = gs_world_job(world)->ranks;
    bool worker = gs_self(world).role == GS_WORKER;
    if (!worker && !self->listening && self->open < ranks) {
        self->listening = gs_recv(world, any_worker, TAG_GRAD, probe_whole(world, GS_GRAD), 0) > 0;
    }
    if (worker && self->open == 0 && !self->backward && self->quiescing) {
        gs_note(world, server, TAG_FINAL, (int64_t[4]){self->sent});
        gs_drained(world);
    } else if (worker && self->open == 0) {
        gs_release(world); /* the reply alone does not free GRAD */
    } else if (!worker && self->quiescing && self->open == 0 && self->notes == ranks &&
               self->applied == self->expected) {
        gs_drained(world);
    }
}
static void init(gs_world *world, void *self)
{
    if (gs_self(world).role == GS_SERVER) {
        go_on(world, self);
    }
}
static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)world, (void)event;
    self->backward = self->open == 0;
    return (gs_plan){.go = self->open == 0, .at = GS_PARAM, .micro_steps = 1};
}
static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->backward = false;
    self->open = 2;
    self->sent++;
    gs_recv(world, server, TAG_PARAM, probe_whole(world, GS_PARAM), 0);
    gs_send(world, server, TAG_GRAD, probe_whole(world, GS_GRAD), (int64_t[4]){self->version}, 0);
}
static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    (void)event;
    ((state *)memory)->open--;
    go_on(world, memory);
}
static void message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (event->is_note) {
        self->notes++;
        self->expected += event->meta[0];
    } else if (event->tag == TAG_PARAM) {
        self->version = event->meta[0];
        self->open--;
    } else {
        self->listening = false;
        self->applied++;
        self->open++;
        gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
        gs_send(world, event->from, TAG_PARAM, probe_whole(world, GS_PARAM),
                (int64_t[4]){self->applied}, GS_SEND_COPY);
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
    return probe_put(out, out_bytes, (probe_export){self->sent, self->applied, 1.0});
}

const gs_strategy probe_asp = {.struct_bytes = sizeof(gs_strategy),
                               .name = "probe_asp",
                               .layout = layout,
                               .init = init,
                               .step_begin = step_begin,
                               .bucket_ready = probe_ignore,
                               .backward_done = backward_done,
                               .op_done = op_done,
                               .message = message,
                               .quiesce = quiesce,
                               .export_state = export_state};
