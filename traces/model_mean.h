/* The mean of the ranks' models at marks of their own steps: where ranks learn apart no model of
 * one of them is the one that is trained. Ranks come to a mark one after the other, may be several
 * marks apart, and come to marks in order. */
#ifndef GS_TRACES_MODEL_MEAN_H
#define GS_TRACES_MODEL_MEAN_H

#include "base/status.h"
#include "traces/record.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gs_model_mark {
    int64_t step;
    uint32_t ranks; /* that have come */
    double weight;  /* theirs together */
    double *sum;    /* [elements] of weight times model; owner: the means */
} gs_model_mark;

/* All 0 but the first two is none yet. */
typedef struct gs_model_means {
    uint32_t ranks;
    size_t elements;
    gs_model_mark *marks; /* [count]; open ones, in the order of their steps */
    uint32_t count, capacity;
    float *mean; /* [elements], of the last mark that was closed */
} gs_model_means;

/* A rank is at mark `step` with that model, which counts `weight` times. *out: the mean, valid
 * until the next call, where this was the last rank; NULL: others are still to come. Errors:
 * GS_ENOMEM. */
GS_MUST_USE gs_status gs_model_means_add(gs_model_means *means, int64_t step, const float *model,
                                         double weight, const float **out);
void gs_model_means_fini(gs_model_means *means);

/* out[elements]: the mean of models[ranks][elements], in which models[r] counts weights[r] times.
 */
void gs_model_mean(const float *const *models, const double *weights, uint32_t ranks,
                   size_t elements, float *out);

#endif
