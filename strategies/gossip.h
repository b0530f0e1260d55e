/* The engine of synchronous gossip, for its presets: in every round ranks send to their neighbours
 * in a graph (strategies/mixing.h) and average with what comes. Published names differ in the rule
 * (gs_gossip_rule). */
#ifndef GS_STRATEGIES_GOSSIP_H
#define GS_STRATEGIES_GOSSIP_H

#include "strategies/mixing.h"
#include "strategies/strategy.h"
#include "strategies/world.h"

typedef enum gs_gossip_kind {
    GS_GOSSIP_D_PSGD,
    GS_GOSSIP_SGP,
    GS_GOSSIP_OSGP,
    GS_GOSSIP_CHOCO
} gs_gossip_kind;

/* Parameters of all presets; each has fields for those that mean something for it. */
typedef struct gs_gossip_config {
    int graph; /* gs_graph; a preset names the first few */
    bool overlap;
    int64_t delay;
    double gamma;
} gs_gossip_config;

typedef struct gs_gossip_rule {
    gs_graph graph;
    bool overlap;     /* neighbours get the model before the step; else after it */
    bool push_sum;    /* model and weight travel in shares; the model is their quotient */
    bool differences; /* what travels is the model less what neighbours know of it */
    int64_t delay;    /* steps from sending to using; the next sending is then */
    double gamma;     /* of differences: part of the way to the average */
} gs_gossip_rule;

gs_gossip_rule gs_gossip_rule_of(gs_gossip_kind kind, const gs_gossip_config *config);

/* Own vectors of a worker, by rule; behind them one of each neighbour for what comes. */
enum {
    GS_GOSSIP_MODEL = GS_OWN, /* push_sum: x / w */
    GS_GOSSIP_OUTBOX,         /* push_sum with a delay: what is under way */
    GS_GOSSIP_KNOWN = GS_OWN, /* differences: x^, what neighbours know of this rank's model, */
    GS_GOSSIP_SUM,            /* the average of x^ over the neighbours and itself, */
    GS_GOSSIP_NEWS,           /* x - x^, */
    GS_GOSSIP_HEARD           /* and what neighbours get of it */
};

/* What a worker exports. */
typedef struct gs_gossip_account {
    int64_t steps;
    double weight; /* push-sum's w, else 1 */
} gs_gossip_account;

gs_status gs_gossip_layout(gs_gossip_kind kind, const char *name, const gs_gossip_config *config,
                           const gs_job *job, gs_layout *out, gs_error *err);
int64_t gs_gossip_wire_bytes(gs_gossip_kind kind, const gs_gossip_config *config, const gs_job *job,
                             const gs_coding *coding);
void gs_gossip_init(gs_gossip_kind kind, gs_world *world, void *state);
void gs_gossip_import(gs_gossip_kind kind, gs_world *world, void *state, const void *in,
                      size_t in_bytes);

/* Hooks as they are in gs_strategy. */
gs_plan gs_gossip_step_begin(gs_world *world, void *state, const gs_event *event);
void gs_gossip_bucket_ready(gs_world *world, void *state, const gs_event *event);
void gs_gossip_backward_done(gs_world *world, void *state, const gs_event *event);
void gs_gossip_op_done(gs_world *world, void *state, const gs_event *event);
void gs_gossip_message(gs_world *world, void *state, const gs_event *event);
void gs_gossip_quiesce(gs_world *world, void *state, const gs_event *event);
size_t gs_gossip_export(const void *state, void *out, size_t out_bytes);
void gs_gossip_view(const void *state, uint32_t *out_vector, double *out_weight);

#endif
