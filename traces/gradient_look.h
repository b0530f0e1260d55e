/* What one look at a gradient shows, as rows of series and histograms: norm, sparsity, quantiles,
 * change since the look before, agreement of the ranks; of the whole and of each layer. The names
 * are told in docs/formats.md. */
#ifndef GS_TRACES_GRADIENT_LOOK_H
#define GS_TRACES_GRADIENT_LOOK_H

#include "base/arena.h"
#include "models/model.h"
#include "traces/series.h"

typedef struct gs_gradient_look gs_gradient_look;

/* Rows go to series, whose memory grows by 8 rows and as many a layer with each look. Pointers are
 * borrowed. Errors: GS_ENOMEM. Owner of *out: the arena. */
GS_MUST_USE gs_status gs_gradient_look_create(const gs_network *network, gs_series *series,
                                              gs_arena *arena, gs_gradient_look **out);

/* gradient [parameter_count]; cosine: mean over pairs of ranks, NAN: only one. at_ns rises from
 * look to look. Errors: GS_ENOMEM, with the look told in part. */
GS_MUST_USE gs_status gs_gradient_look_add(gs_gradient_look *look, const double *gradient,
                                           double cosine, gs_time_ns at_ns);

#endif
