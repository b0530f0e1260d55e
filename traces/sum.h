/* The numbers of a dense all-reduce at once, in the order in which its program adds them: the same
 * bits as if every part had travelled, without a copy of any.
 *
 * Good where one process holds the memory of all members and every one of them has lent its slice.
 * Each number is read once and written once, in blocks that stay in the first cache. */
#ifndef GS_TRACES_SUM_H
#define GS_TRACES_SUM_H

#include "strategies/collective.h"
#include "traces/entity_memory.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_sum {
    gs_sum_order order; /* not GS_SUM_BY_PROGRAM */
    uint32_t members;
    gs_entity_memory *const *memories; /* [members] */
    const gs_slice *slices;            /* [members], of one length */
    uint32_t rings, inner;             /* of gs_shape; of GS_SUM_ROUND */
} gs_sum;

/* Puts the age of the sum over every slice. false: slices of the members hold different numbers of
 * floats, and nothing is done. */
GS_MUST_USE bool gs_sum_begin(const gs_sum *sum);

/* Puts a share (0..shares - 1) of the numbers of the sum over every slice. Shares do not touch each
 * other: each may run on a thread of its own. */
void gs_sum_floats(const gs_sum *sum, uint32_t share, uint32_t shares);

#endif
