#include "traces/stats/bootstrap.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/rng.h"

/* Distance, relative to the range of all rounds, below which two means are equal. */
#define SUM_ROUNDING 1e-12

double gs_statistic_mean(double *const samples[GS_BCA_SAMPLES_MAX],
                         const uint32_t counts[GS_BCA_SAMPLES_MAX])
{
    double sum = 0.0;
    for (uint32_t i = 0; i < counts[0]; i++) {
        sum += samples[0][i];
    }
    return sum / counts[0];
}

/* Samples of a comparison are short, and sorted thousands of times. */
static void sort(double *values, uint32_t count)
{
    enum { SHORT = 32 };
    if (count > SHORT) {
        gsl_sort(values, 1, count);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        double value = values[i];
        uint32_t place = i;
        for (; place > 0 && values[place - 1] > value; place--) {
            values[place] = values[place - 1];
        }
        values[place] = value;
    }
}

double gs_statistic_median_shift(double *const samples[GS_BCA_SAMPLES_MAX],
                                 const uint32_t counts[GS_BCA_SAMPLES_MAX])
{
    double medians[GS_BCA_SAMPLES_MAX];
    for (int s = 0; s < GS_BCA_SAMPLES_MAX; s++) {
        sort(samples[s], counts[s]);
        medians[s] = gsl_stats_median_from_sorted_data(samples[s], 1, counts[s]);
    }
    return medians[1] - medians[0];
}

double gs_statistic_mean_shift(double *const samples[GS_BCA_SAMPLES_MAX],
                               const uint32_t counts[GS_BCA_SAMPLES_MAX])
{
    double means[GS_BCA_SAMPLES_MAX];
    for (int s = 0; s < GS_BCA_SAMPLES_MAX; s++) {
        means[s] = gsl_stats_mean(samples[s], 1, counts[s]);
    }
    return means[1] - means[0];
}

/* A statistic, its values in all rounds, and copies of the samples to work on. */
typedef struct resampling {
    const gs_samples *samples;
    gs_statistic statistic;
    double *rounds;                     /* [GS_BCA_ROUNDS] */
    double *copies[GS_BCA_SAMPLES_MAX]; /* [counts] */
} resampling;

static double of_all(const resampling *work)
{
    for (int s = 0; s < GS_BCA_SAMPLES_MAX; s++) {
        if (work->samples->counts[s] > 0) {
            memcpy(work->copies[s], work->samples->values[s],
                   work->samples->counts[s] * sizeof(double));
        }
    }
    return work->statistic(work->copies, work->samples->counts);
}

/* Two places a draw: 32 bits are plenty for samples of a comparison. */
static double of_round(const resampling *work, uint32_t round)
{
    for (uint32_t s = 0; s < GS_BCA_SAMPLES_MAX; s++) {
        gs_rng_key key = {.seed = 0, .purpose = GS_RNG_BOOTSTRAP, .entity = s};
        uint32_t count = work->samples->counts[s];
        uint64_t bits = 0;
        for (uint32_t i = 0; i < count; i++) {
            bits = i % 2 == 0 ? gs_rng_bits(key, round, i / 2) : bits >> 32;
            work->copies[s][i] = work->samples->values[s][(bits & UINT32_MAX) * count >> 32];
        }
    }
    return work->statistic(work->copies, work->samples->counts);
}

/* Without value `left_out` of sample `from`. */
static double of_others(const resampling *work, int from, uint32_t left_out)
{
    uint32_t counts[GS_BCA_SAMPLES_MAX];
    for (int s = 0; s < GS_BCA_SAMPLES_MAX; s++) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < work->samples->counts[s]; i++) {
            if (s != from || i != left_out) {
                work->copies[s][kept++] = work->samples->values[s][i];
            }
        }
        counts[s] = kept;
    }
    return work->statistic(work->copies, counts);
}

/* Skewness of the influence of single values over 6; a sample of one value has none. */
static double acceleration(const resampling *work)
{
    double squares = 0.0;
    double cubes = 0.0;
    for (int s = 0; s < GS_BCA_SAMPLES_MAX; s++) {
        uint32_t count = work->samples->counts[s];
        double mean = 0.0;
        for (uint32_t i = 0; i < count && count > 1; i++) {
            mean += of_others(work, s, i) / count;
        }
        for (uint32_t i = 0; i < count && count > 1; i++) {
            double influence = (mean - of_others(work, s, i)) * (count - 1) / count;
            squares += influence * influence;
            cubes += influence * influence * influence;
        }
    }
    return squares > 0.0 ? cubes / (6.0 * pow(squares, 1.5)) : 0.0;
}

/* Share of the rounds below the estimate, equal ones half; never 0 or 1, whose normal quantile is
 * not finite. Sums of the same values in another order are equal. */
static double share_below(const resampling *work, double estimate)
{
    double least = 0.0;
    double most = 0.0;
    gsl_stats_minmax(&least, &most, work->rounds, 1, GS_BCA_ROUNDS);
    double rounding = SUM_ROUNDING * (most - least);
    double below = 0.0;
    for (uint32_t i = 0; i < GS_BCA_ROUNDS; i++) {
        double away = work->rounds[i] - estimate;
        below += away < -rounding ? 1.0 : away <= rounding ? 0.5 : 0.0;
    }
    return fmin(fmax(below, 0.5), GS_BCA_ROUNDS - 0.5) / GS_BCA_ROUNDS;
}

/* Value of the rounds, in order, at the share that BCa puts in the place of `share`. */
static double bound(const resampling *work, double share, double bias, double skew)
{
    double z = bias + gsl_cdf_ugaussian_Pinv(share);
    double moved = gsl_cdf_ugaussian_P(bias + z / fmax(1.0 - skew * z, 1e-9));
    double place = fmin(fmax(moved * (GS_BCA_ROUNDS + 1), 1.0), GS_BCA_ROUNDS) - 1.0;
    uint32_t at = (uint32_t)place;
    uint32_t next = at + 1 < GS_BCA_ROUNDS ? at + 1 : at;
    /* Two of 4,999 are wanted: selecting instead of sorting halves the time of an interval. */
    double low = gsl_stats_select(work->rounds, 1, GS_BCA_ROUNDS, at);
    double high = gsl_stats_select(work->rounds, 1, GS_BCA_ROUNDS, next);
    return low + (place - at) * (high - low);
}

static void find_interval(resampling *work, double alpha, gs_interval *out)
{
    double estimate = of_all(work);
    for (uint32_t i = 0; i < GS_BCA_ROUNDS; i++) {
        work->rounds[i] = of_round(work, i);
    }
    double bias = gsl_cdf_ugaussian_Pinv(share_below(work, estimate));
    double skew = acceleration(work);
    out->low = bound(work, alpha / 2.0, bias, skew);
    out->high = bound(work, 1.0 - alpha / 2.0, bias, skew);
}

gs_status gs_bca(const gs_samples *samples, gs_statistic statistic, double alpha, gs_interval *out)
{
    GS_ASSERT(samples->counts[0] >= 1 && alpha > 0.0 && alpha < 1.0);
    size_t count = (size_t)samples->counts[0] + samples->counts[1];
    double *memory = malloc((GS_BCA_ROUNDS + count) * sizeof *memory);
    if (memory == NULL) {
        return GS_ENOMEM;
    }
    resampling work = {
        .samples = samples,
        .statistic = statistic,
        .rounds = memory,
        .copies = {memory + GS_BCA_ROUNDS, memory + GS_BCA_ROUNDS + samples->counts[0]},
    };
    find_interval(&work, alpha, out);
    free(memory);
    return GS_OK;
}
