#include "strategies/partition.h"

int64_t gs_partition_count(int64_t elements, int64_t each)
{
    return elements / each + (elements % each > 0 ? 1 : 0);
}

gs_slice gs_partition_part(gs_slice bucket, int64_t each, uint32_t part)
{
    int64_t left = bucket.length - part * each;
    return (gs_slice){bucket.vector, bucket.offset + part * each, left < each ? left : each};
}

int64_t gs_partition_total(const gs_job *job, const gs_bucket_rule *rule, int64_t each)
{
    int64_t parts = 0, elements = 0;
    bool is_first = true;
    for (uint32_t unit = job->unit_count; unit-- > 0;) {
        elements += job->unit_elements[unit];
        if (gs_bucket_is_full(job, rule, is_first, elements) || unit == 0) {
            parts += gs_partition_count(elements, each);
            elements = 0;
            is_first = false;
        }
    }
    return parts;
}
