#include <criterion/criterion.h>

#include "base/arena_bare.h"
#include "tests/support.h"

#include <stdint.h>
#include <string.h>

Test(arena, memory_is_zeroed_aligned_and_apart)
{
    gs_arena arena;
    gs_arena_init(&arena);
    unsigned char *before = NULL;
    for (size_t bytes = 1; bytes < 300; bytes += 7) {
        unsigned char *memory = gs_arena_take(&arena, bytes, 1);
        cr_assert_not_null(memory);
        cr_assert_eq((uintptr_t)memory % 64, 0);
        for (size_t i = 0; i < bytes; i++) {
            cr_assert_eq(memory[i], 0);
        }
        memset(memory, 0xff, bytes);
        cr_assert_neq(memory, before);
        before = memory;
    }
    gs_arena_fini(&arena);
}

/* And counts, and fails, as what is zeroed. */
Test(arena, bare_memory_is_aligned_and_may_be_written)
{
    gs_arena arena;
    gs_arena_init(&arena);
    unsigned char *memory = gs_arena_bare(&arena, 3, 50); /* 150 bytes: three units of 64 */
    cr_assert_not_null(memory);
    memset(memory, 0xff, 150);
    cr_assert_eq((uintptr_t)memory % 64, 0);
    cr_assert_eq(arena.used_bytes, 192);
    arena.fail_after = 0;
    cr_assert_null(gs_arena_bare(&arena, 3, 50));
    gs_arena_fini(&arena);
}

Test(arena, used_bytes_count_the_alignment)
{
    gs_arena arena;
    gs_arena_init(&arena);
    cr_assert_not_null(GS_TAKE(&arena, char, 1));
    cr_assert_not_null(GS_TAKE(&arena, double, 9)); /* 72 bytes: two units of 64 */
    cr_expect_eq(arena.used_bytes, 64 + 128);
    gs_arena_fini(&arena);
    cr_expect_eq(arena.used_bytes, 0);
}

/* 3 bytes fill one unit of 16, 20 two; what is taken whole begins at the next 64. */
Test(arena, what_is_packed_lies_behind_what_was_taken_before)
{
    gs_arena arena;
    gs_arena_init(&arena);
    char *first = GS_PACK(&arena, char, 3);
    char *second = GS_PACK(&arena, char, 20);
    char *third = GS_PACK(&arena, char, 1);
    char *whole = GS_TAKE(&arena, char, 1);
    cr_assert(first != NULL && second != NULL && third != NULL && whole != NULL);
    cr_expect_eq(second - first, 16);
    cr_expect_eq(third - second, 32);
    cr_expect_eq(whole - first, 64);
    cr_expect_eq(arena.used_bytes, 128);
    gs_arena_fini(&arena);
}

Test(arena, a_request_larger_than_a_block_gets_its_own)
{
    gs_arena arena;
    gs_arena_init(&arena);
    cr_assert_not_null(GS_TAKE(&arena, char, 3));
    unsigned char *large = gs_arena_take(&arena, 1000003, 1);
    cr_assert_not_null(large);
    large[1000002] = 1;
    cr_assert_not_null(GS_TAKE(&arena, char, 3));
    gs_arena_fini(&arena);
}

/* 12,000 requests of 1,000 bytes (1,024 with alignment): 12 MB, in blocks up to the largest. */
Test(arena, many_requests_are_zeroed_and_apart_in_blocks_of_every_size)
{
    enum { REQUESTS = 12000, BYTES = 1000 };
    gs_arena arena;
    gs_arena_init(&arena);
    uint32_t **taken = GS_TAKE(&arena, uint32_t *, REQUESTS);
    cr_assert_not_null(taken);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        taken[i] = gs_arena_take(&arena, BYTES, 1);
        cr_assert_not_null(taken[i]);
        cr_assert_eq((uintptr_t)taken[i] % 64, 0);
        for (uint32_t j = 0; j < BYTES / sizeof(uint32_t); j++) {
            cr_assert_eq(taken[i][j], 0);
            taken[i][j] = i + 1;
        }
    }
    for (uint32_t i = 0; i < REQUESTS; i++) {
        for (uint32_t j = 0; j < BYTES / sizeof(uint32_t); j++) {
            cr_assert_eq(taken[i][j], i + 1);
        }
    }
    cr_expect_eq(arena.used_bytes, REQUESTS * (1024 + sizeof(uint32_t *)));
    gs_arena_fini(&arena);
}

Test(arena, a_count_of_zero_gives_a_valid_pointer)
{
    gs_arena arena;
    gs_arena_init(&arena);
    cr_expect_not_null(gs_arena_take(&arena, 0, 8));
    cr_expect_not_null(gs_arena_take(&arena, 8, 0));
    gs_arena_fini(&arena);
}

Test(arena, a_product_that_overflows_is_refused)
{
    gs_arena arena;
    gs_arena_init(&arena);
    cr_expect_null(gs_arena_take(&arena, SIZE_MAX / 8 + 1, 8));
    cr_expect_null(gs_arena_take(&arena, SIZE_MAX, 1));
    cr_expect_null(gs_arena_take(&arena, SIZE_MAX - 64, 1));
    cr_expect_not_null(gs_arena_take(&arena, 1, 1));
    gs_arena_fini(&arena);
}

Test(arena, it_fails_the_request_it_was_told_to_and_those_after)
{
    gs_arena arena;
    gs_arena_init(&arena);
    arena.fail_after = 2;
    cr_expect_not_null(gs_arena_take(&arena, 1, 1));
    cr_expect_not_null(gs_arena_text(&arena, "a"));
    cr_expect_null(gs_arena_take(&arena, 1, 1));
    cr_expect_null(gs_arena_text(&arena, "a"));
    gs_arena_fini(&arena);
    cr_expect_not_null(gs_arena_take(&arena, 1, 1), "fini resets the failure");
    gs_arena_fini(&arena);
}

Test(arena, a_failed_request_leaves_it_usable)
{
    gs_arena arena;
    gs_arena_init(&arena);
    test_fail_allocations(0);
    cr_expect_null(gs_arena_take(&arena, 1, 1));
    test_fail_allocations(-1);
    cr_expect_not_null(gs_arena_take(&arena, 1, 1));
    gs_arena_fini(&arena);
}

Test(arena, text_is_copied_with_its_end)
{
    gs_arena arena;
    gs_arena_init(&arena);
    char source[] = "ring";
    char *copy = gs_arena_text(&arena, source);
    source[0] = 'x';
    cr_expect_str_eq(copy, "ring");
    gs_arena_fini(&arena);
}
