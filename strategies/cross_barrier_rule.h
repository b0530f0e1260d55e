/* The parameters of cross_barrier: what its buckets and parts are, and what cannot work. */
#ifndef GS_STRATEGIES_CROSS_BARRIER_RULE_H
#define GS_STRATEGIES_CROSS_BARRIER_RULE_H

#include "strategies/strategy.h"

typedef struct gs_cross_barrier_config {
    int64_t bucket_bytes;
    int64_t credit_bytes;
} gs_cross_barrier_config;

extern const gs_field_table gs_cross_barrier_fields;

gs_bucket_rule gs_cross_barrier_buckets(const gs_cross_barrier_config *config);
/* Elements of a part that is full; > 0 where the check has passed. */
int64_t gs_cross_barrier_part(const gs_cross_barrier_config *config, const gs_job *job);

/* *out_parts: of a gradient, all outstanding at once at worst. Errors: GS_EINVAL with the reason
 * and the nearest bucket that works. */
GS_MUST_USE gs_status gs_cross_barrier_check(const gs_cross_barrier_config *config,
                                             const gs_job *job, uint32_t *out_parts, gs_error *err);

#endif
