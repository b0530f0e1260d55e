/* A link's rate over time from a CSV file, as factors of the link's own bandwidth.
 *
 * The header names two columns with their units: "time [s],factor" or "time [ms],rate [Mbit/s]".
 * Lines starting with # and empty lines are skipped. A value holds from its time to the next one;
 * the last holds as long as the one before it, then the trace starts again. */
#ifndef GS_TRACES_RATE_TRACE_H
#define GS_TRACES_RATE_TRACE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/units.h"

#include <stddef.h>
#include <stdint.h>

enum { GS_RATE_POINTS_MAX = 10000000, GS_RATE_TRACE_BYTES_MAX = 256 * 1024 * 1024 };

typedef struct gs_rate_point {
    gs_time_ns at_ns; /* ascending from 0 */
    double factor;    /* > 0 */
} gs_rate_point;

/* Piecewise constant; repeats after the last point. */
typedef struct gs_rate_trace {
    const gs_rate_point *points; /* [point_count]; NULL: constant */
    uint32_t point_count;
    gs_time_ns period_ns; /* > last point; the trace starts again then */
} gs_rate_trace;

/* Parses length bytes of text; bandwidth_bps (> 0) is what a rate is divided by. Errors: GS_EPARSE
 * with file, line, value and what is allowed; GS_ENOMEM. Owner of the points: the arena. */
GS_MUST_USE gs_status gs_rate_trace_parse(const char *text, size_t length, const char *file,
                                          int64_t bandwidth_bps, gs_arena *arena,
                                          gs_rate_trace *out, gs_error *err);

/* Reads a file. Errors: those of parse, GS_ENOTFOUND, GS_EIO, GS_ELIMIT. */
GS_MUST_USE gs_status gs_rate_trace_read(const char *file, int64_t bandwidth_bps, gs_arena *arena,
                                         gs_rate_trace *out, gs_error *err);

#endif
