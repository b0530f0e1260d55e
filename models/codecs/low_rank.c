/* PowerSGD's steps on float matrices. The rows that are whole are one product; a last row that
 * lacks elements is another, so nothing is copied or padded. */
#include "models/codecs/pack.h"

#include "base/assert.h"
#include "models/blas.h"

#include <math.h>

static int64_t whole_rows(const gs_low_rank *shape)
{
    GS_ASSERT(shape->rows > 0 && shape->columns > 0 && shape->rank > 0);
    GS_ASSERT((int64_t)shape->count <= shape->rows * shape->columns);
    GS_ASSERT((int64_t)shape->count > (shape->rows - 1) * shape->columns);
    return (int64_t)shape->count / shape->columns;
}

void gs_low_rank_start(const gs_low_rank *shape, gs_rng_key key, uint64_t step, uint32_t number,
                       float *q)
{
    gs_draws draws = gs_draws_of(&(gs_pack_rule){.key = key, .step = step}, number);
    size_t count = (size_t)(shape->columns * shape->rank);
    for (size_t i = 0; i < count; i++) {
        q[i] = 2.0F * gs_draw_uniform(draws, (uint32_t)i) - (1.0F - 0x1p-24F);
    }
}

static bool is_zero(const gs_low_rank *shape, const float *q, int64_t column)
{
    for (int64_t row = 0; row < shape->columns; row++) {
        float value = q[row * shape->rank + column];
        if (value < 0.0F || value > 0.0F) {
            return false;
        }
    }
    return true;
}

void gs_low_rank_warm(const gs_low_rank *shape, const float *kept, float *q)
{
    for (int64_t column = 0; column < shape->rank; column++) {
        bool is_empty = is_zero(shape, kept, column);
        for (int64_t row = 0; row < shape->columns && !is_empty; row++) {
            q[row * shape->rank + column] = kept[row * shape->rank + column];
        }
    }
}

void gs_low_rank_left(const gs_low_rank *shape, const float *m, const float *q, float *p)
{
    int64_t whole = whole_rows(shape), rest = (int64_t)shape->count - whole * shape->columns;
    if (whole > 0) {
        gs_matrix left = {.elements = m, .rows = whole, .columns = shape->columns};
        gs_matrix right = {.elements = q, .rows = shape->columns, .columns = shape->rank};
        gs_blas_multiply(&left, &right, false, p);
    }
    if (rest > 0) {
        gs_matrix left = {.elements = m + whole * shape->columns, .rows = 1, .columns = rest};
        gs_matrix right = {.elements = q, .rows = rest, .columns = shape->rank};
        gs_blas_multiply(&left, &right, false, p + whole * shape->rank);
    }
}

void gs_low_rank_right(const gs_low_rank *shape, const float *m, const float *p, float *q)
{
    int64_t whole = whole_rows(shape), rest = (int64_t)shape->count - whole * shape->columns;
    if (whole > 0) {
        gs_matrix left = {
            .elements = m, .rows = whole, .columns = shape->columns, .transposed = true};
        gs_matrix right = {.elements = p, .rows = whole, .columns = shape->rank};
        gs_blas_multiply(&left, &right, false, q);
    } else {
        memset(q, 0, (size_t)(shape->columns * shape->rank) * sizeof *q);
    }
    if (rest > 0) {
        gs_matrix left = {.elements = m + whole * shape->columns, .rows = rest, .columns = 1};
        gs_matrix right = {.elements = p + whole * shape->rank, .rows = 1, .columns = shape->rank};
        gs_blas_multiply(&left, &right, true, q);
    }
}

void gs_low_rank_expand(const gs_low_rank *shape, const float *p, const float *q, float *out)
{
    int64_t whole = whole_rows(shape), rest = (int64_t)shape->count - whole * shape->columns;
    gs_matrix right = {
        .elements = q, .rows = shape->columns, .columns = shape->rank, .transposed = true};
    if (whole > 0) {
        gs_matrix left = {.elements = p, .rows = whole, .columns = shape->rank};
        gs_blas_multiply(&left, &right, false, out);
    }
    if (rest > 0) {
        gs_matrix left = {.elements = p + whole * shape->rank, .rows = 1, .columns = shape->rank};
        right.rows = rest;
        gs_blas_multiply(&left, &right, false, out + whole * shape->columns);
    }
}

static double dot(const gs_low_rank *shape, const float *p, int64_t a, int64_t b)
{
    double sum = 0.0;
    for (int64_t row = 0; row < shape->rows; row++) {
        sum += (double)p[row * shape->rank + a] * (double)p[row * shape->rank + b];
    }
    return sum;
}

static void make_unit(const gs_low_rank *shape, float *p, int64_t column)
{
    double length = sqrt(dot(shape, p, column, column));
    for (int64_t row = 0; row < shape->rows && !(length <= 0.0); row++) {
        float *at = &p[row * shape->rank + column];
        *at = (float)((double)*at / length);
    }
}

/* Takes from a column what lies in those before it; returns how long it is then. */
static double take_others(const gs_low_rank *shape, float *p, int64_t column)
{
    for (int64_t other = 0; other < column; other++) {
        double part = dot(shape, p, other, column);
        for (int64_t row = 0; row < shape->rows; row++) {
            float *at = &p[row * shape->rank];
            at[column] = (float)((double)at[column] - part * (double)at[other]);
        }
    }
    return sqrt(dot(shape, p, column, column));
}

/* Of a column that lies in those before it, as all do behind the rank that the matrix has, rounding
 * is left, at a right angle to nothing: P P' would be no projection, and up to the rank too large.
 * So it is taken again until most of it stays, or nothing is left that could: rows of zeros leave
 * no direction. Each time from length 1: P of a warm start is as small as the gradient's square,
 * and what is left of rounding smaller still. */
void gs_low_rank_orthonormalise(const gs_low_rank *shape, float *p)
{
    enum { PASSES_MAX = 4 };
    static const double least_length = 0.1;
    for (int64_t column = 0; column < shape->rank; column++) {
        bool is_rounding = true;
        for (int pass = 0; pass < PASSES_MAX && is_rounding; pass++) {
            make_unit(shape, p, column);
            is_rounding = take_others(shape, p, column) < least_length;
        }
        make_unit(shape, p, column);
        for (int64_t row = 0; row < shape->rows && is_rounding; row++) {
            p[row * shape->rank + column] = 0.0F;
        }
    }
}
