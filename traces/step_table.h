/* Durations by rank and step: what `trace slow` judges, whatever file it comes from.
 *
 * Filled by importers (Kineto sets, CSV files of steps); judged by traces/slow_rank.h. Holds
 * durations only, no instants: ranks' clocks need not agree. Owner of all arrays: the arena of the
 * reader. */
#ifndef GS_TRACES_STEP_TABLE_H
#define GS_TRACES_STEP_TABLE_H

#include "base/arena.h"
#include "base/status.h"
#include "traces/clock_align.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum gs_step_part {
    GS_STEP_TIME,    /* the whole step; the one part that every table has */
    GS_STEP_COMPUTE, /* the device computes */
    GS_STEP_INPUT,   /* loader, host, gaps: the rank's own, but no compute */
    GS_STEP_WAIT,    /* held up by others that had not come to a collective yet */
    GS_STEP_WIRE,    /* held up by the network after that */
    GS_STEP_PARTS
} gs_step_part;

/* "time", "compute", "input", "wait", "wire". */
const char *gs_step_part_name(gs_step_part part);

#define GS_STEP_MISSING INT64_C(-1)

typedef struct gs_step_table {
    const int32_t *ranks; /* [rank_count] ascending */
    uint32_t rank_count;  /* >= 1 */
    const int64_t *steps; /* [step_count] ascending */
    uint32_t step_count;  /* >= 1 */
    /* [part][step * rank_count + rank]: >= 0, or GS_STEP_MISSING where the file has no such row.
     * NULL: the part is not recorded. */
    int64_t *parts[GS_STEP_PARTS];
    bool is_relative;                 /* thousandths of a unit nobody names, instead of ns */
    const gs_clock_alignment *clocks; /* NULL: the source has no instants, or one rank only */
} gs_step_table;

/* Takes the parts in `recorded` (bit 1 << gs_step_part; GS_STEP_TIME always) and fills them with
 * GS_STEP_MISSING. ranks and steps are borrowed. Errors: GS_ENOMEM. */
GS_MUST_USE gs_status gs_step_table_make(const int32_t *ranks, uint32_t rank_count,
                                         const int64_t *steps, uint32_t step_count,
                                         unsigned recorded, gs_arena *arena, gs_step_table *out,
                                         gs_error *err);

/* GS_STEP_MISSING also where the part is not recorded. Indices must lie inside. */
int64_t gs_step_table_get(const gs_step_table *table, gs_step_part part, uint32_t rank_index,
                          uint32_t step_index);

#endif
