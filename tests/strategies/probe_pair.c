/* Probe: atomic pair averaging in delta form. Who is asked moves half the way and answers by how
 * much; who asked moves as much the other way: the sum stays, nobody is locked. */
#include "tests/strategies/probes.h"

enum { X = GS_PARAM, Z = PROBE_UPDATES + 1, INBOX, OUTBOX, DELTA };
enum { TAG_ASK, TAG_ANSWER };

typedef struct state {
    probe_tally tally;
    gs_op answer;  /* INBOX is lent to it; 0: it is posted for the next one who asks */
    uint32_t open; /* the question and its answer */
    bool backward, quiescing;
} state;

static gs_status layout(const void *config, const gs_job *job, gs_layout *out, gs_error *err)
{
    (void)config, (void)err, (void)job;
    *out = (gs_layout){.own_vectors = {5},
                       .state_bytes = {sizeof(state)},
                       .outstanding_max = {3},
                       .point_to_point = true,
                       .cut = GS_CUT_OWN};
    return GS_OK;
}
static void init(gs_world *world, void *memory)
{
    (void)memory;
    probe_listen(world, TAG_ASK, INBOX);
}
static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->open == 0) {
        self->backward = true;
        probe_vec(world, GS_VOP_copy, Z, X, 0.0); /* X moves while the gradient is taken */
    }
    return (gs_plan){.go = self->open == 0, .at = Z, .micro_steps = 1};
}
static void go_on(gs_world *world, state *self)
{
    if (self->open == 0 && !self->quiescing) {
        gs_release(world);
    } else if (self->open == 0 && !self->backward && probe_all_came(world, &self->tally) &&
               self->answer == 0) {
        gs_drained(world);
    }
}
static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    self->backward = false;
    probe_train(world, 1.0);
    if (gs_world_job(world)->ranks > 1 && !self->quiescing) {
        gs_peer other = probe_other(world, event->step);
        self->open = 2;
        gs_recv(world, other, TAG_ANSWER, probe_whole(world, DELTA), 0);
        probe_vec(world, GS_VOP_copy, OUTBOX, X, 0.0);
        gs_send(world, other, TAG_ASK, probe_whole(world, OUTBOX), NULL, 0);
        probe_sent(&self->tally, other);
    }
    go_on(world, self);
}
static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (event->op == self->answer) {
        self->answer = 0;
        probe_listen(world, TAG_ASK, INBOX);
    } else {
        self->open--;
    }
    go_on(world, self);
}
static void message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (event->is_note) {
        probe_note_came(&self->tally, event);
    } else if (event->tag == TAG_ANSWER) {
        probe_vec(world, GS_VOP_sub, X, DELTA, 0.0);
        self->open--;
    } else {
        probe_vec(world, GS_VOP_sub, INBOX, X, 0.0); /* theirs - mine */
        probe_vec(world, GS_VOP_scale, INBOX, INBOX, 0.5);
        probe_vec(world, GS_VOP_add, X, INBOX, 0.0);
        self->answer = gs_send(world, event->from, TAG_ANSWER, probe_whole(world, INBOX), NULL, 0);
        self->tally.received++;
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
    return probe_put(out, out_bytes, (probe_export){self->tally.sent, self->tally.received, 1.0});
}
const gs_strategy probe_pair = {.struct_bytes = sizeof(gs_strategy),
                                .name = "probe_pair",
                                .layout = layout,
                                .init = init,
                                .step_begin = step_begin,
                                .bucket_ready = probe_ignore,
                                .backward_done = backward_done,
                                .op_done = op_done,
                                .message = message,
                                .quiesce = quiesce,
                                .export_state = export_state};
