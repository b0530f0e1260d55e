/* Curves of all-reduces over all processes of a crew, and passes of a model beside a busy network.
 *
 * As of live/measure_link.h: all call the same functions in the same order, process 0 gets the
 * results, errors are those of gs_crew, and GS_ENOMEM. */
#ifndef GS_LIVE_MEASURE_CURVE_H
#define GS_LIVE_MEASURE_CURVE_H

#include "base/arena.h"
#include "base/status.h"
#include "live/crew.h"
#include "live/measure_model.h"
#include "traces/curve.h"

#include <stdbool.h>
#include <stdint.h>

/* Sizes of all-reduces, ascending, in bytes. */
enum { GS_CURVE_SIZES = 5 };
extern const int64_t gs_curve_sizes[GS_CURVE_SIZES];

/* By our ring, or by the carrier's own all-reduce: medians, from when all begin until the last one
 * has the sum. *out_has false: the carrier has none of its own. */
GS_MUST_USE gs_status gs_measure_all_reduce(gs_crew *crew, bool native, gs_arena *arena,
                                            gs_curve_point out[GS_CURVE_SIZES], bool *out_has,
                                            gs_error *err);

/* Passes of the model on a thread of its own while every process sends to the next one as much as
 * the network takes: the time of one. */
GS_MUST_USE gs_status gs_measure_busy_passes(gs_crew *crew, gs_measured_model *model,
                                             gs_arena *arena, gs_estimate *out_pass_ns,
                                             gs_error *err);

#endif
