#include "models/dataset_random.h"

#include <math.h>

#include "base/assert.h"

enum { TEST_SHARE = 5 /* one row in that many */ };

void gs_data_shuffle(gs_rng_key key, uint64_t step, uint32_t *rows, int64_t count)
{
    for (int64_t i = count - 1; i > 0; i--) {
        uint64_t bits = gs_rng_bits(key, step, (uint32_t)i) >> 32;
        uint64_t j = (bits * ((uint64_t)i + 1)) >> 32;
        uint32_t kept = rows[i];
        rows[i] = rows[j];
        rows[j] = kept;
    }
}

void gs_data_normals(gs_rng_key key, uint64_t step, double *out, uint32_t count)
{
    static const double two_pi = 6.283185307179586;
    for (uint32_t i = 0; i < count; i += 2) {
        double radius = sqrt(-2.0 * log(gs_rng_uniform(key, step, i)));
        double angle = two_pi * gs_rng_uniform(key, step, i + 1);
        out[i] = radius * cos(angle);
        if (i + 1 < count) {
            out[i + 1] = radius * sin(angle);
        }
    }
}

double gs_data_log_gamma(gs_rng_key key, uint64_t step, double shape)
{
    static const double two_pi = 6.283185307179586;
    GS_ASSERT(shape > 0.0);
    double boost = 0.0; /* gamma(a) = gamma(a + 1) u^(1/a) */
    if (shape < 1.0) {
        boost = log(gs_rng_uniform(key, step, 0)) / shape;
        shape += 1.0;
    }
    double d = shape - 1.0 / 3.0;
    double c = 1.0 / sqrt(9.0 * d);
    for (uint32_t draw = 1;; draw += 3) {
        double x = sqrt(-2.0 * log(gs_rng_uniform(key, step, draw))) *
                   cos(two_pi * gs_rng_uniform(key, step, draw + 1));
        double v = 1.0 + c * x;
        v = v * v * v;
        if (v > 0.0 &&
            log(gs_rng_uniform(key, step, draw + 2)) < 0.5 * x * x + d - d * v + d * log(v)) {
            return boost + log(d * v);
        }
    }
}

void gs_data_dirichlet(gs_rng_key key, const double *shapes, double *out, int64_t count)
{
    double top = -HUGE_VAL;
    for (int64_t i = 0; i < count; i++) {
        out[i] = gs_data_log_gamma(key, (uint64_t)i, shapes[i]);
        top = out[i] > top ? out[i] : top;
    }
    double sum = 0.0;
    for (int64_t i = 0; i < count; i++) {
        out[i] = exp(out[i] - top);
        sum += out[i];
    }
    for (int64_t i = 0; i < count; i++) {
        out[i] /= sum;
    }
}

uint32_t *gs_data_in_order(int64_t rows, gs_arena *arena)
{
    uint32_t *order = GS_TAKE(arena, uint32_t, (size_t)rows);
    for (int64_t i = 0; order != NULL && i < rows; i++) {
        order[i] = (uint32_t)i;
    }
    return order;
}

uint32_t *gs_data_split(int64_t rows, gs_arena *arena, int64_t *out_test_count)
{
    gs_rng_key key = {.seed = 0, .purpose = GS_RNG_DATA, .entity = GS_DATA_SPLIT};
    uint32_t *split = gs_data_in_order(rows, arena);
    if (split != NULL) {
        gs_data_shuffle(key, 0, split, rows);
        *out_test_count = (rows + TEST_SHARE - 1) / TEST_SHARE;
    }
    return split;
}
