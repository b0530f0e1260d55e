#include <criterion/criterion.h>

#include "base/event_heap.h"
#include "base/event_queue.h"
#include "base/rng.h"
#include "tests/support.h"

#include <math.h>
#include <signal.h>

enum { OPERATIONS = 1000000 };

static const gs_rng_key key = {17, GS_RNG_TEST, 0};

typedef int64_t delay_law(uint32_t i);

static int64_t exponential(uint32_t i)
{
    return (int64_t)(-log(gs_rng_uniform(key, 1, i)) * 1e6);
}

static int64_t equal(uint32_t i)
{
    (void)i;
    return 1000;
}

static int64_t zero_or_equal(uint32_t i)
{
    return gs_rng_bits(key, 1, i) % 2 == 0 ? 0 : 1000;
}

static int64_t two_clusters(uint32_t i)
{
    uint64_t bits = gs_rng_bits(key, 1, i);
    return (bits % 100 < 94 ? 10000000 : 0) + (int64_t)(bits >> 54);
}

static int64_t few_ticks(uint32_t i)
{
    return (int64_t)(gs_rng_bits(key, 1, i) % 4);
}

/* Lengths over sixty orders of magnitude, so that every rung is used. */
static int64_t every_scale(uint32_t i)
{
    uint64_t bits = gs_rng_bits(key, 1, i);
    return (int64_t)(bits >> (24 + bits % 40));
}

static bool same(gs_queued_event a, gs_queued_event b)
{
    return a.time == b.time && a.key == b.key;
}

static void push_both(gs_event_queue *queue, gs_event_heap *heap, gs_queued_event event)
{
    TEST_REQUIRE(gs_event_queue_push(queue, event) == GS_OK, "no memory");
    TEST_REQUIRE(gs_event_heap_push(heap, event) == GS_OK, "no memory");
    TEST_REQUIRE(gs_event_queue_count(queue) == heap->count, "%zu events", heap->count);
}

/* A million pushes and pops in random order; in phases the queue grows, shrinks and runs empty. */
static void expect_heap_order(delay_law *delay)
{
    gs_event_queue *queue = gs_event_queue_create();
    gs_event_heap heap;
    gs_event_heap_init(&heap);
    int64_t now = 0;
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        uint64_t bits = gs_rng_bits(key, 0, i);
        uint64_t push_percent = (i / 40000) % 3 == 0 ? 70 : (i / 40000) % 3 == 1 ? 50 : 25;
        if (bits % 100 < push_percent) {
            push_both(queue, &heap, (gs_queued_event){now + delay(i), bits >> 32});
            continue;
        }
        gs_queued_event got = {0};
        gs_queued_event wanted = {0};
        bool has_got = gs_event_queue_pop(queue, &got);
        bool has_wanted = gs_event_heap_pop(&heap, &wanted);
        TEST_REQUIRE(has_got == has_wanted, "operation %u", i);
        TEST_REQUIRE(same(got, wanted), "operation %u: %lld instead of %lld", i,
                     (long long)got.time, (long long)wanted.time);
        now = has_got ? got.time : now;
        size_t ahead;
        const gs_queued_event *next = gs_event_queue_ahead(queue, &ahead);
        TEST_REQUIRE((ahead > 0) == (heap.count > 0), "operation %u: %zu ahead", i, ahead);
        TEST_REQUIRE(ahead == 0 || same(next[0], heap.items[0]), "operation %u: what is next", i);
    }
    gs_event_queue_destroy(queue);
    gs_event_heap_fini(&heap);
}

Test(event_queue, exponential_delays_come_out_as_from_the_heap)
{
    expect_heap_order(exponential);
}

Test(event_queue, equal_delays_come_out_as_from_the_heap)
{
    expect_heap_order(equal);
}

Test(event_queue, delays_of_zero_come_out_as_from_the_heap)
{
    expect_heap_order(zero_or_equal);
}

Test(event_queue, two_far_clusters_come_out_as_from_the_heap)
{
    expect_heap_order(two_clusters);
}

Test(event_queue, few_distinct_times_come_out_as_from_the_heap)
{
    expect_heap_order(few_ticks);
}

Test(event_queue, delays_of_every_scale_come_out_as_from_the_heap)
{
    expect_heap_order(every_scale);
}

/* 1,000 events lie in buckets of one or two: those of 8 are taken together, but for the last ones.
 */
Test(event_queue, many_events_are_known_ahead_of_their_turn)
{
    enum { EVENTS = 1000, TOGETHER = 8 };
    gs_event_queue *queue = gs_event_queue_create();
    for (uint64_t i = 0; i < EVENTS; i++) {
        cr_assert_eq(gs_event_queue_push(queue, (gs_queued_event){(int64_t)(i * 1000), i}), GS_OK);
    }
    gs_queued_event event;
    for (uint64_t i = 0; i < EVENTS; i++) {
        cr_assert(gs_event_queue_pop(queue, &event));
        cr_assert_eq(event.key, i);
    }
    cr_assert_leq(gs_event_queue_refills(queue), EVENTS / TOGETHER + 1);
    gs_event_queue_destroy(queue);
}

Test(event_queue, one_event_far_ahead_does_not_disturb_the_near_ones)
{
    gs_event_queue *queue = gs_event_queue_create();
    gs_event_heap heap;
    gs_event_heap_init(&heap);
    push_both(queue, &heap, (gs_queued_event){INT64_C(3600000000000), 0});
    push_both(queue, &heap, (gs_queued_event){1, 1});
    gs_queued_event got = {0};
    gs_queued_event wanted = {0};
    for (uint32_t i = 0; i < 100000; i++) {
        TEST_REQUIRE(gs_event_queue_pop(queue, &got) && gs_event_heap_pop(&heap, &wanted),
                     "pop %u: empty", i);
        TEST_REQUIRE(same(got, wanted), "pop %u", i);
        for (uint32_t j = 0; j < 2 && heap.count < 5000; j++) {
            push_both(queue, &heap, (gs_queued_event){got.time + 1 + exponential(2 * i + j), i});
        }
        if (heap.count == 5000) {
            push_both(queue, &heap, (gs_queued_event){got.time + 1 + exponential(i), i});
        }
    }
    gs_event_queue_destroy(queue);
    gs_event_heap_fini(&heap);
}

Test(event_queue, times_up_to_the_end_of_the_range_are_kept)
{
    static const int64_t times[] = {0, INT64_MAX / 2, INT64_MAX / 2 - 1, INT64_MAX,
                                    1, INT64_MAX - 1};
    gs_event_queue *queue = gs_event_queue_create();
    gs_event_heap heap;
    gs_event_heap_init(&heap);
    for (uint32_t i = 0; i < 600; i++) {
        push_both(queue, &heap, (gs_queued_event){times[i % 6], i});
    }
    gs_queued_event got = {0};
    gs_queued_event wanted = {0};
    while (gs_event_heap_pop(&heap, &wanted)) {
        cr_assert(gs_event_queue_pop(queue, &got));
        cr_assert(same(got, wanted));
    }
    cr_expect_not(gs_event_queue_pop(queue, &got));
    gs_event_queue_destroy(queue);
    gs_event_heap_fini(&heap);
}

Test(event_queue, equal_times_come_out_by_key)
{
    gs_event_queue *queue = gs_event_queue_create();
    for (uint64_t i = 0; i < 1000; i++) { /* 7 and 1000 share no factor: every key once */
        cr_assert_eq(gs_event_queue_push(queue, (gs_queued_event){5, i * 7 % 1000}), GS_OK);
    }
    for (uint64_t i = 0; i < 1000; i++) {
        gs_queued_event event = {0};
        cr_assert(gs_event_queue_pop(queue, &event));
        cr_assert_eq(event.key, i);
    }
    gs_event_queue_destroy(queue);
}

Test(event_queue, keys_use_all_64_bits)
{
    gs_event_queue *queue = gs_event_queue_create();
    cr_assert_eq(gs_event_queue_push(queue, (gs_queued_event){5, UINT64_MAX}), GS_OK);
    cr_assert_eq(gs_event_queue_push(queue, (gs_queued_event){5, UINT64_MAX >> 1}), GS_OK);
    gs_queued_event event = {0};
    cr_assert(gs_event_queue_pop(queue, &event));
    cr_expect_eq(event.key, UINT64_MAX >> 1);
    gs_event_queue_destroy(queue);
}

Test(event_queue, a_push_before_the_last_pop_is_a_programmer_error, .signal = SIGABRT)
{
    gs_event_queue *queue = gs_event_queue_create();
    gs_queued_event event = {10, 0};
    gs_status status = gs_event_queue_push(queue, event);
    if (status != GS_OK || !gs_event_queue_pop(queue, &event)) {
        return;
    }
    status = gs_event_queue_push(queue, (gs_queued_event){9, 0});
    cr_assert_neq(status, GS_OK);
}

Test(event_queue, an_empty_queue_gives_nothing_and_can_go_on)
{
    gs_event_queue *queue = gs_event_queue_create();
    gs_queued_event event = {3, 4};
    cr_expect_not(gs_event_queue_pop(queue, &event));
    cr_expect_eq(event.time, 3, "out was written");
    for (int64_t time = 10; time < 1000; time += 10) {
        cr_assert_eq(gs_event_queue_push(queue, (gs_queued_event){time, 0}), GS_OK);
        cr_assert(gs_event_queue_pop(queue, &event));
        cr_expect_eq(event.time, time);
        cr_expect_not(gs_event_queue_pop(queue, &event));
    }
    gs_event_queue_destroy(queue);
    gs_event_queue_destroy(NULL);
}

Test(event_queue, memory_is_kept_and_steady_state_takes_none)
{
    gs_event_queue *queue = gs_event_queue_create();
    for (uint32_t i = 0; i < 5000; i++) {
        TEST_REQUIRE(gs_event_queue_push(queue, (gs_queued_event){exponential(i), i}) == GS_OK,
                     "no memory");
    }
    size_t bytes = gs_event_queue_bytes(queue);
    cr_expect_geq(bytes, 5000 * sizeof(gs_queued_event));
    test_fail_allocations(0);
    for (uint32_t i = 0; i < 200000; i++) {
        gs_queued_event event = {0};
        TEST_REQUIRE(gs_event_queue_pop(queue, &event), "hold %u: empty", i);
        event.time += exponential(i);
        TEST_REQUIRE(gs_event_queue_push(queue, event) == GS_OK, "hold %u: no memory", i);
    }
    gs_queued_event event = {0};
    while (gs_event_queue_pop(queue, &event)) {
    }
    test_fail_allocations(-1);
    cr_expect_eq(gs_event_queue_bytes(queue), bytes);
    gs_event_queue_destroy(queue);
}

Test(event_queue, without_memory_a_push_fails_and_the_queue_is_as_before)
{
    test_fail_allocations(0);
    cr_expect_null(gs_event_queue_create());
    test_fail_allocations(-1);
    gs_event_queue *queue = gs_event_queue_create();
    uint64_t pushed = 0;
    for (int64_t allocations = 0; allocations < 5; allocations++) {
        test_fail_allocations(allocations);
        gs_status status = GS_OK;
        while (status == GS_OK) {
            status = gs_event_queue_push(queue, (gs_queued_event){(int64_t)pushed, pushed});
            pushed += status == GS_OK;
        }
        cr_assert_eq(status, GS_ENOMEM);
        cr_assert_eq(gs_event_queue_count(queue), pushed);
    }
    cr_expect_gt(pushed, 0);
    gs_queued_event event = {0};
    for (uint64_t i = 0; i < pushed; i++) {
        TEST_REQUIRE(gs_event_queue_pop(queue, &event) && event.key == i, "pop %u", (unsigned)i);
    }
    test_fail_allocations(-1);
    gs_event_queue_destroy(queue);
}

Test(event_heap, without_memory_a_push_fails_and_the_heap_is_as_before)
{
    gs_event_heap heap;
    gs_event_heap_init(&heap);
    test_fail_allocations(0);
    cr_expect_eq(gs_event_heap_push(&heap, (gs_queued_event){1, 1}), GS_ENOMEM);
    test_fail_allocations(-1);
    cr_expect_eq(heap.count, 0);
    cr_expect_eq(gs_event_heap_reserve(&heap, SIZE_MAX / 2), GS_ENOMEM);
    cr_expect_eq(gs_event_heap_push(&heap, (gs_queued_event){1, 1}), GS_OK);
    gs_event_heap_fini(&heap);
}

Test(event_heap, any_order_of_items_can_be_built_into_a_heap)
{
    for (uint32_t count = 0; count < 60; count++) {
        gs_event_heap heap;
        gs_event_heap_init(&heap);
        cr_assert_eq(gs_event_heap_reserve(&heap, 64), GS_OK);
        for (uint32_t i = 0; i < count; i++) {
            heap.items[i] = (gs_queued_event){(int64_t)(gs_rng_bits(key, count, i) % 20), i};
        }
        heap.count = count;
        gs_event_heap_build(&heap);
        gs_queued_event before = {0};
        gs_queued_event event = {0};
        uint32_t popped = 0;
        for (; gs_event_heap_pop(&heap, &event); popped++) {
            cr_assert(popped == 0 || gs_event_is_before(before, event));
            before = event;
        }
        cr_assert_eq(popped, count);
        gs_event_heap_fini(&heap);
    }
}
