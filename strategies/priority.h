/* Which part of a gradient goes next, where one rank decides for all: of the buckets that are ready
 * everywhere the last one, because the last buckets are the first layers, part by part.
 *
 * Buckets become ready in index order, so a newcomer is always the most urgent: those with parts to
 * go are a stack, and no call looks at more than its top. */
#ifndef GS_STRATEGIES_PRIORITY_H
#define GS_STRATEGIES_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gs_priority_bucket {
    uint32_t parts;   /* set by the owner, > 0 */
    uint32_t back;    /* kept for the owner: parts whose sum is here */
    uint32_t gone;    /* parts that were taken */
    uint32_t told_by; /* ranks on which it is ready */
    uint32_t below;   /* the next on the stack, plus 1; 0: none */
} gs_priority_bucket;

/* All 0 before the first gradient. */
typedef struct gs_priority {
    uint32_t everywhere; /* buckets ready on all ranks: [0, everywhere) */
    uint32_t top;        /* of the stack, plus 1; 0: empty */
} gs_priority;

/* A bucket is ready on one more rank. Each rank tells of all of them, in index order.
 * buckets [count], count > 0: the same in all calls; owner: caller. */
void gs_priority_hear(gs_priority *priority, gs_priority_bucket *buckets, uint32_t count,
                      uint32_t ranks, uint32_t index);

/* Takes the part that goes next; false: none is ready. After the last part of all buckets the next
 * gradient begins. */
bool gs_priority_take(gs_priority *priority, gs_priority_bucket *buckets, uint32_t count,
                      uint32_t *out_index, uint32_t *out_part);

#endif
