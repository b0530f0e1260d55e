#include "traces/robust.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "base/assert.h"
#include "base/rng.h"

/* The median absolute deviation of a normal law is this part of its standard deviation: rejection
 * at 6 of them leaves a normal law whole, and an interval needs 5 values to be drawn from. */
#define MAD_TO_DEVIATION 1.4826
#define REJECT_SPREADS   6.0
#define REJECT_RATIO     1e-3
enum { DRAWN_MIN = 5 };

gs_middle gs_middle_of(double *values, uint32_t count)
{
    GS_ASSERT(count >= 1);
    gsl_sort(values, 1, count);
    double median = gsl_stats_median_from_sorted_data(values, 1, count);
    /* Distances to the median, merged from both sides of it: the middle one without a copy. */
    uint32_t low = 0;
    while (low < count && values[low] < median) {
        low++;
    }
    uint32_t high = low;
    double distance = 0.0;
    for (uint32_t taken = 0; taken <= count / 2; taken++) {
        double below = low > 0 ? median - values[low - 1] : HUGE_VAL;
        double above = high < count ? values[high] - median : HUGE_VAL;
        distance = below < above ? below : above;
        low -= below < above ? 1 : 0;
        high += below < above ? 0 : 1;
    }
    double spread = MAD_TO_DEVIATION * distance;
    double far = fmax(REJECT_SPREADS * spread, REJECT_RATIO * fabs(median));
    uint32_t first = 0;
    while (median - values[first] > far) {
        first++;
    }
    uint32_t end = count;
    while (values[end - 1] - median > far) {
        end--;
    }
    return (gs_middle){
        .median = gsl_stats_median_from_sorted_data(values + first, 1, end - first),
        .spread = spread,
        .first = first,
        .kept = end - first,
    };
}

double gs_median_redrawn(const double *values, uint32_t count, uint32_t entity, uint32_t round,
                         double *scratch)
{
    gs_rng_key key = {.seed = 0, .purpose = GS_RNG_BOOTSTRAP, .entity = entity};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)(gs_rng_uniform(key, round, i) * count);
        scratch[i] = values[at < count ? at : count - 1];
    }
    gsl_sort(scratch, 1, count);
    return gsl_stats_median_from_sorted_data(scratch, 1, count);
}

void gs_interval_of(double *draws, uint32_t count, double *out_low, double *out_high)
{
    gsl_sort(draws, 1, count);
    *out_low = gsl_stats_quantile_from_sorted_data(draws, 1, count, 0.005);
    *out_high = gsl_stats_quantile_from_sorted_data(draws, 1, count, 0.995);
}

gs_estimate gs_median_estimate(double *values, uint32_t count, double *scratch)
{
    gs_middle middle = gs_middle_of(values, count);
    const double *kept = values + middle.first;
    gs_estimate estimate = {middle.median, kept[0], kept[middle.kept - 1]};
    if (middle.kept >= DRAWN_MIN) {
        double medians[GS_BOOTSTRAP_ROUNDS];
        for (uint32_t round = 0; round < GS_BOOTSTRAP_ROUNDS; round++) {
            medians[round] = gs_median_redrawn(kept, middle.kept, 0, round, scratch);
        }
        gs_interval_of(medians, GS_BOOTSTRAP_ROUNDS, &estimate.low, &estimate.high);
    }
    return estimate;
}
