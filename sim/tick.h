/* The simulator's inner time: 1/1024 ns, so that rounding a message never adds up along an op.
 *
 * Whole ns put a ring of 4,096 ranks off by 4e-5. Ticks hold 104 days, of which a run may take 100;
 * everything outside sim is in ns, and a time leaves it rounded up, so that nothing ends before it
 * has ended. What would come after the end saturates there, and the loop then ends the run. */
#ifndef GS_SIM_TICK_H
#define GS_SIM_TICK_H

#include "base/assert.h"
#include "base/units.h"

#include <stdint.h>

typedef int64_t gs_tick;

enum { GS_TICKS_PER_NS = 1024 };

/* Later than every event: GS_TIME_NEVER in ticks. */
#define GS_TICK_NEVER INT64_MAX

#define GS_TICK_END (GS_TIME_END * GS_TICKS_PER_NS)

/* ns in ticks, exact up to the end; GS_TIME_NEVER stays never. Asserts that it is not negative. */
static inline gs_tick gs_ticks(gs_time_ns ns)
{
    if (ns == GS_TIME_NEVER) {
        return GS_TICK_NEVER;
    }
    GS_ASSERT(ns >= 0);
    return ns < GS_TIME_END ? ns * GS_TICKS_PER_NS : GS_TICK_END;
}

/* A time in ticks after another; the end where it would be later. Neither is negative. */
static inline gs_tick gs_tick_after(gs_tick at, gs_tick passed)
{
    return at < GS_TICK_END && passed < GS_TICK_END - at ? at + passed : GS_TICK_END;
}

/* Ticks that were computed, cut to whole ones and at the end. */
static inline gs_tick gs_tick_of(double ticks)
{
    return ticks < (double)GS_TICK_END ? (gs_tick)ticks : GS_TICK_END;
}

/* Ticks in ns, rounded up; never stays never. Asserts that it is not negative. */
static inline gs_time_ns gs_tick_ns(gs_tick tick)
{
    GS_ASSERT(tick >= 0);
    if (tick == GS_TICK_NEVER) {
        return GS_TIME_NEVER;
    }
    return tick / GS_TICKS_PER_NS + (tick % GS_TICKS_PER_NS != 0);
}

#endif
