/* Rates that vary over time: when bytes have passed that start at a time on links of their own.
 *
 * A link's rate is its nominal one times a factor that is constant between breakpoints and repeats
 * with a period (traces/rate_trace.h). Integration is exact over breakpoints, so that a private
 * transfer needs no events at them. Pure; times are ticks. */
#ifndef GS_SIM_RATE_INTEGRAL_H
#define GS_SIM_RATE_INTEGRAL_H

#include <stdint.h>

#include "sim/tick.h"
#include "traces/rate_trace.h"

typedef struct gs_rate_source {
    double bytes_per_tick;      /* nominal, > 0 */
    const gs_rate_trace *trace; /* NULL: constant */
} gs_rate_source;

/* The factor in force at a time >= 0; a breakpoint belongs to what follows it. Cost O(log points).
 */
double gs_rate_factor(const gs_rate_trace *trace, gs_tick at);

/* The next breakpoint after a time, the period's end included; NEVER where there is none (NULL, or
 * one point, which is constant). Cost O(log points). */
gs_tick gs_rate_next_change(const gs_rate_trace *trace, gs_tick at);

/* The time at which bytes >= 0 have passed that start at `start`, at each instant at the rate of
 * the slowest source; rounded up to a tick. NEVER where that does not fit. sources [source_count],
 * at least one. Cost: O(log points) a breakpoint that is crossed, at most those of two periods
 * where all traces have one period: whole periods are skipped at once. */
gs_tick gs_rate_end(const gs_rate_source *sources, uint32_t source_count, gs_tick start,
                    double bytes);

/* The other way round: bytes that have passed from `start` until `end`, which is not before it.
 * Cost: O(log points) a breakpoint that is crossed. */
double gs_rate_bytes(const gs_rate_source *sources, uint32_t source_count, gs_tick start,
                     gs_tick end);

#endif
