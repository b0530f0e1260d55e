#include "traces/stats/power.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>

#include "base/assert.h"

/* Of a shift that is found, relative: far below what a person reads. */
#define PRECISION 1e-7

/* Logarithm of the part of the density below that does not depend on the ratio. */
static double log_scale(double freedom)
{
    double half = freedom / 2.0;
    return log(2.0) + half * log(half) - gsl_sf_lngamma(half);
}

/* Density of a standard deviation of n - 1 = `freedom` degrees over its true value; of one degree
 * it has its peak at 0. */
static double spread_density(double ratio, double freedom, double scale)
{
    double power = freedom == 1.0 ? 0.0 : (freedom - 1.0) * log(ratio);
    return exp(scale + power - freedom / 2.0 * ratio * ratio);
}

/* Chance that (Z + shift) / S > critical, Z normal and S the spread found over the true one: the
 * normal part has a closed form, the other is integrated by Simpson's rule where it has its weight
 * (12 of its standard deviations, about 1 / sqrt(2 freedom) each), in panels that are small against
 * the width 1 / critical in which the normal part falls. */
static double noncentral_tail(double critical, double shift, double freedom)
{
    double reach = 12.0 / sqrt(2.0 * freedom);
    double low = fmax(0.0, 1.0 - reach);
    int panels = 2 * (50 + (int)fmin(12.0 * critical, 1e5));
    double width = (1.0 + reach - low) / panels;
    double scale = log_scale(freedom);
    double sum = 0.0;
    for (int i = 0; i <= panels; i++) {
        double ratio = low + i * width;
        double weight = i == 0 || i == panels ? 1.0 : i % 2 == 1 ? 4.0 : 2.0;
        double density = spread_density(ratio, freedom, scale);
        sum += weight * density * gsl_cdf_ugaussian_P(shift - critical * ratio);
    }
    return sum * width / 3.0;
}

double gs_paired_power(uint32_t pairs, double shift, double spread, double alpha)
{
    GS_ASSERT(pairs >= 2 && spread > 0.0 && alpha > 0.0 && alpha < 1.0);
    double freedom = pairs - 1;
    double critical = gsl_cdf_tdist_Qinv(alpha / 2.0, freedom);
    return noncentral_tail(critical, shift / spread * sqrt((double)pairs), freedom);
}

double gs_detectable_shift(uint32_t pairs, double spread, double alpha, double power)
{
    GS_ASSERT(power > alpha / 2.0 && power < 1.0);
    if (pairs < 2) {
        return (double)NAN;
    }
    if (spread == 0.0) {
        return 0.0;
    }
    double low = 0.0;
    double high = spread;
    while (gs_paired_power(pairs, high, spread, alpha) < power) {
        low = high;
        high *= 2.0;
    }
    while (high - low > PRECISION * high) {
        double middle = low + (high - low) / 2.0;
        if (gs_paired_power(pairs, middle, spread, alpha) < power) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}
