#include "traces/curve.h"

#include "base/assert.h"

#include <math.h>

/* Straight line through (x0, y0) and (x1, y1), x1 > x0, at x; never below zero. */
static gs_time_ns on_line(const gs_curve_point *p0, const gs_curve_point *p1, int64_t bytes)
{
    double share = ((double)bytes - (double)p0->bytes) / ((double)p1->bytes - (double)p0->bytes);
    double time = (double)p0->time_ns + share * ((double)p1->time_ns - (double)p0->time_ns);
    if (time >= (double)GS_TIME_NEVER) {
        return GS_TIME_NEVER;
    }
    return time <= 0.0 ? 0 : (gs_time_ns)ceil(time);
}

/* Index of the first point with at least `bytes`; point_count where there is none. */
static uint32_t first_not_below(const gs_curve *curve, int64_t bytes)
{
    uint32_t low = 0;
    uint32_t high = curve->point_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (curve->points[middle].bytes < bytes) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

gs_time_ns gs_curve_time(const gs_curve *curve, int64_t bytes, bool *out_outside)
{
    GS_ASSERT(curve->point_count > 0);
    const gs_curve_point *points = curve->points;
    uint32_t last = curve->point_count - 1;
    *out_outside = bytes < points[0].bytes || bytes > points[last].bytes;
    if (bytes <= points[0].bytes) {
        return points[0].time_ns;
    }
    uint32_t at = first_not_below(curve, bytes);
    if (at <= last) {
        return points[at].bytes == bytes ? points[at].time_ns
                                         : on_line(&points[at - 1], &points[at], bytes);
    }
    if (last == 0) {
        /* One point says nothing about latency: all of its time is taken to grow with the size. */
        static const gs_curve_point ORIGIN = {0, 0};
        return on_line(&ORIGIN, &points[0], bytes);
    }
    gs_time_ns time = on_line(&points[last - 1], &points[last], bytes);
    return time > points[last].time_ns ? time : points[last].time_ns;
}

int64_t gs_curve_rate_bps(const gs_curve *curve)
{
    GS_ASSERT(curve->point_count > 0);
    const gs_curve_point *last = &curve->points[curve->point_count - 1];
    uint32_t at = first_not_below(curve, last->bytes / 4);
    const gs_curve_point *from = &curve->points[at];
    double bytes = (double)last->bytes - (double)from->bytes;
    double time_ns = (double)last->time_ns - (double)from->time_ns;
    if (from == last || time_ns <= 0.0) {
        bytes = (double)last->bytes;
        time_ns = (double)last->time_ns;
    }
    double rate_bps = time_ns <= 0.0 ? 0.0 : bytes * 8.0e9 / time_ns;
    return rate_bps >= (double)INT64_MAX ? INT64_MAX : (int64_t)rate_bps;
}
