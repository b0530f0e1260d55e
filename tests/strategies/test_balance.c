/* Shares of samples by the times that ranks tell of each step. */
#include <criterion/criterion.h>

#include "strategies/balance.h"

enum { RANKS = 3, BATCH = 30 };

static const gs_share_bounds bounds = {.total = RANKS * BATCH, .least = 1, .most = 4 * BATCH};

typedef struct balanced {
    gs_balance balance;
    gs_share shares[RANKS];
} balanced;

static balanced of_rank(uint32_t own)
{
    balanced made;
    gs_balance_init(&made.balance, made.shares, RANKS, own, BATCH);
    return made;
}

static bool hear(balanced *of, int64_t step, uint32_t rank, int64_t took_ns)
{
    return gs_balance_hear(&of->balance, of->shares, step, rank, took_ns);
}

Test(balance, ranks_begin_with_a_batch_each)
{
    balanced of = of_rank(2);
    cr_expect_eq(of.balance.before, 2 * BATCH);
    for (int i = 0; i < RANKS; i++) {
        cr_expect_eq(of.shares[i].samples, BATCH);
    }
}

/* Rates 1 : 1 : 2.5, so of 90 samples 20, 20 and 50: all would take 40 ms. */
Test(balance, a_faster_rank_takes_more)
{
    balanced of = of_rank(2);
    cr_expect_not(hear(&of, 0, 0, 60000000));
    cr_expect_not(hear(&of, 0, 2, 24000000));
    cr_expect(hear(&of, 0, 1, 60000000));
    gs_balance_next(&of.balance, of.shares, 0.9, &bounds);
    cr_expect_eq(of.shares[0].samples, 20);
    cr_expect_eq(of.shares[1].samples, 20);
    cr_expect_eq(of.shares[2].samples, 50);
    cr_expect_eq(of.balance.before, 40);
    cr_expect_eq(of.balance.step, 1);
}

/* What rank 0 tells of its next step is kept for that, and does not complete this one. */
Test(balance, a_rank_may_be_a_step_ahead)
{
    balanced of = of_rank(1);
    cr_expect_not(hear(&of, 0, 0, 30));
    cr_expect_not(hear(&of, 0, 1, 30));
    cr_expect_not(hear(&of, 1, 0, 60));
    cr_expect(hear(&of, 0, 2, 30));
    gs_balance_next(&of.balance, of.shares, 0.0, &bounds);
    cr_expect_eq(of.shares[0].samples, BATCH);
    cr_expect_not(hear(&of, 1, 2, 30));
    cr_expect(hear(&of, 1, 1, 30));
    /* Rank 0 is at half the rate of the others: 18, 36 and 36 of 90. */
    gs_balance_next(&of.balance, of.shares, 0.0, &bounds);
    cr_expect_eq(of.shares[0].samples, 18);
    cr_expect_eq(of.balance.before, 18);
}
