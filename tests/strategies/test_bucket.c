#include <criterion/criterion.h>

#include "base/json.h"
#include "base/rng.h"
#include "strategies/bucket.h"
#include "tests/support.h"

#include <stdio.h>
#include <string.h>

enum { MIB = 1024 * 1024 };

static gs_arena arena;
static const gs_bucket_rule ddp = {.first_bytes = MIB, .cap_bytes = 25 * MIB};

static void setup(void)
{
    gs_arena_init(&arena);
}

static void teardown(void)
{
    gs_arena_fini(&arena);
}

TestSuite(bucket, .init = setup, .fini = teardown);

static gs_job job_of(const int64_t *elements, uint32_t count)
{
    gs_job job = {.ranks = 2, .element_bytes = 4, .unit_count = count, .unit_elements = elements};
    for (uint32_t i = 0; i < count; i++) {
        job.elements += elements[i];
    }
    return job;
}

/* The tensors of a real model, in parameter order. */
static gs_job read_job(const char *name)
{
    char relative[64];
    gs_json_at document, tensors, tensor, at;
    gs_error err;
    (void)snprintf(relative, sizeof relative, "workloads/%s.json", name);
    cr_assert_eq(gs_json_read(test_data_path(relative), &document, &err), GS_OK, "%s", err.text);
    cr_assert(gs_json_find(&document, "tensors", &tensors));
    size_t count = gs_json_count(tensors.value);
    int64_t *elements = GS_TAKE(&arena, int64_t, count);
    cr_assert(elements != NULL);
    for (size_t i = 0; gs_json_walk(&tensors, i, &tensor); i++) {
        cr_assert(gs_json_find(&tensor, "elements", &at));
        cr_assert_eq(gs_json_int(&at, &elements[i], &err), GS_OK, "%s", err.text);
    }
    gs_json_free(document.value);
    return job_of(elements, (uint32_t)count);
}

static const gs_bucket_plan *make(const gs_job *job, const gs_bucket_rule *rule,
                                  const uint32_t *order)
{
    const gs_bucket_plan *plan = gs_bucket_plan_make(job, rule, order, &arena);
    cr_assert(plan != NULL);
    return plan;
}

/* The list that PyTorch's own _compute_bucket_assignment_by_size gives for ResNet-50. */
Test(bucket, resnet50_has_the_buckets_of_ddp)
{
    const int64_t wanted[] = {2049000, 7875584, 6563840, 6637568, 2431040};
    gs_job job = read_job("resnet50");
    const gs_bucket_plan *plan = make(&job, &ddp, NULL);
    cr_assert_eq(plan->bucket_count, 5);
    for (uint32_t b = 0; b < 5; b++) {
        cr_expect_eq(plan->offsets[b + 1] - plan->offsets[b], wanted[b], "bucket %u", b);
    }
}

static void expect_count(const char *name, uint32_t wanted)
{
    gs_job job = read_job(name);
    cr_expect_eq(make(&job, &ddp, NULL)->bucket_count, wanted, "%s", name);
}

Test(bucket, other_models_have_as_many_buckets_as_in_ddp)
{
    expect_count("vgg16", 6);
    expect_count("bert_large", 38);
    expect_count("gpt2", 13);
    expect_count("llama2_7b", 226);
}

/* Units of 1, 2, 3, 4 elements, walked 4, 3, 2, 1: 4 bytes each; caps of 16 and 20 bytes. The
 * first bucket closes at 16 bytes = unit 3; then 12 + 8 = 20 = units 2 and 1; unit 0 is left. */
static const int64_t small[] = {1, 2, 3, 4};
static const gs_bucket_rule tight = {.first_bytes = 16, .cap_bytes = 20};

Test(bucket, a_bucket_closes_once_it_has_reached_its_cap)
{
    gs_job job = job_of(small, 4);
    const gs_bucket_plan *plan = make(&job, &tight, NULL);
    const uint32_t bucket_of[] = {2, 1, 1, 0};
    const int64_t offsets[] = {0, 4, 9, 10};
    cr_assert_eq(plan->bucket_count, 3);
    cr_expect_eq(memcmp(plan->bucket_of_unit, bucket_of, sizeof bucket_of), 0);
    cr_expect_eq(memcmp(plan->offsets, offsets, sizeof offsets), 0);
    cr_expect_eq(plan->units_in_bucket[1], 2);
}

/* Ready order 0, 3, 1, 2: 4 bytes + 16 = 20 >= 16; then 8 + 12 = 20. */
Test(bucket, rebuilt_buckets_follow_the_order_of_readiness)
{
    gs_job job = job_of(small, 4);
    const uint32_t order[] = {0, 3, 1, 2};
    const gs_bucket_plan *plan = make(&job, &tight, order);
    const uint32_t bucket_of[] = {0, 1, 1, 0};
    const int64_t offsets[] = {0, 5, 10};
    cr_assert_eq(plan->bucket_count, 2);
    cr_expect_eq(memcmp(plan->bucket_of_unit, bucket_of, sizeof bucket_of), 0);
    cr_expect_eq(memcmp(plan->offsets, offsets, sizeof offsets), 0);
}

Test(bucket, a_cap_of_nothing_gives_each_tensor_its_own)
{
    gs_job job = read_job("resnet50");
    gs_bucket_rule tensor = {.first_bytes = MIB, .cap_bytes = 0};
    const gs_bucket_plan *plan = make(&job, &tensor, NULL);
    cr_assert_eq(plan->bucket_count, job.unit_count);
    cr_expect_eq(gs_bucket_count_max(&job, &tensor), job.unit_count);
    for (uint32_t unit = 0; unit < job.unit_count; unit++) {
        cr_expect_eq(plan->bucket_of_unit[unit], job.unit_count - 1 - unit);
        cr_expect_eq(plan->units_in_bucket[unit], 1);
    }
}

Test(bucket, a_tensor_without_elements_is_in_a_bucket_too)
{
    const int64_t elements[] = {0, 5, 0};
    gs_job job = job_of(elements, 3);
    const gs_bucket_plan *plan = make(&job, &ddp, NULL);
    cr_assert_eq(plan->bucket_count, 1);
    cr_expect_eq(plan->units_in_bucket[0], 3);
}

static uint64_t draw(uint64_t trial, uint32_t index)
{
    return gs_rng_bits((gs_rng_key){5, GS_RNG_TEST, 0}, trial, index);
}

enum { TRIALS = 3000, UNITS_MAX = 24, ORDER_AT = 100 };

static void shuffle(uint64_t trial, uint32_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        order[i] = i;
    }
    for (uint32_t i = count; i > 1; i--) {
        uint32_t other = (uint32_t)(draw(trial, ORDER_AT + i) % i);
        uint32_t was = order[i - 1];
        order[i - 1] = order[other];
        order[other] = was;
    }
}

Test(bucket, no_order_gives_more_buckets_than_the_bound)
{
    int reached = 0;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        int64_t elements[UNITS_MAX];
        uint32_t order[UNITS_MAX];
        uint32_t count = 1 + (uint32_t)(draw(trial, 0) % UNITS_MAX);
        for (uint32_t i = 0; i < count; i++) {
            elements[i] = (int64_t)(draw(trial, 1 + i) % 40);
        }
        gs_job job = job_of(elements, count);
        gs_bucket_rule rule = {.first_bytes = 1 + (int64_t)(draw(trial, 50) % 200),
                               .cap_bytes = 1 + (int64_t)(draw(trial, 51) % 400)};
        shuffle(trial, order, count);
        const gs_bucket_plan *plan = make(&job, &rule, order);
        uint32_t most = gs_bucket_count_max(&job, &rule);
        cr_expect_leq(plan->bucket_count, most, "trial %llu", (unsigned long long)trial);
        reached += plan->bucket_count == most;
        uint32_t units = 0;
        for (uint32_t b = 0; b < plan->bucket_count; b++) {
            units += plan->units_in_bucket[b];
        }
        cr_expect_eq(units, count);
        cr_expect_eq(plan->offsets[plan->bucket_count], job.elements);
        gs_arena_fini(&arena);
    }
    cr_expect_gt(reached, 0, "a bound that is never reached would be a poor one");
}
