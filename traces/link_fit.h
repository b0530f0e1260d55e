/* Latency, rate and cost per message of a link, from timed messages of several sizes.
 *
 * The model is that of the simulator's links with sockets: a message costs its sender per_message,
 * one after the other, then its s bytes go at the rate while the next one is made, and it arrives a
 * latency later. So
 *     ping pong of m rounds:            2 m (latency + per_message + s / rate)
 *     m in a row, then an empty answer: 2 latency + 2 per_message + s / rate
 *                                       + (m - 1) max(per_message, s / rate).
 * The three numbers are a weighted least-squares fit to the medians of the repeats, none below 0;
 * where one line cannot go through all sizes, long messages decide.
 * Intervals: repeats are drawn anew (bootstrap), and widened where the medians lie farther from the
 * line than their spreads explain. Pure functions; the network is live/measure_link.h's. */
#ifndef GS_TRACES_LINK_FIT_H
#define GS_TRACES_LINK_FIT_H

#include "base/arena.h"
#include "base/status.h"
#include "base/units.h"
#include "traces/robust.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_link_pattern { GS_LINK_PING_PONG, GS_LINK_STREAM } gs_link_pattern;

/* One measurement, repeated. */
typedef struct gs_link_point {
    gs_link_pattern pattern;
    uint32_t messages; /* m above; >= 1 */
    int64_t bytes;     /* s above; >= 0 */
    double *times_ns;  /* [repeats], each of all messages; sorted by the fit */
    uint32_t repeats;  /* >= 1 */
} gs_link_point;

typedef struct gs_link_fit {
    gs_estimate latency_ns;
    gs_estimate per_message_ns;
    gs_estimate rate_bps;
    uint32_t kept, rejected; /* repeats of all points */
    double misfit_ratio;     /* of the point farthest from the line: measured over fitted, less 1 */
    uint32_t misfit_point;
} gs_link_fit;

/* points [count]. Errors: GS_EINVAL (fewer than two sizes, or times that do not grow with the
 * size), GS_ENOMEM. The arena is for scratch. */
GS_MUST_USE gs_status gs_link_fit_of(const gs_link_point *points, uint32_t count, gs_arena *arena,
                                     gs_link_fit *out, gs_error *err);

/* How far a sender may be ahead of its receiver: the window of the simulator's sockets.
 *
 * What has left the program and has not been taken drains at the link's rate, so ahead_ns, from the
 * last byte's leaving to its being taken, is window / rate. */
typedef struct gs_link_ahead {
    gs_estimate ahead_ns;
    gs_estimate rate_bps;
    double round_trip_ns; /* of an empty message and its answer */
    int64_t stream_bytes; /* that were sent */
} gs_link_ahead;

/* false, and nothing is written: it cannot be seen. Waking a receiver takes a round trip or so,
 * which must be little (a tenth) of the time; and half of the stream at least must have waited. */
bool gs_link_window_of(const gs_link_ahead *seen, gs_estimate *out_bytes);

/* What a link of that fit takes for a point, in ns. */
double gs_link_fit_ns(const gs_link_fit *fit, const gs_link_point *point);

#endif
