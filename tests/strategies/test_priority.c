/* Which part goes next: the last bucket that is ready everywhere, part by part. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "strategies/priority.h"

enum { BUCKETS = 4, RANKS = 3 };

typedef struct gradient {
    gs_priority priority;
    gs_priority_bucket buckets[BUCKETS];
} gradient;

/* Buckets 0..3 have 1, 2, 3 and 1 parts. */
static gradient parted(void)
{
    gradient made = {.buckets = {{.parts = 1}, {.parts = 2}, {.parts = 3}, {.parts = 1}}};
    return made;
}

static void ready_on(gradient *of, uint32_t ranks, uint32_t index)
{
    for (uint32_t i = 0; i < ranks; i++) {
        gs_priority_hear(&of->priority, of->buckets, BUCKETS, RANKS, index);
    }
}

/* 10 bucket + part; -1: none. */
static int take(gradient *of)
{
    uint32_t index, part;
    bool is_one = gs_priority_take(&of->priority, of->buckets, BUCKETS, &index, &part);
    return is_one ? (int)(10 * index + part) : -1;
}

Test(priority, nothing_goes_before_all_ranks_have_it)
{
    gradient of = parted();
    ready_on(&of, RANKS - 1, 0);
    cr_expect_eq(take(&of), -1);
    ready_on(&of, 1, 0);
    cr_expect_eq(take(&of), 0);
    cr_expect_eq(take(&of), -1);
}

/* Bucket 1 is left for 2 and 3 as they come, and is gone on with after them. */
Test(priority, a_newcomer_goes_first_and_what_it_pushed_aside_goes_on)
{
    gradient of = parted();
    ready_on(&of, RANKS, 0);
    ready_on(&of, RANKS, 1);
    cr_expect_eq(take(&of), 10);
    ready_on(&of, RANKS, 2);
    cr_expect_eq(take(&of), 20);
    cr_expect_eq(take(&of), 21);
    ready_on(&of, RANKS, 3);
    cr_expect_eq(take(&of), 30);
    cr_expect_eq(take(&of), 22);
    cr_expect_eq(take(&of), 11);
    cr_expect_eq(take(&of), 0);
    cr_expect_eq(take(&of), -1);
}

/* Two ranks are ahead of the third by the whole gradient, as far as they can be. */
Test(priority, after_the_last_part_the_next_gradient_begins_anew)
{
    gradient of = parted();
    for (int gradients = 0; gradients < 3; gradients++) {
        for (uint32_t i = 0; i < BUCKETS; i++) {
            ready_on(&of, RANKS - 1, i);
        }
        cr_expect_eq(take(&of), -1);
        for (uint32_t i = 0; i < BUCKETS; i++) {
            ready_on(&of, 1, i);
        }
        static const int order[] = {30, 20, 21, 22, 10, 11, 0, -1};
        for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
            cr_expect_eq(take(&of), order[i], "gradient %d, part %zu", gradients, i);
        }
    }
}

/* The rule by a look at all buckets: the highest index below `ready` with a part to go. */
static int by_looking(const uint32_t *left, uint32_t ready)
{
    int found = -1;
    for (uint32_t i = 0; i < ready; i++) {
        found = left[i] > 0 ? (int)i : found;
    }
    return found;
}

Test(priority, finds_what_a_look_at_all_buckets_finds_for_1000_gradients)
{
    gs_rng_key key = {23, GS_RNG_TEST, 0};
    gradient of = parted();
    for (uint64_t set = 0; set < 1000; set++) {
        uint32_t left[BUCKETS], ready = 0, taken = 0;
        for (uint32_t i = 0; i < BUCKETS; i++) {
            left[i] = of.buckets[i].parts;
        }
        for (uint32_t turn = 0; taken < 7; turn++) {
            if (ready < BUCKETS && gs_rng_bits(key, set, turn) % 3 == 0) {
                ready_on(&of, RANKS, ready++);
            }
            int wanted = by_looking(left, ready);
            int got = take(&of);
            cr_assert_eq(got < 0 ? -1 : got / 10, wanted, "set %llu, turn %u",
                         (unsigned long long)set, turn);
            if (wanted >= 0) {
                cr_assert_eq((uint32_t)got % 10, of.buckets[wanted].parts - left[wanted]);
                left[wanted]--;
                taken++;
            }
        }
    }
}
