#include "traces/stats/rank_sum.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

#include "base/assert.h"

static double u_of(const double *first, uint32_t first_count, const double *second,
                   uint32_t second_count)
{
    double u = 0.0;
    for (uint32_t i = 0; i < first_count; i++) {
        for (uint32_t k = 0; k < second_count; k++) {
            u += first[i] > second[k] ? 1.0 : first[i] == second[k] ? 0.5 : 0.0;
        }
    }
    return u;
}

/* Sum of t^3 - t over groups of t equal values of both samples together; 0: no ties. */
static double ties_of(const double *first, uint32_t first_count, const double *second,
                      uint32_t second_count, double *both)
{
    uint32_t count = first_count + second_count;
    for (uint32_t i = 0; i < count; i++) {
        both[i] = i < first_count ? first[i] : second[i - first_count];
    }
    gsl_sort(both, 1, count);
    double ties = 0.0;
    double run = 1.0;
    for (uint32_t i = 1; i <= count; i++) {
        if (i < count && both[i] == both[i - 1]) {
            run++;
        } else {
            ties += run * run * run - run;
            run = 1.0;
        }
    }
    return ties;
}

/* ways[u] = arrangements of m values among n others with that u, for m = first_count: the
 * generating function is a product of (1 - q^(n + i)) / (1 - q^i), i = 1..m. ways [u_max + 1]. */
static void count_ways(uint32_t first_count, uint32_t second_count, double *ways)
{
    uint32_t u_max = first_count * second_count;
    ways[0] = 1.0;
    for (uint32_t u = 1; u <= u_max; u++) {
        ways[u] = 0.0;
    }
    for (uint32_t i = 1; i <= first_count; i++) {
        for (uint32_t u = u_max; u >= second_count + i; u--) {
            ways[u] -= ways[u - second_count - i];
        }
        for (uint32_t u = i; u <= u_max; u++) {
            ways[u] += ways[u - i];
        }
    }
}

/* Twice the share of arrangements in the nearer tail. */
static double exact_p(double u, uint32_t first_count, uint32_t second_count, double *ways)
{
    uint32_t u_max = first_count * second_count;
    uint32_t nearer = (uint32_t)fmin(u, u_max - u);
    count_ways(first_count, second_count, ways);
    double tail = 0.0;
    for (uint32_t i = 0; i <= nearer; i++) {
        tail += ways[i];
    }
    return fmin(1.0, 2.0 * tail / gsl_sf_choose(first_count + second_count, first_count));
}

static double normal_p(double u, uint32_t first_count, uint32_t second_count, double ties)
{
    double m = first_count;
    double n = second_count;
    double variance = m * n / 12.0 * (m + n + 1.0 - ties / ((m + n) * (m + n - 1.0)));
    if (!(variance > 0.0)) {
        return 1.0;
    }
    double away = fmax(fabs(u - m * n / 2.0) - 0.5, 0.0);
    return fmin(1.0, 2.0 * gsl_cdf_ugaussian_Q(away / sqrt(variance)));
}

gs_status gs_rank_sum_test(const double *first, uint32_t first_count, const double *second,
                           uint32_t second_count, gs_rank_sum *out)
{
    GS_ASSERT(first_count >= 1 && second_count >= 1);
    bool small = first_count <= GS_RANK_SUM_EXACT_MAX && second_count <= GS_RANK_SUM_EXACT_MAX;
    size_t need = (size_t)first_count + second_count;
    if (small) {
        need += (size_t)first_count * second_count + 1;
    }
    double *scratch = malloc(need * sizeof *scratch);
    if (scratch == NULL) {
        return GS_ENOMEM;
    }
    double ties = ties_of(first, first_count, second, second_count, scratch);
    *out = (gs_rank_sum){.u = u_of(first, first_count, second, second_count),
                         .exact = small && ties == 0.0};
    out->p = out->exact ? exact_p(out->u, first_count, second_count, scratch)
                        : normal_p(out->u, first_count, second_count, ties);
    free(scratch);
    return GS_OK;
}

double gs_rank_sum_least(uint32_t first_count, uint32_t second_count)
{
    GS_ASSERT(first_count >= 1 && second_count >= 1);
    return fmin(1.0, 2.0 * exp(-gsl_sf_lnchoose(first_count + second_count, first_count)));
}

uint32_t gs_rank_sum_needs(double level)
{
    GS_ASSERT(level > 0.0);
    uint32_t count = 1;
    while (gs_rank_sum_least(count, count) > level) {
        count++;
    }
    return count;
}
