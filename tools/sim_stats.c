#include "tools/sim_stats.h"

#include "traces/stats/paired_ratio.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

static const double not_a_number = (double)NAN;

/* Relative width below which values are alike to the three digits that are shown. */
#define SAME_WIDTH 5e-4

/* Half the width of the 95 % interval of a mean. */
static double half_width(double sd, size_t count)
{
    return gsl_cdf_tdist_Pinv(0.975, (double)(count - 1)) * sd / sqrt((double)count);
}

/* Do the finite ones of values [count] lie within `width` of each other? */
static bool agree(const double *values, size_t count, double width)
{
    double least = HUGE_VAL;
    double most = -HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            least = fmin(least, values[i]);
            most = fmax(most, values[i]);
        }
    }
    return most - least <= width;
}

gs_spread gs_spread_of(const double *values, size_t count)
{
    gs_spread spread = {
        .mean = not_a_number, .sd = not_a_number, .low = not_a_number, .high = not_a_number};
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        if (isfinite(values[i])) {
            sum += values[i];
            spread.count++;
        }
    }
    if (spread.count == 0) {
        return spread;
    }
    spread.mean = sum / (double)spread.count;
    if (spread.count < 2) {
        return spread;
    }
    double squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        double off = values[i] - spread.mean;
        squares += isfinite(values[i]) ? off * off : 0.0;
    }
    spread.sd = sqrt(squares / (double)(spread.count - 1));
    spread.same = agree(values, count, SAME_WIDTH * fabs(spread.mean));
    spread.low = spread.mean - half_width(spread.sd, spread.count);
    spread.high = spread.mean + half_width(spread.sd, spread.count);
    return spread;
}

gs_ratio gs_ratio_of(const double *base, const double *other, size_t count)
{
    gs_ratio ratio = {.value = not_a_number, .low = not_a_number, .high = not_a_number};
    double *logs = calloc(count + 1, sizeof *logs);
    if (logs == NULL) {
        return ratio;
    }
    ratio.pairs = gs_paired_logs(other, base, (uint32_t)count, logs);
    gs_spread spread = gs_spread_of(logs, ratio.pairs);
    ratio.same = ratio.pairs > 1 && agree(logs, ratio.pairs, SAME_WIDTH);
    ratio.value = exp(spread.mean);
    ratio.low = exp(spread.low);
    ratio.high = exp(spread.high);
    free(logs);
    return ratio;
}

bool gs_ratio_is_tie(const gs_ratio *ratio)
{
    /* A difference that small is none to act on, however sure it is. */
    bool close = fabs(log(ratio->value)) <= SAME_WIDTH;
    return close || (ratio->pairs > 1 && ratio->low <= 1.0 && ratio->high >= 1.0);
}

/* Ascending, what is not finite last. */
static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    if (!isfinite(a) || !isfinite(b)) {
        return (isfinite(a) ? 0 : 1) - (isfinite(b) ? 0 : 1);
    }
    return (a > b) - (a < b);
}

double gs_median_censored(const double *values, size_t count, double *scratch)
{
    if (count == 0) {
        return not_a_number;
    }
    for (size_t i = 0; i < count; i++) {
        scratch[i] = values[i];
    }
    qsort(scratch, count, sizeof *scratch, ascending);
    double low = scratch[(count - 1) / 2];
    double high = scratch[count / 2];
    return isfinite(high) ? low + (high - low) / 2.0 : not_a_number;
}
