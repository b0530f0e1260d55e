/* PowerSGD's matrix steps. */
#include <criterion/criterion.h>

#include "base/rng.h"
#include "models/codec_kernels.h"
#include "models/kernels.h"

#include <math.h>
#include <string.h>

enum { ROWS = 30, COLUMNS = 20, RANK_MAX = 20 };

static const gs_rng_key key = {.seed = 3, .purpose = GS_RNG_TEST};

static void fill(float *out, size_t count, uint64_t stream)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (float)(2.0 * gs_rng_uniform(key, stream, (uint32_t)i) - 1.0);
    }
}

/* One step of the algorithm on one rank: p is made from q, then q from p. */
static void iterate(const gs_low_rank *shape, const float *m, float *p, float *q)
{
    gs_low_rank_left(shape, m, q, p);
    gs_low_rank_orthonormalise(shape, p);
    gs_low_rank_right(shape, m, p, q);
}

static double distance(const float *a, const float *b, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    }
    return sqrt(sum);
}

/* M = A B' has rank r; its range is in that of p after one step, so p p' M is M. Also where the
 * last row lacks elements, which are 0 then. */
Test(low_rank, a_matrix_of_that_rank_is_exact_after_one_step)
{
    for (int64_t rank = 1; rank <= 4; rank++) {
        float a[ROWS * RANK_MAX], b[COLUMNS * RANK_MAX], m[ROWS * COLUMNS], out[ROWS * COLUMNS];
        float p[ROWS * RANK_MAX], q[COLUMNS * RANK_MAX];
        fill(a, (size_t)(ROWS * rank), 1);
        fill(b, (size_t)(COLUMNS * rank), 2);
        gs_low_rank shape = {
            .count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = rank};
        gs_low_rank_expand(&shape, a, b, m);
        gs_low_rank_start(&shape, key, 0, 0, q);
        iterate(&shape, m, p, q);
        gs_low_rank_expand(&shape, p, q, out);
        cr_expect_lt(distance(m, out, ROWS * COLUMNS), 1e-5 * distance(m, (float[600]){0}, 600),
                     "rank %lld", (long long)rank);
    }
}

Test(low_rank, a_last_row_that_is_not_whole_counts_as_filled_up_with_zeros)
{
    enum { COUNT = ROWS * COLUMNS - 13 };
    float padded[ROWS * COLUMNS] = {0}, out[ROWS * COLUMNS], full[ROWS * COLUMNS];
    float p[2][ROWS * 2], q[2][COLUMNS * 2];
    fill(padded, COUNT, 3);
    gs_low_rank part = {.count = COUNT, .rows = ROWS, .columns = COLUMNS, .rank = 2};
    gs_low_rank whole = {.count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = 2};
    gs_low_rank_start(&part, key, 0, 0, q[0]);
    memcpy(q[1], q[0], sizeof q[0]);
    iterate(&part, padded, p[0], q[0]);
    iterate(&whole, padded, p[1], q[1]);
    cr_expect_lt(distance(p[0], p[1], ROWS * 2), 1e-5);
    cr_expect_lt(distance(q[0], q[1], COLUMNS * 2), 1e-5);
    memset(out, 0x7f, sizeof out);
    float after = out[COUNT];
    gs_low_rank_expand(&part, p[0], q[0], out);
    gs_low_rank_expand(&whole, p[1], q[1], full);
    cr_expect_lt(distance(out, full, COUNT), 1e-5);
    cr_expect_eq(memcmp(&out[COUNT], &after, sizeof after), 0); /* nothing behind its end */
}

Test(low_rank, columns_become_orthonormal)
{
    float p[ROWS * 4];
    fill(p, ROWS * 4, 4);
    for (int row = 0; row < ROWS; row++) {
        p[4 * row + 2] = 0.0F; /* stays so: nothing to normalise */
    }
    gs_low_rank shape = {.count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = 4};
    gs_low_rank_orthonormalise(&shape, p);
    for (int a = 0; a < 4; a++) {
        for (int b = 0; b < 4; b++) {
            double dot = 0.0;
            for (int row = 0; row < ROWS; row++) {
                dot += (double)p[4 * row + a] * (double)p[4 * row + b];
            }
            cr_expect_float_eq(dot, a == b && a != 2 ? 1.0 : 0.0, 1e-6);
        }
    }
}

/* Columns behind the rank of the matrix lie in those before them: what is left is rounding, which
 * points anywhere, and P P' M could be twice M and more. It is M, with warm starts and whatever its
 * size: P of a warm start is as small as its square. */
Test(low_rank, more_columns_than_the_matrix_has_ranks_say_no_more_than_it)
{
    static float a[ROWS], b[COLUMNS], m[ROWS * COLUMNS], out[ROWS * COLUMNS];
    static float p[ROWS * RANK_MAX], q[COLUMNS * RANK_MAX];
    gs_low_rank one = {.count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = 1};
    for (int64_t rank = 2; rank <= RANK_MAX; rank++) {
        for (float size = 1e-6F; size < 1e7F; size *= 1e3F) {
            fill(a, ROWS, (uint64_t)rank);
            fill(b, COLUMNS, 50);
            gs_kernel_scale(a, a, NULL, ROWS, size);
            gs_low_rank_expand(&one, a, b, m);
            gs_low_rank shape = one;
            shape.rank = rank;
            gs_low_rank_start(&shape, key, (uint64_t)rank, 0, q);
            for (int step = 0; step < 3; step++) {
                iterate(&shape, m, p, q);
                gs_low_rank_expand(&shape, p, q, out);
                double error = distance(m, out, ROWS * COLUMNS);
                cr_expect_lt(error, 1e-5 * distance(m, (float[600]){0}, 600),
                             "rank %lld, size %g, step %d: %g", (long long)rank, (double)size, step,
                             error);
            }
        }
    }
}

/* Rows of zeros, as of units that no sample reaches, leave fewer directions than there are columns:
 * those that find none are 0. */
Test(low_rank, more_columns_than_directions_say_no_more_than_the_matrix)
{
    enum { ALIVE = 4 };
    static float a[ROWS * 2], b[COLUMNS * 2], m[ROWS * COLUMNS], out[ROWS * COLUMNS];
    static float p[ROWS * RANK_MAX], q[COLUMNS * RANK_MAX];
    gs_low_rank two = {.count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = 2};
    for (uint64_t seed = 0; seed < 20; seed++) {
        fill(a, ALIVE * 2, seed);
        fill(b, COLUMNS * 2, 50 + seed);
        gs_low_rank_expand(&two, a, b, m);
        gs_low_rank shape = two;
        shape.rank = RANK_MAX;
        gs_low_rank_start(&shape, key, seed, 0, q);
        for (int step = 0; step < 3; step++) {
            iterate(&shape, m, p, q);
            gs_low_rank_expand(&shape, p, q, out);
            double error = distance(m, out, ROWS * COLUMNS);
            cr_expect_lt(error, 1e-5 * distance(m, (float[600]){0}, 600), "seed %d, step %d: %g",
                         (int)seed, step, error);
        }
    }
}

/* M has one row that is not 0, so the second column of P is exactly the first: nothing is left. */
Test(low_rank, a_column_of_which_nothing_is_left_is_zero)
{
    float p[ROWS * 2] = {0};
    p[2 * 7] = -3.0F;
    p[2 * 7 + 1] = 0.25F;
    gs_low_rank shape = {.count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = 2};
    gs_low_rank_orthonormalise(&shape, p);
    for (int i = 0; i < ROWS * 2; i++) {
        cr_expect_eq(p[i], i == 2 * 7 ? -1.0F : 0.0F, "%d", i);
    }
}

/* M = diag(10, 8, 5, 1, 1, ...) in the first 20 rows: the best matrix of rank 2 keeps 10 and 8, its
 * error is sqrt(25 + 17) (Eckart and Young). One step from a random start is worse; 40 warm ones
 * shrink what is left by (5/8)^2 each. */
Test(low_rank, a_warm_start_converges_to_the_best_matrix_of_that_rank)
{
    static float m[ROWS * COLUMNS], out[ROWS * COLUMNS];
    float p[ROWS * 2], q[COLUMNS * 2];
    for (int i = 0; i < COLUMNS; i++) {
        m[i * COLUMNS + i] = i == 0 ? 10.0F : i == 1 ? 8.0F : i == 2 ? 5.0F : 1.0F;
    }
    double best = sqrt(25.0 + 17.0), first = 0.0, last = 0.0;
    gs_low_rank shape = {.count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = 2};
    gs_low_rank_start(&shape, key, 1, 0, q);
    for (int step = 0; step < 40; step++) {
        iterate(&shape, m, p, q);
        gs_low_rank_expand(&shape, p, q, out);
        last = distance(m, out, ROWS * COLUMNS);
        first = step == 0 ? last : first;
    }
    cr_expect_gt(first, 1.001 * best);
    cr_expect_float_eq(last, best, 1e-4 * best);
}

/* Ranks sum P, orthonormalise the same sum, and sum Q: the result is the one of the mean matrix. */
Test(low_rank, sums_over_ranks_give_the_approximation_of_the_mean)
{
    enum { RANKS = 3, N = ROWS * COLUMNS };
    static float m[RANKS][N], mean[N], out[N], wanted[N];
    float p[RANKS][ROWS * 2], q[RANKS][COLUMNS * 2], mean_p[ROWS * 2], mean_q[COLUMNS * 2];
    gs_low_rank shape = {.count = N, .rows = ROWS, .columns = COLUMNS, .rank = 2};
    for (int rank = 0; rank < RANKS; rank++) {
        fill(m[rank], N, (uint64_t)(10 + rank));
        for (int i = 0; i < N; i++) {
            mean[i] += m[rank][i] / RANKS;
        }
        gs_low_rank_start(&shape, key, 2, 0, q[rank]);
        gs_low_rank_left(&shape, m[rank], q[rank], p[rank]);
    }
    gs_low_rank_start(&shape, key, 2, 0, mean_q);
    for (int i = 0; i < ROWS * 2; i++) {
        p[0][i] = p[0][i] + p[1][i] + p[2][i];
    }
    gs_low_rank_orthonormalise(&shape, p[0]);
    for (int rank = 0; rank < RANKS; rank++) {
        gs_low_rank_right(&shape, m[rank], p[0], q[rank]);
    }
    for (int i = 0; i < COLUMNS * 2; i++) {
        q[0][i] = (q[0][i] + q[1][i] + q[2][i]) / RANKS;
    }
    gs_low_rank_expand(&shape, p[0], q[0], out);
    iterate(&shape, mean, mean_p, mean_q);
    gs_low_rank_expand(&shape, mean_p, mean_q, wanted);
    cr_expect_lt(distance(out, wanted, N), 1e-4 * distance(wanted, (float[N]){0}, N));
}

Test(low_rank, a_start_is_a_function_of_key_and_step)
{
    float a[COLUMNS * 2], b[COLUMNS * 2];
    gs_low_rank shape = {.count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = 2};
    gs_low_rank_start(&shape, key, 1, 0, a);
    gs_low_rank_start(&shape, key, 1, 0, b);
    cr_expect_eq(memcmp(a, b, sizeof a), 0);
    gs_low_rank_start(&shape, key, 2, 0, b);
    cr_expect_neq(memcmp(a, b, sizeof a), 0);
    for (size_t i = 0; i < COLUMNS * 2; i++) {
        cr_expect(fabsf(a[i]) < 1.0F);
    }
}

/* A first M of one row leaves one column of Q, the other is exactly 0; the M after it has two
 * ranks, and both are said. */
Test(low_rank, a_column_that_had_nothing_to_say_says_something_later)
{
    float a[ROWS * 2], b[COLUMNS * 2], m[ROWS * COLUMNS] = {0}, out[ROWS * COLUMNS];
    float p[ROWS * 2], kept[COLUMNS * 2], q[COLUMNS * 2];
    gs_low_rank shape = {.count = ROWS * COLUMNS, .rows = ROWS, .columns = COLUMNS, .rank = 2};
    fill(m + (size_t)(7 * COLUMNS), COLUMNS, 1);
    gs_low_rank_start(&shape, key, 0, 0, kept);
    iterate(&shape, m, p, kept);
    for (int i = 0; i < COLUMNS; i++) {
        cr_assert_eq(kept[2 * i + 1], 0.0F);
    }
    fill(a, ROWS * 2, 2);
    fill(b, COLUMNS * 2, 3);
    gs_low_rank_expand(&shape, a, b, m);
    gs_low_rank_start(&shape, key, 1, 0, q);
    gs_low_rank_warm(&shape, kept, q);
    for (int i = 0; i < COLUMNS; i++) {
        cr_expect_eq(q[2 * i], kept[2 * i]);
    }
    iterate(&shape, m, p, q);
    gs_low_rank_expand(&shape, p, q, out);
    cr_expect_lt(distance(m, out, ROWS * COLUMNS), 1e-5 * distance(m, (float[600]){0}, 600));
}
