/* The rule of local updates: when ranks average, what of the model, and what becomes of the mean.
 *
 * Plain functions on numbers, without a world: the engine (strategies/local.c) asks them, and tests
 * play them alone. A rank makes `period` local steps, then sends how far its model x is from the
 * anchor z, which is equal on all ranks; the mean of that, delta, is used `delay` steps later. All
 * published rules are choices of these (strategies/local_presets.c). */
#ifndef GS_STRATEGIES_LOCAL_RULE_H
#define GS_STRATEGIES_LOCAL_RULE_H

#include "strategies/strategy.h"

typedef enum gs_local_kind {
    GS_LOCAL_SGD,
    GS_LOCAL_POST,
    GS_LOCAL_ADACOMM,
    GS_LOCAL_SLOWMO,
    GS_LOCAL_BMUF,
    GS_LOCAL_DILOCO,
    GS_LOCAL_STREAMING_DILOCO,
    GS_LOCAL_EASGD,
    GS_LOCAL_OVERLAP,
    GS_LOCAL_COCOD,
    GS_LOCAL_DASGD,
    GS_LOCAL_CO2
} gs_local_kind;

/* Parameters of all presets; each has fields for those that mean something for it. */
typedef struct gs_local_config {
    int64_t period;    /* local steps between averages of an element */
    int64_t start;     /* post_local: steps that are averaged one by one before that */
    int64_t interval;  /* adacomm: steps between two looks at the loss, at least */
    int64_t fragments; /* streaming: parts of the model, one after the other */
    int64_t delay;     /* steps from sending to using the mean */
    double rate;       /* of the outer optimizer */
    double momentum;   /* likewise */
    bool nesterov;     /* likewise */
    double alpha; /* easgd and overlap: the pull; streaming: share of the local model that stays */
    double penalty; /* co2: what is late is divided by it */
} gs_local_config;

typedef enum gs_local_merge {
    GS_LOCAL_REPLACE, /* z by the outer optimizer; x = z, or between the two */
    GS_LOCAL_CORRECT, /* z += delta; x keeps the steps that it made since it was sent */
    GS_LOCAL_ELASTIC, /* when sent x -= pull (x - z); later z by the outer optimizer */
    GS_LOCAL_LATE     /* when sent z by the outer optimizer with the delta before; x = z */
} gs_local_merge;

typedef struct gs_local_rule {
    gs_local_merge merge;
    int64_t period;     /* steps from one sending to the next */
    int64_t every_step; /* so many steps before that are periods of one */
    int64_t delay;      /* <= period */
    int64_t interval;   /* > 0: the period follows the loss */
    uint32_t fragments; /* round k is of fragment k mod fragments */
    double rate, momentum;
    bool nesterov;
    double weight; /* of what a rank sends in the sum */
    double keep;   /* share of x that stays in REPLACE */
    double pull;
    bool centre; /* the model is the anchor */
} gs_local_rule;

/* config has been checked by gs_local_check. */
gs_local_rule gs_local_rule_of(gs_local_kind kind, const gs_local_config *config, uint32_t ranks);

/* GS_OK, or GS_EINVAL with the parameter, why it does not work and the nearest that does. */
gs_status gs_local_check(gs_local_kind kind, const char *name, const gs_local_config *config,
                         const gs_job *job, gs_error *err);

/* Steps from a sending after `steps` steps, or from the start, to the next one; `adapted`: the
 * period that follows the loss. */
int64_t gs_local_period_at(const gs_local_rule *rule, int64_t steps, int64_t adapted);

/* The part of a vector that a round is about. */
gs_slice gs_local_fragment(const gs_local_rule *rule, const gs_job *job, int64_t round,
                           uint32_t vector);

/* Right after an average all ranks have the same model. */
bool gs_local_ends_equal(const gs_local_rule *rule);

/* Rounds in a run of so many steps, and whether ranks differ at its end, so that they average once
 * more. */
int64_t gs_local_rounds(const gs_local_rule *rule, int64_t steps, bool *out_differ);

/* AdaComm: ceil(sqrt(loss / first loss) period at the start), and half the period of now, rounded
 * up, where that is no less than now. Losses are means of the same unit, > 0. */
int64_t gs_local_adapt(int64_t period_first, int64_t period_now, double first_loss, double loss);

#endif
