#include "strategies/cross_barrier_rule.h"

#include "strategies/partition.h"

enum { PARTS_MAX = 1 << 20 };

/* clang-format off */
static const gs_field fields[] = {
    {"bucket", GS_FIELD_BYTES, GS_FIELD_AT(gs_cross_barrier_config, bucket_bytes), "4MB", 1, 0x1p40, NULL,
     "smaller tensors are merged up to this, larger ones cut: what is urgent waits for one part"},
    {"credit", GS_FIELD_BYTES, GS_FIELD_AT(gs_cross_barrier_config, credit_bytes), "16MB", 1, 0x1p40, NULL,
     "the next part goes while less than this is under way: more hides latency, less keeps to priorities"},
};
/* clang-format on */

const gs_field_table gs_cross_barrier_fields = {
    .name = "cross_barrier",
    .struct_bytes = sizeof(gs_cross_barrier_config),
    .fields = fields,
    .field_count = sizeof fields / sizeof *fields,
};

gs_bucket_rule gs_cross_barrier_buckets(const gs_cross_barrier_config *config)
{
    return (gs_bucket_rule){config->bucket_bytes, config->bucket_bytes};
}

int64_t gs_cross_barrier_part(const gs_cross_barrier_config *config, const gs_job *job)
{
    return config->bucket_bytes / job->element_bytes;
}

gs_status gs_cross_barrier_check(const gs_cross_barrier_config *config, const gs_job *job,
                                 uint32_t *out_parts, gs_error *err)
{
    if (config->bucket_bytes < job->element_bytes) {
        return gs_fail(err, GS_EINVAL,
                       "cross_barrier: bucket=%lldB holds no element of %d bytes; use "
                       "bucket=%dB or more",
                       (long long)config->bucket_bytes, job->element_bytes, job->element_bytes);
    }
    gs_bucket_rule rule = gs_cross_barrier_buckets(config);
    int64_t parts = gs_partition_total(job, &rule, gs_cross_barrier_part(config, job));
    if (parts > PARTS_MAX) {
        /* Each bucket may have one part that is not full. */
        int64_t full = PARTS_MAX - (int64_t)job->unit_count;
        int64_t bytes = job->elements / full * job->element_bytes + job->element_bytes;
        return gs_fail(err, GS_EINVAL,
                       "cross_barrier: bucket=%lldB cuts the gradient into %lld parts, and %d "
                       "are the most; use bucket=%lldB or more",
                       (long long)config->bucket_bytes, (long long)parts, PARTS_MAX,
                       (long long)bytes);
    }
    *out_parts = (uint32_t)parts;
    return GS_OK;
}
