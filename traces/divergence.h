/* Why a run diverged: from what was seen of it, one sentence with the evidence.
 *
 * Only what the evidence shows is claimed; where it shows none, what the run has that a plain one
 * has not is named, likeliest first: weights of the strategy above their defaults, stale gradients,
 * the codec, then the rate. Cases are asked in the order of the table in divergence.c; a new cause
 * is a new line of it. */
#ifndef GS_TRACES_DIVERGENCE_H
#define GS_TRACES_DIVERGENCE_H

#include "models/halves.h"
#include "strategies/coding.h"
#include "traces/record.h"

#include <stddef.h>
#include <stdint.h>

enum { GS_DIVERGENCE_TEXT_BYTES = 320 };

/* How the loss of one rank went, step by step. {0}: nothing yet. */
typedef struct gs_loss_trail {
    int64_t steps;
    int64_t rises;       /* in a row, up to the last one */
    double before, last; /* losses at which they began and ended */
} gs_loss_trail;

void gs_loss_trail_add(gs_loss_trail *trail, double loss);

typedef struct gs_divergence {
    gs_number number;            /* what gradients and sums are made of */
    const gs_coding *coding;     /* what travels instead of them; NULL: nothing does. Borrowed */
    const gs_strategy *strategy; /* and its config; NULL: not told. Borrowed */
    const void *config;
    uint32_t ranks;
    int64_t accumulation; /* passes of a step */
    double loss_scale;    /* fixed, 1: none; GS_LOSS_SCALE_DYNAMIC */
    double rate, momentum;
    /* Largest magnitudes, loss scale included: of the ranks' last gradients before anything was
     * done with them, and of what was applied last. INFINITY: not finite; NAN: not known. */
    double gradient_max, applied_max;
    gs_run_facts facts;  /* fidelity and staleness */
    gs_loss_trail trail; /* of a rank that diverged */
} gs_divergence;

/* The likely cause and what to do about it, without a full stop at the end. Returns out. */
char *gs_divergence_cause(const gs_divergence *divergence, char out[GS_DIVERGENCE_TEXT_BYTES]);

/* Largest magnitude of floats[count]; INFINITY where one is infinite or not a number. */
double gs_largest_magnitude(const float *floats, size_t count);

#endif
