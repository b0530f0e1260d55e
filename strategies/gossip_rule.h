/* The rule of synchronous gossip: what travels, when, over which graph, and in which vectors it is
 * kept. Plain functions without a world; published names are choices of these
 * (strategies/gossip_presets.c). */
#ifndef GS_STRATEGIES_GOSSIP_RULE_H
#define GS_STRATEGIES_GOSSIP_RULE_H

#include "strategies/mixing.h"
#include "strategies/strategy.h"

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

/* The vector for what comes of the first neighbour. */
uint32_t gs_gossip_inbox(const gs_gossip_rule *rule);

/* Steps between rounds, >= 1. */
int64_t gs_gossip_period(const gs_gossip_rule *rule);

/* GS_OK, or GS_EINVAL with the parameter, why it does not work and the nearest that does. */
GS_MUST_USE gs_status gs_gossip_check(const gs_gossip_rule *rule, const char *name,
                                      const gs_job *job, gs_error *err);

/* Bytes that one worker sends in one step, averaged over the job's budget where there is one. */
int64_t gs_gossip_wire_bytes(gs_gossip_kind kind, const gs_gossip_config *config, const gs_job *job,
                             const gs_coding *coding);

#endif
