#include "traces/stats/permutation.h"

#include <math.h>
#include <stdbool.h>

#include "base/assert.h"
#include "base/rng.h"

/* Relative difference below which two sums of the same numbers in another order are equal. */
#define SUM_ROUNDING 1e-12

/* Sum under all patterns of signs that leave the last one alone: each one's negative is as far from
 * 0. Gray code: from one pattern to the next a single sign changes. */
static double share_of_all(const double *differences, uint32_t count, double sum, double limit)
{
    bool negative[GS_SIGN_FLIP_EXACT_MAX] = {false};
    uint32_t patterns = UINT32_C(1) << (count - 1);
    uint32_t hits = 0;
    for (uint32_t i = 1;; i++) {
        hits += fabs(sum) >= limit ? 1 : 0;
        if (i == patterns) {
            return (double)hits / patterns;
        }
        uint32_t at = 0;
        while ((i >> at & 1) == 0) {
            at++;
        }
        sum += negative[at] ? 2.0 * differences[at] : -2.0 * differences[at];
        negative[at] = !negative[at];
    }
}

static double share_of_drawn(const double *differences, uint32_t count, double limit)
{
    gs_rng_key key = {.seed = 0, .purpose = GS_RNG_PERMUTATION, .entity = 0};
    uint32_t hits = 1; /* the pattern that was seen */
    for (uint32_t round = 0; round < GS_SIGN_FLIP_ROUNDS; round++) {
        double sum = 0.0;
        uint64_t bits = 0;
        for (uint32_t i = 0; i < count; i++) {
            bits = i % 64 == 0 ? gs_rng_bits(key, round, i / 64) : bits >> 1;
            sum += (bits & 1) == 0 ? differences[i] : -differences[i];
        }
        hits += fabs(sum) >= limit ? 1 : 0;
    }
    return (double)hits / (GS_SIGN_FLIP_ROUNDS + 1);
}

double gs_sign_flip(const double *differences, uint32_t count)
{
    double sum = 0.0;
    double size = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        GS_ASSERT(isfinite(differences[i]));
        sum += differences[i];
        size += fabs(differences[i]);
    }
    if (count == 0 || size == 0.0) {
        return 1.0;
    }
    double limit = fabs(sum) - SUM_ROUNDING * size;
    return count <= GS_SIGN_FLIP_EXACT_MAX ? share_of_all(differences, count, sum, limit)
                                           : share_of_drawn(differences, count, limit);
}

double gs_sign_flip_least(uint32_t count)
{
    if (count == 0) {
        return 1.0;
    }
    return count <= GS_SIGN_FLIP_EXACT_MAX ? ldexp(2.0, -(int)count)
                                           : 1.0 / (GS_SIGN_FLIP_ROUNDS + 1);
}

uint32_t gs_sign_flip_needs(double level)
{
    GS_ASSERT(level > 0.0);
    uint32_t count = 1;
    while (count <= GS_SIGN_FLIP_EXACT_MAX && gs_sign_flip_least(count) > level) {
        count++;
    }
    return count;
}
