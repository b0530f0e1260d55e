/* What works with what: strategies, codecs and optimizers, asked in one place by the reader of
 * scenarios, by hosts and by `show matrix`. */
#ifndef GS_TRACES_COMPOSE_H
#define GS_TRACES_COMPOSE_H

#include "models/optimizer.h"
#include "strategies/coding.h"
#include "strategies/strategy.h"

typedef enum gs_fit {
    GS_FIT_YES,
    GS_FIT_NO_CODEC,    /* the strategy carries none */
    GS_FIT_LOW_RANK,    /* the codec sums over all ranks, and the strategy sends to one */
    GS_FIT_RESIDUAL,    /* the codec keeps a residual, and there is no one peer it is for */
    GS_FIT_VOTE,        /* the codec's result has no length, and the strategy sends weights */
    GS_FIT_PARAMETERS,  /* of the codec */
    GS_FIT_MOMENTUM,    /* the codec's cannot take the place of the optimizer's */
    GS_FIT_LOSS_SCALE,  /* a dynamic one, and servers */
    GS_FIT_WHOLE,       /* the optimizer looks at the whole gradient, and a server has a part */
    GS_FIT_SLICES,      /* likewise, and the ranks themselves update by parts */
    GS_FIT_NO_MESSAGES, /* the strategy sends, and has no hook for what comes */
    GS_FIT_LAYOUT,      /* what the strategy declares cannot be */
    GS_FIT_COUNT
} gs_fit;

typedef struct gs_composition {
    const gs_strategy *strategy;
    const gs_job *job;
    const gs_layout *layout;              /* that the strategy made for the job */
    const gs_coding *coding;              /* NULL, or its codec NULL: none */
    const gs_optimizer_config *optimizer; /* NULL: gradients have no numbers */
} gs_composition;

/* The first that does not fit, and in err why and the nearest thing that works: GS_EINVAL or
 * GS_EUNSUPPORTED. GS_FIT_YES leaves err alone. */
gs_fit gs_compose(const gs_composition *parts, gs_error *err);

/* The part of it that every entity can ask. */
gs_fit gs_compose_optimizer(const gs_layout *layout, const gs_optimizer_config *optimizer,
                            gs_error *err);

/* The momentum that the codec of a run has in its memory, for gs_coding.momentum; and the optimizer
 * that is left: without a momentum where the codec has it. */
double gs_compose_momentum(const gs_coding *coding, const gs_optimizer_config *optimizer);
gs_optimizer_config gs_compose_rest(const gs_coding *coding, const gs_optimizer_config *optimizer);

const char *gs_fit_key(gs_fit fit);    /* for programs: "yes", "carries_no_codec" */
const char *gs_fit_reason(gs_fit fit); /* a sentence without names, "" where it fits */

/* Does anything that the strategy sends go through a codec? */
bool gs_layout_is_coded(const gs_layout *layout);

#endif
