/* A bucket in parts: all of one size but the last. */
#include <criterion/criterion.h>

#include "strategies/partition.h"

Test(partition, parts_cover_a_bucket_without_a_gap)
{
    const gs_slice bucket = {GS_GRAD, 1009, 23};
    for (int64_t each = 1; each <= 24; each++) {
        int64_t next = bucket.offset;
        for (uint32_t part = 0; part < gs_partition_count(bucket.length, each); part++) {
            gs_slice slice = gs_partition_part(bucket, each, part);
            cr_assert_eq(slice.vector, bucket.vector);
            cr_assert_eq(slice.offset, next, "each %lld, part %u", (long long)each, part);
            cr_assert(slice.length > 0 && slice.length <= each);
            next += slice.length;
        }
        cr_assert_eq(next, bucket.offset + bucket.length, "each %lld", (long long)each);
    }
}

/* In reverse order 7, 2 and 11, 5: buckets close from 8 elements on, so they hold 7 + 2 = 9, 11 and
 * 5; by parts of 4 that is 3 + 3 + 2. */
Test(partition, a_gradient_has_the_parts_of_its_buckets)
{
    static const int64_t units[] = {5, 11, 2, 7};
    const gs_job job = {
        .elements = 25, .element_bytes = 4, .unit_count = 4, .unit_elements = units};
    const gs_bucket_rule rule = {32, 32};
    cr_expect_eq(gs_partition_total(&job, &rule, 4), 8);
}
