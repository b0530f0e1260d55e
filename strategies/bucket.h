/* Gradient units to buckets, by the exact rule of PyTorch's DistributedDataParallel.
 *
 * Units are walked in an order: at first in reverse parameter order, after the first step in the
 * order in which they became ready. A unit is never split; a bucket closes once its size reaches
 * the cap, 1 MiB for the first bucket and 25 MiB for the later ones by default. Buckets are
 * launched in index order. Source: PyTorch torch/csrc/distributed/c10d/reducer.{hpp,cpp}. */
#ifndef GS_STRATEGIES_BUCKET_H
#define GS_STRATEGIES_BUCKET_H

#include "base/arena.h"
#include "strategies/strategy.h"

/* The buckets of one step. GRAD is laid out in walking order, so that a bucket is one slice. */
typedef struct gs_bucket_plan {
    uint32_t bucket_count;
    const uint32_t *bucket_of_unit;  /* [unit_count] */
    const uint32_t *units_in_bucket; /* [bucket_count] */
    const int64_t
        *offsets; /* [bucket_count + 1], in elements; bucket b is [offsets[b], offsets[b+1]) */
} gs_bucket_plan;

/* order [unit_count]: unit indices in walking order; NULL: reverse parameter order. NULL result: no
 * memory. Owner: the arena. Cost O(units). */
const gs_bucket_plan *gs_bucket_plan_make(const gs_job *job, const gs_bucket_rule *rule,
                                          const uint32_t *order, gs_arena *arena);

/* Whether a bucket closes that holds so much. */
bool gs_bucket_is_full(const gs_job *job, const gs_bucket_rule *rule, bool is_first,
                       int64_t elements);

/* The most buckets that any order of the units can give. */
uint32_t gs_bucket_count_max(const gs_job *job, const gs_bucket_rule *rule);

#endif
