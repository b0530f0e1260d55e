/* AD-PSGD: on its own clock each rank averages with a random neighbour while it computes a
 * gradient, then applies that gradient, however the model has moved meanwhile.
 *
 * The pair average (strategies/ad_psgd_pair.h) locks nobody, and so nobody can deadlock: the
 * published lock form needs a graph in two halves.
 *
 * The end loses nothing: each rank tells its neighbours how often it asked them, and stays until it
 * has answered as often as it was asked. */
#include "base/assert.h"
#include "strategies/ad_psgd_pair.h"
#include "strategies/mixing.h"
#include "strategies/strategy.h"
#include "strategies/whole_model.h"
#include "strategies/world.h"

#include <string.h>

typedef struct ad_psgd_config {
    int graph; /* gs_graph, the first few */
} ad_psgd_config;

typedef struct state {
    gs_mixing mixing;
    bool in_step, backward;
    bool quiescing, told;
    gs_pair pair;
    int64_t steps;
    uint32_t asked[]; /* [degree] */
} state;

static gs_mixing mixing_of(const void *settings, const gs_job *job)
{
    const ad_psgd_config *config = settings;
    return gs_mixing_of((gs_graph)config->graph, job->ranks);
}

static gs_status layout(const void *settings, const gs_job *job, gs_layout *out, gs_error *err)
{
    const ad_psgd_config *config = settings;
    GS_TRY(gs_mixing_check("ad_psgd", (gs_graph)config->graph, job->ranks, err));
    *out = (gs_layout){
        .own_vectors = {[GS_WORKER] = GS_PAIR_VECTORS_END - GS_OWN},
        .state_bytes = {[GS_WORKER] =
                            sizeof(state) + mixing_of(config, job).degree * sizeof(uint32_t)},
        .outstanding_max = {[GS_WORKER] = 3},
        .point_to_point = true,
        .learns_apart = true,
        .buckets = {INT64_MAX, INT64_MAX}, /* gradients do not travel */
        .cut = GS_CUT_OWN,
    };
    return GS_OK;
}

/* A question a step; and as many answers, for all ranks together. */
static int64_t wire_bytes(const void *config, const gs_job *job, const gs_coding *coding)
{
    (void)config;
    (void)coding;
    return job->ranks > 1 ? 2 * job->elements * job->element_bytes : 0;
}

/* Draws a neighbour to average with. */
static void ask(gs_world *world, state *self)
{
    uint64_t bits = gs_bits(world, 0, self->steps, 0);
    uint32_t index = (uint32_t)(bits % self->mixing.degree);
    self->asked[index]++;
    gs_pair_ask(world, &self->pair, gs_mixing_to(&self->mixing, gs_self(world).index, 0, index));
}

static void tell_counts(gs_world *world, state *self)
{
    for (uint32_t i = 0; i < self->mixing.degree && !self->told; i++) {
        uint32_t rank = gs_mixing_to(&self->mixing, gs_self(world).index, 0, i);
        gs_note(world, (gs_peer){GS_WORKER, (uint16_t)rank}, GS_PAIR_TAG_COUNT,
                (int64_t[4]){self->asked[i]});
    }
    self->told = true;
}

/* After whatever has happened. */
static void go_on(gs_world *world, state *self)
{
    if (self->in_step) {
        if (self->backward || self->pair.open > 0) {
            return;
        }
        self->in_step = false;
        self->steps++;
        gs_apply(world, GS_PARAM, GS_GRAD, 1.0, true);
        if (!self->quiescing) {
            gs_release(world);
        }
    }
    if (!self->quiescing) {
        return;
    }
    tell_counts(world, self);
    if (gs_pair_is_even(&self->pair, self->mixing.degree)) {
        gs_drained(world);
    }
}

static void init(gs_world *world, void *memory)
{
    state *self = memory;
    self->mixing = mixing_of(gs_world_config(world), gs_world_job(world));
    gs_pair_listen(world);
}

static gs_plan step_begin(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    if (self->in_step) {
        return (gs_plan){.go = false};
    }
    self->in_step = self->backward = true;
    gs_whole_vec(world, GS_VOP_copy, GS_PAIR_AT, GS_PARAM,
                 0.0); /* the model moves while the gradient is taken */
    if (self->mixing.degree > 0) {
        ask(world, self);
    }
    return gs_plan_at(world, GS_PAIR_AT);
}

static void backward_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->backward = false;
    go_on(world, self);
}

static void op_done(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    gs_pair_sent(world, &self->pair, event->op);
    go_on(world, self);
}

static void message(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    gs_pair_hear(world, &self->pair, event);
    go_on(world, self);
}

static void quiesce(gs_world *world, void *memory, const gs_event *event)
{
    state *self = memory;
    (void)event;
    self->quiescing = true;
    go_on(world, self);
}

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
    init(world, self);
    memcpy(&self->steps, in, sizeof self->steps);
}

static const char *const graphs[] = {"ring", "torus", "exponential", "complete", NULL};

/* clang-format off */
static const gs_field fields[] = {
    {"graph", GS_FIELD_CHOICE, GS_FIELD_AT(ad_psgd_config, graph), "complete", 0, 0, graphs,
     "whom a rank may draw to average with"},
};
/* clang-format on */

static const gs_field_table table = {.name = "ad_psgd",
                                     .struct_bytes = sizeof(ad_psgd_config),
                                     .fields = fields,
                                     .field_count = sizeof fields / sizeof *fields};

const gs_strategy gs_strategy_ad_psgd = {
    .struct_bytes = sizeof(gs_strategy),
    .name = "ad_psgd",
    .summary = "asynchronous gossip: each rank averages with a random one, on its own clock",
    .source = "Lian et al., Asynchronous Decentralized Parallel Stochastic Gradient Descent, ICML "
              "2018 (arXiv 1710.06952), with pair averages by differences in place of locks",
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
