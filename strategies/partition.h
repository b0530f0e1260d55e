/* Gradients cut into parts: every bucket into parts of so many elements, the last one what is left.
 */
#ifndef GS_STRATEGIES_PARTITION_H
#define GS_STRATEGIES_PARTITION_H

#include "strategies/bucket.h"

/* Parts of a bucket; elements, each > 0. */
int64_t gs_partition_count(int64_t elements, int64_t each);
gs_slice gs_partition_part(gs_slice bucket, int64_t each, uint32_t part);

/* Parts of a whole gradient, whose buckets stay in reverse parameter order. */
int64_t gs_partition_total(const gs_job *job, const gs_bucket_rule *rule, int64_t each);

#endif
