/* Puts the clocks of ranks on one axis by what all of them saw: the ends of matched collectives.
 *
 * A collective ends on all members at nearly the same instant, whoever came late. The offset of a
 * rank is the median, over matched collectives, of its end minus the end on the first rank; how far
 * single collectives stray from that says whether the clocks can be compared at all. Pure. */
#ifndef GS_TRACES_CLOCK_ALIGN_H
#define GS_TRACES_CLOCK_ALIGN_H

#include "base/arena.h"
#include "base/status.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

/* Instants of matched collectives on each rank's own clock, [op * rank_count + rank]. */
typedef struct gs_clock_ops {
    const gs_time_ns *starts_ns; /* the rank came */
    const gs_time_ns *ends_ns;
    uint32_t op_count;
    uint32_t rank_count;
} gs_clock_ops;

typedef struct gs_clock_alignment {
    uint32_t op_count; /* 0: nothing to align on */
    uint32_t rank_count;
    const gs_time_ns
        *offsets_ns;     /* [rank_count] to be taken from the rank's instants; first is 0 */
    gs_time_ns apart_ns; /* greatest difference between two clocks */
    gs_time_ns stray_ns; /* of ends about the offset: median, of the worst rank */
    bool is_aligned;     /* the ends agree better than the arrivals differ */
    /* [rank_count] on the common axis: median over collectives of this rank's arrival minus that of
     * the first one to come; NULL unless is_aligned. */
    const gs_time_ns *late_ns;
} gs_clock_alignment;

/* Errors: GS_ENOMEM. Owner of the arrays: the arena. */
GS_MUST_USE gs_status gs_clock_align(const gs_clock_ops *ops, gs_arena *arena,
                                     gs_clock_alignment *out, gs_error *err);

#endif
