#include "strategies/bucket.h"

#include "base/assert.h"

typedef struct building {
    uint32_t *bucket_of_unit;
    uint32_t *units_in_bucket;
    int64_t *offsets;
} building;

bool gs_bucket_is_full(const gs_job *job, const gs_bucket_rule *rule, bool is_first,
                       int64_t elements)
{
    int64_t cap_bytes = is_first && rule->cap_bytes > 0 ? rule->first_bytes : rule->cap_bytes;
    return elements * job->element_bytes >= cap_bytes;
}

/* The rule itself: walk, put, close when the size has reached the cap. Returns the number of
 * buckets. */
static uint32_t walk(const gs_job *job, const gs_bucket_rule *rule, const uint32_t *order,
                     building *out)
{
    uint32_t bucket = 0;
    uint32_t units = 0;
    int64_t elements = 0;
    int64_t total = 0;
    for (uint32_t i = 0; i < job->unit_count; i++) {
        uint32_t unit = order != NULL ? order[i] : job->unit_count - 1 - i;
        out->bucket_of_unit[unit] = bucket;
        elements += job->unit_elements[unit];
        total += job->unit_elements[unit];
        units++;
        if (gs_bucket_is_full(job, rule, bucket == 0, elements) || i + 1 == job->unit_count) {
            out->units_in_bucket[bucket] = units;
            out->offsets[++bucket] = total;
            units = 0;
            elements = 0;
        }
    }
    return bucket;
}

const gs_bucket_plan *gs_bucket_plan_make(const gs_job *job, const gs_bucket_rule *rule,
                                          const uint32_t *order, gs_arena *arena)
{
    GS_ASSERT(job->unit_count > 0);
    gs_bucket_plan *plan = GS_TAKE(arena, gs_bucket_plan, 1);
    building parts = {
        .bucket_of_unit = GS_TAKE(arena, uint32_t, job->unit_count),
        .units_in_bucket = GS_TAKE(arena, uint32_t, job->unit_count),
        .offsets = GS_TAKE(arena, int64_t, (size_t)job->unit_count + 1),
    };
    if (plan == NULL || parts.bucket_of_unit == NULL || parts.units_in_bucket == NULL ||
        parts.offsets == NULL) {
        return NULL;
    }
    plan->bucket_count = walk(job, rule, order, &parts);
    plan->bucket_of_unit = parts.bucket_of_unit;
    plan->units_in_bucket = parts.units_in_bucket;
    plan->offsets = parts.offsets;
    GS_ASSERT(plan->offsets[plan->bucket_count] == job->elements);
    return plan;
}

uint32_t gs_bucket_count_max(const gs_job *job, const gs_bucket_rule *rule)
{
    if (rule->cap_bytes <= 0) {
        return job->unit_count;
    }
    /* Every bucket but the first and the last holds at least the cap. */
    int64_t full = job->elements * job->element_bytes / rule->cap_bytes;
    return full + 2 < job->unit_count ? (uint32_t)full + 2 : job->unit_count;
}
