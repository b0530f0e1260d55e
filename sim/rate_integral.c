#include "sim/rate_integral.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"

static const double TICKS_MAX = 0x1p63;

/* Index of the point in force at a phase of the period. */
static uint32_t point_at(const gs_rate_trace *trace, gs_tick phase)
{
    uint32_t low = 0;
    uint32_t high = trace->point_count; /* the answer is in [low, high) */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (gs_ticks(trace->points[middle].at_ns) <= phase) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_constant(const gs_rate_trace *trace)
{
    return trace == NULL || trace->point_count <= 1;
}

double gs_rate_factor(const gs_rate_trace *trace, gs_tick at)
{
    GS_ASSERT(at >= 0);
    if (trace == NULL || trace->point_count == 0) {
        return 1.0;
    }
    if (trace->point_count == 1) {
        return trace->points[0].factor;
    }
    return trace->points[point_at(trace, at % gs_ticks(trace->period_ns))].factor;
}

gs_tick gs_rate_next_change(const gs_rate_trace *trace, gs_tick at)
{
    GS_ASSERT(at >= 0);
    if (is_constant(trace)) {
        return GS_TICK_NEVER;
    }
    gs_tick period = gs_ticks(trace->period_ns);
    gs_tick phase = at % period;
    uint32_t next = point_at(trace, phase) + 1;
    gs_tick next_phase = next < trace->point_count ? gs_ticks(trace->points[next].at_ns) : period;
    gs_tick wait = next_phase - phase;
    return at > GS_TICK_NEVER - wait ? GS_TICK_NEVER : at + wait;
}

/* A stretch of constant rate. */
typedef struct stretch {
    double bytes_per_tick;
    gs_tick end;
} stretch;

static stretch stretch_at(const gs_rate_source *sources, uint32_t source_count, gs_tick at)
{
    stretch slowest = {.bytes_per_tick = HUGE_VAL, .end = GS_TICK_NEVER};
    for (uint32_t i = 0; i < source_count; i++) {
        double rate = sources[i].bytes_per_tick * gs_rate_factor(sources[i].trace, at);
        gs_tick end = gs_rate_next_change(sources[i].trace, at);
        slowest.bytes_per_tick = rate < slowest.bytes_per_tick ? rate : slowest.bytes_per_tick;
        slowest.end = end < slowest.end ? end : slowest.end;
    }
    return slowest;
}

/* The period that all traces share, or NEVER. */
static gs_tick common_period(const gs_rate_source *sources, uint32_t source_count)
{
    gs_tick common = GS_TICK_NEVER;
    for (uint32_t i = 0; i < source_count; i++) {
        if (is_constant(sources[i].trace)) {
            continue;
        }
        gs_tick period = gs_ticks(sources[i].trace->period_ns);
        if (common != GS_TICK_NEVER && period != common) {
            return GS_TICK_NEVER;
        }
        common = period;
    }
    return common;
}

static gs_tick later(gs_tick at, double ticks)
{
    return (double)at + ticks >= TICKS_MAX ? GS_TICK_NEVER : at + (gs_tick)ceil(ticks);
}

gs_tick gs_rate_end(const gs_rate_source *sources, uint32_t source_count, gs_tick start,
                    double bytes)
{
    GS_ASSERT(source_count > 0);
    GS_ASSERT(start >= 0 && bytes >= 0.0);
    gs_tick at = start;
    double left = bytes;
    double moved = 0.0; /* since start, until a period is over */
    gs_tick period = 0; /* 0: not looked up yet; NEVER: none to skip */
    while (at != GS_TICK_NEVER) {
        stretch now = stretch_at(sources, source_count, at);
        GS_ASSERT(now.bytes_per_tick > 0.0);
        double needed = left / now.bytes_per_tick;
        if (now.end == GS_TICK_NEVER || needed <= (double)(now.end - at)) {
            return later(at, needed);
        }
        period = period == 0 ? common_period(sources, source_count) : period;
        /* The end of the first period may lie inside a stretch: stop there once, to count it. */
        bool is_over = period != GS_TICK_NEVER && now.end - start >= period;
        gs_tick end = is_over ? start + period : now.end;
        double passed = (double)(end - at) * now.bytes_per_tick;
        left -= passed;
        moved += passed;
        at = end;
        if (is_over) {
            double periods = floor(left / moved);
            if (periods * (double)period >= TICKS_MAX - (double)at) {
                return GS_TICK_NEVER;
            }
            at += (gs_tick)periods * period;
            left -= periods * moved;
            period = GS_TICK_NEVER;
        }
    }
    return GS_TICK_NEVER;
}

double gs_rate_bytes(const gs_rate_source *sources, uint32_t source_count, gs_tick start,
                     gs_tick end)
{
    GS_ASSERT(source_count > 0);
    GS_ASSERT(start >= 0 && start <= end);
    double bytes = 0.0;
    for (gs_tick at = start; at < end;) {
        stretch now = stretch_at(sources, source_count, at);
        gs_tick until = now.end < end ? now.end : end;
        bytes += now.bytes_per_tick * (double)(until - at);
        at = until;
    }
    return bytes;
}
