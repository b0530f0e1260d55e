/* Event-triggered gossip: a rank sends its model to its neighbours only when it has moved away from
 * what they know of it, and all mix with what they know of each other.
 *
 *     each step     x = optimizer(x, gradient at x)
 *                   where |x - x^| > threshold |x| / (1 + decay t): x^ = x, sent to all neighbours
 *                   x = x + sum over neighbours j of w (x^_j - x^)
 *
 * The last line keeps the mean of all models, also where only some have sent. The paper's threshold
 * is a length; here it is a share of the model's, which does not depend on how many parameters it
 * has. Whoever does not send says so, in a note of 32 bytes to each neighbour and step: without it
 * nobody could know that nothing comes. Where there are no floats (timing-only runs) every rank
 * sends in every step. */
#include "base/assert.h"
#include "strategies/mixing.h"
#include "strategies/whole_model.h"

#include <string.h>

enum { TAG_NEWS, TAG_MODEL };               /* a note; data */
enum { META_STEP, META_SENDS };             /* of the note */
enum { MOVED, LENGTH, SUMS };               /* cookies of sums of products */
enum { KNOWN = GS_OWN, DIFFERENCE, HEARD }; /* x^, x - x^, and x^ of the neighbours from here on */

typedef struct config {
    int graph; /* gs_graph */
    double threshold, decay;
} config;

/* clang-format off */
static const gs_field fields[] = {
    {"graph", GS_FIELD_CHOICE, GS_FIELD_AT(config, graph), "ring", 0, 0, gs_graph_names,
     "who gossips with whom; not one_peer, where neighbours change every step"},
    {"threshold", GS_FIELD_RATIO, GS_FIELD_AT(config, threshold), "0.01", 0, 1, NULL,
     "share of its length by which a model must have moved to be sent; 0: every step"},
    {"decay", GS_FIELD_REAL, GS_FIELD_AT(config, decay), "0.01", 0, 1e6, NULL,
     "the threshold of step t is divided by 1 + decay t; 0: it stays"},
};
/* clang-format on */

static const gs_field_table table = {.name = "event_triggered",
                                     .struct_bytes = sizeof(config),
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof *fields};

/* A note that came before its time: this rank still computes, or waits for another neighbour. A
 * neighbour waits for this rank's note in each step, so no second one can come. */
typedef struct neighbour {
    bool is_early, sends;
} neighbour;

typedef struct state {
    int64_t steps; /* ended */
    bool computes, waits, quiescing;
    uint32_t sums;            /* that have not come */
    double moved, length;     /* squares */
    uint32_t notes;           /* of this step that have not come */
    uint32_t coming, leaving; /* models on their way */
    gs_mixing mixing;
    neighbour neighbours[]; /* [degree] */
} state;

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const config *chosen = settings;
    GS_TRY(gs_mixing_check("event_triggered", (gs_graph)chosen->graph, job->ranks, err));
    if (chosen->graph == GS_GRAPH_ONE_PEER) {
        return gs_fail(err, GS_EINVAL,
                       "event_triggered.graph: one_peer has other neighbours every step, and what "
                       "they know of each other would be too old; use exponential");
    }
    uint32_t degree = gs_mixing_of((gs_graph)chosen->graph, job->ranks).degree;
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = HEARD - GS_OWN + degree},
        .state_bytes = {[GS_WORKER] = sizeof(state) + degree * sizeof(neighbour)},
        .outstanding_max = {[GS_WORKER] = 2 * degree + SUMS},
        .point_to_point = true,
        .bytes_vary = true,
        .learns_apart = true,
        .buckets = {INT64_MAX, INT64_MAX}, /* gradients do not travel */
        .cut = GS_CUT_COMMON,
    };
    return GS_OK;
}

/* As long as every rank sends in every step. */
static int64_t wire_bytes(const void *settings, const gs_job *job, const gs_coding *coding)
{
    const config *chosen = settings;
    (void)coding;
    return gs_mixing_of((gs_graph)chosen->graph, job->ranks).degree * job->elements *
           job->element_bytes;
}

/* Nobody knows anything: x^ is 0, and all send in the first step. */
static void init(gs_world *world, void *memory)
{
    const config *chosen = gs_world_config(world);
    state *self = memory;
    self->mixing = gs_mixing_of((gs_graph)chosen->graph, gs_world_job(world)->ranks);
    for (uint32_t vector = KNOWN; vector < HEARD + self->mixing.degree; vector++) {
        if (vector != DIFFERENCE) {
            gs_whole_vec(world, GS_VOP_copy, vector, GS_PARAM, 0.0);
            gs_whole_vec(world, GS_VOP_sub, vector, GS_PARAM, 0.0);
        }
    }
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->waits) {
        return (gs_plan){.go = false};
    }
    self->computes = true;
    return gs_plan_at(world, GS_PARAM);
}

/* ---------------------------------------------------------------- a round */

static bool is_news(const gs_world *world, const state *self)
{
    const config *chosen = gs_world_config(world);
    double share = chosen->threshold / (1.0 + chosen->decay * (double)self->steps);
    return !(self->moved <= share * share * self->length);
}

static void hear(gs_world *world, state *self, uint32_t index, bool sends)
{
    gs_peer from = {GS_WORKER,
                    (uint16_t)gs_mixing_from(&self->mixing, gs_self(world).index, 0, index)};
    self->notes--;
    if (sends) {
        self->coming++;
        (void)gs_recv(world, from, TAG_MODEL, gs_whole(world, HEARD + index), index);
    }
}

static void tell(gs_world *world, state *self)
{
    bool sends = is_news(world, self);
    if (sends) {
        gs_whole_vec(world, GS_VOP_copy, KNOWN, GS_PARAM, 0.0);
    }
    for (uint32_t i = 0; i < self->mixing.degree; i++) {
        gs_peer to = {GS_WORKER, (uint16_t)gs_mixing_to(&self->mixing, gs_self(world).index, 0, i)};
        gs_note(world, to, TAG_NEWS, (int64_t[4]){[META_STEP] = self->steps, [META_SENDS] = sends});
        if (sends) {
            self->leaving++;
            (void)gs_send(world, to, TAG_MODEL, gs_whole(world, KNOWN), NULL, GS_SEND_LENT);
        }
    }
    for (uint32_t i = 0; i < self->mixing.degree; i++) {
        neighbour *of = &self->neighbours[i];
        if (of->is_early) {
            of->is_early = false;
            hear(world, self, i, of->sends);
        }
    }
}

static void mix(gs_world *world, const state *self)
{
    double weight = gs_mixing_weight(&self->mixing);
    for (uint32_t i = 0; i < self->mixing.degree; i++) {
        gs_whole_vec(world, GS_VOP_axpy, GS_PARAM, HEARD + i, weight);
    }
    gs_whole_vec(world, GS_VOP_axpy, GS_PARAM, KNOWN, -weight * self->mixing.degree);
}

static void go_on(gs_world *world, state *self)
{
    if (self->sums > 0 || self->notes > 0 || self->coming > 0 || self->leaving > 0) {
        return;
    }
    mix(world, self);
    self->steps++;
    self->waits = false;
    gs_end_step(world);
    if (self->quiescing) {
        gs_drained(world);
    } else {
        gs_release(world);
    }
}

/* ---------------------------------------------------------------- hooks */

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->computes = false;
    self->waits = true;
    self->sums = SUMS;
    self->notes = self->mixing.degree;
    gs_apply(world, GS_PARAM, GS_GRAD, 1.0, false);
    gs_whole_vec(world, GS_VOP_copy, DIFFERENCE, GS_PARAM, 0.0);
    gs_whole_vec(world, GS_VOP_sub, DIFFERENCE, KNOWN, 0.0);
    (void)gs_dot(world, gs_whole(world, DIFFERENCE), gs_whole(world, DIFFERENCE), MOVED);
    (void)gs_dot(world, gs_whole(world, GS_PARAM), gs_whole(world, GS_PARAM), LENGTH);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (self->sums == 0) {
        self->leaving--;
        go_on(world, self);
        return;
    }
    double *square = event->cookie == MOVED ? &self->moved : &self->length;
    *square = event->scalar;
    if (--self->sums == 0) {
        tell(world, self);
        go_on(world, self);
    }
}

static uint32_t index_of(const gs_world *world, const state *self, uint32_t rank)
{
    uint32_t index = 0;
    while (gs_mixing_from(&self->mixing, gs_self(world).index, 0, index) != rank) {
        index++;
    }
    return index;
}

static void message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    if (!event->is_note) {
        self->coming--;
        go_on(world, self);
        return;
    }
    uint32_t index = index_of(world, self, event->from.index);
    bool sends = event->meta[META_SENDS] != 0;
    if (self->waits && self->sums == 0 && event->meta[META_STEP] == self->steps) {
        hear(world, self, index, sends);
        go_on(world, self);
    } else {
        self->neighbours[index] = (neighbour){.is_early = true, .sends = sends};
    }
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    if (!self->computes && !self->waits) {
        gs_drained(world);
    }
}

/* The threshold goes on where it was. */
static size_t export_state(const void *memory, void *out, size_t out_bytes)
{
    const state *self = memory;
    GS_ASSERT(out_bytes >= sizeof self->steps);
    memcpy(out, &self->steps, sizeof self->steps);
    return sizeof self->steps;
}

static void import_state(gs_world *world, void *memory, const void *in, size_t in_bytes)
{
    state *self = memory;
    GS_ASSERT(in_bytes == sizeof self->steps);
    init(world, memory);
    memcpy(&self->steps, in, in_bytes);
}

const gs_strategy gs_strategy_event_triggered = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "event_triggered",
    .summary = "gossip that sends a model when it has moved far from what neighbours know; says so "
               "in a note a neighbour and step",
    .source = "Singh et al., SPARQ-SGD, CDC 2020 (arXiv 1910.14280)",
    .config = &table,
    .layout = layout,
    .wire_bytes = wire_bytes,
    .init = init,
    .step_begin = step_begin,
    .bucket_ready = gs_whole_bucket_ready,
    .backward_done = backward_done,
    .op_done = op_done,
    .message = message,
    .quiesce = quiesce,
    .export_state = export_state,
    .import_state = import_state,
};
